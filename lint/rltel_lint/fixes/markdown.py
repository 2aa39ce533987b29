"""Requests for documents as edits: rows of Markdown tables, and names in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from rltel_lint.changes import AddRow, Change, Edit, RemoveRow, ReplaceText
from rltel_lint.facts.headers import read_header
from rltel_lint.facts.pages import Code, Inline
from rltel_lint.findings import Place
from rltel_lint.fixes.edits import Lines, NotApplicable, edit

MARKDOWN = frozenset({".md", ".markdown", ".mdx"})
"""Suffixes of documents whose tables are written by this program."""

_BAR = re.compile(r"(?<!\\)\|")
_DASHES = re.compile(r"[\s>]*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")
_CODE = re.compile(r"(`+)(.+?)\1")


def is_markdown(path: str) -> bool:
    """Whether tables of a document can be written."""
    return PurePosixPath(path).suffix.lower() in MARKDOWN


def document_edits(path: str, lines: Lines, change: Change) -> list[Edit]:
    """Returns the edits of one request.

    Args:
        path: The document.
        lines: Its text.
        change: The request.

    Raises:
        NotApplicable: The document is not as the request takes it to be.
    """
    handler = _HANDLERS.get(type(change))
    if handler is None:
        raise NotApplicable("this cannot be changed in a document")
    return handler(path, lines, change)


@dataclass(frozen=True)
class _Grid:
    """The lines of a table: its header, its first row and the line after its last one."""

    header: int
    first: int
    end: int


def replace_text(path: str, lines: Lines, change: ReplaceText) -> list[Edit]:
    """Replaces a name; the cell keeps its width where the table is drawn aligned."""
    place = change.place
    end = lines.offset(place.end_line, place.end_column)
    start = end - len(change.old)
    if start < 0 or lines.text[start:end] != change.old:
        raise NotApplicable("the document has changed")
    if not is_markdown(path):
        if len(change.old) != len(change.new):
            raise NotApplicable("a table of this markup would have to be drawn anew")
        return [edit(lines, path, start, end, change.new)]
    edits = [edit(lines, path, start, end, change.new)]
    longer = len(change.new) - len(change.old)
    rest = re.match(r"([^|\n]*?)( *)\|", lines.text[end:])
    if longer and rest and _is_aligned(lines, place.line):
        pad = end + len(rest[1])
        room = len(rest[2])
        if longer < 0:
            edits.append(edit(lines, path, pad, pad, " " * -longer))
        elif room - longer >= 1:
            edits.append(edit(lines, path, pad, pad + longer, ""))
    return edits


def add_row(path: str, lines: Lines, change: AddRow) -> list[Edit]:
    """Adds a row beside another one."""
    grid = _grid(path, lines, change.place)
    line = lines.line(change.place.line)
    prefix, near = split_row(line)
    _, header = split_row(lines.line(grid.header))
    subject = _column(line, change.place.column)
    known = dict(change.cells)
    cells = []
    for index, title in enumerate(header):
        key = read_header(_inline(title), "").key
        if index == subject:
            cells.append(f"`{change.name}`")
        else:
            cells.append(", ".join(f"`{name}`" for name in known.get(key, ())))
    widths = [len(cell) for cell in near] if _is_aligned(lines, change.place.line) else []
    row = join_row(prefix, cells, widths, bare=not line[len(prefix) :].startswith("|"))
    here = change.place
    inline = lines.text[lines.offset(here.line, here.column) :]
    before = change.name < re.split(r"[`|\n]", inline, maxsplit=1)[0]
    at = lines.offset(change.place.line, 1)
    if before:
        return [edit(lines, path, at, at, f"{row}\n")]
    at += len(line)
    return [edit(lines, path, at, at, f"\n{row}")]


def remove_row(path: str, lines: Lines, change: RemoveRow) -> list[Edit]:
    """Removes a row, unless it is the only one of its table."""
    grid = _grid(path, lines, change.place)
    if grid.end - grid.first == 1:
        raise NotApplicable("it is the only row of its table")
    start = lines.offset(change.place.line, 1)
    end = start + len(lines.line(change.place.line))
    if end == len(lines.text):  # the last line of a document that does not end its lines
        return [edit(lines, path, start - 1, end, "")]
    return [edit(lines, path, start, end + 1, "")]


def _grid(path: str, lines: Lines, place: Place) -> _Grid:
    """The table around a row."""
    if not is_markdown(path):
        raise NotApplicable("tables of this markup are not written")
    number = place.line
    if "|" not in lines.line(number):
        raise NotApplicable("the row is not there any more")
    dashes = number - 1
    while dashes > 1 and "|" in lines.line(dashes) and not _DASHES.match(lines.line(dashes)):
        dashes -= 1
    if dashes < 2 or not _DASHES.match(lines.line(dashes)):
        raise NotApplicable("the table's header was not found")
    end = number
    while end <= len(lines.lines) and "|" in lines.line(end):
        end += 1
    return _Grid(dashes - 1, dashes + 1, end)


def _is_aligned(lines: Lines, number: int) -> bool:
    """Whether the rows around a line have their bars below each other."""
    near = [n for n in (number - 1, number, number + 1) if 1 <= n <= len(lines.lines)]
    rows = [lines.line(n) for n in near if "|" in lines.line(n)]
    bars = {tuple(bar.start() for bar in _BAR.finditer(row)) for row in rows}
    return len(rows) > 1 and len(bars) == 1


def split_row(line: str) -> tuple[str, list[str]]:
    """Returns what stands before a row's first bar and its cells, blanks included."""
    prefix = re.match(r"[\s>]*", line)
    head = prefix.group() if prefix else ""
    body = line[len(head) :].rstrip()
    body = body.removeprefix("|")
    if body.endswith("|") and not body.endswith("\\|"):
        body = body[:-1]
    return head, _BAR.split(body)


def join_row(
    prefix: str, cells: Sequence[str], widths: Sequence[int] = (), *, bare: bool = False
) -> str:
    """Returns a row.

    Args:
        prefix: What stands before the first bar.
        cells: The cells, without blanks around them.
        widths: The width of each cell with its blanks; none means no padding.
        bare: Whether the table is written without bars at its edges; an empty first cell
            needs them all the same.
    """
    padded = [
        f" {cell} ".ljust(widths[index] if index < len(widths) else 0)
        for index, cell in enumerate(cells)
    ]
    if not widths:
        padded = [cell if cell.strip() else " " for cell in padded]
    row = "|".join(padded)
    bare = bare and bool(cells[0].strip())
    return f"{prefix}{row.strip()}" if bare else f"{prefix}|{row}|"


def _column(line: str, column: int) -> int:
    """Which cell of a row a column of its line lies in."""
    bars = len(_BAR.findall(line[: column - 1]))
    return bars - 1 if line.lstrip(" \t>").startswith("|") else bars


def _inline(cell: str) -> Inline:
    text = cell.strip()
    codes = tuple(Code(found[2], found.start(2)) for found in _CODE.finditer(text))
    return Inline(text, codes)


_HANDLERS: dict[type[Any], Callable[[str, Lines, Any], list[Edit]]] = {
    ReplaceText: replace_text,
    AddRow: add_row,
    RemoveRow: remove_row,
}
