"""After an edit that no rule can notice the last outcome is reported, with lines as they are."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rltel_lint.contents import Texts, replaced
from rltel_lint.editing import after_edit
from rltel_lint.facts import store
from rltel_lint.facts.store import FactStore
from rltel_lint.outcome import analyse_session, outcome
from rltel_lint.session import Options, Session, open_session
from tests.lint.processes import CLEAN, TRAIN, Tree
from tests.lint.unchanged.test_outcome import check, computed

OURS = Path(__file__).parents[3]

PLAIN = '''

def describe(count):
    """Says how many there are."""
    total = count + 1
    return str(total)


class Shelf:
    size = 3

    def grow(self):
        self.size = self.size + 1
        return self.size
'''
DRIFT = TRAIN.replace("rl.rollout", "rl.other") + PLAIN
FILES = {
    **CLEAN,
    "pkg/a.py": DRIFT,
    "pkg/b.py": PLAIN,
    "pkg/c.py": "from pkg.b import describe, more\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "project", FILES)


def replacing(old: str, new: str, path: str = "pkg/a.py") -> Callable[[Path], None]:
    def edit(root: Path) -> None:
        text = (root / path).read_text()
        assert old in text
        (root / path).write_text(text.replace(old, new, 1))

    return edit


def appending(text: str, path: str = "pkg/a.py") -> Callable[[Path], None]:
    return lambda root: (root / path).write_text((root / path).read_text() + text) and None


UNNOTICED = {
    "a comment at the end": appending("# the end\n"),
    "a comment in a function": replacing("total = count + 1", "total = count + 1  # or more"),
    "a number in a function": replacing("count + 1", "count + 2"),
    "a statement in a function": replacing("    return str", "    total *= 2\n    return str"),
    "a method": replacing("self.size + 1", "self.size + 10"),
    "lines above everything": replacing("", "# Copyright\n\n"),
    "lines above a span": replacing("\n\n\ndef ", "\n\n\n\n\n# here it begins\ndef "),
    "a file without telemetry": replacing("size = 3", "size = 4", "pkg/b.py"),
    "a function at the end": appending("\n\ndef surely():\n    return 1\n"),
    "a function between": replacing("\n\nclass", "\n\ndef surely():\n    return 1\n\n\nclass"),
    "a comment beside a span": replacing('"rl.other"):', '"rl.other"):  # work'),
}
NOTICED = {
    "the name of a span": replacing("rl.other", "rl.rollout"),
    "another drift": replacing("rl.other", "rl.third"),
    "a comment that silences": replacing('"rl.other"):', '"rl.other"):  # noqa: RLT101'),
    "a comment that silences nothing": replacing("size = 3", "size = 3  # noqa: RLT102"),
    "the import": replacing("managed_span", "umbrella_span"),
    "a syntax error": appending("def (\n"),
    "a function that a file names": appending("\n\ndef more():\n    return 1\n"),
    "a class": appending("\n\nclass More:\n    size = 1\n"),
    "a second span": appending(TRAIN[TRAIN.index("def ") :].replace("rl.rollout", "rl.fourth")),
    "a name that is looked for": replacing("total = count", "managed_span = total = count"),
}
ALIKE = ("a function that a file names", "a class", "a name that is looked for")
"""What might have mattered, and did not."""


@pytest.mark.parametrize("edit", [*UNNOTICED.values()], ids=[*UNNOTICED])
def test_an_edit_that_no_rule_can_notice(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, edit: Callable[[Path], None]
) -> None:
    assert check(tree).code == 1
    edit(tree.root)
    fresh = check(tree, "--no-cache")
    times = computed(monkeypatch)
    assert [check(tree), check(tree)] == [fresh, fresh]
    assert times == []


@pytest.mark.parametrize("name", NOTICED)
def test_an_edit_that_a_rule_may_notice(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    before = check(tree)
    NOTICED[name](tree.root)
    fresh = check(tree, "--no-cache")
    times = computed(monkeypatch)
    assert [check(tree), check(tree)] == [fresh, fresh]
    assert len(times) == 1
    assert (fresh != before) == (name not in ALIKE)


def test_edits_one_after_the_other(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    check(tree)
    times = computed(monkeypatch)
    for number in range(12):
        replacing("", f"# {number}\n", f"pkg/{'ab'[number % 2]}.py")(tree.root)
        assert check(tree) == check(tree, "--no-cache")
    assert len(times) == 12, "only what may keep nothing was linked"
    replacing("rl.other", "rl.rollout")(tree.root)
    assert check(tree) == check(tree, "--no-cache")


def test_a_run_with_other_rules_in_between(tree: Tree) -> None:
    check(tree)
    check(tree, "--select", "RLT000")
    NOTICED["the name of a span"](tree.root)
    assert check(tree) == check(tree, "--no-cache")
    check(tree, "--select", "RLT000")
    NOTICED["a second span"](tree.root)
    assert check(tree, "--select", "RLT101") == check(tree, "--no-cache", "--select", "RLT101")
    assert check(tree) == check(tree, "--no-cache")


def test_a_file_more_or_less(tree: Tree) -> None:
    check(tree)
    (tree.root / "pkg/d.py").write_text(DRIFT)
    assert check(tree) == check(tree, "--no-cache")
    (tree.root / "pkg/a.py").unlink()
    assert check(tree) == check(tree, "--no-cache")


@pytest.mark.parametrize("damage", ["lookups.json", "facts"])
def test_what_is_kept_is_damaged(tree: Tree, monkeypatch: pytest.MonkeyPatch, damage: str) -> None:
    check(tree)
    folder = tree.root / ".rltel-cache"
    name = f"{store.text_key('pkg/a.py')}.json" if damage == "facts" else damage
    text = (folder / name).read_text()
    assert '"index":[[' in text or damage != "facts"
    (folder / name).write_text(text.replace('"index":[[', '"index":[[7,').replace("pkg/a", "pkg/z"))
    UNNOTICED["a comment at the end"](tree.root)
    fresh = check(tree, "--no-cache")
    times = computed(monkeypatch)
    done = tree.run("check", "--format", "json")
    assert done.out == fresh.out
    assert "Traceback" not in done.err
    assert "rebuilt" in done.err
    assert len(times) == 1


def test_what_is_kept_of_the_edited_file_is_gone(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(tree)
    (tree.root / ".rltel-cache" / f"{store.text_key('pkg/a.py')}.json").unlink()
    UNNOTICED["a comment at the end"](tree.root)
    fresh = check(tree, "--no-cache")
    times = computed(monkeypatch)
    assert check(tree) == fresh
    assert len(times) == 1


def test_rules_see_no_text_but_by_questions() -> None:
    """What is seen without a question would make an outcome stale."""
    unasked = re.compile(r"\.known_(?:plain|words|lines|calling)\b|\b(?:facts|unit)\.text\b")
    package = Path(store.__file__).parents[1]
    files = [path for folder in ("project", "rules") for path in (package / folder).rglob("*.py")]
    assert len(files) > 100
    found = {path.name: unasked.findall(path.read_text()) for path in files}
    assert {name: texts for name, texts in found.items() if texts} == {
        # It notes the names itself.
        "modules.py": [".known_words", ".known_words", ".known_plain", ".known_words"],
    }


# -- any edit of a real project ---------------------------------------------------------


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Session:
    root = tmp_path_factory.mktemp("edited")
    for name in ("examples", "rl_telemetry", "docs"):
        shutil.copytree(OURS / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(OURS / "pyproject.toml", root)
    session = open_session(Options(root=root))
    outcome(session, FactStore(session.cache), analyse_session)
    return open_session(Options(root=root))


def edited(text: str, line: int, kind: str) -> str:
    """The text with an edit at one of its lines."""
    lines = text.split("\n")
    at = line % len(lines)
    old = lines[at]
    indent = old[: len(old) - len(old.lstrip())]
    if kind == "comment":
        lines[at] = f"{old}  # edited"
    elif kind == "delete":
        del lines[at]
    elif kind == "number":
        lines[at] = re.sub(r"\b[1-9]\d*\b", "41", old)
    elif kind == "text":
        lines[at] = re.sub(r'"(\w[^"\\{}]*)"', r'"\1_x"', old)
    elif kind == "name":
        lines[at] = re.sub(r"\b([a-z_]\w{3,})\b", r"\1_x", old, count=1)
    elif kind == "function":
        lines += ["", "", f"def edited_{line}(count):", "    return count + 1", ""]
    else:
        lines.insert(at, f"{indent}{kind}")
    return "\n".join(lines)


KINDS = (
    "function",
    "comment",
    "delete",
    "number",
    "text",
    "name",
    "edited = 1",
    'print("edited")',
    "",
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_any_edit_of_a_trainer(example: Session, data: st.DataObject) -> None:
    paths = [path for path in example.texts.sources if path.startswith("examples")]
    path = data.draw(st.sampled_from(sorted(paths)))
    text = edited(
        example.texts.sources[path],
        data.draw(st.integers(0, 999)),
        data.draw(st.sampled_from(KINDS)),
    )
    texts = Texts(
        replaced(example.texts.sources, path, text), example.texts.documents, example.texts.problems
    )
    session = example._replace(texts=texts)
    found = after_edit(session, FactStore(session.cache, passing=path))
    if found is not None:
        fresh = analyse_session(session, FactStore(None)).findings
        assert sorted(found.result.findings, key=lambda one: one.sort_key) == list(fresh)
        assert [one.related for one in fresh] == [
            one.related for one in sorted(found.result.findings, key=lambda one: one.sort_key)
        ]
