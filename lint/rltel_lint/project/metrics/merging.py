"""Which keys a mapping takes over from arguments: mappings, keywords, pairs, elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rltel_lint.facts import nodes as n
from rltel_lint.project.binding import Frame
from rltel_lint.project.evaluate import Evaluator
from rltel_lint.project.metrics.keys import NO_KEYS, Keys, gap, key_at, union
from rltel_lint.project.model import Scope

if TYPE_CHECKING:
    from rltel_lint.project.metrics.mappings import Mappings


class Merging:
    """Reads what ``dict(...)``, ``.update(...)`` and ``**`` take over.

    Args:
        mappings: Reads keys and mappings.
        evaluator: Evaluates the elements of containers.
    """

    def __init__(self, mappings: Mappings, evaluator: Evaluator) -> None:
        self._mappings = mappings
        self._evaluator = evaluator

    def keywords(self, call: n.Call, scope: Scope, at: n.Stmt | None, frame: Frame) -> Keys:
        """Returns the mapping of a call's keyword arguments."""
        found = []
        for arg in call.args:
            if arg.keyword is not None:
                name = n.Const(arg.at, arg.keyword)
                found.append(self._mappings.key(name, scope, at, frame))
            elif arg.star == "**":
                found.append(self._mappings.of(arg.value, scope, at, frame))
        return union(found)

    def merged(self, call: n.Call, scope: Scope, at: n.Stmt | None, frame: Frame) -> Keys:
        """Returns what ``dict(...)`` or ``.update(...)`` takes from its arguments."""
        found = [self.keywords(call, scope, at, frame)]
        for arg in call.args:
            if arg.keyword is None and not arg.star:
                found.append(self.pairs(arg.value, scope, at, frame))
            elif arg.star == "*":
                found.append(gap("it is passed by unpacking"))
        return union(found)

    def pairs(self, expr: n.Expr, scope: Scope, at: n.Stmt | None, frame: Frame) -> Keys:
        """Returns the keys of a mapping, or of an iterable of pairs."""
        if isinstance(expr, n.Sequence):
            return union(self._pair(part, scope, at, frame) for part in expr.elements)
        if isinstance(expr, n.Comprehension) and expr.kind != "dict":
            element = expr.element
            if isinstance(element, n.Sequence) and len(element.elements) == 2:
                return self._mappings.comprehension(expr, element.elements[0], scope, at, frame)
            return gap("it is computed")
        if isinstance(expr, n.Call) and n.dotted(expr.func) == "zip" and expr.args:
            return self.of_elements(expr.args[0].value, scope, at, frame)
        if isinstance(expr, n.Call) and n.dotted(expr.func) in {"sorted", "list", "tuple"}:
            return self.pairs(expr.args[0].value, scope, at, frame) if expr.args else NO_KEYS
        if isinstance(expr, n.Name):
            displays = self._evaluator.displays(expr, scope, at)
            if displays and all(isinstance(display, n.Sequence) for display, _ in displays):
                return union(self.pairs(d, where, None, frame) for d, where in displays)
        return self._mappings.of(expr, scope, at, frame)

    def _pair(self, expr: n.Expr, scope: Scope, at: n.Stmt | None, frame: Frame) -> Keys:
        if isinstance(expr, n.Sequence) and len(expr.elements) == 2:
            return self._mappings.key(expr.elements[0], scope, at, frame)
        return gap("it is computed")

    def of_elements(self, expr: n.Expr, scope: Scope, at: n.Stmt | None, frame: Frame) -> Keys:
        """Returns the mapping whose keys are the elements of a container."""
        values = self._evaluator.elements(expr, scope, at, frame)
        if values is None:
            return self.iterated(expr, scope, at, frame)
        return union(key_at(value, scope.place(expr)) for value in values)

    def iterated(self, expr: n.Expr, scope: Scope, at: n.Stmt | None, frame: Frame) -> Keys:
        """Returns the keys that iterating over a mapping gives; a gap for anything else."""
        if isinstance(expr, n.Call) and isinstance(expr.func, n.Attribute):
            if expr.func.attr == "keys" and not expr.args:
                return self._mappings.of(expr.func.base, scope, at, frame)
        if isinstance(expr, n.Call) and n.dotted(expr.func) in {"sorted", "list", "set", "tuple"}:
            return self.iterated(expr.args[0].value, scope, at, frame) if expr.args else NO_KEYS
        if isinstance(expr, (n.Name, n.Attribute)):
            return self._mappings.of(expr, scope, at, frame)
        return gap("it loops over something unknown")
