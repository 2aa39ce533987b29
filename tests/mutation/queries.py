"""Queries of dashboards and pages that ask for a name, and for one that is not there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from tests.mutation.controls import KIND
from tests.mutation.mutants import Mutant, mutator
from tests.mutation.tree import Row, Tree

_BOARD = "dashboards/planted.json"
_PAGE = "docs/planted.md"
_SPANS = {
    "selection": '{ name = "NAME" }',
    "condition": '{ duration > 1s && span:name = "NAME" } | rate()',
    "pattern": '{ name =~ "NAME" }',
    "series of spans": 'rate(traces_spanmetrics_calls_total{span_name="NAME"}[5m])',
}
_SERIES = {
    "bare": "NAME",
    "selection": 'NAME{job="a"}',
    "rate": "sum by (job) (rate(NAME_total[5m]))",
    "quantile": "histogram_quantile(0.9, sum by (le) (rate(NAME_bucket[5m])))",
    "variable": "label_values(NAME, job)",
}
_LABELS = {
    "selection": 'up{NAME="a"}',
    "grouping": "sum by (job, NAME) (up)",
    "joined": "up * on(job) group_left(NAME) up",
}
_ATTRIBUTES = {
    "selection": '{ span.NAME = "a" }',
    "without a scope": '{ .NAME = "a" }',
    "selected": "{ } | select(span.NAME)",
}


@mutator
def queries(tree: Tree) -> Iterator[Mutant]:
    """A dashboard, then a page, asks for a documented name, and for one beside it."""
    for row in tree.rows:
        header = row.cells[0][0].rstrip("s") if row.cells else ""
        for name in _names(tree, row):
            exported = re.sub(r"\W", "_", name)
            if header in {"span", "span name"}:
                yield from _planted("span", "108", row, name, _SPANS)
            elif header == "metric":
                yield from _planted("series", "508", row, exported, _SERIES)
            elif header in {"span attribute", "attribute"}:
                yield from _planted("label", "704", row, exported, _LABELS)
                yield from _planted("attribute", "704", row, name, _ATTRIBUTES)


def _names(tree: Tree, row: Row) -> list[str]:
    """The plain names of a row, unless it says that they are not there."""
    if any("reserved" in cell or "retired" in cell for _, cell in row.cells):
        return []
    own = rf"{re.escape(tree.config.namespace[0])}[\w.]+"
    return re.findall(rf"`({own})`", row.cells[0][1] if row.cells else "")


def _planted(
    what: str, code: str, row: Row, name: str, forms: Mapping[str, str]
) -> Iterator[Mutant]:
    for form, query in forms.items():
        for kind, codes, text in (
            (KIND, frozenset(), query.replace("NAME", name)),
            ("DOCREF", frozenset({f"RLT{code}"}), query.replace("NAME", f"{name}_drifted")),
        ):
            for where, texts in _places(text):
                title = f"{what} asked for in {where}, {form}"
                yield Mutant(kind, title, codes, f"{row.path}:{row.line}", text, lambda t=texts: t)


def _places(query: str) -> Iterator[tuple[str, dict[str, str]]]:
    panel = {"panels": [{"title": "planted", "targets": [{"expr": query}]}]}
    yield "a dashboard", {_BOARD: json.dumps(panel, indent=2)}
    yield "a block", {_PAGE: f"Ask:\n\n```promql\n{query}\n```\n"}
    if re.search(r"\{[^}]*=", query):
        yield "a code span", {_PAGE: f"Ask `{query}` for it.\n"}
