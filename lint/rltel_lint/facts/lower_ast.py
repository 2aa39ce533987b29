"""From an ``ast`` tree to the small tree of :mod:`rltel_lint.facts.nodes`, in one traversal.

It gives what :mod:`rltel_lint.facts.lower` gives from libcst, node by node and position by
position (a test holds both equal), ten times faster. What ``ast`` does not keep is taken from the
text: columns in characters, where names and ``case`` stand, and, before Python 3.12, everything
inside an f-string, which libcst reads then.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, cast

from rltel_lint.facts import nodes as n
from rltel_lint.facts.fstrings import fields

_BINARY: dict[type[ast.operator], str] = {ast.Add: "+", ast.Mod: "%", ast.BitOr: "|"}
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
}
_NAME = re.compile(r"(?:async(?:\s|\\\n)+)?(?:def|class)(?:\s|\\\n)+(?=[^\W\d])")
_ENDS_INSIDE_FSTRINGS = sys.version_info >= (3, 12)
"""Whether positions inside f-strings are right; older parsers count from elsewhere."""

_Formatted = ast.FormattedValue
_Kind = Literal["positional", "either", "keyword", "*", "**"]


def lower(text: str, *, line_offset: int = 0) -> tuple[n.Stmt, ...]:
    r"""Parses source text and keeps what the checker needs of it.

    Args:
        text: The source of a module or of whole statements, with ``\n`` at the end of lines.
        line_offset: Lines to add to every position.

    Returns:
        The statements.

    Raises:
        SyntaxError, ValueError: The text is not Python, or newer than the running one.
        RecursionError, MemoryError: It is nested too deeply.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
    return _Lowering(text, line_offset).statements(tree.body)


