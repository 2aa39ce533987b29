"""Where a function is used without a call of it being seen: passed on, stored, run by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rltel_lint.facts import nodes as n
from rltel_lint.project.model import Class, Function, Scope
from rltel_lint.project.resolve import Resolver

_BY_NAME = {"getattr", "methodcaller", "attrgetter"}
_BINDS_FIRST = {"partial", "partialmethod", "staticmethod", "classmethod"}


@dataclass(frozen=True)
class Reference:
    """One use of a function's name that is no call of a known function.

    Attributes:
        word: The name.
        node: The name or attribute, the called attribute, or the string.
        scope: Where it is looked up.
        called: Whether it is called, on an object.
    """

    word: str
    node: n.Expr
    scope: Scope
    called: bool = False


class Escaping:
    """Which functions of one name may be called where no call of them is seen.

    Args:
        references: Uses of the name; they are looked at as far as questions need it.
        resolver: Resolves them.
    """

    def __init__(self, references: Iterable[Reference], resolver: Resolver) -> None:
        self._left = iter(references)
        self._resolver = resolver
        self._all = False
        self._methods = False
        self._some: set[Function] = set()

    def may_be(self, function: Function) -> bool:
        """Whether a use may lead to calls of a function that are not seen."""
        while not self._leads_to(function):
            reference = next(self._left, None)
            if reference is None:
                return False
            self._take(reference)
        return True

    def _leads_to(self, function: Function) -> bool:
        return self._all or function in self._some or (self._methods and function.owner is not None)

    def _take(self, use: Reference) -> None:
        if isinstance(use.node, n.Const):
            self._all = True
        elif not use.called:
            found = self._resolver.of(use.node, use.scope)
            self._some.update(one for one in found if isinstance(one, Function))
        elif isinstance(use.node, n.Attribute):
            self._methods = self._methods or not self._resolver.of(use.node.base, use.scope)


def references(statements: Iterable[n.Stmt], scope: Scope) -> Iterator[Reference]:
    """Yields such uses in statements and in the functions and classes defined there."""
    for statement in statements:
        yield from _own(statement, scope)
        if isinstance(statement, n.FunctionDef):
            owner = scope if isinstance(scope, Class) else None
            outer = scope if isinstance(scope, Function) else None
            yield from references(statement.body, scope.module.function(statement, owner, outer))
        elif isinstance(statement, n.ClassDef):
            unit = scope.module.unit_of_class(statement)
            yield from references(statement.body, scope.module.cls(statement, unit, scope))
        else:
            for block in n.blocks(statement):
                yield from references(block, scope)


def _own(statement: n.Stmt, scope: Scope) -> Iterator[Reference]:
    nodes = list(n.own_nodes(statement))
    seen = set(_understood(statement))
    for node in nodes:
        if isinstance(node, n.Call):
            seen.update(_callees(node.func))
            yield from _run_by_name(node, scope)
            if isinstance(node.func, n.Attribute):
                yield Reference(node.func.attr, node.func, scope, called=True)
        elif isinstance(node, n.Attribute):
            seen.add(node.base)
    for node in nodes:
        if node not in seen:
            if isinstance(node, n.Name):
                yield Reference(node.id, node, scope)
            elif isinstance(node, n.Attribute):
                yield Reference(node.attr, node, scope)


def _callees(func: n.Expr) -> Iterator[n.Node]:
    yield func
    if isinstance(func, n.Attribute) and func.attr in {"remote", "options"}:
        yield from _callees(func.base)


def _run_by_name(call: n.Call, scope: Scope) -> Iterator[Reference]:
    func = call.func
    name = func.attr if isinstance(func, n.Attribute) else n.dotted(func) or ""
    if name in _BY_NAME or name.startswith("run_"):
        for arg in call.args:
            if isinstance(arg.value, n.Const) and isinstance(arg.value.value, str):
                yield Reference(arg.value.value, arg.value, scope)


def _understood(statement: n.Stmt) -> Iterator[n.Node]:
    """The uses that are followed elsewhere: aliases, assignment targets, decorators."""
    if isinstance(statement, (n.FunctionDef, n.ClassDef)):
        yield from statement.decorators
    elif isinstance(statement, n.Assign):
        yield from statement.targets
        value = statement.value
        plain = all(isinstance(target, (n.Name, n.Attribute)) for target in statement.targets)
        if value is not None and plain:
            yield value
            if isinstance(value, n.Call) and value.args:
                if (n.dotted(value.func) or "").rpartition(".")[2] in _BINDS_FIRST:
                    yield value.args[0].value
