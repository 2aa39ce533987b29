"""flake8 reports what the command reports, however flake8 starts its workers."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.lint.flake8.conftest import (
    NO_FORKS,
    ROOT,
    SHOW_MODULES,
    Found,
    Tree,
    modules_of,
    run_command,
    run_flake8,
)

CACHE = ".rltel-cache"


@pytest.fixture(scope="session")
def expected(tree: Tree) -> Found:
    found = run_command(tree.root)
    assert {(path, line, code) for path, line, _, code, _ in found} == tree.planted
    return found


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_of_every_start_method_on_a_tree_that_is_new(
    tree: Tree, expected: Found, method: str
) -> None:
    shutil.rmtree(tree.root / CACHE, ignore_errors=True)
    run = run_flake8(
        tree.root,
        *("-j2", "--select", "RLT", "."),
        prelude=f"import multiprocessing; multiprocessing.set_start_method({method!r})",
    )
    assert run.found == expected


def test_one_process_on_a_tree_that_is_known_links_nothing(tree: Tree, expected: Found) -> None:
    run_flake8(tree.root, "-j1", "--select", "RLT", "pkg/part0")
    run = run_flake8(
        tree.root, "-j1", "--select", "RLT", ".", prelude=NO_FORKS, finale=SHOW_MODULES
    )
    assert run.found == expected
    imported = modules_of(run)
    assert "rltel_lint.results" in imported
    assert not {"libcst", "rltel_lint.engine", "rltel_lint.project.linked"} & set(imported)


def test_a_tree_that_is_new_is_linked_by_one_of_the_workers_only(
    tree: Tree, expected: Found, tmp_path: Path
) -> None:
    shutil.rmtree(tree.root / CACHE, ignore_errors=True)
    log = tmp_path / "linked"
    count = (
        "import os, rltel_lint.engine as engine; analyse = engine.analyse\n"
        "def counted(*arguments, **options):\n"
        f"    with open({str(log)!r}, 'a') as file:\n"
        "        file.write(f'{os.getpid()}\\n')\n"
        "    return analyse(*arguments, **options)\n"
        "engine.analyse = counted\n"
        "import multiprocessing; multiprocessing.set_start_method('fork')"
    )
    run = run_flake8(tree.root, "-j4", "--select", "RLT", ".", prelude=count)
    assert run.found == expected
    assert len(log.read_text().split()) == 1


def test_the_example_project_with_a_renamed_span(tmp_path: Path) -> None:
    root = tmp_path / "example"
    shutil.copytree(ROOT / "examples", root / "examples")
    shutil.copytree(ROOT / "docs", root / "docs")
    (root / "pyproject.toml").write_text("[tool.rltel-lint]\nselect = ['RLT']\n")
    source = root / "examples/grpo_ray/generation.py"
    name = '"rl.generation.load_weights"'
    assert name in source.read_text()
    source.write_text(source.read_text().replace(name, '"rl.renamed_by_a_test"'))

    run = run_flake8(root, "-j2", "--select", "RLT", ".")
    assert run.found == run_command(root)
    assert any("rl.renamed_by_a_test" in text for text in run.texts)
