"""Which functions lead to others by calls that stay in the process.

Goes forwards from a function, into whatever it calls or passes on to be called. Only functions
whose names can lead to a goal by their text are lowered, so that asking costs little.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from rltel_lint.facts import nodes as n
from rltel_lint.project.binding import init_of
from rltel_lint.project.calls import CallFinder, CallSite
from rltel_lint.project.invocations import Invocations
from rltel_lint.project.leading import CallText, Leading, Leads
from rltel_lint.project.model import Binding, Class, Function, Module, Scope
from rltel_lint.project.modules import ModuleTable
from rltel_lint.project.resolve import External, Resolver
from rltel_lint.project.uses import Uses
from rltel_lint.vocabulary.model import KnownCall, means

_DEPTH = 4

Step = tuple[n.Expr, Function]
"""What is written (a call, or a function passed on), and the function that it runs."""


@dataclass(frozen=True, eq=False)
class Way:
    """How a function gets to another one.

    Attributes:
        goal: Where it ends.
        calls: The functions before that, and what they call or pass on; none at the goal itself.
    """

    goal: Function
    calls: tuple[tuple[Function, n.Expr], ...] = ()


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
        self._steps: dict[tuple[Function, int, int], list[Step]] = {}
        self._leading: dict[int, Leads] = {}  # kept, so that no id is used twice
        self._calls: dict[n.Stmt, list[n.Call]] = {}
        self._held: dict[tuple[Function, str], frozenset[str]] = {}

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

    def steps(self, function: Function, leading: Leads, calls: int = _DEPTH) -> list[Step]:
        """Returns what a function calls, or passes on to be called, in its own process.

        Args:
            function: The function.
            leading: Names of interest; a call that is certainly spelled otherwise is left out.
            calls: How many calls a goal may be further on.
        """
        key = (function, id(leading), calls)
        known = self._steps.get(key)
        if known is None:
            self._leading[id(leading)] = leading
            known = self._steps[key] = []
            for statement in function.paths:
                if not isinstance(statement, (n.FunctionDef, n.ClassDef)):
                    known += self.steps_in(statement, function, leading, calls)
        return known

    def steps_in(
        self, statement: n.Stmt, scope: Scope, leading: Leads, calls: int = _DEPTH
    ) -> Iterator[Step]:
        """Yields the steps that one statement takes itself."""
        for node in self.calls_in(statement):
            func = node.func
            if isinstance(func, n.Attribute) and func.attr in {"remote", "options"}:
                continue  # another process
            if self._may_lead(func, scope, leading, calls):
                for target in self._finder.called(CallSite(node, scope, statement)):
                    yield from self._into(node, target)
            for arg in node.args:
                if isinstance(arg.value, (n.Name, n.Attribute)):
                    if self._may_lead(arg.value, scope, leading, calls):
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

    def _may_lead(self, func: n.Expr, scope: Scope, leading: Leads, calls: int) -> bool:
        word = _last(func)
        if not word or self._is_spelled(word, scope, leading, calls):
            return True
        if not isinstance(func, n.Name) or not isinstance(scope, Function):
            return False
        if scope.owner is not None and word in (one.name for one in scope.node.params.items[:1]):
            return True  # ``cls`` may be called
        todo, seen = [word], {word}
        while todo:
            for one in self._mentioned(todo.pop(), scope) - seen:
                if self._is_spelled(one, scope, leading, calls):
                    return True
                seen.add(one)
                todo.append(one)
        return False

    @staticmethod
    def _is_spelled(word: str, scope: Scope, leading: Leads, calls: int) -> bool:
        """Whether a name, or what the module imports under it, leads to a goal."""
        if leading.reaches(word, calls):
            return True
        original = scope.module.facts.originals.get(word)
        return original is not None and leading.reaches(original, calls)

    def _mentioned(self, name: str, function: Function) -> frozenset[str]:
        """The names in all that is assigned to a local variable."""
        known = self._held.get((function, name))
        if known is None:
            known = self._held[function, name] = frozenset(
                _word(node)
                for binding in function.bindings_of(name)
                for value in _given(binding)
                for node in n.walk(value)
            )
        return known

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
    ) -> Way | None:
        """Returns the way from a function to the nearest goal, ``None`` if there is none.

        Args:
            start: Where to start; it may be a goal itself.
            goals: Where to get to.
            leading: What :meth:`leading` returned for the goals.
            depth: How many calls to follow at most.
        """
        level, seen = [Way(start)], {start}
        for left in range(depth, -1, -1):
            above = []
            for way in level:
                function = way.goal
                if function in goals:
                    return way
                if not left or not leading.reaches(function.name, left):
                    continue
                for written, target in self.steps(function, leading, left - 1):
                    if target not in seen and not self._is_library(target.module):
                        seen.add(target)
                        above.append(Way(target, (*way.calls, (function, written))))
            level = above
        return None


def _given(binding: Binding) -> Iterator[n.Expr]:
    """What a local variable may take a function from."""
    node = binding.node
    if isinstance(node, n.Parameter):
        yield from (part for part in (node.default,) if part is not None)
    yield from (part for part in (binding.value, binding.element_of) if part is not None)


def _last(node: n.Node) -> str:
    if isinstance(node, n.Attribute):
        return node.attr
    return node.id if isinstance(node, n.Name) else ""


def _word(node: n.Node) -> str:
    if isinstance(node, n.Const) and isinstance(node.value, str):
        return node.value  # ``getattr(module, "name")``
    return _last(node)
