"""A page as a flat run of blocks, the same for Markdown and reStructuredText.

The readers of the two markups make these blocks; what a block means is decided later, and
only once. Every character of a block can be traced back to its line and column.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from rltel_lint.findings import Place


class Spot(NamedTuple):
    """From this offset of a text on, the characters stand at this line and column."""

    offset: int
    line: int
    column: int


class Code(NamedTuple):
    """A code span within a text: its content, without the marks around it."""

    text: str
    start: int

    @property
    def end(self) -> int:
        """Offset after the last character of the content."""
        return self.start + len(self.text)


@dataclass(frozen=True)
class Inline:
    """Running text, markup included, with its code spans.

    Attributes:
        text: The text; line breaks are kept, escapes of the table syntax are resolved.
        codes: The code spans, in order.
        spots: Where runs of the text begin in the file, ascending by offset.
    """

    text: str = ""
    codes: tuple[Code, ...] = ()
    spots: tuple[Spot, ...] = ()

    def place(self, path: str, start: int, end: int) -> Place:
        """Returns where the text from ``start`` up to ``end`` stands."""
        line, column = self._position(start)
        end_line, end_column = self._position(max(start, end - 1))
        return Place(path, line, column, end_line, end_column + 1)

    def _position(self, offset: int) -> tuple[int, int]:
        index = bisect.bisect_right(self.spots, (offset, 1 << 60, 0)) - 1
        if index < 0:
            return 1, 1
        spot = self.spots[index]
        return spot.line, spot.column + offset - spot.offset

    def plain(self) -> str:
        """Returns the text with each code span, marks included, blanked by spaces."""
        return self.masked(" ")

    def masked(self, filler: str) -> str:
        """Returns the text with the content of each code span replaced, length kept."""
        parts, at = [], 0
        for code in self.codes:
            parts += [self.text[at : code.start], filler * len(code.text)]
            at = code.end
        masked = "".join(parts) + self.text[at:]
        return masked.replace("`", filler)


@dataclass(frozen=True)
class Heading:
    """A section's title; level 1 is the highest."""

    level: int
    inline: Inline
    line: int


@dataclass(frozen=True)
class Paragraph:
    """Running text that is neither a heading, a cell nor the head of a list item."""

    inline: Inline
    line: int


@dataclass(frozen=True)
class Item:
    """The first paragraph of a list item; items of one list share ``group``."""

    inline: Inline
    line: int
    group: int
    depth: int


@dataclass(frozen=True)
class Table:
    """A table; a row that a row span covers repeats the cell it is covered by."""

    header: tuple[Inline, ...]
    rows: tuple[tuple[Inline, ...], ...]
    line: int
    problem: tuple[int, str] | None = None


@dataclass(frozen=True)
class Fence:
    """A fenced or literal block."""

    language: str
    text: str
    line: int
    column: int = 1


@dataclass(frozen=True)
class Comment:
    """A comment of the markup: the place where markers are written."""

    text: str
    line: int


@dataclass(frozen=True)
class Broken:
    """Something that was meant as a block and is none; ``text`` is what stands there."""

    text: str
    line: int
    reason: str


Block: TypeAlias = Heading | Paragraph | Item | Table | Fence | Comment | Broken


@dataclass
class Page:
    """The blocks of a page, in order."""

    blocks: list[Block] = field(default_factory=list)
