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
from rltel_lint.project.origins import Origins
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
_GROUP_DEPTH = 4


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

    # -- handle.method ------------------------------------------------------------------

    def of_method(
        self, expr: n.Expr, scope: Scope, at: n.Stmt | None, frame: Frame = EMPTY
    ) -> Targets:
        """Returns what ``expr.remote(...)`` may run.

        Args:
            expr: What stands before ``.remote``.
            scope: Where its names are looked up.
            at: The statement that holds it.
            frame: The arguments of the functions around it.
        """
        parts: list[Targets] = []
        for origin in self.origins.of(_plain(expr), scope, at, frame):
            if origin.expr is None:
                parts.append(Targets(is_open=True, certain=False))
                continue
            inner = _plain(origin.expr)
            if inner is not origin.expr and not isinstance(inner, (n.Attribute, n.Call)):
                parts.append(self.of_method(inner, origin.scope, origin.at, origin.frame))
            else:
                parts.append(self._of_plain(inner, origin.scope, origin.at, origin.frame))
        return _joined(parts)

    def _of_plain(self, expr: n.Expr, scope: Scope, at: n.Stmt | None, frame: Frame) -> Targets:
        direct = [
            self._direct(entity) for entity in self.resolver.of(expr, scope) if _is_direct(entity)
        ]
        if direct:
            methods = tuple(method for method in direct if method is not None)
            return Targets(methods, True, tuple(method.name for method in methods))
        if isinstance(expr, n.Attribute):
            return self._looked_up(expr.base, literal(expr.attr), scope, at, frame)
        if isinstance(expr, n.Call) and n.dotted(expr.func) == "getattr":
            base, name = expr.positional(0), expr.positional(1)
            if base is not None and name is not None:
                names = self._names(name, scope, at, frame)
                return self._looked_up(base, names, scope, at, frame)
        return Targets(is_open=True, certain=False)

    def _direct(self, entity: object) -> Method | None:
        """A task, an actor class (its constructor), a method whose handle's class is known."""
        if isinstance(entity, Function) and entity.owner is None:
            return self.accepting.task(entity)
        if isinstance(entity, Class):
            return self.accepting.method(entity, "__init__")
        if isinstance(entity, RemoteMethod):
            return self.accepting.method(entity.cls, entity.name)
        return None

    def _names(self, expr: n.Expr, scope: Scope, at: n.Stmt | None, frame: Frame) -> Strings:
        return union(
            self.evaluator.of(o.expr, o.scope, o.at, o.frame)
            if o.expr is not None
            else unknown("it is not known")
            for o in self.origins.of(expr, scope, at, frame)
        )

    def _looked_up(
        self, base: n.Expr, names: Strings, scope: Scope, at: n.Stmt | None, frame: Frame
    ) -> Targets:
        entities = self.origins.entities(base, scope, at, frame)
        if any(_is_outside_actor(entity) for entity in entities):
            return Targets(names=names.literals)
        classes = _classes(entities)
        parts = [self._in_classes(classes, name) for name in names.literals]
        if any(HOLE in template for template in names.templates):
            parts.append(Targets(is_open=True, certain=False))
        return _joined(parts)

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

    # -- by name ------------------------------------------------------------------------

    def of_name(
        self, group: n.Expr, name: n.Expr, scope: Scope, at: n.Stmt | None, frame: Frame = EMPTY
    ) -> Targets:
        """Returns what a worker group may run for a method name.

        Args:
            group: The worker group.
            name: The method's name.
            scope: Where their names are looked up.
            at: The statement that holds them.
            frame: The arguments of the functions around them.
        """
        names = self._names(name, scope, at, frame)
        classes = [(cls, True) for cls in self._workers(group, scope, at, frame)]
        parts = []
        for text in names.literals:
            known = self._in_classes(classes, text) if classes else Targets()
            parts.append(known if known.methods else self._anywhere(text))
        if any(HOLE in template for template in names.templates):
            parts.append(Targets(is_open=True, certain=False))
        return _joined(parts)

    def _workers(
        self, group: n.Expr, scope: Scope, at: n.Stmt | None, frame: Frame
    ) -> tuple[Class, ...]:
        """The classes that go into the making of a worker group: named or handed as such."""
        found: dict[Class, None] = {}
        for origin in self.origins.of(group, scope, at, frame):
            if isinstance(origin.expr, n.Call):
                for cls in self._handed(
                    origin.expr, origin.scope, origin.at, origin.frame, _GROUP_DEPTH
                ):
                    found[cls] = None
        return tuple(found)

    def _handed(
        self, call: n.Call, scope: Scope, at: n.Stmt | None, frame: Frame, depth: int
    ) -> Iterator[Class]:
        for arg in call.args:
            if arg.star or depth == 0:
                continue
            for origin in self.origins.of(arg.value, scope, at, frame):
                inner = origin.expr
                if inner is None:
                    continue
                yield from self._named(inner, origin.scope, origin.at, origin.frame)
                for entity in self.origins.entities_of(origin):
                    if isinstance(entity, Class):
                        yield entity
                if isinstance(inner, n.Call):
                    yield from self._handed(inner, origin.scope, origin.at, origin.frame, depth - 1)

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
