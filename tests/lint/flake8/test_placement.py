"""Where flake8 is started, what it is given, and which codes it is asked for."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.lint.flake8.conftest import (
    CLEAN,
    NO_FORKS,
    PYPROJECT,
    SHOW_MODULES,
    Write,
    drifted,
    modules_of,
    run_flake8,
    write_files,
)

DRIFT = {"pkg/train.py": drifted()}
TRAIN = CLEAN["pkg/train.py"]


def test_a_clean_project_is_clean(project: Write) -> None:
    run = run_flake8(project({}), ".")
    assert (run.code, run.out, run.err) == (0, "", "")


def test_a_finding_has_the_place_and_the_sentence_of_the_command(project: Write) -> None:
    run = run_flake8(project(DRIFT), ".")
    assert run.code == 1
    assert run.out.startswith('./pkg/train.py:6:10: RLT101 span "rl.rollouts" is not in the ')


def test_the_project_is_found_from_the_file(project: Write) -> None:
    root = project(DRIFT)
    (root.parent / "elsewhere").mkdir()
    (root.parent / "link").symlink_to(root / "pkg", target_is_directory=True)
    for folder, argument in (
        (".", "pkg/train.py"),
        ("pkg", "."),
        ("docs", "../pkg/train.py"),
        ("..", "project"),
        ("../elsewhere", "../project/docs/../pkg"),
        ("../elsewhere", f"{root}/pkg/train.py"),
        ("../elsewhere", "../link/train.py"),
    ):
        run = run_flake8(root / folder, "--select", "RLT", argument)
        assert [(line, code) for _, line, code in run.lines] == [(6, "RLT101")], argument


def test_git_marks_a_project_too(tmp_path: Path) -> None:
    files = {path: text for path, text in {**CLEAN, **DRIFT}.items() if path != "pyproject.toml"}
    root = write_files(tmp_path / "project", files)
    (root / ".git").mkdir()
    assert run_flake8(root / "pkg", ".").lines == [("train.py", 6, "RLT101")]
    (root / "docs/spans.md").write_text("| Span |\n|---|\n| `rl.rollouts` |\n")
    assert run_flake8(root / "pkg", ".").lines == []


def test_the_nearest_project_counts(project: Write) -> None:
    root = project({"inner/pyproject.toml": PYPROJECT, "inner/pkg/train.py": TRAIN})
    run = run_flake8(root, "--select", "RLT", ".")
    assert run.lines == [("inner/pkg/train.py", 6, "RLT101")], "inner has no documents of its own"


def test_a_relative_path_in_the_configuration_is_relative_to_it(project: Write) -> None:
    table = '[tool.rltel-lint]\ndocs = ["manual/*.md"]\nexclude = ["legacy/"]\n'
    root = project(
        {**DRIFT, "pyproject.toml": PYPROJECT + table, "legacy/train.py": drifted(name="rl.old")}
    )
    shutil.move(root / "docs", root / "manual")
    assert run_flake8(root / "pkg", "--select", "RLT", "..").lines == [
        ("../pkg/train.py", 6, "RLT101")
    ]
    text = (root / "manual/spans.md").read_text().replace("rl.rollout", "rl.rollouts")
    (root / "manual/spans.md").write_text(text)
    assert run_flake8(root / "pkg", "--select", "RLT", "..").lines == []


def test_a_file_that_the_project_does_not_check_has_no_findings(project: Write) -> None:
    root = project({"tests/test_train.py": drifted(), ".hidden/train.py": drifted()})
    assert run_flake8(root, "tests", ".hidden/train.py").lines == []


def test_a_file_outside_any_project_shows_what_it_shows_by_itself(tmp_path: Path) -> None:
    text = TRAIN.replace("managed_span", "umbrella_span")
    (tmp_path / "scratch.py").write_text(text)
    (tmp_path / "other.py").write_text(TRAIN)
    run = run_flake8(tmp_path, "--select", "RLT", ".")
    assert run.lines == [("scratch.py", 6, "RLT401")]
    assert not (tmp_path / ".rltel-cache").exists()


def test_the_rest_of_the_project_may_be_broken(project: Write) -> None:
    root = project({**DRIFT, "pkg/broken.py": "def (:\n"})
    (root / "pkg/latin.py").write_bytes(b"x = '\xe9'\n")
    run = run_flake8(root, "--select", "RLT,E9", "pkg")
    assert ("pkg/train.py", 6, "RLT101") in run.lines
    assert ("pkg/broken.py", "E999") in {(path, code) for path, _, code in run.lines}


def test_select_and_ignore(project: Write) -> None:
    root = project({"pkg/train.py": drifted(TRAIN.replace("managed_span", "umbrella_span"))})

    def codes(*options: str) -> list[str]:
        return sorted(code for *_, code in run_flake8(root, *options, "pkg").lines)

    assert codes() == ["RLT101", "RLT401"]
    assert codes("--select", "RLT4") == ["RLT401"]
    assert codes("--extend-ignore", "RLT1") == ["RLT401"]
    assert codes("--per-file-ignores", "pkg/train.py:RLT401") == ["RLT101"]
    assert codes("--per-file-ignores", "pkg/plain.py:RLT") == ["RLT101", "RLT401"]
    assert codes("--extend-ignore", "RLT", "--extend-select", "RLT40") == ["RLT401"]


def test_what_pyproject_says_is_honoured(project: Write) -> None:
    table = '[tool.rltel-lint]\nignore = ["RLT101"]\nper-file-ignores = {"pkg/**" = ["RLT4"]}\n'
    drift = {"pkg/train.py": drifted(TRAIN.replace("managed_span", "umbrella_span"))}
    assert run_flake8(project({**drift, "pyproject.toml": PYPROJECT + table}), ".").lines == []
    assert len(run_flake8(project(drift), ".").lines) == 2


@pytest.mark.parametrize(
    "options",
    [
        ("--select", "E,F"),
        ("--extend-ignore", "RLT"),
        ("--ignore", "RLT"),
        ("--select", "RLT101", "--ignore", "RLT101"),
    ],
)
def test_nothing_is_imported_when_no_code_is_selected(
    project: Write, options: tuple[str, ...]
) -> None:
    root = project(DRIFT)
    run = run_flake8(root, *options, "pkg", finale=SHOW_MODULES)
    ours = {name for name in modules_of(run) if name.startswith(("rltel_lint", "libcst"))}
    assert ours == {"rltel_lint", "rltel_lint.errors", "rltel_lint.flake8_plugin"}
    assert not (root / ".rltel-cache").exists()


def test_libcst_is_imported_only_for_what_ast_cannot_read(project: Write) -> None:
    root = project(DRIFT)
    run = run_flake8(root, ".", prelude=NO_FORKS, finale=SHOW_MODULES)
    assert run.lines
    assert "rltel_lint.engine" in modules_of(run)
    assert "libcst" not in modules_of(run)
    root = project({**DRIFT, "pkg/newer.py": "later x = 1\n"})
    run = run_flake8(root, ".", prelude=NO_FORKS, finale=SHOW_MODULES)
    assert {"rltel_lint.engine", "libcst"} <= set(modules_of(run))


def test_rules_that_are_off_by_default(project: Write) -> None:
    root = project(DRIFT)
    off = "import rltel_lint.rules.spans as s; s.UndocumentedSpan.default = False"

    def codes(*options: str) -> list[str]:
        return [code for *_, code in run_flake8(root, *options, "pkg", prelude=off).lines]

    assert codes("--select", "RLT") == []
    assert codes("--extend-select", "RLT101") == ["RLT101"]
    (root / "pyproject.toml").write_text('[tool.rltel-lint]\nextend-select = ["RLT101"]\n')
    assert codes() == ["RLT101"]


def test_a_cache_that_cannot_be_written_stops_nothing(project: Write) -> None:
    root = project(DRIFT)
    (root / ".rltel-cache").write_text("in the way")
    run = run_flake8(root, "-j2", "--select", "RLT", "pkg")
    assert (run.lines, run.err) == ([("pkg/train.py", 6, "RLT101")], "")
