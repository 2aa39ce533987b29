"""What a string expression may evaluate to, across variables, modules, calls and callers."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator

from rltel_lint.facts import nodes as n
from rltel_lint.project import texts
from rltel_lint.project.binding import EMPTY, Frame, Passed, init_of
from rltel_lint.project.calls import CallFinder, CallSite, is_own_class
from rltel_lint.project.containers import Containers, Display
from rltel_lint.project.model import Binding, Class, Function, Module, Scope
from rltel_lint.project.reaching import leaves, reaching
from rltel_lint.project.resolve import External, Instance, Resolver, with_nested
from rltel_lint.project.shadows import Shadows
from rltel_lint.values import NEVER, Strings, concat, literal, union, unknown

_DEPTH = 24
_STEPS = 4_000
"""So many expressions are looked at for one answer; more is not worth the time."""
_KEEPS_RESULT = {
    *("staticmethod", "classmethod", "property", "cached_property", "cache", "lru_cache"),
    *("override", "abstractmethod", "final", "overload", "no_type_check", "deprecated"),
}


class Evaluator:
    """Evaluates string expressions abstractly; it never claims what evaluation contradicts.

    Args:
        resolver: Resolves names and members.
        finder: Finds the callers that bind parameters.
        constant: Looks up a string constant of an outside library by its dotted name.
    """

    def __init__(
        self, resolver: Resolver, finder: CallFinder, constant: Callable[[str], str | None]
    ) -> None:
        self._resolver = resolver
        self._finder = finder
        self._constant = constant
        self._containers = Containers(resolver, self)
        self._depth = 0
        self._steps = 0
        self._active: set[Hashable] = set()
        self.shadows = Shadows()

    def of(
        self,
        expr: n.Expr,
        scope: Scope,
        statement: n.Stmt | None = None,
        frame: Frame = EMPTY,
        *,
        formatted: bool = False,
    ) -> Strings:
        """Evaluates an expression.

        Args:
            expr: The expression.
            scope: Where its names are looked up.
            statement: The statement of a function that holds it: with it, a local name means
                only the assignments that reach there.
            frame: Arguments of the functions that are looked at from a call.
            formatted: Whether the value is put into a string (``str()``, an f-string).

        Returns:
            What the value may be when it is a string; a hole for anything else.
        """
        return self._guarded(
            (id(expr), id(frame)), lambda: self._of(expr, scope, statement, frame, formatted)
        )

    def elements(
        self,
        expr: n.Expr,
        scope: Scope,
        at: n.Stmt | None = None,
        frame: Frame = EMPTY,
        *,
        formatted: bool = False,
    ) -> list[Strings] | None:
        """Evaluates the elements of a container; see :meth:`Containers.elements`."""
        return self._containers.elements(expr, scope, at, frame, formatted=formatted)

    def displays(
        self, expr: n.Expr, scope: Scope, at: n.Stmt | None = None
    ) -> list[Display] | None:
        """Returns the literal containers of an expression; see :meth:`Containers.displays`."""
        return self._containers.displays(expr, scope, at)

    def passed(self, value: Passed, *, formatted: bool = False) -> Strings:
        """Evaluates an argument where it is passed."""
        if value.on_use is not None:
            value.on_use()
        if value.expr is None:
            return unknown(value.reason)
        return self.of(value.expr, value.scope, value.statement, value.frame, formatted=formatted)

    def _guarded(self, key: Hashable, compute: Callable[[], Strings]) -> Strings:
        """Computes unless that is being done already, or has taken too long."""
        if self._depth == 0:
            self._steps = 0
        self._steps += 1
        if self._depth > _DEPTH or self._steps > _STEPS or key in self._active:
            return unknown("it is computed in a loop")
        self._depth += 1
        self._active.add(key)
        try:
            return compute()
        finally:
            self._depth -= 1
            self._active.discard(key)

    def _of(
        self, expr: n.Expr, scope: Scope, at: n.Stmt | None, frame: Frame, formatted: bool
    ) -> Strings:
        def inner(part: n.Expr, *, in_text: bool = False) -> Strings:
            return self.of(part, scope, at, frame, formatted=in_text)

        if isinstance(expr, n.Const):
            return texts.constant(expr, formatted=formatted)
        if isinstance(expr, n.FString):
            return texts.fstring(expr, inner)
        if isinstance(expr, n.Name):
            shadow = self.shadows.binding(expr, at) if at is not None else None
            if shadow is not None:
                return self._shadowed(shadow, scope, at, frame, formatted)
            return self._name(expr.id, scope, at, frame, formatted)
        if isinstance(expr, n.Attribute):
            return self._attribute(expr, scope, frame, formatted)
        if isinstance(expr, n.Binary) and expr.op == "+":
            return inner(expr.left) + inner(expr.right)
        if isinstance(expr, n.Binary) and expr.op == "%":
            return texts.percent(expr, inner)
        if isinstance(expr, n.Conditional):
            sides = (expr.body, expr.orelse)
            return union(inner(side, in_text=formatted) for side in sides)
        if isinstance(expr, n.BoolOp):
            return texts.bool_op(expr, inner, formatted=formatted)
        if isinstance(expr, (n.NamedExpr, n.Await)):
            return inner(expr.value, in_text=formatted)
        if isinstance(expr, n.Subscript):
            found = self._containers.lookup(
                expr.base, expr.index, scope, at, frame, formatted=formatted
            )
            return found or unknown("it is looked up in something unknown")
        if isinstance(expr, n.Call):
            return self._call(expr, scope, at, frame, formatted)
        return unknown("it is computed")

    # -- names --------------------------------------------------------------------------

    def _shadowed(
        self, binding: Binding, scope: Scope, at: n.Stmt | None, frame: Frame, formatted: bool
    ) -> Strings:
        if binding.element_of is None:
            return unknown("it is bound by a lambda or a comprehension")
        return self._element(binding.element_of, scope, at, frame, formatted)

    def _element(
        self, iterable: n.Expr, scope: Scope, at: n.Stmt | None, frame: Frame, formatted: bool
    ) -> Strings:
        parts = self.elements(iterable, scope, at, frame, formatted=formatted)
        return unknown("it loops over something unknown") if parts is None else union(parts)

    def _name(
        self, name: str, scope: Scope, at: n.Stmt | None, frame: Frame, formatted: bool
    ) -> Strings:
        bindings, where = self._resolver.lookup(name, scope)
        if where is None:
            return unknown(f"{name} is not defined in the project")
        local = isinstance(where, Function) and where is scope and at is not None
        if self._rebound(name, where):
            return unknown(f"{name} is rebound elsewhere")
        if isinstance(where, Function) and at is not None and local:
            bindings = reaching(where, name, at)
        found = where
        return self._guarded(
            (name, id(where), id(at), id(frame)),
            lambda: union(
                self._bound(binding, name, found, frame, formatted, local=local)
                for binding in bindings
            ),
        )

    def _bound(
        self,
        binding: Binding,
        name: str,
        where: Scope,
        frame: Frame,
        formatted: bool,
        *,
        local: bool,
    ) -> Strings:
        node = binding.node
        at = node if isinstance(node, n.Stmt) else None
        if isinstance(node, n.Parameter):
            return self._parameter(node, where, frame, formatted)
        if isinstance(node, n.WithItem):
            return unknown("it is bound by with")
        if binding.value is not None:
            return self.of(binding.value, where, at, frame, formatted=formatted)
        if binding.element_of is not None:
            return self._element(binding.element_of, where, at, frame, formatted)
        if isinstance(node, n.AugAssign) and node.op == "+" and local:
            before = self._name(name, where, node, frame, False)
            return before + self.of(node.value, where, node, frame)
        if isinstance(node, n.Import):
            return self._imported(node, name, where, formatted)
        if isinstance(node, n.Assign) and node.value is None and not isinstance(where, Class):
            return NEVER  # ``name: str`` alone binds nothing
        return unknown(f"{name} is computed")

    def _imported(self, node: n.Import, name: str, where: Scope, formatted: bool) -> Strings:
        source = self._resolver.imported_module(node, where.module)
        original = next((first for first, bound in node.names if bound == name), name)
        if isinstance(source, Module):
            return self._name(original, source, None, EMPTY, formatted)
        if isinstance(source, External):
            return self._external(f"{source.name}.{original}")
        return unknown(f"{name} is imported from outside")

    def _external(self, dotted: str) -> Strings:
        value = self._constant(dotted)
        return literal(value) if value is not None else unknown(f"{dotted} is not in the project")

    @staticmethod
    def _rebound(name: str, where: Scope) -> bool:
        """Whether another function assigns to a variable of this scope."""
        word = "nonlocal" if isinstance(where, Function) else "global"
        facts = where.module.facts
        return facts.has(f"{word} ") and facts.search(
            re.compile(rf"\b{word}\b(?:[^\n#\\]|\\\n)*\b{re.escape(name)}\b")
        )

    # -- parameters ---------------------------------------------------------------------

    def _parameter(self, node: n.Parameter, where: Scope, frame: Frame, formatted: bool) -> Strings:
        if not isinstance(where, Function) or node.kind in {"*", "**"}:
            return unknown(f"{node.name} takes any arguments")
        given = frame.of(where)
        if given is not None:
            return self._given(given.get(node.name), node, where, formatted)
        return self.from_callers(where, node, formatted=formatted)

    def _given(
        self, value: Passed | None, node: n.Parameter, function: Function, formatted: bool
    ) -> Strings:
        if value is not None:
            return self.passed(value, formatted=formatted)
        if node.default is None:
            return unknown(f"{node.name} is not passed")
        return self.of(node.default, function.parent or function.module, formatted=formatted)

    def from_callers(
        self, function: Function, node: n.Parameter, *, formatted: bool = False
    ) -> Strings:
        """Evaluates a parameter over all calls of its function.

        Without any caller in the project it may be anything (and its default).
        """
        return self._guarded(
            (id(node), id(function)), lambda: self._from_callers(function, node, formatted)
        )

    def _from_callers(self, function: Function, node: n.Parameter, formatted: bool) -> Strings:
        sites = self.callers(function)
        found = [
            self._given(self.bound(site, function).get(node.name), node, function, formatted)
            for site in sites
        ]
        if not sites:
            if node.default is not None:
                found.append(self._given(None, node, function, formatted))
            found.append(unknown(f"{function.label} has no caller that passes {node.name}"))
        elif self._finder.escapes(function):
            found.append(unknown(f"{function.label} may also be called where no call is seen"))
        return union(found)

    def callers(self, function: Function) -> list[CallSite]:
        """Returns the calls that run a function of the project."""
        return self._finder.callers(function)

    def bound(self, site: CallSite, function: Function, frame: Frame = EMPTY) -> dict[str, Passed]:
        """Returns the arguments that a call passes to a function of the project."""
        return self._finder.bound(site, function, frame)

    # -- attributes ---------------------------------------------------------------------

    def _attribute(self, expr: n.Attribute, scope: Scope, frame: Frame, formatted: bool) -> Strings:
        if expr.attr in {"value", "_value_"}:
            member = self._enum_member(expr.base, scope, formatted)
            if member is not None:
                return member
        bases = self._resolver.of(expr.base, scope)
        found = [self.attribute_of(base, expr.attr, frame, formatted) for base in bases]
        if is_own_class(expr.base, scope):
            for base in bases:
                if isinstance(base, Class):
                    found += [
                        self._class_attribute(below, expr.attr, formatted)
                        for below in self._resolver.overriding(base, expr.attr)
                    ]
        return union(found) if found else unknown(f"the class of .{expr.attr} is not known")

    def attribute_of(
        self, base: object, attr: str, frame: Frame = EMPTY, formatted: bool = False
    ) -> Strings:
        """Evaluates ``base.attr`` for what ``base`` was found to be."""
        if isinstance(base, External):
            return self._external(f"{base.name}.{attr}")
        if isinstance(base, Module):
            return self._name(attr, base, None, EMPTY, formatted)
        if isinstance(base, Class):
            return self._class_attribute(base, attr, formatted)
        if isinstance(base, Instance) and isinstance(base.cls, Class):
            return self._instance_attribute(base.cls, attr, frame, formatted)
        return unknown(f".{attr} is not known")

    def _class_attribute(self, cls: Class, attr: str, formatted: bool) -> Strings:
        for holder in self._resolver.mro(cls):
            bindings = holder.bindings_of(attr)
            if bindings:
                if formatted and self._is_enum(cls):
                    return unknown("an enum member is formatted")
                return union(
                    self._bound(binding, attr, holder, EMPTY, formatted, local=False)
                    for binding in bindings
                )
        found = [self._external(f"{base}.{attr}") for base in self._resolver.external_bases(cls)]
        return union(found) if found else unknown(f"{cls.name} has no {attr}")

    def _instance_attribute(self, cls: Class, attr: str, frame: Frame, formatted: bool) -> Strings:
        found: list[Strings] = []
        for owner in (cls, *self._resolver.subclasses(cls)):
            found += [
                self.of(statement.value, function, statement, frame, formatted=formatted)
                for function, statement in self._resolver.stored(owner, attr)
                if statement.value is not None
            ]
        holders = [holder for holder in self._resolver.mro(cls) if holder.bindings_of(attr)][:1]
        for holder in (*holders, *self._resolver.overriding(cls, attr)):
            found += self._declared_attribute(holder, attr, formatted)
        return union(found) if found else unknown(f"self.{attr} is set elsewhere")

    def _declared_attribute(self, holder: Class, attr: str, formatted: bool) -> Iterator[Strings]:
        for binding in holder.bindings_of(attr):
            if isinstance(binding.node, n.FunctionDef):
                method = holder.module.function(binding.node, owner=holder)
                yield self._returns(method, EMPTY, formatted)
            elif isinstance(binding.node, n.Assign) and holder.node.decorators:
                yield unknown(f"{attr} is a field")
                if binding.value is not None:
                    yield self.of(binding.value, holder, formatted=formatted)
            elif not (isinstance(binding.node, n.Assign) and binding.node.value is None):
                yield self._bound(binding, attr, holder, EMPTY, formatted, local=False)

    def _is_enum(self, cls: Class) -> bool:
        return any(
            base.rpartition(".")[2] in {"Enum", "StrEnum"}
            for base in self._resolver.external_bases(cls)
        )

    def _enum_member(self, base: n.Expr, scope: Scope, formatted: bool) -> Strings | None:
        if isinstance(base, n.Attribute):
            for entity in self._resolver.of(base.base, scope):
                if isinstance(entity, Class) and self._is_enum(entity):
                    found = self._class_attribute(entity, base.attr, False)
                    return found if not formatted or found.known else unknown("it is formatted")
        return None

    # -- calls --------------------------------------------------------------------------

    def _call(
        self, expr: n.Call, scope: Scope, at: n.Stmt | None, frame: Frame, formatted: bool
    ) -> Strings:
        func = expr.func
        if isinstance(func, n.Attribute):
            method = self._string_method(expr, func, scope, at, frame, formatted)
            if method is not None:
                return method
        if isinstance(func, n.Name) and func.id == "str" and len(expr.args) == 1:
            return self.of(expr.args[0].value, scope, at, frame, formatted=True)
        site = CallSite(expr, scope, at or n.Jump(expr.at, "pass"))
        targets = self._finder.targets(site)
        if targets is None:
            return unknown("it is the result of a call")
        found: list[Strings] = []
        for target in targets:
            if frame.of(target) is not None:
                return unknown(f"{target.label} calls itself")
            inside = frame.entering(target, self.bound(site, target, frame))
            found.append(self._returns(target, inside, formatted))
        return union(found)

    def _returns(self, function: Function, frame: Frame, formatted: bool) -> Strings:
        if function.node.is_generator or function.node.is_async:
            return unknown(f"{function.label} is not a plain function")
        if not all(map(_keeps_result, function.node.decorators)):
            return unknown(f"{function.label} is decorated")
        found = [
            self.of(statement.value, function, statement, frame, formatted=formatted)
            for statement in function.paths
            if isinstance(statement, n.Return) and statement.value is not None
        ]
        if formatted and not _always_returns(function):
            found.append(unknown(f"{function.label} may return nothing"))
        return union(found) if found else unknown(f"{function.label} returns nothing")

    def _string_method(
        self,
        expr: n.Call,
        func: n.Attribute,
        scope: Scope,
        at: n.Stmt | None,
        frame: Frame,
        formatted: bool,
    ) -> Strings | None:
        def value(part: n.Expr, *, in_text: bool = False) -> Strings:
            return self.of(part, scope, at, frame, formatted=in_text)

        args = [arg.value for arg in expr.args if not arg.star and arg.keyword is None]
        if func.attr == "join" and len(args) == 1:
            return self._join(value(func.base), args[0], scope, at, frame)
        if func.attr == "get" and args and len(args) == len(expr.args):
            default = args[1] if len(args) > 1 else n.Const(expr.at, None)
            return self._containers.lookup(
                func.base, args[0], scope, at, frame, formatted=formatted, default=default
            )
        return texts.method(expr, func, value)

    def _join(
        self, glue: Strings, parts: n.Expr, scope: Scope, at: n.Stmt | None, frame: Frame
    ) -> Strings:
        values = self._containers.elements(parts, scope, at, frame, ordered=True)
        if values is None or glue.exact is None:
            return unknown("it joins something unknown")
        pieces: list[Strings] = []
        for value in values:
            pieces += [literal(glue.exact), value] if pieces else [value]
        return concat(pieces)


def _always_returns(function: Function) -> bool:
    return leaves(function.node.body) and all(
        statement.value is not None
        for statement in function.paths
        if isinstance(statement, n.Return)
    )


def _keeps_result(decorator: n.Expr) -> bool:
    """Whether what a decorated function returns is what its body returns."""
    name = n.dotted(decorator.func if isinstance(decorator, n.Call) else decorator) or ""
    return name.rpartition(".")[2] in _KEEPS_RESULT or name in {"ray.remote", "remote"}


__all__ = ["Evaluator", "init_of", "with_nested"]
