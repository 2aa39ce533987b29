"""One cache folder for several machines: several processes at once, and copies of the tool."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rltel_lint import __version__
from tests.lint.extraction.projects import cache_of, report, run_with, synthetic
from tests.lint.processes import LINT, Done, Tree

_NO_LOCKS = """
import rltel_lint.locking as locking
def refuse(file):
    raise OSError(37, "No locks available")
locking._take = refuse
"""


def test_several_at_once_without_locks(tmp_path: Path) -> None:
    files = synthetic(8)
    edited = {**files, "pkg/part3/phase3.py": files["pkg/part3/phase3.py"].replace(".run", ".ran")}
    trees = [Tree(tmp_path / f"node{number}", files) for number in range(2)]
    trees += [Tree(tmp_path / f"edited{number}", edited) for number in range(2)]
    alone = [report(tree, "--no-cache", "--jobs", "1") for tree in trees]
    assert alone[0] == alone[1] != alone[2] == alone[3]
    folder = tmp_path / "common"

    def run(tree: Tree) -> Done:
        return run_with(tree, _NO_LOCKS, "--cache-dir", str(folder))

    with ThreadPoolExecutor(4) as pool:
        first = list(pool.map(run, trees))
    assert [(done.out, done.err) for done in first] == [(text, "") for text in alone]
    assert not list(folder.glob("*.tmp"))
    assert len(cache_of(folder)) > 10
    for tree, text in zip(trees[1:3], alone[1:3], strict=True):
        assert report(tree, "--cache-dir", str(folder)) == text


class Copy:
    """An installed copy of the tool, as on another machine.

    Args:
        folder: Where it is installed.
        more: What its files have besides, by name.
    """

    def __init__(self, folder: Path, more: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        package = folder / "rltel_lint"
        shutil.copytree(
            LINT / "rltel_lint", package, ignore=shutil.ignore_patterns("__pycache__")
        )  # with times of its own
        lines = []
        for path in sorted(package.rglob("*.*")):
            name = path.relative_to(folder).as_posix()
            text = path.read_text("utf-8") + (more or {}).get(name, "")
            path.write_text(text, "utf-8")
            lines.append(f"{name},sha256={hashlib.sha256(text.encode()).hexdigest()},{len(text)}")
            lines.append(f"{name}c,,")
        record = folder / f"rl_telemetry-{__version__}.dist-info" / "RECORD"
        record.parent.mkdir()
        record.write_text("\n".join(lines), "utf-8")

    def check(self, tree: Tree, cache: Path) -> tuple[str, str]:
        """Checks a project; returns the report and what was said besides."""
        done = subprocess.run(
            [sys.executable, "-m", "rltel_lint", "--format=json", f"--cache-dir={cache}"],
            cwd=tree.root,
            env={**os.environ, "PYTHONPATH": str(self.folder)},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        return done.stdout, done.stderr


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> tuple[Copy, Copy, Copy]:
    folder = tmp_path_factory.mktemp("copies")
    other = {"rltel_lint/errors.py": "# another release\n"}
    return Copy(folder / "a"), Copy(folder / "b"), Copy(folder / "c", other)


def test_copies_of_one_release_share_facts_and_outcomes(
    copies: tuple[Copy, Copy, Copy], tmp_path: Path
) -> None:
    tree, cache = Tree(tmp_path / "project", synthetic(4)), tmp_path / "cache"
    first = copies[0].check(tree, cache)
    assert json.loads(first[0])["findings"]
    before = {path.name: path.stat().st_ino for path in cache.glob("*.json")}
    assert copies[1].check(tree, cache) == first
    assert "results.json" in before
    assert [name for name in before if (cache / name).stat().st_ino != before[name]] == []


def test_another_release_does_not_share(copies: tuple[Copy, Copy, Copy], tmp_path: Path) -> None:
    tree, cache = Tree(tmp_path / "project", synthetic(4)), tmp_path / "cache"
    out, _ = copies[0].check(tree, cache)
    again, said = copies[2].check(tree, cache)
    assert again == out
    assert "is from another version; it is rebuilt" in said
    assert len(said.splitlines()) == 1
