"""A graph as a Mermaid flowchart, which GitHub, GitLab and many editors draw.

The syntax is that of "Flowcharts" in Mermaid's documentation.
"""

from __future__ import annotations

from collections.abc import Iterator

from rltel_lint.graph.looks import DRIFT, FILLS, RED, label_of, look_of
from rltel_lint.graph.model import Graph, Node, clusters

_CLUSTERED = 12
"""With more spans than this, those with a common prefix are framed."""

_MOST_EDGES, _MOST_LETTERS = 500, 50_000
"""More than this Mermaid does not draw unless it is configured to (``maxEdges``,
``maxTextSize``), which GitHub and GitLab do not allow."""

_ENTITIES = str.maketrans(
    {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;", "`": "#96;"}
    | dict.fromkeys(range(32), " ")
)

_ARROWS = {"inside": "-->", "carrier": "-. carrier .->", "lost": "-. no carrier .-x"}


def render(graph: Graph) -> str:
    """Returns the text of a flowchart."""
    return "".join(f"{line}\n" for line in _lines(graph))


def too_large(graph: Graph, text: str) -> bool:
    """Whether a drawing is beyond what Mermaid draws by default."""
    return len(graph.edges) > _MOST_EDGES or len(text) > _MOST_LETTERS


def _lines(graph: Graph) -> Iterator[str]:
    yield "flowchart LR"
    ids = {node.name: f"n{number}" for number, node in enumerate(graph.nodes)}
    if len(graph.nodes) > _CLUSTERED:
        for number, (prefix, nodes) in enumerate(clusters(graph.nodes).items()):
            yield f'    subgraph c{number} ["{_text(label_of(prefix))}"]'
            for node in nodes:
                yield f"        {_node(node, ids[node.name])}"
            yield "    end"
    else:
        for node in graph.nodes:
            yield f"    {_node(node, ids[node.name])}"
    lost = []
    for number, edge in enumerate(graph.edges):
        yield f"    {ids[edge.parent]} {_ARROWS[edge.link]} {ids[edge.child]}"
        if edge.link == "lost":
            lost.append(str(number))
    yield from _styles(graph, ids, lost)


def _styles(graph: Graph, ids: dict[str, str], lost: list[str]) -> Iterator[str]:
    used = {look_of(node) for node in graph.nodes}
    for look, fill in FILLS.items():
        if look in used:
            yield f"    classDef {look} fill:{fill},stroke:#616161,color:#212121"
    adrift = [ids[node.name] for node in graph.nodes if node.drift]
    if adrift:
        yield f"    classDef drift stroke:{RED},stroke-width:3px,color:{RED}"
        yield f"    class {','.join(adrift)} drift"
    if lost:
        yield f"    linkStyle {','.join(lost)} stroke:{RED},stroke-width:2px"


def _node(node: Node, identifier: str) -> str:
    drift = f"<br/>{DRIFT[node.drift]}" if node.drift else ""
    return f'{identifier}["{_text(label_of(node.name))}{drift}"]:::{look_of(node)}'


def _text(text: str) -> str:
    return text.translate(_ENTITIES)
