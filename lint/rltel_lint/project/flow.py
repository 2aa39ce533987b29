"""Which functions lead to others by calls that stay in the process.

Goes forwards from a function, into whatever it calls or passes on to be called. Only functions
whose names can lead to a goal by their text are lowered, so that asking costs little.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from rltel_lint.facts import nodes as n
from rltel_lint.project.binding import init_of
from rltel_lint.project.calls import CallFinder, CallSite
from rltel_lint.project.invocations import Invocations
from rltel_lint.project.leading import CallText, Leading, Leads
from rltel_lint.project.model import Class, Function, Module, Scope
from rltel_lint.project.modules import ModuleTable
from rltel_lint.project.resolve import External, Resolver
from rltel_lint.project.uses import Uses
from rltel_lint.vocabulary.model import KnownCall, means

_DEPTH = 4

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
        self.text = CallText(modules, is_library)
        self._uses = Uses(modules, resolver, finder)
        self._steps: dict[tuple[Function, int], list[Step]] = {}
        self._leading: dict[int, Leads] = {}  # kept, so that no id is used twice
        self._calls: dict[n.Stmt, list[n.Call]] = {}

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
        near = {module for word in words for module in self._modules.mentioning(word)}
        for module in self._modules:
            if module not in near or self._is_library(module):
                continue
            here = words.union(*(module.facts.aliases.get(word, ()) for word in words))
            for unit in module.facts.units_with_any(here):
                for scope, statement in self._uses.statements(module, unit):
                    for node in n.own_nodes(statement):
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

    def leading(
        self, goals: Iterable[Function] = (), words: Iterable[str] = (), depth: int = _DEPTH
    ) -> Leading:
        """Returns which names lead to a goal, by the text alone.

        Args:
            goals: Where to get to.
            words: More names to get to, whatever they are.
            depth: How many calls are followed at most.
        """
        goals = list(goals)
        owners = {g.owner.name for g in goals if g.name == "__init__" and g.owner is not None}
        return Leading(self.text, {goal.name for goal in goals}, {*words, *owners}, depth)

    def steps(self, function: Function, leading: Leads) -> list[Step]:
        """Returns what a function calls, or passes on to be called, in its own process.

        Args:
            function: The function.
            leading: Names of interest; a call that is certainly spelled otherwise is left out.
        """
        key = (function, id(leading))
        known = self._steps.get(key)
        if known is None:
            self._leading[id(leading)] = leading
            known = self._steps[key] = []
            for statement in function.paths:
                if not isinstance(statement, (n.FunctionDef, n.ClassDef)):
                    known += self.steps_in(statement, function, leading)
        return known

    def steps_in(self, statement: n.Stmt, scope: Scope, leading: Leads) -> Iterator[Step]:
        """Yields the steps that one statement takes itself."""
        for node in self.calls_in(statement):
            func = node.func
            if isinstance(func, n.Attribute) and func.attr in {"remote", "options"}:
                continue  # another process
            if self._may_lead(func, scope, leading):
                for target in self._finder.called(CallSite(node, scope, statement)):
                    yield from self._into(node, target)
            for arg in node.args:
                if isinstance(arg.value, (n.Name, n.Attribute)):
                    if self._may_lead(arg.value, scope, leading):
                        for entity in self._resolver.of(arg.value, scope):
                            if isinstance(entity, Function):
                                yield arg.value, entity

    def calls_in(self, statement: n.Stmt) -> list[n.Call]:
        """Returns the calls that stand in a statement itself."""
        known = self._calls.get(statement)
        if known is None:
            known = self._calls[statement] = [
                node for node in n.own_nodes(statement) if isinstance(node, n.Call)
            ]
        return known

    def _may_lead(self, func: n.Expr, scope: Scope, leading: Leads) -> bool:
        word = _last(func)
        if not word or word in leading:
            return True
        if scope.module.facts.originals.get(word) in leading:
            return True
        if isinstance(func, n.Name) and isinstance(scope, Function):
            return bool(scope.bindings_of(word))  # a local variable may be any function
        return False

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
        leading: Leads,
        depth: int = _DEPTH,
    ) -> list[tuple[Function, n.Expr]] | None:
        """Returns the calls from a function to the nearest goal, ``None`` if there is no way.

        Args:
            start: Where to start; ``[]`` is returned when it is a goal itself.
            goals: Where to get to.
            leading: What :meth:`leading` returned for the goals.
            depth: How many calls to follow at most.
        """
        level: list[tuple[Function, list[tuple[Function, n.Expr]]]] = [(start, [])]
        seen = {start}
        for left in range(depth, -1, -1):
            above = []
            for function, way in level:
                if function in goals:
                    return way
                if leading.get(function.name, depth + 1) > left:
                    continue
                for written, target in self.steps(function, leading):
                    if target not in seen and not self._is_library(target.module):
                        seen.add(target)
                        above.append((target, [*way, (function, written)]))
            level = above
        return None


def _last(node: n.Node) -> str:
    if isinstance(node, n.Attribute):
        return node.attr
    return node.id if isinstance(node, n.Name) else ""
