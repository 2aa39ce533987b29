"""Which algorithms a project runs, and code that several of them share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rltel_lint.facts import nodes as n
from rltel_lint.findings import Place
from rltel_lint.project.calls import CallSite
from rltel_lint.project.invocations import Invocations
from rltel_lint.project.model import Class, Function, Module
from rltel_lint.project.resolve import Resolver
from rltel_lint.project.spans import Spans, SpanSite

_HOPS = 3


@dataclass(frozen=True, eq=False)
class Shared:
    """A span named after one algorithm, in code that another one runs.

    Attributes:
        site: The span's site.
        holder: The class or function that is shared.
        algorithm: The algorithm in the span's name.
        others: The other algorithms, each with a place where it runs the code.
    """

    site: SpanSite
    holder: Class | Function
    algorithm: str
    others: tuple[tuple[str, Place], ...]


class Algorithms:
    """Finds shared code.

    An algorithm is what has a span of its own for its run or its steps, such as ``rl.grpo.step``:
    the module that opens it is where the algorithm is.

    Args:
        spans: All span sites.
        resolver: Knows subclasses.
        callers: Finds callers.
        namespaces: Prefixes of the project's own names.
        run_groups: Groups whose spans are a whole run or a step of it.
    """

    def __init__(
        self,
        spans: Spans,
        resolver: Resolver,
        callers: Invocations,
        namespaces: tuple[str, ...],
        run_groups: tuple[str, ...],
    ) -> None:
        self._spans = spans
        self._resolver = resolver
        self._callers = callers
        self._namespaces = namespaces
        self._run_groups = frozenset(run_groups)
        self._run_by: dict[Module, set[str]] = {}
        for site in spans.sites:
            groups = site.group
            if groups is not None and groups.known and set(groups.literals) <= self._run_groups:
                algorithm = self._algorithm(site)
                if algorithm:
                    self._run_by.setdefault(site.at.scope.module, set()).add(algorithm)
        self._names = {name for names in self._run_by.values() for name in names}

    def _algorithm(self, site: SpanSite) -> str:
        """The one segment after the namespace in all names of a site; empty if they differ."""
        if not site.name.known:
            return ""
        found = set()
        for name in site.name.literals:
            prefix = next((p for p in self._namespaces if name.startswith(p)), None)
            segment, dot, _ = name[len(prefix or "") :].partition(".")
            found.add(segment if prefix is not None and dot else "")
        return found.pop() if len(found) == 1 else ""

    def shared(self) -> Iterator[Shared]:
        """Yields the spans of one algorithm in code that another one runs, by place."""
        if len(self._names) < 2:
            return
        for site in self._spans.sites:
            algorithm = self._algorithm(site)
            if algorithm not in self._names or _is_chosen(site, algorithm):
                continue
            function = site.at.decorates or site.function
            if function is None or function.name == "__main__":
                continue
            holder = _holder(function)
            others: dict[str, Place] = {}
            for other, place in self._foreign(holder, algorithm, _HOPS, set()):
                others.setdefault(other, place)
            if others:
                yield Shared(site, holder, algorithm, tuple(sorted(others.items())))

    def _foreign(
        self,
        holder: Class | Function,
        algorithm: str,
        hops: int,
        seen: set[Class | Function],
    ) -> Iterator[tuple[str, Place]]:
        """The other algorithms that run a class or function, through helpers of none of them."""
        if holder in seen or hops == 0:
            return
        seen.add(holder)
        for call in self._runs(holder):
            run_by = self._run_by.get(call.scope.module, set())
            if algorithm in run_by:
                continue
            if run_by:
                yield from ((other, call.place) for other in run_by)
            elif call.function is not None:
                yield from self._foreign(_holder(call.function), algorithm, hops - 1, seen)

    def _runs(self, holder: Class | Function) -> Iterator[CallSite]:
        yield from self._callers.of(holder)
        if isinstance(holder, Class):
            for below in self._resolver.subclasses(holder):
                yield from self._callers.of(below)


def _holder(function: Function) -> Class | Function:
    """What other code gets hold of: the class, or the outermost function."""
    owner = function.owning_class
    if owner is not None and isinstance(owner.parent, Module):
        return owner
    while function.outer is not None:
        function = function.outer
    return function


def _is_chosen(site: SpanSite, algorithm: str) -> bool:
    """Whether a condition around a site asks for its algorithm."""
    function = site.function
    if function is None:
        return False
    for block, index in function.paths.get(site.at.statement, ())[:-1]:
        outer = block[index]
        if isinstance(outer, n.If) and any(_names(node, algorithm) for node in n.walk(outer.test)):
            return True
        if isinstance(outer, n.Match):
            return True
    return False


def _names(node: n.Node, algorithm: str) -> bool:
    word = ""
    if isinstance(node, n.Const) and isinstance(node.value, str):
        return True  # some choice by name
    if isinstance(node, n.Name):
        word = node.id
    elif isinstance(node, n.Attribute):
        word = node.attr
    return algorithm.lower() in word.lower()
