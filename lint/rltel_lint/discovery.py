"""Which files make up the project, and what is in them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from rltel_lint.codes import READ_PROBLEM, READ_PROBLEM_NAME
from rltel_lint.config import Config
from rltel_lint.contents import Contents, Texts
from rltel_lint.facts.store import FactStore, text_key
from rltel_lint.findings import Finding, Place
from rltel_lint.globs import Globs
from rltel_lint.listing import list_files
from rltel_lint.manifest import Manifest

if TYPE_CHECKING:
    from rltel_lint.reading import ReadProblem

DEFAULT_SOURCE = ("*.py",)
DEFAULT_DOCS = ("README*", "docs/**")
DEFAULT_EXCLUDE = (
    # hidden
    ".*",
    # tests
    "tests/",
    "test/",
    "test_*.py",
    "*_test.py",
    "conftest.py",
    # built
    "build/",
    "_build/",
    "dist/",
    "*.egg-info/",
    "__pycache__/",
    # other people's
    "vendor/",
    "vendored/",
    "_vendor/",
    "third_party/",
    "thirdparty/",
    "3rdparty/",
    "node_modules/",
    "site-packages/",
    "venv/",
)
DEFAULT_DASHBOARDS = ("**/dashboards/**/*.json",)
DOCUMENT_SUFFIXES = (".md", ".markdown", ".mdx", ".rst")
DASHBOARD_SUFFIXES = (".json", ".yaml", ".yml")
CONFIG_SUFFIXES = (".yaml", ".yml", ".toml")
_DOCUMENTS = (*DOCUMENT_SUFFIXES, *DASHBOARD_SUFFIXES, *CONFIG_SUFFIXES)


class Files(NamedTuple):
    """Paths relative to the project root with ``/``, sorted.

    Attributes:
        sources: Python files.
        documents: Markdown, MDX and reStructuredText files, dashboards, configuration files.
        notes: What the user should know of how they were found.
        statuses: What the system says of each, in one text; equal ones mean an unchanged file.
    """

    sources: tuple[str, ...]
    documents: tuple[str, ...]
    notes: tuple[str, ...] = ()
    statuses: Mapping[str, str] = MappingProxyType({})


def find_files(root: Path, config: Config) -> Files:
    """Finds the project's source files and documents.

    Inside a git repository these are tracked files and untracked ones that are not ignored;
    elsewhere all files below the root. Symbolic links to folders, to files outside the root
    and to nothing are not followed.

    Args:
        root: The project root, an existing folder.
        config: Its ``source``, ``docs``, ``dashboards``, ``configs`` and ``exclude`` are used.
    """
    exclude = Globs(DEFAULT_EXCLUDE + config.exclude)
    source = Globs(config.source or DEFAULT_SOURCE)
    kinds = (
        (DOCUMENT_SUFFIXES, Globs(config.docs or DEFAULT_DOCS)),
        (DASHBOARD_SUFFIXES, Globs(config.dashboards or DEFAULT_DASHBOARDS)),
        (CONFIG_SUFFIXES, Globs(config.configs)),
    )

    def wanted(path: str) -> bool:
        if path.endswith(".py"):
            chosen = source.match(path)
        else:
            lower = path.lower()
            chosen = lower.endswith(_DOCUMENTS) and any(
                lower.endswith(ends) and globs.match(path) for ends, globs in kinds
            )
        return chosen and not exclude.match(path)

    listing = list_files(os.path.realpath(root), wanted, exclude)
    sources = tuple(path for path in listing.files if path.endswith(".py"))
    documents = tuple(path for path in listing.files if not path.endswith(".py"))
    return Files(sources, documents, listing.notes, listing.files)


def is_source(path: str, config: Config) -> bool:
    """Says whether a Python file at this path is to be checked, were it there.

    Args:
        path: Relative to the project root, with ``/``.
        config: Its ``source`` and ``exclude`` are used.
    """
    wanted = Globs(config.source or DEFAULT_SOURCE)
    excluded = Globs(DEFAULT_EXCLUDE + config.exclude)
    return path.endswith(".py") and wanted.match(path) and not excluded.match(path)


def read_files(root: Path, files: Files, store: FactStore | None = None) -> Texts:
    """Reads the files; one that cannot be read becomes a finding and stops nothing.

    Args:
        root: The project root.
        files: What to read.
        store: Where it is kept which texts unchanged files have: these are read only when
            somebody asks for one; ``None`` reads all.
    """
    manifest = None if store is None else Manifest(root, store)
    problems: list[Finding] = []
    sources = _contents(root, files.sources, files.statuses, manifest, problems)
    documents = _contents(root, files.documents, files.statuses, manifest, problems)
    if manifest is not None:
        manifest.save()
    return Texts(sources, documents, tuple(sorted(problems, key=lambda one: one.sort_key)))


def _contents(
    root: Path,
    paths: Iterable[str],
    statuses: Mapping[str, str],
    manifest: Manifest | None,
    problems: list[Finding],
) -> Mapping[str, str]:
    """The texts of files; what is wrong with a file is added to the problems."""
    keys: dict[str, str] = {}
    texts: dict[str, str] = {}
    for path in paths:
        status = statuses.get(path, "")
        known = manifest.key(path, status) if manifest is not None else ""
        if known:
            keys[path] = known
            continue
        if manifest is not None:
            manifest.begin()
        from rltel_lint.reading import ReadProblem, read_source

        result = read_source(root / path)
        problem = result if isinstance(result, ReadProblem) else result.problem
        if problem is not None:
            problems.append(_finding(path, problem))
        if isinstance(result, ReadProblem):
            continue
        texts[path] = result.text
        if manifest is not None:
            keys[path] = text_key(result.text)
            if problem is None:  # one with a problem is read each time, or it would be forgotten
                manifest.note(path, status, keys[path])
    return texts if manifest is None else Contents(root, keys, texts)


def _finding(path: str, problem: ReadProblem) -> Finding:
    place = Place(path, problem.line)
    return Finding(place, READ_PROBLEM, READ_PROBLEM_NAME, f"file {problem.message}")
