"""One generated table: what it should say, how it differs, and its new lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rltel_lint.facts.entries import DocumentEntry
from rltel_lint.facts.headers import read_header
from rltel_lint.facts.pages import Inline, Table
from rltel_lint.facts.templates import overlap
from rltel_lint.fixes.markdown import join_row
from rltel_lint.generate.rows import COLUMNS, Row, belongs
from rltel_lint.generate.sections import Section
from rltel_lint.rules.wording import all_near, quoted


@dataclass(frozen=True)
class Filled:
    """A table as it should be.

    Attributes:
        header: Its header.
        rows: Its rows, sorted by name.
        differences: How the table in the document differs, in words; none if it is current.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    differences: tuple[str, ...]


def fill(
    section: Section,
    rows: Iterable[Row],
    entries: Sequence[DocumentEntry],
    namespace: str,
    elsewhere: Sequence[str] = (),
) -> Filled:
    """Works out what a table should say.

    Args:
        section: Where it stands.
        rows: What the code has of its kind.
        entries: What the document says.
        namespace: The prefix of the project's own names.
        elsewhere: Names and templates that something else than the code has: rows may name them.
    """
    wanted = [row for row in rows if belongs(row.name, section.patterns)]
    table = section.table
    if table is None:
        header = COLUMNS[section.kind]
        keys = _keys(header, section.kind, namespace)
        filled = tuple(_new(row, keys, _subject(keys, section.kind)) for row in wanted)
        names = quoted(row.written for row in wanted)
        return Filled(header, filled, (f"there is no table yet; it would list {names}",))
    return _Filling(section, table, wanted, entries, namespace, elsewhere).fill()


class _Filling:
    def __init__(
        self,
        section: Section,
        table: Table,
        wanted: list[Row],
        entries: Sequence[DocumentEntry],
        namespace: str,
        elsewhere: Sequence[str],
    ) -> None:
        self._elsewhere = elsewhere
        self._table = table
        self._kind = section.kind
        self._wanted = wanted
        self._header = tuple(cell.text.strip() for cell in table.header)
        self._keys = _keys(self._header, section.kind, namespace)
        self._entries: dict[int, list[DocumentEntry]] = {}
        for entry in entries:
            if entry.kind == section.kind:
                self._entries.setdefault(entry.place.line, []).append(entry)
        self._differences: list[str] = []

    def fill(self) -> Filled:
        kept: list[tuple[str, tuple[str, ...]]] = []
        covered: set[str] = set()
        gone: list[str] = []
        stale: dict[str, Sequence[Inline]] = {}
        for number, cells in enumerate(self._table.rows):
            entries = self._entries.get(self._table.line + 2 + number, [])
            matching = self._matching(entries)
            if not matching and not self._stays(entries):
                if len(entries) == 1:
                    stale[entries[0].text] = cells
                else:
                    gone += [entry.text for entry in entries] or [cells[0].text.strip()]
                continue
            name = entries[0].text if entries else cells[0].text
            new = {row.name for row in matching} - covered
            covered |= new
            if matching and not new and entries[0].status == "active":
                gone.append(f"{name} (a second time)")
                continue
            entry = entries[0] if entries else None
            kept.append((name, self._updated(cells, matching, name, entry)))
        added = [row for row in self._wanted if row.name not in covered]
        found = []
        for old, row in self._renamed(stale, added):
            found.append(f'"{old}" is "{row.written}" now')
            renamed = self._renaming(stale.pop(old), old, row.written)
            kept.append((row.written, self._updated(renamed, [row], row.written)))
            added.remove(row)
        kept += [(row.written, _new(row, self._keys, self._subject())) for row in added]
        gone = sorted([*gone, *stale])
        if added:
            found.append(f"{quoted(row.written for row in added)} missing")
        if gone:
            found.append(f"{quoted(gone)} not in the code")
        rows = tuple(row for _, row in sorted(kept, key=lambda item: item[0]))
        return Filled(self._header, rows, (*found, *self._differences))

    @staticmethod
    def _renamed(stale: Iterable[str], added: Sequence[Row]) -> list[tuple[str, Row]]:
        """Rows whose name is gone, each with the one new name that it can have become."""
        names = {row.written: row for row in added if "*" not in row.name}
        found = []
        for old in sorted(stale):
            near = all_near(old, names)
            if len(near) == 1 and all_near(near[0], stale) == [old]:
                found.append((old, names[near[0]]))
        return found

    @staticmethod
    def _renaming(cells: Sequence[Inline], old: str, new: str) -> list[Inline]:
        renamed = []
        for cell in cells:
            if any(code.text == old for code in cell.codes):
                codes = tuple(code for code in cell.codes if code.text != old)
                renamed.append(Inline(cell.text.replace(f"`{old}`", f"`{new}`"), codes))
            else:
                renamed.append(cell)
        return renamed

    def _subject(self) -> int:
        """The column that has the names: the one that the rows have them in."""
        for number, cells in enumerate(self._table.rows):
            for entry in self._entries.get(self._table.line + 2 + number, ()):
                for index, cell in enumerate(cells):
                    if entry.text in cell.text:
                        return index
        return _subject(self._keys, self._kind)

    def _matching(self, entries: list[DocumentEntry]) -> list[Row]:
        names = [name for entry in entries for name in entry.names]
        return [row for row in self._wanted if any(overlap(name, row.name) for name in names)]

    def _stays(self, entries: list[DocumentEntry]) -> bool:
        """Whether a row may stand although the code does not have what it names."""
        if self._kind == "preset" and any(entry.text == "all" for entry in entries):
            return True
        if any(entry.status != "active" for entry in entries):
            return True
        names = [name for entry in entries for name in entry.names]
        return any(overlap(name, other) for name in names for other in self._elsewhere)

    def _updated(
        self,
        cells: Sequence[Inline],
        matching: list[Row],
        name: str,
        entry: DocumentEntry | None = None,
    ) -> tuple[str, ...]:
        updated = []
        for index, key in enumerate(self._keys):
            cell = cells[index] if index < len(cells) else Inline()
            text = cell.text.strip()
            known = [row.cells[key] for row in matching if key in row.cells]
            if known:
                names = tuple(dict.fromkeys(one for values in known for one in values))
                if not _agree(key, names, cell, entry):
                    old = text or "nothing"
                    text = _written(key, names)
                    title = self._header[index].lower()
                    self._differences.append(f'"{name}" has {title} {text or "none"}, not {old}')
            updated.append(text)
        return tuple(updated)


