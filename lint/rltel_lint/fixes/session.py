"""Fixing a project from the command line: rounds in memory, then files or a diff."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rltel_lint.findings import Finding
from rltel_lint.fixes.diff import unified_diff
from rltel_lint.fixes.files import byte_order_mark, write_texts
from rltel_lint.fixes.rounds import Mended, mend
from rltel_lint.session import Session


@dataclass(frozen=True)
class Fixed:
    """What came of ``--fix`` or ``--diff``.

    Attributes:
        session: The project as it is now.
        diff: What is, or would be, changed in files, as a unified diff.
        notes: What the user should know, a line each.
    """

    session: Session
    diff: str
    notes: tuple[str, ...]


def fix_session(
    session: Session,
    report: Callable[[Session], Sequence[Finding]],
    wanted: Callable[[Finding], bool],
    *,
    unsafe: bool,
    write: bool,
) -> Fixed:
    """Fixes what can be fixed.

    Args:
        session: The project as read.
        report: Returns what is reported for a project.
        wanted: Whether a finding is to be fixed.
        unsafe: Whether guesses are made too.
        write: Whether files are written; otherwise nothing is.
    """
    texts = {**session.texts.sources, **session.texts.documents}
    mended = mend(
        texts, lambda changed: report(_with_texts(session, changed)), wanted, unsafe=unsafe
    )
    diff = _diff(session, texts, mended.texts)
    notes = [
        f"note: {one.place}: the fix of {one.code} was left out: {reason}"
        for one, reason in mended.refused
    ]
    if not write:
        return Fixed(session, diff, (*notes, *_would(mended)))
    written = write_texts(session.root, texts, mended.texts)
    now = {path: mended.texts[path] for path in written.paths}
    fixed = len(mended.fixed)
    if written.paths:
        notes.append(
            f"fixed {_counted(fixed, 'finding')} in {_counted(len(written.paths), 'file')}"
        )
    return Fixed(
        _with_texts(session, {**texts, **now}),
        diff,
        (*notes, *(f"note: {note}" for note in written.notes)),
    )


def _diff(session: Session, before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """The difference as files have it: texts are read without their byte order marks."""
    marks = {path: byte_order_mark(session.root / path) for path in after}
    return unified_diff(
        {path: marks[path] + before[path] for path in after},
        {path: marks[path] + text for path, text in after.items()},
    )


def _would(mended: Mended) -> list[str]:
    if not mended.texts:
        return []
    fixed, files = len(mended.fixed), len(mended.texts)
    return [f"would fix {_counted(fixed, 'finding')} in {_counted(files, 'file')}"]


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _with_texts(session: Session, texts: Mapping[str, str]) -> Session:
    known = session.texts
    return session._replace(
        texts=known._replace(
            sources={path: texts[path] for path in known.sources},
            documents={path: texts[path] for path in known.documents},
        ),
    )
