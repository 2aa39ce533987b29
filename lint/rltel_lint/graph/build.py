"""Reads the span tree off a linked project and the findings of its rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from rltel_lint.engine import Result
from rltel_lint.facts import nodes as n
from rltel_lint.findings import Finding, Place
from rltel_lint.graph.model import Edge, Graph, Link, Node
from rltel_lint.inventory import take_inventory
from rltel_lint.project.accepting import Method
from rltel_lint.project.dispatch import Dispatch
from rltel_lint.project.linked import Project
from rltel_lint.project.spans import SpanSite
from rltel_lint.values import HOLE, display

_UNDOCUMENTED, _UNEMITTED = "RLT101", "RLT102"
_ORPHANS = {"RLT301", "RLT302", "RLT304", "RLT305"}


def build_graph(result: Result) -> Graph:
    """Builds the graph of a project.

    What is adrift is what the rules say: spans of ``RLT101`` and ``RLT102``, and for orphans
    those of ``RLT301`` to ``RLT305``.

    Args:
        result: A check of the project, with these rules among those that ran.
    """
    edges = _Edges(result.project, result.findings)
    links = set(edges.inside()) | set(edges.dispatched())
    nodes = list(_nodes(result, edges.orphans))
    known = {node.name for node in nodes}
    kept = [edge for edge in links if edge.parent in known and edge.child in known]
    return Graph(tuple(sorted(nodes, key=lambda node: node.name)), tuple(sorted(kept)))


def _nodes(result: Result, orphans: set[str]) -> Iterator[Node]:
    inventory = take_inventory(result.project)
    adrift = {
        (one.code, str(one.place), _first_name(one.message))
        for one in result.findings
        if one.code in {_UNDOCUMENTED, _UNEMITTED}
    }
    undocumented = {name for code, _, name in adrift if code == _UNDOCUMENTED}
    for line in inventory.spans:
        node = Node(line.name, line.groups, line.bucket, line.kind, sites=line.sites)
        if line.name.replace("**", "…") in undocumented:
            node = replace(node, drift="undocumented")
        elif line.name in orphans:
            node = replace(node, drift="orphan")
        yield node
    emitted = {line.name for line in inventory.spans}
    unemitted: dict[str, list[str]] = {}
    for code, place, name in sorted(adrift):
        if code == _UNEMITTED and name not in emitted:
            unemitted.setdefault(name, []).append(place)
    for name, places in unemitted.items():
        yield Node(name, drift="unemitted", sites=tuple(places))


def _first_name(message: str) -> str:
    """The name that a message speaks of: what stands in its first quotes."""
    return message.split('"')[1] if message.count('"') > 1 else ""


class _Edges:
    """The edges of a project.

    Args:
        project: The linked project.
        findings: What its rules found.
    """

    def __init__(self, project: Project, findings: Sequence[Finding]) -> None:
        self._project = project
        self._broken: set[Place] = {one.place for one in findings if one.code in _ORPHANS}
        self._sites = list(project.spans.opening())
        # Where a helper of the project opens the span by itself, that call has no names yet.
        self._within = {
            site: list(dict.fromkeys(one.site for one in project.containment.inside(site)))
            for site in self._sites
        }
        self.orphans: set[str] = set()

    def inside(self) -> Iterator[Edge]:
        """Yields the edges between spans of one thread, between neighbours only."""
        for outer, inner in self._within.items():
            for site in self._outermost(inner):
                yield from _edges(outer, site, "inside")

    def dispatched(self) -> Iterator[Edge]:
        """Yields the edges into other processes, and notes what starts its own trace there."""
        parents = self._parents()
        for dispatch in self._project.carriers.dispatches:
            for method in dispatch.methods:
                link = self._link(dispatch, method)
                if link is None:
                    continue
                for site in self._opened_first(method):
                    if link == "lost":
                        self.orphans |= set(_names(site))
                    for outer in parents.get(dispatch.at.call, ()):
                        yield from _edges(outer, site, link)

    def _link(self, dispatch: Dispatch, method: Method) -> Link | None:
        if dispatch.sent == "yes" and method.accepts == "yes":
            return "carrier"
        if dispatch.place in self._broken or method.place in self._broken:
            return "lost"
        return None

    def _parents(self) -> dict[n.Call, list[SpanSite]]:
        """For each call of a dispatch, the innermost spans around it."""
        wanted = {dispatch.at.call for dispatch in self._project.carriers.dispatches}
        around: dict[n.Call, list[SpanSite]] = {}
        for site in self._sites:
            calls = {one.call for one in self._project.containment.calls_inside(site)}
            for call in calls & wanted:
                around.setdefault(call, []).append(site)
        return {call: list(self._innermost(sites)) for call, sites in around.items()}

    def _opened_first(self, method: Method) -> list[SpanSite]:
        if method.function is None:
            return []
        opened = list(dict.fromkeys(self._project.containment.opened_in(method.function)))
        roots = set(self._project.vocabulary.carriers.root_groups)
        return [
            site
            for site in self._outermost(opened)
            if site.group is None or not roots.intersection(site.group.literals)
        ]

    def _outermost(self, sites: Sequence[SpanSite]) -> Iterator[SpanSite]:
        """Those that are in none of the others."""
        for site in sites:
            around = (other for other in sites if other is not site)
            if not any(self._holds(other, site) for other in around):
                yield site

    def _innermost(self, sites: Sequence[SpanSite]) -> Iterator[SpanSite]:
        """Those that have none of the others in them."""
        for site in sites:
            if not any(self._holds(site, other) for other in sites if other is not site):
                yield site

    def _holds(self, outer: SpanSite, inner: SpanSite) -> bool:
        """Whether one span opens in the other, and not the other way round as well."""
        return inner in self._within.get(outer, ()) and outer not in self._within.get(inner, ())


def _edges(outer: SpanSite, inner: SpanSite, link: Link) -> Iterator[Edge]:
    children = _names(inner)
    for parent in _names(outer):
        for child in _of_one_family(parent, children):
            if child != parent:
                yield Edge(parent, child, link)


def _of_one_family(parent: str, names: Iterable[str]) -> list[str]:
    """Of the names of a site that several algorithms run, those of the parent's algorithm."""
    names = list(names)
    family = ".".join(parent.split(".")[:2])
    return [name for name in names if name.startswith(f"{family}.")] or names


def _names(site: SpanSite) -> list[str]:
    return [display(name) for name in sorted(site.name.templates) if name.strip(HOLE)]
