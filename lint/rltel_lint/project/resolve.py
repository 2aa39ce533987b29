"""What an expression refers to: functions, classes, instances, actor handles, outside names.

Flow-insensitive on purpose: a name stands for everything that any of its bindings may be, so
that ``try: from lib import span / except ImportError: ...`` gives both sides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from rltel_lint.facts import nodes as n
from rltel_lint.project.model import Binding, Class, Function, Module, Scope
from rltel_lint.project.modules import ModuleTable


@dataclass(frozen=True)
class External:
    """Something from outside the project, by its full dotted name."""

    name: str


@dataclass(frozen=True)
class Instance:
    """An object of a class; of an outside class or the result of an outside call if External."""

    cls: Class | External


@dataclass(frozen=True)
class Handle:
    """A Ray actor handle for a class of the project."""

    cls: Class


@dataclass(frozen=True)
class RemoteMethod:
    """A method looked up on an actor handle, before ``.remote``."""

    cls: Class
    name: str


@dataclass(frozen=True)
class Collection:
    """A container; only what it holds is known."""

    of: frozenset[Entity]


@dataclass(frozen=True)
class Partial:
    """``functools.partial(target, ...)``.

    Attributes:
        target: What is called in the end.
        call: The target with the arguments given so far.
        scope: Where the names of those are looked up.
    """

    target: Entity
    call: n.Call
    scope: Scope


Entity = (
    Module | Class | Function | External | Instance | Handle | RemoteMethod | Collection | Partial
)
Entities = frozenset[Entity]

NOTHING: Entities = frozenset()
_TRANSPARENT = {"ray.remote", "builtins.staticmethod", "builtins.classmethod"}
_PARTIALS = {"functools.partial", "functools.partialmethod"}
_CLASS = re.compile(r"^class\s+(\w+)\s*(?:\[[^\]]*\]\s*)?\(([^)]*)\)", re.MULTILINE)
_WRAPPERS = {"Optional", "Annotated", "Final", "ClassVar", "Awaitable", "ObjectRef", "Type", "type"}
_STORED = r"\b\s*(?:=(?!=)|[:,)\]#\\]|in\b|(?:\*\*|//|>>|<<|[-+*/%&|^@])=)"
"""What follows an attribute that is assigned to, alone or among others."""
_CONTAINERS = {
    *("list", "List", "Sequence", "Iterable", "Iterator", "tuple", "Tuple", "set", "Set"),
    *("dict", "Dict", "Mapping", "MutableMapping", "Collection", "deque"),
}


class Resolver:
    """Looks names up across the project; every answer is remembered.

    Args:
        modules: The project's modules.
        dispatchers: Names of a library's functions that call ``remote`` on their first argument.
    """

    def __init__(self, modules: ModuleTable, dispatchers: Iterable[str] = ()) -> None:
        self.modules = modules
        self._dispatchers = frozenset(dispatchers)
        self._known: dict[tuple[n.Node, Scope], Entities] = {}
        self._active: set[tuple[n.Node, Scope]] = set()
        self._mro: dict[Class, tuple[Class, ...]] = {}
        self._stored: dict[tuple[Class, str], list[tuple[Function, n.Assign]]] = {}
        self._subclasses: dict[Class, tuple[Class, ...]] = {}
        self._members: dict[tuple[Module, str], Entities] = {}

    # -- expressions --------------------------------------------------------------------

    def of(self, expr: n.Expr, scope: Scope) -> Entities:
        """Returns everything that the expression may refer to; empty when nothing is known."""
        key = (expr, scope)
        known = self._known.get(key)
        if known is not None:
            return known
        if key in self._active or len(self._active) > 60:
            return NOTHING
        self._active.add(key)
        try:
            found = frozenset(self._of(expr, scope))
        finally:
            self._active.discard(key)
        self._known[key] = found
        return found

    def _of(self, expr: n.Expr, scope: Scope) -> Iterator[Entity]:
        if isinstance(expr, n.Name):
            yield from self.name(expr.id, scope)
        elif isinstance(expr, n.Attribute):
            for base in self.of(expr.base, scope):
                yield from self.member(base, expr.attr)
        elif isinstance(expr, n.Call):
            yield from self._call(expr, scope)
        elif isinstance(expr, (n.Conditional, n.BoolOp)):
            sides = (
                (expr.body, expr.orelse)
                if isinstance(expr, n.Conditional)
                else (expr.left, expr.right)
            )
            for side in sides:
                yield from self.of(side, scope)
        elif isinstance(expr, (n.Await, n.NamedExpr, n.Starred)):
            yield from self.of(expr.value, scope)
        elif isinstance(expr, n.Subscript):
            yield from self.elements(expr.base, scope)
        elif isinstance(expr, n.Sequence):
            inside = frozenset(e for part in expr.elements for e in self.of(part, scope))
            if inside:
                yield Collection(inside)
        elif isinstance(expr, n.Dict):
            inside = frozenset(e for _, part in expr.items for e in self.of(part, scope))
            if inside:
                yield Collection(inside)
        elif isinstance(expr, n.Comprehension):
            inside = self.of(expr.element, scope)
            if inside:
                yield Collection(inside)

    def elements(self, expr: n.Expr, scope: Scope) -> Entities:
        """Returns what iterating over, or subscripting, the expression may give."""
        found: set[Entity] = set()
        if isinstance(expr, n.Call) and n.dotted(expr.func) in {"zip", "enumerate", "reversed"}:
            first = expr.positional(0)
            return self.elements(first, scope) if first is not None else NOTHING
        if isinstance(expr, n.Call) and isinstance(expr.func, n.Attribute):
            if expr.func.attr in {"values", "copy"}:
                return self.elements(expr.func.base, scope)
        for entity in self.of(expr, scope):
            if isinstance(entity, Collection):
                found |= entity.of
        return frozenset(found)

    def _call(self, expr: n.Call, scope: Scope) -> Iterator[Entity]:
        func = expr.func
        if isinstance(func, n.Attribute) and func.attr in {"remote", "options"}:
            yield from self._ray_call(func, scope)
        if isinstance(func, n.Name) and func.id == "getattr":
            yield from self._getattr(expr, scope)
        if isinstance(func, n.Name) and func.id == "super" and not expr.args:
            owner = scope.owning_class if isinstance(scope, Function) else None
            if owner is not None:
                yield from (Instance(base) for base in self.bases(owner))
                yield from (Instance(External(base)) for base in self._outside(owner))
                return
        for target in self.of(func, scope):
            if isinstance(target, Class):
                yield Instance(target)
            elif isinstance(target, External):
                if target.name in _TRANSPARENT and expr.args:
                    yield from self.of(expr.args[0].value, scope)
                elif target.name == "builtins.type" and len(expr.args) == 1:
                    yield from self._classes_of(expr.args[0].value, scope)
                elif target.name in _PARTIALS and expr.args:
                    yield from self._partial(expr, scope)
                elif target.name.rpartition(".")[2] in self._dispatchers and expr.args:
                    for what in self.of(expr.args[0].value, scope):
                        if isinstance(what, Class):
                            yield Handle(what)
                elif target.name not in {"ray.get", "ray.wait"}:
                    yield Instance(External(target.name))
            elif isinstance(target, Function):
                yield from self._returned(target)

    def _classes_of(self, expr: n.Expr, scope: Scope) -> Iterator[Entity]:
        for entity in self.of(expr, scope):
            if isinstance(entity, Instance):
                yield entity.cls

    def _partial(self, expr: n.Call, scope: Scope) -> Iterator[Entity]:
        given = n.Call(expr.at, expr.args[0].value, expr.args[1:])
        for target in self.of(given.func, scope):
            if isinstance(target, (Function, Class, External)):
                yield Partial(target, given, scope)

    def _ray_call(self, func: n.Attribute, scope: Scope) -> Iterator[Entity]:
        for target in self.of(func.base, scope):
            if isinstance(target, Class):
                yield Handle(target) if func.attr == "remote" else target
            elif isinstance(target, RemoteMethod) and func.attr == "options":
                yield target

    def _getattr(self, expr: n.Call, scope: Scope) -> Iterator[Entity]:
        base, name = expr.positional(0), expr.positional(1)
        if base is not None and isinstance(name, n.Const) and isinstance(name.value, str):
            for target in self.of(base, scope):
                yield from self.member(target, name.value)

    def _returned(self, function: Function) -> Iterator[Entity]:
        if function.node.returns is not None:
            yield from self.annotated(function.node.returns, function)
        for statement in function.paths:
            if isinstance(statement, n.Return) and statement.value is not None:
                yield from self.of(statement.value, function)

    # -- names --------------------------------------------------------------------------

    def name(self, name: str, scope: Scope) -> Iterator[Entity]:
        """Yields what a bare name may refer to in a scope, by Python's scoping rules."""
        bindings, where = self.lookup(name, scope)
        if where is None:
            yield External(f"builtins.{name}")
            return
        for binding in bindings:
            yield from self.bound(binding, name, where)

    def lookup(self, name: str, scope: Scope) -> tuple[list[Binding], Scope | None]:
        """Returns the bindings of a name and the scope that has them.

        Args:
            name: A bare name.
            scope: Where it is used.

        Returns:
            ``([], None)`` when the project does not bind the name. A class body is looked at
            only from the class body itself. Star imports count for the module that has them.
        """
        current: Scope | None = scope
        while current is not None:
            if not isinstance(current, Class) or current is scope:
                found = current.bindings_of(name)
                if found:
                    return found, current
            if isinstance(current, Module):
                return self._through_stars(name, current, {current})
            current = current.parent
        return [], None

    def _through_stars(
        self, name: str, module: Module, seen: set[Module]
    ) -> tuple[list[Binding], Scope | None]:
        for star in module.star_imports():
            target = self.imported_module(star, module)
            if isinstance(target, Module) and target not in seen:
                seen.add(target)
                found = target.bindings_of(name)
                if found:
                    return found, target
                found, where = self._through_stars(name, target, seen)
                if where is not None:
                    return found, where
        return [], None

    def bound(self, binding: Binding, name: str, scope: Scope) -> Iterator[Entity]:
        """Yields what one binding makes the name refer to."""
        node = binding.node
        if isinstance(node, n.FunctionDef):
            owner = scope if isinstance(scope, Class) else None
            outer = scope if isinstance(scope, Function) else None
            yield scope.module.function(node, owner, outer)
        elif isinstance(node, n.ClassDef):
            unit = scope.module.unit_of_class(node) if isinstance(scope, Module) else None
            yield scope.module.cls(node, unit, scope)
        elif isinstance(node, n.Import):
            yield from self._imported(node, name, scope.module)
        elif isinstance(node, n.Parameter):
            yield from self._parameter(node, scope)
        else:
            if binding.value is not None:
                yield from self.of(binding.value, scope)
            elif binding.element_of is not None:
                yield from self.elements(binding.element_of, scope)
            if isinstance(node, n.Assign) and node.annotation is not None:
                yield from self.annotated(node.annotation, scope)

    def _parameter(self, node: n.Parameter, scope: Scope) -> Iterator[Entity]:
        if not isinstance(scope, Function):
            return
        params = scope.node.params.items
        if scope.owner is not None and params and params[0] is node:
            kinds = {n.dotted(decorator) for decorator in scope.node.decorators}
            if "staticmethod" not in kinds:
                yield scope.owner if "classmethod" in kinds else Instance(scope.owner)
                return
        if node.annotation is not None:
            yield from self.annotated(node.annotation, scope)
        elif isinstance(node.default, (n.Name, n.Attribute)):
            yield from self.of(node.default, scope)

    def annotated(self, annotation: n.Expr, scope: Scope) -> Iterator[Entity]:
        """Yields what a value with this annotation may be."""
        if isinstance(annotation, n.Const) and isinstance(annotation.value, str):
            names = annotation.value.replace("'", "").split("|")
            for text in names:
                yield from self._instances(self._dotted(text.strip(), scope))
        elif isinstance(annotation, n.Binary):
            yield from self.annotated(annotation.left, scope)
            yield from self.annotated(annotation.right, scope)
        elif isinstance(annotation, n.Subscript):
            last = (n.dotted(annotation.base) or "").rpartition(".")[2]
            index = annotation.index
            parts = index.children if isinstance(index, n.Other) else (index,)
            inner = frozenset(e for part in parts for e in self.annotated(part, scope))
            if last in _CONTAINERS and inner:
                yield Collection(inner)
            elif last in _WRAPPERS or last == "Union":
                yield from inner
        elif isinstance(annotation, (n.Name, n.Attribute)):
            yield from self._instances(self.of(annotation, scope))

    def _dotted(self, text: str, scope: Scope) -> Entities:
        head, *rest = text.split(".")
        found = frozenset(self.name(head, scope)) if head.isidentifier() else NOTHING
        for attr in rest:
            found = frozenset(e for base in found for e in self.member(base, attr))
        return found

    @staticmethod
    def _instances(found: Entities) -> Iterator[Entity]:
        for entity in found:
            if isinstance(entity, Class) or (
                isinstance(entity, External) and not entity.name.startswith("builtins.")
            ):
                yield Instance(entity)

    # -- imports ------------------------------------------------------------------------

    def _imported(self, node: n.Import, bound: str, module: Module) -> Iterator[Entity]:
        for original, name in node.names:
            if name != bound:
                continue
            if node.module is None:
                yield self.dotted_module(original, module)
            else:
                source = self.imported_module(node, module)
                if source is not None:
                    yield from self.member(source, original)

    def imported_module(self, node: n.Import, module: Module) -> Module | External | None:
        """Returns the module after ``from``."""
        name = node.module or ""
        if node.level:
            package = module.package.split(".") if module.package else []
            kept = package[: len(package) - (node.level - 1)] if node.level > 1 else package
            name = ".".join([*kept, name] if name else kept)
            if not name:
                return None
        return self.dotted_module(name, module)

    def dotted_module(self, name: str, importer: Module) -> Module | External:
        """Returns the project's module of this name, else the outside one."""
        return self.modules.find(name, importer) or External(name)

    # -- members ------------------------------------------------------------------------

    def member(self, base: Entity, attr: str) -> Iterator[Entity]:
        """Yields what ``base.attr`` may refer to."""
        if isinstance(base, External):
            yield External(f"{base.name}.{attr}")
        elif isinstance(base, Module):
            yield from self.module_member(base, attr)
        elif isinstance(base, Class):
            yield from self._class_member(base, attr)
        elif isinstance(base, Instance):
            yield from self._instance_member(base, attr)
        elif isinstance(base, Handle):
            yield RemoteMethod(base.cls, attr)

    def module_member(self, module: Module, attr: str) -> Entities:
        """Returns what a module's name refers to; modules may import each other in circles."""
        known = self._members.get((module, attr))
        if known is None:
            self._members[(module, attr)] = NOTHING
            known = self._members[(module, attr)] = frozenset(self._module_member(module, attr))
        return known

    def _module_member(self, module: Module, attr: str) -> Iterator[Entity]:
        bindings, where = self.lookup(attr, module)
        if where is not None:
            for binding in bindings:
                yield from self.bound(binding, attr, where)
            return
        inner = self.modules.named(f"{module.name}.{attr}")
        if inner is not None:
            yield inner

    def _class_member(self, cls: Class, attr: str) -> Iterator[Entity]:
        for holder in self.mro(cls):
            bindings = holder.bindings_of(attr)
            if bindings:
                for binding in bindings:
                    yield from self.bound(binding, attr, holder)
                return
        for base in self.external_bases(cls):
            yield External(f"{base}.{attr}")

    def _instance_member(self, base: Instance, attr: str) -> Iterator[Entity]:
        if isinstance(base.cls, External):
            yield External(f"{base.cls.name}().{attr}")
            return
        if attr == "__class__":
            yield base.cls
            return
        for entity in self._class_member(base.cls, attr):
            if isinstance(entity, Function) and self._is_property(entity):
                yield from self._returned(entity)
            else:
                yield entity
        for function, statement in self.stored(base.cls, attr):
            if statement.value is not None:
                yield from self.of(statement.value, function)
            if statement.annotation is not None:
                yield from self.annotated(statement.annotation, function)

    @staticmethod
    def _is_property(function: Function) -> bool:
        return any(
            (n.dotted(decorator) or "").rpartition(".")[2] in {"property", "cached_property"}
            for decorator in function.node.decorators
        )

    # -- classes ------------------------------------------------------------------------

    def bases(self, cls: Class) -> list[Class]:
        """Returns the direct bases that the project defines."""
        found: list[Class] = []
        for arg in cls.bases_args():
            for entity in self.of(arg, cls.parent or cls.module):
                if isinstance(entity, Class) and entity is not cls and entity not in found:
                    found.append(entity)
        return found

    def mro(self, cls: Class) -> tuple[Class, ...]:
        """Returns the class and its bases within the project, nearest first."""
        known = self._mro.get(cls)
        if known is None:
            self._mro[cls] = (cls,)
            order: dict[Class, None] = {cls: None}
            for base in self.bases(cls):
                order.update(dict.fromkeys(self.mro(base)))
            known = self._mro[cls] = tuple(order)
        return known

    def external_bases(self, cls: Class) -> tuple[str, ...]:
        """Returns the dotted names of the bases from outside, of the whole hierarchy."""
        return tuple(
            dict.fromkeys(name for holder in self.mro(cls) for name in self._outside(holder))
        )

    def _outside(self, cls: Class) -> Iterator[str]:
        """The dotted names of the direct bases from outside."""
        for arg in cls.bases_args():
            for entity in self.of(arg, cls.parent or cls.module):
                if isinstance(entity, External):
                    yield entity.name

    def subclasses(self, cls: Class) -> tuple[Class, ...]:
        """Returns the top-level classes of the project below a class, at any depth."""
        known = self._subclasses.get(cls)
        if known is None:
            self._subclasses[cls] = ()
            found: dict[Class, None] = {}
            for module, name in self._derived.get(cls.name, ()):
                for below in self._classes_named(module, name):
                    if below is not cls and cls in self.bases(below):
                        found.update(dict.fromkeys([below, *self.subclasses(below)]))
            known = self._subclasses[cls] = tuple(found)
        return known

    def overriding(self, cls: Class, attr: str) -> list[Class]:
        """Returns the classes below a class whose body binds the attribute anew."""
        return [below for below in self.subclasses(cls) if attr in below.member_names]

    @cached_property
    def _derived(self) -> dict[str, list[tuple[Module, str]]]:
        """For every word in the bases of a top-level class, also of a local alias, the classes."""
        found: dict[str, list[tuple[Module, str]]] = {}
        for module in self.modules:
            headers = module.facts.findall(_CLASS) if module.facts.has("class ") else []
            aliases = module.facts.originals if headers else {}
            for name, bases in headers:
                for word in set(re.findall(r"\w+", bases)):
                    for meant in {word, aliases.get(word, word)}:
                        found.setdefault(meant, []).append((module, name))
        return found

    @staticmethod
    def _classes_named(module: Module, name: str) -> Iterator[Class]:
        for unit in module.facts.bindings.get(name, ()):
            for statement in unit.statements:
                if isinstance(statement, n.ClassDef) and statement.name == name:
                    yield module.cls(statement, module.unit_of_class(statement))

    def stored(self, cls: Class, attr: str) -> list[tuple[Function, n.Assign]]:
        """Returns the assignments to ``self.attr`` in the class and its bases."""
        key = (cls, attr)
        known = self._stored.get(key)
        if known is None:
            known = self._stored[key] = []
            for holder in self.mro(cls):
                known += [
                    (function, assigned)
                    for method in _methods_writing(holder, attr)
                    for function in with_nested(method)
                    for statement in function.paths
                    for assigned in _stores(statement, attr, method)
                ]
        return known


