"""From options to a loaded project: root, configuration, texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from rltel_lint.codes import check_codes
from rltel_lint.config import Config, find_root, load_config
from rltel_lint.contents import Texts
from rltel_lint.discovery import find_files, read_files
from rltel_lint.errors import UserError
from rltel_lint.extraction.workers import Place, Workers
from rltel_lint.facts.store import FactStore
from rltel_lint.findings import Finding
from rltel_lint.kept_settings import KeptSettings

CACHE_FOLDER = ".rltel-cache"
"""Where facts are kept between runs, in the project root."""


class Options(NamedTuple):
    """What the command line says of the project and of the rules.

    Attributes:
        root: Folder given as the project root; ``None`` finds it from the current folder.
        config: Configuration file given; ``None`` takes the project's ``pyproject.toml``.
        profile: Names of vocabularies that replace the configured ones.
        select: Codes that replace the configured selection.
        ignore: Codes to ignore besides.
        extend_select: Codes to select besides.
        no_cache: Whether to keep nothing between runs.
        cache_dir: Where facts are kept; ``None`` means ``.rltel-cache`` in the project root.
        baseline: File with accepted findings; ``None`` takes the configured one.
        no_baseline: Whether to use none at all.
        jobs: How many processes read files; 0 lets the tool decide.
        executor: Where they are.
        ray_address: The Ray cluster; ``None`` means what the environment says.
    """

    root: Path | None = None
    config: Path | None = None
    profile: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    no_cache: bool = False
    cache_dir: Path | None = None
    baseline: Path | None = None
    no_baseline: bool = False
    jobs: int = 1
    executor: Place = "local"
    ray_address: str | None = None


class Session(NamedTuple):
    """A project, read and ready to be analysed.

    Attributes:
        root: The project root, absolute.
        config: Its configuration with the options on top.
        texts: What its files contain.
        cache: The folder where facts are kept between runs; ``None`` keeps nothing.
        notes: What the user should know of how the files were found.
        baseline: The file with accepted findings; ``None`` without one.
        workers: Who reads files that are new.
    """

    root: Path
    config: Config
    texts: Texts
    cache: Path | None = None
    notes: tuple[str, ...] = ()
    baseline: Path | None = None
    workers: Workers = Workers()

    @property
    def base(self) -> str:
        """The root relative to the top of its git repository: empty, or with ``/`` at its end."""
        for folder in (self.root, *self.root.parents):
            if (folder / ".git").exists():
                inside = self.root.relative_to(folder).as_posix()
                return "" if inside == "." else f"{inside}/"
        return ""

    def shown(self, path: Path) -> str:
        """Returns a path for messages and reports: relative to the project if it lies inside."""
        full = path.resolve()
        inside = full.is_relative_to(self.root)
        return full.relative_to(self.root).as_posix() if inside else str(path)


def open_session(options: Options) -> Session:
    """Finds the project, reads its configuration, then its files.

    Args:
        options: From the command line.

    Raises:
        UserError: The root is no folder, or configuration or options are wrong.
    """
    if options.root is None:
        root = find_root(Path.cwd())
    elif options.root.is_dir():
        root = options.root.resolve()
    else:
        raise UserError(f"--root {options.root} is not a folder; give the project's folder")
    cache = None if options.no_cache else options.cache_dir or root / CACHE_FOLDER
    said: list[str] = []
    store = FactStore(cache, said.append) if cache is not None else None
    kept = KeptSettings(store)
    config = load_config(root, options.config, kept).override(
        select=_codes(options.select, "--select", kept),
        ignore=_codes(options.ignore, "--ignore", kept),
        extend_select=_codes(options.extend_select, "--extend-select", kept),
        profile=options.profile,
    )
    files = find_files(root, config)
    notes = files.notes
    if not files.sources:
        notes += (
            f"no Python file to check in {root}; see --root, and source in the configuration",
        )
    baseline = options.baseline
    if baseline is None and config.baseline is not None:
        baseline = root / config.baseline
    if options.no_baseline:
        baseline = None
    workers = Workers(options.jobs, options.executor, options.ray_address or "")
    texts = read_files(root, files, store)
    return Session(root, config, texts, cache, (*notes, *said), baseline, workers)


def _codes(values: Iterable[str], option: str, kept: KeptSettings) -> tuple[str, ...]:
    codes = (code for value in values for code in value.split(","))
    return check_codes(codes, option, kept.codes)


class PathFilter:
    """Restricts findings to files and folders that the user named.

    Args:
        session: The project.
        paths: Files and folders as typed, relative to the current folder; none means all.

    Raises:
        UserError: A path does not exist or lies outside the project.
    """

    def __init__(self, session: Session, paths: Sequence[str]) -> None:
        self._prefixes = tuple(_relative(session.root, path) for path in paths)
        checked = [*session.texts.sources, *session.texts.documents]
        checked += [problem.place.path for problem in session.texts.problems]
        self.unchecked = tuple(
            path
            for path, prefix in zip(paths, self._prefixes, strict=True)
            if not any(_is_below(one, prefix) for one in checked)
        )
        """Paths that hold no file of the project, such as excluded ones."""

    @property
    def restricts(self) -> bool:
        """Whether anything is left out."""
        return not all(prefix == "" for prefix in self._prefixes)

    def keep(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """Returns the findings at the paths, in the order given."""
        return tuple(
            finding
            for finding in findings
            if not self._prefixes
            or any(_is_below(finding.place.path, prefix) for prefix in self._prefixes)
        )


def _relative(root: Path, path: str) -> str:
    """The path relative to the root; empty for the root itself."""
    try:
        full = Path(path).resolve()
        if not full.exists():
            raise UserError(f"no such file, folder or command: {path}")
        relative = full.relative_to(root).as_posix()
    except (OSError, RuntimeError) as error:  # a loop of links, a name that is too long
        raise UserError(f"{path} cannot be read: {error}") from error
    except ValueError as error:
        raise UserError(f"{path} is outside the project {root}; give --root") from error
    return "" if relative == "." else relative


def _is_below(path: str, prefix: str) -> bool:
    return not prefix or path == prefix or path.startswith(prefix + "/")
