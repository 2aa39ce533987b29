"""Which of two statements of a function may run before the other."""

from __future__ import annotations

from rltel_lint.facts import nodes as n
from rltel_lint.project.model import Function, Path


def comes_before(first: n.Stmt, second: n.Stmt, function: Function) -> bool:
    """Whether control may go from one statement to another that stands behind it.

    Two branches of one ``if`` exclude each other, and a branch that returns or raises leads to
    what stands behind only through a ``finally`` or a handler.

    Args:
        first: A statement of the function.
        second: Another one.
        function: The function of both.
    """
    one, two = function.paths.get(first), function.paths.get(second)
    if one is None or two is None or first.at > second.at:
        return first.at <= second.at
    shared = 0
    while shared < min(len(one), len(two)) and one[shared] == two[shared]:
        shared += 1
    if shared < len(one) and shared and _excluded(one, two, shared):
        return False
    for level in range(len(one) - 1, shared, -1):
        if _leaves(one[level][0]) and not _caught(one, two, level, shared):
            return False
    return True


def _excluded(one: Path, two: Path, shared: int) -> bool:
    """Whether both stand in different branches of the statement that they share."""
    block, index = one[shared - 1]
    around = block[index]
    if not isinstance(around, (n.If, n.Match)) or shared >= len(two):
        return False
    return one[shared][0] is not two[shared][0]


def _leaves(block: tuple[n.Stmt, ...]) -> bool:
    """Whether a block ends by leaving the function."""
    last = block[-1]
    if isinstance(last, n.With):
        return _leaves(last.body)
    if isinstance(last, n.If):
        return bool(last.orelse) and _leaves(last.body) and _leaves(last.orelse)
    return isinstance(last, (n.Return, n.Raise))


def _caught(one: Path, two: Path, level: int, shared: int) -> bool:
    """Whether a ``try`` around the way out leads to the second statement all the same."""
    for depth in range(shared - 1, level):
        if depth < 0:
            continue
        block, index = one[depth]
        around = block[index]
        if isinstance(around, n.Try) and (block, index) in two:
            return True
    return False
