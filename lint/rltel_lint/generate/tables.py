"""One generated table: what it should say, how it differs, and its new lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
    section: Section, rows: Iterable[Row], entries: Sequence[DocumentEntry], namespace: str
) -> Filled:
    """Works out what a table should say.

    Args:
        section: Where it stands.
        rows: What the code has of its kind.
        entries: What the document says.
        namespace: The prefix of the project's own names.
    """
    wanted = [row for row in rows if belongs(row.name, section.patterns)]
    table = section.table
    if table is None:
        header = COLUMNS[section.kind]
        keys = _keys(header, section.kind, namespace)
        filled = tuple(_new(row, keys) for row in wanted)
        names = quoted(row.written for row in wanted)
        return Filled(header, filled, (f"there is no table yet; it would list {names}",))
    return _Filling(section, table, wanted, entries, namespace).fill()


class _Filling:
    def __init__(
        self,
        section: Section,
        table: Table,
        wanted: list[Row],
        entries: Sequence[DocumentEntry],
        namespace: str,
    ) -> None:
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
            kept.append((name, self._updated(cells, matching, name)))
        added = [row for row in self._wanted if row.name not in covered]
        found = []
        for old, row in self._renamed(stale, added):
            found.append(f'"{old}" is "{row.written}" now')
            renamed = self._renaming(stale.pop(old), old, row.written)
            kept.append((row.written, self._updated(renamed, [row], row.written)))
            added.remove(row)
        kept += [(row.written, _new(row, self._keys)) for row in added]
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

    def _matching(self, entries: list[DocumentEntry]) -> list[Row]:
        names = [name for entry in entries for name in entry.names]
        return [row for row in self._wanted if any(overlap(name, row.name) for name in names)]

    def _stays(self, entries: list[DocumentEntry]) -> bool:
        """Whether a row may stand although the code does not have what it names."""
        if self._kind == "preset" and any(entry.text == "all" for entry in entries):
            return True
        return any(entry.status != "active" for entry in entries)

    def _updated(self, cells: Sequence[Inline], matching: list[Row], name: str) -> tuple[str, ...]:
        updated = []
        for index, key in enumerate(self._keys):
            cell = cells[index] if index < len(cells) else Inline()
            text = cell.text.strip()
            known = [row.cells[key] for row in matching if key in row.cells]
            if known:
                names = tuple(dict.fromkeys(one for values in known for one in values))
                if set(names) != set(_names(cell)):
                    old = text or "nothing"
                    text = _codes(names)
                    title = self._header[index].lower()
                    self._differences.append(f'"{name}" has {title} {text or "none"}, not {old}')
            updated.append(text)
        return tuple(updated)


def _keys(header: Sequence[str], kind: str, namespace: str) -> list[str]:
    """What each column holds; the kind itself for the one with the names."""
    keys = [read_header(Inline(title), namespace).key for title in header]
    if kind == "preset" and "group" not in keys and "holds" in keys:
        keys[keys.index("holds")] = "group"
    return keys


def _new(row: Row, keys: Sequence[str]) -> tuple[str, ...]:
    """The cells of a name that is new to a table: the first column of its kind has the name."""
    known: Mapping[str, tuple[str, ...]] = row.cells
    subject = next((i for i, key in enumerate(keys) if key and key not in known), 0)
    return tuple(
        f"`{row.written}`" if index == subject else _codes(known.get(key, ()))
        for index, key in enumerate(keys)
    )


def _names(cell: Inline) -> list[str]:
    """The names in a cell: its code spans, or its words where it has none."""
    if cell.codes:
        return [code.text for code in cell.codes]
    words = [word.strip(" *_") for word in cell.text.split(",")]
    return [word for word in words if word.strip("-\u2013\u2014") and word.lower() not in _NOTHING]


_NOTHING = frozenset({"none", "n/a", "(none)", "nothing"})


def _codes(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


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
