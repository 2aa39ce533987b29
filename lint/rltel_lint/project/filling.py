"""What is put into a container after it was made: ``append``, ``extend``, ``x[key] = value``."""

from __future__ import annotations

from collections.abc import Iterator

from rltel_lint.facts import nodes as n
from rltel_lint.project.model import Class, Function, Scope
from rltel_lint.project.resolve import Instance, Resolver, with_nested

_ADDS = {"append", "appendleft", "add", "insert", "put"}
_EXTENDS = {"extend", "update"}
_CHANGES = {*_ADDS, *_EXTENDS, "setdefault"}

Put = tuple[n.Expr, Scope, n.Stmt]
"""A value, where its names are looked up, and its statement."""


class Filling:
    """Finds what is put into local variables and into attributes.

    Args:
        resolver: Resolves the container's owner.
    """

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._known: dict[Function, list[tuple[n.Expr, n.Expr, n.Stmt]]] = {}

    def of(self, container: n.Expr, scope: Scope) -> Iterator[Put]:
        """Yields the single values that are put into a container."""
        for expr, where, statement in self._changes(container, scope):
            if isinstance(expr, n.Call) and isinstance(expr.func, n.Attribute):
                if expr.func.attr in _ADDS and expr.args:
                    yield expr.args[-1].value, where, statement
            elif isinstance(expr, n.Subscript) and isinstance(statement, n.Assign):
                if statement.value is not None:
                    yield statement.value, where, statement

    def extended(self, container: n.Expr, scope: Scope) -> Iterator[Put]:
        """Yields the containers whose elements are put into a container."""
        for expr, where, statement in self._changes(container, scope):
            if isinstance(expr, n.Call) and isinstance(expr.func, n.Attribute):
                if expr.func.attr in _EXTENDS and expr.args:
                    yield expr.args[0].value, where, statement
            elif isinstance(statement, n.AugAssign) and expr is statement.target:
                yield statement.value, where, statement

    def changes(self, container: n.Expr, scope: Scope) -> Iterator[Put]:
        """Yields the calls, subscript targets and augmented targets that change a container."""
        return self._changes(container, scope)

    def _changes(self, container: n.Expr, scope: Scope) -> Iterator[Put]:
        if isinstance(container, n.Name):
            _, where = self._resolver.lookup(container.id, scope)
            if isinstance(where, Function):
                for function in with_nested(where):
                    for expr, base, statement in self._changed(function):
                        if isinstance(base, n.Name) and base.id == container.id:
                            yield expr, function, statement
        elif isinstance(container, n.Attribute):
            for entity in self._resolver.of(container.base, scope):
                cls = entity.cls if isinstance(entity, Instance) else None
                if isinstance(cls, Class):
                    yield from self._changed_attribute(cls, container.attr)

    def _changed(self, function: Function) -> list[tuple[n.Expr, n.Expr, n.Stmt]]:
        known = self._known.get(function)
        if known is None:
            known = self._known[function] = list(_changed(function))
        return known

    def _changed_attribute(self, cls: Class, attr: str) -> Iterator[Put]:
        for holder in self._resolver.mro(cls):
            for method in _methods_touching(holder, attr):
                me = method.node.params.items[0].name if method.node.params.items else "self"
                for function in with_nested(method):
                    for expr, base, statement in self._changed(function):
                        if (
                            isinstance(base, n.Attribute)
                            and base.attr == attr
                            and isinstance(base.base, n.Name)
                            and base.base.id == me
                        ):
                            yield expr, function, statement


def _methods_touching(cls: Class, attr: str) -> Iterator[Function]:
    if cls.unit is None:
        yield from cls.methods()
        return
    for unit in cls.unit.members:
        if any(unit.has(f".{attr}{end}") for end in ".[ "):
            for statement in unit.statements:
                if isinstance(statement, n.FunctionDef):
                    yield cls.module.function(statement, owner=cls)


def _changed(function: Function) -> Iterator[tuple[n.Expr, n.Expr, n.Stmt]]:
    for statement in function.paths:
        if isinstance(statement, n.Assign):
            for target in statement.targets:
                if isinstance(target, n.Subscript):
                    yield target, target.base, statement
        elif isinstance(statement, n.AugAssign):
            yield statement.target, statement.target, statement
        for node in n.own_nodes(statement):
            if isinstance(node, n.Call) and isinstance(node.func, n.Attribute):
                if node.func.attr in _CHANGES:
                    yield node, node.func.base, statement
