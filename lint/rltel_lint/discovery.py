"""Which files make up the project, and what is in them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rltel_lint.codes import READ_PROBLEM, READ_PROBLEM_NAME
from rltel_lint.config import Config
from rltel_lint.findings import Finding, Place
from rltel_lint.globs import Globs
from rltel_lint.reading import ReadProblem, read_source

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

# What git exports to its hooks would make it list another repository than the one asked for.
_GIT_LOCAL = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR")


@dataclass(frozen=True)
class Files:
    """Paths relative to the project root with ``/``, sorted.

    Attributes:
        sources: Python files.
        documents: Markdown, MDX and reStructuredText files, dashboards, configuration files.
        notes: What the user should know of how they were found.
    """

    sources: tuple[str, ...]
    documents: tuple[str, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Texts:
    """The contents of :class:`Files`.

    Attributes:
        sources: Text of each Python file that could be read, by path.
        documents: Text of each document that could be read, by path.
        problems: A finding for each file that could not.
    """

    sources: Mapping[str, str]
    documents: Mapping[str, str]
    problems: tuple[Finding, ...]


def find_files(root: Path, config: Config) -> Files:
    """Finds the project's source files and documents.

    Inside a git repository these are tracked files and untracked ones that are not ignored;
    elsewhere all files below the root. Symbolic links to folders, to files outside the root
    and to nothing are not followed.

    Args:
        root: The project root, an existing folder.
        config: Its ``source``, ``docs``, ``dashboards``, ``configs`` and ``exclude`` are used.
    """
    root = root.resolve()
    exclude = Globs(DEFAULT_EXCLUDE + config.exclude)
    source = Globs(config.source or DEFAULT_SOURCE)
    kinds = (
        (DOCUMENT_SUFFIXES, Globs(config.docs or DEFAULT_DOCS)),
        (DASHBOARD_SUFFIXES, Globs(config.dashboards or DEFAULT_DASHBOARDS)),
        (CONFIG_SUFFIXES, Globs(config.configs)),
    )
    listed, notes = _git_files(root)
    candidates = listed if listed else _walk(root, exclude)
    sources: list[str] = []
    documents: list[str] = []
    for path in candidates:
        if path.endswith(".py"):
            wanted, found = source.match(path), sources
        else:
            lower, found = path.lower(), documents
            wanted = any(lower.endswith(ends) and globs.match(path) for ends, globs in kinds)
        if wanted and not exclude.match(path):
            found.append(path)
    return Files(_existing(root, sources), _existing(root, documents), notes)


def is_source(path: str, config: Config) -> bool:
    """Says whether a Python file at this path is to be checked, were it there.

    Args:
        path: Relative to the project root, with ``/``.
        config: Its ``source`` and ``exclude`` are used.
    """
    wanted = Globs(config.source or DEFAULT_SOURCE)
    excluded = Globs(DEFAULT_EXCLUDE + config.exclude)
    return path.endswith(".py") and wanted.match(path) and not excluded.match(path)


def read_files(root: Path, files: Files) -> Texts:
    """Reads the files; one that cannot be read becomes a finding and stops nothing.

    Args:
        root: The project root.
        files: What to read.
    """
    problems: list[Finding] = []

    def texts(paths: Iterable[str]) -> dict[str, str]:
        read: dict[str, str] = {}
        for path in paths:
            result = read_source(root / path)
            problem = result if isinstance(result, ReadProblem) else result.problem
            if problem is not None:
                problems.append(_finding(path, problem))
            if not isinstance(result, ReadProblem):
                read[path] = result.text
        return read

    sources, documents = texts(files.sources), texts(files.documents)
    return Texts(sources, documents, tuple(sorted(problems)))


def _finding(path: str, problem: ReadProblem) -> Finding:
    place = Place(path, problem.line)
    return Finding(place, READ_PROBLEM, READ_PROBLEM_NAME, f"file {problem.message}")


def _git_files(root: Path) -> tuple[list[str], tuple[str, ...]]:
    """Files by git's account; none outside a repository or in a folder that it ignores."""
    command = ("git", "-c", "core.fsmonitor=false", "ls-files", "-z")
    environment = {key: value for key, value in os.environ.items() if key not in _GIT_LOCAL}
    try:
        done = subprocess.run(
            [*command, "--cached", "--others", "--exclude-standard"],
            cwd=root,
            env={**environment, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except OSError:
        return [], ()
    if done.returncode == 0:
        return os.fsdecode(done.stdout).split("\0")[:-1], ()
    reason = (os.fsdecode(done.stderr).strip().splitlines() or ["no reason given"])[0]
    if "not a git repository" in reason:
        return [], ()
    return [], (f"git could not list the files, so all below {root} were taken ({reason})",)


def _walk(root: Path, exclude: Globs) -> Iterator[str]:
    prune = not exclude.takes_back
    for folder, folders, names in os.walk(root):
        below = Path(folder).relative_to(root).as_posix() + "/"
        prefix = "" if below == "./" else below
        folders[:] = [
            name
            for name in folders
            if not (prune and exclude.match(f"{prefix}{name}/"))
            and name not in (".git", "__pycache__")
            and not Path(folder, name, "pyvenv.cfg").exists()
        ]
        yield from (prefix + name for name in names)


def _existing(root: Path, paths: Iterable[str]) -> tuple[str, ...]:
    """Sorted paths without what is gone, lies outside, or is a second name for another one."""
    top = str(root)
    folders: dict[str, str] = {}
    plain: dict[str, str] = {}
    links: dict[str, str] = {}
    for path in sorted(paths):
        folder, name = os.path.split(os.path.join(top, path))
        if folder not in folders:
            folders[folder] = os.path.realpath(folder)
        full = os.path.join(folders[folder], name)
        if os.path.islink(full):
            full = os.path.realpath(full)
            if os.path.isfile(full):
                links.setdefault(full, path)
        elif os.path.lexists(full):
            plain[full] = path
    found = {**links, **plain}
    return tuple(sorted(path for full, path in found.items() if Path(full).is_relative_to(root)))
