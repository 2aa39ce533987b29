"""Client sessions that are made before the library that traces them is asked to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rltel_lint.facts import nodes as n
from rltel_lint.project.calls import CallFinder, CallSite
from rltel_lint.project.flow import Flow
from rltel_lint.project.imports import evaluated_at_once
from rltel_lint.project.lazy import kind_of
from rltel_lint.project.leading import EitherLeading
from rltel_lint.project.model import Function
from rltel_lint.project.order import comes_before
from rltel_lint.project.spans import SpanFinder
from rltel_lint.vocabulary.model import KnownCall, Lifecycle

_CLOSES = {"close", "aclose", "__aexit__", "uninstrument"}


@dataclass(frozen=True, eq=False)
class EarlySession:
    """A session that is made too early.

    Attributes:
        at: The call that makes it, or calls a function that does.
        instrumented: The call behind it that has sessions traced.
        made: Where a called function makes the session; ``None`` for one made right here.
    """

    at: CallSite
    instrumented: CallSite
    made: CallSite | None


class Sessions:
    """Finds sessions that are made before sessions are traced, in one function.

    Args:
        words: The sessions, and what has them traced.
        flow: Follows calls.
        finder: Finds calls.
        span_finder: Knows which modules are the library itself.
    """

    def __init__(
        self, words: Lifecycle, flow: Flow, finder: CallFinder, span_finder: SpanFinder
    ) -> None:
        self._words = words
        self._flow = flow
        self._finder = finder
        self._span_finder = span_finder

    def early(self) -> Iterator[EarlySession]:
        """Yields the sessions that are made too early, in order of place."""
        instrumented: dict[Function, list[CallSite]] = {}
        for site in self._calls_of(self._words.instrumentors):
            if site.function is not None:
                instrumented.setdefault(site.function, []).append(site)
        if not instrumented:
            return
        makers: dict[Function, CallSite] = {}
        direct: dict[Function, list[CallSite]] = {}
        for site in self._calls_of(self._words.sessions):
            if site.function is not None and site.call.keyword("trace_configs") is None:
                direct.setdefault(site.function, []).append(site)
                if site.with_ is None:
                    makers.setdefault(site.function, site)
        found = []
        for function, calls in instrumented.items():
            made: list[tuple[CallSite, CallSite | None]] = [
                (site, None) for site in direct.get(function, ())
            ]
            made += self._through(function, makers)
            for site, inner in made:
                late = _instrumented_after(site, calls, function)
                if late is not None:
                    found.append(EarlySession(site, late, inner))
        yield from sorted(found, key=lambda one: one.at.place)

    def _calls_of(self, known: tuple[KnownCall, ...]) -> Iterator[CallSite]:
        for site in self._finder.named([call.words for call in known]):
            if self._span_finder.implements(f"{site.scope.module.name}."):
                continue
            if self._flow.means(site.call.func, site.scope, known) is not None:
                if site.call in set(evaluated_at_once(site.statement)):  # not in a lambda
                    yield site

    def _through(
        self, function: Function, makers: dict[Function, CallSite]
    ) -> Iterator[tuple[CallSite, CallSite]]:
        """Calls of functions, and of constructors, that make a session and keep it."""
        owners = {f.owner.name for f in makers if f.owner is not None and f.name == "__init__"}
        leading = EitherLeading([self._flow.leading(makers)], owners)
        for statement in function.paths:
            if isinstance(statement, (n.FunctionDef, n.ClassDef)):
                continue
            awaited = {node.value for node in n.own_nodes(statement) if isinstance(node, n.Await)}
            for written, target in self._flow.steps_in(statement, function, leading):
                if target not in makers or target is function or not isinstance(written, n.Call):
                    continue
                if kind_of(target) == "function" or (
                    kind_of(target) == "coroutine" and written in awaited
                ):
                    yield CallSite(written, function, statement), makers[target]


def _instrumented_after(
    site: CallSite, calls: Iterable[CallSite], function: Function
) -> CallSite | None:
    """The call that has sessions traced only after one was made that is still in use."""
    later = []
    for call in sorted(calls, key=lambda one: one.place):
        if call.place < site.place:
            return None  # it may have been done before
        if comes_before(site.statement, call.statement, function):
            later.append(call)
    if not later:
        return None
    first = later[0]
    if site.with_ is not None:
        inside = {block[index] for block, index in function.paths[first.statement]}
        return first if site.with_ in inside else None
    for statement in function.paths:
        if site.statement.at <= statement.at < first.statement.at:
            if isinstance(statement, (n.FunctionDef, n.ClassDef)):
                continue
            if any(
                isinstance(x, n.Attribute) and x.attr in _CLOSES for x in n.own_nodes(statement)
            ):
                return None
    return first
