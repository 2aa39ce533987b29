"""Where a value goes: the expression around an expression, and every use of a name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rltel_lint.facts import nodes as n
from rltel_lint.facts.units import Unit
from rltel_lint.project.calls import CallFinder
from rltel_lint.project.model import Class, Function, Module, Scope
from rltel_lint.project.modules import ModuleTable
from rltel_lint.project.resolve import Resolver, with_nested


@dataclass(frozen=True, eq=False)
class Use:
    """One occurrence of an expression.

    Attributes:
        node: The expression.
        scope: Where its names are looked up.
        statement: The innermost statement that holds it.
    """

    node: n.Node
    scope: Scope
    statement: n.Stmt


class Uses:
    """Finds what stands around an expression, and where names and attributes are used.

    Args:
        modules: The project's modules.
        resolver: Resolves names.
        finder: Knows the scope of a unit.
    """

    def __init__(self, modules: ModuleTable, resolver: Resolver, finder: CallFinder) -> None:
        self._modules = modules
        self._resolver = resolver
        self._finder = finder
        self._parents: dict[n.Stmt, dict[n.Node, n.Node]] = {}
        self._targets: dict[n.Stmt, frozenset[n.Node]] = {}
        self._names: dict[tuple[Scope, str], list[Use]] = {}
        self._attributes: dict[str, list[Use]] = {}
        self._units: dict[Unit, list[tuple[Scope, n.Stmt]]] = {}

    # -- around an expression -----------------------------------------------------------

    def parent(self, node: n.Node, statement: n.Stmt) -> n.Node:
        """Returns the node directly around a node of a statement; the statement at the top."""
        known = self._parents.get(statement)
        if known is None:
            known = self._parents[statement] = _parents(statement)
        return known.get(node, statement)

    def is_target(self, node: n.Node, statement: n.Stmt) -> bool:
        """Whether the statement stores into this name, attribute or subscript."""
        known = self._targets.get(statement)
        if known is None:
            known = self._targets[statement] = frozenset(_targets(statement))
        return node in known

    def around(self, node: n.Node, statement: n.Stmt) -> Iterator[n.Node]:
        """Yields what stands around a node of a statement, innermost first."""
        while node is not statement:
            node = self.parent(node, statement)
            yield node

    # -- everywhere ---------------------------------------------------------------------

    def statements(self, module: Module, unit: Unit) -> list[tuple[Scope, n.Stmt]]:
        """Returns every statement of a unit with its scope, those of nested definitions too."""
        known = self._units.get(unit)
        if known is None:
            scope = self._finder.scope_of(module, unit)
            known = self._units[unit] = list(_statements(unit.statements, scope))
        return known

    def of_name(self, name: str, scope: Scope) -> list[Use]:
        """Returns the places that read (or store into) a name of this scope."""
        known = self._names.get((scope, name))
        if known is None:
            known = self._names[(scope, name)] = list(self._of_name(name, scope))
        return known

    def _of_name(self, name: str, scope: Scope) -> Iterator[Use]:
        for where, statement in self._in_scope(name, scope):
            for node in n.own_nodes(statement):
                if isinstance(node, n.Name) and node.id == name:
                    if where is scope or self._resolver.lookup(name, where)[1] is scope:
                        yield Use(node, where, statement)

    def _in_scope(self, name: str, scope: Scope) -> Iterator[tuple[Scope, n.Stmt]]:
        if isinstance(scope, Function):
            for function in with_nested(scope):
                yield from ((function, statement) for statement in function.paths)
            return
        for unit in scope.module.facts.units_with(name):
            yield from self.statements(scope.module, unit)

    def of_attribute(self, attr: str) -> list[Use]:
        """Returns every ``x.attr`` of the project, read or stored."""
        known = self._attributes.get(attr)
        if known is None:
            known = self._attributes[attr] = list(self._of_attribute(attr))
        return known

    def _of_attribute(self, attr: str) -> Iterator[Use]:
        for module, unit in self._modules.units_mentioning(attr):
            if unit.has(f".{attr}"):
                for scope, statement in self.statements(module, unit):
                    for node in n.own_nodes(statement):
                        if isinstance(node, n.Attribute) and node.attr == attr:
                            yield Use(node, scope, statement)

    def everywhere(self, name: str, scope: Scope) -> Iterator[Use]:
        """Yields the uses of a name in all of the project: in other modules and classes too."""
        if isinstance(scope, Class):
            yield from self.of_attribute(name)
        yield from self.of_name(name, scope)
        if isinstance(scope, Module):
            for module, bound in self._importers(name, scope):
                yield from self.of_name(bound, module)
            for use in self.of_attribute(name):
                base = use.node.base if isinstance(use.node, n.Attribute) else None
                if base is not None and scope in self._resolver.of(base, use.scope):
                    yield use

    def _importers(self, name: str, module: Module) -> Iterator[tuple[Module, str]]:
        """The modules that import a name of a module, and what they call it."""
        for other in self._modules.mentioning(name):
            if other is module:
                continue
            for unit in other.facts.units_with(name):
                if unit.has("import") and not unit.indented:
                    for statement in unit.statements:
                        if isinstance(statement, n.Import) and statement.module is not None:
                            for original, bound in statement.names:
                                if original == name and module is self._resolver.imported_module(
                                    statement, other
                                ):
                                    yield other, bound


def _statements(body: tuple[n.Stmt, ...], scope: Scope) -> Iterator[tuple[Scope, n.Stmt]]:
    for statement in body:
        yield scope, statement
        if isinstance(statement, n.FunctionDef):
            owner = scope if isinstance(scope, Class) else None
            outer = scope if isinstance(scope, Function) else None
            yield from _statements(statement.body, scope.module.function(statement, owner, outer))
        elif isinstance(statement, n.ClassDef):
            unit = scope.module.unit_of_class(statement) if isinstance(scope, Module) else None
            yield from _statements(statement.body, scope.module.cls(statement, unit, scope))
        else:
            for block in n.blocks(statement):
                yield from _statements(block, scope)


def _parents(statement: n.Stmt) -> dict[n.Node, n.Node]:
    found: dict[n.Node, n.Node] = {}
    if isinstance(statement, n.FunctionDef):
        stack: list[n.Node] = [*statement.decorators, *statement.params.items]
        found.update(dict.fromkeys(stack, statement))
    elif isinstance(statement, n.ClassDef):
        stack = [*statement.decorators, *statement.bases]
        found.update(dict.fromkeys(stack, statement))
    else:
        stack = [statement]
    while stack:
        node = stack.pop()
        for child in n.child_nodes(node):
            if not isinstance(child, n.Stmt):
                found[child] = node
                stack.append(child)
    return found


def _targets(statement: n.Stmt) -> Iterator[n.Node]:
    if isinstance(statement, n.Assign):
        for target in statement.targets:
            yield from _stored(target)
    elif isinstance(statement, (n.AugAssign, n.For)):
        yield from _stored(statement.target)
    elif isinstance(statement, n.With):
        for item in statement.items:
            if item.target is not None:
                yield from _stored(item.target)
    for node in n.own_nodes(statement):
        if isinstance(node, n.NamedExpr):
            yield from _stored(node.target)
        elif isinstance(node, n.Comprehension):
            for target, _ in node.loops:
                yield from _stored(target)


def _stored(target: n.Expr) -> Iterator[n.Node]:
    if isinstance(target, n.Sequence):
        for element in target.elements:
            yield from _stored(element)
    elif isinstance(target, n.Starred):
        yield from _stored(target.value)
    else:
        yield target
