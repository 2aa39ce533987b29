"""A graph as the rows of an outline: what opens inside a span stands below it, indented.

A span with several parents stands below each of them, but with its own children only once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rltel_lint.graph.model import Graph, Link, Node, clusters


@dataclass(frozen=True)
class Row:
    """One line of an outline.

    Attributes:
        text: A heading; empty for a span.
        node: The span; ``None`` for a heading.
        depth: How deep it is indented, from 0.
        link: How it gets its parent; ``None`` for roots.
        parent: The index of the parent's row; ``None`` for roots.
        again: Whether its children stand elsewhere, because it stands there too.
    """

    text: str = ""
    node: Node | None = None
    depth: int = 0
    link: Link | None = None
    parent: int | None = None
    again: bool = False


def outline(graph: Graph) -> list[Row]:
    """Returns the rows of a graph; roots stand under the prefix that they share."""
    rows: list[Row] = []
    nodes = {node.name: node for node in graph.nodes}
    children: dict[str, list[tuple[str, Link]]] = {}
    for edge in graph.edges:
        children.setdefault(edge.parent, []).append((edge.child, edge.link))
    shown: set[str] = set()
    for prefix, roots in clusters(graph.roots()).items():
        rows.append(Row(text=prefix))
        todo: list[Row] = [Row(node=node) for node in reversed(roots)]
        while todo:
            row = todo.pop()
            if row.node is None:
                continue
            name = row.node.name
            again = name in shown and bool(children.get(name))
            place = len(rows)
            rows.append(Row("", row.node, row.depth, row.link, row.parent, again))
            if name not in shown:
                shown.add(name)
                todo += reversed(list(_below(children.get(name, []), nodes, row.depth, place)))
    return rows


def _below(
    children: list[tuple[str, Link]], nodes: dict[str, Node], depth: int, parent: int
) -> Iterator[Row]:
    for name, link in children:
        yield Row("", nodes[name], depth + 1, link, parent)
