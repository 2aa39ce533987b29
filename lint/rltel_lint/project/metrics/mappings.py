"""Which keys a mapping may have when it gets to an expression.

Goes backwards: from the expression to what the name was bound to, through calls, returns and
callers, and for each object to the places that write into it. Whatever cannot be followed makes
a gap, so that nobody takes the keys that were found for all there are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rltel_lint.facts import nodes as n
from rltel_lint.project.binding import EMPTY, Frame
from rltel_lint.project.callers import CallerFinder
from rltel_lint.project.calls import CallFinder, CallSite
from rltel_lint.project.evaluate import Evaluator
from rltel_lint.project.metrics.keys import (
    NO_KEYS,
    Keys,
    gap,
    key_at,
    union,
)
from rltel_lint.project.metrics.loops import Loops
from rltel_lint.project.metrics.merging import Merging
from rltel_lint.project.metrics.results import Results, elsewhere, returns
from rltel_lint.project.metrics.writers import Writers
from rltel_lint.project.model import Binding, Class, Function, Module, Scope
from rltel_lint.project.reaching import reaching
from rltel_lint.project.resolve import External, Instance, Resolver
from rltel_lint.project.uses import Uses
from rltel_lint.vocabulary.model import KnownResult

_DEPTH = 40
_STEPS = 1000
_UNTOUCHED = 1_000_000


class _GapError(Exception):
    """A reason why not all keys are known was found, and that was the question."""


class Mappings:
    """Reads the keys of mappings.

    Args:
        resolver: Resolves names.
        finder: Finds what a call runs.
        callers: Finds callers.
        evaluator: Evaluates keys.
        uses: Finds the uses of names.
        is_logger: Whether a call logs a mapping: such a call does not write into it.
        results: Functions of libraries whose keys the vocabulary tells.
    """

    def __init__(
        self,
        resolver: Resolver,
        finder: CallFinder,
        callers: CallerFinder,
        evaluator: Evaluator,
        uses: Uses,
        is_logger: Callable[[CallSite], bool],
        results: tuple[KnownResult, ...] = (),
    ) -> None:
        self._resolver = resolver
        self._callers = callers
        self._evaluator = evaluator
        self._results = Results(self, resolver, finder, evaluator, results)
        self.merging = Merging(self, evaluator)
        self._loops = Loops(self, evaluator, resolver)
        self._writers = Writers(self, resolver, finder, evaluator, uses, is_logger)
        self._steps = 0
        self._active: dict[tuple[n.Expr, int], int] = {}
        self._lowest = _UNTOUCHED
        self._is_impatient = False
        self._renaming: list[int] = []
        self._known: dict[tuple[n.Expr, Scope, n.Stmt | None], Keys] = {}

    # -- entry --------------------------------------------------------------------------

    def of(
        self, expr: n.Expr, scope: Scope, at: n.Stmt | None = None, frame: Frame = EMPTY
    ) -> Keys:
        """Returns the keys of a mapping.

        Args:
            expr: The mapping.
            scope: Where its names are looked up.
            at: The statement of ``scope`` that holds it.
            frame: Arguments of the functions that are looked at from a call.
        """
        known = self._known.get((expr, scope, at)) if frame is EMPTY else None
        if known is not None:
            return known
        depth = len(self._active)
        self._steps = self._steps + 1 if depth else 0
        key = (expr, id(frame))
        if key in self._active:
            self._lowest = min(self._lowest, self._active[key])
            if self._renaming and self._active[key] < max(self._renaming):
                return gap("it renames its own keys in a loop")
            return NO_KEYS  # what it adds to itself
        if depth > _DEPTH or self._steps > _STEPS:
            self._lowest = -1
            return gap("it goes through too many hands")
        self._active[key] = depth
        before, self._lowest = self._lowest, _UNTOUCHED
        try:
            found = self._of(expr, scope, at, frame)
        finally:
            del self._active[key]
        if self._is_impatient and found.gaps:
            raise _GapError
        if self._lowest >= depth and frame is EMPTY:
            self._known[expr, scope, at] = found  # nothing was cut off on the way
        self._lowest = min(before, self._lowest if self._lowest < depth else _UNTOUCHED)
        return found

    def has_gap(self, expr: n.Expr, scope: Scope, at: n.Stmt | None, frame: Frame = EMPTY) -> bool:
        """Whether a mapping may have keys that are not known; stops at the first reason."""
        self._is_impatient = True
        try:
            return bool(self.of(expr, scope, at, frame).gaps)
        except _GapError:
            return True
        finally:
            self._is_impatient, self._lowest = False, _UNTOUCHED

    def key(self, expr: n.Expr, scope: Scope, at: n.Stmt | None, frame: Frame) -> Keys:
        """Returns the mapping with the one key that an expression evaluates to."""
        place = scope.place(expr)
        with self._patient():
            if isinstance(expr, n.Name) and self._shadow(expr, at) is None:
                copied = self._loops.copied(expr.id, scope, at, frame)
                if copied is not None:
                    return copied
            with self._renamed():
                variants = self._loops.variants(expr, scope, at, frame)
        return union(key_at(self._evaluator.of(one, scope, at, frame), place) for one in variants)

    @contextmanager
    def _patient(self) -> Iterator[None]:
        """What is looked at inside may have gaps without the question being answered."""
        before, self._is_impatient = self._is_impatient, False
        try:
            yield
        finally:
            self._is_impatient = before

    @contextmanager
    def _renamed(self) -> Iterator[None]:
        """What is looked at inside gives keys that are made into others."""
        self._renaming.append(len(self._active))
        try:
            yield
        finally:
            self._renaming.pop()

    def _of(self, expr: n.Expr, scope: Scope, at: n.Stmt | None, frame: Frame) -> Keys:
        def inner(part: n.Expr) -> Keys:
            return self.of(part, scope, at, frame)

        if isinstance(expr, n.Dict):
            return union(
                inner(value) if key is None else self.key(key, scope, at, frame)
                for key, value in expr.items
            )
        if isinstance(expr, n.Name):
            shadow = self._shadow(expr, at)
            if shadow is not None:
                return self._shadowed(shadow, scope, at, frame)
            return self._name(expr.id, scope, at, frame)
        if isinstance(expr, n.Call):
            return self._results.of(expr, scope, at, frame)
        if isinstance(expr, n.Attribute):
            return self._attribute(expr, scope, at, frame)
        if isinstance(expr, n.Comprehension) and expr.key is not None:
            return self.comprehension(expr, expr.key, scope, at, frame)
        if isinstance(expr, n.Conditional):
            return inner(expr.body) | inner(expr.orelse)
        if isinstance(expr, n.BoolOp) or (isinstance(expr, n.Binary) and expr.op == "|"):
            return inner(expr.left) | inner(expr.right)
        if isinstance(expr, (n.Await, n.NamedExpr)):
            return inner(expr.value)
        if isinstance(expr, n.Subscript):
            return self._looked_up(expr, scope, at, frame)
        if isinstance(expr, n.Const) and expr.value is None:
            return NO_KEYS
        return gap("it is computed")

    # -- names --------------------------------------------------------------------------

    def _name(self, name: str, scope: Scope, at: n.Stmt | None, frame: Frame) -> Keys:
        bindings, where = self._resolver.lookup(name, scope)
        if where is None:
            return gap(f"{name} is not defined in the project")
        if where.module.facts.search(re.compile(rf"\b(?:global|nonlocal)\b[^\n#]*\b{name}\b")):
            return gap(f"{name} is rebound from elsewhere")
        local = isinstance(where, Function) and where is scope and at is not None
        if isinstance(where, Function) and local and at is not None:
            bindings = reaching(where, name, at)
        bound = union(self._bound(binding, name, where, frame) for binding in bindings)
        nodes = frozenset(binding.node for binding in bindings) if local else None
        return bound | self._writers.of_name(name, where, frame, nodes)

    def _shadow(self, expr: n.Name, at: n.Stmt | None) -> Binding | None:
        return self._evaluator.shadows.binding(expr, at) if at is not None else None

    def _shadowed(self, shadow: Binding, scope: Scope, at: n.Stmt | None, frame: Frame) -> Keys:
        """A variable of a comprehension or a parameter of a lambda."""
        if shadow.element_of is None:
            return gap("it is an argument")
        return self._element_of(shadow.element_of, scope, at, frame)

    def _bound(self, binding: Binding, name: str, where: Scope, frame: Frame) -> Keys:
        node = binding.node
        at = node if isinstance(node, n.Stmt) else None
        if isinstance(node, n.Parameter):
            return self._parameter(node, where, frame)
        if isinstance(node, n.Import):
            return self._imported(node, name, where)
        if isinstance(node, n.WithItem):
            return gap(f"{name} is bound by with")
        if binding.value is not None:
            return self.of(binding.value, where, at, frame)
        if binding.element_of is not None:
            return self._element_of(binding.element_of, where, at, frame)
        if isinstance(node, n.AugAssign) and isinstance(where, Function):
            return self.of(node.target, where, node, frame)
        if isinstance(node, n.AugAssign):
            return NO_KEYS  # what it adds is one of the writes
        if isinstance(node, n.Assign) and node.value is None:
            return NO_KEYS
        if isinstance(node, n.Assign):
            return self._unpacked(node, name, where, frame)
        return gap(f"{name} is computed")

    def _imported(self, node: n.Import, name: str, where: Scope) -> Keys:
        source = self._resolver.imported_module(node, where.module)
        original = next((first for first, bound in node.names if bound == name), name)
        if isinstance(source, Module):
            return self._name(original, source, None, EMPTY)
        return elsewhere(f"{source.name}.{original}") if source else gap("it is imported")

    def _parameter(self, node: n.Parameter, where: Scope, frame: Frame) -> Keys:
        if not isinstance(where, Function) or node.kind == "*":
            return gap(f"{node.name} takes any arguments")
        default = NO_KEYS
        if node.default is not None:
            default = self.of(node.default, where.parent or where.module)
        given = frame.of(where) if node.kind != "**" else None
        if given is not None:
            passed = given.get(node.name)
            if passed is None:
                return default
            if passed.expr is None:
                return gap(f"{node.name} is passed by unpacking")
            return self.of(passed.expr, passed.scope, passed.statement, passed.frame)
        callers = self._callers.of(where)
        if node.kind == "**":
            found = [self._left_over(site, where) for site in callers.sites]
        else:
            found = [self._from_caller(site, where, node, default) for site in callers.sites]
        if not found:
            found.append(default | gap(f"{where.label} has no caller that passes {node.name}"))
        elif not callers.complete:
            found.append(gap(f"{where.label} may be called from elsewhere"))
        return union(found)

    def _from_caller(
        self, site: CallSite, function: Function, node: n.Parameter, default: Keys
    ) -> Keys:
        passed = self._evaluator.bound(site, function).get(node.name)
        if passed is None:
            return default
        if passed.expr is None:
            return gap(f"{node.name} is passed by unpacking")
        return self.of(passed.expr, passed.scope, passed.statement, passed.frame)

    def _left_over(self, site: CallSite, function: Function) -> Keys:
        """The keywords of a call that its function takes by ``**``."""
        taken = {p.name for p in function.node.params.items if p.kind in {"either", "keyword"}}
        found = self.merging.keywords(site.call, site.scope, site.statement, EMPTY)
        kept = frozenset(key for key in found.found if not set(key.value.literals) <= taken)
        return Keys(kept, found.gaps, found.outside)

    def _element_of(self, container: n.Expr, where: Scope, at: n.Stmt | None, frame: Frame) -> Keys:
        displays = self._evaluator.displays(container, where, at)
        if displays is None or not all(isinstance(d, n.Sequence) for d, _ in displays):
            return gap("it loops over something unknown")
        return union(
            self.of(element, holder, at if holder is where else None, frame)
            for display, holder in displays
            if isinstance(display, n.Sequence)
            for element in display.elements
        )

    def _unpacked(self, node: n.Assign, name: str, where: Scope, frame: Frame) -> Keys:
        found = []
        for target in node.targets:
            if isinstance(target, n.Sequence) and node.value is not None:
                width = len(target.elements)
                found += [
                    self._item(node.value, index, width, where, node, frame)
                    for index, element in enumerate(target.elements)
                    if isinstance(element, n.Name) and element.id == name
                ]
        return union(found) if found else gap(f"{name} is unpacked")

    def _item(
        self, value: n.Expr, index: int, width: int, where: Scope, at: n.Stmt, frame: Frame
    ) -> Keys:
        """The element at one place of what an expression evaluates to."""
        if isinstance(value, n.Await):
            return self._item(value.value, index, width, where, at, frame)
        if isinstance(value, n.Sequence) and len(value.elements) == width:
            return self.of(value.elements[index], where, at, frame)
        if isinstance(value, n.Call):
            found = []
            for function, entered in self._results.runs(value, where, at, frame):
                for statement in returns(function):
                    if statement.value is not None:
                        found.append(
                            self._item(statement.value, index, width, function, statement, entered)
                        )
            if found:
                return union(found)
        return gap("it is unpacked")

    # -- attributes and look-ups --------------------------------------------------------

    def _attribute(self, expr: n.Attribute, scope: Scope, at: n.Stmt | None, frame: Frame) -> Keys:
        if expr.attr == "__dict__":
            return self._results.fields(expr.base, scope)
        found: list[Keys] = []
        for base in self._resolver.of(expr.base, scope):
            if isinstance(base, Module):
                found.append(self._name(expr.attr, base, None, EMPTY))
            elif isinstance(base, External):
                found.append(elsewhere(f"{base.name}.{expr.attr}"))
            cls = base.cls if isinstance(base, Instance) else base
            if isinstance(cls, Class):
                found.append(self._of_class(cls, expr.attr))
        if not found:
            return gap(f"the class of .{expr.attr} is not known")
        return union(found)

    def _of_class(self, cls: Class, attr: str) -> Keys:
        for holder in self._resolver.mro(cls):
            methods = holder.methods_named(attr)
            if methods:
                return union(self._results.returned(method, EMPTY) for method in methods)
        return self._writers.of_attribute(attr, cls)

    def _looked_up(self, expr: n.Subscript, scope: Scope, at: n.Stmt | None, frame: Frame) -> Keys:
        displays = self._evaluator.displays(expr.base, scope, at)
        if displays is None or not all(isinstance(d, n.Dict) for d, _ in displays):
            return gap("it is looked up in something unknown")
        wanted = self._evaluator.of(expr.index, scope, at, frame).exact
        found: list[Keys] = []
        for display, where in displays:
            for key, value in display.items if isinstance(display, n.Dict) else ():
                name = self._evaluator.of(key, where).exact if key is not None else None
                if wanted is None or name is None or name == wanted:
                    found.append(self.of(value, where, at if where is scope else None, frame))
        # The value is an object of its own, and others may write into it.
        return union([*found, gap("it is looked up in a container")])

    def comprehension(
        self, expr: n.Comprehension, key: n.Expr, scope: Scope, at: n.Stmt | None, frame: Frame
    ) -> Keys:
        """Returns the mapping whose keys are what a comprehension makes of its loops."""
        place = scope.place(key)
        with self._patient():
            if isinstance(key, n.Name):
                copied = self._loops.copied_in(expr.loops, key.id, scope, at, frame)
                if copied is not None:
                    return copied
            with self._renamed():
                variants = self._loops.variants_in(expr.loops, key, scope, at, frame)
        return union(key_at(self._evaluator.of(one, scope, at, frame), place) for one in variants)
