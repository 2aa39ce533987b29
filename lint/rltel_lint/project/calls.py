"""Where calls are: which units mention a word, the calls in them, and who calls a function."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rltel_lint.facts import nodes as n
from rltel_lint.facts.source import Unit
from rltel_lint.findings import Place
from rltel_lint.project.model import Class, Function, Module, Scope, own_nodes
from rltel_lint.project.modules import ModuleTable
from rltel_lint.project.resolve import Entities, Handle, Instance, RemoteMethod, Resolver

Words = tuple[str, ...]


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
        self._callers: dict[Function | Class, list[CallSite]] = {}

    # -- units --------------------------------------------------------------------------

    def mentioning(self, words: Iterable[str | Words]) -> Iterator[tuple[Module, Unit]]:
        """Yields the units that mention one of the words or a local alias of one.

        Args:
            words: Each a word, or several that must all stand in the file, the last in the unit.
        """
        for module, unit, _ in self._mentioning(words):
            yield module, unit

    def named(self, words: Iterable[str | Words]) -> Iterator[CallSite]:
        """Yields the calls whose callee is spelled with one of the words or a local alias."""
        for module, unit, here in self._mentioning(words):
            for site in self.sites(module, unit):
                if not here.isdisjoint(_spelled(site.call.func)):
                    yield site

    def _mentioning(
        self, words: Iterable[str | Words]
    ) -> Iterator[tuple[Module, Unit, frozenset[str]]]:
        wanted = [(word,) if isinstance(word, str) else word for word in words]
        for module in self._modules:
            text = module.facts.text
            last = [group[-1] for group in wanted if all(word in text for word in group)]
            here = self._with_aliases(module, last)
            if here:
                for unit in module.facts.all_units():
                    if any(word in unit.text for word in here):
                        yield module, unit, here

    @staticmethod
    def _with_aliases(module: Module, words: Iterable[str]) -> frozenset[str]:
        here = set(words)
        todo = list(here)
        while todo:
            word = todo.pop()
            for unit in module.facts.all_units():
                if word in unit.text:
                    for alias in _aliases(unit, word):
                        if alias not in here:
                            here.add(alias)
                            todo.append(alias)
        return frozenset(here)

    def sites(self, module: Module, unit: Unit) -> list[CallSite]:
        """Returns all calls in a unit, those in nested functions and classes too."""
        known = self._sites.get(unit)
        if known is None:
            scope = self.scope_of(module, unit)
            known = self._sites[unit] = list(_calls(unit.statements, scope))
        return known

    def scope_of(self, module: Module, unit: Unit) -> Scope:
        """Returns the scope in which the statements of a unit stand."""
        if unit.indented:
            for holder in module.facts.units:
                if unit in holder.members:
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
            yield from self.callers(target.owner)
            return
        for site in self.named([target.name]):
            if target in self.called(site):
                yield site

    def called(self, site: CallSite) -> set[Function | Class]:
        """Returns the functions and classes of the project that a call may run."""
        found: set[Function | Class] = set()
        func = site.call.func
        for entity in self._resolver.of(func, site.scope):
            if isinstance(entity, (Function, Class)):
                found.add(entity)
        if isinstance(func, n.Attribute) and func.attr == "remote":
            found |= self._remote(self._resolver.of(func.base, site.scope))
        return found

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
                if _trailing(node.value) == word:
                    yield from filter(None, (_trailing(target) for target in node.targets))


def _trailing(expr: n.Expr) -> str | None:
    if isinstance(expr, n.Call) and (n.dotted(expr.func) or "").endswith("partial") and expr.args:
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
    calls = [node for node in own_nodes(statement) if isinstance(node, n.Call)]
    for call in sorted(calls, key=lambda node: node.at):
        with_ = statement if call in contexts and isinstance(statement, n.With) else None
        yield CallSite(call, scope, statement, with_=with_)
