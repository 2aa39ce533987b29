"""Where the rows of an outline stand: in one column, or in several when there are many."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rltel_lint.graph.outline import Row

ROW = 30
"""Height of a row, in pixels."""

_SHORT = 45
"""Rows that one column may always have: about what a screen shows."""
_GAP = 36


@dataclass(frozen=True)
class Spot:
    """A row with its place.

    Attributes:
        row: The row.
        left: Its left edge without its indentation, in pixels.
        top: Its upper edge, in pixels.
    """

    row: Row
    left: float
    top: int


@dataclass(frozen=True)
class Layout:
    """All rows with their places.

    Attributes:
        spots: One for each row of the outline, in its order.
        right: The right edge of all, in pixels.
        bottom: The lower edge of all, in pixels.
    """

    spots: tuple[Spot, ...]
    right: float
    bottom: int


def place(rows: Sequence[Row], width: Callable[[Row], float], left: float, top: int) -> Layout:
    """Places rows in columns; a tree is never torn apart.

    Args:
        rows: The rows of an outline.
        width: How wide a row is with its indentation, in pixels.
        left: Where the first column begins, in pixels.
        top: Where the columns begin, in pixels.
    """
    spots: list[Spot] = []
    right = bottom = 0.0
    for column in _columns(rows, _height(len(rows), max(map(width, rows), default=0))):
        for number, row in enumerate(column):
            spots.append(Spot(row, left, top + number * ROW))
        right = left + max(map(width, column))
        bottom = max(bottom, top + len(column) * ROW)
        left = right + _GAP
    return Layout(tuple(spots), right, int(bottom) or top)


def _height(rows: int, width: float) -> int:
    """How many rows a column gets, so that the picture is about as wide as it is high."""
    columns = max(1, round(math.sqrt(rows * ROW / (width + _GAP))))
    return max(_SHORT, math.ceil(rows / columns))


def _columns(rows: Sequence[Row], height: int) -> list[list[Row]]:
    columns: list[list[Row]] = [[]]
    for block in _blocks(rows):
        if columns[-1] and len(columns[-1]) + len(block) > height:
            columns.append([])
        columns[-1] += block
    return [column for column in columns if column]


def _blocks(rows: Sequence[Row]) -> list[list[Row]]:
    """The rows cut before each heading, and before each root that follows another tree."""
    blocks: list[list[Row]] = []
    for row in rows:
        follows_heading = bool(blocks) and blocks[-1][-1].node is None
        if not blocks or (row.depth == 0 and not follows_heading):
            blocks.append([])
        blocks[-1].append(row)
    return blocks
