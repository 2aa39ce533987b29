"""What goes wrong inside the plugin never stops flake8 and is said once."""

from __future__ import annotations

from tests.lint.flake8.conftest import PYPROJECT, Write, run_flake8

OTHER = {"pkg/plain.py": "import os\n"}
TABLE = PYPROJECT + "[tool.rltel-lint]\n"


def test_a_wrong_configuration_is_said_once_beside_what_others_find(project: Write) -> None:
    root = project({**OTHER, "pyproject.toml": TABLE + 'ignored = ["RLT101"]\n'})
    run = run_flake8(root, "pkg")
    assert [code for *_, code in run.lines].count("RLT000") == 1
    assert ("pkg/plain.py", 1, "F401") in run.lines
    text = next(text for text in run.texts if "rltel-lint" in text)
    assert 'unknown key "ignored"; did you mean "ignore"?' in text


def test_a_wrong_configuration_can_be_ignored(project: Write) -> None:
    root = project({**OTHER, "pyproject.toml": TABLE + "select = 3\n"})
    run = run_flake8(root, "--extend-ignore", "RLT000", "pkg")
    assert run.lines == [("pkg/plain.py", 1, "F401")]


def test_a_defect_of_the_tool(project: Write) -> None:
    crash = (
        "import rltel_lint.engine as engine\n"
        "def analyse(*arguments, **options): raise KeyError('planted\\nsecond line')\n"
        "engine.analyse = analyse"
    )
    run = run_flake8(project(OTHER), "pkg", prelude=crash)
    assert [(line, code) for _, line, code in run.lines if code != "F401"] == [(1, "RLT000")]
    assert ("pkg/plain.py", 1, "F401") in run.lines
    assert any("internal error: KeyError: 'planted" in text for text in run.texts)


def test_without_the_extra_only_a_project_with_a_table_is_told(project: Write) -> None:
    missing = "sys.modules['pathspec'] = None"
    run = run_flake8(project(OTHER), "pkg", prelude=missing)
    assert [code for *_, code in run.lines] == ["F401"]
    table = f'{TABLE}exclude = ["[xyz].py"]\n'  # what is more than a plain pattern needs pathspec
    root = project({**OTHER, "pyproject.toml": table})
    run = run_flake8(root, "pkg", prelude=missing)
    assert sorted(code for *_, code in run.lines) == ["F401", "RLT000"]
    assert any("pathspec is missing; pip install" in text for text in run.texts)
