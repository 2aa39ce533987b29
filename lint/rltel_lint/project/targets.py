"""What a remote call may run: the methods behind ``handle.method`` or a name in a string."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rltel_lint.facts import nodes as n
from rltel_lint.project.accepting import Accepting, Method
from rltel_lint.project.actors import Actors, is_stub
from rltel_lint.project.binding import EMPTY, Frame
from rltel_lint.project.evaluate import Evaluator
from rltel_lint.project.model import Class, Function, Module, Scope
from rltel_lint.project.origins import Origin, Origins
from rltel_lint.project.resolve import (
    Entities,
    External,
    Handle,
    Instance,
    RemoteMethod,
    Resolver,
)
from rltel_lint.values import HOLE, Strings, literal, union, unknown

_UNTYPED = ("typing.", "builtins.", "ray.", "collections.")
_GROUP_CALLS = 12
_ANYTHING = unknown("it is not known")


@dataclass(frozen=True, eq=False)
class Targets:
    """What a call may run.

    Attributes:
        methods: The methods, constructors and tasks of the project.
        certain: Whether the class is known, so that each of them can really be meant; else they
            are all methods of that name which may run remotely.
        names: The names that are called.
        is_open: Whether it may be any method.
    """

    methods: tuple[Method, ...] = ()
    certain: bool = True
    names: tuple[str, ...] = ()
    is_open: bool = False


@dataclass(frozen=True, eq=False)
class Designation:
    """What a call names, before it is known what that is.

    Attributes:
        names: The names of the methods; of a class or task that is called itself, its own.
        base: The handle or worker group.
        entity: What is called itself.
        is_group: Whether the base is a worker group.
    """

    names: Strings
    base: Origin | None = None
    entity: object | None = None
    is_group: bool = False

    @property
    def is_open(self) -> bool:
        """Whether other names are possible."""
        return any(HOLE in template for template in self.names.templates)


class TargetFinder:
    """Finds what a remote call may run.

    Args:
        resolver: Resolves names.
        evaluator: Evaluates method names.
        origins: Follows handles back to where they were made.
        actors: The actor classes.
        accepting: Looks methods up.
    """

    def __init__(
        self,
        resolver: Resolver,
        evaluator: Evaluator,
        origins: Origins,
        actors: Actors,
        accepting: Accepting,
    ) -> None:
        self.resolver = resolver
        self.evaluator = evaluator
        self.origins = origins
        self.actors = actors
        self.accepting = accepting
        self._groups: dict[tuple[n.Call, int], tuple[Frame, tuple[Class, ...]]] = {}

    # -- what is named ------------------------------------------------------------------

    def of_method(
        self, expr: n.Expr, scope: Scope, at: n.Stmt | None, frame: Frame = EMPTY
    ) -> list[Designation]:
        """Returns what ``expr.remote(...)`` names.

        Args:
            expr: What stands before ``.remote``.
            scope: Where its names are looked up.
            at: The statement that holds it.
            frame: The arguments of the functions around it.
        """
        found: list[Designation] = []
        for origin in self.origins.of(_plain(expr), scope, at, frame):
            if origin.expr is None:
                found.append(Designation(_ANYTHING))
                continue
            inner = _plain(origin.expr)
            if inner is not origin.expr and not isinstance(inner, (n.Attribute, n.Call)):
                found += self.of_method(inner, origin.scope, origin.at, origin.frame)
            else:
                found += self._of_plain(inner, origin.scope, origin.at, origin.frame)
        return found

    def _of_plain(
        self, expr: n.Expr, scope: Scope, at: n.Stmt | None, frame: Frame
    ) -> Iterator[Designation]:
        direct = [e for e in self.resolver.of(expr, scope) if _is_direct(e)]
        if direct:
            for entity in direct:
                yield Designation(literal(_name_of(entity)), entity=entity)
        elif isinstance(expr, n.Attribute):
            yield Designation(literal(expr.attr), Origin(expr.base, scope, at, frame))
        elif isinstance(expr, n.Call) and n.dotted(expr.func) == "getattr":
            base, name = expr.positional(0), expr.positional(1)
            if base is not None and name is not None:
                names = self._names(name, scope, at, frame)
                yield Designation(names, Origin(base, scope, at, frame))
        else:
            yield Designation(_ANYTHING)

    def _names(self, expr: n.Expr, scope: Scope, at: n.Stmt | None, frame: Frame) -> Strings:
        return union(
            self.evaluator.of(o.expr, o.scope, o.at, o.frame)
            if o.expr is not None
            else unknown("it is not known")
            for o in self.origins.of(expr, scope, at, frame)
        )

    def of_name(
        self, group: n.Expr, name: n.Expr, scope: Scope, at: n.Stmt | None, frame: Frame = EMPTY
    ) -> list[Designation]:
        """Returns what a worker group may run for a method name.

        Args:
            group: The worker group.
            name: The method's name.
            scope: Where their names are looked up.
            at: The statement that holds them.
            frame: The arguments of the functions around them.
        """
        names = self._names(name, scope, at, frame)
        return [Designation(names, Origin(group, scope, at, frame), is_group=True)]

    # -- what it is ---------------------------------------------------------------------

    def resolve(self, designations: Iterable[Designation]) -> Targets:
        """Returns the methods that are meant."""
        return _joined(self._resolve(designation) for designation in designations)

    def _resolve(self, designation: Designation) -> Targets:
        if designation.entity is not None:
            method = self._direct(designation.entity)
            return Targets((method,) if method else (), True, designation.names.literals)
        base, names = designation.base, designation.names
        if base is None or base.expr is None:
            return Targets(is_open=True, certain=False)
        if designation.is_group:
            classes = [(cls, True) for cls in self._workers(base)]
        else:
            entities = self.origins.entities(base.expr, base.scope, base.at, base.frame)
            if any(_is_outside_actor(entity) for entity in entities):
                return Targets(names=names.literals)
            classes = _classes(entities)
        parts = [self._in_classes(classes, name) for name in names.literals]
        if designation.is_group:
            parts = [
                part if part.methods else self._anywhere(name)
                for part, name in zip(parts, names.literals, strict=True)
            ]
        if designation.is_open:
            parts.append(Targets(is_open=True, certain=False))
        return _joined(parts)

    def _direct(self, entity: object) -> Method | None:
        """A task, an actor class (its constructor), a method whose handle's class is known."""
        if isinstance(entity, Function):
            return self.accepting.task(entity)
        if isinstance(entity, Class):
            return self.accepting.method(entity, "__init__")
        if isinstance(entity, RemoteMethod):
            return self.accepting.method(entity.cls, entity.name)
        return None

    def _in_classes(self, classes: list[tuple[Class, bool]], name: str) -> Targets:
        if not classes:
            return self._anywhere(name)
        found: dict[Method, None] = {}
        for cls, exact in classes:
            method = self.accepting.method(cls, name)
            if method is not None and not _is_empty(method):
                found[method] = None
            if not exact:
                found.update(dict.fromkeys(self._overrides(cls, name)))
        return Targets(tuple(found), True, (name,))

    def _overrides(self, cls: Class, name: str) -> Iterator[Method]:
        """The same method in actors that inherit from a class which is only an annotation."""
        if self.actors.is_remote(cls) and cls in self.actors.classes:
            return
        for function in self.actors.definitions(name):
            owner = function.owner
            if owner is not None and owner is not cls and cls in self.resolver.mro(owner):
                if self.actors.is_remote(owner):
                    method = self.accepting.method(owner, name)
                    if method is not None:
                        yield method

    def _anywhere(self, name: str) -> Targets:
        """Every method of the name that may run remotely."""
        functions = self.actors.definitions(name)
        remote = [f for f in functions if f.owner is not None and self.actors.is_remote(f.owner)]
        methods: dict[Method, None] = {}
        for function in remote or functions:
            if function.owner is not None:
                method = self.accepting.method(function.owner, name)
                if method is not None:
                    methods[method] = None
        return Targets(tuple(methods), False, (name,))

    def _workers(self, group: Origin) -> tuple[Class, ...]:
        """The classes that go into the making of a worker group: named or handed as such."""
        found: dict[Class, None] = {}
        if group.expr is not None:
            for origin in self.origins.of(group.expr, group.scope, group.at, group.frame):
                found.update(dict.fromkeys(self._handed_to(origin)))
        return tuple(found)

    def _handed_to(self, origin: Origin) -> tuple[Class, ...]:
        if not isinstance(origin.expr, n.Call):
            return ()
        key = (origin.expr, id(origin.frame))
        known = self._groups.get(key)
        if known is None:
            self._groups[key] = (origin.frame, ())
            seen: set[n.Call] = set()
            handed = dict.fromkeys(self._handed(origin.expr, origin, seen))
            known = self._groups[key] = (origin.frame, tuple(handed))
        return known[1]

    def _handed(self, call: n.Call, at: Origin, seen: set[n.Call]) -> Iterator[Class]:
        if call in seen or len(seen) > _GROUP_CALLS:
            return
        seen.add(call)
        for arg in call.args:
            if arg.star:
                continue
            for origin in self.origins.of(arg.value, at.scope, at.at, at.frame):
                if origin.expr is None:
                    continue
                yield from self._named(origin.expr, origin.scope, origin.at, origin.frame)
                entities = self.origins.entities_of(origin)
                yield from (entity for entity in entities if isinstance(entity, Class))
                if isinstance(origin.expr, n.Call) and any(
                    isinstance(e, Instance) and isinstance(e.cls, Class) for e in entities
                ):
                    yield from self._handed(origin.expr, origin, seen)

    def _named(
        self, expr: n.Expr, scope: Scope, at: n.Stmt | None, frame: Frame
    ) -> Iterator[Class]:
        if not isinstance(expr, (n.Const, n.FString, n.Binary, n.Attribute, n.Name)):
            return
        for text in self.evaluator.of(expr, scope, at, frame).literals:
            if re.fullmatch(r"\w+(?:[.:]\w+)+", text):
                owner, _, last = text.replace(":", ".").rpartition(".")
                module = self.resolver.dotted_module(owner, scope.module)
                if isinstance(module, Module):
                    for entity in self.resolver.module_member(module, last):
                        if isinstance(entity, Class):
                            yield entity


