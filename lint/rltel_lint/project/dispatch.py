"""Calls into other processes: which methods they may run, and whether a carrier goes with them.

A call is found in the form in which it is written: ``handle.method.remote(...)``, a dispatcher of
the vocabulary, or a method that dispatches by name. When the method depends on a parameter of
the function around, the calls of that function are the dispatches, to any depth.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial

from rltel_lint.facts import nodes as n
from rltel_lint.facts.units import Unit
from rltel_lint.findings import Place
from rltel_lint.project.accepting import Method
from rltel_lint.project.binding import EMPTY, Frame, Passed, bind
from rltel_lint.project.calls import CallFinder, CallSite
from rltel_lint.project.carried import Carried, Sent
from rltel_lint.project.invocations import Invocations
from rltel_lint.project.model import Function, Module
from rltel_lint.project.modules import ModuleTable
from rltel_lint.project.resolve import Resolver
from rltel_lint.project.spans import call_means
from rltel_lint.project.targets import Designation, TargetFinder, Targets
from rltel_lint.vocabulary.model import Carriers, KnownCall

_DEPTH = 6


@dataclass(eq=False)
class Dispatch:
    """One call that runs a method in another process.

    Attributes:
        at: The call, where a carrier would be added.
        via: The project's own helpers between this call and Ray, nearest first.
        sent: Whether a carrier goes with it.
        targets: What it may run.
        by_dispatcher: Whether a function adds the carrier that can do without.
    """

    at: CallSite
    via: tuple[Function, ...]
    sent: Sent
    targets: Targets
    by_dispatcher: bool = False

    @property
    def place(self) -> Place:
        """Where the call stands."""
        return self.at.place

    @property
    def methods(self) -> tuple[Method, ...]:
        """What it may run, as far as it is in the project."""
        return self.targets.methods


@dataclass(frozen=True, eq=False)
class _Form:
    """A dispatch as it is written, before the functions around it are looked at."""

    names: Callable[[Frame], list[Designation]]
    sent: Callable[[Frame], Sent]
    by_dispatcher: bool = False


@dataclass(eq=False)
class DispatchFinder:
    """Finds dispatches.

    Args:
        carriers: What the names mean.
        modules: The project's modules.
        resolver: Resolves names.
        finder: Finds the calls in a unit.
        callers: Finds the callers of a function.
        carried: Tells whether a call sends a carrier.
        target_finder: Tells what a remote method is.
        is_library: Whether a module implements the vocabulary.
    """

    carriers: Carriers
    modules: ModuleTable
    resolver: Resolver
    finder: CallFinder
    callers: Invocations
    carried: Carried
    target_finder: TargetFinder
    is_library: Callable[[Module], bool]
    _central: dict[str, bool] = field(default_factory=dict)
    _wanted: frozenset[str] = frozenset()

    def find(self, names: Iterable[str]) -> list[Dispatch]:
        """Returns the dispatches that send a carrier, and those that may run a method.

        Args:
            names: Names of methods, tasks and, for constructors, classes.
        """
        found: list[Dispatch] = []
        seen: set[n.Call] = set()
        self._wanted = frozenset(names)
        for module, unit in self._units(self._wanted):
            for site in self.finder.sites(module, unit):
                if site.call in seen:
                    continue
                seen.add(site.call)
                form = self._form(site)
                if form is not None:
                    found += self._expanded(site, form, (), EMPTY, 0)
        unique: dict[tuple[n.Call, tuple[Function, ...]], Dispatch] = {}
        for dispatch in found:
            unique.setdefault((dispatch.at.call, dispatch.via), dispatch)
        return sorted(unique.values(), key=lambda dispatch: dispatch.place)

    # -- where to look ------------------------------------------------------------------

    def _units(self, names: frozenset[str]) -> Iterator[tuple[Module, Unit]]:
        pattern = self._pattern(names)
        if pattern is None:
            return
        words = names.union(self._carrier_words, ("remote", "options"))
        words |= {call.name for call in self.carriers.by_name}
        named = self.modules.having(words)
        for module in self.modules:
            if not self._is_near(module) or self.is_library(module):
                continue
            aliases = self._aliases(module)
            here = _either(pattern, aliases)
            for unit in module.facts.units_with_any(aliases.union(named.get(module, ()))):
                if unit.search(here):
                    yield module, unit

    @cached_property
    def _near(self) -> tuple[str, ...]:
        known = (*self.carriers.dispatchers, *self.carriers.by_name)
        return (".remote", *(call.name for call in known))

    def _is_near(self, module: Module) -> bool:
        return any(module.facts.has(word) for word in self._near)

    @cached_property
    def _carrier_words(self) -> tuple[str, ...]:
        known = (*self.carriers.keyword_helpers, *self.carriers.dispatchers)
        return tuple(filter(None, (*(call.name for call in known), self.carriers.keyword)))

    def _pattern(self, names: frozenset[str]) -> re.Pattern[str] | None:
        forms = [rf"\b{re.escape(word)}\b" for word in self._carrier_words]
        carries = any(
            not self.is_library(module)
            for word in self._carrier_words
            for module in self.modules.mentioning(word)
        )
        if not names and not carries:
            return None
        either = "|".join(re.escape(name) for name in sorted(names)) or "(?!)"
        looked_up = rf"\.(?:{either})\b(?!\s*\()"
        written = rf"[\"'](?:{either})[\"']"
        forms += [looked_up, rf"\b(?:{either})\s*\.\s*(?:remote|options)\b", written]
        if carries or self._is_found(re.compile(f"{looked_up}|{written}"), names):
            forms += self._computed()
        return re.compile("|".join(forms))

    def _is_found(self, pattern: re.Pattern[str], names: frozenset[str]) -> bool:
        near = {module for name in names for module in self.modules.mentioning(name)}
        return any(m.facts.search(pattern) for m in near if not self.is_library(m))

    def _computed(self) -> Iterator[str]:
        """The forms in which neither handle nor method need be written where the call is."""
        yield r"getattr\([^()]*\)\s*\.\s*(?:remote|options)\b"
        yield r"(?<![\w.\])@])(?!ray\b)[a-z_]\w*\s*\.\s*(?:remote|options)\s*\("
        by_name = "|".join(re.escape(call.name) for call in self.carriers.by_name)
        if by_name:
            yield rf"\.(?:{by_name})\(\s*(?:method_name\s*=\s*)?[^\"'\s]"

    def _aliases(self, module: Module) -> frozenset[str]:
        known = module.facts.aliases
        return frozenset(alias for word in self._carrier_words for alias in known.get(word, ()))

    # -- what is written ----------------------------------------------------------------

    def _form(self, site: CallSite) -> _Form | None:
        if self._in_implementation(site):
            return None
        call, func = site.call, self._written(site)
        if isinstance(func, n.Attribute) and func.attr == "remote":
            return _Form(
                lambda frame: self._named(func.base, site, frame),
                lambda frame: self.carried.by_call(call, site.scope, site.statement, frame),
            )
        if call_means(site, self.carriers.dispatchers, self.resolver) is not None:
            method = call.positional(0)
            if method is None:
                return None
            return _Form(lambda frame: self._named(method, site, frame), lambda frame: "yes", True)
        known = call_means(site, self.carriers.by_name, self.resolver)
        if known is None and func is not call.func and isinstance(func, n.Attribute):
            known = next((one for one in self.carriers.by_name if one.name == func.attr), None)
        if known is not None and isinstance(func, n.Attribute):
            return self._by_name(site, known, func.base)
        return None

    def _written(self, site: CallSite) -> n.Expr:
        """What is called; for a variable, the method that it was assigned in this scope."""
        func = site.call.func
        if isinstance(func, n.Name):
            bindings, scope = self.resolver.lookup(func.id, site.scope)
            if len(bindings) == 1 and scope is site.scope:
                value = bindings[0].value
                return value if isinstance(value, n.Attribute) else func
        return func

    def _named(self, method: n.Expr, site: CallSite, frame: Frame) -> list[Designation]:
        return self.target_finder.of_method(method, site.scope, site.statement, frame)

    def _by_name(self, site: CallSite, known: KnownCall, group: n.Expr) -> _Form | None:
        params = known.params
        if params is None or not params.items:
            return None
        passed = bind(site.call, params, site.scope, site.statement).get(params.items[0].name)
        if passed is None or passed.expr is None:
            return None
        name = passed.expr

        def sent(frame: Frame) -> Sent:
            if self._sends_itself(known.name):
                return "yes"
            call, scope, at = site.call, site.scope, site.statement
            return self.carried.by_call(call, scope, at, frame, in_dicts=True)

        return _Form(
            lambda frame: self.target_finder.of_name(
                group, name, site.scope, site.statement, frame
            ),
            sent,
        )

    def _in_implementation(self, site: CallSite) -> bool:
        """Whether a call stands inside a method that dispatches by name: its callers count."""
        names = {call.name for call in self.carriers.by_name}
        function = site.function
        while function is not None:
            if function.name in names:
                return True
            function = function.outer
        return False

    def _sends_itself(self, name: str) -> bool:
        """Whether a project's own method that dispatches by name adds a carrier by itself."""
        known = self._central.get(name)
        if known is None:
            self._central[name] = False
            known = self._central[name] = any(
                self._adds(function) for function in self.target_finder.actors.definitions(name)
            )
        return known

    def _adds(self, function: Function) -> bool:
        nothing = {
            param.name: Passed(
                n.Call(function.node.at, n.Name(function.node.at, "_"), ()), function
            )
            for param in function.node.params.items
            if param.kind == "**"
        }
        frame = EMPTY.entering(function, nothing)
        for statement in function.paths:
            for node in n.walk(statement, into_functions=False):
                if isinstance(node, n.Call):
                    site = CallSite(node, function, statement)
                    if call_means(site, self.carriers.dispatchers, self.resolver) is not None:
                        return True
                    if isinstance(node.func, n.Attribute) and node.func.attr == "remote":
                        if self.carried.by_call(node, function, statement, frame) == "yes":
                            return True
        return False

    # -- the project's own helpers ------------------------------------------------------

    def _expanded(
        self, site: CallSite, form: _Form, via: tuple[Function, ...], frame: Frame, depth: int
    ) -> Iterator[Dispatch]:
        function = self._forwarding(site, form, frame) if depth < _DEPTH else None
        callers = self.callers.of(function, loose=True) if function is not None else []
        if function is None or not callers:
            sent, named = form.sent(frame), form.names(frame)
            if sent == "yes" or any(self._is_wanted(one) for one in named):
                targets = self.target_finder.resolve(named)
                yield Dispatch(site, via, sent, targets, form.by_dispatcher)
            return
        origins = self.target_finder.origins
        for call in callers:

            def entered(
                outer: Frame, call: CallSite = call, function: Function = function
            ) -> Frame:
                return outer.entering(function, origins.bound(call, function, outer))

            through = _Form(
                lambda outer, entered=entered: form.names(entered(outer)),  # type: ignore[misc]
                lambda outer, entered=entered: form.sent(entered(outer)),  # type: ignore[misc]
                form.by_dispatcher,
            )
            yield from self._expanded(call, through, (function, *via), EMPTY, depth + 1)

    def _is_wanted(self, designation: Designation) -> bool:
        return designation.is_open or not self._wanted.isdisjoint(designation.names.literals)

    def _forwarding(self, site: CallSite, form: _Form, frame: Frame) -> Function | None:
        """The function around a dispatch whose parameters say which method, or which carrier."""
        function = site.function
        while function is not None:
            used: list[str] = []
            probe = {
                param.name: Passed(None, function, on_use=partial(used.append, ""))
                for param in function.node.params.items
                if not (function.owner is not None and param is function.node.params.items[0])
            }
            probing = frame.entering(function, probe)
            sent, named = form.sent(probing), form.names(probing)
            if used and (sent == "unknown" or any(one.is_open for one in named)):
                return function
            function = function.outer
        return None


def _either(pattern: re.Pattern[str], words: Iterable[str]) -> re.Pattern[str]:
    """What matches where a pattern does, or one of some words stands."""
    more = [rf"\b{word}\b" for word in sorted(words)]
    return re.compile("|".join([pattern.pattern, *more])) if more else pattern
