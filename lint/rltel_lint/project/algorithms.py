"""Which algorithms a project runs, and code that several of them share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rltel_lint.facts import nodes as n
from rltel_lint.facts.occurrences import beginning
from rltel_lint.findings import Place
from rltel_lint.project.calls import CallSite
from rltel_lint.project.invocations import Invocations
from rltel_lint.project.model import Class, Function, Module
from rltel_lint.project.resolve import Resolver
from rltel_lint.project.spans import Spans, SpanSite
from rltel_lint.values import HOLE

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
        modules: The project's modules.
    """

    def __init__(
        self,
        spans: Spans,
        resolver: Resolver,
        callers: Invocations,
        namespaces: tuple[str, ...],
        run_groups: tuple[str, ...],
        modules: Iterable[Module] = (),
    ) -> None:
        self._modules = tuple(modules)
        self._spans = spans
        self._resolver = resolver
        self._callers = callers
        self._namespaces = namespaces
        self._run_groups = frozenset(run_groups)
        self._run_by: dict[Module, set[str]] = {}
        for site in spans.sites:
            if self._is_run(site):
                algorithm = self._algorithm(site)
                if algorithm:
                    self._run_by.setdefault(site.at.scope.module, set()).add(algorithm)
        self._names = {name for names in self._run_by.values() for name in names}

    def _is_run(self, site: SpanSite) -> bool:
        groups = site.group
        return groups is not None and groups.known and set(groups.literals) <= self._run_groups

    def _algorithm(self, site: SpanSite) -> str:
        """The one segment after the namespace in all names of a site; empty if they differ."""
        found = {self._segment(name) for name in site.name.templates}
        segment = found.pop() if len(found) == 1 else ""
        return "" if HOLE in segment else segment

    def _segment(self, name: str) -> str:
        prefix = next((p for p in self._namespaces if name.startswith(p)), None)
        segment, dot, _ = name[len(prefix or "") :].partition(".")
        return segment if prefix is not None and dot else ""

    def _takes_algorithm(self, site: SpanSite) -> bool:
        """Whether the algorithm in a span's name comes from a variable."""
        return bool(site.name.templates) and all(
            self._segment(name) == HOLE for name in site.name.templates
        )

    def shared(self) -> Iterator[Shared]:
        """Yields the spans of one algorithm in code that another one runs, by place."""
        yield from self._shared_by_name()
        yield from self._shared_by_variable()

    def _shared_by_variable(self) -> Iterator[Shared]:
        """The same where one loop runs every algorithm and takes its name from a variable."""
        loops = [
            site for site in self._spans.sites if self._takes_algorithm(site) and self._is_run(site)
        ]
        values = self._values(loops)
        if len(values) < 2:
            return
        taking = {
            _holder(function)
            for site in self._spans.sites
            if self._takes_algorithm(site) and (function := _around(site)) is not None
        }
        modules = {loop.at.scope.module for loop in loops}
        for site in self._spans.sites:
            algorithm, function = self._algorithm(site), _around(site)
            if algorithm not in values or function is None or _is_chosen(site, algorithm):
                continue
            holder = _holder(function)
            stem = function.module.name.rpartition(".")[2]
            words = f"{function.label} {holder.name} {stem}".lower()
            if algorithm.lower() in words or algorithm in self._names:
                continue  # it is that algorithm's own code
            if holder in taking or self._is_run_from(holder, modules, algorithm):
                others = sorted(values - {algorithm})
                yield Shared(site, holder, algorithm, tuple((o, loops[0].place) for o in others))

    def _values(self, loops: list[SpanSite]) -> set[str]:
        """The algorithms that the variable in the name of a loop's span is compared with."""
        words = {word for loop in loops for word in _variables(loop)}
        found: set[str] = set()
        for word in sorted(words):
            one = re.compile(rf"{beginning(word)}\s*(?:==|!=|=)\s*[\"'](\w+)[\"']")
            many = re.compile(
                rf"{beginning(word)}\b[\"']?\s*(?:\bin\b|:\s*Literal|,[^()]*?choices\s*=)\s*[(\[]([^)\]]*)[)\]]"
            )
            for module in {loop.at.scope.module for loop in loops} | set(self._modules):
                if module.facts.has(word):
                    found.update(module.facts.findall(one))
                    for inside in module.facts.findall(many):
                        found.update(re.findall(r"[\"'](\w+)[\"']", inside))
        return found

    def _is_run_from(self, holder: Class | Function, modules: set[Module], algorithm: str) -> bool:
        level, seen = [holder], {holder}
        for _ in range(_HOPS):
            above: list[Class | Function] = []
            for one in level:
                for call in self._runs(one):
                    if call.function is None or _asks(call.function, call.statement, algorithm):
                        continue
                    if call.scope.module in modules:
                        return True
                    caller = _holder(call.function)
                    if caller not in seen and algorithm.lower() not in caller.name.lower():
                        seen.add(caller)
                        above.append(caller)
            level = above
        return False

    def _shared_by_name(self) -> Iterator[Shared]:
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


def _around(site: SpanSite) -> Function | None:
    return site.at.decorates or site.function


def _variables(site: SpanSite) -> Iterator[str]:
    """The variables in the f-strings of a call, by their last words."""
    for node in n.walk(site.at.call):
        for part in node.parts if isinstance(node, n.FString) else ():
            if isinstance(part, n.Attribute):
                yield part.attr.strip("_")
            elif isinstance(part, n.Name):
                yield part.id.strip("_")


def _is_chosen(site: SpanSite, algorithm: str) -> bool:
    """Whether a condition around a site asks for its algorithm."""
    function = site.function
    return function is not None and _asks(function, site.at.statement, algorithm)


def _asks(function: Function, statement: n.Stmt, algorithm: str) -> bool:
    """Whether a condition around a statement asks for an algorithm."""
    for block, index in function.paths.get(statement, ())[:-1]:
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
