"""The receiving half of a carrier: which methods take one, and how."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from rltel_lint.facts import nodes as n
from rltel_lint.facts.units import Unit
from rltel_lint.findings import Place
from rltel_lint.project.actors import Actors
from rltel_lint.project.calls import CallFinder
from rltel_lint.project.carried import KEYWORD_CONSTANT, is_keyword
from rltel_lint.project.evaluate import Evaluator
from rltel_lint.project.model import Binding, Class, Function, Module, Scope
from rltel_lint.project.modules import ModuleTable
from rltel_lint.project.resolve import Resolver
from rltel_lint.project.spans import expr_means
from rltel_lint.vocabulary.model import Carriers, KnownCall, Vocabulary

Accepts = Literal["yes", "no", "unknown"]


@dataclass(frozen=True, eq=False)
class Method:
    """A method, constructor or task that can be called in another process.

    Attributes:
        name: Its name.
        holder: The class whose body binds it; ``None`` for a task.
        function: The code that runs; ``None`` when it is made in a way that is not followed.
        accepts: Whether it takes a carrier.
        place: Where it is defined.
        swallows: Whether it is unknown only because ``**kwargs`` would take the carrier too.
    """

    name: str
    holder: Class | None
    function: Function | None
    accepts: Accepts
    place: Place
    swallows: bool = False

    @property
    def label(self) -> str:
        """The name for messages: ``Class.method`` or ``function``."""
        return f"{self.holder.name}.{self.name}" if self.holder is not None else self.name


class Accepting:
    """Tells which methods accept a carrier.

    Args:
        vocabulary: What the names mean.
        modules: The project's modules.
        resolver: Resolves names.
        finder: Finds what mentions a word.
        evaluator: Evaluates keys.
        actors: The actor classes.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        modules: ModuleTable,
        resolver: Resolver,
        finder: CallFinder,
        evaluator: Evaluator,
        actors: Actors,
    ) -> None:
        self._vocabulary = vocabulary
        self._carriers: Carriers = vocabulary.carriers
        self._modules = modules
        self._resolver = resolver
        self._finder = finder
        self._evaluator = evaluator
        self._actors = actors
        self._methods: dict[tuple[Class | None, str], Method | None] = {}
        self._tasks: dict[Function, Method] = {}

    # -- one method ---------------------------------------------------------------------

    def method(self, cls: Class, name: str) -> Method | None:
        """Returns the method that runs on an object of a class, ``None`` if it is not known."""
        for holder in self._resolver.mro(cls):
            bindings = holder.bindings_of(name)
            if bindings:
                return self._held(holder, name, bindings)
        return None

    def task(self, function: Function) -> Method:
        """Returns a function, or the method that a function is, as something to be dispatched."""
        if function.owner is not None and function.outer is None:
            known = self.method(function.owner, function.name)
            if known is not None:
                return known
        found = self._tasks.get(function)
        if found is None:
            accepts = self._of_function(function)
            swallows = accepts == "unknown" and _is_open(function)
            place = _place(function)
            found = self._tasks[function] = Method(
                function.name, None, function, accepts, place, swallows
            )
        return found

    def _held(self, holder: Class, name: str, bindings: list[Binding]) -> Method | None:
        key = (holder, name)
        if key not in self._methods:
            self._methods[key] = self._made(holder, name, bindings)
        return self._methods[key]

    def _made(self, holder: Class, name: str, bindings: list[Binding]) -> Method | None:
        functions = [
            holder.module.function(binding.node, owner=holder)
            for binding in bindings
            if isinstance(binding.node, n.FunctionDef) and not _is_overload(binding.node)
        ]
        wrapped = [b for b in bindings if b.value is not None]
        answers = {self._of_function(function) for function in functions[-1:]}
        if len(functions) > 1:
            answers |= {self._of_function(function) for function in functions}
        function = functions[-1] if functions else None
        for binding in wrapped:
            accepts, inner = self._of_value(binding.value, holder)
            function = function or inner
            answers = {accepts} if accepts == "yes" else answers | {accepts}
        if (holder, name) in self._assigned:
            answers = {"yes"}
        if not answers:
            return None
        accepts = next(iter(answers)) if len(answers) == 1 else "unknown"
        if accepts == "no" and self._rewritten(holder):
            accepts = "unknown"
        place = _place(function) if function in functions and function else None
        if place is None:
            place = holder.place(bindings[-1].node)
        swallows = accepts == "unknown" and answers == {"unknown"} and _is_open(function)
        return Method(name, holder, function, accepts, place, swallows)

    def _of_value(self, value: n.Expr | None, scope: Scope) -> tuple[Accepts, Function | None]:
        """What ``name = value`` in a class body makes of a method."""
        if isinstance(value, n.Call) and value.args:
            inner = [
                entity
                for entity in self._resolver.of(value.args[0].value, scope)
                if isinstance(entity, Function)
            ]
            if self._is_accepting(value.func, scope):
                return "yes", inner[0] if inner else None
            return "unknown", inner[0] if inner else None
        if value is not None:
            for entity in self._resolver.of(value, scope):
                if isinstance(entity, Function):
                    return self._of_function(entity), entity
        return "unknown", None

    def _of_function(self, function: Function) -> Accepts:
        node, keyword = function.node, self._carriers.keyword
        scope = function.parent or function.module
        is_constructor = node.name == "__init__"
        if node.params.named(keyword) is not None:
            return "yes"
        answer: Accepts = "no"
        for decorator in node.decorators:
            if self._is_accepting(decorator, scope):
                return "yes"
            if self._handles_carriers(decorator, scope):
                answer = "yes"
            elif is_constructor and self._opens_span(decorator, scope):
                answer = "unknown"  # it takes a carrier, but is meant to do without
        if answer == "yes":
            return "unknown" if is_constructor else "yes"
        if answer == "no" and any(param.kind == "**" for param in node.params.items):
            return "yes" if self._mentions_keyword(function) else "unknown"
        return answer

    def _is_accepting(self, decorator: n.Expr, scope: Scope) -> bool:
        return self._means(decorator, scope, self._carriers.accepting)

    def _means(self, decorator: n.Expr, scope: Scope, known: tuple[KnownCall, ...]) -> bool:
        func = decorator
        while isinstance(func, n.Call):
            func = func.func
        return expr_means(func, scope, known, self._resolver) is not None

    def _handles_carriers(self, decorator: n.Expr, scope: Scope) -> bool:
        """Whether a decorator of the project deals with carriers itself."""
        func = decorator
        while isinstance(func, n.Call):
            func = func.func
        return any(
            isinstance(entity, Function) and self.mentions_carriers(entity)
            for entity in self._resolver.of(func, scope)
        )

    def _opens_span(self, decorator: n.Expr, scope: Scope) -> bool:
        helpers = tuple(
            KnownCall(helper.name, helper.modules)
            for helper in self._vocabulary.helpers
            if helper.use == "decorator"
        )
        if self._means(decorator, scope, helpers):
            return True
        func = decorator.func if isinstance(decorator, n.Call) else decorator
        return any(
            self._means(call.func, entity, helpers)
            for entity in self._resolver.of(func, scope)
            if isinstance(entity, Function)
            for statement in entity.paths
            for call in n.own_nodes(statement)
            if isinstance(call, n.Call)
        )

    def mentions_carriers(self, function: Function) -> bool:
        """Whether the text of a function names a carrier's keyword, opener or decorator."""
        lines = function.module.facts.excerpt(function.node.at[0], function.node.at[2])
        return self._words.search("\n".join(lines)) is not None

    @cached_property
    def _keyword_is_spelled(self) -> bool:
        """Whether any file of the project has the keyword, or its constant, in its text."""
        spelled = {self._carriers.keyword, KEYWORD_CONSTANT}
        return any(self._modules.mentioning(word) for word in spelled)

    def _mentions_keyword(self, function: Function) -> bool:
        if not self._keyword_is_spelled:
            return False
        for statement in function.paths:
            for node in n.own_nodes(statement):
                if isinstance(node, n.Expr) and self._is_keyword(node, function):
                    return True
        return False

    def _is_keyword(self, node: n.Expr, scope: Scope) -> bool:
        if isinstance(node, n.Const):
            return node.value == self._carriers.keyword
        return isinstance(node, (n.Name, n.Attribute)) and is_keyword(
            node, scope, self._carriers.keyword, self._evaluator
        )

    @cached_property
    def _words(self) -> re.Pattern[str]:
        carriers = self._carriers
        names = {call.name for call in (*carriers.accepting, *carriers.openers)}
        names |= set(_constants(carriers))
        return re.compile("|".join(rf"\b{re.escape(name)}\b" for name in sorted(names) if name))

    def _rewritten(self, cls: Class) -> bool:
        """Whether a class decorator or a loop over its methods may have changed them."""
        for decorator in cls.node.decorators:
            if self._handles_carriers(decorator, cls.parent or cls.module):
                return True
        return bool(self._modules.mentioning(f"setattr({cls.name},"))

    # -- all of them --------------------------------------------------------------------

    @cached_property
    def all(self) -> tuple[Method, ...]:
        """The methods and tasks of the project that accept a carrier, in order of place."""
        found: dict[Method, None] = {}
        for module, unit in self._candidates():
            for method in self._methods_in(module, unit):
                if method.accepts == "yes":
                    found[method] = None
        for cls, name in self._assigned:
            method_ = self.method(cls, name)
            if method_ is not None:
                found[method_] = None
        return tuple(sorted(found, key=lambda method: method.place))

    def _methods_in(self, module: Module, unit: Unit) -> Iterator[Method]:
        for function in self._actors.functions_in(module, unit):
            if is_stub_declaration(function):
                continue
            if function.owner is not None:
                method = self.method(function.owner, function.name)
                if method is not None and method.function is function:
                    if self._declared(function) or self._actors.is_remote(function.owner):
                        yield method
            elif self._declared(function) or self._actors.is_task(function):
                yield self.task(function)
        scope = self._finder.scope_of(module, unit)
        if isinstance(scope, Class):
            for statement in unit.statements:
                if isinstance(statement, n.Assign):
                    for target in statement.targets:
                        if isinstance(target, n.Name):
                            method = self.method(scope, target.id)
                            if method is not None and method.accepts == "yes":
                                yield method

    def _declared(self, function: Function) -> bool:
        """Whether it accepts by its decorator: a mere parameter is also in every helper."""
        scope = function.parent or function.module
        return any(
            self._is_accepting(decorator, scope) or self._handles_carriers(decorator, scope)
            for decorator in function.node.decorators
        )

    def _candidates(self) -> Iterator[tuple[Module, Unit]]:
        if not self._carriers.keyword:
            return
        words = [call.name for call in self._carriers.accepting]
        words += [name for name in self._own_decorators if name not in words]
        for module, unit in self._finder.mentioning([*words, *_constants(self._carriers)]):
            if not self._is_library(module):
                yield module, unit

    def _is_library(self, module: Module) -> bool:
        dotted = f"{module.name}."
        return any(
            dotted.startswith(f"{prefix}.")
            for call in self._carriers.accepting
            for prefix in call.modules
        )

    @cached_property
    def _own_decorators(self) -> tuple[str, ...]:
        """Decorators of the project that build on an accepting one, or do its work."""
        words = [*(call.name for call in self._carriers.accepting), *_constants(self._carriers)]
        found: dict[str, None] = {}
        for module, unit in self._finder.mentioning(words):
            if self._is_library(module):
                continue
            for function in self._actors.functions_in(module, unit):
                outermost = function
                while outermost.outer is not None:
                    outermost = outermost.outer
                if outermost.owner is None and self._accepts_inside(function):
                    found[outermost.name] = None
        return tuple(found)

    def _accepts_inside(self, function: Function) -> bool:
        """Whether a function makes a method accept, or is the wrapper that takes the carrier."""
        if function.outer is not None and self._of_function(function) == "yes":
            return True
        return any(
            isinstance(node, n.Call) and self._is_accepting(node.func, function)
            for node in n.walk(function.node)
        )

    @cached_property
    def _assigned(self) -> frozenset[tuple[Class, str]]:
        """``Class.method = accepts_trace_context(Class.method)``, also by ``setattr``."""
        found: set[tuple[Class, str]] = set()
        for module, unit in self._finder.mentioning([c.name for c in self._carriers.accepting]):
            scope = self._finder.scope_of(module, unit)
            for statement in unit.statements:
                for node in n.walk(statement):
                    found |= set(self._assignment(node, scope))
        return frozenset(found)

    def _assignment(self, node: n.Node, scope: Scope) -> Iterator[tuple[Class, str]]:
        if isinstance(node, n.Assign) and isinstance(node.value, n.Call):
            if self._is_accepting(node.value.func, scope):
                for target in node.targets:
                    if isinstance(target, n.Attribute):
                        yield from self._class_attribute(target.base, target.attr, scope)
        elif isinstance(node, n.Call) and n.dotted(node.func) == "setattr":
            owner, name, value = (node.positional(place) for place in range(3))
            if owner and isinstance(name, n.Const) and isinstance(value, n.Call):
                if self._is_accepting(value.func, scope):
                    yield from self._class_attribute(owner, str(name.value), scope)

    def _class_attribute(
        self, base: n.Expr, attr: str, scope: Scope
    ) -> Iterator[tuple[Class, str]]:
        for entity in self._resolver.of(base, scope):
            if isinstance(entity, Class):
                yield entity, attr


def _constants(carriers: Carriers) -> tuple[str, ...]:
    """The keyword, as a string and as the constant that stands for it."""
    return (carriers.keyword, KEYWORD_CONSTANT)


def is_stub_declaration(function: Function) -> bool:
    """Whether a definition is only for type checkers."""
    return _is_overload(function.node)


def _is_overload(node: n.FunctionDef) -> bool:
    return any(
        (n.dotted(decorator) or "").rpartition(".")[2] == "overload"
        for decorator in node.decorators
    )


def _is_open(function: Function | None) -> bool:
    return function is not None and any(p.kind == "**" for p in function.node.params.items)


def _place(function: Function) -> Place:
    node = function.node
    return function.place(n.Name(node.name_at, node.name))
