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


@dataclass(eq=False)
class _Written:
    """A call, or what it is given, that may run a function.

    Attributes:
        site: The call.
        expr: What is called, or one of the arguments.
        words: The names that it may refer to; none if any.
        steps: What it runs, once that was asked.
    """

    site: CallSite
    expr: n.Expr
    words: frozenset[str]
    steps: list[Step] | None = None


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
        self._direct: dict[tuple[Function, str], frozenset[str]] = {}
        self._of_function: dict[Function, list[_Written]] = {}

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
            written = self._of_function.get(function)
            if written is None:
                written = self._of_function[function] = [
                    one
                    for statement in function.paths
                    if not isinstance(statement, (n.FunctionDef, n.ClassDef))
                    for one in self._written_in(statement, function)
                ]
            known = self._steps[key] = list(self._taken(written, leading, calls))
        return known

    def steps_in(
        self, statement: n.Stmt, scope: Scope, leading: Leads, calls: int = _DEPTH
    ) -> Iterator[Step]:
        """Yields the steps that one statement takes itself."""
        return self._taken(list(self._written_in(statement, scope)), leading, calls)

    def _taken(self, written: list[_Written], leading: Leads, calls: int) -> Iterator[Step]:
        words = {word for one in written for word in one.words}
        near = {word for word in words if leading.reaches(word, calls)}
        for one in written:
            if not one.words or not near.isdisjoint(one.words):
                if one.steps is None:
                    one.steps = list(self._runs(one))
                yield from one.steps

    def _runs(self, written: _Written) -> Iterator[Step]:
        """The functions that a call, or who is given its argument, runs in this process."""
        site, expr = written.site, written.expr
        if expr is site.call.func:
            for target in self._finder.called(site):
                yield from self._into(site.call, target)
        else:
            for entity in self._resolver.of(expr, site.scope):
                if isinstance(entity, Function):
                    yield expr, entity

    def _written_in(self, statement: n.Stmt, scope: Scope) -> Iterator[_Written]:
        for call in self.calls_in(statement):
            func = call.func
            if isinstance(func, n.Attribute) and func.attr in {"remote", "options"}:
                continue  # another process
            site = CallSite(call, scope, statement)
            yield _Written(site, func, self._words(func, scope))
            for arg in call.args:
                if isinstance(arg.value, (n.Name, n.Attribute)):
                    yield _Written(site, arg.value, self._words(arg.value, scope))

    def calls_in(self, statement: n.Stmt) -> list[n.Call]:
        """Returns the calls that stand in a statement itself."""
        known = self._calls.get(statement)
        if known is None:
            known = self._calls[statement] = [
                node for node in n.own_nodes(statement) if isinstance(node, n.Call)
            ]
        return known

    def _words(self, expr: n.Expr, scope: Scope) -> frozenset[str]:
        """The names that what an expression refers to may have; none if it may have any."""
        word = _last(expr)
        if not isinstance(expr, n.Name) or not isinstance(scope, Function):
            found = frozenset({word}) if word else frozenset()
        elif scope.owner is not None and word in (p.name for p in scope.node.params.items[:1]):
            found = frozenset()  # ``cls`` may be called
        else:
            found = self._held_by(word, scope)
        originals = scope.module.facts.originals
        return found.union(originals[one] for one in found & originals.keys())

    def _held_by(self, name: str, function: Function) -> frozenset[str]:
        """A name, and if it is a local variable those in all that it may be assigned."""
        known = self._held.get((function, name))
        if known is None:
            known = frozenset({name})
            todo = self._mentioned(name, function)
            while todo:
                known |= todo
                todo = frozenset().union(*(self._mentioned(one, function) for one in todo)) - known
            self._held[function, name] = known
        return known

    def _mentioned(self, name: str, function: Function) -> frozenset[str]:
        """The names in what is assigned to a local variable."""
        known = self._direct.get((function, name))
        if known is None:
            known = self._direct[function, name] = frozenset(
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
