"""Whether an edit of a file leaves every answer as it was that an outcome was made of.

Whoever looks at a text asks :mod:`rltel_lint.facts.source`, which notes each question. An edit that
changes none of the answers can change no finding; it may only move some.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rltel_lint.facts.codec import encode
from rltel_lint.facts.occurrences import words_in
from rltel_lint.facts.source import SourceFacts
from rltel_lint.facts.units import Unit, UnitValues

_WHOLE = frozenset({"text", "defines", "hands-on", "statements"})
"""What says no more than that something was asked for as a whole."""
_ASKED_WHERE_THE_NAME_IS = ("hands-on ", "calls ", "names ")
"""What is asked of a statement for a name that it has; another one is not asked."""
_FUNCTION = re.compile(r"\A(?:async\s+)?def\b")
_GONE = "nothing is like what is no longer kept"
_ASKED_OF_A_FILE = ("has", "lower", "search", "findall", "word", "renamed")


@dataclass(frozen=True)
class Before:
    """A file as it was when an outcome was found.

    Attributes:
        path: Its path.
        answers: What was asked of its text, by kind, then by question.
        index: Its statements, as they are kept; ``None`` if nobody asked for them.
        lowered: Those that were looked into, and perhaps others, by the key of the statement.
        names: For each name that was looked for in the project, whether the text had it.
    """

    path: str
    answers: Mapping[str, Mapping[str, Any]]
    index: list[Any] | None
    lowered: Mapping[str, Any]
    names: Mapping[str, bool]


@dataclass(frozen=True)
class Moved:
    """Where the lines of a file are after an edit.

    Attributes:
        runs: First and last line of each statement, and by how much it has moved; ``None`` where
            nothing is known of the statements.
    """

    runs: tuple[tuple[int, int, int], ...] | None

    def line(self, number: int) -> int | None:
        """Returns where a line is now; ``None`` if that is not known."""
        if self.runs is None:
            return None
        for first, last, shift in self.runs:
            if first <= number <= last:
                return number + shift
        return None if any(shift for *_, shift in self.runs) else number


def compare(before: Before, text: str, is_elsewhere: Callable[[str], bool]) -> Moved | None:
    """Compares a file with what it was.

    Args:
        before: What it was, and what was asked of it.
        text: What it is.
        is_elsewhere: Whether a name may stand in another file of the project.

    Returns:
        Where its lines are now, if every answer is the same; ``None`` if one may differ.

    Raises:
        ValueError, TypeError, IndexError, KeyError, AttributeError, re.error: What is kept of the
            file is damaged.
    """
    now = SourceFacts(before.path, text)
    if before.index is None:
        unread = now.refused is None and not any(map(_is_of_units, before.answers.items()))
        return Moved(None) if unread and _file_answers_alike(before, now) else None
    units, kept = list(now.all_units()), list(_flat(before.index))
    if now.problems:
        return None
    added = _added(units, kept)
    pairs = list(zip([one for one in units if one not in added], kept, strict=False))
    same = (
        len(units) - len(added) == len(kept)
        and all(_is_like(unit, values) for unit, values in pairs)
        and all(
            _answers_alike(before, place, unit, values)
            for place, (unit, values) in enumerate(pairs)
            if unit.key != values.key
        )
        and _file_answers_alike(before, now)
        and all(_is_unnoticed(before, unit, pairs, is_elsewhere) for unit in added)
    )
    runs = ((values.first, _last(values), unit.first - values.first) for unit, values in pairs)
    return Moved(tuple(runs)) if same and not now.problems else None


def _added(units: list[Unit], kept: list[UnitValues]) -> list[Unit]:
    """The units that stand between such as were there before, and are as they were."""
    more = len(units) - len(kept)
    if more <= 0:
        return []
    start = 0
    while start < len(kept) and units[start].key == kept[start].key:
        start += 1
    return units[start : start + more]


def _is_unnoticed(
    before: Before,
    unit: Unit,
    pairs: list[tuple[Unit, UnitValues]],
    is_elsewhere: Callable[[str], bool],
) -> bool:
    """Whether nobody would notice one more function.

    No name in it is looked for, and nothing names it. Then it is asked what every function is
    asked; there must be one that gave the same answers and was not looked into.
    """
    if unit.indented or not unit.search(_FUNCTION) or "bound" in before.answers:
        return False
    words = set(words_in(unit.known_plain))
    names = unit.binds | unit.known_calling.defines
    return (
        words.isdisjoint(before.names)
        and words.isdisjoint(before.answers.get("units", {}))
        and any(
            _is_passed_over(before.answers.get(str(place), {}), unit)
            for place, (other, _) in enumerate(pairs)
            if not other.indented and other.search(_FUNCTION)
        )
        and all(names.isdisjoint(words_in(other.known_plain)) for other, _ in pairs)
        and not any(map(is_elsewhere, names))
    )


def _is_passed_over(asked: Mapping[str, Any], unit: Unit) -> bool:
    """Whether a unit gives the answers that another one gave, which was not looked into."""
    return asked.keys().isdisjoint({"text", "hands-on", "statements"}) and all(
        _asked_again(unit, question) == answer
        for question, answer in asked.items()
        if not question.startswith(_ASKED_WHERE_THE_NAME_IS)
    )


def _is_of_units(asked: tuple[str, Mapping[str, Any]]) -> bool:
    """Whether what was asked depends on statements."""
    kind, answers = asked
    some = kind == "units" and any(answers.values())
    return some or kind.isdigit() or kind == "cut"


def _flat(index: list[list[Any]]) -> Iterator[UnitValues]:
    """The values of every unit, classes before their members."""
    for values in index:
        unit = UnitValues(*values)
        yield unit
        yield from _flat(unit.members)


def _last(values: UnitValues) -> int:
    """The last line of a unit; of a class with members, that of its header."""
    return UnitValues(*values.members[0]).first - 1 if values.members else values.last


def _is_like(unit: Unit, values: UnitValues) -> bool:
    """Whether a unit is of the kind that it was, and binds the same names."""
    return (unit.binds, len(unit.members), unit.indented) == (
        frozenset(values.binds.split()),
        len(values.members),
        values.indented,
    )


def _answers_alike(before: Before, place: int, unit: Unit, values: UnitValues) -> bool:
    """Whether a unit whose text differs still answers as it did, as far as it was asked."""
    asked = before.answers.get(str(place), {})
    calling = unit.known_calling
    if "text" in asked:
        return False
    if "defines" in asked and calling.defines != values.calling.defines:
        return False
    if "hands-on" in asked and calling.hands_on != values.calling.hands_on:
        return False
    words = set(words_in(unit.known_plain))
    looked_for = before.answers.get("units", {})
    return (
        all((word in words) == (place in places) for word, places in looked_for.items())
        and all(_asked_again(unit, question) == answer for question, answer in asked.items())
        and _is_lowered_alike(unit, values.lowered)
        and (
            "statements" not in asked
            or _is_lowered_alike(unit, before.lowered.get(values.key, _GONE))
        )
    )


def _is_lowered_alike(unit: Unit, lowered: Any) -> bool:
    """Whether a unit has the statements that it had, if they are given."""
    if lowered is None:
        return True
    return bool(lowered == json.loads(json.dumps(encode(unit.statements, unit.first))))


def _file_answers_alike(before: Before, now: SourceFacts) -> bool:
    if "text" in before.answers:
        return False
    words = now.known_words
    return all((name in words) == had for name, had in before.names.items()) and all(
        now.ask(kind, about) == answer
        for kind in _ASKED_OF_A_FILE
        for about, answer in before.answers.get(kind, {}).items()
    )


def _asked_again(unit: Unit, question: str) -> Any:
    """Asks a unit again what one was asked; that it was asked as a whole is compared elsewhere."""
    kind, _, about = question.partition(" ")
    return True if question in _WHOLE else unit.ask(kind, about)
