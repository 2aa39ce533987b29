"""Actors that are killed, and whether what they recorded is delivered before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from rltel_lint.facts import nodes as n
from rltel_lint.project.calls import CallFinder, CallSite
from rltel_lint.project.carriers import CarrierFacts
from rltel_lint.project.leading import Leading
from rltel_lint.project.lifecycle import Lifecycle
from rltel_lint.project.model import Class, Function, Scope
from rltel_lint.project.order import comes_before
from rltel_lint.project.origins import Origin
from rltel_lint.project.resolve import Collection, Handle, Instance, Resolver
from rltel_lint.vocabulary.model import KnownCall, Vocabulary

_HOPS = 3


@dataclass(frozen=True, eq=False)
class Kill:
    """A ``ray.kill`` of an actor whose class is known.

    Attributes:
        at: The call of ``ray.kill``.
        cls: The actor's class.
        through: Calls that handed the actor to the function of the kill, outermost first.
    """

    at: CallSite
    cls: Class
    through: tuple[CallSite, ...] = ()


class Kills:
    """Finds the kills of actors whose class is known.

    Args:
        vocabulary: What the names mean.
        resolver: Resolves names.
        finder: Finds calls.
        carriers: Knows origins and callers.
        lifecycle: Follows calls, and knows the methods of actors.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        resolver: Resolver,
        finder: CallFinder,
        carriers: CarrierFacts,
        lifecycle: Lifecycle,
    ) -> None:
        self._known = vocabulary.lifecycle
        self._dispatchers = vocabulary.carriers.dispatchers
        self._resolver = resolver
        self._finder = finder
        self._carriers = carriers
        self._lifecycle = lifecycle
        self._flow = lifecycle.flow
        self._flushing: dict[frozenset[str], Leading] = {}
        self._leading_there: dict[tuple[Function, frozenset[str]], bool] = {}

    @cached_property
    def _ending(self) -> frozenset[Function]:
        """Functions that deliver what was recorded."""
        return _functions(self._flow.uses(self._known.shutdowns))

    @cached_property
    def _to_end(self) -> Leading:
        return self._flow.leading(self._ending, depth=_HOPS)

    def flushing_methods(self, cls: Class) -> frozenset[str]:
        """Names of the methods of an actor class that deliver what it recorded."""
        return frozenset(
            method.name
            for method in self._lifecycle.methods_leading(cls, self._to_end)
            if self._flow.path(method, self._ending, self._to_end, _HOPS) is not None
        )

    @cached_property
    def all(self) -> tuple[Kill, ...]:
        """The kills of actors whose class is known, in order of place."""
        known = (KnownCall("kill", ("ray",)),)
        found = [
            kill
            for site in self._finder.named([("ray", "kill")])
            if self._flow.means(site.call.func, site.scope, known) and site.call.args
            for kill in self._killed(site, site.call.args[0].value, site, ())
        ]
        return tuple(sorted(found, key=lambda kill: kill.at.place))

    def _killed(
        self, kill: CallSite, actor: n.Expr, at: CallSite, through: tuple[CallSite, ...]
    ) -> Iterator[Kill]:
        classes = {e.cls for e in self._handles(actor, at) if isinstance(e, Handle)}
        if classes:
            for cls in sorted(classes, key=lambda cls: cls.qualified):
                yield Kill(kill, cls, through)
            return
        function = at.function
        if function is None or len(through) >= _HOPS or not isinstance(actor, n.Name):
            return
        bindings = function.bindings_of(actor.id)
        if not bindings:
            return
        name, held = actor.id, bindings[0].value
        if len(bindings) == 1 and isinstance(held, n.Name) and held.id != name:
            yield from self._killed(kill, held, at, through)  # another name for it
            return
        if not isinstance(bindings[0].node, n.Parameter):
            iterated = bindings[0].element_of
            if not isinstance(iterated, n.Name):
                return
            name = iterated.id
        if function.node.params.named(name) is None:
            return
        for call in self._carriers.invocations.of(function):
            passed = self._finder.bound(call, function).get(name)
            if passed is None or passed.expr is None:
                continue
            if name == actor.id:
                yield from self._killed(kill, passed.expr, call, (call, *through))
            else:
                for entity in self._elements(passed.expr, call.scope):
                    if isinstance(entity, Handle):
                        yield Kill(kill, entity.cls, (call, *through))

    def _handles(self, actor: n.Expr, at: CallSite) -> Iterable[object]:
        found = list(_flat(self._resolver.of(actor, at.scope)))
        if any(isinstance(entity, Handle) for entity in found):
            return found
        found = [
            entity
            for origin in self._carriers.origins.of(actor, at.scope, at.statement)
            for entity in self._made(origin)
        ]
        if found or not isinstance(actor, n.Name) or at.function is None:
            return found
        looped = [b.element_of for b in at.function.bindings_of(actor.id)]
        looped += [
            iterable
            for node in n.own_nodes(at.statement)
            if isinstance(node, n.Comprehension)
            for target, iterable in node.loops
            if isinstance(target, n.Name) and target.id == actor.id
        ]
        return [e for loop in looped if loop is not None for e in self._elements(loop, at.scope)]

    def _elements(self, expr: n.Expr, scope: Scope, hops: int = _HOPS) -> Iterator[object]:
        """What a container holds; the field of a dataclass holds what it is built with."""
        for origin in self._carriers.origins.elements(expr, scope):
            yield from self._made(origin)
        if hops == 0 or not isinstance(expr, n.Attribute):
            return
        for entity in self._resolver.of(expr.base, scope):
            if isinstance(entity, Instance) and isinstance(entity.cls, Class):
                for call in self._carriers.invocations.of(entity.cls):
                    given = call.call.keyword(expr.attr)
                    if given is not None:
                        yield from self._elements(given, call.scope, hops - 1)

    def _made(self, origin: Origin) -> Iterator[object]:
        """The actor handles that a value comes from."""
        for entity in _flat(self._carriers.origins.entities_of(origin)):
            if isinstance(entity, Handle):
                yield entity
        call = origin.expr
        if isinstance(call, n.Call) and call.args:
            if self._flow.means(call.func, origin.scope, self._dispatchers) is not None:
                for entity in self._resolver.of(call.args[0].value, origin.scope):
                    if isinstance(entity, Class):
                        yield Handle(entity)

    def is_flushed(self, kill: Kill) -> bool:
        """Whether something on the way to a kill delivers what the actor recorded."""
        names = self.flushing_methods(kill.cls)
        if self._flushed_before(kill.at, names):
            return True
        seen: set[Function] = set()
        level = list(kill.through)
        if not level and kill.at.function is not None:
            level = self._callers_of(kill.at.function, seen)
        for _ in range(_HOPS):
            if any(self._flushed_before(call, names) for call in level):
                return True
            level = [
                above
                for call in level
                if call.function is not None
                for above in self._callers_of(call.function, seen)
            ]
        return False

    def _callers_of(self, function: Function, seen: set[Function]) -> list[CallSite]:
        if function in seen:
            return []
        seen.add(function)
        return self._carriers.invocations.of(function)

    def _flushed_before(self, site: CallSite, names: frozenset[str]) -> bool:
        function = site.function
        if function is None:
            return False
        leading = self._leading_to_flush(names)
        for statement in function.paths:
            if isinstance(statement, (n.FunctionDef, n.ClassDef)):
                continue
            if not comes_before(statement, site.statement, function):
                continue
            for node in self._flow.calls_in(statement):
                if node.at < site.call.at and not _of_another(node, site, function):
                    if self._flushes(node, names):
                        return True
            if statement.at < site.call.at:
                for written, target in self._flow.steps_in(statement, function, leading):
                    if written.at < site.call.at and self._leads(target, names):
                        return True
        return False

    def _leads(self, function: Function, names: frozenset[str]) -> bool:
        """Whether a function flushes soon; many kills may lie behind calls of the same one."""
        known = self._leading_there.get((function, names))
        if known is None:
            known = self._leads_to_flush(function, names, 2, set())
            self._leading_there[function, names] = known
        return known

    @cached_property
    def _flush_calls(self) -> frozenset[n.Call]:
        """The calls of functions that have an actor deliver what it recorded."""
        known = self._known.actor_flushers
        return frozenset(
            site.call
            for site in self._finder.named([one.words for one in known])
            if self._flow.means(site.call.func, site.scope, known) is not None
        )

    def _flushes(self, call: n.Call, names: frozenset[str]) -> bool:
        func = call.func
        if isinstance(func, n.Attribute) and func.attr == "remote":
            base = func.base
            if isinstance(base, n.Call) and isinstance(base.func, n.Attribute):
                base = base.func.base
            if isinstance(base, n.Attribute) and base.attr in names:
                return True
        if call in self._flush_calls:
            return True
        return any(
            isinstance(arg.value, n.Const) and arg.value.value in names for arg in call.args
        ) or any(
            isinstance(arg.value, n.Attribute) and arg.value.attr in names for arg in call.args
        )

    def _leading_to_flush(self, names: frozenset[str]) -> Leading:
        known = self._flushing.get(names)
        if known is None:
            words = {*names, *(known.name for known in self._known.actor_flushers)}
            known = self._flushing[names] = self._flow.leading(words=words)
        return known

    def _leads_to_flush(
        self, function: Function, names: frozenset[str], depth: int, seen: set[Function]
    ) -> bool:
        if function in seen or self._carriers.is_library(function.module):
            return False
        seen.add(function)
        for statement in function.paths:
            if not isinstance(statement, (n.FunctionDef, n.ClassDef)):
                for node in self._flow.calls_in(statement):
                    if self._flushes(node, names):
                        return True
        return depth > 0 and any(
            self._leads_to_flush(target, names, depth - 1, seen)
            for _, target in self._flow.steps(function, self._leading_to_flush(names))
        )


