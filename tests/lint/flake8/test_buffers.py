"""Unsaved files, as editors give them to flake8."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.lint.flake8.conftest import (
    CLEAN,
    NO_FORKS,
    SHOW_MODULES,
    Run,
    Write,
    drifted,
    modules_of,
    run_flake8,
)

TRAIN = CLEAN["pkg/train.py"]


def _lint(root: Path, text: str | bytes, name: str = "pkg/train.py", folder: str = ".") -> Run:
    return run_flake8(
        root / folder, "-", "--stdin-display-name", name, "--select", "RLT", stdin=text
    )


def test_what_is_typed_counts_not_what_is_saved(project: Write) -> None:
    root = project({})
    assert _lint(root, drifted()).lines == [("pkg/train.py", 6, "RLT101")]
    assert _lint(root, TRAIN).lines == []


def test_what_is_saved_counts_no_longer(project: Write) -> None:
    root = project({"pkg/train.py": drifted()})
    assert _lint(root, TRAIN).lines == []
    assert _lint(root, drifted()).lines == [("pkg/train.py", 6, "RLT101")]
    assert run_flake8(root, "pkg").lines == [("pkg/train.py", 6, "RLT101")]


def test_other_files_are_compared_with_what_is_typed(project: Write) -> None:
    helper = "from pkg.plain import NAME\n" + TRAIN.replace('"rl.rollout"', "NAME")
    root = project({"pkg/train.py": helper, "pkg/plain.py": 'NAME = "rl.rollout"\n'})
    assert _lint(root, helper).lines == []
    assert _lint(root, 'NAME = "rl.other"\n', "pkg/plain.py").lines == [], "lies in train.py"
    changed = helper.replace("managed_span", "umbrella_span")
    assert _lint(root, changed).lines == [("pkg/train.py", 7, "RLT401")]


def test_the_name_may_be_relative_or_absolute(project: Write) -> None:
    root = project({})
    for folder, name in (
        ("pkg", "train.py"),
        ("docs", "../pkg/train.py"),
        ("..", str(root / "pkg/train.py")),
    ):
        run = _lint(root, drifted(), name, folder)
        assert [(line, code) for _, line, code in run.lines] == [(6, "RLT101")], name


def test_a_file_that_was_never_saved(project: Write) -> None:
    root = project({})
    assert _lint(root, drifted(), "pkg/new.py").lines == [("pkg/new.py", 6, "RLT101")]
    assert _lint(root, drifted(), "pkg/sub/new.py").lines == [("pkg/sub/new.py", 6, "RLT101")]
    assert _lint(root, TRAIN, "pkg/new.py").lines == []
    assert _lint(root, drifted(), "tests/test_new.py").lines == [], "tests are not checked"


def test_a_text_without_a_name_shows_what_it_shows_by_itself(project: Write) -> None:
    root = project({})
    run = run_flake8(root, "-", "--select", "RLT", stdin=drifted())
    assert run.lines == []
    wrong = drifted(TRAIN.replace("managed_span", "umbrella_span"))
    run = run_flake8(root, "-", "--select", "RLT", stdin=wrong)
    assert run.lines == [("stdin", 6, "RLT401")]


def test_other_line_ends_on_disk_change_nothing(project: Write) -> None:
    root = project({"pkg/train.py": drifted().replace("\n", "\r\n")})
    assert run_flake8(root, "--select", "RLT", "pkg").lines == [("pkg/train.py", 6, "RLT101")]
    run = run_flake8(
        root,
        *("-", "--stdin-display-name", "pkg/train.py", "--select", "RLT"),
        stdin=drifted().replace("\n", "\r\n"),
        prelude=NO_FORKS,
        finale=SHOW_MODULES,
    )
    assert run.lines == [("pkg/train.py", 6, "RLT101")]
    assert "rltel_lint.engine" not in modules_of(run), "the same text is not checked again"


def test_a_file_that_cannot_be_read_on_disk_can_be_typed(project: Write) -> None:
    root = project({})
    (root / "pkg/train.py").write_bytes(b"x = '\xe9'\n")
    assert _lint(root, drifted()).lines == [("pkg/train.py", 6, "RLT101")]


def test_typing_does_not_push_out_what_the_command_has_kept(project: Write) -> None:
    root = project({})
    assert run_flake8(root, "--select", "RLT", "pkg").lines == []
    kept = (root / ".rltel-cache/results.json").read_bytes()
    for name in ("rl.a", "rl.b"):
        assert len(_lint(root, drifted(name=name)).lines) == 1
    assert (root / ".rltel-cache/results.json").read_bytes() == kept


@pytest.mark.parametrize("name", ["pkg/train.py", "-"], ids=["saved", "unsaved"])
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="no process is forked here")
def test_the_project_is_linked_in_another_process(project: Write, name: str) -> None:
    root = project({name: drifted(name="rl.saved") for name in ("pkg/train.py", "pkg/other.py")})
    buffer = ("--stdin-display-name", "pkg/train.py") if name == "-" else ()
    runs = {}
    for prelude in ("", NO_FORKS):
        arguments = (name, *buffer, "--select", "RLT")
        shutil.rmtree(root / ".rltel-cache", ignore_errors=True)
        run = run_flake8(root, *arguments, stdin=drifted(), prelude=prelude, finale=SHOW_MODULES)
        runs[prelude] = run
        kept = {path.name for path in (root / ".rltel-cache").glob("*.json")}
        assert len(kept) > 3, "the facts are kept, whoever read them"
    here = {prelude: "rltel_lint.engine" in modules_of(run) for prelude, run in runs.items()}
    assert here == {"": False, NO_FORKS: True}
    assert runs[""].out == runs[NO_FORKS].out != ""
