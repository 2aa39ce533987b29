"""Which attributes the code sets on spans."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from rltel_lint.facts import nodes as n
from rltel_lint.findings import Place
from rltel_lint.project.binding import bind
from rltel_lint.project.calls import CallFinder, CallSite
from rltel_lint.project.evaluate import Evaluator
from rltel_lint.project.literals import Literal, literals
from rltel_lint.project.model import Function, Scope
from rltel_lint.project.modules import ModuleTable
from rltel_lint.project.resolve import Resolver
from rltel_lint.project.spans import Spans, call_means
from rltel_lint.project.uses import Uses
from rltel_lint.values import HOLE, Strings
from rltel_lint.vocabulary.model import Vocabulary

_DEPTH = 4


@dataclass(eq=False)
class SetAttribute:
    """One place that sets an attribute on a span.

    Attributes:
        name: What the attribute may be called.
        node: The key as written.
        scope: Where it stands.
        on: The span's name, where it is known.
    """

    name: Strings
    node: n.Expr
    scope: Scope
    on: str = ""

    @property
    def place(self) -> Place:
        """Where the key stands."""
        return self.scope.place(self.node)


class Attributes:
    """The attributes that a project sets on spans.

    Args:
        vocabulary: What the names mean.
        modules: The project's modules.
        resolver: Resolves names.
        finder: Finds calls.
        evaluator: Evaluates keys.
        spans: The span sites.
        uses: Finds statements.
        namespaces: Prefixes of the project's own names.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        modules: ModuleTable,
        resolver: Resolver,
        finder: CallFinder,
        evaluator: Evaluator,
        spans: Spans,
        uses: Uses,
        namespaces: tuple[str, ...],
    ) -> None:
        self._vocabulary = vocabulary.attributes
        self._modules = modules
        self._resolver = resolver
        self._finder = finder
        self._evaluator = evaluator
        self._spans = spans
        self._uses = uses
        self._namespaces = namespaces

    @cached_property
    def set(self) -> list[SetAttribute]:
        """Every key that is known to be set on a span, sorted by place."""
        found: dict[n.Expr, SetAttribute] = {}
        for one in (*self._at_openings(), *self._by_calls()):
            found.setdefault(one.node, one)
        return sorted(found.values(), key=lambda one: one.place)

    def _at_openings(self) -> Iterator[SetAttribute]:
        for site in (*self._spans.sites, *self._spans.inner):
            at, on = site.at, site.name.exact or ""
            for arg in at.call.args:
                if arg.star == "**" or arg.keyword == "attributes":
                    yield from self._keys(arg.value, at.scope, at.statement, on, _DEPTH)

    def _by_calls(self) -> Iterator[SetAttribute]:
        known = self._vocabulary
        words = [*known.set_one, *known.set_many, *(setter.name for setter in known.setters)]
        for site in self._finder.named(words):
            func = site.call.func
            method = func.attr if isinstance(func, n.Attribute) else ""
            first = site.call.positional(0)
            if method in known.set_one:
                key = first or site.call.keyword("key")
                if key is not None:
                    value = self._evaluator.of(key, site.scope, site.statement)
                    yield SetAttribute(value, key, site.scope)
            elif method in known.set_many:
                given = first or site.call.keyword("attributes")
                if given is not None:
                    yield from self._keys(given, site.scope, site.statement, "", _DEPTH)
            else:
                setter = call_means(site, known.setters, self._resolver)
                if setter is not None and setter.params is not None:
                    passed = bind(site.call, setter.params, site.scope, site.statement)
                    mapping = passed.get("attributes")
                    if mapping is not None and mapping.expr is not None:
                        yield from self._keys(mapping.expr, site.scope, site.statement, "", _DEPTH)

    # -- mappings -----------------------------------------------------------------------

    def _keys(
        self, expr: n.Expr, scope: Scope, at: n.Stmt | None, on: str, depth: int
    ) -> Iterator[SetAttribute]:
        if depth == 0:
            return
        if isinstance(expr, n.Dict):
            for key, value in expr.items:
                if key is None:
                    yield from self._keys(value, scope, at, on, depth)
                else:
                    yield SetAttribute(self._evaluator.of(key, scope, at), key, scope, on)
        elif isinstance(expr, n.Comprehension) and expr.key is not None:
            yield SetAttribute(self._evaluator.of(expr.key, scope, at), expr.key, scope, on)
        elif isinstance(expr, (n.Conditional, n.BoolOp, n.Binary)):
            sides = (
                (expr.body, expr.orelse)
                if isinstance(expr, n.Conditional)
                else (expr.left, expr.right)
            )
            for side in sides:
                yield from self._keys(side, scope, at, on, depth)
        elif isinstance(expr, n.Call):
            yield from self._returned(expr, scope, at, on, depth)
        elif isinstance(expr, n.Name):
            yield from self._named(expr, scope, on, depth)
        elif isinstance(expr, n.Attribute):
            for shown, where in self._evaluator.displays(expr, scope, at) or ():
                yield from self._keys(shown, where, None, on, depth - 1)

    def _returned(
        self, call: n.Call, scope: Scope, at: n.Stmt | None, on: str, depth: int
    ) -> Iterator[SetAttribute]:
        if n.dotted(call.func) == "dict":
            for arg in call.args:
                if arg.keyword is None and arg.star != "*":
                    yield from self._keys(arg.value, scope, at, on, depth)
            return
        if at is None:
            return
        for function in self._finder.targets(CallSite(call, scope, at)) or ():
            for statement in function.paths:
                if isinstance(statement, n.Return) and statement.value is not None:
                    yield from self._keys(statement.value, function, statement, on, depth - 1)

    def _named(self, expr: n.Name, scope: Scope, on: str, depth: int) -> Iterator[SetAttribute]:
        bindings, where = self._resolver.lookup(expr.id, scope)
        if where is None:
            return
        for binding in bindings:
            node = binding.node
            if isinstance(node, n.Parameter) and isinstance(where, Function):
                yield from self._passed(node, where, on, depth)
            elif binding.value is not None:
                statement = node if isinstance(node, n.Stmt) else None
                yield from self._keys(binding.value, where, statement, on, depth - 1)
            elif isinstance(node, n.Import):
                for shown, holder in self._evaluator.displays(expr, scope) or ():
                    yield from self._keys(shown, holder, None, on, depth - 1)
        if isinstance(where, Function):
            yield from self._stored(expr.id, where, on, depth)

    def _passed(
        self, param: n.Parameter, function: Function, on: str, depth: int
    ) -> Iterator[SetAttribute]:
        for site in self._finder.callers(function) if param.kind != "*" else ():
            if param.kind == "**":
                for arg in site.call.args:
                    if arg.star == "**":
                        yield from self._keys(arg.value, site.scope, site.statement, on, depth - 1)
                continue
            passed = self._evaluator.bound(site, function).get(param.name)
            if passed is not None and passed.expr is not None:
                yield from self._keys(passed.expr, passed.scope, passed.statement, on, depth - 1)

    def _stored(self, name: str, function: Function, on: str, depth: int) -> Iterator[SetAttribute]:
        """What is put into a local mapping after it was made."""
        for statement in function.paths:
            if isinstance(statement, n.Assign):
                for target in statement.targets:
                    if isinstance(target, n.Subscript) and n.dotted(target.base) == name:
                        value = self._evaluator.of(target.index, function, statement)
                        yield SetAttribute(value, target.index, function, on)
            for node in n.own_nodes(statement):
                if isinstance(node, n.Call) and n.dotted(node.func) == f"{name}.update":
                    for arg in node.args:
                        if arg.keyword is None and not arg.star:
                            yield from self._keys(arg.value, function, statement, on, depth - 1)

    # -- what may be set ----------------------------------------------------------------

    @cached_property
    def literals(self) -> list[Literal]:
        """The literals in the namespace, wherever they stand."""
        return list(literals(self._modules, self._uses, self._namespaces))

    @cached_property
    def constants(self) -> dict[str, tuple[str, Place]]:
        """Module-level constants that hold a name of the namespace: name and place by value."""
        found: dict[str, tuple[str, Place]] = {}
        for literal in self.literals:
            name = _constant(literal)
            if name:
                found.setdefault(literal.value, (name, literal.place))
        return found

    def may_be_set(self, name: str) -> bool:
        """Whether an attribute is set on a span, or might be as far as can be seen."""
        if name in self._vocabulary.stamped:
            return True
        for one in self.set:
            if any(_fits(template, name) for template in one.name.templates):
                return True
        for literal in self.literals:
            if literal.value == name and not literal.inert:
                constant = _constant(literal)
                if not constant or self._used(constant):
                    return True
        return self._built(name)

    def _used(self, constant: str) -> bool:
        """Whether a constant is used beside its definition, imports and ``__all__``."""
        for module, unit in self._modules.units_mentioning(constant):
            for _, statement in self._uses.statements(module, unit):
                for node in n.own_nodes(statement):
                    named = isinstance(node, n.Name) and node.id == constant
                    named |= isinstance(node, n.Attribute) and node.attr == constant
                    if named and not self._uses.is_target(node, statement):
                        return True
        return False

    def _built(self, name: str) -> bool:
        """Whether some text may be put together to the name: ``f"rl.queue.{what}"``."""
        for module in self._modules:
            for prefix in self._namespaces:
                if not module.facts.has(prefix):
                    continue
                opened = re.compile(rf"[\"']({re.escape(prefix)}[\w.]*)[{{\"'%]")
                for found in module.facts.findall(opened):
                    # ``f"rl.{x}"`` may be anything, such as the name of a span.
                    if found not in {name, prefix} and found.endswith("."):
                        if name.startswith(found):
                            return True
        return False


def _constant(literal: Literal) -> str:
    """The module-level name that a literal is the whole value of; empty if it is none."""
    statement = literal.statement
    if isinstance(literal.scope, Function) or not isinstance(statement, n.Assign):
        return ""
    if statement.value is not literal.node or len(statement.targets) != 1:
        return ""
    target = statement.targets[0]
    return target.id if isinstance(target, n.Name) else ""


def _fits(template: str, name: str) -> bool:
    if HOLE not in template:
        return template == name
    if not template.strip(HOLE):
        return False  # says nothing
    pattern = ".*".join(map(re.escape, template.split(HOLE)))
    return re.fullmatch(pattern, name) is not None
