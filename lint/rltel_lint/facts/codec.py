"""Nodes to plain JSON values and back, so that facts can be kept and sent between processes.

A node is ``[tag, line, column, end_line, end_column, *fields]`` with lines relative to its unit.
A child that is a tuple of strings or of pairs is written as such; what a field holds is known by
the class, so nothing has to be named.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from rltel_lint.facts import nodes as n

_PLAIN, _NODE, _NODES, _PAIRS, _PARTS, _NAMES = range(6)

_KINDS: dict[str, int] = {
    # one node or None
    **dict.fromkeys(
        (
            *("base", "func", "left", "right", "test", "index", "key", "element", "subject"),
            *("target", "iterable", "context", "annotation", "default", "returns", "params"),
            *("guard", "type"),
        ),
        _NODE,
    ),
    # a tuple of nodes
    **dict.fromkeys(
        (
            *("args", "elements", "conditions", "targets", "handlers", "finalbody", "bases"),
            *("decorators", "cases", "children"),
        ),
        _NODES,
    ),
    "loops": _PAIRS,
    "parts": _PARTS,
}
_BY_CLASS: dict[tuple[str, str], int] = {
    ("Const", "value"): _PLAIN,
    ("Arg", "value"): _NODE,
    ("Conditional", "body"): _NODE,
    ("Conditional", "orelse"): _NODE,
    ("Dict", "items"): _PAIRS,
    ("Parameters", "items"): _NODES,
    ("With", "items"): _NODES,
    ("Lambda", "body"): _NODE,
    ("Import", "names"): _NAMES,
    ("Scope", "names"): _PLAIN,
    ("Case", "binds"): _PLAIN,
    ("Parameter", "kind"): _PLAIN,
}
_CLASSES: tuple[type[n.Node], ...] = (
    *(n.Const, n.Name, n.Attribute, n.Arg, n.Call, n.FString, n.Binary, n.BoolOp, n.Conditional),
    *(n.Dict, n.Sequence, n.Starred, n.Subscript, n.Lambda, n.Comprehension, n.Await, n.Yield),
    *(n.NamedExpr, n.Compare, n.Other, n.Parameter, n.Parameters, n.ExprStmt, n.Assign),
    *(n.AugAssign, n.Return, n.Raise, n.Jump, n.Scope, n.Import, n.If, n.For, n.While, n.Handler),
    *(n.Try, n.WithItem, n.With, n.Case, n.Match, n.FunctionDef, n.ClassDef, n.OtherStmt),
)


def _kind(cls: type[n.Node], name: str) -> int:
    own = _BY_CLASS.get((cls.__name__, name))
    if own is not None:
        return own
    if name in {"body", "orelse"}:
        return _NODES
    if name == "value":
        return _NODE
    return _KINDS.get(name, _PLAIN)


_PLANS: tuple[tuple[tuple[str, int], ...], ...] = tuple(
    tuple((f.name, _kind(cls, f.name)) for f in fields(cls) if f.name != "at" and f.init)
    for cls in _CLASSES
)
_TAGS: dict[type[n.Node], int] = {cls: tag for tag, cls in enumerate(_CLASSES)}


def encode(statements: tuple[n.Stmt, ...], first_line: int) -> list[Any]:
    """Returns statements as JSON values, with lines relative to the first line of their unit."""
    offset = first_line - 1
    return [_encode(statement, offset) for statement in statements]


def decode(values: list[Any], first_line: int) -> tuple[n.Stmt, ...]:
    """Returns the statements that :func:`encode` was given, at the unit's present place.

    Raises:
        ValueError, TypeError, IndexError: The values are not what :func:`encode` returns.
    """
    offset = first_line - 1
    found = [_decode(value, offset) for value in values]
    statements = tuple(node for node in found if isinstance(node, n.Stmt))
    if len(statements) != len(found):
        raise ValueError("not statements")
    return statements


def _encode(node: n.Node, offset: int) -> list[Any]:
    tag = _TAGS[type(node)]
    line, column, end_line, end_column = node.at
    out: list[Any] = [tag, line - offset, column, end_line - offset, end_column]
    for name, kind in _PLANS[tag]:
        value = getattr(node, name)
        if value is None or kind == _PLAIN:
            if name == "name_at":
                value = (value[0] - offset, value[1], value[2] - offset, value[3])
            out.append(value)
        elif kind == _NODE:
            out.append(_encode(value, offset))
        elif kind == _NODES:
            out.append([_encode(item, offset) for item in value])
        elif kind == _PAIRS:
            out.append([[_maybe(a, offset), _encode(b, offset)] for a, b in value])
        elif kind == _PARTS:
            out.append([_maybe(part, offset) for part in value])
        else:
            out.append([list(pair) for pair in value])
    return out


def _maybe(value: n.Node | str | None, offset: int) -> Any:
    return _encode(value, offset) if isinstance(value, n.Node) else value


def _decode(value: list[Any], offset: int) -> n.Node:
    make, readers = _READERS[value[0]]
    at = (value[1] + offset, value[2], value[3] + offset, value[4])
    fields = zip(readers, value[5:], strict=True)
    node: n.Node = make(at, *[i if i is None else read(i, offset) for read, i in fields])
    return node


def _decode_plain(item: Any, _: int) -> Any:
    return tuple(item) if type(item) is list else item


def _decode_place(item: Any, offset: int) -> n.Span:
    line, column, end_line, end_column = item
    return (line + offset, column, end_line + offset, end_column)


def _decode_nodes(items: list[Any], offset: int) -> tuple[n.Node, ...]:
    return tuple([_decode(item, offset) for item in items])


def _decode_pairs(items: list[Any], offset: int) -> tuple[Any, ...]:
    return tuple(
        [(None if a is None else _decode(a, offset), _decode(b, offset)) for a, b in items]
    )


def _decode_parts(items: list[Any], offset: int) -> tuple[Any, ...]:
    return tuple([_decode(item, offset) if type(item) is list else item for item in items])


def _decode_names(items: list[Any], _: int) -> tuple[Any, ...]:
    return tuple([(a, b) for a, b in items])


_Reader = Callable[[Any, int], Any]
_DECODERS: dict[int, _Reader] = {
    _PLAIN: _decode_plain,
    _NODE: _decode,
    _NODES: _decode_nodes,
    _PAIRS: _decode_pairs,
    _PARTS: _decode_parts,
    _NAMES: _decode_names,
}
_READERS: tuple[tuple[Callable[..., n.Node], tuple[_Reader, ...]], ...] = tuple(
    (
        cls,
        tuple(_decode_place if name == "name_at" else _DECODERS[kind] for name, kind in plan),
    )
    for cls, plan in zip(_CLASSES, _PLANS, strict=True)
)
