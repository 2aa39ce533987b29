"""Calls that only make something to run later: generators and coroutines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rltel_lint.facts import nodes as n
from rltel_lint.project.calls import CallFinder, CallSite
from rltel_lint.project.model import Function

_TRANSPARENT = {
    *("staticmethod", "classmethod", "override", "final", "abstractmethod"),
    *("accepts_trace_context", "traced_remote_call"),
}


def kind_of(function: Function) -> str:
    """Returns what a call of a function makes, as the vocabulary calls it."""
    if function.node.is_generator:
        return "async generator" if function.node.is_async else "generator"
    return "coroutine" if function.node.is_async else "function"


def made_lazily(site: CallSite, finder: CallFinder) -> Function | None:
    """Returns the function whose body a call certainly does not run yet, ``None`` otherwise."""
    func = site.call.func
    if isinstance(func, n.Attribute) and func.attr in {"remote", "options"}:
        return None
    targets = finder.targets(site) or []
    for target in targets:
        if kind_of(target) == "function" or not all(map(_keeps, target.node.decorators)):
            return None
    return targets[0] if targets else None


def _keeps(decorator: n.Expr) -> bool:
    """Whether a decorator is known to leave the kind of a function as it is."""
    func = decorator.func if isinstance(decorator, n.Call) else decorator
    return (n.dotted(func) or "").rpartition(".")[2] in _TRANSPARENT


def first_yield(block: Iterable[n.Stmt]) -> n.Yield | None:
    """Returns the first ``yield`` of a block, not of functions in it."""
    for statement in block:
        yields = [node for node in n.own_nodes(statement) if isinstance(node, n.Yield)]
        if yields:
            return min(yields, key=lambda node: node.at)
        if isinstance(statement, (n.FunctionDef, n.ClassDef)):
            continue
        for inner in n.blocks(statement):
            found = first_yield(inner)
            if found is not None:
                return found
    return None


def ways_out(block: Iterable[n.Stmt]) -> Iterator[n.Stmt]:
    """Yields the statements that leave a loop early: ``break`` of its own, and ``return``."""
    for statement in block:
        if isinstance(statement, n.Return) or (
            isinstance(statement, n.Jump) and statement.kind == "break"
        ):
            yield statement
        elif isinstance(statement, (n.For, n.While)):
            yield from (one for one in ways_out(statement.body) if isinstance(one, n.Return))
            yield from ways_out(statement.orelse)
        elif not isinstance(statement, (n.FunctionDef, n.ClassDef)):
            for inner in n.blocks(statement):
                yield from ways_out(inner)
