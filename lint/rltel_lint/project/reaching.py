"""Which bindings of a local name can be in force at a statement."""

from __future__ import annotations

from collections.abc import Iterator

from rltel_lint.facts import nodes as n
from rltel_lint.project.model import Binding, Function, bound_by_header, bound_in

Block = tuple[n.Stmt, ...]


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
    path = function.paths.get(statement)
    if path is None:
        return function.bindings_of(name)
    found: list[Binding] = list(_in_header(statement, name)) if _binds_early(statement) else []
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


def _binds_early(statement: n.Stmt) -> bool:
    """Whether a name bound by the statement's header can be used in the same header."""
    return isinstance(statement, (n.If, n.While, n.With, n.ExprStmt, n.Return))


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
    header = list(_in_header(outer, name))
    found += header
    if isinstance(outer, (n.For, n.While)):
        target = bool(header) and isinstance(outer, n.For) and block is outer.body
        if target:
            return True
        found += _everywhere(outer.body, name)
        return False
    return bool(header)


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
        if _back(statement.body, len(statement.body), name, found):
            return True
        header = list(_in_header(statement, name))
        found += header
        return bool(header)
    if isinstance(statement, n.Try):
        return _cut_try(statement, name, found)
    if isinstance(statement, n.Match):
        for case in statement.cases:
            if name in case.binds:
                found.append(Binding(case))
            found += _everywhere(case.body, name)
        return False
    header = list(_in_header(statement, name))
    found += header
    return bool(header)


def _branch(block: Block, name: str, found: list[Binding]) -> bool:
    """Whether a branch binds the name on its way to what follows, or never gets there."""
    if _leaves(block):
        return True
    return _back(block, len(block), name, found)


def _leaves(block: Block) -> bool:
    """Whether control cannot fall out of the end of a block."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, (n.Return, n.Raise)):
        return True
    if isinstance(last, n.Jump):
        return last.kind != "pass"
    if isinstance(last, n.If):
        return _leaves(last.body) and _leaves(last.orelse)
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