def with_nested(function: Function) -> Iterator[Function]:
    """Yields a function and the functions defined inside it."""
    yield function
    for statement in function.paths:
        if isinstance(statement, n.FunctionDef):
            yield from with_nested(function.module.function(statement, None, function))


def _methods_writing(cls: Class, attr: str) -> Iterator[Function]:
    if cls.unit is None:
        yield from cls.methods()
        return
    stored = re.compile(rf"\.{re.escape(attr)}{_STORED}")
    for unit in cls.unit.members:
        if unit.has(f".{attr}") and unit.search(stored):
            for statement in unit.statements:
                if isinstance(statement, n.FunctionDef):
                    yield cls.module.function(statement, owner=cls)


def _stores(statement: n.Stmt, attr: str, method: Function) -> Iterator[n.Assign]:
    """Yields what a statement assigns to the attribute, as assignments of their own."""
    params = method.node.params.items
    me = params[0].name if params else "self"

    def is_meant(target: n.Expr) -> bool:
        return (
            isinstance(target, n.Attribute)
            and target.attr == attr
            and isinstance(target.base, n.Name)
            and target.base.id == me
        )

    if isinstance(statement, n.Assign):
        if any(map(is_meant, statement.targets)):
            yield statement
        for target in statement.targets:
            if isinstance(target, n.Sequence) and any(map(is_meant, _expressions(target))):
                yield n.Assign(statement.at, (target,), _part(target, statement.value, is_meant))
    elif isinstance(statement, (n.AugAssign, n.For)) and any(
        map(is_meant, _expressions(statement.target))
    ):
        yield n.Assign(statement.at, (statement.target,), n.Other(statement.at))


def _expressions(expr: n.Expr) -> Iterator[n.Expr]:
    return (node for node in n.walk(expr) if isinstance(node, n.Expr))


def _part(target: n.Sequence, value: n.Expr | None, is_meant: Callable[[n.Expr], bool]) -> n.Expr:
    """The value that one target of several takes."""
    if isinstance(value, n.Sequence) and len(value.elements) == len(target.elements):
        if not any(isinstance(e, n.Starred) for e in (*target.elements, *value.elements)):
            for inner, part in zip(target.elements, value.elements, strict=True):
                if is_meant(inner):
                    return part
    return n.Other(target.at)
