"""The span tree: span names, what opens inside what, and where the two halves disagree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

Drift = Literal["", "undocumented", "unemitted", "orphan"]
"""What is wrong with a span: no document lists it, no code opens it, or it starts a trace of its
own in another process."""

Link = Literal["inside", "carrier", "lost"]
"""How a span gets its parent: in the same thread, by a carrier, or not at all although it is
dispatched from inside the parent."""


@dataclass(frozen=True)
class Node:
    """One span name.

    Attributes:
        name: The name, or a pattern with ``**`` for what is not known.
        groups: The groups it is opened under, sorted.
        bucket: Its goodput bucket; empty for umbrellas and where it is not known.
        kind: ``umbrella``, ``leaf`` or empty.
        drift: What is wrong with it; empty if nothing is.
        sites: Where it is opened, or documented if it is opened nowhere: ``path:line``.
    """

    name: str
    groups: tuple[str, ...] = ()
    bucket: str = ""
    kind: str = ""
    drift: Drift = ""
    sites: tuple[str, ...] = ()


@dataclass(frozen=True, order=True)
class Edge:
    """A span that opens while another is open.

    Attributes:
        parent: The outer span's name.
        child: The inner span's name.
        link: How the parent gets to the child.
    """

    parent: str
    child: str
    link: Link


@dataclass(frozen=True)
class Graph:
    """A span tree, with the spans that have several parents.

    Attributes:
        nodes: Span names, sorted.
        edges: Edges, sorted.
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    def node(self, name: str) -> Node:
        """Returns the node of a name."""
        return next(node for node in self.nodes if node.name == name)

    def children(self, name: str) -> list[Edge]:
        """Returns the edges that leave a span, sorted."""
        return [edge for edge in self.edges if edge.parent == name]

    def roots(self) -> list[Node]:
        """Returns the spans to start from: those without a parent, and one of each pure cycle."""
        inner = {edge.child for edge in self.edges}
        roots = [node for node in self.nodes if node.name not in inner]
        seen = set(self._reached(node.name for node in roots))
        for node in self.nodes:
            if node.name not in seen:
                roots.append(node)
                seen |= set(self._reached([node.name]))
        return sorted(roots, key=lambda node: node.name)

    def _reached(self, names: Iterable[str]) -> Iterator[str]:
        todo, seen = list(names), set()
        while todo:
            name = todo.pop()
            if name not in seen:
                seen.add(name)
                yield name
                todo += [edge.child for edge in self.children(name)]


def clusters(nodes: Iterable[Node]) -> dict[str, list[Node]]:
    """Returns nodes by the prefix that they share: two words, or one if the name has no more.

    A prefix of one span alone is no cluster: such spans stand together under the first word.
    """
    found: dict[str, list[Node]] = {}
    for node in nodes:
        words = node.name.split(".")
        found.setdefault(".".join(words[: 2 if len(words) > 2 else 1]), []).append(node)
    result: dict[str, list[Node]] = {}
    for prefix, members in found.items():
        kept = prefix if len(members) > 1 else prefix.partition(".")[0]
        result.setdefault(kept, []).extend(members)
    return {prefix: sorted(result[prefix], key=lambda n: n.name) for prefix in sorted(result)}
