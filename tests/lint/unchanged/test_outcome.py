"""A run with nothing new reports what a run without a cache reports, and imports little."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rltel_lint import manifest
from rltel_lint.facts import store
from tests.lint.processes import CLEAN, LINT, TRAIN, Done, Tree

DRIFT = TRAIN.replace("rl.rollout", "rl.other")
QUIET = DRIFT.replace('"rl.other"):', '"rl.other"):  # noqa: RLT101')
CONFIG = '[tool.rltel-lint]\nignore = ["RLT105"]\nper-file-ignores = { "pkg/c.py" = ["RLT1"] }\n'
MIXED = {
    **CLEAN,
    "pyproject.toml": CONFIG,
    "pkg/a.py": DRIFT,
    "pkg/b.py": QUIET.replace("rl.other", "rl.quiet"),
    "pkg/c.py": DRIFT.replace("rl.other", "rl.ignored"),
}
"""Findings, and some that a comment or the configuration silences."""

HEAVY = ("libcst", "docutils", "markdown_it", "yaml", "packaging", "pathspec", "symtable")
OWN = ("rltel_lint.engine", "rltel_lint.rules", "rltel_lint.facts.source", "rltel_lint.baseline")
WRITING = ("tempfile", "subprocess", "tomllib", "tomli")


@pytest.fixture
def mixed(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "project", MIXED)


def check(tree: Tree, *options: str) -> Done:
    """Runs a check that says nothing of how long it took."""
    done = tree.run("check", "--format", "json", *options)
    return Done(done.code, done.out, done.err.rpartition(";")[0])


def report(tree: Tree, *options: str) -> list[str]:
    found = json.loads(check(tree, *options).out)["findings"]
    return sorted(one["path"] for one in found if one["code"] == "RLT101")


def computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts how often a project is really checked."""
    from rltel_lint import engine

    times: list[int] = []
    original = engine.analyse

    def analyse(*arguments: object, **options: object) -> object:
        times.append(1)
        return original(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(engine, "analyse", analyse)
    return times


def test_a_kept_outcome_is_reported_byte_for_byte(
    mixed: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = computed(monkeypatch)
    fresh = check(mixed, "--no-cache")
    assert check(mixed) == fresh
    assert check(mixed) == fresh
    assert len(times) == 2
    assert report(mixed) == ["pkg/a.py"]
    assert report(mixed, "--select", "RLT101") == ["pkg/a.py"]


@pytest.mark.parametrize("style", ["text", "json", "sarif", "github", "gitlab"])
def test_every_format_of_a_kept_outcome(mixed: Tree, style: str) -> None:
    def output(*options: str) -> str:
        out = mixed.run("check", "--format", style, *options).out
        return out.rpartition(";")[0] if style == "text" else out

    fresh = output("--no-cache")
    assert [output(), output()] == [fresh, fresh]


def test_a_fix_of_a_kept_outcome_can_be_made(tmp_path: Path) -> None:
    near = Tree(tmp_path / "project", {**CLEAN, "pkg/train.py": TRAIN.replace("rl.r", "rl.rr")})
    fresh = near.run("check", "--diff", "--unsafe-fixes", "--no-cache")
    near.run("check")
    assert near.run("check", "--diff", "--unsafe-fixes") == fresh


def comment_added(root: Path) -> None:
    (root / "pkg/a.py").write_text(QUIET)


def comment_removed(root: Path) -> None:
    (root / "pkg/b.py").write_text(DRIFT)


def ignore_removed(root: Path) -> None:
    (root / "pyproject.toml").write_text(CONFIG.partition("per-file")[0])


def table_damaged(root: Path) -> None:
    (root / "pyproject.toml").write_text("[tool.rltel-lint]\nignore = 3\n")


def document_changed(root: Path) -> None:
    (root / "docs/spans.md").write_text(CLEAN["docs/spans.md"].replace("rollout", "other"))


def file_removed(root: Path) -> None:
    (root / "pkg/a.py").unlink()


@pytest.mark.parametrize(
    "change",
    [
        comment_added,
        comment_removed,
        ignore_removed,
        table_damaged,
        document_changed,
        file_removed,
    ],
)
def test_a_change_is_reported_as_without_a_cache(
    mixed: Tree, change: Callable[[Path], None]
) -> None:
    before = check(mixed)
    change(mixed.root)
    after = check(mixed)
    assert after != before
    assert after == check(mixed, "--no-cache")
    assert after == check(mixed)


CITED = {
    **CLEAN,
    "pyproject.toml": "[project]\nname = 'trainer'\ndependencies = ['ray>=2']\n",
    "docs/cited.md": (
        "See `scripts/run.sh`, `third_party/lib/x.py`, and the tests `test_first_step_of_all`\n"
        "and `tests/test_run.py::test_second_step_of_all`.\n\n"
        "```console\n$ pip install ray==2.5\n```\n"
    ),
    "scripts/run.sh": "",
    "scripts/other.sh": "",
    "tests/test_run.py": "def test_first_step_of_all(): ...\ndef test_second_step_of_all(): ...\n",
    "tests/data.txt": "",
    "third_party/lib/x.py": "",
}
"""A project whose documents speak of files that are not checked."""


def cited_removed(root: Path) -> None:
    (root / "scripts/run.sh").unlink()


def a_test_renamed(root: Path) -> None:
    path = root / "tests/test_run.py"
    path.write_text(path.read_text().replace("first", "other"))


def a_test_file_removed(root: Path) -> None:
    (root / "tests/test_run.py").rename(root / "tests/run.txt")


def submodule_declared(root: Path) -> None:
    (root / ".gitmodules").write_text("[submodule]\npath = scripts\n")
    (root / "scripts/run.sh").unlink()


def requirement_changed(root: Path) -> None:
    path = root / "pyproject.toml"
    path.write_text(path.read_text().replace("ray>=2", "ray>=3"))


ELSEWHERE = [
    cited_removed,
    a_test_renamed,
    a_test_file_removed,
    submodule_declared,
    requirement_changed,
]


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("change", ELSEWHERE)
def test_files_that_are_not_checked_count_where_they_are_spoken_of(
    tmp_path: Path, change: Callable[[Path], None], jobs: str
) -> None:
    tree = Tree(tmp_path / "project", CITED)
    before = check(tree, "--jobs", jobs)
    assert before == check(tree)
    change(tree.root)
    after = check(tree, "--jobs", jobs)
    assert after == check(tree, "--no-cache")
    if change is not submodule_declared:
        assert after != before


@pytest.mark.parametrize("settled", [0, 1 << 62])
def test_files_that_nobody_speaks_of_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settled: int
) -> None:
    tree = Tree(tmp_path / "project", CITED)
    times = computed(monkeypatch)
    monkeypatch.setattr(manifest, "_SETTLED", settled)
    before = check(tree)
    (tree.root / "scripts/other.sh").unlink()
    (tree.root / "tests/data.txt").unlink()
    (tree.root / "tests/test_run.py").touch()
    (tree.root / "tests/test_more.py").write_text("x = 1\n")
    (tree.root / "outputs").mkdir()
    (tree.root / "outputs/log.txt").write_text("")
    assert [check(tree), check(tree)] == [before, before]
    assert len(times) == 1


def test_a_cache_that_grew_too_large_loses_facts_first(
    mixed: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = check(mixed)
    times = computed(monkeypatch)
    folder = mixed.root / ".rltel-cache"
    large = folder / f"{'0' * 32}.json"
    large.write_text("x" * 100_000)
    later = time.time() + 100
    os.utime(large, (later, later))
    monkeypatch.setattr(store, "MAX_BYTES", 60_000)
    store.FactStore(folder).write({f"{'1' * 32}.json": {}})
    left = {path.name for path in folder.glob("*.json")}
    assert large.name not in left
    assert left == {"results.json", "settings.json"}
    assert check(mixed) == fresh
    assert times == []


def test_another_version_of_the_tool_checks_anew(
    mixed: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = computed(monkeypatch)
    fresh = check(mixed)
    for module in list(sys.modules):
        if module.startswith("rltel_lint.facts.store"):
            monkeypatch.setattr(sys.modules[module], "tool_version", lambda: "another")
    again = mixed.run("check", "--format", "json")
    assert again.out == fresh.out
    assert again.err.count("from another version; it is rebuilt") == 1
    assert len(times) == 2
    assert check(mixed) == fresh
    assert len(times) == 2


@pytest.mark.parametrize("name", ["results.json", "settings.json"])
def test_values_that_are_not_what_was_kept_are_not_used(mixed: Tree, name: str) -> None:
    fresh = check(mixed)
    path = mixed.root / ".rltel-cache" / name
    text = path.read_text()
    damaged = text.replace("RLT101", "RLT102").replace("RLT105", "RLT104")
    assert damaged != text
    path.write_text(damaged)
    assert check(mixed).out == fresh.out
    assert check(mixed) == fresh


def test_a_broken_configuration_stays_an_error(mixed: Tree) -> None:
    table_damaged(mixed.root)
    first = mixed.run("check")
    assert first.code == 2
    assert mixed.run("check") == first


def test_a_file_without_a_table_is_refused_each_time_if_it_was_asked_for(mixed: Tree) -> None:
    mixed.write({"pyproject.toml": "[project]\nname = 'x'\n"})
    assert mixed.run("check").code == 1  # known from now on
    for _ in range(2):
        assert (
            "has no [tool.rltel-lint] table" in mixed.run("check", "--config", "pyproject.toml").err
        )


def test_a_vocabulary_with_a_date_is_not_kept_and_works(tmp_path: Path) -> None:
    files = {**CLEAN, "pyproject.toml": "[tool.rltel-lint.vocabulary]\nx = 2026-01-01\n"}
    tree = Tree(tmp_path / "project", files)
    first = tree.run("check")
    assert (first.code, first.err.count("Error")) == (2, 0)
    assert tree.run("check") == first


def modules(tree: Tree, *options: str) -> set[str]:
    """The modules that a run imports beside click and what that needs."""
    code = (
        "import sys, click; click_needs = set(sys.modules)\n"
        "from rltel_lint import manifest; from rltel_lint.cli import main\n"
        "manifest._SETTLED = -(1 << 62)  # files that were just written are trusted\n"
        "main(sys.argv[1:]); print(*(set(sys.modules) - click_needs), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "check", *options],
        cwd=tree.root,
        env={**os.environ, "PYTHONPATH": str(LINT)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return set(done.stderr.split())


@pytest.mark.parametrize("options", [(), ("--select", "RLT1"), ("--ignore", "RLT101")])
def test_a_run_with_nothing_new_imports_little(mixed: Tree, options: tuple[str, ...]) -> None:
    assert {*OWN, "rltel_lint.manifest"} - {"rltel_lint.baseline"} <= modules(mixed, *options)
    assert modules(mixed, *options) & {*HEAVY, *OWN, *WRITING} == set()


def test_a_tool_that_is_installed_in_place_knows_when_any_of_its_files_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "rltel_lint"
    files = ("facts/store.py", "project/metrics/deep.py")
    for name in files:
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    monkeypatch.setattr(store, "__file__", str(package / "facts/store.py"))
    versions = []
    for name in ("", *files):
        if name:
            (package / name).write_text("x = 1\n")
        versions.append(store.tool_version.__wrapped__())
    assert len(set(versions)) == 3
