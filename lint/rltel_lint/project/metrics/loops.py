"""What a loop variable stands for, where the evaluator of single strings does not look."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, product
from typing import TYPE_CHECKING

from rltel_lint.facts import nodes as n
from rltel_lint.project.binding import Frame
from rltel_lint.project.evaluate import Evaluator
from rltel_lint.project.metrics.keys import Keys, key_at, names_in, substitute, union
from rltel_lint.project.model import Function, Scope
from rltel_lint.project.reaching import reaching
from rltel_lint.project.resolve import Resolver
from rltel_lint.values import HOLE, LIMIT

if TYPE_CHECKING:
    from rltel_lint.project.metrics.mappings import Mappings

Loop = tuple[n.Expr, n.Expr]
"""Target and iterable."""

_SAME_ELEMENTS = frozenset({"sorted", "reversed", "list", "tuple", "set", "iter"})


class Loops:
    """Reads loops over mappings, over literal rows and over several things at once.

    Args:
        mappings: Reads the mapping that is looped over.
        evaluator: Evaluates elements.
        resolver: Resolves names.
    """

    def __init__(self, mappings: Mappings, evaluator: Evaluator, resolver: Resolver) -> None:
        self._mappings = mappings
        self._evaluator = evaluator
        self._resolver = resolver

    # -- for statements -----------------------------------------------------------------

    def copied(self, name: str, scope: Scope, at: n.Stmt | None, frame: Frame) -> Keys | None:
        """Returns the keys a name takes in turn, if it only ever is a variable of ``for`` loops."""
        loops = self._loops_of(name, scope, at)
        if not loops:
            return None
        found = [self._keys(loop, name, where, holder, frame) for loop, where, holder in loops]
        return union(part for part in found if part is not None) if None not in found else None

    def variants(self, expr: n.Expr, scope: Scope, at: n.Stmt | None, frame: Frame) -> list[n.Expr]:
        """Returns an expression with what its loop variables stand for, one for each choice."""
        choices: dict[str, list[n.Expr]] = {}
        for name in names_in(expr) - self._shadowed(expr, at):
            copied = self.copied(name, scope, at, frame)
            if copied is not None:
                choices[name] = _spelled(copied, expr.at)
        return _combined(expr, choices)

    def _shadowed(self, expr: n.Expr, at: n.Stmt | None) -> set[str]:
        """The names that a comprehension around gives another meaning; evaluated elsewhere."""
        shadows = self._evaluator.shadows
        return {
            node.id
            for node in n.walk(expr)
            if isinstance(node, n.Name) and at is not None and shadows.binding(node, at)
        }

    def _loops_of(
        self, name: str, scope: Scope, at: n.Stmt | None
    ) -> list[tuple[Loop, Scope, n.For]]:
        bindings, where = self._resolver.lookup(name, scope)
        if where is None:
            return []
        if isinstance(where, Function) and where is scope and at is not None:
            bindings = reaching(where, name, at)
        found = [
            ((binding.node.target, binding.node.iterable), where, binding.node)
            for binding in bindings
            if isinstance(binding.node, n.For)
        ]
        return found if len(found) == len(bindings) else []

    # -- comprehensions -----------------------------------------------------------------

    def copied_in(
        self, loops: Sequence[Loop], name: str, scope: Scope, at: n.Stmt | None, frame: Frame
    ) -> Keys | None:
        """Returns the keys that a variable of a comprehension takes, ``None`` if unknown."""
        found = None
        for loop in loops:
            found = self._keys(loop, name, scope, at, frame) or found
        return found

    def variants_in(
        self, loops: Sequence[Loop], expr: n.Expr, scope: Scope, at: n.Stmt | None, frame: Frame
    ) -> list[n.Expr]:
        """Returns an expression of a comprehension with what the variables stand for."""
        bound = {name for target, _ in loops for name in names_in(target)}
        choices: dict[str, list[n.Expr]] = {}
        for name in names_in(expr) & bound:
            keys = self.copied_in(loops, name, scope, at, frame)
            known = keys is not None
            choices[name] = _spelled(keys, expr.at) if keys and known else [n.Other(expr.at)]
        found = []
        for variant in _combined(expr, choices):
            found += self.variants(variant, scope, at, frame)
        return found

    # -- both ---------------------------------------------------------------------------

    def _keys(
        self, loop: Loop, name: str, scope: Scope, at: n.Stmt | None, frame: Frame
    ) -> Keys | None:
        """What a name takes from one loop; ``None`` when that is not known or it takes nothing."""
        target, iterable = loop
        if isinstance(iterable, n.Call):
            inner = self._through_call(target, iterable, name, scope, at, frame)
            if inner is not None:
                return inner
        displays = self._evaluator.displays(iterable, scope, at)
        if isinstance(target, n.Name) and isinstance(iterable, n.Name):
            if any(isinstance(display, n.Dict) for display, _ in displays or ()):
                displays = None  # others may write into what has a name
        if displays is not None:
            parts = [_column(target, display, name) for display, _ in displays]
            if None in parts:
                return None
            return union(
                key_at(
                    self._evaluator.of(element, where, at if where is scope else None, frame),
                    where.place(element),
                )
                for part, (_, where) in zip(parts, displays, strict=True)
                for element in part or ()
            )
        if isinstance(target, n.Name) and target.id == name:
            return self._mappings.merging.iterated(iterable, scope, at, frame)
        return None

    def _through_call(
        self,
        target: n.Expr,
        call: n.Call,
        name: str,
        scope: Scope,
        at: n.Stmt | None,
        frame: Frame,
    ) -> Keys | None:
        parts = target.elements if isinstance(target, n.Sequence) else ()
        func = n.dotted(call.func)
        if isinstance(call.func, n.Attribute) and call.func.attr == "items" and len(parts) == 2:
            if isinstance(parts[0], n.Name) and parts[0].id == name:
                return self._mappings.of(call.func.base, scope, at, frame)
            return None
        args = [arg.value for arg in call.args if arg.keyword is None and not arg.star]
        if func == "enumerate" and len(parts) == 2 and args:
            return self._keys((parts[1], args[0]), name, scope, at, frame)
        if func == "zip" and len(parts) == len(args):
            for part, arg in zip(parts, args, strict=True):
                if name in names_in(part):
                    return self._keys((part, arg), name, scope, at, frame)
        if func in _SAME_ELEMENTS and args:
            return self._keys((target, args[0]), name, scope, at, frame)
        return None


def _column(target: n.Expr, display: n.Expr, name: str) -> list[n.Expr] | None:
    """The elements of a literal container that a name in the target takes."""
    if isinstance(display, n.Dict):
        rows: list[n.Expr | None] = [key for key, _ in display.items]
    else:
        rows = list(display.elements) if isinstance(display, n.Sequence) else [None]
    found: list[n.Expr] = []
    for row in rows:
        part = _part(target, row, name)
        if part is None:
            return None
        found.append(part)
    return found


def _part(target: n.Expr, row: n.Expr | None, name: str) -> n.Expr | None:
    if row is None or isinstance(row, n.Starred):
        return None
    if isinstance(target, n.Name):
        return row if target.id == name else None
    if isinstance(target, n.Sequence) and isinstance(row, n.Sequence):
        if len(target.elements) == len(row.elements):
            for inner, part in zip(target.elements, row.elements, strict=True):
                found = _part(inner, part, name)
                if found is not None:
                    return found
    return None


def _spelled(keys: Keys, at: n.Span) -> list[n.Expr]:
    """Expressions that evaluate to the keys, and one that evaluates to nothing known."""
    templates = sorted({t for key in keys.found for t in key.value.templates})
    found: list[n.Expr] = [_expression(template, at) for template in templates]
    return found if keys.closed else [*found, n.Other(at)]


def _expression(template: str, at: n.Span) -> n.Expr:
    parts: list[str | n.Expr | None] = []
    for place, text in enumerate(template.split(HOLE)):
        parts += [None, text] if place else [text]
    return n.FString(at, tuple(parts))


def _combined(expr: n.Expr, choices: dict[str, list[n.Expr]]) -> list[n.Expr]:
    if not choices:
        return [expr]
    found = list(islice(_products(expr, choices), LIMIT + 1))
    if len(found) > LIMIT:
        unknown: dict[str, n.Expr] = {name: n.Other(expr.at) for name in choices}
        return [substitute(expr, unknown)]
    return found


def _products(expr: n.Expr, choices: dict[str, list[n.Expr]]) -> Iterator[n.Expr]:
    names = list(choices)
    every: Iterable[tuple[n.Expr, ...]] = product(*choices.values())
    for one in every:
        yield substitute(expr, dict(zip(names, one, strict=True)))
