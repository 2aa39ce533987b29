"""Cuts a file into its statements: top-level ones, and the members of top-level classes.

:mod:`ast` does it, ten times faster than libcst. What ``ast`` of the running Python cannot read,
newer syntax for example, libcst reads.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rltel_lint.facts import nodes as n
from rltel_lint.facts.problems import TOO_DEEP, reason
from rltel_lint.facts.units import Unit

if TYPE_CHECKING:
    from rltel_lint.facts.source import SourceFacts

_MOST_BRACKETS = 200
"""CPython takes no more; libcst, which takes over from it, would end the process at some point."""
_Definition = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def cut(source: SourceFacts) -> tuple[Unit, ...]:
    """Returns the top-level statements of a file; what cannot be read is noted there."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source.text)
    except (RecursionError, MemoryError):
        source.refuse(1, TOO_DEEP)
        return ()
    except (SyntaxError, ValueError) as error:
        return _cut_by_libcst(source, error)
    return tuple(_index(source, tree.body))


def _index(source: SourceFacts, body: Sequence[ast.stmt]) -> Iterator[Unit]:
    for first, last, statements in _merged(body):
        head = statements[0]
        if all(isinstance(node, (ast.Import, ast.ImportFrom)) for node in statements):
            imports = tuple(_import(source, node) for node in statements)
            yield Unit(source, first, last, frozenset(_binds(statements)), _lowered=imports)
            continue
        members: tuple[Unit, ...] = ()
        if len(statements) == 1 and isinstance(head, ast.ClassDef):
            members = _members(source, head)
        yield Unit(source, first, last, frozenset(_binds(statements)), members)


def _import(source: SourceFacts, node: ast.stmt) -> n.Import:
    """An import, straight from ``ast``: imports are what resolving names needs most."""
    at = (
        node.lineno,
        _characters(source, node.lineno, node.col_offset),
        node.end_lineno or node.lineno,
        _characters(source, node.end_lineno or node.lineno, node.end_col_offset or 0),
    )
    if isinstance(node, ast.ImportFrom):
        names = tuple((alias.name, alias.asname or alias.name) for alias in node.names)
        return n.Import(at, node.module or "", node.level, names)
    pairs = [
        (alias.name, alias.asname) if alias.asname else (alias.name.split(".", 1)[0],) * 2
        for alias in (node.names if isinstance(node, ast.Import) else ())
    ]
    return n.Import(at, None, 0, tuple(pairs))


def _characters(source: SourceFacts, line: int, offset: int) -> int:
    """Turns an offset in UTF-8 bytes, as ``ast`` gives it, into one in characters."""
    text = source.known_lines[line - 1]
    return offset if text.isascii() else len(text.encode()[:offset].decode(errors="replace"))


def _members(source: SourceFacts, node: ast.ClassDef) -> tuple[Unit, ...]:
    merged = list(_merged(node.body))
    if merged[0][0] <= node.lineno:
        return ()  # the body stands on the line of ``class``: not worth cutting
    return tuple(
        Unit(source, first, last, frozenset(_binds(statements)), indented=True)
        for first, last, statements in merged
    )


def _cut_by_libcst(source: SourceFacts, refused: BaseException) -> tuple[Unit, ...]:
    from rltel_lint.facts.lower import lower as lower_by_libcst

    if _depth(source.text) > _MOST_BRACKETS:
        source.refuse(1, TOO_DEEP)
        return ()
    try:
        lowered = lower_by_libcst(source.text)
    except RecursionError:
        source.refuse(1, TOO_DEEP)
        return ()
    except Exception:
        line = refused.lineno if isinstance(refused, SyntaxError) else None
        source.refuse(line or 1, reason(refused))
        return ()
    return tuple(
        Unit(
            source,
            _first_line_of_node(statement),
            statement.at[2],
            frozenset(_binds_of_nodes((statement,))),
            _lowered=(statement,),
        )
        for statement in lowered
    )


def _depth(text: str) -> int:
    """How deeply brackets are nested, those in strings and comments included."""
    depth = deepest = 0
    for bracket in re.findall(r"[()\[\]{}]", text):
        depth = depth + 1 if bracket in "([{" else max(depth - 1, 0)
        deepest = max(deepest, depth)
    return deepest


def _first_line(node: ast.stmt) -> int:
    if isinstance(node, _Definition) and node.decorator_list:
        return min(node.lineno, node.decorator_list[0].lineno)
    return node.lineno


def _first_line_of_node(node: n.Stmt) -> int:
    decorators = node.decorators if isinstance(node, (n.FunctionDef, n.ClassDef)) else ()
    return min([node.at[0], *(decorator.at[0] for decorator in decorators)])


def _merged(body: Sequence[ast.stmt]) -> Iterator[tuple[int, int, list[ast.stmt]]]:
    """Yields runs of statements that share no line with their neighbours."""
    run: list[ast.stmt] = []
    first = last = 0
    for node in body:
        start, end = _first_line(node), node.end_lineno or node.lineno
        if run and start <= last:
            run.append(node)
            last = max(last, end)
            continue
        if run:
            yield first, last, run
        run, first, last = [node], start, end
    if run:
        yield first, last, run


def _binds(body: Iterable[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, _Definition):
            yield node.name
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                plain = isinstance(node, ast.Import) and alias.asname is None
                yield alias.name.split(".", 1)[0] if plain else alias.asname or alias.name
        else:
            for inner in ast.walk(node):
                if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                    yield inner.id
                elif inner is not node and isinstance(
                    inner, (*_Definition, ast.Import, ast.ImportFrom)
                ):
                    yield from _binds([inner])


def _binds_of_nodes(body: Iterable[n.Stmt]) -> Iterator[str]:
    for statement in body:
        if isinstance(statement, (n.FunctionDef, n.ClassDef)):
            yield statement.name
        elif isinstance(statement, n.Import):
            yield from (bound for _, bound in statement.names)
        elif isinstance(statement, n.Assign):
            for target in statement.targets:
                yield from (node.id for node in n.walk(target) if isinstance(node, n.Name))
        for block in n.blocks(statement):
            yield from _binds_of_nodes(block)
