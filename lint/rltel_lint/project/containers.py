"""What is in the containers that the source writes down: elements, keys and look-ups."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rltel_lint.facts import nodes as n
from rltel_lint.facts.occurrences import beginning
from rltel_lint.project.binding import EMPTY, Frame
from rltel_lint.project.model import Binding, Class, Function, Module, Scope
from rltel_lint.project.resolve import Instance, Resolver
from rltel_lint.values import Strings, union, unknown

if TYPE_CHECKING:
    from rltel_lint.project.evaluate import Evaluator

Display = tuple[n.Expr, Scope]
"""A literal container and where its names are looked up."""

_COPIES = {"tuple", "list", "set", "frozenset"}
_UNORDERED = {"set", "frozenset", "sorted", "reversed"}
_SAME_ELEMENTS = {*_COPIES, "sorted", "reversed", "iter", "dict"}
_MUTATORS = (
    *("update", "setdefault", "pop", "popitem", "clear", "append", "appendleft", "extend"),
    *("insert", "add", "remove", "discard", "sort", "reverse"),
)


class Containers:
    """Evaluates the elements of literal containers.

    Args:
        resolver: Resolves names and members.
        evaluator: Evaluates one element.
    """

    def __init__(self, resolver: Resolver, evaluator: Evaluator) -> None:
        self._resolver = resolver
        self._evaluator = evaluator
        self._active: set[tuple[object, ...]] = set()
        self._changed: dict[tuple[Module, str], bool] = {}

    # -- displays -----------------------------------------------------------------------

    def displays(
        self, expr: n.Expr, scope: Scope, at: n.Stmt | None = None
    ) -> list[Display] | None:
        """Returns the literal containers that an expression may be.

        ``None`` when it may be something else, or when the container is changed after it was
        written down.
        """
        if isinstance(expr, (n.Dict, n.Sequence)):
            return [(expr, scope)]
        if isinstance(expr, n.Call):
            return self._copied(expr, scope, at)
        if isinstance(expr, n.Conditional):
            return _all(self.displays(e, scope, at) for e in (expr.body, expr.orelse))
        if isinstance(expr, n.Name):
            if at is not None and self._evaluator.shadows.binding(expr, at) is not None:
                return None
            return self._named(expr.id, scope)
        if isinstance(expr, n.Attribute):
            return self._of_attribute(expr, scope)
        return None

    def _copied(self, expr: n.Call, scope: Scope, at: n.Stmt | None) -> list[Display] | None:
        name = n.dotted(expr.func) or ""
        plain = len(expr.args) == 1 and not expr.args[0].star and expr.args[0].keyword is None
        if plain and (name in _SAME_ELEMENTS or name.endswith("MappingProxyType")):
            return self.displays(expr.args[0].value, scope, at)
        if name in _COPIES and not expr.args:
            return [(n.Sequence(expr.at, "tuple", ()), scope)]
        return None

    def _named(self, name: str, scope: Scope) -> list[Display] | None:
        bindings, where = self._resolver.lookup(name, scope)
        key = (name, where)
        if where is None or key in self._active or self._is_changed(name, where.module):
            return None
        self._active.add(key)
        try:
            return _all(self._bound(binding, name, where) for binding in bindings)
        finally:
            self._active.discard(key)

    def _bound(self, binding: Binding, name: str, where: Scope) -> list[Display] | None:
        node = binding.node
        if isinstance(node, n.Import):
            source = self._resolver.imported_module(node, where.module)
            original = next((first for first, bound in node.names if bound == name), name)
            return self._named(original, source) if isinstance(source, Module) else None
        if binding.value is None:
            return None
        return self.displays(binding.value, where, node if isinstance(node, n.Stmt) else None)

    def _of_attribute(self, expr: n.Attribute, scope: Scope) -> list[Display] | None:
        return _all(
            self._of_member(base, expr.attr) for base in self._resolver.of(expr.base, scope)
        )

    def _of_member(self, base: object, attr: str) -> list[Display] | None:
        if isinstance(base, Module):
            return self._named(attr, base)
        holders = self._holders(base, attr)
        return _all(
            self._bound(binding, attr, holder)
            for holder in holders or ()
            for binding in holder.bindings_of(attr)
        )

    def _holders(self, base: object, attr: str) -> list[Class] | None:
        """The classes whose body may give an attribute; ``None`` if it may come from elsewhere."""
        cls = base.cls if isinstance(base, Instance) else base
        if not isinstance(cls, Class):
            return None
        first = next((c for c in self._resolver.mro(cls) if c.bindings_of(attr)), None)
        found = [] if first is None else [first]
        if isinstance(base, Instance):
            found += self._resolver.overriding(cls, attr)
            if self._resolver.stored(cls, attr):
                return None
        if any(self._is_changed(attr, holder.module) for holder in found):
            return None
        return found or None

    # -- elements -----------------------------------------------------------------------

    def elements(
        self,
        expr: n.Expr,
        scope: Scope,
        at: n.Stmt | None = None,
        frame: Frame = EMPTY,
        *,
        ordered: bool = False,
        formatted: bool = False,
    ) -> list[Strings] | None:
        """Evaluates the elements of a container, a dict's keys; ``None`` if not all are known.

        Args:
            expr: The container.
            scope: Where its names are looked up.
            at: The statement that holds it.
            frame: Arguments of the functions around it.
            ordered: Whether order and number matter, so that a choice of containers is no good.
            formatted: Whether the elements are put into a string.
        """
        key = (expr.id if isinstance(expr, n.Name) else expr, scope, id(frame))
        if key in self._active:
            return None
        self._active.add(key)
        try:
            return self._elements(expr, scope, at, frame, ordered, formatted)
        finally:
            self._active.discard(key)

    def _elements(
        self,
        expr: n.Expr,
        scope: Scope,
        at: n.Stmt | None,
        frame: Frame,
        ordered: bool,
        formatted: bool,
    ) -> list[Strings] | None:
        if isinstance(expr, n.Binary) and expr.op in ({"+"} if ordered else {"|", "+"}):
            return self._joined((expr.left, expr.right), scope, at, frame, ordered, formatted)
        if isinstance(expr, n.Call):
            if ordered and n.dotted(expr.func) in _UNORDERED:
                return None
            if isinstance(expr.func, n.Attribute):
                return self._of_method(expr, expr.func, scope, at, frame, ordered, formatted)
            if n.dotted(expr.func) in _SAME_ELEMENTS and len(expr.args) == 1:
                inner = expr.args[0].value
                return self.elements(inner, scope, at, frame, ordered=ordered, formatted=formatted)
        displays = self.displays(expr, scope, at)
        if displays is None:
            return self._through_name(expr, scope, at, frame, ordered, formatted)
        if ordered and len(displays) != 1:
            return None
        values: list[Strings] = []
        for display, where in displays:
            inside = at if where is scope else None
            part = self._display_elements(display, where, inside, frame, ordered, formatted)
            if part is None:
                return None
            values += part
        return values

    def _joined(
        self,
        parts: Iterable[n.Expr],
        scope: Scope,
        at: n.Stmt | None,
        frame: Frame,
        ordered: bool,
        formatted: bool,
    ) -> list[Strings] | None:
        values: list[Strings] = []
        for part in parts:
            found = self.elements(part, scope, at, frame, ordered=ordered, formatted=formatted)
            if found is None:
                return None
            values += found
        return values

    def _of_method(
        self,
        expr: n.Call,
        func: n.Attribute,
        scope: Scope,
        at: n.Stmt | None,
        frame: Frame,
        ordered: bool,
        formatted: bool,
    ) -> list[Strings] | None:
        if func.attr in {"keys", "copy"} and not expr.args:
            return self.elements(func.base, scope, at, frame, ordered=ordered, formatted=formatted)
        if func.attr == "values" and not expr.args:
            return self._dict_values(func.base, scope, at, frame, formatted)
        if func.attr == "union" and not ordered:
            parts = [func.base, *(arg.value for arg in expr.args)]
            return self._joined(parts, scope, at, frame, ordered, formatted)
        return None

    def _through_name(
        self,
        expr: n.Expr,
        scope: Scope,
        at: n.Stmt | None,
        frame: Frame,
        ordered: bool,
        formatted: bool,
    ) -> list[Strings] | None:
        """A name whose one value is an expression over containers (``A | {"b"}``)."""
        for value, where, statement, inner in self._values(expr, scope, at, frame):
            return self.elements(
                value, where, statement, inner, ordered=ordered, formatted=formatted
            )
        return None

    def _values(
        self, expr: n.Expr, scope: Scope, at: n.Stmt | None, frame: Frame
    ) -> Iterator[tuple[n.Expr, Scope, n.Stmt | None, Frame]]:
        """Yields the one expression that a name or a class constant stands for."""
        if isinstance(expr, n.Name):
            if at is not None and self._evaluator.shadows.binding(expr, at) is not None:
                return
            yield from self._value_of_name(expr, scope, frame)
        elif isinstance(expr, n.Attribute):
            bases = self._resolver.of(expr.base, scope)
            base = next(iter(bases)) if len(bases) == 1 else None
            if isinstance(base, Module):
                yield n.Name(expr.at, expr.attr), base, None, EMPTY
            holders = self._holders(base, expr.attr) or []
            bindings = [(b, holder) for holder in holders for b in holder.bindings_of(expr.attr)]
            if len(bindings) == 1 and bindings[0][0].value is not None:
                yield bindings[0][0].value, bindings[0][1], None, EMPTY

    def _value_of_name(
        self, expr: n.Name, scope: Scope, frame: Frame
    ) -> Iterator[tuple[n.Expr, Scope, n.Stmt | None, Frame]]:
        bindings, where = self._resolver.lookup(expr.id, scope)
        if where is None or len(bindings) != 1 or self._is_changed(expr.id, where.module):
            return
        node, value = bindings[0].node, bindings[0].value
        if isinstance(node, n.Import):
            source = self._resolver.imported_module(node, where.module)
            original = next((a for a, b in node.names if b == expr.id), expr.id)
            if isinstance(source, Module):
                yield n.Name(expr.at, original), source, None, EMPTY
        elif value is not None and not isinstance(node, n.WithItem):
            yield value, where, node if isinstance(node, n.Stmt) else None, frame
        elif isinstance(node, n.Parameter) and isinstance(where, Function):
            given = (frame.of(where) or {}).get(expr.id)
            if given is not None and given.expr is not None:
                yield given.expr, given.scope, given.statement, given.frame

    def _display_elements(
        self,
        display: n.Expr,
        scope: Scope,
        at: n.Stmt | None,
        frame: Frame,
        ordered: bool,
        formatted: bool,
    ) -> list[Strings] | None:
        if ordered and isinstance(display, n.Sequence) and display.kind == "set":
            return None
        values: list[Strings] = []
        for part in _parts(display):
            if isinstance(part, n.Starred):
                inner = self.elements(
                    part.value, scope, at, frame, ordered=ordered, formatted=formatted
                )
                if inner is None:
                    return None
                values += inner
            else:
                values.append(self._evaluator.of(part, scope, at, frame, formatted=formatted))
        return values

    def _dict_values(
        self, expr: n.Expr, scope: Scope, at: n.Stmt | None, frame: Frame, formatted: bool
    ) -> list[Strings] | None:
        values: list[Strings] = []
        for display, where in self.displays(expr, scope, at) or [(expr, scope)]:
            if not isinstance(display, n.Dict):
                return None
            inside = at if where is scope else None
            for key, value in display.items:
                if key is None:
                    inner = self._dict_values(value, where, inside, frame, formatted)
                    if inner is None:
                        return None
                    values += inner
                else:
                    values.append(
                        self._evaluator.of(value, where, inside, frame, formatted=formatted)
                    )
        return values

    # -- look-ups -----------------------------------------------------------------------

    def lookup(
        self,
        base: n.Expr,
        index: n.Expr,
        scope: Scope,
        at: n.Stmt | None,
        frame: Frame,
        *,
        formatted: bool = False,
        default: n.Expr | None = None,
    ) -> Strings | None:
        """Evaluates ``base[index]`` or ``base.get(index, default)``.

        Returns:
            What it may give; ``None`` if the container is not known.
        """
        displays = self.displays(base, scope, at)
        if displays is None:
            return None
        key = self._evaluator.of(index, scope, at, frame)
        found: list[Strings] = []
        for display, where in displays:
            if isinstance(display, n.Dict):
                items, certain = self._items(display, where, key, frame, formatted)
                found += items
                if default is not None and not certain:
                    found.append(self._evaluator.of(default, scope, at, frame, formatted=formatted))
            elif isinstance(display, n.Sequence):
                found += self._at(display, index, where, frame, formatted)
        return union(found) if found else unknown("it is looked up under an unknown key")

    def _items(
        self, display: n.Dict, scope: Scope, key: Strings, frame: Frame, formatted: bool
    ) -> tuple[list[Strings], bool]:
        """The values that a key may give, and whether it is certainly in the dict."""
        found: list[Strings] = []
        certain = False
        for item, value in display.items:
            if item is None:
                found.append(unknown("it is looked up in an unpacked dict"))
                continue
            name = self._evaluator.of(item, scope, None, frame)
            if key.known and name.known and not key.templates & name.templates:
                continue
            found.append(self._evaluator.of(value, scope, None, frame, formatted=formatted))
            certain = certain or (key.exact is not None and key.exact == name.exact)
        return found, certain

    def _at(
        self, display: n.Sequence, index: n.Expr, scope: Scope, frame: Frame, formatted: bool
    ) -> list[Strings]:
        place = index.value if isinstance(index, n.Const) else None
        starred = any(isinstance(element, n.Starred) for element in display.elements)
        if type(place) is int and not starred:
            picked = display.elements[place : place + 1]
            return [
                self._evaluator.of(part, scope, None, frame, formatted=formatted) for part in picked
            ]
        return self._display_elements(display, scope, None, frame, False, formatted) or [
            unknown("it is looked up in something unknown")
        ]

    # -- changes ------------------------------------------------------------------------

    def _is_changed(self, name: str, module: Module) -> bool:
        """Whether a module changes a container of this name after it was written down."""
        key = (module, name)
        known = self._changed.get(key)
        if known is None:
            loose = _change_pattern(name)
            known = self._changed[key] = module.facts.search(loose) and any(
                _changes(node, name)
                for unit in module.facts.all_units()
                if unit.search(loose)
                for statement in unit.statements
                for node in n.walk(statement)
            )
        return known


def _all(parts: Iterable[list[Display] | None]) -> list[Display] | None:
    """All alternatives, ``None`` if one of them is not known or there are none."""
    found: list[Display] = []
    for part in parts:
        if part is None:
            return None
        found += part
    return found or None


def _parts(display: n.Expr) -> list[n.Expr]:
    if isinstance(display, n.Dict):
        return [
            key if key is not None else n.Starred(value.at, value) for key, value in display.items
        ]
    return list(display.elements) if isinstance(display, n.Sequence) else []


def _change_pattern(name: str) -> re.Pattern[str]:
    return re.compile(rf"{beginning(name)}\b[\s)\\]*(?:\[|\.[\s\\]*(?:{'|'.join(_MUTATORS)})\b)")


def _changes(node: n.Node, name: str) -> bool:
    targets: tuple[n.Expr, ...] = ()
    if isinstance(node, n.Assign):
        targets = node.targets
    elif isinstance(node, n.AugAssign):
        targets = (node.target,)
    elif isinstance(node, n.OtherStmt) and node.deletes:
        targets = node.children
    elif isinstance(node, n.Call) and isinstance(node.func, n.Attribute):
        return node.func.attr in _MUTATORS and _last(node.func.base) == name
    return any(
        isinstance(inner, n.Subscript) and _last(inner.base) == name
        for target in targets
        for inner in n.walk(target)
    )


def _last(expr: n.Expr) -> str | None:
    if isinstance(expr, n.Attribute):
        return expr.attr
    return expr.id if isinstance(expr, n.Name) else None
