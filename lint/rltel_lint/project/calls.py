"""Where calls are: which units mention a word, the calls in them, and who calls a function."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from rltel_lint.facts import nodes as n
from rltel_lint.facts.units import Unit
from rltel_lint.findings import Place
from rltel_lint.project.binding import EMPTY, Frame, Passed, bind, bound_already, init_of
from rltel_lint.project.escapes import Escaping, Reference, references
from rltel_lint.project.model import Class, Function, Module, Scope
from rltel_lint.project.modules import ModuleTable
from rltel_lint.project.resolve import (
    Entities,
    Handle,
    Instance,
    Partial,
    RemoteMethod,
    Resolver,
)

Words = tuple[str, ...]

_FROM_PACKAGE = re.compile(r"from\s+\.+\s+import\b")
_OWN_CLASS = re.compile(r"\bcls\b|\b__class__\b|\btype\(")
"""How a class calls itself."""


@dataclass(eq=False)
class CallSite:
    """One call in the project.

    Attributes:
        call: The call.
        scope: Where its names are looked up.
        statement: The statement of ``scope`` that holds it, innermost.
        decorates: The function it decorates, for a decorator in call form.
        with_: The ``with`` statement that it is a context of, as it stands.
    """

    call: n.Call
    scope: Scope
    statement: n.Stmt
    decorates: Function | None = None
    with_: n.With | None = None

    @property
    def place(self) -> Place:
        """Where the call stands."""
        return self.scope.place(self.call)

    @property
    def function(self) -> Function | None:
        """The function around the call."""
        return self.scope if isinstance(self.scope, Function) else None

    @cached_property
    def spelled(self) -> frozenset[str]:
        """The names in the callee: of ``a.b(x).c()`` those are ``a``, ``b`` and ``c``."""
        return frozenset(_spelled(self.call.func))


class CallFinder:
    """Finds calls by the words in their text, so that other code is never lowered.

    Args:
        modules: The project's modules.
        resolver: Resolves what is called.
    """

    def __init__(self, modules: ModuleTable, resolver: Resolver) -> None:
        self._modules = modules
        self._resolver = resolver
        self._sites: dict[Unit, list[CallSite]] = {}
        self._bound: dict[Module, frozenset[str]] = {}
        self._callers: dict[Function | Class, list[CallSite]] = {}
        self._called_as: dict[str, dict[Function | Class, list[CallSite]]] = {}
        self._references: dict[Unit, dict[str, list[Reference]]] = {}
        self._escaping: dict[str, Escaping] = {}

    # -- units --------------------------------------------------------------------------

    def mentioning(self, words: Iterable[str | Words]) -> Iterator[tuple[Module, Unit]]:
        """Yields the units that mention one of the words or a local alias of one.

        Args:
            words: Each a name, or several words that must all stand in the file, the last, a
                name, in the unit.
        """
        for module, unit, _ in self._mentioning(words):
            yield module, unit

    def named(self, words: Iterable[str | Words]) -> Iterator[CallSite]:
        """Yields the calls whose callee is spelled with one of the words or a local alias."""
        for module, unit, here in self._mentioning(words):
            for site in self.sites(module, unit):
                if not here.isdisjoint(site.spelled):
                    yield site

    def _mentioning(
        self, words: Iterable[str | Words]
    ) -> Iterator[tuple[Module, Unit, frozenset[str]]]:
        wanted = [(word,) if isinstance(word, str) else word for word in words]
        for module, here in self._words_by_module(wanted).items():
            for unit in module.facts.units_with_any(here):
                yield module, unit, here

    def _words_by_module(self, wanted: list[Words]) -> dict[Module, frozenset[str]]:
        """The words and their aliases in each module, with those that it imports from others."""
        found: dict[Module, frozenset[str]] = {}
        todo: list[tuple[Module, set[str]]] = []
        starts: dict[Module, set[str]] = {}
        for group in wanted:
            for module in self._modules.mentioning(group[-1]):
                if module.facts.mentions(group):
                    starts.setdefault(module, set()).add(group[-1])
        todo.extend(starts.items())
        originals = {group[-1] for group in wanted}
        spread: set[tuple[str, str]] = set()
        while todo:
            module, words = todo.pop()
            known = found.get(module, frozenset())
            here = known | words | self._aliases_in(module, words - known)
            if here == known:
                continue
            found[module] = here
            todo += self._importers(module, here - known - originals, spread)
        return {module: found[module] for module in self._modules if module in found}

    def _aliases_in(self, module: Module, words: Iterable[str]) -> set[str]:
        here = set(words)
        todo = list(here)
        while todo:
            word = todo.pop()
            if not self._modules.mentions(module, word):
                continue
            for unit in module.facts.units_with(word):
                if unit.names(word):
                    for alias in _aliases(unit, word):
                        if alias not in here:
                            here.add(alias)
                            todo.append(alias)
        return here

    def _importers(
        self, module: Module, aliases: frozenset[str], spread: set[tuple[str, str]]
    ) -> Iterator[tuple[Module, set[str]]]:
        """Modules that may import an alias from the module that makes it.

        Args:
            module: The module.
            aliases: The aliases.
            spread: Where aliases have come from already: an importer is known by the last part
                of a module's name, which many modules may have.
        """
        bound = self._bound_in(module)
        stem = module.name.rpartition(".")[2]
        here = aliases if "*" in bound else aliases & bound
        made = {one for one in here if (stem, one) not in spread}
        spread.update((stem, one) for one in made)
        if not made:
            return
        for other in self._with_stars.union(*map(self._modules.mentioning, made)) - {module}:
            if other in self._from_packages or self._modules.mentions(other, stem):
                every = other in self._with_stars
                yield other, {one for one in made if every or self._modules.mentions(other, one)}

    def _bound_in(self, module: Module) -> frozenset[str]:
        known = self._bound.get(module)
        if known is None:
            units = module.facts.all_units()
            known = self._bound[module] = frozenset().union(*(unit.binds for unit in units))
        return known

    @cached_property
    def _with_stars(self) -> frozenset[Module]:
        """The modules that may import every name of another one."""
        return frozenset(self._modules.mentioning("import *"))

    @cached_property
    def _from_packages(self) -> frozenset[Module]:
        """The modules that import from a package of theirs without naming a module."""
        return frozenset(m for m in self._modules if m.facts.search(_FROM_PACKAGE))

    def sites(self, module: Module, unit: Unit) -> list[CallSite]:
        """Returns all calls in a unit, those in nested functions and classes too."""
        known = self._sites.get(unit)
        if known is None:
            scope = self.scope_of(module, unit)
            known = self._sites[unit] = list(_calls(unit.statements, scope))
        return known

    def scope_of(self, module: Module, unit: Unit) -> Scope:
        """Returns the scope in which the statements of a unit stand."""
        holder = unit.holder
        if holder is not None:
            head = holder.statements
            if head and isinstance(head[0], n.ClassDef):
                return module.cls(head[0], holder)
        return module

    # -- callers ------------------------------------------------------------------------

    def callers(self, target: Function | Class) -> list[CallSite]:
        """Returns the calls that run a function, or construct a class, of the project.

        Calls through Ray (``handle.method.remote()``, ``Actor.remote()``) count; calls on
        objects of unknown class do not.
        """
        known = self._callers.get(target)
        if known is None:
            self._callers[target] = []
            known = self._callers[target] = list(self._find_callers(target))
        return known

    def _find_callers(self, target: Function | Class) -> Iterator[CallSite]:
        if isinstance(target, Function) and target.name == "__init__" and target.owner:
            yield from self._callers_of_init(target, target.owner)
            return
        yield from self._sites_called(target.name).get(target, ())
        if isinstance(target, Class):
            yield from self._own_constructions(target)

    def _sites_called(self, name: str) -> Mapping[Function | Class, list[CallSite]]:
        """The calls spelled with a name, by what they may run."""
        known = self._called_as.get(name)
        if known is None:
            known = self._called_as[name] = {}
            for site in self.named([name]):
                for target in self.called(site):
                    known.setdefault(target, []).append(site)
        return known

    def _own_constructions(self, cls: Class) -> Iterator[CallSite]:
        """Constructions of a class by itself and its relatives: ``cls()``, ``type(self)()``."""
        for holder in {*self._resolver.mro(cls), *self._resolver.subclasses(cls)}:
            for unit in holder.unit.members if holder.unit is not None else ():
                if unit.search(_OWN_CLASS):
                    for site in self.sites(holder.module, unit):
                        named = cls.name in site.spelled
                        if not named and cls in self.called(site):
                            yield site

    def _callers_of_init(self, init: Function, owner: Class) -> Iterator[CallSite]:
        """Constructions of the class and of those that inherit its constructor, and ``super``."""
        yield from self.callers(owner)
        for below in self._resolver.subclasses(owner):
            if init_of(below, self._resolver.mro(below)) is init:
                yield from self.callers(below)
            for method in below.methods_named("__init__"):
                for site in _calls(method.node.body, method):
                    func = site.call.func
                    if isinstance(func, n.Attribute) and func.attr == "__init__":
                        if init in self._resolver.of(func, site.scope):
                            yield site

    def escapes(self, function: Function) -> bool:
        """Whether a function may also be called where no call of it is seen."""
        known = self._escaping.get(function.name)
        if known is None:
            found = self._references_to(function.name)
            known = self._escaping[function.name] = Escaping(found, self._resolver)
        return known.may_be(function)

    def _references_to(self, name: str) -> Iterator[Reference]:
        for module, unit, words in self._mentioning([name]):
            by_word = self._references.get(unit)
            if by_word is None:
                by_word = self._references[unit] = {}
                for reference in references(unit.statements, self.scope_of(module, unit)):
                    by_word.setdefault(reference.word, []).append(reference)
            for word in words & by_word.keys():
                yield from by_word[word]

    # -- targets ------------------------------------------------------------------------

    def called(self, site: CallSite) -> list[Function | Class]:
        """Returns the functions and classes of the project that a call may run, by place."""
        found: set[Function | Class] = set()
        func = site.call.func
        for entity in self._resolver.of(func, site.scope):
            target = entity.target if isinstance(entity, Partial) else entity
            if isinstance(target, (Function, Class)):
                found.add(target)
        if isinstance(func, n.Attribute):
            if func.attr == "remote":
                found |= self._remote(self._resolver.of(func.base, site.scope))
            found.update(self._overriding(func, site.scope))
        if found and is_own_class(func, site.scope):
            for cls in [cls for cls in found if isinstance(cls, Class)]:
                found.update(self._resolver.subclasses(cls))
        return sorted(found, key=lambda one: (one.module.path, one.node.at))

    def is_overridden(self, site: CallSite) -> bool:
        """Whether a call of a method may run that of a subclass instead."""
        func = site.call.func
        return isinstance(func, n.Attribute) and any(self._classes_below(func, site.scope))

    def _overriding(self, func: n.Attribute, scope: Scope) -> Iterator[Function]:
        """The methods of subclasses that a call on ``self`` may run instead."""
        for below in self._classes_below(func, scope):
            yield from below.methods_named(func.attr)

    def _classes_below(self, func: n.Attribute, scope: Scope) -> Iterator[Class]:
        if isinstance(func.base, n.Call):
            return  # ``super().x()``, ``Made().x()``: the class is known
        for entity in self._resolver.of(func.base, scope):
            if isinstance(entity, Instance) and isinstance(entity.cls, Class):
                yield from self._resolver.overriding(entity.cls, func.attr)

    def _remote(self, entities: Entities) -> set[Function | Class]:
        found: set[Function | Class] = set()
        for entity in entities:
            if isinstance(entity, RemoteMethod):
                for member in self._resolver.member(Instance(entity.cls), entity.name):
                    if isinstance(member, Function):
                        found.add(member)
            elif isinstance(entity, (Function, Class)):
                found.add(entity)
            elif isinstance(entity, Handle):
                continue
        return found

    def targets(self, site: CallSite) -> list[Function] | None:
        """Returns the functions that a call may run; ``None`` if it may run something else."""
        entities = self._resolver.of(site.call.func, site.scope)
        inside = [e.target if isinstance(e, Partial) else e for e in entities]
        func = site.call.func
        found = [entity for entity in inside if isinstance(entity, Function)]
        if isinstance(func, n.Attribute):
            found += [m for m in self._overriding(func, site.scope) if m not in found]
        return found if found and len(inside) <= len(found) else None

    # -- arguments ----------------------------------------------------------------------

    def arguments(
        self, site: CallSite, params: n.Parameters, *, skip: int = 0, frame: Frame = EMPTY
    ) -> dict[str, Passed]:
        """Matches the arguments of a call with parameters, those of a ``partial`` first.

        Args:
            site: The call.
            params: The parameters of what is called in the end.
            skip: How many parameters are already bound (``self``).
            frame: The frame that the call itself is looked at in.
        """
        early: dict[str, Passed] = {}
        for entity in self._resolver.of(site.call.func, site.scope):
            if isinstance(entity, Partial):
                early = bind(entity.call, params, entity.scope, None, skip=skip)
                skip += sum(not arg.star and arg.keyword is None for arg in entity.call.args)
                break
        given = bind(site.call, params, site.scope, site.statement, skip=skip, frame=frame)
        return {**early, **given}

    def bound(self, site: CallSite, function: Function, frame: Frame = EMPTY) -> dict[str, Passed]:
        """Returns the arguments that a call passes to a function of the project."""
        func = site.call.func
        for entity in self._resolver.of(func, site.scope):
            if isinstance(entity, Partial):
                func = entity.call.func
        base = func.base if isinstance(func, n.Attribute) else None
        if base is not None and isinstance(func, n.Attribute) and func.attr == "remote":
            skip = 1 if function.owner is not None else 0
        else:
            through = base is not None and any(
                isinstance(entity, Class) for entity in self._resolver.of(base, site.scope)
            )
            skip = bound_already(function, func, through)
        return self.arguments(site, function.node.params, skip=skip, frame=frame)


def is_own_class(func: n.Expr, scope: Scope) -> bool:
    """Whether a class is spelled ``cls`` or ``type(self)``, so that it may be any subclass."""
    if isinstance(func, n.Name):
        return isinstance(scope, Function) and scope.node.params.named(func.id) is not None
    return isinstance(func, n.Call) or (isinstance(func, n.Attribute) and func.attr == "__class__")


def _spelled(func: n.Expr) -> Iterator[str]:
    """Yields the names in a callee: of ``a.b(x).c`` those are ``a``, ``b`` and ``c``."""
    while True:
        if isinstance(func, n.Attribute):
            yield func.attr
            func = func.base
        elif isinstance(func, n.Call):
            yield from (
                arg.value.value
                for arg in func.args
                if isinstance(arg.value, n.Const) and isinstance(arg.value.value, str)
            )
            func = func.func
        elif isinstance(func, n.Subscript):
            func = func.base
        else:
            if isinstance(func, n.Name):
                yield func.id
            return


def _aliases(unit: Unit, word: str) -> Iterator[str]:
    for statement in unit.statements:
        for node in n.walk(statement):
            if isinstance(node, n.Import):
                for original, bound in node.names:
                    if original.rpartition(".")[2] == word and bound != word:
                        yield bound
            elif isinstance(node, n.Assign) and node.value is not None:
                if any(_trailing(value) == word for value in choices(node.value)):
                    yield from filter(None, (_trailing(target) for target in node.targets))


def _trailing(expr: n.Expr) -> str | None:
    if isinstance(expr, n.Call) and expr.args:
        name = (n.dotted(expr.func) or "").rpartition(".")[2]
        if name in {"partial", "partialmethod", "staticmethod", "classmethod"}:
            return _trailing(expr.args[0].value)
    if isinstance(expr, n.Attribute):
        return expr.attr
    return expr.id if isinstance(expr, n.Name) else None


def _calls(statements: tuple[n.Stmt, ...], scope: Scope) -> Iterator[CallSite]:
    for statement in statements:
        if isinstance(statement, n.FunctionDef):
            yield from _calls_of_function(statement, scope)
            continue
        if isinstance(statement, n.ClassDef):
            yield from _own_calls(statement, scope)
            inner = scope.module.cls(statement, scope.module.unit_of_class(statement), scope)
            yield from _calls(statement.body, inner)
            continue
        yield from _own_calls(statement, scope)
        for block in n.blocks(statement):
            yield from _calls(block, scope)


def _calls_of_function(node: n.FunctionDef, scope: Scope) -> Iterator[CallSite]:
    owner = scope if isinstance(scope, Class) else None
    outer = scope if isinstance(scope, Function) else None
    function = scope.module.function(node, owner, outer)
    for decorator in node.decorators:
        for inner in n.walk(decorator):
            if isinstance(inner, n.Call):
                decorated = function if inner is decorator else None
                yield CallSite(inner, scope, node, decorates=decorated)
    for param in node.params.items:
        if param.default is not None:
            for inner in n.walk(param.default):
                if isinstance(inner, n.Call):
                    yield CallSite(inner, scope, node)
    yield from _calls(node.body, function)


def choices(expr: n.Expr) -> Iterator[n.Expr]:
    """Yields the expressions that a value may come from: both sides of a conditional."""
    if isinstance(expr, n.Conditional):
        yield from choices(expr.body)
        yield from choices(expr.orelse)
    elif isinstance(expr, n.BoolOp):
        yield from choices(expr.left)
        yield from choices(expr.right)
    elif isinstance(expr, n.NamedExpr):
        yield from choices(expr.value)
    else:
        yield expr


def _own_calls(statement: n.Stmt, scope: Scope) -> Iterator[CallSite]:
    contexts: set[n.Node] = set()
    if isinstance(statement, n.With):
        for item in statement.items:
            contexts.update(choices(item.context))
    calls = [node for node in n.own_nodes(statement) if isinstance(node, n.Call)]
    for call in sorted(calls, key=lambda node: node.at):
        with_ = statement if call in contexts and isinstance(statement, n.With) else None
        yield CallSite(call, scope, statement, with_=with_)