class _Lowering:
    def __init__(self, text: str, line_offset: int, column: int = 0) -> None:
        self._offset = line_offset
        self._column = column
        self._ascii = text.isascii()
        self._lines = text.split("\n")
        self._yields = [False]
        """Whether a ``yield`` was seen in the functions around, innermost last."""

    # -- positions ----------------------------------------------------------------------

    def at(self, node: Any) -> n.Span:
        """The range of a node: ``ast`` counts columns in bytes of UTF-8."""
        line, end_line = node.lineno, node.end_lineno
        column, end_column = node.col_offset, node.end_col_offset
        if not self._ascii:
            column = self._characters(line, column)
            end_column = self._characters(end_line, end_column)
        if self._column:  # a text of one line, cut out of a longer one
            column, end_column = column + self._column, end_column + self._column
        return (line + self._offset, column, end_line + self._offset, end_column)

    def _characters(self, line: int, offset: int) -> int:
        text = self._lines[line - 1]
        return offset if text.isascii() else len(text.encode()[:offset].decode(errors="replace"))

    def _name_at(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> n.Span:
        line, column, _, _ = self.at(node)
        line -= self._offset
        rest = self._lines[line - 1][column:]
        found = _NAME.match(rest)
        while found is None:  # behind a continued line
            line += 1
            rest += "\n" + self._lines[line - 1]
            found = _NAME.match(rest)
            column = 0
        column += found.end() - (rest.rfind("\n", 0, found.end()) + 1)
        line += self._offset
        return (line, column, line, column + len(node.name))

    def _case_at(self, node: ast.match_case) -> n.Span:
        line, column, _, _ = self.at(node.pattern)
        _, _, end_line, end_column = self.at(node.body[-1])
        line -= self._offset
        while True:
            place = self._lines[line - 1].rfind("case", 0, column)
            if place >= 0:
                return (line + self._offset, place, end_line, end_column)
            line -= 1
            column = len(self._lines[line - 1])

    # -- statements ---------------------------------------------------------------------

    def statements(self, body: Sequence[ast.stmt]) -> tuple[n.Stmt, ...]:
        return tuple([self.statement(node) for node in body])

    def statement(self, node: ast.stmt) -> n.Stmt:
        handler = _STATEMENTS.get(type(node))
        if handler is not None:
            return handler(self, node)
        return n.OtherStmt(self.at(node), self._inside(node))

    def expr_stmt(self, node: ast.Expr) -> n.Stmt:
        return n.ExprStmt(self.at(node), self.expr(node.value))

    def assign(self, node: ast.Assign) -> n.Stmt:
        targets = tuple([self.expr(target) for target in node.targets])
        return n.Assign(self.at(node), targets, self.expr(node.value))

    def ann_assign(self, node: ast.AnnAssign) -> n.Stmt:
        annotation = self.expr(node.annotation)
        value = self._maybe(node.value)
        return n.Assign(self.at(node), (self.expr(node.target),), value, annotation)

    def aug_assign(self, node: ast.AugAssign) -> n.Stmt:
        op = _BINARY.get(type(node.op), "?")
        return n.AugAssign(self.at(node), self.expr(node.target), op, self.expr(node.value))

    def return_(self, node: ast.Return) -> n.Stmt:
        return n.Return(self.at(node), self._maybe(node.value))

    def raise_(self, node: ast.Raise) -> n.Stmt:
        return n.Raise(self.at(node), self._maybe(node.exc))

    def jump(self, node: ast.stmt) -> n.Stmt:
        kind = cast(Literal["break", "continue", "pass"], type(node).__name__.lower())
        return n.Jump(self.at(node), kind)

    def scope(self, node: ast.Global | ast.Nonlocal) -> n.Stmt:
        return n.Scope(self.at(node), tuple(node.names))

    def import_(self, node: ast.Import) -> n.Stmt:
        names = tuple(
            (alias.name, alias.asname)
            if alias.asname
            else (alias.name.split(".", 1)[0], alias.name.split(".", 1)[0])
            for alias in node.names
        )
        return n.Import(self.at(node), None, 0, names)

    def import_from(self, node: ast.ImportFrom) -> n.Stmt:
        names = tuple((alias.name, alias.asname or alias.name) for alias in node.names)
        return n.Import(self.at(node), node.module or "", node.level, names)

    def if_(self, node: ast.If) -> n.Stmt:
        test, body = self.expr(node.test), self.statements(node.body)
        return n.If(self.at(node), test, body, self.statements(node.orelse))

    def for_(self, node: ast.For | ast.AsyncFor) -> n.Stmt:
        return n.For(
            self.at(node),
            self.expr(node.target),
            self.expr(node.iter),
            self.statements(node.body),
            self.statements(node.orelse),
            isinstance(node, ast.AsyncFor),
        )

    def while_(self, node: ast.While) -> n.Stmt:
        test, body = self.expr(node.test), self.statements(node.body)
        return n.While(self.at(node), test, body, self.statements(node.orelse))

    def with_(self, node: ast.With | ast.AsyncWith) -> n.Stmt:
        items = tuple([self._with_item(item) for item in node.items])
        body = self.statements(node.body)
        return n.With(self.at(node), items, body, isinstance(node, ast.AsyncWith))

    def _with_item(self, item: ast.withitem) -> n.WithItem:
        context, target = self.expr(item.context_expr), self._maybe(item.optional_vars)
        return n.WithItem(_joined(context, target or context), context, target)

    def try_(self, node: Any) -> n.Stmt:
        handlers = tuple([self._handler(handler) for handler in node.handlers])
        return n.Try(
            self.at(node),
            self.statements(node.body),
            handlers,
            self.statements(node.orelse),
            self.statements(node.finalbody),
        )

    def _handler(self, node: ast.ExceptHandler) -> n.Handler:
        return n.Handler(
            self.at(node), self._maybe(node.type), node.name, self.statements(node.body)
        )

    def match(self, node: ast.Match) -> n.Stmt:
        cases = tuple(
            n.Case(
                self._case_at(case),
                tuple(_bound_by(case.pattern)),
                self._maybe(case.guard),
                self.statements(case.body),
            )
            for case in node.cases
        )
        return n.Match(self.at(node), self.expr(node.subject), cases)

    def delete(self, node: ast.Delete) -> n.Stmt:
        targets: Sequence[ast.expr] = node.targets
        if len(targets) == 1 and isinstance(targets[0], ast.Tuple):
            targets = targets[0].elts
        return n.OtherStmt(self.at(node), tuple([self.expr(target) for target in targets]), True)

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> n.Stmt:
        self._yields.append(False)
        body = self.statements(node.body)
        is_generator = self._yields.pop()
        return n.FunctionDef(
            self.at(node),
            node.name,
            self.parameters(node.args, node),
            tuple([self.expr(decorator) for decorator in node.decorator_list]),
            body,
            isinstance(node, ast.AsyncFunctionDef),
            is_generator,
            self._maybe(node.returns),
            self._name_at(node),
        )

    def class_(self, node: ast.ClassDef) -> n.Stmt:
        bases = [self._positional(base) for base in node.bases]
        bases += [self._keyword(keyword) for keyword in node.keywords]
        decorators = tuple([self.expr(decorator) for decorator in node.decorator_list])
        self._yields.append(False)
        body = self.statements(node.body)
        self._yields.pop()
        return n.ClassDef(
            self.at(node), node.name, tuple(bases), decorators, body, self._name_at(node)
        )

    def parameters(self, args: ast.arguments, owner: ast.AST) -> n.Parameters:
        positional = [*args.posonlyargs, *args.args]
        missing = len(positional) - len(args.defaults)
        defaults: list[ast.expr | None] = [*[None] * missing, *args.defaults]
        only = len(args.posonlyargs)
        items = [
            self._parameter(arg, "positional" if index < only else "either", default)
            for index, (arg, default) in enumerate(zip(positional, defaults, strict=True))
        ]
        if args.vararg is not None:
            items.append(self._parameter(args.vararg, "*"))
        items += [
            self._parameter(arg, "keyword", default)
            for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True)
        ]
        if args.kwarg is not None:
            items.append(self._parameter(args.kwarg, "**"))
        return n.Parameters(self.at(owner), tuple(items))

    def _parameter(self, arg: ast.arg, kind: _Kind, default: ast.expr | None = None) -> n.Parameter:
        line, column, _, _ = self.at(arg)
        at = (line, column, line, column + len(arg.arg))
        return n.Parameter(at, arg.arg, kind, self._maybe(default), self._maybe(arg.annotation))

    # -- expressions --------------------------------------------------------------------

    def expr(self, node: ast.expr) -> n.Expr:
        handler = _EXPRESSIONS.get(type(node))
        if handler is not None:
            return handler(self, node)
        return n.Other(self.at(node), self._inside(node))

    def _maybe(self, node: ast.expr | None) -> n.Expr | None:
        return None if node is None else self.expr(node)

    def _inside(self, node: ast.AST) -> tuple[n.Expr, ...]:
        found: list[n.Expr] = []
        for child in ast.iter_child_nodes(node):
            if type(child) in _EXPRESSIONS:
                found.append(self.expr(cast(ast.expr, child)))
            else:
                found.extend(self._inside(child))
        return tuple(found)

    def name(self, node: ast.Name) -> n.Expr:
        return n.Name(self.at(node), node.id)

    def constant(self, node: ast.Constant) -> n.Expr:
        value = node.value
        if value is None or isinstance(value, (str, int, float)):
            return n.Const(self.at(node), value)
        return n.Other(self.at(node))

    def fstring(self, node: ast.JoinedStr) -> n.Expr:
        if not _ENDS_INSIDE_FSTRINGS and any(
            isinstance(part, ast.FormattedValue) for part in node.values
        ):
            read = self._fstring_by_text(node) or self._fstring_by_libcst(node)
            self._yields[-1] |= any(isinstance(inner, n.Yield) for inner in n.walk(read))
            return read
        return n.FString(self.at(node), tuple([self._string_part(part) for part in node.values]))

    def _string_part(self, part: ast.expr) -> str | n.Expr | None:
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            return part.value
        if isinstance(part, ast.FormattedValue):
            return self.expr(part.value) if _is_plain(part) else None
        return None

    def _written(self, at: n.Span) -> str:
        line, column, end_line, end_column = at
        lines = self._lines[line - self._offset - 1 : end_line - self._offset]
        lines[-1] = lines[-1][: end_column - self._column]
        lines[0] = lines[0][column - self._column :]
        return "\n".join(lines)

    def _fstring_by_text(self, node: ast.JoinedStr) -> n.Expr | None:
        """An f-string whose expressions are read one by one, where each stands on one line."""
        at = self.at(node)
        written = self._written(at)
        found, values = fields(written), [v for v in node.values if isinstance(v, _Formatted)]
        if found is None or len(found) != len(values) or any("\n" in text for _, text in found):
            return None
        places = dict(zip(values, found, strict=True))
        parts: list[str | n.Expr | None] = []
        for part in node.values:
            if isinstance(part, _Formatted) and _is_plain(part):
                offset, text = places[part]
                before = written[:offset]
                line = at[0] + before.count("\n")
                column = offset + at[1] if line == at[0] else offset - before.rindex("\n") - 1
                parts.append(self._inner(text, line, column))
            else:
                parts.append(self._string_part(part))
        return n.FString(at, tuple(parts))

    @staticmethod
    def _inner(text: str, line: int, column: int) -> n.Expr:
        tree = ast.parse(f"({text})", mode="eval")
        return _Lowering(f"({text})", line - 1, column - 1).expr(tree.body)

    def _fstring_by_libcst(self, node: ast.JoinedStr) -> n.Expr:
        from rltel_lint.facts.lower import lower_expression

        at = self.at(node)
        return lower_expression(self._written(at), at[0], at[1])

    def attribute(self, node: ast.Attribute) -> n.Expr:
        return n.Attribute(self.at(node), self.expr(node.value), node.attr)

    def call(self, node: ast.Call) -> n.Expr:
        args = [self._positional(arg) for arg in node.args]
        if node.keywords:
            args += [self._keyword(keyword) for keyword in node.keywords]
            args.sort(key=_start)
        return n.Call(self.at(node), self.expr(node.func), tuple(args))

    def _positional(self, arg: ast.expr) -> n.Arg:
        if isinstance(arg, ast.Starred):
            value = self.expr(arg.value)
            return n.Arg((*self.at(arg)[:2], *value.at[2:]), value, None, "*")
        value = self.expr(arg)
        return n.Arg(value.at, value)

    def _keyword(self, keyword: ast.keyword) -> n.Arg:
        value = self.expr(keyword.value)
        line, column, _, _ = self.at(keyword)
        at = (line, column, value.at[2], value.at[3])
        return n.Arg(at, value, keyword.arg, "" if keyword.arg else "**")

    def unary(self, node: ast.UnaryOp) -> n.Expr:
        return n.Other(self.at(node), (self.expr(node.operand),))

    def binary(self, node: ast.BinOp) -> n.Expr:
        left, right = self.expr(node.left), self.expr(node.right)
        op = _BINARY.get(type(node.op))
        if op is None:
            return n.Other(self.at(node), (left, right))
        return n.Binary(self.at(node), op, left, right)

    def bool_op(self, node: ast.BoolOp) -> n.Expr:
        op = "or" if isinstance(node.op, ast.Or) else "and"
        at = self.at(node)
        left = self.expr(node.values[0])
        for value in node.values[1:-1]:
            right = self.expr(value)
            left = n.BoolOp((*at[:2], *right.at[2:]), op, left, right)
        return n.BoolOp(at, op, left, self.expr(node.values[-1]))

    def conditional(self, node: ast.IfExp) -> n.Expr:
        test, body = self.expr(node.test), self.expr(node.body)
        return n.Conditional(self.at(node), test, body, self.expr(node.orelse))

    def dict_(self, node: ast.Dict) -> n.Expr:
        pairs = zip(node.keys, node.values, strict=True)
        items = tuple([(self._maybe(key), self.expr(value)) for key, value in pairs])
        return n.Dict(self.at(node), items)

    def sequence(self, node: ast.List | ast.Tuple | ast.Set) -> n.Expr:
        kind = cast(Literal["list", "tuple", "set"], type(node).__name__.lower())
        return n.Sequence(self.at(node), kind, tuple([self.expr(item) for item in node.elts]))

    def starred(self, node: ast.Starred) -> n.Expr:
        return n.Starred(self.at(node), self.expr(node.value))

    def subscript(self, node: ast.Subscript) -> n.Expr:
        inner = node.slice
        if isinstance(inner, (ast.Slice, ast.Tuple)):
            index: n.Expr = n.Other(self.at(node), self._sliced(inner))
        else:
            index = self.expr(inner)
        return n.Subscript(self.at(node), self.expr(node.value), index)

    def _sliced(self, node: ast.Slice | ast.Tuple) -> tuple[n.Expr, ...]:
        found: list[n.Expr] = []
        for part in node.elts if isinstance(node, ast.Tuple) else [node]:
            if isinstance(part, ast.Slice):
                found.extend(self._inside(part))
            else:
                found.append(self.expr(part.value if isinstance(part, ast.Starred) else part))
        return tuple(found)

    def lambda_(self, node: ast.Lambda) -> n.Expr:
        parameters = self.parameters(node.args, node)
        self._yields.append(False)
        body = self.expr(node.body)
        self._yields.pop()
        return n.Lambda(self.at(node), parameters, body)

    def comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
    ) -> n.Expr:
        kind = _COMPREHENSIONS[type(node)]
        key = self.expr(node.key) if isinstance(node, ast.DictComp) else None
        element = self.expr(node.value if isinstance(node, ast.DictComp) else node.elt)
        loops = tuple([(self.expr(one.target), self.expr(one.iter)) for one in node.generators])
        conditions = tuple([self.expr(test) for one in node.generators for test in one.ifs])
        return n.Comprehension(self.at(node), kind, key, element, loops, conditions)

    def await_(self, node: ast.Await) -> n.Expr:
        return n.Await(self.at(node), self.expr(node.value))

    def yield_(self, node: ast.Yield) -> n.Expr:
        self._yields[-1] = True
        return n.Yield(self.at(node), self._maybe(node.value))

    def yield_from(self, node: ast.YieldFrom) -> n.Expr:
        self._yields[-1] = True
        return n.Yield(self.at(node), self.expr(node.value), True)

    def named(self, node: ast.NamedExpr) -> n.Expr:
        return n.NamedExpr(self.at(node), self.expr(node.target), self.expr(node.value))

    def compare(self, node: ast.Compare) -> n.Expr:
        left = self.expr(node.left)
        rest = [self.expr(one) for one in node.comparators]
        if len(rest) > 1:
            return n.Other(self.at(node), (left, *rest))
        op = _COMPARE.get(type(node.ops[0]), "?")
        return n.Compare(self.at(node), op, left, rest[0])


