"""Ray actors and tasks: which classes and functions run in another process."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from rltel_lint.facts import nodes as n
from rltel_lint.facts.units import Unit
from rltel_lint.project.calls import CallFinder
from rltel_lint.project.model import Class, Function, Module, Scope
from rltel_lint.project.modules import ModuleTable
from rltel_lint.project.resolve import Entity, External, Resolver

_REMOTE = "ray.remote"
_DECORATED = re.compile(r"@[\w.]*remote\b")
_WRAPPED = re.compile(r"\bremote\((?:[^()\n]*\)\()?\s*([\w.]+)\s*[,)]")
_BUILT = re.compile(r"\b(\w+)\s*\.\s*(?:remote|options)\s*\(")


class Actors:
    """Knows the classes whose objects are actors.

    Args:
        modules: The project's modules.
        resolver: Resolves names.
        finder: Gives the scope of a unit.
    """

    def __init__(self, modules: ModuleTable, resolver: Resolver, finder: CallFinder) -> None:
        self._modules = modules
        self._resolver = resolver
        self._finder = finder
        self._defined: dict[str, list[Function]] = {}
        self._named: dict[str, bool] = {}
        self._anywhere_known: dict[str, list[Entity]] = {}

    @cached_property
    def classes(self) -> tuple[Class, ...]:
        """The actor classes: decorated, wrapped by ``ray.remote``, or built by ``.remote()``."""
        found: dict[Class, None] = {}
        for module in self._modules.mentioning("remote"):
            for entity in (*self._decorated(module), *self._used(module)):
                if isinstance(entity, Class):
                    found[entity] = None
        return tuple(found)

    @cached_property
    def _with_bases(self) -> frozenset[Class]:
        return frozenset(base for cls in self.classes for base in self._resolver.mro(cls))

    def is_remote(self, cls: Class) -> bool:
        """Whether a class, or a class that inherits from it, is an actor.

        A class whose dotted name is written as a string counts: worker groups are built so.
        """
        if cls in self._with_bases:
            return True
        known = self._named.get(cls.name)
        if known is None:
            known = self._named[cls.name] = self._named_in_text(cls)
        return known

    def _named_in_text(self, cls: Class) -> bool:
        ends = (f'.{cls.name}"', f".{cls.name}'", f':{cls.name}"', f":{cls.name}'")
        near = self._modules.mentioning(cls.name)
        return any(module.facts.has(end) for module in near for end in ends)

    def is_task(self, function: Function) -> bool:
        """Whether a function is decorated as a Ray task."""
        return any(
            self._is_ray_remote(decorator, function.parent or function.module)
            for decorator in function.node.decorators
        )

    def definitions(self, name: str) -> list[Function]:
        """Returns the methods of this name that the project defines, stubs left out."""
        known = self._defined.get(name)
        if known is None:
            known = self._defined[name] = [
                function
                for function in self._definitions(name)
                if function.owner is not None and not is_stub(function)
            ]
        return known

    def _definitions(self, name: str) -> Iterator[Function]:
        pattern = re.compile(rf"\bdef\s+{re.escape(name)}\s*\(")
        for module, unit in self._modules.units_mentioning(name):
            if unit.search(pattern):
                for function in self.functions_in(module, unit):
                    if function.name == name:
                        yield function

    def functions_in(self, module: Module, unit: Unit) -> Iterator[Function]:
        """Yields the functions that a unit defines, methods of classes inside it too."""
        yield from _functions(unit.statements, self._finder.scope_of(module, unit))

    # -- actor classes ------------------------------------------------------------------

    def _decorated(self, module: Module) -> Iterator[Entity]:
        for unit in module.facts.units_with("remote"):
            if not unit.search(_DECORATED):
                continue
            scope = self._finder.scope_of(module, unit)
            for holder, node in _classes(unit.statements, scope):
                if any(self._is_ray_remote(decorator, holder) for decorator in node.decorators):
                    inner = unit if unit.members and holder is module else None
                    yield module.cls(node, inner, holder)

    def _is_ray_remote(self, decorator: n.Expr, scope: Scope) -> bool:
        func = decorator.func if isinstance(decorator, n.Call) else decorator
        return any(
            isinstance(entity, External) and entity.name == _REMOTE
            for entity in self._resolver.of(func, scope)
        )

    def _used(self, module: Module) -> Iterator[Entity]:
        names: set[str] = set()
        for unit in module.facts.units_with_any(("remote", "options")):
            names.update(unit.findall(_BUILT))
            names.update(unit.findall(_WRAPPED))
        for name in sorted(names):
            yield from self._class_named(name, module)

    def _class_named(self, name: str, module: Module) -> Iterable[Entity]:
        head, *rest = name.split(".")
        if not head.isidentifier():
            return ()
        found = frozenset(self._resolver.name(head, module))
        for attr in rest:
            found = frozenset(e for base in found for e in self._resolver.member(base, attr))
        if found and not all(isinstance(entity, External) for entity in found):
            return found
        last = rest[-1] if rest else head
        return self._anywhere(last) if last[:1].isupper() else ()

    def _anywhere(self, name: str) -> Iterable[Entity]:
        """Classes of this name in any module: an import inside a function is not resolved."""
        known = self._anywhere_known.get(name)
        if known is None:
            pattern = re.compile(rf"^class {re.escape(name)}\b", re.MULTILINE)
            known = self._anywhere_known[name] = [
                entity
                for module in self._modules.mentioning(name)
                if module.facts.search(pattern)
                for entity in self._resolver.name(name, module)
            ]
        return known


def is_stub(function: Function) -> bool:
    """Whether a function only declares: an abstract method, an overload, an empty body."""
    for decorator in function.node.decorators:
        if (n.dotted(decorator) or "").rpartition(".")[2] in {"abstractmethod", "overload"}:
            return True
    return all(_says_nothing(statement) for statement in function.node.body)


def _says_nothing(statement: n.Stmt) -> bool:
    if isinstance(statement, n.ExprStmt):
        return isinstance(statement.value, n.Const) or _is_ellipsis(statement.value)
    if isinstance(statement, n.Raise):
        raised = statement.value
        func = raised.func if isinstance(raised, n.Call) else raised
        return isinstance(func, n.Name) and func.id == "NotImplementedError"
    return isinstance(statement, n.Jump) and statement.kind == "pass"


def _is_ellipsis(expr: n.Expr) -> bool:
    return isinstance(expr, n.Other) and not expr.children


def _classes(statements: tuple[n.Stmt, ...], scope: Scope) -> Iterator[tuple[Scope, n.ClassDef]]:
    for statement in statements:
        if isinstance(statement, n.ClassDef):
            yield scope, statement
            if statement.body:
                inner = scope.module.cls(statement, None, scope)
                yield from _classes(statement.body, inner)
        elif isinstance(statement, n.FunctionDef):
            yield from _classes(statement.body, _function(statement, scope))
        else:
            for block in n.blocks(statement):
                yield from _classes(block, scope)


def _function(node: n.FunctionDef, scope: Scope) -> Function:
    owner = scope if isinstance(scope, Class) else None
    outer = scope if isinstance(scope, Function) else None
    return scope.module.function(node, owner, outer)


def _functions(statements: tuple[n.Stmt, ...], scope: Scope) -> Iterator[Function]:
    for statement in statements:
        if isinstance(statement, n.FunctionDef):
            function = _function(statement, scope)
            yield function
            yield from _functions(statement.body, function)
        elif isinstance(statement, n.ClassDef):
            if statement.body:
                inner = scope.module.cls(statement, scope.module.unit_of_class(statement), scope)
                yield from _functions(statement.body, inner)
        else:
            for block in n.blocks(statement):
                yield from _functions(block, scope)
