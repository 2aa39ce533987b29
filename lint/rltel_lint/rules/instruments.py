"""RLT507: a metric is of the kind that its row says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rltel_lint.findings import Finding, Place
from rltel_lint.project.instruments import agree, kind_made, kind_named
from rltel_lint.rules.base import Rule

if TYPE_CHECKING:
    from rltel_lint.facts import nodes as n
    from rltel_lint.facts.entries import DocumentEntry
    from rltel_lint.project.linked import Project


class MetricOfAnotherKind(Rule):
    """Queries are written for a kind: `rate()` of a gauge and the last value of a counter are
    numbers that mean nothing, and a histogram has series of other names. A table that calls a
    counter a gauge makes wrong dashboards, and no error.

    Correct the row, or make the instrument that it says. The kinds of a library's own metrics are
    known from the profile (`metric_kinds`). An up-down counter may be called a
    counter or a gauge, and a kind that is not known is not compared.
    """

    code = "RLT507"
    name = "metric-of-another-kind"
    summary = "a metric is documented as another kind of instrument than the code makes"
    bad = """
        --- metrics.py
        def instruments(meter):
            return [
                meter.create_counter("rl.queue.timeouts"),
                meter.create_gauge("rl.queue.length"),
            ]
        --- docs/metrics.md
        | Metric | Kind |
        |---|---|
        | `rl.queue.timeouts` | gauge | <- RLT507
        | `rl.queue.length` | gauge |
    """
    good = """
        --- metrics.py
        def instruments(meter):
            return [
                meter.create_counter("rl.queue.timeouts"),
                meter.create_gauge("rl.queue.length"),
            ]
        --- docs/metrics.md
        | Metric | Kind |
        |---|---|
        | `rl.queue.timeouts` | counter |
        | `rl.queue.length` | gauge |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each row whose kind no instrument of that name has."""
        rows = [
            (entry, name, kind)
            for entry in project.documents.of_kind("metric")
            if entry.status == "active" and (kind := _documented(entry))
            for name in entry.names
        ]
        made = _made(project) if rows else {}
        for entry, name, kind in rows:
            kinds = made.get(name, [])
            if not kinds or any(not known or agree(kind, known) for known, _ in kinds):
                continue
            known, place = kinds[0]
            maker = "the library" if place is None else "the code"
            yield self.finding(
                entry.place,
                f'metric "{name}" is documented as {_article(kind)}, but {maker} makes '
                f"{_article(known)} of it; correct the row"
                f"{'' if place is None else ' or the instrument'}",
                [] if place is None else [(place, "it is made here")],
            )


def _documented(entry: DocumentEntry) -> str:
    """The kind that a row gives; a second column of instruments says it too."""
    return kind_named(" ".join(entry.column("type") or entry.column("metric")))


def _made(project: Project) -> dict[str, list[tuple[str, Place | None]]]:
    """The kinds of which the code makes each metric, and where; empty where one is not known."""
    found: dict[str, list[tuple[str, Place | None]]] = {}
    for row in (*project.metrics.declared.teed, *project.metrics.recorded):
        if row.name:
            found.setdefault(row.name, []).append((kind_named(row.kind), row.place))
    for instrument in project.series.instruments:
        kind = _method(instrument.site.call.func)
        for name in instrument.name.literals:
            found.setdefault(name, []).append((kind_made(kind), instrument.site.place))
    for name, kind in project.vocabulary.metric_kinds.items():
        found.setdefault(name, []).append((kind, None))
    return found


def _method(func: n.Expr) -> str:
    return getattr(func, "attr", "")


def _article(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
