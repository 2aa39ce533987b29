"""What a string expression may evaluate to, across variables, modules, calls and callers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from rltel_lint.facts import nodes as n
from rltel_lint.project.binding import EMPTY, Frame, Passed, bind, bound_already, init_of
from rltel_lint.project.calls import CallFinder, CallSite
from rltel_lint.project.model import Binding, Class, Function, Module, Scope
from rltel_lint.project.reaching import reaching
from rltel_lint.project.resolve import External, Instance, Resolver, with_nested
from rltel_lint.values import HOLE, NEVER, Strings, concat, literal, union, unknown

_DEPTH = 24
_ENUMS = {"enum.Enum", "enum.StrEnum", "builtins.Enum"}
_CASES: Mapping[str, Callable[[str], str]] = {
    "lower": str.lower,
    "upper": str.upper,
    "casefold": str.casefold,
}
_WHOLE: Mapping[str, Callable[[str], str]] = {
    "strip": str.strip,
    "lstrip": str.lstrip,
    "rstrip": str.rstrip,
    "title": str.title,
    "capitalize": str.capitalize,
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
        self._depth = 0
        self._active: set[tuple[int, int]] = set()

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
        key = (id(expr), id(frame))
        if self._depth > _DEPTH or key in self._active:
            return unknown("it is computed in a loop")
        self._depth += 1
        self._active.add(key)
        try:
            return self._of(expr, scope, statement, frame, formatted)
        finally:
            self._depth -= 1
            self._active.discard(key)

    def passed(self, value: Passed) -> Strings:
        """Evaluates an argument where it is passed."""
        if value.on_use is not None:
            value.on_use()
        if value.expr is None:
            return unknown("it is passed by unpacking")
        return self.of(value.expr, value.scope, value.statement, value.frame)

    def _of(
        self, expr: n.Expr, scope: Scope, at: n.Stmt | None, frame: Frame, formatted: bool
    ) -> Strings:
        def inner(part: n.Expr, *, in_text: bool = formatted) -> Strings:
            return self.of(part, scope, at, frame, formatted=in_text)

        if isinstance(expr, n.Const):
            return _constant(expr, formatted)
        if isinstance(expr, n.FString):
            return concat(
                literal(part)
                if isinstance(part, str)
                else inner(part, in_text=True)
                if part is not None
                else unknown("a formatted part")
                for part in expr.parts
            )
        if isinstance(expr, n.Name):
            return self._name(expr.id, scope, at, frame, formatted)
        if isinstance(expr, n.Attribute):
            return self._attribute(expr, scope, frame, formatted)
        if isinstance(expr, n.Binary) and expr.op == "+":
            return inner(expr.left) + inner(expr.right)
        if isinstance(expr, n.Binary) and expr.op == "%":
            return self._percent(expr, inner)
        if isinstance(expr, n.Conditional):
            return inner(expr.body) | inner(expr.orelse)
        if isinstance(expr, n.BoolOp):
            return inner(expr.left) | inner(expr.right)
        if isinstance(expr, (n.NamedExpr, n.Await)):
            return inner(expr.value)
        if isinstance(expr, n.Subscript):
            return self._subscript(expr.base, expr.index, scope, at, frame)
        if isinstance(expr, n.Call):
            return self._call(expr, scope, at, frame, formatted)
        return unknown("it is computed")

    # -- names --------------------------------------------------------------------------

    def _name(
        self, name: str, scope: Scope, at: n.Stmt | None, frame: Frame, formatted: bool
    ) -> Strings:
        bindings, where = self._resolver.lookup(name, scope)
        if where is None:
            return unknown(f"{name} is not defined in the project")
        local = isinstance(where, Function) and where is scope and at is not None
        if isinstance(where, Function) and local and at is not None:
            bindings = reaching(where, name, at)
        elif not isinstance(where, Function) and self._rebound(name, where):
            return unknown(f"{name} is rebound through global")
        return union(
            self._bound(binding, name, where, frame, formatted, local=local) for binding in bindings
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
            parts = self.elements(binding.element_of, where, at, frame)
            return unknown("it loops over something unknown") if parts is None else union(parts)
        if isinstance(node, n.AugAssign) and node.op == "+" and local:
            before = self._name(name, where, node, frame, formatted)
            return before + self.of(node.value, where, node, frame)
        if isinstance(node, n.Import):
            return self._imported(node, name, where)
        return unknown(f"{name} is computed")

    def _imported(self, node: n.Import, name: str, where: Scope) -> Strings:
        source = self._resolver.imported_module(node, where.module)
        original = next((first for first, bound in node.names if bound == name), name)
        if isinstance(source, Module):
            return self._name(original, source, None, EMPTY, False)
        if isinstance(source, External):
            return self._external(f"{source.name}.{original}")
        return unknown(f"{name} is imported from outside")

    def _external(self, dotted: str) -> Strings:
        value = self._constant(dotted)
        return literal(value) if value is not None else unknown(f"{dotted} is not in the project")

    @staticmethod
    def _rebound(name: str, where: Scope) -> bool:
        text = where.module.facts.text
        return "global " in text and bool(
            re.search(rf"\bglobal\b[^\n#]*\b{re.escape(name)}\b", text)
        )

    def _parameter(self, node: n.Parameter, where: Scope, frame: Frame, formatted: bool) -> Strings:
        if not isinstance(where, Function) or node.kind in {"*", "**"}:
            return unknown(f"{node.name} takes any arguments")
        given = frame.of(where)
        if given is not None:
            value = given.get(node.name)
            return self.passed(value) if value is not None else self._default(node, where)
        return self.from_callers(where, node)

    def _default(self, node: n.Parameter, function: Function) -> Strings:
        if node.default is None:
            return unknown(f"{node.name} is not passed")
        return self.of(node.default, function.parent or function.module)

    def from_callers(self, function: Function, node: n.Parameter) -> Strings:
        """Evaluates a parameter over all calls of its function.

        Without any caller in the project it may be anything (and its default).
        """
        key = (id(node), id(function))
        if key in self._active:
            return unknown("it is passed on in a loop")
        self._active.add(key)
        try:
            found = [self._from_caller(site, function, node) for site in self.callers(function)]
        finally:
            self._active.discard(key)
        if found:
            return union(found)
        start = self._default(node, function) if node.default is not None else NEVER
        return start | unknown(f"{function.label} has no caller that passes {node.name}")

    def callers(self, function: Function) -> list[CallSite]:
        """Returns the calls that run a function of the project."""
        return self._finder.callers(function)

    def _from_caller(self, site: CallSite, function: Function, node: n.Parameter) -> Strings:
        value = self.bound(site, function).get(node.name)
        return self.passed(value) if value is not None else self._default(node, function)

    def bound(self, site: CallSite, function: Function, frame: Frame = EMPTY) -> dict[str, Passed]:
        """Returns the arguments that a call passes to a function of the project."""
        func = site.call.func
        base = func.base if isinstance(func, n.Attribute) else None
        if base is not None and isinstance(func, n.Attribute) and func.attr == "remote":
            base = base.base if isinstance(base, n.Attribute) else None
            skip = 1 if function.owner is not None else 0
        else:
            through = base is not None and any(
                isinstance(entity, Class) for entity in self._resolver.of(base, site.scope)
            )
            skip = bound_already(function, func, through)
        return bind(
            site.call, function.node.params, site.scope, site.statement, skip=skip, frame=frame
        )

    # -- attributes ---------------------------------------------------------------------

    def _attribute(self, expr: n.Attribute, scope: Scope, frame: Frame, formatted: bool) -> Strings:
        if expr.attr in {"value", "_value_"}:
            member = self._enum_member(expr.base, scope)
            if member is not None:
                return member
        found = [
            self.attribute_of(base, expr.attr, frame, formatted)
            for base in self._resolver.of(expr.base, scope)
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
                    self._bound(binding, attr, holder, EMPTY, False, local=False)
                    for binding in bindings
                )
        found = [self._external(f"{base}.{attr}") for base in self._resolver.external_bases(cls)]
        return union(found) if found else unknown(f"{cls.name} has no {attr}")

    def _instance_attribute(self, cls: Class, attr: str, frame: Frame, formatted: bool) -> Strings:
        found = [
            self.of(statement.value, function, statement, frame)
            for function, statement in self._resolver.stored(cls, attr)
            if statement.value is not None
        ]
        if any(holder.bindings_of(attr) for holder in self._resolver.mro(cls)):
            found += self._declared_attribute(cls, attr, formatted)
        return union(found) if found else unknown(f"self.{attr} is set elsewhere")

    def _declared_attribute(self, cls: Class, attr: str, formatted: bool) -> Iterator[Strings]:
        for holder in self._resolver.mro(cls):
            for binding in holder.bindings_of(attr):
                if isinstance(binding.node, n.FunctionDef):
                    method = holder.module.function(binding.node, owner=holder)
                    yield self._returns(method, EMPTY)
                elif isinstance(binding.node, n.Assign) and holder.node.decorators:
                    yield unknown(f"{attr} is a field")
                    if binding.value is not None:
                        yield self.of(binding.value, holder)
                else:
                    yield self._bound(binding, attr, holder, EMPTY, formatted, local=False)

    def _is_enum(self, cls: Class) -> bool:
        return any(
            base.rpartition(".")[2] in {"Enum", "StrEnum"}
            for base in self._resolver.external_bases(cls)
        )

    def _enum_member(self, base: n.Expr, scope: Scope) -> Strings | None:
        if not isinstance(base, n.Attribute):
            return None
        for entity in self._resolver.of(base.base, scope):
            if isinstance(entity, Class) and self._is_enum(entity):
                return self._class_attribute(entity, base.attr, False)
        return None

    # -- calls --------------------------------------------------------------------------

    def _call(
        self, expr: n.Call, scope: Scope, at: n.Stmt | None, frame: Frame, formatted: bool
    ) -> Strings:
        func = expr.func
        if isinstance(func, n.Attribute):
            method = self._string_method(expr, func, scope, at, frame)
            if method is not None:
                return method
        if isinstance(func, n.Name) and func.id == "str" and len(expr.args) == 1:
            return self.of(expr.args[0].value, scope, at, frame, formatted=True)
        found: list[Strings] = []
        for target in self._resolver.of(func, scope):
            if not isinstance(target, Function):
                return unknown("it is the result of a call")
            site = CallSite(expr, scope, at or n.Jump(expr.at, "pass"))
            found.append(
                self._returns(target, frame.entering(target, self.bound(site, target, frame)))
            )
        return union(found) if found else unknown("it is the result of a call")

    def _returns(self, function: Function, frame: Frame) -> Strings:
        if function.node.is_generator or function.node.is_async:
            return unknown(f"{function.label} is not a plain function")
        found = [
            self.of(statement.value, function, statement, frame)
            for statement in function.paths
            if isinstance(statement, n.Return) and statement.value is not None
        ]
        return union(found) if found else unknown(f"{function.label} returns nothing")

    def _string_method(
        self, expr: n.Call, func: n.Attribute, scope: Scope, at: n.Stmt | None, frame: Frame
    ) -> Strings | None:
        def value(part: n.Expr) -> Strings:
            return self.of(part, scope, at, frame)

        args = [arg.value for arg in expr.args if not arg.star and arg.keyword is None]
        name = func.attr
        if name in _CASES and not args:
            return value(func.base).map_text(_CASES[name])
        if name in _WHOLE and not args:
            return value(func.base).map(_WHOLE[name])
        if name == "format":
            return self._format(expr, value(func.base), value)
        if name == "join" and len(args) == 1:
            return self._join(value(func.base), args[0], scope, at, frame)
        if name == "get" and args:
            return self._subscript(func.base, args[0], scope, at, frame, args[1:])
        if name in {"replace", "removeprefix", "removesuffix"} and args:
            texts = [value(arg).exact for arg in args]
            if all(text is not None for text in texts):
                return _change(value(func.base), name, [text or "" for text in texts])
        return None

    def _join(
        self, glue: Strings, parts: n.Expr, scope: Scope, at: n.Stmt | None, frame: Frame
    ) -> Strings:
        values = self.elements(parts, scope, at, frame, ordered=True)
        if values is None or glue.exact is None:
            return unknown("it joins something unknown")
        pieces: list[Strings] = []
        for value in values:
            pieces += [literal(glue.exact), value] if pieces else [value]
        return concat(pieces)

    def _format(
        self, expr: n.Call, template: Strings, value: Callable[[n.Expr], Strings]
    ) -> Strings:
        if template.exact is None or any(arg.star for arg in expr.args):
            return unknown("it is formatted")
        numbered = [arg.value for arg in expr.args if arg.keyword is None]
        named = {arg.keyword: arg.value for arg in expr.args if arg.keyword is not None}
        pieces: list[Strings] = []
        for place, text in enumerate(re.split(r"(\{\w*\})", template.exact)):
            if place % 2 == 0:
                if "{" in text or "}" in text:
                    return unknown("it is formatted")
                pieces.append(literal(text))
                continue
            field = text[1:-1]
            index = int(field) if field.isdigit() else place // 2
            found = named.get(field) if field and not field.isdigit() else None
            if found is None and (not field or field.isdigit()) and index < len(numbered):
                found = numbered[index]
            pieces.append(value(found) if found is not None else unknown("it is formatted"))
        return concat(pieces)

    def _percent(self, expr: n.Binary, value: Callable[[n.Expr], Strings]) -> Strings:
        template = value(expr.left).exact
        right = expr.right
        args = right.elements if isinstance(right, n.Sequence) else (right,)
        if template is None or "%%" in template:
            return unknown("it is formatted")
        texts = re.split(r"%[sd]", template)
        if any("%" in text for text in texts) or len(texts) != len(args) + 1:
            return unknown("it is formatted")
        pieces = [literal(texts[0])]
        for arg, text in zip(args, texts[1:], strict=True):
            pieces += [value(arg), literal(text)]
        return concat(pieces)

    # -- containers ---------------------------------------------------------------------

    def displays(
        self, expr: n.Expr, scope: Scope, at: n.Stmt | None = None
    ) -> list[tuple[n.Expr, Scope]] | None:
        """Returns the literal containers that an expression may be.

        ``None`` when it may be something else, or when the container is changed after it was
        written down.
        """
        if isinstance(expr, (n.Dict, n.Sequence)):
            return [(expr, scope)]
        if isinstance(expr, n.Call):
            return self._copied(expr, scope, at)
        if isinstance(expr, n.Name):
            bindings, where = self._resolver.lookup(expr.id, scope)
            if where is None or _changed(expr.id, where):
                return None
            return self._displays_of(bindings, expr.id, where)
        if isinstance(expr, n.Attribute):
            return self._displays_of_attribute(expr, scope)
        return None

    def _copied(
        self, expr: n.Call, scope: Scope, at: n.Stmt | None
    ) -> list[tuple[n.Expr, Scope]] | None:
        name = n.dotted(expr.func) or ""
        if name in {"tuple", "list", "set", "frozenset", "sorted", "dict"} and len(expr.args) == 1:
            return self.displays(expr.args[0].value, scope, at)
        if name.endswith("MappingProxyType") and len(expr.args) == 1:
            return self.displays(expr.args[0].value, scope, at)
        if name in {"tuple", "list", "set", "frozenset"} and not expr.args:
            return [(n.Sequence(expr.at, "tuple", ()), scope)]
        return None

    def _displays_of(
        self, bindings: list[Binding], name: str, where: Scope
    ) -> list[tuple[n.Expr, Scope]] | None:
        found: list[tuple[n.Expr, Scope]] = []
        for binding in bindings:
            if isinstance(binding.node, n.Import):
                source = self._resolver.imported_module(binding.node, where.module)
                original = next((a for a, b in binding.node.names if b == name), name)
                if not isinstance(source, Module):
                    return None
                part = self.displays(n.Name(binding.node.at, original), source)
            elif binding.value is not None:
                at = binding.node if isinstance(binding.node, n.Stmt) else None
                part = self.displays(binding.value, where, at)
            else:
                return None
            if part is None:
                return None
            found += part
        return found or None

    def _displays_of_attribute(
        self, expr: n.Attribute, scope: Scope
    ) -> list[tuple[n.Expr, Scope]] | None:
        found: list[tuple[n.Expr, Scope]] = []
        for base in self._resolver.of(expr.base, scope):
            part: list[tuple[n.Expr, Scope]] | None = None
            if isinstance(base, Module):
                part = self.displays(n.Name(expr.at, expr.attr), base)
            else:
                cls = base.cls if isinstance(base, Instance) else base
                if isinstance(cls, Class):
                    for holder in self._resolver.mro(cls):
                        if holder.bindings_of(expr.attr):
                            bindings = holder.bindings_of(expr.attr)
                            part = self._displays_of(bindings, expr.attr, holder)
                            break
            if part is None:
                return None
            found += part
        return found or None

    def elements(
        self,
        expr: n.Expr,
        scope: Scope,
        at: n.Stmt | None = None,
        frame: Frame = EMPTY,
        *,
        ordered: bool = False,
    ) -> list[Strings] | None:
        """Evaluates the elements of a container, a dict's keys; ``None`` if not all are known.

        Args:
            expr: The container.
            scope: Where its names are looked up.
            at: The statement that holds it.
            frame: Arguments of the functions around it.
            ordered: Whether order and number matter, so that a choice of containers is no good.
        """
        if isinstance(expr, n.Binary) and expr.op in {"|", "+"}:
            left = self.elements(expr.left, scope, at, frame)
            right = self.elements(expr.right, scope, at, frame)
            return None if left is None or right is None else [*left, *right]
        if isinstance(expr, n.Call) and isinstance(expr.func, n.Attribute):
            if expr.func.attr == "keys" and not expr.args:
                return self.elements(expr.func.base, scope, at, frame)
            if expr.func.attr == "values" and not expr.args:
                return self._dict_values(expr.func.base, scope, at, frame)
            if expr.func.attr == "union":
                parts = [expr.func.base, *(arg.value for arg in expr.args)]
                found = [self.elements(part, scope, at, frame) for part in parts]
                return None if None in found else [v for part in found for v in part or ()]
        if isinstance(expr, n.Call) and n.dotted(expr.func) in {
            "tuple",
            "list",
            "set",
            "frozenset",
        }:
            if len(expr.args) == 1:
                return self.elements(expr.args[0].value, scope, at, frame, ordered=ordered)
        displays = self.displays(expr, scope, at)
        if displays is None:
            return self._through_name(expr, scope, frame)
        if ordered and len(displays) != 1:
            return None
        values: list[Strings] = []
        for display, where in displays:
            part = self._display_elements(display, where, at if where is scope else None, frame)
            if part is None:
                return None
            values += part
        return values

    def _through_name(self, expr: n.Expr, scope: Scope, frame: Frame) -> list[Strings] | None:
        """A name whose one value is an expression over containers (``A | {"b"}``)."""
        if isinstance(expr, n.Name):
            bindings, where = self._resolver.lookup(expr.id, scope)
            if where is None or len(bindings) != 1 or _changed(expr.id, where):
                return None
            binding = bindings[0]
            if isinstance(binding.node, n.Import):
                source = self._resolver.imported_module(binding.node, where.module)
                original = next((a for a, b in binding.node.names if b == expr.id), expr.id)
                if isinstance(source, Module):
                    return self.elements(n.Name(expr.at, original), source, None, frame)
                return None
            value = binding.value
            if value is not None and not isinstance(value, n.Name):
                return self.elements(value, where, None, frame)
            if isinstance(binding.node, n.Parameter) and isinstance(where, Function):
                given = (frame.of(where) or {}).get(expr.id)
                if given is not None and given.expr is not None:
                    return self.elements(given.expr, given.scope, given.statement, given.frame)
        if isinstance(expr, n.Attribute):
            for base in self._resolver.of(expr.base, scope):
                cls = base.cls if isinstance(base, Instance) else base
                if isinstance(cls, Class):
                    for holder in self._resolver.mro(cls):
                        bindings = holder.bindings_of(expr.attr)
                        if len(bindings) == 1 and bindings[0].value is not None:
                            return self.elements(bindings[0].value, holder, None, frame)
        return None

    def _display_elements(
        self, display: n.Expr, scope: Scope, at: n.Stmt | None, frame: Frame
    ) -> list[Strings] | None:
        values: list[Strings] = []
        parts = (
            [key if key is not None else n.Starred(value.at, value) for key, value in display.items]
            if isinstance(display, n.Dict)
            else list(display.elements)
            if isinstance(display, n.Sequence)
            else []
        )
        for part in parts:
            if isinstance(part, n.Starred):
                inner = self.elements(part.value, scope, at, frame)
                if inner is None:
                    return None
                values += inner
            else:
                values.append(self.of(part, scope, at, frame))
        return values

    def _dict_values(
        self, expr: n.Expr, scope: Scope, at: n.Stmt | None, frame: Frame
    ) -> list[Strings] | None:
        displays = self.displays(expr, scope, at)
        if displays is None or not all(isinstance(d, n.Dict) for d, _ in displays):
            return None
        return [
            self.of(value, where, None, frame)
            for display, where in displays
            if isinstance(display, n.Dict)
            for _, value in display.items
        ]

    def _subscript(
        self,
        base: n.Expr,
        index: n.Expr,
        scope: Scope,
        at: n.Stmt | None,
        frame: Frame,
        default: list[n.Expr] | None = None,
    ) -> Strings:
        displays = self.displays(base, scope, at)
        if displays is None:
            return unknown("it is looked up in something unknown")
        key = self.of(index, scope, at, frame)
        found: list[Strings] = [self.of(d, scope, at, frame) for d in default or ()]
        for display, where in displays:
            if isinstance(display, n.Dict):
                found += self._items_for(display, where, key, frame)
            elif isinstance(display, n.Sequence) and isinstance(index, n.Const):
                place = index.value
                plain = not any(isinstance(e, n.Starred) for e in display.elements)
                if (
                    plain
                    and type(place) is int
                    and -len(display.elements) <= place < len(display.elements)
                ):
                    found.append(self.of(display.elements[place], where, None, frame))
                else:
                    return unknown("it is looked up in something unknown")
            else:
                found += self._display_elements(display, where, None, frame) or [
                    unknown("it is looked up in something unknown")
                ]
        return union(found) if found else unknown("it is looked up under an unknown key")

    def _items_for(
        self, display: n.Dict, scope: Scope, key: Strings, frame: Frame
    ) -> Iterator[Strings]:
        exact = key.exact
        for item, value in display.items:
            if item is None:
                yield unknown("it is looked up in an unpacked dict")
                continue
            name = self.of(item, scope, None, frame)
            if exact is None or name.exact is None or name.exact == exact:
                yield self.of(value, scope, None, frame)


def _constant(expr: n.Const, formatted: bool) -> Strings:
    if isinstance(expr.value, str):
        return literal(expr.value)
    if formatted and isinstance(expr.value, (int, float, bool)):
        return literal(str(expr.value))
    if expr.value is None and not formatted:
        return NEVER
    return unknown("it is not a string")


def _change(strings: Strings, method: str, args: list[str]) -> Strings:
    def change(text: str) -> str:
        if method == "replace":
            return text.replace(args[0], args[1])
        return getattr(text, method)(args[0])  # type: ignore[no-any-return]

    if method == "replace" and len(args) == 2 and len(args[0]) == 1:
        return strings.map_text(change)
    if len(args) != (2 if method == "replace" else 1):
        return strings.map(lambda _: HOLE)
    return strings.map(change)


def _changed(name: str, where: Scope) -> bool:
    """Whether the source changes a container of this name after it was written down."""
    text = where.module.facts.text
    word = re.escape(name)
    return bool(
        re.search(rf"\b{word}\s*\[[^\]\n]*\]\s*(?:[|+]?=)(?!=)", text)
        or re.search(
            rf"\b{word}\.(?:update|setdefault|pop|popitem|clear|append|extend|insert|add|remove"
            rf"|discard|sort|reverse)\(",
            text,
        )
    )


__all__ = ["Evaluator", "init_of", "with_nested"]