def _is_direct(entity: object) -> bool:
    if isinstance(entity, Function):
        return entity.owner is None
    return isinstance(entity, (Class, RemoteMethod))


def _name_of(entity: object) -> str:
    return str(getattr(entity, "name", ""))


def _plain(expr: n.Expr) -> n.Expr:
    """What stands before ``.options(...)``."""
    while (
        isinstance(expr, n.Call)
        and isinstance(expr.func, n.Attribute)
        and expr.func.attr == "options"
    ):
        expr = expr.func.base
    return expr


def _is_outside_actor(entity: object) -> bool:
    """Whether a handle is of an actor that the project does not define."""
    if not isinstance(entity, Instance) or not isinstance(entity.cls, External):
        return False
    name = entity.cls.name
    return not name.startswith(_UNTYPED) and not name.endswith("ActorHandle")


def _classes(entities: Entities) -> list[tuple[Class, bool]]:
    """The classes of handles, each with whether it is exactly this class."""
    found: dict[Class, bool] = {}
    for entity in entities:
        if isinstance(entity, Handle):
            found[entity.cls] = True
        elif isinstance(entity, Instance) and isinstance(entity.cls, Class):
            found.setdefault(entity.cls, False)
    return list(found.items())


def _is_empty(method: Method) -> bool:
    return method.function is not None and is_stub(method.function)


def _joined(parts: Iterable[Targets]) -> Targets:
    methods: dict[Method, None] = {}
    names: dict[str, None] = {}
    certain, is_open = True, False
    for part in parts:
        methods.update(dict.fromkeys(part.methods))
        names.update(dict.fromkeys(part.names))
        certain = certain and part.certain
        is_open = is_open or part.is_open
    return Targets(tuple(methods), certain, tuple(names), is_open)
