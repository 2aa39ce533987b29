"""Where a mapping is logged: every logger call that it gets to, if it goes nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rltel_lint.facts import nodes as n
from rltel_lint.project.callers import CallerFinder
from rltel_lint.project.calls import CallFinder, CallSite
from rltel_lint.project.evaluate import Evaluator
from rltel_lint.project.metrics.keyflow import KeyFlow
from rltel_lint.project.metrics.results import COPYING
from rltel_lint.project.model import Class, Function
from rltel_lint.project.resolve import Resolver
from rltel_lint.project.uses import Use, Uses

_LIMIT = 200
_QUIET = frozenset({"get", "pop", "values", "clear", "popitem", "update", "setdefault"})
_SHOWING = frozenset(
    {
        *("print", "len", "str", "repr", "bool", "isinstance", "id", "sum", "max", "min", "any"),
        *("info", "debug", "warning", "error", "dumps", "dump", "pprint", "hasattr", "type"),
    }
)


class LostError(Exception):
    """The mapping goes where it cannot be followed."""


class Sinks:
    """Follows mappings to the logger calls that they get to.

    Args:
        resolver: Resolves names.
        finder: Finds the project's functions that a call runs.
        callers: Finds where a returned mapping goes.
        evaluator: Binds arguments to parameters.
        uses: Finds the uses of names.
        keyflow: Follows the keys of a mapping that is looped over.
        is_logger: Whether a call logs a mapping.
    """

    def __init__(
        self,
        resolver: Resolver,
        finder: CallFinder,
        callers: CallerFinder,
        evaluator: Evaluator,
        uses: Uses,
        keyflow: KeyFlow,
        is_logger: Callable[[CallSite], bool],
    ) -> None:
        self._resolver = resolver
        self._finder = finder
        self._callers = callers
        self._evaluator = evaluator
        self._uses = uses
        self._keyflow = keyflow
        self._is_logger = is_logger

    def of(self, start: Use) -> frozenset[n.Call] | None:
        """Returns the logger calls that a mapping gets to.

        Args:
            start: The mapping, as it stands where it is made or written into.

        Returns:
            The calls; ``None`` if the mapping may get elsewhere too.
        """
        todo = [start]
        seen: set[n.Node] = set()
        found: set[n.Call] = set()
        try:
            if isinstance(start.node, n.Name):
                todo += self._made(start)
            elif not isinstance(start.node, (n.Dict, n.Comprehension, n.Call)):
                return None  # somebody else's mapping
            while todo:
                use = todo.pop()
                if use.node in seen:
                    continue
                seen.add(use.node)
                if len(seen) > _LIMIT:
                    return None
                for step in self._step(use):
                    if isinstance(step, n.Call):
                        found.add(step)
                    else:
                        todo.append(step)
        except LostError:
            return None
        return frozenset(found)

    def _made(self, use: Use) -> Iterator[Use]:
        """The uses of a local name that stands for a mapping made in this very function."""
        assert isinstance(use.node, n.Name)
        name = use.node.id
        bindings, where = self._resolver.lookup(name, use.scope)
        if where is None:
            raise LostError
        for binding in bindings:
            if isinstance(binding.node, n.AugAssign):
                continue
            value = binding.value
            made = isinstance(value, n.Call) and n.dotted(value.func) == "dict"
            if not (isinstance(value, n.Dict) or made):
                raise LostError
        yield from self._uses.everywhere(name, where)

    def _step(self, use: Use) -> Iterator[Use | n.Call]:
        node, statement = use.node, use.statement
        if self._uses.is_target(node, statement):
            return
        parent = self._uses.parent(node, statement)
        if isinstance(parent, n.Dict):
            if any(key is not None and value is node for key, value in parent.items):
                raise LostError
            yield self._at(parent, use)
        elif isinstance(parent, (n.Conditional, n.BoolOp, n.Await)):
            if not (isinstance(parent, n.Conditional) and parent.test is node):
                yield self._at(parent, use)
        elif isinstance(parent, n.Binary):
            yield self._at(parent, use)
        elif isinstance(parent, n.Attribute):
            yield from self._member(parent, use)
        elif isinstance(parent, n.Arg):
            yield from self._argument(parent, use)
        elif isinstance(parent, n.Assign) and parent.value is node:
            for target in parent.targets:
                yield from self._stored(target, use)
        elif isinstance(parent, n.AugAssign):
            yield from self._merged_into(parent.target, use)
        elif isinstance(parent, n.Return):
            yield from self._returned(use, None)
        elif isinstance(parent, n.Sequence) and isinstance(statement, n.Return):
            if statement.value is not parent:
                raise LostError
            yield from self._returned(use, parent.elements.index(node))
        elif isinstance(parent, n.For) and parent.iterable is node:
            self._looped(parent.target, use)
        elif not isinstance(parent, _HARMLESS):
            raise LostError

    @staticmethod
    def _at(node: n.Node, use: Use) -> Use:
        return Use(node, use.scope, use.statement)

    def _stored(self, target: n.Expr, use: Use) -> Iterator[Use]:
        if not isinstance(target, n.Name):
            raise LostError
        where = self._resolver.lookup(target.id, use.scope)[1]
        if where is None:
            raise LostError
        yield from self._uses.everywhere(target.id, where)

    def _merged_into(self, target: n.Expr, use: Use) -> Iterator[Use]:
        """The uses of another mapping that takes the keys over."""
        if not isinstance(target, n.Name):
            raise LostError
        yield from self._made(self._at(target, use))

    def _looped(self, target: n.Expr, use: Use) -> None:
        """A loop over the mapping must not carry its keys into another."""
        names = [node for node in n.walk(target) if isinstance(node, n.Name)]
        if names and self._keyflow.landings(self._uses.of_name(names[0].id, use.scope)):
            raise LostError

    def _member(self, parent: n.Attribute, use: Use) -> Iterator[Use]:
        call = self._uses.parent(parent, use.statement)
        if not isinstance(call, n.Call) or call.func is not parent:
            raise LostError
        if parent.attr == "copy":
            yield self._at(call, use)
        elif parent.attr in {"items", "keys"}:
            around = self._uses.parent(call, use.statement)
            if isinstance(around, n.Arg):  # sorted(metrics.items())
                around = self._uses.parent(around, use.statement)
                around = self._uses.parent(around, use.statement)
            if not isinstance(around, n.For):
                raise LostError
            self._looped(around.target, use)
        elif parent.attr not in _QUIET:
            raise LostError

    def _argument(self, arg: n.Arg, use: Use) -> Iterator[Use | n.Call]:
        call = self._uses.parent(arg, use.statement)
        if not isinstance(call, n.Call):
            raise LostError
        site = CallSite(call, use.scope, use.statement)
        if self._is_logger(site):
            yield call
            return
        func = call.func
        name = func.attr if isinstance(func, n.Attribute) else n.dotted(func) or ""
        if name in COPYING or name in {"copy.copy", "copy.deepcopy", "copy", "deepcopy"}:
            yield self._at(call, use)
            return
        if isinstance(func, n.Attribute) and name == "update":
            yield from self._merged_into(func.base, use)
            return
        called = [] if arg.star else list(self._finder.called(site))
        if not called and name.rpartition(".")[2] not in _SHOWING:
            raise LostError
        for target in called:
            if isinstance(target, Class):
                raise LostError
            bound = self._evaluator.bound(site, target)
            names = [one for one, passed in bound.items() if passed.expr is arg.value]
            if not names:
                raise LostError
            for one in names:
                yield from self._uses.of_name(one, target)

    def _returned(self, use: Use, index: int | None) -> Iterator[Use]:
        if not isinstance(use.scope, Function):
            raise LostError
        callers = self._callers.of(use.scope)
        if not callers.sites or not callers.complete or use.scope.node.is_generator:
            raise LostError
        for site in callers.sites:
            result: n.Node = site.call
            if index is None:
                yield Use(result, site.scope, site.statement)
                continue
            around = self._uses.parent(result, site.statement)
            while isinstance(around, n.Await):
                around = self._uses.parent(around, site.statement)
            target = around.targets[0] if isinstance(around, n.Assign) else None
            if not isinstance(target, n.Sequence) or index >= len(target.elements):
                raise LostError
            yield from self._stored(target.elements[index], Use(result, site.scope, site.statement))


_HARMLESS = (n.Subscript, n.Compare, n.FString, n.Other, n.ExprStmt, n.If, n.While, n.OtherStmt)