def _agree(key: str, names: Iterable[str], cell: Inline, entry: DocumentEntry | None) -> bool:
    """Whether a cell says what the code says; a type may have its unit behind it."""
    if key in _WORDS and entry is not None:
        said: Iterable[str] = entry.column(key)
        return {name.lower() for name in names} == {one.lower() for one in said}
    return set(names) == set(_names(cell))


def _keys(header: Sequence[str], kind: str, namespace: str) -> list[str]:
    """What each column holds; the kind itself for the one with the names."""
    keys = [read_header(Inline(title), namespace).key for title in header]
    if kind == "preset" and "group" not in keys and "holds" in keys:
        keys[keys.index("holds")] = "group"
    return keys


def _new(row: Row, keys: Sequence[str], subject: int) -> tuple[str, ...]:
    """The cells of a name that is new to a table."""
    return tuple(
        f"`{row.written}`" if index == subject else _written(key, row.cells.get(key, ()))
        for index, key in enumerate(keys)
    )


def _subject(keys: Sequence[str], kind: str) -> int:
    """The column that has the names, as far as the header tells."""
    return next((keys.index(key) for key in (kind, "name") if key in keys), 0)


def _names(cell: Inline) -> list[str]:
    """The names in a cell: its code spans, or its words where it has none."""
    if cell.codes:
        return [code.text for code in cell.codes]
    words = [word.strip(" *_") for word in cell.text.split(",")]
    return [word for word in words if word.strip("-\u2013\u2014") and word.lower() not in _NOTHING]


_NOTHING = frozenset({"none", "n/a", "(none)", "nothing"})


_WORDS = frozenset({"type", "unit"})


def _written(key: str, names: Iterable[str]) -> str:
    """The names as a cell; a metric's type is a word, all else are names in code."""
    return ", ".join(name if key == "type" else f"`{name}`" for name in names)


def render(filled: Filled, dashes: str | None, prefix: str, *, aligned: bool) -> list[str]:
    """Returns the lines of a table.

    Args:
        filled: What it says.
        dashes: The line below its header as it is; ``None`` makes a new one.
        prefix: What stands before the bars of each line.
        aligned: Whether its bars stand below each other.
    """
    escaped = [[_escape(cell) for cell in row] for row in (filled.header, *filled.rows)]
    count = len(filled.header)
    widths = (
        [max(len(row[index]) for row in escaped) + 2 for index in range(count)] if aligned else []
    )
    lines = [join_row(prefix, row, widths) for row in escaped]
    marks = [mark.strip() for mark in (dashes or "").strip(" >|").split("|")] if dashes else []
    if len(marks) != count:
        marks = ["---"] * count
    if aligned:
        marks = [_stretched(mark, width) for mark, width in zip(marks, widths, strict=True)]
    return [lines[0], f"{prefix}|{'|'.join(marks)}|", *lines[1:]]


def _stretched(mark: str, width: int) -> str:
    left, right = mark.startswith(":"), mark.endswith(":")
    return f"{':' if left else ''}{'-' * (width - left - right)}{':' if right else ''}"


def _escape(cell: str) -> str:
    return cell.replace("|", "\\|")
