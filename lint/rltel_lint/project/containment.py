"""What runs inside a span: in its block, and in functions of the project called from there.

Only calls that certainly stay in the thread are followed: not ``.remote()``, not a function that
is passed on to be run elsewhere. Unknown callees contribute nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rltel_lint.facts import nodes as n
from rltel_lint.project.calls import CallFinder, CallSite
from rltel_lint.project.model import Function, own_nodes
from rltel_lint.project.spans import Spans, SpanSite

DEPTH = 4
"""How many calls deep containment is followed."""


@dataclass(frozen=True)
class Inside:
    """A span that is opened while another is open.

    Attributes:
        site: The inner span's site.
        call: The call in the outer block that leads there; ``None`` for a site in the block.
    """

    site: SpanSite
    call: CallSite | None


class Containment:
    """Answers what a span's block opens.

    Args:
        spans: All span sites.
        finder: Knows the calls.
    """

    def __init__(self, spans: Spans, finder: CallFinder) -> None:
        self._finder = finder
        self._by_function: dict[Function, list[SpanSite]] = {}
        self._decorating: dict[Function, list[SpanSite]] = {}
        self._helpers = {f for f, use in spans.helpers.items() if use is not None}
        self._calls: dict[Function, list[CallSite]] = {}
        for site in spans.opening():
            if site.at.decorates is not None:
                self._decorating.setdefault(site.at.decorates, []).append(site)
            elif site.function is not None:
                self._by_function.setdefault(site.function, []).append(site)

    def inside(self, outer: SpanSite) -> Iterator[Inside]:
        """Yields the spans that open while ``outer`` is open."""
        if outer.at.decorates is not None:
            block: tuple[n.Stmt, ...] | None = outer.at.decorates.node.body
            function: Function | None = outer.at.decorates
        else:
            with_ = outer.at.with_
            block = with_.body if with_ is not None else None
            function = outer.function
            if with_ is not None:
                yield from self._later_items(outer, with_)
        if block is None or function is None:
            return
        statements = set(_statements(block))
        for site in self._by_function.get(function, ()):
            if site.at.statement in statements and site is not outer:
                yield Inside(site, None)
        for call in self._calls_in(function):
            if call.statement in statements:
                yield from (Inside(site, call) for site in self._opened_by(call, DEPTH, {function}))

    def _later_items(self, outer: SpanSite, with_: n.With) -> Iterator[Inside]:
        """The sites in the same ``with`` that come after the outer one."""
        calls = [set(n.walk(item.context)) for item in with_.items]
        after = next((i + 1 for i, nodes in enumerate(calls) if outer.at.call in nodes), len(calls))
        if outer.function is not None:
            for site in self._by_function.get(outer.function, ()):
                if site.at.with_ is with_ and any(site.at.call in c for c in calls[after:]):
                    yield Inside(site, None)

    def _opened_by(self, call: CallSite, depth: int, seen: set[Function]) -> Iterator[SpanSite]:
        func = call.call.func
        if isinstance(func, n.Attribute) and func.attr == "remote":
            return
        targets = [t for t in self._finder.called(call) if isinstance(t, Function)]
        if len(targets) != 1 or depth == 0:
            return  # which of several runs is not known
        target = targets[0]
        if target in seen or target in self._helpers:
            return
        yield from self._decorating.get(target, ())
        yield from self._by_function.get(target, ())
        for inner in self._calls_in(target):
            yield from self._opened_by(inner, depth - 1, seen | {target})

    def _calls_in(self, function: Function) -> list[CallSite]:
        known = self._calls.get(function)
        if known is None:
            known = self._calls[function] = [
                CallSite(node, function, statement)
                for statement in function.paths
                for node in own_nodes(statement)
                if isinstance(node, n.Call)
                and not isinstance(statement, (n.FunctionDef, n.ClassDef))
            ]
        return known


def _statements(block: tuple[n.Stmt, ...]) -> Iterator[n.Stmt]:
    for statement in block:
        yield statement
        for inner in n.blocks(statement):
            yield from _statements(inner)