_COMPREHENSIONS: dict[type, Literal["list", "set", "dict", "generator"]] = {
    ast.ListComp: "list",
    ast.SetComp: "set",
    ast.DictComp: "dict",
    ast.GeneratorExp: "generator",
}


def _start(arg: n.Arg) -> tuple[int, int]:
    return arg.at[:2]


def _joined(first: n.Node, last: n.Node) -> n.Span:
    return (*first.at[:2], *last.at[2:])


def _bound_by(pattern: ast.AST) -> Iterator[str]:
    if isinstance(pattern, (ast.MatchAs, ast.MatchStar)) and pattern.name is not None:
        yield pattern.name
    if isinstance(pattern, ast.MatchMapping) and pattern.rest is not None:
        yield pattern.rest
    for child in ast.iter_child_nodes(pattern):
        yield from _bound_by(child)


def _handlers(
    names: Iterable[tuple[str, Callable[[_Lowering, Any], Any]]],
) -> dict[type, Callable[[_Lowering, Any], Any]]:
    """The handlers of the node classes that the running Python has."""
    return {getattr(ast, name): handler for name, handler in names if hasattr(ast, name)}


_STATEMENTS: dict[type, Callable[[_Lowering, Any], n.Stmt]] = _handlers(
    [
        ("Expr", _Lowering.expr_stmt),
        ("Assign", _Lowering.assign),
        ("AnnAssign", _Lowering.ann_assign),
        ("AugAssign", _Lowering.aug_assign),
        ("Return", _Lowering.return_),
        ("Raise", _Lowering.raise_),
        ("Break", _Lowering.jump),
        ("Continue", _Lowering.jump),
        ("Pass", _Lowering.jump),
        ("Global", _Lowering.scope),
        ("Nonlocal", _Lowering.scope),
        ("Import", _Lowering.import_),
        ("ImportFrom", _Lowering.import_from),
        ("If", _Lowering.if_),
        ("For", _Lowering.for_),
        ("AsyncFor", _Lowering.for_),
        ("While", _Lowering.while_),
        ("With", _Lowering.with_),
        ("AsyncWith", _Lowering.with_),
        ("Try", _Lowering.try_),
        ("TryStar", _Lowering.try_),
        ("Match", _Lowering.match),
        ("Delete", _Lowering.delete),
        ("FunctionDef", _Lowering.function),
        ("AsyncFunctionDef", _Lowering.function),
        ("ClassDef", _Lowering.class_),
    ]
)

