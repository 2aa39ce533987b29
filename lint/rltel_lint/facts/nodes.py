"""A small syntax tree: what the checker keeps of source code.

It is plain data without parse state or formatting, so that facts depend on the text alone: the
vocabulary decides which statements are looked at, never what is stored of them. Whatever no
rule can use is an :class:`Other`, which keeps its children so that calls inside are still seen.

Positions are ``(line, column, end_line, end_column)``, lines from 1, columns from 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, Literal

Span = tuple[int, int, int, int]
_HOLDS_NODES = re.compile(r"\b(?:Expr|Stmt|Arg|Parameters?|Handler|WithItem|Case)\b")


@dataclass(eq=False)
class Node:
    """Anything with a position; compared by identity, so it can key a table."""

    at: Span


@dataclass(eq=False)
class Expr(Node):
    """An expression."""


@dataclass(eq=False)
class Const(Expr):
    """A literal string, number, boolean or ``None``."""

    value: str | int | float | bool | None


@dataclass(eq=False)
class Name(Expr):
    """A bare name."""

    id: str


@dataclass(eq=False)
class Attribute(Expr):
    """``base.attr``."""

    base: Expr
    attr: str


@dataclass(eq=False)
class Arg(Node):
    """One argument of a call.

    Attributes:
        value: What is passed.
        keyword: The keyword, or ``None`` for a positional argument.
        star: ``*`` or ``**`` for unpacking, else empty.
    """

    value: Expr
    keyword: str | None = None
    star: Literal["", "*", "**"] = ""


@dataclass(eq=False)
class Call(Expr):
    """``func(args)``."""

    func: Expr
    args: tuple[Arg, ...]

    def positional(self, index: int) -> Expr | None:
        """Returns the argument at this place, ``None`` if absent or behind an unpacking."""
        for place, arg in enumerate(self.args[: index + 1]):
            if arg.star == "*" or arg.keyword is not None or arg.star == "**":
                return None
            if place == index:
                return arg.value
        return None

    def keyword(self, name: str) -> Expr | None:
        """Returns the value passed under this keyword, also inside ``**{...}``."""
        for arg in self.args:
            if arg.keyword == name:
                return arg.value
            if arg.star == "**" and isinstance(arg.value, Dict):
                for key, value in arg.value.items:
                    if isinstance(key, Const) and key.value == name:
                        return value
        return None


@dataclass(eq=False)
class FString(Expr):
    """An f-string: literal parts and expressions; ``None`` for a part that is not understood."""

    parts: tuple[str | Expr | None, ...]


@dataclass(eq=False)
class Binary(Expr):
    """``left op right`` for ``+``, ``%`` and ``|``."""

    op: str
    left: Expr
    right: Expr


@dataclass(eq=False)
class BoolOp(Expr):
    """``left or right``, ``left and right``."""

    op: str
    left: Expr
    right: Expr


@dataclass(eq=False)
class Conditional(Expr):
    """``body if test else orelse``."""

    test: Expr
    body: Expr
    orelse: Expr


@dataclass(eq=False)
class Dict(Expr):
    """A dict display; a ``None`` key is an unpacking."""

    items: tuple[tuple[Expr | None, Expr], ...]


@dataclass(eq=False)
class Sequence(Expr):
    """A list, tuple or set display."""

    kind: Literal["list", "tuple", "set"]
    elements: tuple[Expr, ...]


@dataclass(eq=False)
class Starred(Expr):
    """``*value`` in a display or an assignment target."""

    value: Expr


@dataclass(eq=False)
class Subscript(Expr):
    """``base[index]``."""

    base: Expr
    index: Expr


@dataclass(eq=False)
class Lambda(Expr):
    """``lambda params: body``."""

    params: Parameters
    body: Expr


@dataclass(eq=False)
class Comprehension(Expr):
    """A comprehension; ``key`` is set for dicts only."""

    kind: Literal["list", "set", "dict", "generator"]
    key: Expr | None
    element: Expr
    loops: tuple[tuple[Expr, Expr], ...]
    conditions: tuple[Expr, ...]


@dataclass(eq=False)
class Await(Expr):
    """``await value``."""

    value: Expr


@dataclass(eq=False)
class Yield(Expr):
    """``yield value`` or ``yield from value``."""

    value: Expr | None
    is_from: bool = False


@dataclass(eq=False)
class NamedExpr(Expr):
    """``target := value``."""

    target: Expr
    value: Expr


@dataclass(eq=False)
class Compare(Expr):
    """A comparison; only its first operator is kept."""

    op: str
    left: Expr
    right: Expr


@dataclass(eq=False)
class Other(Expr):
    """Any other expression, with the expressions inside it."""

    children: tuple[Expr, ...] = ()


@dataclass(eq=False)
class Parameter(Node):
    """One parameter of a function; ``kind`` is as in :mod:`inspect`, in short."""

    name: str
    kind: Literal["positional", "either", "keyword", "*", "**"]
    default: Expr | None = None
    annotation: Expr | None = None


@dataclass(eq=False)
class Parameters(Node):
    """The parameters of a function, in order."""

    items: tuple[Parameter, ...]

    def named(self, name: str) -> Parameter | None:
        """Returns the parameter of this name, ``None`` without one."""
        return next((item for item in self.items if item.name == name), None)


@dataclass(eq=False)
class Stmt(Node):
    """A statement."""

    own: tuple[Node, ...] | None = field(default=None, init=False, repr=False)
    """What :func:`own_nodes` found, once it was asked."""


@dataclass(eq=False)
class ExprStmt(Stmt):
    """An expression standing alone."""

    value: Expr


@dataclass(eq=False)
class Assign(Stmt):
    """``a = b = value``; annotated assignments too, with ``annotation``."""

    targets: tuple[Expr, ...]
    value: Expr | None
    annotation: Expr | None = None


@dataclass(eq=False)
class AugAssign(Stmt):
    """``target op= value``."""

    target: Expr
    op: str
    value: Expr


@dataclass(eq=False)
class Return(Stmt):
    """``return value``."""

    value: Expr | None


@dataclass(eq=False)
class Raise(Stmt):
    """``raise value``."""

    value: Expr | None


@dataclass(eq=False)
class Jump(Stmt):
    """``break``, ``continue`` or ``pass``."""

    kind: Literal["break", "continue", "pass"]


@dataclass(eq=False)
class Scope(Stmt):
    """``global`` or ``nonlocal``."""

    names: tuple[str, ...]


@dataclass(eq=False)
class Import(Stmt):
    """One import statement.

    Attributes:
        module: The module after ``from`` (without dots), ``""`` for ``from . import x``, and
            ``None`` for a plain ``import``.
        level: Leading dots.
        names: ``(imported name, bound name)``; ``("*", "*")`` for a star import. A plain
            ``import a.b`` binds ``a``.
    """

    module: str | None
    level: int
    names: tuple[tuple[str, str], ...]


@dataclass(eq=False)
class If(Stmt):
    """``if`` and ``elif`` (nested in ``orelse``)."""

    test: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]


@dataclass(eq=False)
class For(Stmt):
    """``for`` and ``async for``."""

    target: Expr
    iterable: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]
    is_async: bool = False


@dataclass(eq=False)
class While(Stmt):
    """``while``."""

    test: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]


@dataclass(eq=False)
class Handler(Node):
    """One ``except`` clause."""

    type: Expr | None
    name: str | None
    body: tuple[Stmt, ...]


@dataclass(eq=False)
class Try(Stmt):
    """``try``."""

    body: tuple[Stmt, ...]
    handlers: tuple[Handler, ...]
    orelse: tuple[Stmt, ...]
    finalbody: tuple[Stmt, ...]


@dataclass(eq=False)
class WithItem(Node):
    """``context as target``."""

    context: Expr
    target: Expr | None


@dataclass(eq=False)
class With(Stmt):
    """``with`` and ``async with``."""

    items: tuple[WithItem, ...]
    body: tuple[Stmt, ...]
    is_async: bool = False


@dataclass(eq=False)
class Case(Node):
    """One ``case`` of a ``match``: the names its pattern binds, its guard and its body."""

    binds: tuple[str, ...]
    guard: Expr | None
    body: tuple[Stmt, ...]


@dataclass(eq=False)
class Match(Stmt):
    """``match``."""

    subject: Expr
    cases: tuple[Case, ...]


@dataclass(eq=False)
class FunctionDef(Stmt):
    """A function, with what kind of callable it is."""

    name: str
    params: Parameters
    decorators: tuple[Expr, ...]
    body: tuple[Stmt, ...]
    is_async: bool
    is_generator: bool
    returns: Expr | None
    name_at: Span


@dataclass(eq=False)
class ClassDef(Stmt):
    """A class. Inside an indexed file the members come one by one, and ``body`` is empty."""

    name: str
    bases: tuple[Arg, ...]
    decorators: tuple[Expr, ...]
    body: tuple[Stmt, ...]
    name_at: Span


@dataclass(eq=False)
class OtherStmt(Stmt):
    """Any other statement, with the expressions inside it (``assert``, ``del``)."""

    children: tuple[Expr, ...]
    deletes: bool = False


_Nodes = list[Node] | tuple[Node, ...]
_Reader = Callable[[Any], _Nodes]


def _reader(kind: type[Node], *, blocks: bool) -> _Reader | None:
    """Gets the nodes directly inside a node of this kind; ``None`` where there never are any.

    Args:
        kind: The class.
        blocks: Whether blocks of statements count.
    """
    types = {one.name: str(one.type) for one in fields(kind) if one.init and one.name != "name_at"}
    names = [
        name
        for name, type_ in types.items()
        if _HOLDS_NODES.search(type_) and (blocks or "Stmt" not in type_)
    ]
    if not names:
        return None
    get: Callable[[Any], Any] = attrgetter(*names)
    if all(types[name] in {"Expr", "Parameters"} for name in names):
        return get if len(names) > 1 else lambda node: (get(node),)
    if len(names) == 1:
        return lambda node: _flat((get(node),))
    return lambda node: _flat(get(node))


def _flat(values: tuple[object, ...]) -> list[Node]:
    """The nodes among values, and in the tuples among them."""
    found: list[Node] = []
    for value in values:
        if isinstance(value, Node):
            found.append(value)
        elif value.__class__ is tuple:
            found += _flat(value)
    return found


class _Readers(dict[type[Node], "_Reader | None"]):
    """The reader for each kind of node, made when it is first asked for."""

    def __init__(self, *, blocks: bool) -> None:
        self._blocks = blocks
        self[Call] = lambda call: (call.func, *call.args)

    def __missing__(self, kind: type[Node]) -> _Reader | None:
        found = self[kind] = _reader(kind, blocks=self._blocks)
        return found


_CHILDREN = _Readers(blocks=True)
_PARTS = _Readers(blocks=False)


def child_nodes(node: Node) -> _Nodes:
    """Returns the nodes directly inside a node, in source order of its fields."""
    read = _CHILDREN[node.__class__]
    return () if read is None else read(node)


def walk(node: Node, *, into_functions: bool = True) -> Iterator[Node]:
    """Yields a node and all below it, depth first, in source order.

    Args:
        node: Where to start.
        into_functions: Whether to enter the bodies of functions, classes and lambdas below it.
    """
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        read = _CHILDREN[node.__class__]
        if read is None:
            continue
        children = read(node)
        if not into_functions:
            children = [c for c in children if not isinstance(c, (FunctionDef, ClassDef, Lambda))]
        stack += children[::-1]


def own_nodes(statement: Stmt) -> tuple[Node, ...]:
    """Returns the nodes of a statement that are in none of the statements inside it.

    Of a nested definition only its decorators, defaults and bases are seen.
    """
    own = statement.own
    if own is None:
        own = statement.own = tuple(_own_nodes(statement))
    return own


def _own_nodes(statement: Stmt) -> list[Node]:
    outside: list[Node] | None = None
    if isinstance(statement, FunctionDef):
        outside = [*statement.decorators]
        outside += [item.default for item in statement.params.items if item.default is not None]
    elif isinstance(statement, ClassDef):
        outside = [*statement.decorators, *statement.bases]
    if outside is not None:
        return [node for part in outside for node in walk(part)]
    found: list[Node] = []
    stack: list[Node] = [statement]
    while stack:
        node = stack.pop()
        found.append(node)
        read = _PARTS[node.__class__]
        if read is not None:
            stack += read(node)
    return found


def yields(body: tuple[Stmt, ...]) -> bool:
    """Whether a function with this body is a generator."""
    return any(
        isinstance(inner, Yield)
        for statement in body
        if not isinstance(statement, (FunctionDef, ClassDef))
        for inner in walk(statement, into_functions=False)
    )


def blocks(stmt: Stmt) -> tuple[tuple[Stmt, ...], ...]:
    """Returns the blocks of statements directly inside a statement (not of definitions)."""
    if isinstance(stmt, (If, For, While)):
        return (stmt.body, stmt.orelse)
    if isinstance(stmt, With):
        return (stmt.body,)
    if isinstance(stmt, Try):
        handlers = tuple(handler.body for handler in stmt.handlers)
        return (stmt.body, *handlers, stmt.orelse, stmt.finalbody)
    if isinstance(stmt, Match):
        return tuple(case.body for case in stmt.cases)
    return ()


def dotted(expr: Expr) -> str | None:
    """Returns ``a.b.c`` for a chain of names, ``None`` for anything else."""
    parts: list[str] = []
    while isinstance(expr, Attribute):
        parts.append(expr.attr)
        expr = expr.base
    if not isinstance(expr, Name):
        return None
    parts.append(expr.id)
    return ".".join(reversed(parts))
