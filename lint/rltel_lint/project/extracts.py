"""Where the context of a caller is read from a carrier, and whether anything uses it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rltel_lint.facts import nodes as n
from rltel_lint.project.calls import CallFinder, CallSite, choices
from rltel_lint.project.flow import Flow
from rltel_lint.project.model import Function
from rltel_lint.project.spans import SpanFinder
from rltel_lint.project.uses import Uses
from rltel_lint.vocabulary.model import Vocabulary

_HOPS = 2


@dataclass(frozen=True, eq=False)
class Unused:
    """A context that is read and never used.

    Attributes:
        at: The call.
        callee: What is called, in words.
        name: The name that holds the context; empty where it is dropped at once.
    """

    at: CallSite
    callee: str
    name: str


class Extracts:
    """Finds contexts that are read and never used.

    Args:
        vocabulary: What the names mean.
        flow: Knows the library's functions and methods.
        finder: Finds calls.
        span_finder: Knows which modules are the library itself.
        uses: Finds where names are used.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        flow: Flow,
        finder: CallFinder,
        span_finder: SpanFinder,
        uses: Uses,
    ) -> None:
        self._known = vocabulary.carriers.extractors
        self._flow = flow
        self._finder = finder
        self._span_finder = span_finder
        self._uses = uses

    def unused(self) -> Iterator[Unused]:
        """Yields the contexts that nothing can use, in order of place."""
        found = []
        for site, callee in self._sites():
            name = self._dropped(site)
            if name is not None:
                found.append(Unused(site, callee, name))
        yield from sorted(found, key=lambda one: one.at.place)

    def _sites(self) -> Iterator[tuple[CallSite, str]]:
        """The calls that return a caller's context: of the library, and of what returns that."""
        seen: set[Function] = set()
        todo: list[tuple[CallSite, str, int]] = []
        for site in self._finder.named([call.words for call in self._known]):
            known = self._flow.means(site.call.func, site.scope, self._known)
            if known is not None and not self._is_library(site):
                todo.append((site, known.name.rpartition(".")[2], _HOPS))
        while todo:
            site, callee, hops = todo.pop()
            yield site, callee
            function = site.function
            if function is None or function in seen or not hops or not _returns(site, function):
                continue
            seen.add(function)
            for call in self._finder.callers(function):
                if self._finder.targets(call) == [function] and not self._is_library(call):
                    todo.append((call, function.label, hops - 1))

    def _is_library(self, site: CallSite) -> bool:
        return self._span_finder.implements(f"{site.scope.module.name}.")

    def _dropped(self, site: CallSite) -> str | None:
        """The name under which a context is held and never read; ``None`` if it may be used."""
        statement = site.statement
        if isinstance(statement, n.ExprStmt):
            return "" if _is_value(site.call, statement.value) else None
        if not isinstance(statement, n.Assign) or statement.value is None:
            return None
        if not _is_value(site.call, statement.value) or len(statement.targets) != 1:
            return None
        target, function = statement.targets[0], site.function
        if not isinstance(target, n.Name) or function is None or target.id == "_":
            return None
        if not function.bindings_of(target.id):
            return None  # global or nonlocal
        for use in self._uses.of_name(target.id, function):
            if not self._uses.is_target(use.node, use.statement):
                return None
        return None if _says_locals(function) else target.id


def _is_value(call: n.Call, value: n.Expr) -> bool:
    """Whether a call's result is what an expression gives, on one of its sides at least."""
    inner = value.value if isinstance(value, n.Await) else value
    return any(part is call for part in choices(inner))


def _returns(site: CallSite, function: Function) -> bool:
    """Whether a plain function does no more with the context than to return it."""
    node = function.node
    if node.is_generator or node.is_async or node.decorators:
        return False
    statement = site.statement
    return (
        isinstance(statement, n.Return)
        and statement.value is not None
        and _is_value(site.call, statement.value)
    )


def _says_locals(function: Function) -> bool:
    lines = function.module.facts.excerpt(function.node.at[0], function.node.at[2])
    return any("locals()" in line for line in lines)
