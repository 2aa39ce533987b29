"""Which bindings of a local name can be in force at a statement."""

from __future__ import annotations

from collections.abc import Iterator

from rltel_lint.facts import nodes as n
from rltel_lint.project.model import (
    Binding,
    Function,
    bound_by_header,
    bound_in,
    bound_in_passing,
    bound_surely,
)

Block = tuple[n.Stmt, ...]

_DEFINITIONS = (n.FunctionDef, n.ClassDef, n.Import)


def reaching(function: Function, name: str, statement: n.Stmt) -> list[Binding]:
    """Returns the bindings of a name that may be in force just before a statement.

    Goes backwards from the statement, through branches and loops, until every path is cut by an
    assignment; a parameter counts as bound at the start.

    Args:
        function: The function that owns the statement and the name.
        name: A name bound in it.
        statement: A statement of this function.

    Returns:
        The bindings; never fewer than at run time.
    """
    known = function.reached.get((name, statement))
    if known is None:
        known = function.reached[name, statement] = _reaching(function, name, statement)
    return known


def _reaching(function: Function, name: str, statement: n.Stmt) -> list[Binding]:
    path = function.paths.get(statement)
    if path is None:
        return function.bindings_of(name)
    found: list[Binding] = list(_early(statement, name))
    if isinstance(statement, n.While):
        found += _everywhere(statement.body, name)
    for level in range(len(path) - 1, -1, -1):
        block, index = path[level]
        if _back(block, index, name, found):
            return found
        if level > 0:
            outer_block, outer_index = path[level - 1]
            if _enter(outer_block[outer_index], block, name, found):
                return found
    found += [
        binding for binding in function.bindings_of(name) if isinstance(binding.node, n.Parameter)
    ]
    return found


def _early(statement: n.Stmt, name: str) -> Iterator[Binding]:
    """What the statement itself binds before it may use the name: ``:=``, ``with a as b, c(b)``."""
    passing = () if isinstance(statement, _DEFINITIONS) else bound_in_passing(statement)
    items = bound_surely(statement) if isinstance(statement, n.With) else ()
    return (binding for bound, binding in (*passing, *items) if bound == name)


def _in_header(statement: n.Stmt, name: str) -> Iterator[Binding]:
    return (binding for bound, binding in bound_by_header(statement) if bound == name)


def _everywhere(block: Block, name: str) -> list[Binding]:
    return [binding for bound, binding in bound_in(block) if bound == name]


def _enter(outer: n.Stmt, block: Block, name: str, found: list[Binding]) -> bool:
    """Adds what is bound between the start of ``outer`` and the start of its ``block``."""
    if isinstance(outer, n.Match):
        case = next((case for case in outer.cases if case.body is block), None)
        if case is not None and name in case.binds:
            found.append(Binding(case))
            return True
        return False
    if isinstance(outer, n.Try):
        return _enter_try(outer, block, name, found)
    found += _in_header(outer, name)
    if isinstance(outer, (n.For, n.While)):
        if isinstance(outer, n.For) and block is outer.body and _surely(outer, name):
            return True
        found += _everywhere(outer.body, name)
        return False
    return _surely(outer, name)


def _enter_try(outer: n.Try, block: Block, name: str, found: list[Binding]) -> bool:
    if block is outer.body:
        return False
    if block is outer.orelse and outer.orelse:
        return _back(outer.body, len(outer.body), name, found)
    for handler in outer.handlers:
        if handler.body is block:
            if handler.name == name:
                found.append(Binding(handler))
                return True
            found += _everywhere(outer.body, name)
            return False
    for inner in (outer.body, outer.orelse, *(handler.body for handler in outer.handlers)):
        found += _everywhere(inner, name)
    return False


def _back(block: Block, end: int, name: str, found: list[Binding]) -> bool:
    """Goes back through a block; returns whether every path through it binds the name."""
    return any(_cut(statement, name, found) for statement in reversed(block[:end]))


def _cut(statement: n.Stmt, name: str, found: list[Binding]) -> bool:
    if isinstance(statement, n.If):
        found += _in_header(statement, name)
        paths = [_branch(block, name, found) for block in (statement.body, statement.orelse)]
        return all(paths)
    if isinstance(statement, (n.For, n.While)):
        found += _in_header(statement, name)
        for block in (statement.body, statement.orelse):
            found += _everywhere(block, name)
        return False
    if isinstance(statement, n.With):
        if _may_swallow(statement):
            found += _everywhere(statement.body, name)
        elif _back(statement.body, len(statement.body), name, found):
            return True
        found += _in_header(statement, name)
        return _surely(statement, name)
    if isinstance(statement, n.Try):
        return _cut_try(statement, name, found)
    if isinstance(statement, n.Match):
        for case in statement.cases:
            if name in case.binds:
                found.append(Binding(case))
            found += _everywhere(case.body, name)
        return False
    found += _in_header(statement, name)
    return _surely(statement, name)


def _surely(statement: n.Stmt, name: str) -> bool:
    """Whether the name has a new value once the statement's header has run."""
    if isinstance(statement, _DEFINITIONS):
        return any(bound == name for bound, _ in bound_by_header(statement))
    if isinstance(statement, n.Assign) and statement.value is None:
        return False
    return any(bound == name for bound, _ in bound_surely(statement))


def _may_swallow(statement: n.With) -> bool:
    """Whether a context manager may end the block early and go on behind it."""
    names = (n.dotted(call.func) or "" for call in _calls(statement))
    return any(name.rpartition(".")[2] in {"suppress", "raises"} for name in names)


def _calls(statement: n.With) -> Iterator[n.Call]:
    return (item.context for item in statement.items if isinstance(item.context, n.Call))


def _branch(block: Block, name: str, found: list[Binding]) -> bool:
    """Whether a branch binds the name on its way to what follows, or never gets there."""
    if leaves(block):
        return True
    return _back(block, len(block), name, found)


def leaves(block: Block) -> bool:
    """Whether control certainly does not fall out of the end of a block."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, (n.Return, n.Raise)):
        return True
    if isinstance(last, n.Jump):
        return last.kind != "pass"
    if isinstance(last, n.If):
        return leaves(last.body) and leaves(last.orelse)
    if isinstance(last, n.With):
        return leaves(last.body) and not _may_swallow(last)
    if isinstance(last, n.Try):
        straight = leaves(last.body) or leaves(last.orelse)
        return straight and all(leaves(handler.body) for handler in last.handlers)
    return False


def _cut_try(statement: n.Try, name: str, found: list[Binding]) -> bool:
    if _back(statement.finalbody, len(statement.finalbody), name, found):
        return True
    straight = _branch(statement.orelse, name, found) or _branch(statement.body, name, found)
    paths = [straight]
    for handler in statement.handlers:
        if _branch(handler.body, name, found):
            paths.append(True)
            continue
        before = _everywhere(statement.body, name)
        found += before
        paths.append(False)
    return all(paths)
