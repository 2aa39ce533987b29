"""Where a value comes from: back through variables, attributes, containers, calls and callers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rltel_lint.facts import nodes as n
from rltel_lint.project.binding import EMPTY, Frame, Passed, bind, bound_already
from rltel_lint.project.calls import CallSite
from rltel_lint.project.filling import Filling
from rltel_lint.project.invocations import Invocations
from rltel_lint.project.model import Binding, Class, Function, Scope
from rltel_lint.project.reaching import reaching
from rltel_lint.project.resolve import Entities, Instance, Resolver

_DEPTH = 14
_CALLER_DEPTH = 3
_PICKS = {"next", "choice"}
_SAME_ELEMENTS = {
    *("list", "tuple", "set", "frozenset", "sorted", "reversed", "iter", "cycle", "deque"),
    *("tqdm", "filter"),
}
_TAKES = {"pop", "popleft", "popright", "get", "setdefault"}
_SAME_CONTAINER = {"values", "copy"}


@dataclass(frozen=True, eq=False)
class Origin:
    """An expression that a value comes from, not a mere name for another one.

    Attributes:
        expr: The expression; ``None`` when it is not known.
        scope: Where its names are looked up.
        at: The statement that holds it.
        frame: The arguments of the functions around it.
        entities: What it refers to, where that is known without the expression.
    """

    expr: n.Expr | None
    scope: Scope
    at: n.Stmt | None = None
    frame: Frame = EMPTY
    entities: Entities | None = None


class Origins:
    """Follows values backwards; alternatives are all given.

    Args:
        resolver: Resolves names.
        callers: Finds the callers that bind parameters.
    """

    def __init__(self, resolver: Resolver, callers: Invocations) -> None:
        self._resolver = resolver
        self._callers = callers
        self._filling = Filling(resolver)
        self._active: set[tuple[n.Expr, int, bool]] = set()
        self._caller_depth = 0
        self._around: dict[n.Stmt, dict[n.Node, tuple[n.Expr, ...]]] = {}

    def of(
        self, expr: n.Expr, scope: Scope, at: n.Stmt | None = None, frame: Frame = EMPTY
    ) -> list[Origin]:
        """Returns what the value of an expression may come from.

        Args:
            expr: The expression.
            scope: Where its names are looked up.
            at: The statement of the scope that holds it.
            frame: The arguments of the functions that are looked at from a call.
        """
        key = (expr, id(frame), False)
        if key in self._active or len(self._active) > _DEPTH:
            return [Origin(None, scope)]
        self._active.add(key)
        try:
            return list(self._of(expr, scope, at, frame))
        finally:
            self._active.discard(key)

    def elements(
        self, expr: n.Expr, scope: Scope, at: n.Stmt | None = None, frame: Frame = EMPTY
    ) -> list[Origin]:
        """Returns what the elements of a container (the values of a dict) may come from."""
        key = (expr, id(frame), True)
        if key in self._active or len(self._active) > _DEPTH:
            return [Origin(None, scope)]
        self._active.add(key)
        try:
            found = list(self._elements(expr, scope, at, frame))
        finally:
            self._active.discard(key)
        if any(origin.expr is not None for origin in found):
            return found
        entities = self._resolver.elements(expr, scope)
        return [Origin(expr, scope, at, frame, entities)] if entities else found

    def entities(
        self, expr: n.Expr, scope: Scope, at: n.Stmt | None = None, frame: Frame = EMPTY
    ) -> Entities:
        """Returns what an expression may refer to, also through parameters and containers."""
        found: set[object] = set()
        for origin in self.of(expr, scope, at, frame):
            found |= self.entities_of(origin)
        return frozenset(found) or self._resolver.of(expr, scope)  # type: ignore[arg-type]

    def entities_of(self, origin: Origin) -> Entities:
        """Returns what an origin refers to."""
        if origin.entities is not None:
            return origin.entities
        if origin.expr is None:
            return frozenset()
        return self._resolver.of(origin.expr, origin.scope)

    # -- expressions --------------------------------------------------------------------

    def _of(self, expr: n.Expr, scope: Scope, at: n.Stmt | None, frame: Frame) -> Iterator[Origin]:
        if isinstance(expr, n.Name):
            yield from self._name(expr, scope, at, frame)
        elif isinstance(expr, n.Attribute):
            yield from self._attribute(expr, scope, at, frame)
        elif isinstance(expr, n.Conditional):
            yield from self.of(expr.body, scope, at, frame)
            yield from self.of(expr.orelse, scope, at, frame)
        elif isinstance(expr, n.BoolOp):
            yield from self.of(expr.left, scope, at, frame)
            yield from self.of(expr.right, scope, at, frame)
        elif isinstance(expr, (n.Await, n.NamedExpr, n.Starred)):
            yield from self.of(expr.value, scope, at, frame)
        elif isinstance(expr, n.Subscript):
            yield from self.elements(expr.base, scope, at, frame)
        elif isinstance(expr, n.Call):
            yield from self._call(expr, scope, at, frame)
        else:
            yield Origin(expr, scope, at, frame)

    def _name(
        self, expr: n.Name, scope: Scope, at: n.Stmt | None, frame: Frame
    ) -> Iterator[Origin]:
        for holder in self._comprehensions(expr, at):
            if isinstance(holder, n.Lambda):
                if holder.params.named(expr.id):
                    yield Origin(None, scope)
                    return
            elif isinstance(holder, n.Comprehension):
                for target, iterable in holder.loops:
                    if _binds(target, expr.id):
                        yield from self._loop(target, iterable, expr.id, scope, at, frame)
                        return
        bindings, where = self._resolver.lookup(expr.id, scope)
        if where is None:
            yield Origin(expr, scope, at, frame)
            return
        if isinstance(where, Function) and where is scope and at is not None:
            bindings = reaching(where, expr.id, at)
        for binding in bindings:
            yield from self._bound(binding, expr, where, frame)

    def _bound(
        self, binding: Binding, expr: n.Name, where: Scope, frame: Frame
    ) -> Iterator[Origin]:
        node = binding.node
        at = node if isinstance(node, n.Stmt) else None
        if isinstance(node, n.Parameter) and isinstance(where, Function):
            yield from self._parameter(node, expr, where, frame)
        elif isinstance(node, (n.Import, n.FunctionDef, n.ClassDef)):
            yield Origin(expr, where, at, frame)
        elif binding.value is not None:
            yield from self.of(binding.value, where, at, frame)
        elif binding.element_of is not None:
            yield from self.elements(binding.element_of, where, at, frame)
        elif isinstance(node, n.For):
            yield from self._loop(node.target, node.iterable, expr.id, where, at, frame)
        elif isinstance(node, n.Assign) and node.value is None:
            return
        else:
            yield Origin(None, where)

    def _parameter(
        self, node: n.Parameter, expr: n.Name, function: Function, frame: Frame
    ) -> Iterator[Origin]:
        if node.kind in {"*", "**"}:
            yield Origin(expr, function, None, frame)
            return
        given = frame.of(function)
        if given is not None:
            passed = given.get(node.name)
            if passed is not None:
                yield from self.passed(passed)
            elif node.default is not None:
                yield Origin(node.default, function.parent or function.module)
            else:
                yield Origin(expr, function, None, frame)
            return
        first = function.node.params.items[0]
        if first is node and function.owner is not None:
            yield Origin(expr, function, None, frame)
            return
        yield from self._from_callers(node, expr, function, frame)

    def _from_callers(
        self, node: n.Parameter, expr: n.Name, function: Function, frame: Frame
    ) -> Iterator[Origin]:
        if self._caller_depth >= _CALLER_DEPTH:
            yield Origin(expr, function, None, frame)
            return
        self._caller_depth += 1
        try:
            found = False
            for site in self._callers.of(function):
                passed = self.bound(site, function).get(node.name)
                if passed is not None:
                    found = True
                    yield from self.passed(passed)
                elif node.default is not None:
                    found = True
                    yield Origin(node.default, function.parent or function.module)
        finally:
            self._caller_depth -= 1
        if not found:
            yield Origin(expr, function, None, frame)

    def passed(self, passed: Passed) -> list[Origin]:
        """Returns what an argument comes from."""
        if passed.on_use is not None:
            passed.on_use()
        if passed.expr is None:
            return [Origin(None, passed.scope)]
        return self.of(passed.expr, passed.scope, passed.statement, passed.frame)

    def bound(self, site: CallSite, function: Function, frame: Frame = EMPTY) -> dict[str, Passed]:
        """Returns the arguments that a call passes; what ``**kwargs`` takes is the call itself."""
        func = site.call.func
        if isinstance(func, n.Attribute) and func.attr in {"remote", "options"}:
            skip = 1 if function.owner is not None else 0
        else:
            base = func.base if isinstance(func, n.Attribute) else None
            through = base is not None and any(
                isinstance(entity, Class) for entity in self._resolver.of(base, site.scope)
            )
            skip = bound_already(function, func, through)
        params = function.node.params
        found = bind(site.call, params, site.scope, site.statement, skip=skip, frame=frame)
        for param in params.items:
            if param.kind == "**":
                found[param.name] = Passed(site.call, site.scope, site.statement, frame)
        return found

    def _attribute(
        self, expr: n.Attribute, scope: Scope, at: n.Stmt | None, frame: Frame
    ) -> Iterator[Origin]:
        found = False
        for base in self._resolver.of(expr.base, scope):
            cls = base.cls if isinstance(base, Instance) else base
            if not isinstance(cls, Class):
                continue
            for function, statement in self._resolver.stored(cls, expr.attr):
                if statement.value is not None:
                    found = True
                    yield from self.of(statement.value, function, statement, frame)
            for holder in self._resolver.mro(cls):
                bindings = [b for b in holder.bindings_of(expr.attr) if b.value is not None]
                for binding in bindings:
                    found = True
                    yield from self.of(binding.value or expr, holder)
                if bindings:
                    break
        if not found:
            yield Origin(expr, scope, at, frame)

    def _call(
        self, expr: n.Call, scope: Scope, at: n.Stmt | None, frame: Frame
    ) -> Iterator[Origin]:
        func = expr.func
        last = func.attr if isinstance(func, n.Attribute) else n.dotted(func) or ""
        if last in _PICKS and expr.args:
            yield from self.elements(expr.args[0].value, scope, at, frame)
            return
        if isinstance(func, n.Attribute) and last in _TAKES:
            found = self.elements(func.base, scope, at, frame)
            if any(origin.expr is not None for origin in found):
                yield from found
                return
        returned: list[Origin] = []
        if last not in {"remote", "options"}:
            for target in self._resolver.of(func, scope):
                if isinstance(target, Function):
                    returned += self._returned(target, expr, scope, at, frame)
        yield from returned or [Origin(expr, scope, at, frame)]

    def _returned(
        self, target: Function, call: n.Call, scope: Scope, at: n.Stmt | None, frame: Frame
    ) -> Iterator[Origin]:
        if target.node.is_generator:
            return
        site = CallSite(call, scope, at or n.Jump(call.at, "pass"))
        inner = frame.entering(target, self.bound(site, target, frame))
        for statement in target.paths:
            if isinstance(statement, n.Return) and statement.value is not None:
                yield from self.of(statement.value, target, statement, inner)

    # -- containers ---------------------------------------------------------------------

    def _elements(
        self, expr: n.Expr, scope: Scope, at: n.Stmt | None, frame: Frame
    ) -> Iterator[Origin]:
        for value, where, statement in self._filling.of(expr, scope):
            yield from self.of(value, where, statement, frame)
        for value, where, statement in self._filling.extended(expr, scope):
            yield from self.elements(value, where, statement, frame)
        if isinstance(expr, n.Call):
            inner = _same_elements(expr)
            if inner is not None:
                yield from self.elements(inner, scope, at, frame)
                return
        if isinstance(expr, n.Binary):
            yield from self.elements(expr.left, scope, at, frame)
            yield from self.elements(expr.right, scope, at, frame)
            return
        for origin in self.of(expr, scope, at, frame):
            yield from self._inside(origin, expr)

    def _inside(self, origin: Origin, asked: n.Expr) -> Iterator[Origin]:
        display, scope, at, frame = origin.expr, origin.scope, origin.at, origin.frame
        if isinstance(display, n.Sequence):
            for element in display.elements:
                if isinstance(element, n.Starred):
                    yield from self.elements(element.value, scope, at, frame)
                else:
                    yield from self.of(element, scope, at, frame)
        elif isinstance(display, n.Dict):
            for key, value in display.items:
                if key is None:
                    yield from self.elements(value, scope, at, frame)
                else:
                    yield from self.of(value, scope, at, frame)
        elif isinstance(display, n.Comprehension):
            yield from self.of(display.element, scope, at, frame)
        elif display is asked:
            yield Origin(None, scope)
        elif display is not None:
            entities = self._resolver.elements(display, scope)
            if entities:
                yield Origin(display, scope, at, frame, entities)
            elif isinstance(display, n.Call) and _same_elements(display) is not None:
                yield from self.elements(display, scope, at, frame)
            else:
                yield Origin(None, scope)

    def _loop(
        self,
        target: n.Expr,
        iterable: n.Expr,
        name: str,
        scope: Scope,
        at: n.Stmt | None,
        frame: Frame,
    ) -> Iterator[Origin]:
        if isinstance(target, n.Name):
            yield from self.elements(iterable, scope, at, frame)
            return
        place = next(
            (i for i, part in enumerate(_parts(target)) if _binds(part, name)), len(_parts(target))
        )
        inner = _column(iterable, place)
        if inner is None:
            yield Origin(None, scope)
        else:
            yield from self._loop(_parts(target)[place], inner, name, scope, at, frame)

    def _comprehensions(self, expr: n.Expr, at: n.Stmt | None) -> Iterable[n.Expr]:
        """The comprehensions and lambdas around an expression, innermost first."""
        if at is None:
            return ()
        known = self._around.get(at)
        if known is None:
            known = self._around[at] = {}
            _note_around(at, (), known)
        return known.get(expr, ())


def _note_around(
    node: n.Node, around: tuple[n.Expr, ...], into: dict[n.Node, tuple[n.Expr, ...]]
) -> None:
    if isinstance(node, (n.Comprehension, n.Lambda)):
        around = (node, *around)
    for child in n.child_nodes(node):
        if not isinstance(child, n.Stmt):
            if around:
                into[child] = around
            _note_around(child, around, into)


def _parts(target: n.Expr) -> tuple[n.Expr, ...]:
    return target.elements if isinstance(target, n.Sequence) else ()


def _binds(target: n.Expr, name: str) -> bool:
    return any(isinstance(node, n.Name) and node.id == name for node in n.walk(target))


def _column(iterable: n.Expr, place: int) -> n.Expr | None:
    """An iterable over one place of the tuples that another one gives."""
    if isinstance(iterable, n.Sequence):
        rows = [_parts(row) for row in iterable.elements]
        if rows and all(len(row) > place for row in rows):
            return n.Sequence(iterable.at, "tuple", tuple(row[place] for row in rows))
    if not isinstance(iterable, n.Call):
        return None
    name = n.dotted(iterable.func) or ""
    if name == "enumerate" and place == 1:
        return iterable.positional(0)
    if name in {"zip", "zip_longest", "itertools.zip_longest"}:
        return iterable.positional(place)
    func = iterable.func
    if isinstance(func, n.Attribute) and func.attr == "items" and place == 1:
        return func.base
    return None


def _same_elements(call: n.Call) -> n.Expr | None:
    """The container whose elements a call gives, unchanged."""
    func = call.func
    last = func.attr if isinstance(func, n.Attribute) else n.dotted(func) or ""
    if last in _SAME_ELEMENTS and call.args:
        return call.args[-1].value if last == "filter" else call.args[0].value
    if isinstance(func, n.Attribute) and last in _SAME_CONTAINER and not call.args:
        return func.base
    return None
