from __future__ import annotations

from pathlib import Path

import pytest

from tests.lint.extraction.projects import drifted_example, report, synthetic
from tests.lint.processes import Tree


@pytest.fixture(scope="session")
def synthetic_tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """A project of 60 files that has findings."""
    return Tree(tmp_path_factory.mktemp("synthetic"), synthetic())


@pytest.fixture(scope="session")
def example_tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """The example project with two drifts."""
    return Tree(tmp_path_factory.mktemp("example"), drifted_example())


@pytest.fixture(scope="session")
def expected(synthetic_tree: Tree) -> str:
    """What the check of the synthetic project reports in one process without a cache."""
    return report(synthetic_tree, "--no-cache", "--jobs", "1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A cache folder that is new."""
    return tmp_path / "cache"
