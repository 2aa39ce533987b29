"""What runs inside a span: in its block, and in functions of the project called from there.

Only calls that certainly stay in the thread are followed: not ``.remote()``, not a function that
is passed on to be run elsewhere. Unknown callees contribute nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rltel_lint.facts import nodes as n
from rltel_lint.project.binding import init_of
from rltel_lint.project.calls import CallFinder, CallSite
from rltel_lint.project.model import Class, Function, Scope
from rltel_lint.project.resolve import Resolver
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
        resolver: Knows which constructor a class has.
    """

    def __init__(self, spans: Spans, finder: CallFinder, resolver: Resolver) -> None:
        self._finder = finder
        self._resolver = resolver
        self._by_scope: dict[Scope, list[SpanSite]] = {}
        self._decorating: dict[Function, list[SpanSite]] = {}
        self._helpers = {f for f, use in spans.helpers.items() if use is not None}
        self._calls: dict[n.Stmt, list[CallSite]] = {}
        self._targets: dict[CallSite, Function | None] = {}
        for site in spans.opening():
            if site.at.decorates is not None:
                self._decorating.setdefault(site.at.decorates, []).append(site)
            elif not _deferred(site):
                self._by_scope.setdefault(site.at.scope, []).append(site)

    def inside(self, outer: SpanSite) -> Iterator[Inside]:
        """Yields the spans that open while ``outer`` is open."""
        decorated, with_ = outer.at.decorates, outer.at.with_
        if decorated is not None:
            yield from self._in_block(outer, decorated.node.body, decorated)
        elif with_ is not None:
            yield from self._later_items(outer, with_)
            yield from self._in_block(outer, with_.body, outer.at.scope)

    def _in_block(
        self, outer: SpanSite, block: tuple[n.Stmt, ...], scope: Scope
    ) -> Iterator[Inside]:
        statements = dict.fromkeys(_statements(block))
        for site in self._by_scope.get(scope, ()):
            if site.at.statement in statements and site is not outer:
                yield Inside(site, None)
        seen = frozenset({scope})
        for statement in statements:
            for call in self._calls_in(statement, scope):
                yield from (Inside(site, call) for site in self._opened_by(call, DEPTH, seen))

    def calls_inside(self, outer: SpanSite) -> Iterator[CallSite]:
        """Yields the calls that run while ``outer`` is open, also in functions called there."""
        decorated, with_ = outer.at.decorates, outer.at.with_
        if decorated is not None:
            yield from self._calls_of(decorated.node.body, decorated, DEPTH, frozenset())
        elif with_ is not None:
            yield from self._calls_of(with_.body, outer.at.scope, DEPTH, frozenset())

    def _calls_of(
        self, block: tuple[n.Stmt, ...], scope: Scope, depth: int, seen: frozenset[Scope]
    ) -> Iterator[CallSite]:
        for statement in _statements(block):
            for call in self._calls_in(statement, scope):
                yield call
                target = self._target(call) if depth else None
                if target is not None and target not in seen:
                    yield from self._calls_of(target.node.body, target, depth - 1, seen | {scope})

    def opened_in(self, function: Function) -> Iterator[SpanSite]:
        """Yields the spans that open when a function runs, also in functions that it calls."""
        yield from self._decorating.get(function, ())
        yield from self._by_scope.get(function, ())
        for statement in function.paths:
            for call in self._calls_in(statement, function):
                yield from self._opened_by(call, DEPTH, frozenset({function}))

    def _later_items(self, outer: SpanSite, with_: n.With) -> Iterator[Inside]:
        """The sites in the same ``with`` that come after the outer one."""
        calls = [set(n.walk(item.context)) for item in with_.items]
        after = next((i + 1 for i, nodes in enumerate(calls) if outer.at.call in nodes), len(calls))
        for site in self._by_scope.get(outer.at.scope, ()):
            if site.at.with_ is with_ and any(site.at.call in c for c in calls[after:]):
                yield Inside(site, None)

    def _opened_by(self, call: CallSite, depth: int, seen: frozenset[Scope]) -> Iterator[SpanSite]:
        target = self._target(call)
        if target is None or depth == 0 or target in seen or target in self._helpers:
            return
        yield from self._decorating.get(target, ())
        yield from self._by_scope.get(target, ())
        for statement in target.paths:
            for inner in self._calls_in(statement, target):
                yield from self._opened_by(inner, depth - 1, seen | {target})

    def _target(self, call: CallSite) -> Function | None:
        """The one function of the project that a call certainly runs, here and now."""
        if call not in self._targets:
            self._targets[call] = self._find_target(call)
        return self._targets[call]

    def _find_target(self, call: CallSite) -> Function | None:
        func = call.call.func
        if isinstance(func, n.Attribute) and func.attr == "remote":
            return None
        entities = self._resolver.of(func, call.scope)
        if len(entities) == 1:
            (entity,) = entities
            if isinstance(entity, Class):
                return init_of(entity, self._resolver.mro(entity))
        if self._finder.is_overridden(call):
            return None
        targets = self._finder.targets(call) or []
        if len(targets) != 1 or not _runs_at_once(call, targets[0]):
            return None  # which of several runs is not known, or when
        return targets[0]

    def _calls_in(self, statement: n.Stmt, scope: Scope) -> list[CallSite]:
        known = self._calls.get(statement)
        if known is None:
            calls: list[n.Call] = []
            if not isinstance(statement, (n.FunctionDef, n.ClassDef)):
                calls = [node for node in _eager(statement) if isinstance(node, n.Call)]
            known = [CallSite(call, scope, statement) for call in calls]
            self._calls[statement] = known
        return known


def _runs_at_once(call: CallSite, target: Function) -> bool:
    """Whether the body runs where it is called: a coroutine is awaited, a generator looped over."""
    if not target.node.is_async and not target.node.is_generator:
        return True
    for node in n.own_nodes(call.statement):
        if isinstance(node, (n.Await, n.Yield)) and node.value is call.call:
            return True
        if isinstance(node, n.For) and node.iterable is call.call:
            return True
        if isinstance(node, n.Comprehension):
            if any(iterable is call.call for _, iterable in node.loops):
                return True
    return False


def _deferred(site: SpanSite) -> bool:
    """Whether a site stands in a lambda, so that it opens when that is called."""
    return site.at.call not in set(_eager(site.at.statement))


def _eager(node: n.Node) -> Iterator[n.Node]:
    """The nodes of a statement that are evaluated with it, in order: not those in lambdas."""
    yield node
    for child in n.child_nodes(node):
        if not isinstance(child, (n.Stmt, n.Lambda)):
            yield from _eager(child)


def _statements(block: tuple[n.Stmt, ...]) -> Iterator[n.Stmt]:
    for statement in block:
        yield statement
        for inner in n.blocks(statement):
            yield from _statements(inner)
