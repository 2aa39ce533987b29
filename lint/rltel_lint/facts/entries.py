"""What a document says: typed rows, code fences and mentions, each with its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rltel_lint.findings import Place

EntryKind = Literal[
    "span",
    "group",
    "preset",
    "metric",
    "attribute",
    "resource",
    "category",
    "bucket",
    "environment",
]
Status = Literal["active", "reserved", "deprecated", "retired"]


@dataclass(frozen=True)
class DocumentEntry:
    """One documented name.

    Attributes:
        kind: What the name is, from the table's header, its section or a marker.
        text: The name as written, such as ``rl.{grpo,ppo}.job`` or ``rl.<algo>.step``.
        names: The names it stands for: brace sets expanded, a placeholder as ``*`` (one
            dotted segment or a part of one), a trailing wildcard as ``**`` (anything).
        place: Where the name stands.
        status: ``reserved`` rows may have no emitter yet, ``deprecated`` ones none any more;
            ``retired`` ones must have none.
        columns: For each typed column of the row (the kind of its header), the code spans
            (or, without any, the comma-separated words) of that cell, in order: a span's
            group, a group's bucket, a preset's groups, a metric's ``type`` and ``unit``.
        table: Number of the table within its document, from 0; -1 outside tables.
    """

    kind: EntryKind
    text: str
    names: tuple[str, ...]
    place: Place
    status: Status = "active"
    columns: tuple[tuple[str, tuple[str, ...]], ...] = ()
    table: int = -1

    def column(self, kind: str) -> tuple[str, ...]:
        """Returns the items of the row's column of this kind, ``()`` without one."""
        return next((items for name, items in self.columns if name == kind), ())


@dataclass(frozen=True)
class CodeFence:
    """A fenced or literal block of code.

    Attributes:
        language: The info string's first word, lower-cased; empty without one.
        text: The block's text.
        place: The first line of the text.
    """

    language: str
    text: str
    place: Place


@dataclass(frozen=True)
class Mention:
    """A code span in prose or in a cell that documents nothing by itself.

    Attributes:
        text: The code span's text.
        place: Where it stands.
        negated: Whether its sentence says that the thing is not emitted, gone or reserved.
    """

    text: str
    place: Place
    negated: bool = False


@dataclass(frozen=True)
class DataValue:
    """What a dashboard or a configuration file gives to a key: a text, or whether it is on.

    Attributes:
        key: The keys down to it, with dots, list positions left out.
        text: The value; in JSON with :data:`PADDING` where an escape is longer than what it
            stands for, so that offsets are those of the file.
        place: Where its first character stands.
        kind: ``off`` for a number that is not above 0, a false or an empty value; ``on`` for
            another number or a true one, kept only where a key of the same name is off.
    """

    key: str
    text: str
    place: Place
    kind: Literal["text", "on", "off"] = "text"

    def at(self, start: int, end: int) -> Place:
        """Returns the place of a part of the value; of all of it where lines are folded."""
        if self.place.end_line > self.place.line:
            return self.place
        line, column = self.place.line, self.place.column
        return Place(self.place.path, line, column + start, line, column + end)


DATA_SUFFIXES = (".json", ".yaml", ".yml", ".toml")
"""What is read as data: dashboards and configuration files."""

PADDING = "\ue002"
"""Stands for a character of the file that is none of the value."""


@dataclass(frozen=True)
class DocumentFacts:
    """All that one document says.

    Attributes:
        path: Path relative to the project root, with ``/``.
        entries: Typed rows, in order.
        fences: Code blocks, in order.
        mentions: Other code spans, in order.
        problems: Lines that could not be read as meant (line, one-sentence reason).
        values: The queries of a dashboard, or the texts of a configuration file, in order.
    """

    path: str
    entries: tuple[DocumentEntry, ...] = ()
    fences: tuple[CodeFence, ...] = ()
    mentions: tuple[Mention, ...] = ()
    problems: tuple[tuple[int, str], ...] = ()
    values: tuple[DataValue, ...] = ()
