"""A graph as SVG: an outline of boxes, drawn without a browser, a network or a layout engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape, quoteattr

from rltel_lint.graph.layout import ROW, Spot, place
from rltel_lint.graph.looks import DRIFT, FILLS, GREY, RED, label_of, look_of
from rltel_lint.graph.model import Graph, Node
from rltel_lint.graph.outline import Row, outline

_BOX, _INDENT, _MARGIN = 22, 28, 16
_LETTER = 7.3
"""Width of a letter of the monospaced font at 12 px, with a little to spare."""

_STYLE = f"""\
text {{ font: 12px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; fill: #212121 }}
text.head {{ font-weight: bold; fill: {GREY} }}
text.note {{ fill: {GREY} }}
text.drift {{ fill: {RED} }}
rect {{ stroke: #616161 }}
rect.drift {{ stroke: {RED}; stroke-width: 2.5 }}
rect.again {{ stroke-dasharray: 2 3 }}
path {{ fill: none; stroke: #616161; stroke-width: 1.3 }}
path.carrier {{ stroke-dasharray: 6 4; stroke: #1565c0 }}
path.lost {{ stroke-dasharray: 6 4; stroke: {RED} }}
"""


def render(graph: Graph) -> str:
    """Returns an SVG document."""
    layout = place(outline(graph), _row_width, _MARGIN, _MARGIN + 2 * ROW)
    spots = layout.spots
    body = [line for part in (_legend(), _links(spots), _boxes(spots)) for line in part]
    width = max(_legend_width(), layout.right) + _MARGIN
    height = layout.bottom + _MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" '
        f'viewBox="0 0 {width:.0f} {height}" role="img">\n'
        "<title>Spans, and what opens inside what</title>\n"
        f"<style>\n{_STYLE}</style>\n"
        f'<rect width="100%" height="100%" style="fill: #ffffff; stroke: none"/>\n'
        + "".join(f"{line}\n" for line in body)
        + "</svg>\n"
    )


# -- sizes ---------------------------------------------------------------------------------


def _width(text: str) -> float:
    return len(text) * _LETTER


def _box_width(node: Node) -> float:
    return _width(label_of(node.name)) + 16


def _row_width(row: Row) -> float:
    if row.node is None:
        return _width(row.text)
    words = " ".join(word for word, _ in _words(row))
    return row.depth * _INDENT + _box_width(row.node) + 10 + _width(words)


def _left(spot: Spot) -> float:
    return spot.left + spot.row.depth * _INDENT


# -- parts ---------------------------------------------------------------------------------


def _legend_width() -> float:
    return _MARGIN + sum(_width(look) + 40 for look in FILLS) + 200


def _legend() -> Iterator[str]:
    x: float = _MARGIN
    for look, fill in FILLS.items():
        yield f'<rect x="{x:.1f}" y="{_MARGIN}" width="14" height="14" fill="{fill}"/>'
        yield f'<text x="{x + 20:.1f}" y="{_MARGIN + 11}">{look}</text>'
        x += _width(look) + 40
    for link, word in (("carrier", "carrier"), ("lost", "no carrier")):
        yield f'<path class="{link}" d="M{x:.1f} {_MARGIN + 7} h26"/>'
        yield f'<text x="{x + 32:.1f}" y="{_MARGIN + 11}">{word}</text>'
        x += _width(word) + 52


def _links(spots: Sequence[Spot]) -> Iterator[str]:
    for spot in spots:
        if spot.row.parent is None:
            continue
        parent = spots[spot.row.parent]
        x, start, end = _left(parent) + 12, parent.top + _BOX, spot.top + _BOX // 2
        yield f'<path class="{spot.row.link}" d="M{x:.1f} {start} V{end} H{_left(spot):.1f}"/>'


def _boxes(spots: Sequence[Spot]) -> Iterator[str]:
    for spot in spots:
        if spot.row.node is None:
            text = _text(label_of(spot.row.text))
            yield f'<text class="head" x="{spot.left:.1f}" y="{spot.top + 16}">{text}</text>'
        else:
            yield "<g>"
            yield from _box(spot, spot.row.node)
            yield "</g>"


def _box(spot: Spot, node: Node) -> Iterator[str]:
    row, top, left, width = spot.row, spot.top, _left(spot), _box_width(node)
    classes = " ".join(filter(None, ("drift" if node.drift else "", "again" if row.again else "")))
    yield f"<title>{_text(_hint(node))}</title>"
    yield (
        f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="{_BOX}" rx="4" '
        f"fill={quoteattr(FILLS[look_of(node)])} class={quoteattr(classes)}/>"
    )
    yield f'<text x="{left + 8:.1f}" y="{top + 15}">{_text(label_of(node.name))}</text>'
    x = left + width + 10
    for word, style in _words(row):
        yield f'<text class="{style}" x="{x:.1f}" y="{top + 15}">{_text(word)}</text>'
        x += _width(word) + _LETTER


def _words(row: Row) -> Iterator[tuple[str, str]]:
    """What stands behind a box, with the class of each text."""
    if row.node is None:
        return
    if row.node.drift:
        yield DRIFT[row.node.drift], "drift"
    if row.link == "lost" and row.node.drift != "orphan":
        yield "no carrier", "drift"
    groups = ", ".join(row.node.groups)
    if groups:
        yield groups, "note"
    if row.again:
        yield "(its spans stand above)", "note"


def _hint(node: Node) -> str:
    lines = [node.name, *node.sites[:8]]
    rest = len(node.sites) - 8
    return "\n".join([*lines, f"and {rest} more"] if rest > 0 else lines)


def _text(text: str) -> str:
    # What XML 1.0 cannot hold at all would make the whole picture unreadable.
    kept = "".join(
        c if c == "\n" or (c >= " " and not "\ud800" <= c <= "\udfff") else "?" for c in text
    )
    return escape(kept.replace("\ufffe", "?").replace("\uffff", "?"))
