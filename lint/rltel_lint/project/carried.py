"""The sending half of a carrier: whether the arguments of a call have one among them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from rltel_lint.facts import nodes as n
from rltel_lint.project.binding import EMPTY, Frame
from rltel_lint.project.evaluate import Evaluator
from rltel_lint.project.filling import Filling
from rltel_lint.project.model import Function, Scope
from rltel_lint.project.origins import Origin, Origins
from rltel_lint.project.resolve import Resolver
from rltel_lint.project.spans import expr_means
from rltel_lint.vocabulary.model import Carriers

Sent = Literal["yes", "no", "unknown"]

KEYWORD_CONSTANT = "TRACE_CARRIER_KWARG"
_DEPTH = 12


class Carried:
    """Tells whether a call sends a carrier.

    Args:
        carriers: What the names mean.
        resolver: Resolves names.
        evaluator: Evaluates keys.
        origins: Follows dicts back to where they were made.
    """

    def __init__(
        self, carriers: Carriers, resolver: Resolver, evaluator: Evaluator, origins: Origins
    ) -> None:
        self._carriers = carriers
        self._resolver = resolver
        self._evaluator = evaluator
        self._origins = origins
        self._filling = Filling(resolver)
        self._depth = 0

    def by_call(
        self,
        call: n.Call,
        scope: Scope,
        at: n.Stmt | None,
        frame: Frame = EMPTY,
        *,
        in_dicts: bool = False,
    ) -> Sent:
        """Returns whether the arguments of a call have a carrier.

        Args:
            call: The call.
            scope: Where its names are looked up.
            at: The statement that holds it.
            frame: The arguments of the functions around it.
            in_dicts: Whether a dict that is passed under a keyword may hold the carrier too, as
                in ``common_kwargs={**trace_context_kwargs()}``.
        """
        found: list[Sent] = []
        for arg in call.args:
            if arg.keyword == self._carriers.keyword:
                found.append(self._value(arg.value, scope, at, frame))
            elif arg.star == "**":
                found.append(self.by_dict(arg.value, scope, at, frame))
            elif in_dicts and arg.keyword is not None and not arg.star:
                inner = self.by_dict(arg.value, scope, at, frame)
                if inner == "yes" or "kwargs" in arg.keyword:
                    found.append(inner)
        return either(found)

    def by_dict(self, expr: n.Expr, scope: Scope, at: n.Stmt | None, frame: Frame = EMPTY) -> Sent:
        """Returns whether a dict of keywords has a carrier in it."""
        if self._depth > _DEPTH:
            return "unknown"
        self._depth += 1
        try:
            return self._by_dict(expr, scope, at, frame)
        finally:
            self._depth -= 1

    def _by_dict(self, expr: n.Expr, scope: Scope, at: n.Stmt | None, frame: Frame) -> Sent:
        if isinstance(expr, n.Call) and self._is_helper(expr.func, scope):
            return "yes"
        found = [self._made(expr, origin) for origin in self._origins.of(expr, scope, at, frame)]
        if isinstance(expr, (n.Name, n.Attribute)):
            found += [
                self._changed(change, where, statement, frame)
                for change, where, statement in self._filling.changes(expr, scope)
            ]
        return either(found) if found else "unknown"

    def _is_helper(self, func: n.Expr, scope: Scope) -> bool:
        helpers = self._carriers.keyword_helpers
        return expr_means(func, scope, helpers, self._resolver) is not None

    def _made(self, asked: n.Expr, origin: Origin) -> Sent:
        expr, scope, at, frame = origin.expr, origin.scope, origin.at, origin.frame
        if expr is None:
            return "unknown"
        if isinstance(expr, n.Dict):
            return self._display(expr, scope, at, frame)
        if isinstance(expr, n.Const):
            return "no"  # None, in front of ``or {}``
        if isinstance(expr, n.Binary):
            sides = (expr.left, expr.right)
            return either([self.by_dict(side, scope, at, frame) for side in sides])
        if isinstance(expr, n.Call):
            return self._by_calling(expr, scope, at, frame)
        if isinstance(expr, n.Name) and isinstance(scope, Function):
            return self._open_parameter(expr, scope, frame)
        return "unknown" if expr is asked else self.by_dict(expr, scope, at, frame)

    def _open_parameter(self, expr: n.Name, function: Function, frame: Frame) -> Sent:
        """What a call passes under ``**kwargs`` of the function around."""
        passed = (frame.of(function) or {}).get(expr.id)
        param = function.node.params.named(expr.id)
        if passed is None or param is None or param.kind != "**":
            return "unknown"
        if passed.on_use is not None:
            passed.on_use()
        if not isinstance(passed.expr, n.Call):
            return "unknown"
        return self.by_call(passed.expr, passed.scope, passed.statement, passed.frame)

    def _display(self, expr: n.Dict, scope: Scope, at: n.Stmt | None, frame: Frame) -> Sent:
        found: list[Sent] = []
        for key, value in expr.items:
            if key is None:
                found.append(self.by_dict(value, scope, at, frame))
            else:
                found.append(self._item(key, value, scope, at, frame))
        return either(found)

    def _item(
        self, key: n.Expr, value: n.Expr, scope: Scope, at: n.Stmt | None, frame: Frame
    ) -> Sent:
        if is_keyword(key, scope, self._carriers.keyword, self._evaluator, at, frame):
            return self._value(value, scope, at, frame)
        known = isinstance(key, n.Const) or self._evaluator.of(key, scope, at, frame).known
        return "no" if known else "unknown"

    def _value(self, value: n.Expr, scope: Scope, at: n.Stmt | None, frame: Frame) -> Sent:
        """A carrier that is written out counts, unless it can only be ``None``."""
        origins = self._origins.of(value, scope, at, frame)
        nothing = [isinstance(o.expr, n.Const) and o.expr.value is None for o in origins]
        return "no" if nothing and all(nothing) else "yes"

    def _by_calling(self, call: n.Call, scope: Scope, at: n.Stmt | None, frame: Frame) -> Sent:
        func = call.func
        if self._is_helper(func, scope):
            return "yes"
        name = n.dotted(func) or ""
        if name in {"dict", "copy.copy", "copy.deepcopy", "deepcopy", "defaultdict"}:
            found = [self.by_call(call, scope, at, frame)]
            found += [
                self.by_dict(arg.value, scope, at, frame)
                for arg in call.args
                if arg.keyword is None and not arg.star
            ]
            return either(found)
        if isinstance(func, n.Attribute) and func.attr == "copy" and not call.args:
            return self.by_dict(func.base, scope, at, frame)
        return "unknown"

    def _changed(self, change: n.Expr, scope: Scope, at: n.Stmt, frame: Frame) -> Sent:
        """What a statement adds to a dict."""
        if isinstance(change, n.Call) and isinstance(change.func, n.Attribute):
            if change.func.attr == "setdefault":
                key = change.positional(0)
                value = change.positional(1) or change
                return self._item(key, value, scope, at, frame) if key is not None else "no"
            found = [self.by_call(change, scope, at, frame)]
            found += [
                self.by_dict(arg.value, scope, at, frame)
                for arg in change.args
                if arg.keyword is None and not arg.star
            ]
            return either(found)
        if isinstance(change, n.Subscript) and isinstance(at, n.Assign) and at.value is not None:
            return self._item(change.index, at.value, scope, at, frame)
        if isinstance(at, n.AugAssign):
            return self.by_dict(at.value, scope, at, frame)
        return "no"


def is_keyword(
    key: n.Expr,
    scope: Scope,
    keyword: str,
    evaluator: Evaluator,
    at: n.Stmt | None = None,
    frame: Frame = EMPTY,
) -> bool:
    """Whether an expression is the carrier's keyword, as a string or as its constant."""
    last = key.attr if isinstance(key, n.Attribute) else key.id if isinstance(key, n.Name) else ""
    return last == KEYWORD_CONSTANT or evaluator.of(key, scope, at, frame).exact == keyword


def either(found: Iterable[Sent]) -> Sent:
    """Returns ``yes`` if any is, else ``unknown`` if any is, else ``no``."""
    kinds = set(found)
    return "yes" if "yes" in kinds else "unknown" if "unknown" in kinds else "no"
