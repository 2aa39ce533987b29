"""Evaluation spans, and whether what runs inside is taken out of productive time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from rltel_lint.facts import nodes as n
from rltel_lint.project.calls import CallSite
from rltel_lint.project.flow import Flow
from rltel_lint.project.invocations import Invocations
from rltel_lint.project.leading import Leading
from rltel_lint.project.model import Function
from rltel_lint.project.spans import Spans, SpanSite
from rltel_lint.vocabulary.model import Lifecycle

_HOPS = 3


class Evaluations:
    """Finds evaluation spans without an overhead scope.

    Args:
        known: What the names mean.
        spans: All span sites.
        flow: Follows calls.
        callers: Finds callers.
        buckets: Group to bucket, as far as known.
    """

    def __init__(
        self,
        known: Lifecycle,
        spans: Spans,
        flow: Flow,
        callers: Invocations,
        buckets: dict[str, str],
    ) -> None:
        self._known = known
        self._spans = spans
        self._flow = flow
        self._callers = callers
        self._buckets = buckets

    @cached_property
    def _scoping(self) -> frozenset[Function]:
        """Functions that enter an overhead scope, or open an evaluation span with its scope."""
        known = (*self._known.overhead_scopes, *self._known.evaluate_helpers)
        found = {scope for scope, _, _ in self._flow.uses(known) if isinstance(scope, Function)}
        return frozenset(found)

    @cached_property
    def _to_scope(self) -> Leading:
        return self._flow.leading(self._scoping)

    def unscoped(self) -> Iterator[SpanSite]:
        """Yields the sites of evaluation spans that no overhead scope surrounds or fills."""
        helpers = {helper.name for helper in self._known.evaluate_helpers}
        for site in self._spans.opening():
            groups = site.group
            if groups is None or not groups.known or site.helper.name in helpers:
                continue
            if not set(groups.literals) <= set(self._known.evaluate_groups):
                continue
            if not self._is_scoped(site):
                yield site

    def _is_scoped(self, site: SpanSite) -> bool:
        if any(function in self._scoping for function in site.via):
            return True
        function = site.at.decorates or site.function
        if function is None:
            return True  # at module level: what runs inside is not followed
        if self._is_scoped_by(function) or self._enters(function):
            return True
        level, seen = [function], {function}
        for _ in range(_HOPS):
            above: list[Function] = []
            for below in level:
                for call in self._callers.of(below):
                    caller = call.function
                    if caller is not None and caller not in seen:
                        seen.add(caller)
                        if caller in self._scoping and self._stands_in_scope(call, caller):
                            return True
                        above.append(caller)
            level = above
        return False

    def _is_scoped_by(self, function: Function | None) -> bool:
        while function is not None:
            if function in self._scoping:
                return True
            function = function.outer
        return False

    def _enters(self, function: Function) -> bool:
        return self._flow.path(function, self._scoping, self._to_scope, 2) is not None

    def _stands_in_scope(self, call: CallSite, caller: Function) -> bool:
        known = (*self._known.overhead_scopes, *self._known.evaluate_helpers)
        for block, index in caller.paths.get(call.statement, ()):
            outer = block[index]
            if isinstance(outer, n.With):
                for item in outer.items:
                    for node in n.walk(item.context):
                        if self._flow.means(node, caller, known) is not None:
                            return True
        return any(
            isinstance(node, n.Call) and _enters_by_hand(node)
            for s in caller.paths
            for node in n.own_nodes(s)
        )

    # -- what is counted ----------------------------------------------------------------

    @cached_property
    def _productive(self) -> dict[Function, SpanSite]:
        found: dict[Function, SpanSite] = {}
        for site in self._spans.opening():
            function = site.at.decorates or site.function
            if function is not None and self._counts(site):
                found.setdefault(function, site)
        return found

    @cached_property
    def _to_productive(self) -> Leading:
        return self._flow.leading(self._productive)

    def _counts(self, site: SpanSite) -> bool:
        """Whether a span's time is counted as productive unless a scope says otherwise."""
        group = site.group.exact if site.group is not None else None
        if group is None or site.at.call.keyword("rl.bucket") is not None:
            return False
        return self._buckets.get(group) == "productive"

    def productive_inside(self, site: SpanSite) -> SpanSite | None:
        """Returns a span inside an evaluation whose time is counted as productive."""
        decorated = site.at.decorates
        function = decorated or site.function
        block: Iterable[n.Stmt] = ()
        if decorated is not None:
            block = decorated.node.body
        elif site.at.with_ is not None:
            block = site.at.with_.body
        if function is None:
            return None
        goals = frozenset(self._productive)
        inside = list(_statements(block))
        for other in self._spans.opening():
            if other.function is function and other.at.statement in inside:
                if other is not site and self._counts(other):
                    return other
        for statement in inside:
            for _, target in self._flow.steps_in(statement, function, self._to_productive):
                way = self._flow.path(target, goals, self._to_productive)
                if way is not None:
                    return self._productive[way.goal]
        return None


def _enters_by_hand(call: n.Call) -> bool:
    return isinstance(call.func, n.Attribute) and call.func.attr in {"enter_context", "__enter__"}


def _statements(block: Iterable[n.Stmt]) -> Iterator[n.Stmt]:
    for statement in block:
        if not isinstance(statement, (n.FunctionDef, n.ClassDef)):
            yield statement
            for inner in n.blocks(statement):
                yield from _statements(inner)
