"""Which keys the mapping has that a call gives back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rltel_lint.facts import nodes as n
from rltel_lint.project.binding import Frame
from rltel_lint.project.calls import CallFinder, CallSite
from rltel_lint.project.evaluate import Evaluator
from rltel_lint.project.metrics.keys import NO_KEYS, Keys, from_outside, gap, key_at, union
from rltel_lint.project.metrics.records import Records
from rltel_lint.project.model import Class, Function, Scope
from rltel_lint.project.resolve import External, Instance, Resolver
from rltel_lint.values import HOLE, Strings
from rltel_lint.vocabulary.model import KnownResult, means

if TYPE_CHECKING:
    from rltel_lint.project.metrics.mappings import Mappings

COPYING = frozenset({"dict", "OrderedDict", "MappingProxyType", "ChainMap", "UserDict"})
"""Constructors of mappings from mappings and keywords."""

_COPIES = frozenset({"copy", "deepcopy"})
_FIELDS = frozenset({"asdict", "vars", "model_dump", "_asdict", "to_dict"})
_PASSING = {"ray.get": 0, "ray.put": 0, "copy.copy": 0, "copy.deepcopy": 0, "typing.cast": 1}
_HANDS_ON = frozenset(
    {
        *("ray", "torch", "numpy", "functools", "itertools", "builtins", "asyncio", "jax"),
        *("collections", "concurrent", "operator", "contextlib", "json", "abc", "typing"),
        *("typing_extensions", "threading", "queue", "multiprocessing", "copy", "dataclasses"),
    }
)
"""Libraries whose results hold what they were given, or what the project wrote elsewhere."""


def elsewhere(name: str) -> Keys:
    """Returns the mapping that a library gives, by the full name of what gives it."""
    if name.partition(".")[0] in _HANDS_ON:
        return gap(f"it is the result of {name}")
    return from_outside(name)


class Results:
    """Reads the keys of what calls return.

    Args:
        mappings: Reads the mappings that are returned or given.
        resolver: Resolves what is called.
        finder: Finds the project's functions that a call runs.
        evaluator: Binds arguments.
        known: Functions of libraries whose keys the vocabulary tells.
    """

    def __init__(
        self,
        mappings: Mappings,
        resolver: Resolver,
        finder: CallFinder,
        evaluator: Evaluator,
        known: tuple[KnownResult, ...] = (),
    ) -> None:
        self._known_results = known
        self._mappings = mappings
        self._resolver = resolver
        self._finder = finder
        self._evaluator = evaluator
        self._records = Records(resolver)

    def of(self, expr: n.Call, scope: Scope, at: n.Stmt | None, frame: Frame) -> Keys:
        """Returns the keys of what a call gives back."""
        func = expr.func
        entities = self._resolver.of(func, scope)
        outside = sorted(e.name for e in entities if isinstance(e, External))
        classes = [entity for entity in entities if isinstance(entity, Class)]
        found = [self._constructed(cls, expr, scope, at, frame) for cls in classes]
        ran = list(self.runs(expr, scope, at, frame))
        whole = [one for one in ran if not _is_stub(one[0])]
        found += [self.returned(function, entered) for function, entered in whole or ran]
        told = {name: keys for name in outside if (keys := self._told(name)) is not None}
        if told:
            place, outside = scope.place(expr), [name for name in outside if name not in told]
            found += [key_at(Strings(keys), place) for keys in told.values()]
        if found:
            return union([*found, *(elsewhere(name) for name in outside)])
        return self._known(expr, scope, at, frame, outside)

    def _told(self, dotted: str) -> frozenset[str] | None:
        """The keys that the vocabulary tells of a library's function, as templates."""
        for known in self._known_results:
            if means(dotted, known.name, known.modules):
                return frozenset(key.replace("*", HOLE) for key in known.keys)
        return None

    def _known(
        self, expr: n.Call, scope: Scope, at: n.Stmt | None, frame: Frame, outside: list[str]
    ) -> Keys:
        func = expr.func
        if isinstance(func, n.Attribute):
            method = self._method(expr, func, scope, at, frame, outside)
            if method is not None:
                return method
        last = func.attr if isinstance(func, n.Attribute) else n.dotted(func) or ""
        names = {last, *(name.rpartition(".")[2] for name in outside)}
        if names & COPYING:
            return self._mappings.merging.merged(expr, scope, at, frame)
        if names & {"defaultdict", "Counter"}:
            rest = expr.args[1:] if "defaultdict" in names else expr.args
            return self._mappings.merging.merged(n.Call(expr.at, func, rest), scope, at, frame)
        if last in _FIELDS and expr.args:
            return self.fields(expr.args[0].value, scope)
        if last == "field":
            return self._default_factory(expr, scope)
        for name in outside:
            passed = expr.positional(_PASSING[name]) if name in _PASSING else None
            if passed is not None:
                return self._mappings.of(passed, scope, at, frame)
        return self._foreign(expr, scope, at, frame, outside)

    def _method(
        self,
        expr: n.Call,
        func: n.Attribute,
        scope: Scope,
        at: n.Stmt | None,
        frame: Frame,
        outside: list[str],
    ) -> Keys | None:
        """The result of a method that gives a mapping made of another, if it is one."""
        if func.attr == "fromkeys" and expr.args:
            return self._mappings.merging.of_elements(expr.args[0].value, scope, at, frame)
        if func.attr in _COPIES and not expr.args:
            return self._mappings.of(func.base, scope, at, frame)
        if func.attr in _FIELDS and not expr.args:
            return self.fields(func.base, scope)
        if func.attr in {"items"} and not expr.args and not outside:
            return self._mappings.of(func.base, scope, at, frame)
        return None

    def runs(
        self, call: n.Call, scope: Scope, at: n.Stmt | None, frame: Frame
    ) -> Iterator[tuple[Function, Frame]]:
        """Yields the project's functions that a call runs, with their arguments."""
        site = CallSite(call, scope, at or n.Jump(call.at, "pass"))
        for target in self._finder.called(site):
            if isinstance(target, Function):
                bound = self._evaluator.bound(site, target, frame)
                yield target, frame.entering(target, bound)

    def returned(self, function: Function, frame: Frame) -> Keys:
        """Returns the keys of what a function returns."""
        if function.node.is_generator or self._is_wrapped(function):
            return gap(f"{function.label} does not return it as it is")
        found = [
            self._mappings.of(statement.value, function, statement, frame)
            for statement in returns(function)
            if statement.value is not None
        ]
        return union(found) if found else gap(f"{function.label} returns nothing")

    def _is_wrapped(self, function: Function) -> bool:
        """Whether a decorator of the project may change what a function returns."""
        return any(
            isinstance(entity, (Function, Class))
            for decorator in function.node.decorators
            for entity in self._resolver.of(
                decorator.func if isinstance(decorator, n.Call) else decorator,
                function.parent or function.module,
            )
        )

    def _constructed(
        self, cls: Class, call: n.Call, scope: Scope, at: n.Stmt | None, frame: Frame
    ) -> Keys:
        bases = {name.rpartition(".")[2] for name in self._resolver.external_bases(cls)}
        if "TypedDict" in bases:
            return self._mappings.merging.merged(call, scope, at, frame)
        if bases & {"dict", "UserDict", "OrderedDict"}:
            return self._mappings.merging.merged(call, scope, at, frame) | gap(
                f"{cls.name} is a mapping of its own"
            )
        return gap(f"{cls.name} is a class of its own")

    def _default_factory(self, call: n.Call, scope: Scope) -> Keys:
        factory = call.keyword("default_factory")
        if isinstance(factory, n.Lambda):
            return self._mappings.of(factory.body, scope)
        if factory is not None and n.dotted(factory) == "dict":
            return NO_KEYS
        return gap("it is a field")

    def fields(self, expr: n.Expr, scope: Scope) -> Keys:
        """Returns the keys that the fields of an object make."""
        classes = [
            entity.cls
            for entity in self._resolver.of(expr, scope)
            if isinstance(entity, Instance) and isinstance(entity.cls, Class)
        ]
        if not classes:
            return gap("the class of the fields is not known")
        return union(self._records.fields(cls) for cls in classes)

    def _foreign(
        self, expr: n.Call, scope: Scope, at: n.Stmt | None, frame: Frame, outside: list[str]
    ) -> Keys:
        """What a function from elsewhere returns: perhaps what it was given, perhaps its own."""
        given = union(
            self._mappings.of(arg.value, scope, at, frame)
            for arg in expr.args
            if isinstance(arg.value, (n.Name, n.Dict, n.Attribute))
        )
        if not outside:
            return given | gap("it is the result of a call")
        return union([given, *(elsewhere(name) for name in outside)])


def returns(function: Function) -> Iterator[n.Return]:
    """Yields the return statements of a function."""
    return (statement for statement in function.paths if isinstance(statement, n.Return))


def _is_stub(function: Function) -> bool:
    """Whether a function only stands for those of derived classes."""
    return all(
        isinstance(statement, (n.Raise, n.Jump))
        or (isinstance(statement, n.ExprStmt) and isinstance(statement.value, (n.Const, n.Other)))
        for statement in function.node.body
    )
