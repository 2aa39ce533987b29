"""Which argument of a call becomes which parameter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from rltel_lint.facts import nodes as n
from rltel_lint.project.model import Class, Function, Scope


@dataclass(frozen=True, eq=False)
class Frame:
    """The arguments with which functions are being looked at."""

    functions: Mapping[Function, Mapping[str, Passed]] = field(default_factory=dict)

    def of(self, function: Function) -> Mapping[str, Passed] | None:
        """Returns the arguments of a function, ``None`` when it is looked at on its own."""
        return self.functions.get(function)

    def entering(self, function: Function, passed: Mapping[str, Passed]) -> Frame:
        """Returns the frame inside a call of the function."""
        return Frame({**self.functions, function: passed})


EMPTY = Frame()


@dataclass(frozen=True, eq=False)
class Passed:
    """An argument with all that is needed to evaluate it.

    Attributes:
        expr: What is passed; ``None`` when it comes out of an unpacking.
        scope: Where its names are looked up.
        statement: The statement of the scope that holds it.
        frame: The arguments of the functions around it.
        on_use: Called when the argument is evaluated; how one learns that it matters.
        reason: Why nothing is known of an argument without an expression.
    """

    expr: n.Expr | None
    scope: Scope
    statement: n.Stmt | None = None
    frame: Frame = EMPTY
    on_use: Callable[[], None] | None = None
    reason: str = "it is passed by unpacking"


def bind(
    call: n.Call,
    params: n.Parameters,
    scope: Scope,
    statement: n.Stmt | None,
    *,
    skip: int = 0,
    frame: Frame = EMPTY,
) -> dict[str, Passed]:
    """Matches the arguments of a call with parameters.

    Args:
        call: The call.
        params: The parameters of what is called.
        scope: Where the call's names are looked up.
        statement: The statement that holds the call.
        skip: How many parameters are already bound (``self``).
        frame: The frame that the call itself is looked at in.

    Returns:
        The argument of each parameter that gets one. Parameters that an unpacking may fill map
        to a :class:`Passed` without an expression.
    """

    def passed(expr: n.Expr | None) -> Passed:
        return Passed(expr, scope, statement, frame)

    found: dict[str, Passed] = {}
    slots = [p for p in params.items if p.kind in {"positional", "either"}][skip:]
    names = {p.name for p in params.items if p.kind in {"either", "keyword"}}
    open_ended = False
    place = 0
    for arg in call.args:
        if arg.star == "*":
            open_ended = True
            for slot in slots[place:]:
                found.setdefault(slot.name, passed(None))
        elif arg.star == "**":
            for key, value in _unpacked(arg.value):
                if key is None:
                    for name in names:
                        found.setdefault(name, passed(None))
                elif key in names:
                    found[key] = passed(value)
        elif arg.keyword is not None:
            if arg.keyword in names:
                found[arg.keyword] = passed(arg.value)
        elif not open_ended:
            if place < len(slots):
                found[slots[place].name] = passed(arg.value)
            place += 1
    return found


def _unpacked(value: n.Expr) -> Iterator[tuple[str | None, n.Expr | None]]:
    if not isinstance(value, n.Dict):
        yield None, None
        return
    for key, item in value.items:
        if isinstance(key, n.Const) and isinstance(key.value, str):
            yield key.value, item
        elif key is None:
            yield from _unpacked(item)
        else:
            yield None, None


def bound_already(function: Function, func: n.Expr, through_class: bool) -> int:
    """Returns how many leading parameters a call of this form does not pass.

    Args:
        function: What is called.
        func: The expression before the parentheses.
        through_class: Whether ``func`` looks the method up on the class itself.
    """
    if function.owner is None:
        return 0
    kinds = {n.dotted(decorator) for decorator in function.node.decorators}
    if "staticmethod" in kinds:
        return 0
    if function.name == "__init__" and not isinstance(func, n.Attribute):
        return 1
    if through_class and "classmethod" not in kinds and function.name != "__init__":
        return 0
    return 1


def init_of(cls: Class, mro: tuple[Class, ...]) -> Function | None:
    """Returns the constructor that runs for a class, ``None`` if none is in the project."""
    for holder in mro:
        methods = holder.methods_named("__init__")
        if methods:
            return methods[-1]
    return None
