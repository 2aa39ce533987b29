"""Work that is handed to threads while a span is open."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from rltel_lint.facts import nodes as n
from rltel_lint.project.calls import CallFinder, CallSite
from rltel_lint.project.carriers import CarrierFacts
from rltel_lint.project.flow import Flow
from rltel_lint.project.leading import Leading
from rltel_lint.project.model import Class, Function
from rltel_lint.project.resolve import Entity, External, Instance, Partial, Resolver
from rltel_lint.project.spans import Spans, SpanSite, expr_means
from rltel_lint.vocabulary.model import Vocabulary

_HOPS = 3
_THREADS = {"threading.Thread": ("target", 1), "threading.Timer": ("function", 1)}
_THREAD_CLASS = re.compile(r"^class\s+(\w+)\([^)]*\b\w*Thread\b", re.MULTILINE)
_POOL_WORD = "ThreadPoolExecutor"
_POOLS = {f"concurrent.futures.{_POOL_WORD}", f"concurrent.futures.thread.{_POOL_WORD}"}


@dataclass(frozen=True, eq=False)
class Spawn:
    """Work handed to a thread that opens a span there.

    Attributes:
        at: The call that hands it over.
        function: What runs in the thread.
        site: The span that it opens.
    """

    at: CallSite
    function: Function
    site: SpanSite


class Threads:
    """Finds threads whose spans lose their parent.

    Args:
        vocabulary: What the names mean.
        spans: All span sites.
        resolver: Resolves names.
        finder: Finds calls.
        carriers: Knows what reopens a context, and who calls whom.
        flow: Follows calls.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        spans: Spans,
        resolver: Resolver,
        finder: CallFinder,
        carriers: CarrierFacts,
        flow: Flow,
    ) -> None:
        self._vocabulary = vocabulary
        self._spans = spans
        self._resolver = resolver
        self._finder = finder
        self._carriers = carriers
        self._flow = flow

    def spawns(self) -> Iterator[Spawn]:
        """Yields the work whose spans start a new trace, by place."""
        if not self._opening:
            return
        words: list[tuple[str, ...]] = [("threading", "Thread"), ("threading", "Timer")]
        words += [(_POOL_WORD, "submit"), (_POOL_WORD, "map"), ("run_in_executor",)]
        words += [(name,) for name in self._own_threads]
        found = []
        for site in self._finder.named(words):
            if self._carriers.is_library(site.scope.module):
                continue
            functions = list(self._run_of_own(site))
            for work in self._handed(site):
                functions += self._functions(work, site)
            for function in functions:
                opened = self._opened_by(function)
                if opened is not None and self._in_span(site):
                    found.append(Spawn(site, function, opened))
        yield from sorted(found, key=lambda spawn: spawn.at.place)

    # -- classes that are threads -------------------------------------------------------

    @cached_property
    def _own_threads(self) -> tuple[str, ...]:
        """Names of the project's classes that look like threads by their header."""
        return tuple(
            sorted(
                {
                    name
                    for module in self._carriers.modules
                    if module.facts.has("Thread") and not self._carriers.is_library(module)
                    for name in module.facts.findall(_THREAD_CLASS)
                }
            )
        )

    def _run_of_own(self, site: CallSite) -> Iterator[Function]:
        """The ``run`` of a thread class of the project that a call constructs."""
        for cls in self._resolver.of(site.call.func, site.scope):
            if isinstance(cls, Class) and "threading.Thread" in self._resolver.external_bases(cls):
                for holder in self._resolver.mro(cls):
                    runs = holder.methods_named("run")
                    if runs:
                        yield runs[-1]
                        break

    # -- what is handed over ------------------------------------------------------------

    def _handed(self, site: CallSite) -> Iterator[n.Expr]:
        call, func = site.call, site.call.func
        for entity in self._resolver.of(func, site.scope):
            if isinstance(entity, External) and entity.name in _THREADS:
                keyword, place = _THREADS[entity.name]
                work = call.keyword(keyword) or call.positional(place)
                if work is not None:
                    yield work
                return
        if not isinstance(func, n.Attribute):
            return
        work = None
        if func.attr in {"submit", "map"} and self._is_pool(func.base, site):
            work = call.positional(0)
        elif func.attr == "run_in_executor":
            pool = call.positional(0)
            plain = isinstance(pool, n.Const) and pool.value is None
            if pool is not None and (plain or self._is_pool(pool, site)):
                work = call.positional(1)
        if work is not None:
            yield work

    def _is_pool(self, expr: n.Expr, site: CallSite) -> bool:
        return any(
            isinstance(entity, Instance)
            and isinstance(entity.cls, External)
            and entity.cls.name in _POOLS
            for entity in self._resolver.of(expr, site.scope)
        )

    def _functions(self, work: n.Expr, site: CallSite) -> Iterator[Function]:
        if isinstance(work, n.Call) and self._flow.means(
            work.func, site.scope, self._vocabulary.lifecycle.binders
        ):
            return
        found: list[Entity] = [
            entity.target if isinstance(entity, Partial) else entity
            for entity in self._resolver.of(work, site.scope)
        ]
        if found and all(isinstance(entity, Function) for entity in found):
            yield from (entity for entity in found if isinstance(entity, Function))

    # -- what opens there ---------------------------------------------------------------

    @cached_property
    def _opening(self) -> dict[Function, SpanSite]:
        roots = set(self._vocabulary.carriers.root_groups)
        found: dict[Function, SpanSite] = {}
        for site in self._spans.opening():
            group = site.group
            if group is not None and (not group.known or set(group.literals) <= roots):
                continue
            function = site.at.decorates or site.function
            if function is not None:
                found.setdefault(function, site)
        return found

    def _opened_by(self, function: Function) -> SpanSite | None:
        leading = self._leading
        goals = frozenset(self._opening)
        way = self._flow.path(function, goals, leading, _HOPS)
        if way is None:
            return None
        if any(self._reattaches(one) for one in (*(one for one, _ in way.calls), way.goal)):
            return None
        return self._opening[way.goal]

    @cached_property
    def _leading(self) -> Leading:
        return self._flow.leading(self._opening, depth=_HOPS)

    def _reattaches(self, function: Function) -> bool:
        reach = self._carriers.reach
        if reach.reopens(function):
            return True
        return function.owner is not None and any(
            isinstance(node, n.Attribute) and node.attr in {"copy_context", "attach"}
            for statement in function.paths
            for node in n.walk(statement)
        )

    # -- whether a span is open ---------------------------------------------------------

    def _in_span(self, site: CallSite) -> bool:
        """Whether a call runs, on some way that is seen, while a span is open."""
        level, seen = [site], set[Function]()
        for _ in range(_HOPS + 1):
            above: list[CallSite] = []
            for call in level:
                function = call.function
                if function is None:
                    continue
                if self._stands_in_span(call, function) or self._is_traced(function):
                    return True
                if function not in seen:
                    seen.add(function)
                    above += [
                        one
                        for one in self._carriers.invocations.of(function)
                        if not (
                            isinstance(one.call.func, n.Attribute)
                            and one.call.func.attr == "remote"
                        )
                    ]
            level = above
        return False

    @cached_property
    def _blocks(self) -> frozenset[n.Stmt]:
        return frozenset(
            site.at.with_
            for site in self._spans.opening()
            if site.at.with_ is not None and site.use == "context"
        )

    @cached_property
    def _decorated(self) -> frozenset[Function]:
        return frozenset(
            site.at.decorates for site in self._spans.opening() if site.at.decorates is not None
        )

    def _stands_in_span(self, call: CallSite, function: Function) -> bool:
        path = function.paths.get(call.statement, ())
        return any(block[index] in self._blocks for block, index in path[:-1])

    def _is_traced(self, function: Function) -> bool:
        if function in self._decorated:
            return True
        known = self._vocabulary.carriers.accepting
        scope = function.parent or function.module
        return any(
            expr_means(
                decorator.func if isinstance(decorator, n.Call) else decorator,
                scope,
                known,
                self._resolver,
            )
            for decorator in function.node.decorators
        )
