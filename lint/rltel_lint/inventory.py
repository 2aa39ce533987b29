"""What the code base emits, as tables for people and as JSON for machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rltel_lint.findings import Place
from rltel_lint.inventory_lines import (
    ActorLine,
    CarrierLine,
    KeyLine,
    MetricLine,
    actor_lines,
    carrier_lines,
    few,
    key_lines,
    metric_lines,
)
from rltel_lint.project.linked import Project
from rltel_lint.project.spans import SpanSite
from rltel_lint.values import HOLE, display

Table = tuple[str, Sequence[str], Sequence[Sequence[str]]]


@dataclass(frozen=True)
class SpanLine:
    """One span name of the inventory.

    Attributes:
        name: The name, or a pattern with ``**`` for what is not known.
        groups: The groups it is opened under, sorted.
        bucket: Its goodput bucket, empty for umbrellas and where it is not known.
        kind: ``umbrella``, ``leaf`` or empty.
        sites: Where it is opened, ``path:line``.
        documented: Where it is documented, ``path:line``.
    """

    name: str
    groups: tuple[str, ...]
    bucket: str
    kind: str
    sites: tuple[str, ...]
    documented: tuple[str, ...]


@dataclass(frozen=True)
class GroupLine:
    """One group: where it is declared and how many sites use it."""

    name: str
    kind: str
    declared: str
    presets: tuple[str, ...]
    uses: int
    documented: tuple[str, ...]


@dataclass(frozen=True)
class Inventory:
    """All that a project emits.

    Attributes:
        spans: Span names, sorted.
        groups: Groups, sorted.
        presets: Presets that the project declares.
        attributes: Span attributes set at the sites, with where.
        unknown: Sites whose span name is not known at all, with the reason.
        project: The linked project, for what is worked out only when asked for.
    """

    spans: tuple[SpanLine, ...]
    groups: tuple[GroupLine, ...]
    presets: tuple[tuple[str, tuple[str, ...]], ...]
    attributes: tuple[tuple[str, tuple[str, ...]], ...]
    unknown: tuple[tuple[str, str], ...]
    project: Project

    @cached_property
    def metrics(self) -> tuple[MetricLine, ...]:
        """Declared metrics, sorted by series."""
        return tuple(metric_lines(self.project))

    @cached_property
    def keys(self) -> tuple[KeyLine, ...]:
        """Keys that are logged, sorted."""
        return tuple(key_lines(self.project))

    @cached_property
    def carriers(self) -> tuple[CarrierLine, ...]:
        """Methods that accept a carrier, or are dispatched with or without one."""
        return tuple(carrier_lines(self.project))

    @cached_property
    def actors(self) -> tuple[ActorLine, ...]:
        """Actor classes, in order of place."""
        return tuple(actor_lines(self.project))

    def to_json(self) -> dict[str, Any]:
        """Returns the inventory as plain data."""
        return {
            "spans": [vars(line) for line in self.spans],
            "groups": [vars(line) for line in self.groups],
            "presets": [{"name": name, "groups": groups} for name, groups in self.presets],
            "attributes": [{"key": key, "sites": sites} for key, sites in self.attributes],
            "unknown": [{"site": site, "reason": reason} for site, reason in self.unknown],
            "metrics": [vars(line) for line in self.metrics],
            "logger_keys": [vars(line) for line in self.keys],
            "carriers": [line.to_json() for line in self.carriers],
            "actors": [vars(line) for line in self.actors],
        }

    def tables(self) -> list[Table]:
        """Returns the inventory as titled tables."""
        return [
            (
                "spans",
                ("name", "group", "bucket", "kind", "opened at", "documented at"),
                [
                    (
                        line.name,
                        ", ".join(line.groups),
                        line.bucket,
                        line.kind,
                        few(line.sites),
                        few(line.documented) or "nowhere",
                    )
                    for line in self.spans
                ],
            ),
            (
                "groups",
                ("name", "kind", "declared at", "in presets", "uses", "documented at"),
                [
                    (
                        line.name,
                        line.kind,
                        line.declared,
                        ", ".join(line.presets),
                        str(line.uses),
                        few(line.documented),
                    )
                    for line in self.groups
                ],
            ),
            ("presets", ("name", "groups"), [(name, ", ".join(g)) for name, g in self.presets]),
            (
                "span attributes",
                ("key", "set at"),
                [(key, few(sites)) for key, sites in self.attributes],
            ),
            ("spans whose name is not known", ("opened at", "because"), list(self.unknown)),
            (
                "metrics",
                ("series", "logger key", "kind", "unit", "declared at", "logged", "documented at"),
                [line.row() for line in self.metrics],
            ),
            (
                "logger keys",
                ("key", "prefix", "logged at", "declared"),
                [line.row() for line in self.keys],
            ),
            (
                "carriers",
                ("method", "accepts", "defined at", "sent", "dispatched at"),
                [row for line in self.carriers for row in line.rows()],
            ),
            (
                "actors",
                ("class", "defined at", "dispatched methods"),
                [line.row() for line in self.actors],
            ),
        ]


def take_inventory(project: Project) -> Inventory:
    """Lists what a linked project emits."""
    return Inventory(
        tuple(_spans(project)),
        tuple(_groups(project)),
        tuple((p.name, tuple(g for g, _ in p.groups)) for p in project.groups.presets),
        tuple(_attributes(project)),
        tuple(
            (str(site.place), site.name.reason)
            for site in project.spans.sites
            if not any(template.strip(HOLE) for template in site.name.templates)
        ),
        project,
    )


def _spans(project: Project) -> Iterator[SpanLine]:
    found: dict[str, list[SpanSite]] = {}
    for site in project.spans.sites:
        for template in site.name.templates:
            if template.strip(HOLE):
                found.setdefault(template, []).append(site)
    for template, sites in sorted(found.items()):
        groups = {g for site in sites if site.group is not None for g in site.group.literals}
        rows = project.documents.naming("span", template)
        kinds = {_kind(project, group) for group in groups}
        fixed = all(site.helper.kind == "fixed" for site in sites)  # those stamp no bucket
        yield SpanLine(
            display(template),
            tuple(sorted(groups)),
            "" if fixed else _bucket(project, template, groups),
            kinds.pop() if len(kinds) == 1 else "",
            tuple(dict.fromkeys(str(site.place) for site in sites)),
            tuple(dict.fromkeys(str(row.place) for row in rows)),
        )


def _kind(project: Project, group: str) -> str:
    if not project.groups.umbrellas:
        return ""
    return "umbrella" if group in project.groups.umbrellas else "leaf"


def _bucket(project: Project, template: str, groups: set[str]) -> str:
    buckets = {project.vocabulary.bucket_of(group) for group in groups}
    efficiency = project.vocabulary.efficiency_group
    if efficiency and groups == {efficiency}:
        category = display(template).partition(".")[2].replace(".", "/")
        head = category.partition("/")[0]
        listed = category in project.unbucketed_categories
        return "" if listed or head not in {"idle", "wasted"} else head
    return buckets.pop() if len(buckets) == 1 else ""


def _groups(project: Project) -> Iterator[GroupLine]:
    declared = {group.name: str(group.place) for group in project.groups.declared}
    for name in sorted(project.groups.names | set(project.group_uses)):
        presets = [p.name for p in project.groups.presets if name in {g for g, _ in p.groups}]
        rows = project.documents.naming("group", name)
        yield GroupLine(
            name,
            _kind(project, name),
            declared.get(name, "library" if name in project.groups.library else "nowhere"),
            tuple(dict.fromkeys(presets)),
            len(project.group_uses.get(name, ())),
            tuple(dict.fromkeys(str(row.place) for row in rows)),
        )


def _attributes(project: Project) -> Iterator[tuple[str, tuple[str, ...]]]:
    found: dict[str, set[Place]] = {}
    for one in project.attributes.set:
        for template in one.name.templates:
            if template.strip(HOLE):
                found.setdefault(display(template), set()).add(one.place)
    for key, places in sorted(found.items()):
        yield key, tuple(dict.fromkeys(map(str, sorted(places))))
