"""The part of the inventory that is more than spans: metrics, logger keys, carriers, actors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from rltel_lint.project.accepting import Method
from rltel_lint.project.dispatch import Dispatch
from rltel_lint.project.linked import Project
from rltel_lint.project.metrics import Emission, MetricRow
from rltel_lint.values import display

_LOGGED = {
    "emitted": "yes",
    "possible": "perhaps",
    "elsewhere": "not under a teed prefix",
    "never": "no",
}


@dataclass(frozen=True)
class MetricLine:
    """One declared metric.

    Attributes:
        name: The series, or the field of a mapping.
        key: The logger key that feeds it; empty for one that is recorded by hand.
        source: How it is fed: ``teed`` from the logger, ``recorded`` by hand, or a ``field``.
        kind: The instrument; empty where it is not known.
        unit: The unit.
        declared: Where, ``path:line``.
        logged: Whether the key is logged, in words; empty for one that is recorded by hand.
        sites: Where the key is written, ``path:line``.
        documented: Where it is documented, ``path:line``.
    """

    name: str
    key: str
    source: str
    kind: str
    unit: str
    declared: str
    logged: str
    sites: tuple[str, ...]
    documented: tuple[str, ...]

    def row(self) -> tuple[str, ...]:
        """The cells of a table."""
        logged = f"{self.logged}: {few(self.sites)}" if self.sites else self.logged
        shown = few(self.documented) or "nowhere"
        return (self.name, self.key, self.kind, self.unit, self.declared, logged, shown)


@dataclass(frozen=True)
class KeyLine:
    """One key that is logged.

    Attributes:
        key: The key, or a pattern with ``**`` for what is not known.
        prefixes: The prefixes it is logged under, sorted.
        sites: Where it is written, ``path:line``.
        declared: Whether a declared metric is fed by it.
    """

    key: str
    prefixes: tuple[str, ...]
    sites: tuple[str, ...]
    declared: bool

    def row(self) -> tuple[str, ...]:
        """The cells of a table."""
        prefixes = ", ".join(prefix or '""' for prefix in self.prefixes)
        return (self.key, prefixes, few(self.sites), "yes" if self.declared else "no")


@dataclass(frozen=True)
class Sending:
    """One dispatch of a method.

    Attributes:
        site: Where, ``path:line``.
        sent: Whether a carrier goes with it: ``yes``, ``no`` or ``unknown``.
        via: The project's own helpers that the dispatch goes through, nearest first.
    """

    site: str
    sent: str
    via: tuple[str, ...]


@dataclass(frozen=True)
class CarrierLine:
    """Both ends of a method that runs in another process.

    Attributes:
        method: The method, constructor or task.
        accepts: Whether it takes a carrier: ``yes``, ``no`` or ``unknown``.
        defined: Where, ``path:line``.
        dispatches: Where it is dispatched.
    """

    method: str
    accepts: str
    defined: str
    dispatches: tuple[Sending, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """Returns the line as plain data."""
        return {**vars(self), "dispatches": [vars(one) for one in self.dispatches]}

    def rows(self) -> Iterator[tuple[str, ...]]:
        """Yields the cells of a row for each kind of dispatch."""
        by_sent: dict[str, list[str]] = {}
        for one in self.dispatches:
            by_sent.setdefault(one.sent, []).append(one.site)
        for sent, sites in (by_sent or {"": ["nowhere"]}).items():
            yield (self.method, self.accepts, self.defined, sent, few(sites))


@dataclass(frozen=True)
class ActorLine:
    """One actor class.

    Attributes:
        name: The class.
        defined: Where, ``path:line``.
        methods: Its methods that are dispatched, sorted.
    """

    name: str
    defined: str
    methods: tuple[str, ...]

    def row(self) -> tuple[str, ...]:
        """The cells of a table."""
        return (self.name, self.defined, ", ".join(self.methods))


def metric_lines(project: Project) -> Iterator[MetricLine]:
    """Yields the declared metrics, sorted by series."""
    metrics = project.metrics
    lines = [_metric(project, row, "teed", metrics.emission(row.key)) for row in metrics.teed]
    lines += [_metric(project, row, "recorded", None) for row in metrics.recorded]
    for one in metrics.fields:
        lines += [
            _metric(project, row, "field", metrics.emission(row.key, one.prefixes))
            for row in one.candidates
        ]
    yield from sorted(lines, key=lambda line: (line.name, line.declared, line.key))


def _metric(project: Project, row: MetricRow, source: str, emission: Emission | None) -> MetricLine:
    return MetricLine(
        row.name,
        row.key,
        source,
        row.kind,
        row.unit,
        str(row.place),
        _LOGGED[emission.status] if emission else "",
        tuple(map(str, emission.at)) if emission else (),
        tuple(dict.fromkeys(str(e.place) for e in project.documents.naming("metric", row.name))),
    )


def key_lines(project: Project) -> Iterator[KeyLine]:
    """Yields the keys that are known to be logged, sorted."""
    metrics = project.metrics
    declared = {row.key for row in metrics.teed}
    declared |= {row.key for one in metrics.fields for row in one.candidates}
    prefixes: dict[str, set[str]] = {}
    sites: dict[str, set[str]] = {}
    for logged in metrics.logged:
        for found in metrics.keys(logged).found:
            for template in found.value.templates:
                key = display(template)
                prefixes.setdefault(key, set()).update(map(display, logged.prefix.templates))
                sites.setdefault(key, set()).add(str(found.place))
    for key in sorted(sites):
        places = tuple(sorted(sites[key], key=_by_line))
        yield KeyLine(key, tuple(sorted(prefixes[key])), places, key in declared)


def _by_line(place: str) -> tuple[str, int]:
    path, _, line = place.rpartition(":")
    return path, int(line)


def carrier_lines(project: Project) -> Iterator[CarrierLine]:
    """Yields the methods that accept a carrier or are dispatched, in order of place."""
    facts = project.carriers
    methods: dict[Method, list[Dispatch]] = {method: [] for method in facts.accepting}
    for dispatch in facts.dispatches:
        for method in dispatch.methods:
            methods.setdefault(method, []).append(dispatch)
    for method in sorted(methods, key=lambda one: (one.place, one.label)):
        dispatches = [
            Sending(str(one.place), one.sent, tuple(helper.label for helper in one.via))
            for one in sorted(methods[method], key=lambda one: one.place)
        ]
        yield CarrierLine(method.label, method.accepts, str(method.place), tuple(dispatches))


def actor_lines(project: Project) -> Iterator[ActorLine]:
    """Yields the actor classes, in order of place."""
    for actor in project.carriers.actors:
        yield ActorLine(actor.cls.name, str(actor.place), actor.methods)


def few(places: Sequence[str], most: int = 3) -> str:
    """Returns the first places, and how many more there are."""
    rest = len(places) - most
    return ", ".join(places[:most]) + (f" and {rest} more" if rest > 0 else "")
