"""Tables as plain text in aligned columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rltel_lint.report.text import one_line

_GAP = "  "
_NARROWEST = 12


def render_tables(
    tables: Sequence[tuple[str, Sequence[str], Sequence[Sequence[object]]]], width: int | None
) -> str:
    """Returns tables with their titles, a blank line between them.

    Args:
        tables: Title, header and rows of each.
        width: Characters of a line; wide cells are wrapped to fit. ``None``: no limit.
    """
    return "\n".join(_table(title, header, rows, width) for title, header, rows in tables)


def _table(
    title: str, header: Sequence[str], rows: Sequence[Sequence[object]], width: int | None
) -> str:
    lines = [one_line(f"{title} ({len(rows)})")]
    cells = [[one_line(str(cell)) for cell in row] for row in rows]
    if cells:
        cells = [[one_line(name) for name in header], *cells]
        widths = [max(len(row[index]) for row in cells) for index in range(len(header))]
        if width is not None:
            widths = _fit(widths, width - len(_GAP) * len(header))
        for row in cells:
            lines += _row(row, widths)
    return "".join(line + "\n" for line in lines)


def _fit(widths: list[int], available: int) -> list[int]:
    """Narrows the widest columns, none below a readable width, until all fit."""
    widths = list(widths)
    while sum(widths) > available:
        widest = max(range(len(widths)), key=widths.__getitem__)
        if widths[widest] <= _NARROWEST:
            break
        widths[widest] -= 1
    return widths


def _row(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    wrapped = [
        textwrap.wrap(cell, width) or [""] for cell, width in zip(cells, widths, strict=True)
    ]
    height = max(len(cell) for cell in wrapped)
    return [
        (
            _GAP
            + _GAP.join(
                (cell[index] if index < len(cell) else "").ljust(width)
                for cell, width in zip(wrapped, widths, strict=True)
            )
        ).rstrip()
        for index in range(height)
    ]
