"""A graph as JSON, for tools that draw it in their own way."""

from __future__ import annotations

from rltel_lint.graph.model import Graph
from rltel_lint.report.json import dump


def render(graph: Graph) -> str:
    """Returns one JSON object with the nodes and the edges."""
    nodes = [vars(node) for node in graph.nodes]
    edges = [vars(edge) for edge in graph.edges]
    return dump({"graph": {"nodes": nodes, "edges": edges}})
