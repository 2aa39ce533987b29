"""Tables: which column documents what, and what each row says."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from rltel_lint.facts.context import IGNORE, Context
from rltel_lint.facts.entries import DocumentEntry, EntryKind, Status
from rltel_lint.facts.headers import Column, read_header
from rltel_lint.facts.names import Name, in_namespace, is_dotted, is_empty, is_name, subject_names
from rltel_lint.facts.pages import Inline, Table
from rltel_lint.facts.wording import status_of

_DOTTED_KINDS = frozenset({"span", "metric", "attribute", "resource"})
_EVERYTHING = re.compile(r"\W*(?:all|every|everything|any)\b", re.IGNORECASE)
_ITEM = re.compile(r"[\w.*<>{}/%-]+")
_UNIT_ASIDE = re.compile(r"\(([^()]*)\)")
_NO_DOCUMENT = frozenset({"convention", "conventions", "naming convention", "pattern"})


@dataclass
class Reading:
    """What was read of a table: its entries and the code spans that they used up."""

    entries: list[DocumentEntry] = field(default_factory=list)
    used: dict[int, set[int]] = field(default_factory=dict)  # by a cell's identity


class _Subject(NamedTuple):
    column: int
    kind: EntryKind
    strict: bool


def read_table(table: Table, number: int, marker: str, context: Context) -> Reading:
    """Reads a table.

    Args:
        table: The table.
        number: Its number within the document.
        marker: The kind a marker before it gives, ``ignore`` or an empty string.
        context: Where it stands; problems are added to it.
    """
    reading = Reading()
    columns = [read_header(cell, context.namespace) for cell in table.header]
    width = max([len(columns), *(len(row) for row in table.rows)])
    columns += [Column()] * (width - len(columns))
    subject = None if marker == IGNORE else _subject(table, columns, marker, context)
    if table.problem and (subject or _names_ours(table, context.namespace)):
        context.problems.append(table.problem)
    if subject is None:
        return reading
    columns = _resolved(columns, subject)
    seen: set[tuple[int, int]] = set()
    for row in table.rows:
        _read_row(row, columns, subject, number, marker, context, reading, seen)
    return reading


def _names_ours(table: Table, namespace: str) -> bool:
    cells = [*table.header, *(cell for row in table.rows for cell in row)]
    return any(in_namespace(code.text, namespace) for cell in cells for code in cell.codes)


def _subject(table: Table, columns: list[Column], marker: str, context: Context) -> _Subject | None:
    """Finds the column that documents, and what it documents."""
    if marker:
        return _marked_subject(table, columns, marker, context)
    if any(cell.text.strip(" *").lower() in _NO_DOCUMENT for cell in table.header):
        return None
    found = _typed_subject(table, columns, context) or _section_subject(table, columns, context)
    if found is None:
        return None
    kind = found.kind
    if kind == "attribute" and context.about_resource():
        kind = "resource"
    if kind == "group" and any(n.text == "all" for n in _names(table, found.column, kind, context)):
        kind = "preset"  # "all" is a preset, never a group
    return found._replace(kind=kind)


def _names(
    table: Table, index: int, kind: str, context: Context, *, strict: bool = True
) -> list[Name]:
    names: list[Name] = []
    for row in table.rows:
        if index < len(row):
            names += subject_names(row[index], kind, context.namespace, strict=strict)
    return names


def _marked_subject(
    table: Table, columns: list[Column], marker: str, context: Context
) -> _Subject | None:
    kind = cast(EntryKind, marker)
    order = [index for index, column in enumerate(columns) if column.key == marker]
    order += [index for index in range(len(columns)) if index not in order]
    for plain in (False, True):  # a column of dotted names goes before one of mere words
        for index in order:
            names = _names(table, index, marker, context, strict=False)
            if any(is_name(name.text, marker, strict=not plain) for name in names):
                return _Subject(index, kind, strict=False)
    if table.rows:
        reason = f"the marker says {marker}, but no column of this table holds such names"
        context.problems.append((table.line, f"{reason}; put them in code spans"))
    return None


def _typed_subject(table: Table, columns: list[Column], context: Context) -> _Subject | None:
    nameless = ""  # the kind of a column whose cells only describe: its names stand beside it
    for index, column in enumerate(columns):
        if not column.subject:
            continue
        if _names(table, index, column.key, context):
            return _Subject(index, cast(EntryKind, column.key), strict=True)
        nameless = nameless or column.key
    kind = nameless or context.section_kind()
    for index, column in enumerate(columns):
        if kind and column.key == "name" and _names(table, index, kind, context):
            return _Subject(index, cast(EntryKind, kind), strict=True)
    return None


def _section_subject(table: Table, columns: list[Column], context: Context) -> _Subject | None:
    """In a section about dotted names, a first column of nothing but such names counts."""
    kind = context.section_kind(nearest=True)
    if kind not in _DOTTED_KINDS or not table.rows or columns[0].key:
        return None
    for row in table.rows:
        if not row or not row[0].codes:
            return None
        if not all(is_dotted(code.text) and is_name(code.text, kind) for code in row[0].codes):
            return None
    return _Subject(0, kind, strict=True)


def _resolved(columns: list[Column], subject: _Subject) -> list[Column]:
    """Settles what "Controls" or "Contains" holds, now that the subject is known."""
    holds = {"group": "span", "preset": "group"}.get(subject.kind, "")
    return [Column(holds) if column.key == "holds" else column for column in columns]


def _read_row(
    row: tuple[Inline, ...],
    columns: list[Column],
    subject: _Subject,
    number: int,
    marker: str,
    context: Context,
    reading: Reading,
    seen: set[tuple[int, int]],
) -> None:
    if subject.column >= len(row):
        return
    values = _values(row, columns, subject.column)
    status = _row_status(row, subject.column, context)
    cell = row[subject.column]
    names = subject_names(cell, subject.kind, context.namespace, strict=subject.strict)
    _add(cell, names, subject.kind, status, values, number, marker, context, reading, seen)
    if subject.kind != "group":
        return
    groups = tuple(name.text for name in names)
    for index, column in enumerate(columns):
        # "Spans emitted" documents the spans too; "Controls" only describes the group.
        if column == Column("span", True) and index < len(row):
            spans = subject_names(row[index], "span", context.namespace)
            value = (("group", groups),)
            _add(row[index], spans, "span", status, value, number, marker, context, reading, seen)


def _add(
    cell: Inline,
    names: list[Name],
    kind: EntryKind,
    status: Status,
    values: tuple[tuple[str, tuple[str, ...]], ...],
    number: int,
    marker: str,
    context: Context,
    reading: Reading,
    seen: set[tuple[int, int]],
) -> None:
    """Adds the names of a cell as entries, each once however many rows the cell spans."""
    for position, name in enumerate(names):
        end = names[position + 1].start if position + 1 < len(names) else len(cell.text)
        own = "retired" if name.old or _struck(cell, name) else status_of(cell, name.end, end)
        if own == "active" and position == 0:
            own = status_of(cell, 0, name.start)
        if not context.admits(name.text, marker):
            continue
        final = own if own != "active" else status
        entry = context.entry(kind, name, cell, final, values, number)
        if name.code >= 0:
            reading.used.setdefault(id(cell), set()).add(name.code)
        if entry and (entry.place.line, entry.place.column) not in seen:
            seen.add((entry.place.line, entry.place.column))
            reading.entries.append(entry)


def _struck(cell: Inline, name: Name) -> bool:
    """Whether the name is struck through: ``~~`rl.old`~~``."""
    before, after = cell.text[: name.start].rstrip("` "), cell.text[name.end :].lstrip("` ")
    return before.endswith("~~") and after.startswith("~~")


def _row_status(row: tuple[Inline, ...], subject: int, context: Context) -> Status:
    for index, cell in enumerate(row):
        if index != subject:
            status = status_of(cell)
            if status != "active":
                return status
    return context.status()


def _values(
    row: tuple[Inline, ...], columns: list[Column], subject: int
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Returns what the row's other typed columns hold.

    A column is left out where its cell cannot be read as names: then nothing is known. It
    is there and empty where the cell says that there is none.
    """
    values: dict[str, tuple[str, ...]] = {}
    for index, (cell, column) in enumerate(zip(row, columns, strict=False)):
        if index == subject or column.key in ("", "name", "holds") or column.key in values:
            continue
        if column.key == "type":
            values.update(_type_and_unit(cell))
            continue
        items = _items(cell, column.key)
        if items is not None:
            values[column.key] = items
    return tuple(values.items())


def _items(cell: Inline, key: str) -> tuple[str, ...] | None:
    if is_empty(cell):
        return ()
    if key == "group" and _EVERYTHING.match(cell.plain()) and not _starts_with_code(cell):
        return ("*",)
    if cell.codes:
        return tuple(code.text for code in cell.codes)
    parts = [part.strip(" *_~") for part in cell.text.split(",")]
    if key != "unit" and not all(_ITEM.fullmatch(part) for part in parts):
        return None
    return tuple(part for part in parts if part)


def _starts_with_code(cell: Inline) -> bool:
    return not cell.text[: cell.codes[0].start].strip("` *_~") if cell.codes else False


def _type_and_unit(cell: Inline) -> dict[str, tuple[str, ...]]:
    """Reads ``Gauge``, ``Histogram (ms)`` or ``Gauge (`s`)``: a type and perhaps a unit."""
    text = cell.text.replace("`", "").strip()
    if is_empty(cell):
        return {}
    aside = _UNIT_ASIDE.search(text)
    kind = _UNIT_ASIDE.sub("", text).strip(" *_~")
    found = {"type": tuple(part.strip() for part in kind.split(",") if part.strip())}
    if aside and aside[1].strip():
        found["unit"] = (aside[1].strip(),)
    return found