def _of_another(flush: n.Call, kill: CallSite, function: Function) -> bool:
    """Whether a flush is of another actor than the one that is killed: of one built apart."""
    base: n.Expr | None = flush.args[0].value if flush.args else None
    func = flush.func
    if isinstance(func, n.Attribute) and func.attr == "remote":
        base = func.base
        while isinstance(base, (n.Attribute, n.Call)):
            base = base.base if isinstance(base, n.Attribute) else base.func
    killed = kill.call.args[0].value if kill.call.args else None
    if not isinstance(base, n.Name) or not isinstance(killed, n.Name) or base.id == killed.id:
        return False
    built = [function.bindings_of(name) for name in (base.id, killed.id)]
    values = [bindings[0].value for bindings in built if len(bindings) == 1]
    return len(values) == 2 and all(isinstance(value, n.Call) for value in values)


def _flat(entities: Iterable[object]) -> Iterator[object]:
    """Entities, those of containers in containers instead of the containers."""
    for entity in entities:
        if isinstance(entity, Collection):
            yield from _flat(entity.of)
        else:
            yield entity


def _functions(uses: Iterable[tuple[Scope, n.Stmt, n.Expr]]) -> frozenset[Function]:
    return frozenset(scope for scope, _, _ in uses if isinstance(scope, Function))