_EXPRESSIONS: dict[type, Callable[[_Lowering, Any], n.Expr]] = _handlers(
    [
        ("Name", _Lowering.name),
        ("Constant", _Lowering.constant),
        ("JoinedStr", _Lowering.fstring),
        ("Attribute", _Lowering.attribute),
        ("Call", _Lowering.call),
        ("UnaryOp", _Lowering.unary),
        ("BinOp", _Lowering.binary),
        ("BoolOp", _Lowering.bool_op),
        ("IfExp", _Lowering.conditional),
        ("Dict", _Lowering.dict_),
        ("List", _Lowering.sequence),
        ("Tuple", _Lowering.sequence),
        ("Set", _Lowering.sequence),
        ("Starred", _Lowering.starred),
        ("Subscript", _Lowering.subscript),
        ("Lambda", _Lowering.lambda_),
        ("ListComp", _Lowering.comprehension),
        ("SetComp", _Lowering.comprehension),
        ("DictComp", _Lowering.comprehension),
        ("GeneratorExp", _Lowering.comprehension),
        ("Await", _Lowering.await_),
        ("Yield", _Lowering.yield_),
        ("YieldFrom", _Lowering.yield_from),
        ("NamedExpr", _Lowering.named),
        ("Compare", _Lowering.compare),
    ]
)


def _is_plain(part: ast.FormattedValue) -> bool:
    """Whether a value stands in a string as it is."""
    return part.format_spec is None and part.conversion in (-1, ord("s"))
