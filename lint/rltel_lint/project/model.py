"""Modules, classes and functions of the checked project, each made when first asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from rltel_lint.facts import nodes as n
from rltel_lint.findings import Place

if TYPE_CHECKING:
    from rltel_lint.facts.source import SourceFacts
from rltel_lint.facts.units import Unit

Path = tuple[tuple[tuple[n.Stmt, ...], int], ...]
"""Where a statement stands: block and index, from a function's body inwards."""


@dataclass(eq=False)
class Binding:
    """One statement (or parameter) that gives a name a meaning in a scope.

    Attributes:
        node: The statement, parameter or ``except`` clause that binds.
        value: The expression whose value the name takes as it is; ``None`` otherwise.
        element_of: The expression that the name takes the elements of (``for`` targets).
    """

    node: n.Node
    value: n.Expr | None = None
    element_of: n.Expr | None = None


class Scope:
    """What names can be looked up in: a module, a class or a function."""

    module: Module
    parent: Scope | None

    def bindings_of(self, name: str) -> list[Binding]:
        """Returns what binds the name in this very scope."""
        raise NotImplementedError  # pragma: no cover

    def place(self, node: n.Node) -> Place:
        """Returns where a node of this scope stands."""
        return self.module.place(node)


class Module(Scope):
    """A Python file of the project.

    Args:
        facts: The indexed file.
        name: Its dotted name, as other modules would import it.
        is_package: Whether it is an ``__init__.py``.
    """

    def __init__(self, facts: SourceFacts, name: str, *, is_package: bool) -> None:
        self.facts = facts
        self.name = name
        self.is_package = is_package
        self.parent = None
        self.module = self
        self._bindings: dict[str, list[Binding]] = {}
        self._by_unit: dict[Unit, dict[str, list[Binding]]] = {}
        self._functions: dict[n.FunctionDef, Function] = {}
        self._classes: dict[n.ClassDef, Class] = {}

    def __repr__(self) -> str:
        return f"Module({self.name})"

    @property
    def path(self) -> str:
        """The file, relative to the project root."""
        return self.facts.path

    @property
    def package(self) -> str:
        """The dotted name that relative imports start from."""
        return self.name if self.is_package else self.name.rpartition(".")[0]

    def place(self, node: n.Node) -> Place:
        """Returns where a node of this file stands."""
        line, column, end_line, end_column = node.at
        return Place(self.path, line, column + 1, end_line, end_column + 1)

    def bindings_of(self, name: str) -> list[Binding]:
        """Returns what binds the name at module level, lowering only those statements."""
        known = self._bindings.get(name)
        if known is None:
            known = self._bindings[name] = []
            for unit in self.facts.bindings.get(name, ()):
                known += self._bound_by(unit).get(name, ())
        return known

    def _bound_by(self, unit: Unit) -> dict[str, list[Binding]]:
        known = self._by_unit.get(unit)
        if known is None:
            known = self._by_unit[unit] = {}
            for name, binding in bound_in(unit.statements, passing=self.has_walrus):
                known.setdefault(name, []).append(binding)
        return known

    @cached_property
    def has_walrus(self) -> bool:
        """Whether an expression of the file may bind a name."""
        return self.facts.has(":=")

    def star_imports(self) -> list[n.Import]:
        """Returns the ``from x import *`` statements at module level."""
        return [
            binding.node for binding in self.bindings_of("*") if isinstance(binding.node, n.Import)
        ]

    def function(
        self, node: n.FunctionDef, owner: Class | None = None, parent: Function | None = None
    ) -> Function:
        """Returns the one :class:`Function` for this definition."""
        known = self._functions.get(node)
        if known is None:
            known = self._functions[node] = Function(node, self, owner, parent)
        return known

    def cls(self, node: n.ClassDef, unit: Unit | None = None, parent: Scope | None = None) -> Class:
        """Returns the one :class:`Class` for this definition."""
        known = self._classes.get(node)
        if known is None:
            known = self._classes[node] = Class(node, self, unit, parent)
        return known

    def unit_of_class(self, node: n.ClassDef) -> Unit | None:
        """Returns the unit that holds the members of a top-level class."""
        for unit in self.facts.bindings.get(node.name, ()):
            if unit.first <= node.at[0] <= unit.last and unit.members:
                return unit
        return None


