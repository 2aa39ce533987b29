"""Which methods open a span when they run, by themselves or in functions they call."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from rltel_lint.facts import nodes as n
from rltel_lint.facts.units import Unit
from rltel_lint.project.calls import CallFinder, CallSite
from rltel_lint.project.invocations import Invocations
from rltel_lint.project.model import Class, Function, Module
from rltel_lint.project.resolve import External, Resolver, with_nested
from rltel_lint.project.spans import Spans, SpanSite, expr_means
from rltel_lint.vocabulary.model import KnownCall, Vocabulary

_DEPTH = 4
_CONTEXT_ARGUMENTS = {"context", "links", "parent", "remote_context", "remote_carrier"}
_FUNCTION = re.compile(r"\A\s*(?:@|(?:async\s+)?def\b)")
_EXTRACTS = ("extract", "set_span_in_context")


@dataclass(frozen=True, eq=False)
class Reached:
    """A span that a function opens.

    Attributes:
        site: The span's site.
        calls: The calls that lead there from the function, outermost first.
    """

    site: SpanSite
    calls: tuple[CallSite, ...] = ()


class Reach:
    """Goes from the spans upwards to whatever runs them without reopening a carrier.

    Args:
        vocabulary: What the names mean.
        spans: All span sites.
        resolver: Resolves names.
        finder: Resolves calls.
        callers: Finds callers.
        is_remote: Whether a unit is code that runs when an actor or a task is called.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        spans: Spans,
        resolver: Resolver,
        finder: CallFinder,
        callers: Invocations,
        is_remote: Callable[[Module, Unit], bool],
    ) -> None:
        self._vocabulary = vocabulary
        self._spans = spans
        self._resolver = resolver
        self._finder = finder
        self._callers = callers
        self._is_remote = is_remote
        self._reopening: dict[Function, bool] = {}

    @cached_property
    def functions(self) -> dict[Function, Reached]:
        """For every function that opens a span (or calls what does), the first one found."""
        found: dict[Function, Reached] = {}
        level = [
            (function, Reached(site))
            for site in self._spans.sites
            for function in self._opening(site)
        ]
        for depth in range(_DEPTH + 1):
            above: list[tuple[Function, Reached]] = []
            for function, reached in level:
                if function in found or function in self._roots or self.reopens(function):
                    continue
                found[function] = reached
                if depth < _DEPTH:
                    above += self._above(function, reached)
            level = above
        return found

    def _opening(self, site: SpanSite) -> Iterator[Function]:
        if self._is_root(site) or self._has_context(site):
            return
        if site.group is not None and not site.group.known:
            return  # it may be a root on purpose
        function = site.at.decorates or site.function
        if function is not None and function not in self._spans.helpers:
            yield function

    @cached_property
    def _leading(self) -> frozenset[str]:
        """Names of functions that remote code calls on its way to a span, by their text alone.

        What is not among them need not be lowered to see who calls it.
        """
        level = {f.name for site in self._spans.sites for f in self._opening(site)}
        ends = {function.name for function in self._roots}
        called_by: dict[str, set[str]] = {}
        remote: set[str] = set()
        for _ in range(_DEPTH):
            above: set[str] = set()
            for name in sorted(level - called_by.keys() - ends):
                callers = called_by[name] = set()
                for module, unit in self._callers.units(name):
                    if unit.search(_FUNCTION):
                        callers |= unit.binds
                        if self._is_remote(module, unit):
                            remote |= unit.binds
                above |= callers
            level = above
        leading: set[str] = set()
        level = remote
        while level:
            below = {name for name, callers in called_by.items() if callers & level}
            level = below - leading
            leading |= below
        return frozenset(leading)

    def _above(self, function: Function, reached: Reached) -> Iterator[tuple[Function, Reached]]:
        if function.outer is None and function.name not in self._leading:
            return
        for call in self._callers.of(function):
            func = call.call.func
            if isinstance(func, n.Attribute) and func.attr == "remote":
                continue  # another process
            if call.function is None or len(self._finder.called(call)) != 1:
                continue
            yield call.function, Reached(reached.site, (call, *reached.calls))

    # -- what needs no carrier ----------------------------------------------------------

    def _is_root(self, site: SpanSite) -> bool:
        roots = set(self._vocabulary.carriers.root_groups)
        group = site.group
        return group is not None and bool(group.literals) and set(group.templates) <= roots

    @cached_property
    def _roots(self) -> frozenset[Function]:
        """Functions that open a span which is a root on purpose: what they call is inside it."""
        found = {
            site.at.decorates or site.function for site in self._spans.sites if self._is_root(site)
        }
        return frozenset(function for function in found if function is not None)

    @staticmethod
    def _has_context(site: SpanSite) -> bool:
        return any(arg.keyword in _CONTEXT_ARGUMENTS for arg in site.at.call.args)

    def reopens(self, function: Function) -> bool:
        """Whether a function, or one around it, puts a carrier's context in force."""
        known = self._reopening.get(function)
        if known is None:
            self._reopening[function] = False
            known = self._reopening[function] = self._has_opener(function) or (
                function.outer is not None and self.reopens(function.outer)
            )
        return known

    def class_reopens(self, cls: Class) -> bool:
        """Whether any method of a class, or of its bases, puts a carrier's context in force."""
        for holder in self._resolver.mro(cls):
            for name in holder.member_names:
                for method in holder.methods_named(name):
                    if self._may_open(method) and any(
                        self._has_opener(function) for function in with_nested(method)
                    ):
                        return True
        return False

    def _has_opener(self, function: Function) -> bool:
        if not self._may_open(function):
            return False
        return any(self._opens(call.func, scope) for call, scope in _calls(function))

    def _may_open(self, function: Function) -> bool:
        lines = function.module.facts.excerpt(function.node.at[0], function.node.at[2])
        return self._words.search("\n".join(lines)) is not None

    def _opens(self, func: n.Expr, scope: Function) -> bool:
        if expr_means(func, scope, self._openers, self._resolver) is not None:
            return True
        for entity in self._resolver.of(func, scope):
            if isinstance(entity, External) and entity.name.startswith("opentelemetry."):
                if entity.name.rpartition(".")[2] in {*_EXTRACTS, "attach"}:
                    return True
            if isinstance(entity, Function) and entity in self._own_openers:
                return True
        return False

    @cached_property
    def _openers(self) -> tuple[KnownCall, ...]:
        carriers = self._vocabulary.carriers
        attach = (known for known in self._vocabulary.attachers if known.name != "use_span")
        return (*carriers.openers, *carriers.accepting, *attach)

    @cached_property
    def _own_openers(self) -> frozenset[Function]:
        """Functions of the project that are openers because they build on one."""
        found: set[Function] = set()
        units = [pair for known in self._openers for pair in self._callers.units(known.name)]
        for module, unit in units:
            for site in self._finder.sites(module, unit):
                function = site.function
                if function is not None and function.owner is None:
                    if expr_means(site.call.func, site.scope, self._openers, self._resolver):
                        while function is not None:
                            found.add(function)
                            function = function.outer
        return frozenset(found)

    @cached_property
    def _words(self) -> re.Pattern[str]:
        names = {known.name for known in self._openers} | {*_EXTRACTS, "attach"}
        names |= {function.name for function in self._own_openers}
        return re.compile("|".join(rf"\b{re.escape(name)}\b" for name in sorted(names)))


def _calls(function: Function) -> Iterable[tuple[n.Call, Function]]:
    for statement in function.paths:
        for node in n.own_nodes(statement):
            if isinstance(node, n.Call):
                yield node, function
