"""The outcome of an earlier run where what has been edited since cannot change it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from rltel_lint.codes import READ_PROBLEM
from rltel_lint.comments import MAY_SILENCE
from rltel_lint.contents import Contents
from rltel_lint.facts.comparing import Before, Moved, compare
from rltel_lint.facts.lookups import Lookups
from rltel_lint.facts.store import FactStore
from rltel_lint.findings import Finding, Place
from rltel_lint.results import Result, load_result, result_key
from rltel_lint.session import Session

_FEW = 5
"""How many files may have changed; with each more it is less likely that nothing comes of it."""

_DAMAGE = (ValueError, TypeError, IndexError, KeyError, AttributeError, re.error)


class Edited(NamedTuple):
    """An outcome that an edit has left as it was.

    Attributes:
        result: It, with lines as they are now.
        base: The key of the outcome that it was.
    """

    result: Result
    base: str


def after_edit(session: Session, store: FactStore) -> Edited | None:
    """Returns the outcome of the last run that linked the project, if it still holds.

    Args:
        session: The project as it is now.
        store: What is kept of that run; it is only read.

    Returns:
        The outcome, or ``None`` if an edit since may have changed it.
    """
    lookups, sources = store.lookups, session.texts.sources
    if lookups is None or not isinstance(sources, Contents):
        return None
    keys = {path: sources.key(path) for path in sources}
    changed = [path for path, key in keys.items() if lookups.keys.get(path) != key]
    if keys.keys() != lookups.keys.keys() or not 0 < len(changed) <= _FEW:
        return None
    base = result_key(session, lookups.keys)
    if base != lookups.about:
        return None  # another run, with other rules perhaps, has asked since
    result = load_result(store, base, session.root)
    if result is None or any(one.code == READ_PROBLEM for one in result.findings):
        return None
    try:
        moved = dict(_compared(changed, sources, lookups, store))
    except _DAMAGE:
        store.damaged()
        return None
    if len(moved) < len(changed):
        return None
    findings = [_moved(one, moved) for one in result.findings]
    here = [one for one in findings if one is not None]
    return Edited(result._replace(findings=here), base) if len(here) == len(findings) else None


def _compared(
    changed: Iterable[str], sources: Mapping[str, str], lookups: Lookups, store: FactStore
) -> Iterator[tuple[str, Moved]]:
    """Yields where the lines of each changed file are, up to one with other answers."""
    for path in changed:
        key = lookups.keys[path]
        answers = lookups.answers(path, key)
        if answers is None:
            return
        index, lowered = store.file(path).before(key) or (None, {})
        # What silences findings is judged by all of them; it says more than an answer.
        if any(word in sources[path].lower() for word in MAY_SILENCE):
            return
        before = Before(path, answers, index, lowered, lookups.names.of(path))
        moved = compare(before, sources[path], partial(_is_elsewhere, path, sources))
        if moved is None:
            return
        yield path, moved


def _is_elsewhere(path: str, sources: Mapping[str, str], name: str) -> bool:
    """Whether another file than one has a name in its text."""
    return any(name in text for other, text in sources.items() if other != path)


def _moved(finding: Finding, moved: Mapping[str, Moved]) -> Finding | None:
    """The finding with its lines as they are now; ``None`` where they are not known."""
    place = _moved_place(finding.place, moved)
    related = [(_moved_place(one.place, moved), one) for one in finding.related]
    if place is None or any(where is None for where, _ in related):
        return None
    if finding.fix is not None and any(path in repr(list(finding.fix.changes)) for path in moved):
        return None
    near = tuple(one._replace(place=where) for where, one in related if where is not None)
    return replace(finding, place=place, related=near)


def _moved_place(place: Place, moved: Mapping[str, Moved]) -> Place | None:
    where = moved.get(place.path)
    if where is None or (place.line == 1 and not place.end_line):
        return place  # the second is a file as a whole
    line, end = where.line(place.line), place.end_line and where.line(place.end_line)
    return None if line is None or end is None else place._replace(line=line, end_line=end)
