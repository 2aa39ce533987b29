"""Whether an edit of a file leaves every answer as it was that an outcome was made of.

Whoever looks at a text asks :mod:`rltel_lint.facts.source`, which notes each question. An edit that
changes none of the answers can change no finding; it may only move some.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rltel_lint.facts.codec import encode
from rltel_lint.facts.occurrences import words_in
from rltel_lint.facts.source import SourceFacts
from rltel_lint.facts.units import Unit, UnitValues

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


def compare(before: Before, text: str) -> Moved | None:
    """Compares a file with what it was.

    Args:
        before: What it was, and what was asked of it.
        text: What it is.

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
    if len(units) != len(kept):
        return None
    pairs = list(zip(units, kept, strict=True))
    same = (
        not now.problems
        and all(_is_like(unit, values) for unit, values in pairs)
        and all(
            _answers_alike(before, place, unit, values)
            for place, (unit, values) in enumerate(pairs)
            if unit.key != values.key
        )
        and _file_answers_alike(before, now)
    )
    runs = ((values.first, _last(values), unit.first - values.first) for unit, values in pairs)
    return Moved(tuple(runs)) if same and not now.problems else None


def _is_of_units(asked: tuple[str, Mapping[str, Any]]) -> bool:
    """Whether what was asked depends on statements."""
    kind, answers = asked
    return kind.isdigit() or (kind == "units" and any(answers.values()))


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
    if "hands on" in asked and calling.hands_on != values.calling.hands_on:
        return False
    words = set(words_in(unit.known_plain))
    looked_for = before.answers.get("units", {})
    return (
        all((word in words) == (place in places) for word, places in looked_for.items())
        and all(_ask(unit, question) == answer for question, answer in asked.items())
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
    words = now.words
    return all((name in words) == had for name, had in before.names.items()) and all(
        _ask(now, f"{kind} {question}") == answer
        for kind in _ASKED_OF_A_FILE
        for question, answer in before.answers.get(kind, {}).items()
    )


def _ask(whom: SourceFacts | Unit, question: str) -> Any:
    """Asks a file or a unit again what it was asked."""
    kind, _, about = question.partition(" ")
    if question in {"defines", "hands on", "statements"}:
        return True  # that it was asked; the answer has been compared
    if kind == "has":
        return whom.has(about)
    if isinstance(whom, Unit) and kind in {"hands", "calls", "names"}:
        name = about.rpartition(" ")[2]
        if kind == "hands":
            return whom.hands_on_any([name])
        return whom.calls(name) if kind == "calls" else whom.names(name)
    if isinstance(whom, SourceFacts) and kind in {"lower", "word", "renamed"}:
        if kind == "lower":
            return whom.has_in_any_case(about)
        return about in whom.words if kind == "word" else whom.renamed
    flags, _, pattern = about.partition(":")
    compiled = re.compile(pattern, int(flags))
    return whom.search(compiled) if kind == "search" else whom.findall(compiled)
