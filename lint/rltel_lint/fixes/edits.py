"""Edits of texts: where they apply, when two of them clash, and how line ends survive."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence

from rltel_lint.changes import Edit
from rltel_lint.findings import Place

_LINE_END = re.compile(r"\r\n|\r|\n")


class NotApplicable(Exception):  # noqa: N818 - no error: the reason why a fix is left out
    """A change cannot be made in the text at hand; the message says why."""


class Lines:
    """A text by lines and columns, its line ends read as line feeds.

    Args:
        text: The text, with any line ends.
    """

    def __init__(self, text: str) -> None:
        self.text = _LINE_END.sub("\n", text) if "\r" in text else text
        self.lines = self.text.split("\n")
        self._starts = [0]
        for line in self.lines:
            self._starts.append(self._starts[-1] + len(line) + 1)

    def line(self, number: int) -> str:
        """Returns a line without its end; ``number`` counts from 1.

        Raises:
            NotApplicable: There is no such line.
        """
        if not 1 <= number <= len(self.lines):
            raise NotApplicable("the line is not there any more")
        return self.lines[number - 1]

    def offset(self, line: int, column: int) -> int:
        """Returns the offset of a line and column, both from 1."""
        if column > len(self.line(line)) + 1:
            raise NotApplicable("the column is not there any more")
        return self._starts[line - 1] + column - 1

    def at(self, offset: int) -> tuple[int, int]:
        """Returns the line and column, both from 1, of an offset."""
        line = bisect_right(self._starts, offset, hi=len(self.lines))
        return line, offset - self._starts[line - 1] + 1

    def place(self, path: str, start: int, end: int) -> Place:
        """Returns the range between two offsets."""
        return Place(path, *self.at(start), *self.at(end))

    def cut(self, place: Place) -> str:
        """Returns the text of a range."""
        start = self.offset(place.line, place.column)
        return self.text[start : self.offset(place.end_line, place.end_column)]


def edit(lines: Lines, path: str, start: int, end: int, text: str) -> Edit:
    """Returns the edit that puts a text between two offsets."""
    return Edit(lines.place(path, start, end), text)


def clash(one: Edit, other: Edit) -> bool:
    """Whether two edits cannot be made together: they overlap, or add at the same point.

    Two equal edits are one. Whole lines of a document, such as rows of a table, can be added at
    the same point; they come in order of their text.
    """
    if one == other or one.place.path != other.place.path:
        return False
    start_one, end_one = _range(one)
    start_two, end_two = _range(other)
    if start_one == end_one == start_two == end_two and _is_lines(one) and _is_lines(other):
        return False
    if start_one == start_two:
        return True
    return start_one < end_two and start_two < end_one


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Makes edits of one text.

    Args:
        text: The text, with any line ends; those of lines that stay are kept, and new lines
            get the one that most lines have.
        edits: Edits of which no two clash.
    """
    lines = Lines(text)
    ends = _LINE_END.findall(text)
    # A carriage return of its own would become one with a line feed behind it.
    common = Counter(end for end in ends if end != "\r").most_common(1)
    usual = common[0][0] if common else ends[0] if ends else "\n"
    raw = _raw_starts(text, lines.lines, ends)

    def offset(line: int, column: int) -> int:
        lines.offset(line, column)  # checks that it is there
        return raw[line - 1] + column - 1

    result = text
    for one in sorted(set(edits), key=lambda one: (_range(one), one.text), reverse=True):
        place = one.place
        start, end = offset(place.line, place.column), offset(place.end_line, place.end_column)
        added = one.text.replace("\n", usual)
        if added.startswith("\n") and result[:start].endswith("\r"):
            added = f"\r{added}"
        result = result[:start] + added + result[end:]
    return result


def _is_lines(one: Edit) -> bool:
    text = one.text
    return not one.place.path.endswith(".py") and text.startswith("\n") != text.endswith("\n")


def _raw_starts(text: str, lines: Sequence[str], ends: Sequence[str]) -> list[int]:
    starts = [0]
    for line, end in zip(lines, ends, strict=False):
        starts.append(starts[-1] + len(line) + len(end))
    return starts


def _range(one: Edit) -> tuple[tuple[int, int], tuple[int, int]]:
    place = one.place
    return (place.line, place.column), (place.end_line, place.end_column)
