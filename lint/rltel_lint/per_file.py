"""Findings of one Python file, as the check of its project reports them; for linters of files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from rltel_lint.config import Config, find_root, is_root
from rltel_lint.contents import Texts, replaced
from rltel_lint.discovery import is_source
from rltel_lint.extraction.workers import Workers
from rltel_lint.facts.store import FactStore
from rltel_lint.findings import Finding
from rltel_lint.forks import can_fork, run_apart
from rltel_lint.outcome import analyse_session, outcome, reported, unsuppressed
from rltel_lint.reading import ReadProblem, read_source
from rltel_lint.results import decode_finding, encode_finding
from rltel_lint.session import Options, Session, open_session

if TYPE_CHECKING:
    from rltel_lint.suppression import Inline

_ALONE = ("RLT001", "RLT104", "RLT301", "RLT302", "RLT305", "RLT4")
"""What a file shows by itself. All else compares it with documents or with other files, which a
file outside any project does not have."""


class FileChecks:
    """Looks findings up by file; each project is read and checked once.

    Args:
        inline: Which comments silence a finding.
        opt_in: Codes of rules to run besides, if they are off by default.
    """

    def __init__(self, inline: Inline = "any line", opt_in: Iterable[str] = ()) -> None:
        self._inline: Inline = inline
        self._opt_in = tuple(opt_in)
        self._projects: dict[Path, _Project] = {}
        self._folders: dict[str, tuple[Path, Path | None]] = {}

    def findings(self, file: Path, buffer: str | None = None) -> list[Finding]:
        """Returns the findings in a file, in report order.

        A file that its project does not check, such as a test, has none. One outside any
        project is checked by itself.

        Args:
            file: The file as the user named it.
            buffer: Its text where that has not been saved yet.

        Raises:
            ConfigError: The project's configuration is wrong.
        """
        typed = os.path.join(os.getcwd(), os.path.dirname(file))
        if typed not in self._folders:
            self._folders[typed] = _look_around(Path(typed))
        folder, root = self._folders[typed]
        if root is None:
            return self.alone(file, buffer)
        project = self._projects.get(root)
        if project is None:
            project = self._projects[root] = _Project(root, self._inline, self._opt_in)
        path = (folder / file.name).relative_to(root).as_posix()
        return project.findings(path) if buffer is None else project.unsaved(path, buffer)

    def alone(self, file: Path, buffer: str | None = None) -> list[Finding]:
        """Returns what a file shows without a project around it."""
        if file.suffix != ".py":
            return []
        if buffer is None:
            read = read_source(file)
            if isinstance(read, ReadProblem):
                return []
            buffer = read.text
        session = Session(file.absolute().parent, Config(), Texts({file.name: buffer}, {}, ()))
        found = analyse_session(session, FactStore(None)).findings
        return reported(session, (one for one in found if one.code.startswith(_ALONE)))


def _look_around(folder: Path) -> tuple[Path, Path | None]:
    """The folder without links, and the root of the project that it belongs to."""
    folder = folder.resolve()
    root = find_root(folder)
    return folder, root if is_root(root) else None


class _Project:
    def __init__(self, root: Path, inline: Inline, opt_in: tuple[str, ...]) -> None:
        self._inline: Inline = inline
        if opt_in:
            from rltel_lint.rules.catalogue import ALL_RULES

            off = {rule.code for rule in ALL_RULES if not rule.default}
            opt_in = tuple(code for code in opt_in if code in off)
        self._session = open_session(Options(root=root, extend_select=opt_in))

    def findings(self, path: str) -> list[Finding]:
        """The findings in a file as it is saved."""
        return self._by_path.get(path, []) if path in self._session.texts.sources else []

    def unsaved(self, path: str, text: str) -> list[Finding]:
        """The findings in a file whose text in the editor replaces the one on disk."""
        session, texts = self._session, self._session.texts
        saved = texts.sources.get(path)
        if saved is None and not self._may_become(path):
            return []
        if saved is not None and _lines(saved) == _lines(text):
            return self.findings(path)
        problems = tuple(one for one in texts.problems if one.place.path != path)
        texts = Texts(replaced(texts.sources, path, text), texts.documents, problems)
        # flake8 reads a buffer in one process: there is a CPU to spare.
        session = session._replace(texts=texts, workers=Workers(0))

        def found() -> list[Finding]:
            # What an editor shows for a moment would only push out what is worth keeping, so
            # facts are kept and the outcome is not.
            from rltel_lint.editing import after_edit

            store = FactStore(session.cache, passing=path)
            edited = after_edit(session, store)
            found = (edited.result if edited else analyse_session(session, store)).findings
            return [one for one in self._kept(session, found) if one.place.path == path]

        return _apart(found)

    def _may_become(self, path: str) -> bool:
        """Whether a file that has not been read, or is not there yet, belongs to the check."""
        session = self._session
        unreadable = any(one.place.path == path for one in session.texts.problems)
        new = not (session.root / path).exists() and is_source(path, session.config)
        return unreadable or new

    @cached_property
    def _by_path(self) -> Mapping[str, list[Finding]]:
        session = self._session

        def found() -> list[Finding]:
            return self._kept(
                session, outcome(session, FactStore(session.cache), analyse_session)[0]
            )

        by_path: dict[str, list[Finding]] = {}
        for finding in _apart(found):
            by_path.setdefault(finding.place.path, []).append(finding)
        return by_path

    def _kept(self, session: Session, found: Iterable[Finding]) -> list[Finding]:
        """What is to be reported of an outcome in Python files, in report order."""
        sources = session.texts.sources
        here = [one for one in found if one.place.path in sources]
        kept = reported(session, here)
        if self._inline != "any line":
            silent = set(here).difference(unsuppressed(session, here))
            more = (one for one in unsuppressed(session, here, self._inline) if one in silent)
            kept = sorted([*kept, *more], key=lambda one: one.sort_key)
        return kept


def _apart(find: Callable[[], list[Finding]]) -> list[Finding]:
    """Finds in a copy of this process where there can be one.

    A linter takes all that it has built apart before it ends; of a linked project of hundreds
    of thousands of objects that takes a fifth of the time it took to find anything.
    """
    answer = run_apart(lambda: [encode_finding(one) for one in find()]) if can_fork() else None
    return find() if answer is None else [decode_finding(one) for one in answer]


def _lines(text: str) -> str:
    """The text with one kind of line end: what reaches a linter through a pipe has no other."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
