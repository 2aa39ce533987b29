"""What a user may write under ``[tool.rltel-lint]``, and what they are told otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltel_lint.config import Config, ConfigError, find_root, load_config

pytestmark = pytest.mark.usefixtures("catalogue")


def _load(write, table: str) -> Config:
    return load_config(write({"pyproject.toml": f"[tool.rltel-lint]\n{table}\n"}))


def test_without_any_file_the_defaults_suit_users_of_rl_telemetry(write):
    config = load_config(write({"a.py": ""}))
    assert config == Config()
    assert (config.profile, config.namespace) == (("rl_telemetry",), ("rl.",))


def test_a_pyproject_without_our_table_is_fine(write):
    assert load_config(write({"pyproject.toml": '[project]\nname = "x"\n'})) == Config()


def test_every_key_is_read(write):
    config = _load(
        write,
        """
        source = ["pkg/**"]
        docs = ["handbook/*.md"]
        exclude = ["old/"]
        profile = ["nemo_lens", "opentelemetry"]
        namespace = ["rl.", "job"]
        select = ["RLT1", "rlt201"]
        ignore = ["RLT102"]
        extend-select = ["RLT105"]
        reserved = ["rl.later"]
        baseline = "drift.json"
        [tool.rltel-lint.per-file-ignores]
        "legacy/**" = ["RLT101"]
        [tool.rltel-lint.vocabulary.spans]
        "pkg.obs.region" = { name = 0 }
        """,
    )
    assert config.source == ("pkg/**",)
    assert config.docs == ("handbook/*.md",)
    assert config.exclude == ("old/",)
    assert config.profile == ("nemo_lens", "opentelemetry")
    assert config.namespace == ("rl.", "job.")
    assert config.select == ("RLT1", "RLT201")
    assert config.ignore == ("RLT102",)
    assert config.extend_select == ("RLT105",)
    assert config.reserved == ("rl.later",)
    assert config.baseline == "drift.json"
    assert config.per_file_ignores == {"legacy/**": ("RLT101",)}
    assert config.vocabulary == {"spans": {"pkg.obs.region": {"name": 0}}}
    assert config.file == Path.cwd() / "pyproject.toml"


def test_one_name_may_stand_without_a_list(write):
    config = _load(write, 'profile = "nemo_lens"\nnamespace = "nv_"')
    assert (config.profile, config.namespace) == (("nemo_lens",), ("nv_",))


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('selct = ["RLT1"]', 'unknown key "selct"; did you mean "select"?'),
        ("extend_select = []", 'unknown key "extend_select"; did you mean "extend-select"?'),
        ("qqqq = 1", 'unknown key "qqqq"; the keys are source, docs,'),
        ('source = "pkg"', 'source must be a list of strings, as in ["..."], not a string'),
        ("docs = [1]", "docs must be a list of strings"),
        ("docs = [1]", "not a list with a number"),
        ('docs = [""]', "not a list with an empty string"),
        ("exclude = true", "not a boolean"),
        ("profile = 3", "profile must be a list of strings"),
        ('namespace = ""', "namespace must be a string that is not empty"),
        ("baseline = []", "baseline must be a string"),
        ('vocabulary = "x"', "vocabulary must be a table, not a string"),
        ('exclude = ["[z-a]"]', "exclude: the glob '[z-a]' is not valid"),
        ('source = ["ok", "!"]', "source: the glob '!' is not valid"),
        ('select = ["RLT1011"]', "select: unknown code 'RLT1011'; did you mean RLT101?"),
        ('ignore = ["E501"]', "ignore: unknown code 'E501'"),
        ('ignore = ["E501"]', '"rltel-lint rules" lists all codes'),
        ('select = ["ALL"]', 'write "RLT" for all of them'),
        ('extend-select = ["R"]', "extend-select: unknown code 'R'"),
        ("per-file-ignores = []", "per-file-ignores must be a table"),
        ('per-file-ignores = {"a" = "RLT1"}', 'per-file-ignores "a" must be a list of strings'),
        ('per-file-ignores = {"a" = ["X1"]}', "per-file-ignores \"a\": unknown code 'X1'"),
    ],
)
def test_a_mistake_is_one_line_that_names_file_and_remedy(write, table, said):
    with pytest.raises(ConfigError) as caught:
        _load(write, table)
    message = str(caught.value)
    assert message.startswith("pyproject.toml: [tool.rltel-lint] ")
    assert said in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[tool.rltel-lint\n", "pyproject.toml: is not valid TOML"),
        (b"[tool.rltel-lint]\nselect = [\n", "line"),
        (b"# caf\xe9\n", "pyproject.toml: is not UTF-8"),
        (b"[tool]\nrltel-lint = 3\n", "tool.rltel-lint must be a table"),
    ],
)
def test_a_broken_file_is_one_line(write, content, said):
    with pytest.raises(ConfigError) as caught:
        load_config(write({"pyproject.toml": content}))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_byte_order_mark_does_no_harm(write):
    root = write({"pyproject.toml": '\ufeff[tool.rltel-lint]\nreserved = ["rl.x"]\n'})
    assert load_config(root).reserved == ("rl.x",)


def test_another_file_is_read_instead(write):
    root = write(
        {
            "pyproject.toml": '[tool.rltel-lint]\nreserved = ["rl.x"]\n',
            "ci/lint.toml": '[tool.rltel-lint]\nreserved = ["rl.y"]\n',
            "ci/other.toml": "[tool.other]\n",
        }
    )
    assert load_config(root, root / "ci/lint.toml").reserved == ("rl.y",)
    with pytest.raises(ConfigError, match=r"ci/other.toml: has no \[tool.rltel-lint\] table"):
        load_config(root, root / "ci/other.toml")
    with pytest.raises(ConfigError, match=r"ci/none.toml: cannot be read: No such file"):
        load_config(root, root / "ci/none.toml")


@pytest.mark.parametrize("marker", ["pyproject.toml", ".git"])
def test_the_root_is_the_nearest_folder_up(write, marker):
    root = write({marker: "", "a/b/c.py": ""})
    assert find_root(root / "a/b") == root
    write({"a/pyproject.toml": ""})
    assert find_root(root / "a/b") == root / "a"


@pytest.mark.parametrize(
    ("select", "ignore", "extend", "chosen"),
    [
        (None, (), (), {"RLT000", "RLT101", "RLT102", "RLT201"}),
        (None, (), ("RLT105",), {"RLT000", "RLT101", "RLT102", "RLT105", "RLT201"}),
        (("RLT",), (), (), {"RLT000", "RLT101", "RLT102", "RLT201"}),
        (("RLT1",), (), (), {"RLT000", "RLT101", "RLT102"}),
        (("RLT1",), ("RLT102",), (), {"RLT000", "RLT101"}),
        (("RLT102",), ("RLT1",), (), {"RLT000", "RLT102"}),
        (None, ("RLT1",), (), {"RLT000", "RLT201"}),
        (("RLT101",), ("RLT101",), (), {"RLT000"}),
        (("RLT105",), (), (), {"RLT000", "RLT105"}),
        (None, ("RLT000",), (), {"RLT101", "RLT102", "RLT201"}),
        (None, ("RLT",), (), set()),
        ((), (), (), {"RLT000"}),
    ],
)
def test_the_longest_prefix_decides(select, ignore, extend, chosen):
    config = Config(select=select, ignore=ignore, extend_select=extend)
    rules = {"RLT000": True, "RLT101": True, "RLT102": True, "RLT105": False, "RLT201": True}
    assert {code for code, on in rules.items() if config.selects(code, default=on)} == chosen


def test_select_on_the_command_line_sets_the_file_aside():
    config = Config(select=("RLT2",), ignore=("RLT101",), extend_select=("RLT105",))
    over = config.override(select=("RLT1",))
    assert over.selects("RLT101")
    assert not over.selects("RLT201")
    assert not over.selects("RLT105", default=False)


def test_ignore_and_extend_select_on_the_command_line_add_to_the_file():
    config = Config(ignore=("RLT101", "RLT105"))
    over = config.override(ignore=("RLT102",), extend_select=("RLT105",), profile=("nemo_lens",))
    assert not over.selects("RLT101")
    assert not over.selects("RLT102")
    assert over.selects("RLT105", default=False)
    assert over.profile == ("nemo_lens",)
    assert config.override() == config
