"""Colours and words that every drawing of a graph uses."""

from __future__ import annotations

from rltel_lint.graph.model import Node

RED = "#c62828"
GREY = "#757575"

FILLS = {
    "umbrella": "#e3f2fd",
    "productive": "#c8e6c9",
    "overhead": "#ffe0b2",
    "idle": "#e1bee7",
    "wasted": "#d7ccc8",
    "other": "#f5f5f5",
}
"""Fill by bucket; umbrellas have none and get a colour of their own."""

DRIFT = {
    "undocumented": "in no document",
    "unemitted": "documented, opened nowhere",
    "orphan": "starts its own trace",
}


def look_of(node: Node) -> str:
    """Returns the key into :data:`FILLS` for a node."""
    if node.bucket in FILLS:
        return node.bucket
    return "umbrella" if node.kind == "umbrella" else "other"


def label_of(name: str) -> str:
    """Returns a name for a drawing: what is not known of it is one asterisk."""
    return name.replace("**", "*")
