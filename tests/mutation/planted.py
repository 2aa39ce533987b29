"""Something planted, and then written in every other way."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tests.mutation.sites import Helper
from tests.mutation.spellings import spelled
from tests.mutation.tree import Change, Source, last


@dataclass(frozen=True)
class Planted:
    """One text of a file.

    Attributes:
        how: The spelling.
        text: The file.
        more: Other files.
    """

    how: str
    text: str
    more: Mapping[str, str]


def in_every_spelling(
    source: Source, changes: list[Change], at: int, helper: Helper
) -> Iterator[Planted]:
    """Yields what changes make of a file, with the call of a helper in them spelled anew.

    Args:
        source: The file.
        changes: Edits; one of them plants a call of the helper.
        at: The byte, before all edits, at which the call is planted.
        helper: The helper.
    """
    planted = Source(source.path, source.edit(*changes))
    yield Planted("direct", planted.text, {})
    longer = sum(len(text.encode()) - end + start for start, end, text in changes if start < at)
    call = _call(planted, at + longer, helper)
    if call is None:
        return
    label = helper.span or helper.group
    index = helper.params.index(label)
    node = call.args[index] if index < len(call.args) else None
    if node is None:
        return
    for way in spelled(planted, node, planted.segment(node), call, helper.params):
        if way.how != "direct":
            yield Planted(way.how, planted.edit(*way.changes), way.more)


def _call(source: Source, at: int, helper: Helper) -> ast.Call | None:
    """The first call of a helper at or behind a byte."""
    calls = [
        node
        for node in source.nodes
        if isinstance(node, ast.Call) and last(node) == helper.name and source.span(node)[0] >= at
    ]
    return min(calls, key=lambda node: source.span(node)[0], default=None)