@dataclass(eq=False)
class Class(Scope):
    """A class of the project; its members are lowered one by one."""

    node: n.ClassDef
    module: Module
    unit: Unit | None = None
    parent: Scope | None = None
    _members: dict[str, list[Binding]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.parent is None:
            self.parent = self.module

    def __repr__(self) -> str:
        return f"Class({self.qualified})"

    @property
    def name(self) -> str:
        """The class's own name."""
        return self.node.name

    @property
    def qualified(self) -> str:
        """The dotted name with its module."""
        return f"{self.module.name}.{self.node.name}"

    @cached_property
    def member_names(self) -> tuple[str, ...]:
        """The names that the class body binds, in order of first appearance."""
        names: dict[str, None] = {}
        if self.unit is not None:
            for unit in self.unit.members:
                names.update(dict.fromkeys(sorted(unit.binds)))
        names.update(dict.fromkeys(name for name, _ in bound_in(self.node.body)))
        return tuple(names)

    def bindings_of(self, name: str) -> list[Binding]:
        """Returns what binds the name in the class body."""
        known = self._members.get(name)
        if known is None:
            known = self._members[name] = []
            statements: list[n.Stmt] = list(self.node.body)
            if self.unit is not None:
                for unit in self.unit.members:
                    if name in unit.binds:
                        statements += unit.statements
            bound = bound_in(statements, passing=self.module.has_walrus)
            known += [binding for one, binding in bound if one == name]
        return known

    def bases_args(self) -> Iterator[n.Expr]:
        """Yields the expressions of the bases, without ``metaclass=`` and the like."""
        return (arg.value for arg in self.node.bases if arg.keyword is None and not arg.star)

    def methods(self) -> Iterator[Function]:
        """Yields the methods defined in the class body, lowering all of them."""
        for name in self.member_names:
            yield from self.methods_named(name)

    def methods_named(self, name: str) -> list[Function]:
        """Returns the methods of this name defined in the class body itself."""
        return [
            self.module.function(binding.node, owner=self)
            for binding in self.bindings_of(name)
            if isinstance(binding.node, n.FunctionDef)
        ]


@dataclass(eq=False)
class Function(Scope):
    """A function or method of the project."""

    node: n.FunctionDef
    module: Module
    owner: Class | None = None
    outer: Function | None = None

    def __post_init__(self) -> None:
        self.parent: Scope | None = self.outer or self.owner or self.module

    def __repr__(self) -> str:
        return f"Function({self.qualified})"

    @property
    def name(self) -> str:
        """The function's own name."""
        return self.node.name

    @property
    def qualified(self) -> str:
        """The dotted name with its module and class."""
        if self.outer is not None:
            return f"{self.outer.qualified}.<locals>.{self.node.name}"
        if self.owner is not None:
            return f"{self.owner.qualified}.{self.node.name}"
        return f"{self.module.name}.{self.node.name}"

    @property
    def label(self) -> str:
        """The name for messages: ``Class.method`` or ``function``."""
        owner = self.owning_class
        return f"{owner.name}.{self.name}" if owner and self.outer is None else self.name

    @property
    def owning_class(self) -> Class | None:
        """The class whose ``self`` the function can see, also from a nested function."""
        scope: Function | None = self
        while scope is not None:
            if scope.owner is not None:
                return scope.owner
            scope = scope.outer
        return None

    @cached_property
    def _bindings(self) -> dict[str, list[Binding]]:
        found: dict[str, list[Binding]] = {}
        for param in self.node.params.items:
            found.setdefault(param.name, []).append(Binding(param))
        passing = self.module.has_walrus
        for statement in self.paths:
            for name, binding in bound_by_header(statement, passing=passing):
                found.setdefault(name, []).append(binding)
        for name in self._elsewhere:
            found.pop(name, None)
        return found

    @cached_property
    def _elsewhere(self) -> frozenset[str]:
        return frozenset(
            name
            for statement in self.paths
            if isinstance(statement, n.Scope)
            for name in statement.names
        )

    def bindings_of(self, name: str) -> list[Binding]:
        """Returns the parameters and statements that bind the name in this function."""
        return self._bindings.get(name, [])

    @cached_property
    def paths(self) -> dict[n.Stmt, Path]:
        """For every statement of the function (not of nested ones), where it stands."""
        found: dict[n.Stmt, Path] = {}
        _collect_paths(self.node.body, (), found)
        return found

    @cached_property
    def reached(self) -> dict[tuple[str, n.Stmt], list[Binding]]:
        """What was found out about the bindings in force at a statement."""
        return {}

    @cached_property
    def statement_of(self) -> dict[n.Node, n.Stmt]:
        """For every expression of the function, its innermost statement."""
        found: dict[n.Node, n.Stmt] = {}
        for statement in self.paths:
            for node in n.own_nodes(statement):
                found[node] = statement
        return found


def _collect_paths(block: tuple[n.Stmt, ...], outer: Path, into: dict[n.Stmt, Path]) -> None:
    for index, statement in enumerate(block):
        path = (*outer, (block, index))
        into[statement] = path
        for inner in n.blocks(statement):
            _collect_paths(inner, path, into)


def bound_in(
    statements: Iterable[n.Stmt], *, passing: bool = True
) -> Iterator[tuple[str, Binding]]:
    """Yields every name that the statements bind in their own scope, with how.

    Args:
        statements: A block.
        passing: Whether expressions may bind names as well.
    """
    for statement in statements:
        yield from bound_by_header(statement, passing=passing)
        for block in n.blocks(statement):
            yield from bound_in(block, passing=passing)


def bound_by_header(statement: n.Stmt, *, passing: bool = True) -> Iterable[tuple[str, Binding]]:
    """Returns what a statement binds itself, without the statements inside it."""
    if isinstance(statement, (n.FunctionDef, n.ClassDef)):
        return [(statement.name, Binding(statement))]
    if isinstance(statement, n.Import):
        return [(bound, Binding(statement)) for _, bound in statement.names]
    sure = bound_surely(statement) if isinstance(statement, _BINDING) else ()
    return (*sure, *bound_in_passing(statement)) if passing else sure


def bound_in_passing(statement: n.Stmt) -> Iterator[tuple[str, Binding]]:
    """Yields what the expressions of a statement bind with ``:=``, if they are reached."""
    for node in n.own_nodes(statement):
        if isinstance(node, n.NamedExpr) and isinstance(node.target, n.Name):
            yield node.target.id, Binding(statement, value=node.value)


_BINDING = (n.Assign, n.AugAssign, n.For, n.With, n.Try, n.Match)


def bound_surely(statement: n.Stmt) -> Iterator[tuple[str, Binding]]:
    """Yields what a statement binds by its form, without ``:=``, definitions and imports."""
    if isinstance(statement, n.Assign) and statement.value is not None:
        for target in statement.targets:
            yield from _targets(target, statement.value, statement)
    elif isinstance(statement, n.Assign):
        for target in statement.targets:
            if isinstance(target, n.Name):
                yield target.id, Binding(statement)
    elif isinstance(statement, n.AugAssign):
        if isinstance(statement.target, n.Name):
            yield statement.target.id, Binding(statement)
    elif isinstance(statement, n.For):
        yield from loop_targets(statement.target, statement.iterable, statement)
    elif isinstance(statement, n.With):
        for item in statement.items:
            if isinstance(item.target, n.Name):
                yield item.target.id, Binding(item, value=item.context)
            elif item.target is not None:
                yield from _opaque(item.target, statement)
    elif isinstance(statement, n.Try):
        for handler in statement.handlers:
            if handler.name:
                yield handler.name, Binding(handler)
    elif isinstance(statement, n.Match):
        for case in statement.cases:
            for name in case.binds:
                yield name, Binding(case)


def _targets(target: n.Expr, value: n.Expr, statement: n.Stmt) -> Iterator[tuple[str, Binding]]:
    if isinstance(target, n.Name):
        yield target.id, Binding(statement, value=value)
    elif isinstance(target, n.Sequence):
        same = isinstance(value, n.Sequence) and len(value.elements) == len(target.elements)
        starred = any(isinstance(e, n.Starred) for e in target.elements)
        if same and not starred and isinstance(value, n.Sequence):
            for inner, part in zip(target.elements, value.elements, strict=True):
                yield from _targets(inner, part, statement)
        else:
            yield from _opaque(target, statement)


def loop_targets(target: n.Expr, iterable: n.Expr, holder: n.Node) -> Iterator[tuple[str, Binding]]:
    """Yields the names that a loop binds.

    Args:
        target: What stands between ``for`` and ``in``.
        iterable: What is looped over.
        holder: The loop or the comprehension.
    """
    if isinstance(target, n.Name):
        yield target.id, Binding(holder, element_of=iterable)
    elif isinstance(target, n.Sequence):
        for index, inner in enumerate(target.elements):
            part = _column(iterable, index, len(target.elements))
            if part is not None and not isinstance(inner, n.Starred):
                yield from loop_targets(inner, part, holder)
            else:
                yield from _opaque(inner, holder)
    else:
        yield from _opaque(target, holder)


def _column(iterable: n.Expr, index: int, width: int) -> n.Expr | None:
    """The elements at one place of what is looped over: literal rows, ``items()``, ``zip()``."""
    if isinstance(iterable, n.Sequence):
        rows = iterable.elements
        if all(_is_row(row, width) for row in rows):
            picked = tuple(row.elements[index] for row in rows if isinstance(row, n.Sequence))
            return n.Sequence(iterable.at, "tuple", picked)
    if not isinstance(iterable, n.Call):
        return None
    func = iterable.func
    if isinstance(func, n.Attribute) and func.attr == "items" and width == 2 and not iterable.args:
        part = n.Attribute(func.at, func.base, ("keys", "values")[index])
        return n.Call(iterable.at, part, ())
    if n.dotted(func) == "enumerate" and width == 2:
        return iterable.positional(0) if index == 1 else None
    if n.dotted(func) == "zip" and not any(arg.star for arg in iterable.args):
        plain = [arg.value for arg in iterable.args if arg.keyword is None]
        return plain[index] if len(plain) == width else None
    return None


def _is_row(row: n.Expr, width: int) -> bool:
    return (
        isinstance(row, n.Sequence)
        and len(row.elements) == width
        and not any(isinstance(element, n.Starred) for element in row.elements)
    )


def _opaque(target: n.Expr, holder: n.Node) -> Iterator[tuple[str, Binding]]:
    if isinstance(target, n.Name):
        yield target.id, Binding(holder)
    elif isinstance(target, n.Starred):
        yield from _opaque(target.value, holder)
    elif isinstance(target, n.Sequence):
        for inner in target.elements:
            yield from _opaque(inner, holder)
