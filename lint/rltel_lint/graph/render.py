"""A graph in the format that the user asked for."""

from __future__ import annotations

from rltel_lint.graph import json, mermaid, svg
from rltel_lint.graph.model import Graph

_RENDERERS = {"mermaid": mermaid.render, "svg": svg.render, "json": json.render}


def render_graph(graph: Graph, style: str) -> str:
    """Returns a drawing.

    Args:
        graph: The graph.
        style: ``mermaid``, ``svg`` or ``json``.
    """
    return _RENDERERS[style](graph)
