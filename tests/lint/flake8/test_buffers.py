"""Unsaved files, as editors give them to flake8."""

from __future__ import annotations

from pathlib import Path

from tests.lint.flake8.conftest import (
    CLEAN,
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
