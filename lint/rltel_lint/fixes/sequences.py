"""Elements of bracketed sequences in source text: added and removed without touching the rest.

A sequence that stands on several lines gets its new element on a line of its own, as its other
elements have; a comment stays with the element that it stands behind.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rltel_lint.changes import Edit
from rltel_lint.fixes.edits import Lines, NotApplicable, edit

Range = tuple[int, int]
"""Offsets of an element: its first character, and the one after its last."""

_COMMA = re.compile(r"(?:[\s)]|#[^\n]*\n)*,")
_TAIL = re.compile(r"[ \t]*(?:#[^\n]*)?\n")


def add_last(lines: Lines, path: str, items: Sequence[Range], close: int, code: str) -> list[Edit]:
    """Adds an element after the last one.

    Args:
        lines: The text.
        path: Its file.
        items: The elements, in order.
        close: Offset of the closing bracket.
        code: The element to add.
    """
    text = lines.text
    if not items:
        return [edit(lines, path, close, close, code)]
    start, end = items[-1]
    comma = _comma(text, end, close)
    after = comma + 1 if comma is not None else end
    tail = _TAIL.match(text, after)
    if tail is None or tail.end() > close:  # the bracket closes on the line of the last element
        return [edit(lines, path, end, end, f", {code}")]
    indent = _indent(text, start)
    if indent is None:  # the last element shares its line with others
        return [edit(lines, path, end, end, f", {code}")]
    line_end = tail.end() - 1
    added = f"\n{indent}{code}"
    if comma is not None:
        return [edit(lines, path, line_end, line_end, f"{added},")]
    if line_end == end:
        return [edit(lines, path, end, end, f",{added}")]
    return [edit(lines, path, end, end, ","), edit(lines, path, line_end, line_end, added)]


def insert_before(lines: Lines, path: str, item: Range, code: str) -> list[Edit]:
    """Adds an element in front of another one, in the way in which that one stands."""
    indent = _indent(lines.text, item[0])
    gap = f"\n{indent}" if indent is not None else " "
    return [edit(lines, path, item[0], item[0], f"{code},{gap}")]


def remove(
    lines: Lines, path: str, items: Sequence[Range], index: int, close: int, *, keep_comma: bool
) -> list[Edit]:
    """Removes an element, and its whole lines where it stands alone on them.

    Args:
        lines: The text.
        path: Its file.
        items: The elements, in order.
        index: Which one to remove.
        close: Offset of the closing bracket.
        keep_comma: Whether a lone remaining element must be followed by a comma (a tuple).
    """
    text = lines.text
    start, end = items[index]
    comma = _comma(text, end, close)
    after = comma + 1 if comma is not None else end
    last = index == len(items) - 1
    alone = keep_comma and len(items) == 2
    tail = _TAIL.match(text, after)
    begin = start - len(_indent(text, start) or "")
    edits = []
    if alone and not last and _comma(text, items[1][1], close) is None:
        edits.append(edit(lines, path, items[1][1], items[1][1], ","))
    if _indent(text, start) is not None and tail is not None and tail.end() <= close:
        edits.append(edit(lines, path, begin, tail.end(), ""))
        if last and comma is None and not alone and index:
            previous = items[index - 1][1]
            mark = _comma(text, previous, close)
            if mark is not None:  # the sequence has no comma at its end, and keeps none
                edits.append(edit(lines, path, mark, mark + 1, ""))
        return edits
    if not last:
        return [*edits, edit(lines, path, start, items[index + 1][0], "")]
    if index == 0:
        return [edit(lines, path, start, after, "")]
    previous = items[index - 1][1]
    if "#" in text[previous:start]:
        raise NotApplicable("a comment stands between the elements")
    return [edit(lines, path, previous, end, "," if alone and comma is None else "")]


def _comma(text: str, end: int, close: int) -> int | None:
    """The offset of the comma behind an element, past comments and its own parentheses."""
    found = _COMMA.match(text, end)
    return found.end() - 1 if found and found.end() <= close else None


def _indent(text: str, start: int) -> str | None:
    """The blanks before an offset, if nothing else stands before it on its line."""
    head = text[text.rfind("\n", 0, start) + 1 : start]
    return head if not head.strip() else None
