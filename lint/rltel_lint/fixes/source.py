"""One Python file as libcst reads it, with offsets: what the codemods look places up in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TypeVar, cast

import libcst as cst
from libcst.metadata import CodeRange, PositionProvider

from rltel_lint.findings import Place
from rltel_lint.fixes.edits import Lines, NotApplicable

_Node = TypeVar("_Node", bound=cst.CSTNode)


class Source:
    """A parsed Python file.

    Args:
        path: Its path relative to the project root.
        text: Its text.

    Raises:
        NotApplicable: The text is not Python.
    """

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.lines = Lines(text)
        try:
            self.module = cst.parse_module(self.lines.text)
        except (cst.ParserSyntaxError, RecursionError) as error:
            raise NotApplicable("the file cannot be parsed") from error
        provider = PositionProvider()
        provider._gen_impl(self.module)  # as facts.lower does: a wrapper walks the tree twice
        self._positions = cast("Mapping[cst.CSTNode, CodeRange]", provider._computed)

    @cached_property
    def parents(self) -> dict[cst.CSTNode, cst.CSTNode]:
        """For every node the one around it."""
        found: dict[cst.CSTNode, cst.CSTNode] = {}
        todo: list[cst.CSTNode] = [self.module]
        while todo:
            node = todo.pop()
            for child in node.children:
                found[child] = node
                todo.append(child)
        return found

    def range(self, node: cst.CSTNode) -> tuple[int, int]:
        """Returns the offsets of a node: its first character, and the one after its last."""
        where, lines = self._positions[node], self.lines
        return (
            lines.offset(where.start.line, where.start.column + 1),
            lines.offset(where.end.line, where.end.column + 1),
        )

    def nodes(self, kind: type[_Node]) -> Iterator[_Node]:
        """Yields the nodes of a type, in order."""
        found = (node for node in self._positions if isinstance(node, kind))
        yield from sorted(found, key=lambda node: self.range(node)[0])

    def at(self, place: Place, kind: type[_Node]) -> _Node:
        """Returns the node of a type that stands at a place.

        Raises:
            NotApplicable: There is none.
        """
        lines = self.lines
        start = lines.offset(place.line, place.column)
        end = lines.offset(place.end_line, place.end_column)
        for node, where in self._positions.items():
            if isinstance(node, kind) and where.start.line == place.line:
                if self.range(node) == (start, end):
                    return node
        raise NotApplicable("the code is not there any more")

    def around(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yields the nodes around a node, innermost first."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def functions_around(self, node: cst.CSTNode) -> list[cst.CSTNode]:
        """Returns the functions and lambdas around a node, innermost first."""
        return [one for one in self.around(node) if isinstance(one, (cst.FunctionDef, cst.Lambda))]
