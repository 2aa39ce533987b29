"""How the project carries its trace across processes: both halves, and what ties them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from rltel_lint.facts import nodes as n
from rltel_lint.facts.units import Unit
from rltel_lint.findings import Place
from rltel_lint.project.accepting import Accepting, Method
from rltel_lint.project.actors import Actors, is_stub
from rltel_lint.project.binding import Passed, init_of
from rltel_lint.project.calls import CallFinder, CallSite
from rltel_lint.project.carried import Carried
from rltel_lint.project.dispatch import Dispatch, DispatchFinder
from rltel_lint.project.evaluate import Evaluator
from rltel_lint.project.invocations import Invocations
from rltel_lint.project.model import Class, Function, Module
from rltel_lint.project.modules import ModuleTable
from rltel_lint.project.origins import Origins
from rltel_lint.project.reach import Reach, Reached
from rltel_lint.project.resolve import Resolver
from rltel_lint.project.spans import SpanFinder, Spans, call_means
from rltel_lint.project.targets import TargetFinder
from rltel_lint.vocabulary.model import Vocabulary


@dataclass(frozen=True, eq=False)
class Actor:
    """An actor class, for the inventory.

    Attributes:
        cls: The class.
        place: Where it is defined.
        methods: Its methods that are dispatched, by name.
    """

    cls: Class
    place: Place
    methods: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Construction:
    """An actor that is built, and a parameter of its constructor that takes a carrier.

    Attributes:
        at: The call that builds it.
        cls: The actor class.
        constructor: Its constructor.
        parameter: The parameter.
        passed: What the call passes for it; ``None`` when it is left out.
    """

    at: CallSite
    cls: Class
    constructor: Function
    parameter: n.Parameter
    passed: Passed | None


class CarrierFacts:
    """All that is known of carriers; each part is worked out when first asked for.

    Args:
        vocabulary: What the names mean.
        modules: The project's modules.
        resolver: Resolves names.
        finder: Finds calls.
        evaluator: Evaluates strings.
        span_finder: Knows which modules implement the vocabulary.
        spans: All span sites.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        modules: ModuleTable,
        resolver: Resolver,
        finder: CallFinder,
        evaluator: Evaluator,
        span_finder: SpanFinder,
        spans: Spans,
    ) -> None:
        self._vocabulary = vocabulary
        self._modules = self.modules = modules
        self._resolver = resolver
        self._finder = finder
        self._evaluator = evaluator
        self._span_finder = span_finder
        self._spans = spans
        self._callers = self.invocations = Invocations(modules, finder, resolver)
        self._origins = self.origins = Origins(resolver, self._callers)
        self.classes = Actors(modules, resolver, finder)
        self._accepting = Accepting(vocabulary, modules, resolver, finder, evaluator, self.classes)

    def is_library(self, module: Module) -> bool:
        """Whether a module is part of the library that the vocabulary knows."""
        return self._span_finder.implements(f"{module.name}.")

    # -- the receiving half -------------------------------------------------------------

    @cached_property
    def accepting(self) -> tuple[Method, ...]:
        """The methods that accept a carrier, in order of place."""
        return tuple(
            method
            for method in self._accepting.all
            if method.function is None or not self.is_library(method.function.module)
        )

    @cached_property
    def reach(self) -> Reach:
        """What opens spans."""
        return Reach(
            self._vocabulary,
            self._spans,
            self._resolver,
            self._finder,
            self._callers,
            self._is_remote_unit,
        )

    @cached_property
    def opening(self) -> dict[Method, Reached]:
        """The methods of actors, and the tasks, that open a span; no constructors."""
        found: dict[Method, Reached] = {}
        if not self._vocabulary.carriers.keyword or not self._has_remote_code:
            return found
        for function, reached in self.reach.functions.items():
            if function.name == "__init__" or function.outer is not None:
                continue
            if self.is_library(function.module):
                continue
            if function.owner is None:
                if self.classes.is_task(function) or self._is_wrapped_task(function):
                    found[self._accepting.task(function)] = reached
            elif self.classes.is_remote(function.owner):
                found[self._accepting.task(function)] = reached
        return found

    _remote_task = re.compile(r"^@[\w.]*remote\b", re.MULTILINE)

    def _is_remote_unit(self, module: Module, unit: Unit) -> bool:
        if not unit.indented:
            return unit.search(self._remote_task)
        scope = self._finder.scope_of(module, unit)
        return isinstance(scope, Class) and self.classes.is_remote(scope)

    @cached_property
    def _has_remote_code(self) -> bool:
        return any(m.facts.has("ray") for m in self._modules.mentioning("remote"))

    def _is_wrapped_task(self, function: Function) -> bool:
        return function.module.facts.has(f"remote({function.name})")

    # -- the sending half ---------------------------------------------------------------

    @cached_property
    def dispatches(self) -> tuple[Dispatch, ...]:
        """The dispatches that send a carrier or that may run a method of interest."""
        if not self._vocabulary.carriers.keyword:
            return ()
        names: set[str] = set()
        for method in (*self.accepting, *self.opening):
            is_constructor = method.name == "__init__" and method.holder is not None
            names.add(method.holder.name if is_constructor and method.holder else method.name)
        names |= {method.holder.name for method in self.able_constructors if method.holder}
        carried = Carried(self._vocabulary.carriers, self._resolver, self._evaluator, self._origins)
        targets = TargetFinder(
            self._resolver, self._evaluator, self._origins, self.classes, self._accepting
        )
        finder = DispatchFinder(
            self._vocabulary.carriers,
            self._modules,
            self._resolver,
            self._finder,
            self._callers,
            carried,
            targets,
            self.is_library,
        )
        return tuple(finder.find(names))

    @cached_property
    def _by_method(self) -> dict[Method, list[Dispatch]]:
        found: dict[Method, list[Dispatch]] = {}
        for dispatch in self.dispatches:
            for method in dispatch.methods:
                found.setdefault(method, []).append(dispatch)
        return found

    def dispatches_of(self, method: Method) -> list[Dispatch]:
        """Returns the dispatches that may run a method, in order of place."""
        return self._by_method.get(method, [])

    @property
    def has_open_dispatch(self) -> bool:
        """Whether some dispatch may run any method at all."""
        return any(d.targets.is_open and not d.targets.names for d in self.dispatches)

    def may_be_dispatched(self, method: Method) -> bool:
        """Whether a method is dispatched, or may be in a way that is not understood.

        An override stands for what it overrides. A method whose name is written as a string, or
        that is looked up without being called, may be dispatched elsewhere.
        """
        if self.dispatches_of(method):
            return True
        holder = method.holder
        if holder is None or method.name == "__init__":
            return True
        for other in self._by_method:
            if other.name == method.name and other.holder is not None:
                if holder in self._resolver.mro(other.holder):
                    return True
        word = re.escape(method.name)
        mentioned = re.compile(rf"\.{word}\b(?!\s*\()|[\"']{word}[\"']")
        return any(
            module.facts.search(mentioned)
            for module in self._modules.mentioning(method.name)
            if not self.is_library(module)
        )

    @staticmethod
    def is_declaration(method: Method) -> bool:
        """Whether a method only says what others are to implement."""
        return method.function is not None and is_stub(method.function)

    def share_interface(self, one: Method, two: Method) -> bool:
        """Whether two methods implement one that a common base declares."""
        if one.holder is None or two.holder is None:
            return False
        common = set(self._resolver.mro(one.holder)) & set(self._resolver.mro(two.holder))
        return any(one.name in base.member_names for base in common)

    @cached_property
    def in_use(self) -> bool:
        """Whether the project carries its trace anywhere at all."""
        return bool(self.accepting) or any(True for _ in self._uses())

    def _uses(self) -> Iterator[CallSite]:
        carriers = self._vocabulary.carriers
        known = (
            *carriers.keyword_helpers,
            *carriers.makers,
            *carriers.openers,
            *carriers.dispatchers,
        )
        for module, unit in self._finder.mentioning([call.name for call in known]):
            if not self.is_library(module):
                for site in self._finder.sites(module, unit):
                    if call_means(site, known, self._resolver) is not None:
                        yield site

    # -- constructors -------------------------------------------------------------------

    @cached_property
    def able_constructors(self) -> frozenset[Method]:
        """The constructors of actors that take a carrier, but are meant to do without as well."""
        found = set()
        for cls in self.classes.classes:
            if not self.is_library(cls.module):
                method = self._accepting.method(cls, "__init__")
                if method is not None and method.accepts == "unknown" and not method.swallows:
                    found.add(method)
        return frozenset(found)

    def built_unlike_others(self) -> Iterator[tuple[Dispatch, Dispatch]]:
        """Yields actors built without a carrier, and one built with one beside or likewise.

        Where no actor of the kind is sent one, that is how the project wants it.
        """
        built = [
            dispatch
            for dispatch in self.dispatches
            if dispatch.targets.certain
            and dispatch.methods
            and self.able_constructors.issuperset(dispatch.methods)
        ]
        sent = [dispatch for dispatch in built if dispatch.sent == "yes"]
        for dispatch in built:
            if dispatch.sent != "no":
                continue
            alike = [
                other
                for other in sent
                if other.place.path == dispatch.place.path
                or not set(other.methods).isdisjoint(dispatch.methods)
            ]
            if alike:
                yield dispatch, alike[0]

    @cached_property
    def constructions(self) -> tuple[Construction, ...]:
        """Where actors are built whose constructor has a parameter named like a carrier."""
        words = self._vocabulary.carriers.init_names
        if not words or not self._vocabulary.carriers.keyword:
            return ()
        found: list[Construction] = []
        for cls in self.classes.classes:
            if not any(cls.module.facts.has(word) for word in words):
                continue
            constructor = init_of(cls, self._resolver.mro(cls))
            if constructor is not None and not self.is_library(cls.module):
                for parameter in self.carrier_parameters(constructor):
                    found += self._constructions(cls, constructor, parameter)
        return tuple(sorted(found, key=lambda construction: construction.at.place))

    def carrier_parameters(self, constructor: Function) -> Iterator[n.Parameter]:
        """Yields the parameters of a constructor that take a carrier."""
        for parameter in constructor.node.params.items:
            words = parameter.name.strip("_").split("_")
            if parameter.name != self._vocabulary.carriers.keyword:
                if any(word in words for word in self._vocabulary.carriers.init_names):
                    yield parameter

    def _constructions(
        self, cls: Class, constructor: Function, parameter: n.Parameter
    ) -> Iterator[Construction]:
        for site in self._callers.of(cls):
            func = site.call.func
            if isinstance(func, n.Attribute) and func.attr == "remote":
                passed = self._origins.bound(site, constructor).get(parameter.name)
                yield Construction(site, cls, constructor, parameter, passed)

    def takes_carrier_in_constructor(self, method: Method) -> bool:
        """Whether a method's class is given its carrier when it is built, and reopens it."""
        holder = method.holder
        if holder is None:
            return False
        below = [cls for cls in self.classes.classes if holder in self._resolver.mro(cls)]
        for cls in below or [holder]:
            constructor = init_of(cls, self._resolver.mro(cls))
            if constructor is not None and any(self.carrier_parameters(constructor)):
                if self.reach.class_reopens(cls):
                    return True
        return False

    # -- the inventory ------------------------------------------------------------------

    @cached_property
    def actors(self) -> tuple[Actor, ...]:
        """The actor classes, in order of place."""
        dispatched: dict[Class, set[str]] = {}
        for dispatch in self.dispatches:
            for method in dispatch.methods:
                if method.holder is not None:
                    dispatched.setdefault(method.holder, set()).add(method.name)
        found = []
        for cls in self.classes.classes:
            names = {name for base in self._resolver.mro(cls) for name in dispatched.get(base, ())}
            at = n.Name(cls.node.name_at, cls.name)
            found.append(Actor(cls, cls.module.place(at), tuple(sorted(names))))
        return tuple(sorted(found, key=lambda actor: actor.place))
