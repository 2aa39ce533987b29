"""Which functions lead to others by calls that stay in the process.

Goes forwards from a function, into whatever it calls or passes on to be called. Only functions
whose names can lead to a goal by their text are lowered, so that asking costs little.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from rltel_lint.facts import nodes as n
from rltel_lint.facts.source import Unit
from rltel_lint.project.binding import init_of
from rltel_lint.project.calls import CallFinder, CallSite
from rltel_lint.project.invocations import Invocations
from rltel_lint.project.model import Class, Function, Module, Scope, own_nodes
from rltel_lint.project.modules import ModuleTable
from rltel_lint.project.resolve import External, Resolver
from rltel_lint.project.uses import Uses
from rltel_lint.vocabulary.model import KnownCall, means

_DEPTH = 6
_UPWARD = 5

Step = tuple[n.Expr, Function]
"""What is written (a call, or a function passed on), and the function that it runs."""


class Flow:
    """Follows calls within one process.

    Args:
        modules: The project's modules.
        resolver: Resolves names.
        finder: Resolves calls.
        callers: Finds text that calls a name.
        is_library: Whether a module implements the vocabulary.
    """

    def __init__(
        self,
        modules: ModuleTable,
        resolver: Resolver,
        finder: CallFinder,
        callers: Invocations,
        is_library: Callable[[Module], bool],
    ) -> None:
        self._modules = modules
        self._resolver = resolver
        self._finder = finder
        self._callers = callers
        self._is_library = is_library
        self._uses = Uses(modules, resolver, finder)
        self._steps: dict[Function, list[Step]] = {}

    # -- direct uses --------------------------------------------------------------------

    def uses(self, known: Iterable[KnownCall]) -> list[tuple[Scope, n.Stmt, n.Expr]]:
        """Returns where known functions are called, or passed on uncalled.

        Imports and the library itself do not count.
        """
        known = tuple(known)
        found: list[tuple[Scope, n.Stmt, n.Expr]] = []
        if not known:
            return found
        words = {call.name.rpartition(".")[2] for call in known}
        for module in self._modules:
            text = module.facts.text
            if not any(word in text for word in words) or self._is_library(module):
                continue
            here = words | _aliases(words, text)
            pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(here)))})\b")
            for unit in module.facts.all_units():
                if pattern.search(unit.text):
                    for scope, statement in self._uses.statements(module, unit):
                        for node in own_nodes(statement):
                            if _last(node) in here and self.means(node, scope, known):
                                assert isinstance(node, n.Expr)
                                found.append((scope, statement, node))
        return found

    def means(self, node: n.Node, scope: Scope, known: Iterable[KnownCall]) -> KnownCall | None:
        """Returns the known function that an expression refers to, methods of objects too."""
        if not isinstance(node, (n.Name, n.Attribute)):
            return None
        for entity in self._resolver.of(node, scope):
            dotted = entity.name if isinstance(entity, External) else ""
            if isinstance(entity, Function):
                dotted = entity.qualified
            dotted = dotted.replace("()", "")
            for call in known:
                if dotted and call.modules and means(dotted, call.name, call.modules):
                    return call
        return None

    # -- steps --------------------------------------------------------------------------

    def leading(self, goals: Iterable[Function]) -> frozenset[str]:
        """Names of the functions that may lead to a goal, by their text alone."""
        found = {goal.name for goal in goals}
        level = set(found) - {"__init__"}
        level |= {g.owner.name for g in goals if g.name == "__init__" and g.owner is not None}
        for _ in range(_UPWARD):
            above: set[str] = set()
            for name in sorted(level):
                for module, unit in self._units(name):
                    if not self._is_library(module):
                        above |= unit.binds
                        above.update(_DEFINED.findall(unit.text))
            level = above - found - {"__init__"}
            found |= above
        return frozenset(found)

    def _units(self, name: str) -> Iterator[tuple[Module, Unit]]:
        word = re.compile(rf"\b{re.escape(name)}\b")
        for module in self._modules:
            if name in module.facts.text and word.search(module.facts.text):
                for unit in module.facts.all_units():
                    if name in unit.text and word.search(unit.text):
                        if not _IMPORT.match(unit.text):
                            yield module, unit

    def steps(self, function: Function) -> list[Step]:
        """Returns what a function calls, or passes on to be called, in its own process."""
        known = self._steps.get(function)
        if known is None:
            known = self._steps[function] = []
            for statement in function.paths:
                if not isinstance(statement, (n.FunctionDef, n.ClassDef)):
                    known += self.steps_in(statement, function)
        return known

    def steps_in(self, statement: n.Stmt, scope: Scope) -> Iterator[Step]:
        """Yields the steps that one statement takes itself."""
        for node in own_nodes(statement):
            if not isinstance(node, n.Call):
                continue
            func = node.func
            if isinstance(func, n.Attribute) and func.attr in {"remote", "options"}:
                continue  # another process
            for target in self._finder.called(CallSite(node, scope, statement)):
                yield from self._into(node, target)
            for arg in node.args:
                if isinstance(arg.value, (n.Name, n.Attribute)):
                    for entity in self._resolver.of(arg.value, scope):
                        if isinstance(entity, Function):
                            yield arg.value, entity

    def _into(self, call: n.Call, target: Function | Class) -> Iterator[Step]:
        if isinstance(target, Function):
            yield call, target
            return
        constructor = init_of(target, self._resolver.mro(target))
        if constructor is not None:
            yield call, constructor

    def path(
        self,
        start: Function,
        goals: frozenset[Function],
        leading: frozenset[str],
        depth: int = _DEPTH,
    ) -> list[tuple[Function, n.Expr]] | None:
        """Returns the calls from a function to the nearest goal, ``None`` if there is no way.

        Args:
            start: Where to start; ``[]`` is returned when it is a goal itself.
            goals: Where to get to.
            leading: What :meth:`leading` returned for the goals.
            depth: How many calls to follow.
        """
        level: list[tuple[Function, list[tuple[Function, n.Expr]]]] = [(start, [])]
        seen = {start}
        for _ in range(depth + 1):
            above = []
            for function, way in level:
                if function in goals:
                    return way
                if function.name not in leading and function is not start:
                    continue
                for written, target in self.steps(function):
                    if target not in seen and not self._is_library(target.module):
                        seen.add(target)
                        above.append((target, [*way, (function, written)]))
            level = above
        return None


_DEFINED = re.compile(r"\bdef\s+(\w+)")
_IMPORT = re.compile(r"\s*(?:from\s+\S+\s+)?import\b")


def _aliases(words: Iterable[str], text: str) -> set[str]:
    return {
        alias for word in words for alias in re.findall(rf"\b{re.escape(word)}\s+as\s+(\w+)", text)
    }


def _last(node: n.Node) -> str:
    if isinstance(node, n.Attribute):
        return node.attr
    return node.id if isinstance(node, n.Name) else ""
