"""Loops that do nothing but wait, and what stands in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rltel_lint.facts import nodes as n
from rltel_lint.project.model import Function

_WAITING = frozenset(
    {"wait", "wait_for", "join", "sleep", "clear", "is_set", "done", "acquire", "empty", "ready"}
)
"""Methods that leave what they are called on to others."""
_CLOCKS = frozenset({"perf_counter", "monotonic", "time", "perf_counter_ns", "monotonic_ns"})
_SAYING = frozenset({"print", "debug", "info", "warning", "log"})

IsModule = Callable[[str], bool]
"""Whether a bare name is an imported module or function."""


def loop_around(function: Function, statement: n.Stmt) -> tuple[n.While, n.Stmt] | None:
    """Returns the ``while`` loop that a statement stands in, and its statement there.

    Blocks around the statement that hold nothing else (a timer's, say) do not count.
    """
    path = _path(function.node.body, statement)
    here = statement
    for outer in reversed(path):
        if isinstance(outer, n.While) and any(one is here for one in outer.body):
            return outer, here
        if not isinstance(outer, n.With) or len(outer.body) > 1:
            return None
        here = outer
    return None


def reopens(loop: n.While, region: tuple[n.Stmt, ...], is_module: IsModule) -> bool:
    """Whether a loop comes round to some of its statements having done nothing else.

    Args:
        loop: The loop.
        region: The statements, one after the other in its body.
        is_module: Tells modules from objects.
    """
    place = next(index for index, one in enumerate(loop.body) if one is region[0])
    before, after = loop.body[:place], loop.body[place + len(region) :]
    probed = _probed(loop, before)
    if not all(_is_idle(one, probed) for one in before):
        return False
    if _is_about_a_pass(loop, (*before, *after), region, is_module):
        return False
    if any(one.kind == "continue" for inner in region for one in _jumps(inner)):
        return True
    return all(_is_idle(one, probed) for one in after) and _ends(loop)


def only_waits(function: Function, here: n.Stmt) -> bool:
    """Whether a function does nothing but what one statement of its body does."""
    body = function.node.body
    return any(one is here for one in body) and all(
        one is here or _is_idle(one, frozenset()) for one in body
    )


def lifetime(block: tuple[n.Stmt, ...], first: n.Stmt) -> tuple[n.Stmt, ...]:
    """Returns the statements during which a span lives, the one that opens it first.

    Args:
        block: The block around them.
        first: A ``with``, or the assignment of a span that is started by hand.
    """
    if not isinstance(first, n.Assign):
        return (first,)
    names = {target.id for target in first.targets if isinstance(target, n.Name)}
    start = next(index for index, one in enumerate(block) if one is first)
    for end in range(len(block) - 1, start, -1):
        for one in _inner(block[end : end + 1]):
            for node in n.own_nodes(one):
                func = node.func if isinstance(node, n.Call) else None
                if isinstance(func, n.Attribute) and func.attr == "end":
                    if n.dotted(func.base) in names:
                        return block[start : end + 1]
    return ()


def _path(block: tuple[n.Stmt, ...], wanted: n.Stmt) -> list[n.Stmt]:
    """The statements around a statement, the outermost first."""
    for statement in block:
        if statement is wanted:
            return []
        if isinstance(statement, (n.FunctionDef, n.ClassDef)):
            continue
        for inner in n.blocks(statement):
            if any(one is wanted for one in inner):
                return [statement]
            found = _path(inner, wanted)
            if found:
                return [statement, *found]
    return []


def _is_idle(statement: n.Stmt, probed: frozenset[str]) -> bool:
    """Whether a statement is no work: it counts, says something, asks, or leaves."""
    if isinstance(statement, (n.Jump, n.Return, n.Raise, n.AugAssign, n.Scope)):
        return True
    if isinstance(statement, n.ExprStmt):
        return not _calls(statement) or _called(statement.value) in _SAYING
    if isinstance(statement, n.Assign):
        names = {n.dotted(target) or "" for target in statement.targets}
        is_clock = statement.value is not None and _called(statement.value) in _CLOCKS
        return is_clock or names <= probed or not _calls(statement)
    if isinstance(statement, n.If):
        return all(_is_idle(one, probed) for one in (*statement.body, *statement.orelse))
    return False


def _probed(loop: n.While, before: tuple[n.Stmt, ...]) -> frozenset[str]:
    """The names that decide whether the loop is left before the wait."""
    tests = [loop.test]
    tests += [
        one.test
        for one in before
        if isinstance(one, n.If) and any(isinstance(s, (n.Jump, n.Return)) for s in one.body)
    ]
    return frozenset(name for test in tests for name in _names(test))


def _is_about_a_pass(
    loop: n.While, others: tuple[n.Stmt, ...], region: tuple[n.Stmt, ...], is_module: IsModule
) -> bool:
    """Whether what is waited for is another thing in each pass, or brought about by it.

    A loop that waits for others leaves alone what its test asks for; an item that a pass has got
    is another one each time.
    """
    own = {name for name in _names(loop.test) if not is_module(name.partition(".")[0])}
    got = {node.target.id for node in n.walk(loop.test) if isinstance(node, n.NamedExpr)
           and isinstance(node.target, n.Name)}  # fmt: skip
    got |= {name for one in others if not _is_constant(one) for name in _assigned(one)}
    for one in _inner(region):
        if _assigned(one) & own:
            return True
        tested = set(n.walk(one.test)) if isinstance(one, (n.If, n.While)) else set()
        for node in n.own_nodes(one):
            if isinstance(node, n.Name) and node.id in got and node not in tested:
                return True
            if isinstance(node, n.Call) and isinstance(node.func, n.Attribute):
                if n.dotted(node.func.base) in own and node.func.attr not in _WAITING:
                    return True
    return False


def _is_constant(statement: n.Stmt) -> bool:
    """Whether an assignment gives the same in each pass, whoever runs it."""
    return not isinstance(statement, n.Assign) or isinstance(statement.value, n.Const)


def _assigned(statement: n.Stmt) -> set[str]:
    targets: tuple[n.Expr, ...] = ()
    if isinstance(statement, n.Assign):
        targets = statement.targets
    elif isinstance(statement, n.AugAssign):
        targets = (statement.target,)
    parts = [e for t in targets for e in (t.elements if isinstance(t, n.Sequence) else (t,))]
    return {name for part in parts if (name := n.dotted(part))}


def _names(expr: n.Expr) -> Iterator[str]:
    """The names and dotted names that an expression asks, without the methods it calls."""
    called = {node.func for node in n.walk(expr) if isinstance(node, n.Call)}
    for node in n.walk(expr):
        name = n.dotted(node) if isinstance(node, (n.Name, n.Attribute)) else None
        if name and name != "self" and node not in called:
            yield name


def _ends(loop: n.While) -> bool:
    """Whether a loop waits for something, instead of running for ever."""
    if not (isinstance(loop.test, n.Const) and loop.test.value):
        return True
    return any(one.kind == "break" for s in loop.body for one in _jumps(s)) or any(
        isinstance(one, n.Return) for one in _inner(loop.body)
    )


def _jumps(statement: n.Stmt) -> Iterator[n.Jump]:
    """The ``break`` and ``continue`` in a statement that belong to the loop around it."""
    if isinstance(statement, n.Jump):
        yield statement
    elif not isinstance(statement, (n.For, n.While, n.FunctionDef, n.ClassDef)):
        for block in n.blocks(statement):
            for one in block:
                yield from _jumps(one)


def _inner(block: tuple[n.Stmt, ...]) -> Iterator[n.Stmt]:
    for statement in block:
        yield statement
        if not isinstance(statement, (n.FunctionDef, n.ClassDef)):
            for inner in n.blocks(statement):
                yield from _inner(inner)


def _calls(statement: n.Stmt) -> bool:
    return any(isinstance(node, n.Call) for node in n.own_nodes(statement))


def _called(expr: n.Expr) -> str:
    call = expr.value if isinstance(expr, n.Await) else expr
    return (n.dotted(call.func) or "").rpartition(".")[2] if isinstance(call, n.Call) else ""
