"""From a libcst tree to the small tree of :mod:`rltel_lint.facts.nodes`, in one traversal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, cast

import libcst as cst

from rltel_lint.facts import nodes as n
from rltel_lint.facts.positions import positions_of

_BINARY = {cst.Add: "+", cst.Modulo: "%", cst.BitOr: "|"}
_AUGMENTED = {cst.AddAssign: "+", cst.BitOrAssign: "|", cst.ModuloAssign: "%"}
_COMPARE: dict[type[cst.BaseCompOp], str] = {
    cst.Equal: "==",
    cst.NotEqual: "!=",
    cst.In: "in",
    cst.NotIn: "not in",
    cst.Is: "is",
    cst.IsNot: "is not",
}
_CONSTANTS: dict[str, bool | None] = {"True": True, "False": False, "None": None}


def lower(text: str, *, line_offset: int = 0) -> tuple[n.Stmt, ...]:
    """Parses source text and keeps what the checker needs of it.

    Args:
        text: The source of a module or of whole statements.
        line_offset: Lines to add to every position.

    Returns:
        The statements.

    Raises:
        libcst.ParserSyntaxError: The text is not Python.
    """
    module = cst.parse_module(text)
    return _Lowering(positions_of(module), line_offset).statements(module.body)


def lower_expression(text: str, line: int, column: int) -> n.Expr:
    """Lowers one expression that stands somewhere in a file.

    Args:
        text: The expression, as it is written there.
        line: The line that it begins on, from 1.
        column: The column, from 0.

    Raises:
        libcst.ParserSyntaxError: The text is not an expression.
    """
    module = cst.parse_module(f"({text}\n)\n")
    moved = {
        node: (
            at[0],
            at[1] + column - 1 if at[0] == 1 else at[1],
            at[2],
            at[3] + column - 1 if at[2] == 1 else at[3],
        )
        for node, at in positions_of(module).items()
    }
    (statement,) = _Lowering(moved, line - 1).statements(module.body)
    assert isinstance(statement, n.ExprStmt)
    return statement.value


class _Lowering:
    def __init__(self, positions: Mapping[cst.CSTNode, n.Span], line_offset: int) -> None:
        self._positions = positions
        self._offset = line_offset

    def at(self, node: cst.CSTNode) -> n.Span:
        line, column, end_line, end_column = self._positions[node]
        offset = self._offset
        return (line + offset, column, end_line + offset, end_column)

    def _with_parentheses(self, node: cst.BaseExpression) -> n.Span:
        """The range of a tuple or generator, to which ``ast`` counts its parentheses."""
        if not node.lpar:
            return self.at(node)
        return (*self.at(node.lpar[-1])[:2], *self.at(node.rpar[0])[2:])

    # -- statements ---------------------------------------------------------------------

    def statements(self, body: Sequence[cst.CSTNode]) -> tuple[n.Stmt, ...]:
        return tuple(self._statements(body))

    def _statements(self, body: Sequence[cst.CSTNode]) -> Iterator[n.Stmt]:
        for statement in body:
            if isinstance(statement, cst.SimpleStatementLine):
                yield from self._statements(statement.body)
            else:
                handler = _STATEMENTS.get(type(statement))
                if handler is not None:
                    yield handler(self, statement)
                else:
                    yield n.OtherStmt(self.at(statement), self._inside(statement))

    def block(self, suite: cst.BaseSuite) -> tuple[n.Stmt, ...]:
        return self.statements(suite.body)

    def _orelse(self, node: cst.If | cst.Else | None) -> tuple[n.Stmt, ...]:
        if node is None:
            return ()
        if isinstance(node, cst.If):
            return (self.if_(node),)
        return self.block(node.body)

    def delete(self, node: cst.Del) -> n.Stmt:
        several = isinstance(node.target, cst.Tuple)
        children = self._inside(node.target if several else node)
        return n.OtherStmt(self.at(node), children, True)

    def expr_stmt(self, node: cst.Expr) -> n.Stmt:
        return n.ExprStmt(self.at(node), self.expr(node.value))

    def assign(self, node: cst.Assign) -> n.Stmt:
        targets = tuple(self.expr(target.target) for target in node.targets)
        return n.Assign(self.at(node), targets, self.expr(node.value))

    def ann_assign(self, node: cst.AnnAssign) -> n.Stmt:
        return n.Assign(
            self.at(node),
            (self.expr(node.target),),
            self._maybe(node.value),
            self.expr(node.annotation.annotation),
        )

    def aug_assign(self, node: cst.AugAssign) -> n.Stmt:
        op = _AUGMENTED.get(type(node.operator), "?")
        return n.AugAssign(self.at(node), self.expr(node.target), op, self.expr(node.value))

    def return_(self, node: cst.Return) -> n.Stmt:
        return n.Return(self.at(node), self._maybe(node.value))

    def raise_(self, node: cst.Raise) -> n.Stmt:
        return n.Raise(self.at(node), self._maybe(node.exc))

    def jump(self, node: cst.Break | cst.Continue | cst.Pass) -> n.Stmt:
        kind = cast(Literal["break", "continue", "pass"], type(node).__name__.lower())
        return n.Jump(self.at(node), kind)

    def scope(self, node: cst.Global | cst.Nonlocal) -> n.Stmt:
        return n.Scope(self.at(node), tuple(item.name.value for item in node.names))

    def import_(self, node: cst.Import) -> n.Stmt:
        names = []
        for alias in node.names:
            full = _dotted(alias.name)
            bound = alias.evaluated_alias
            names.append((full, bound) if bound else (full.split(".", 1)[0],) * 2)
        return n.Import(self.at(node), None, 0, tuple(names))

    def import_from(self, node: cst.ImportFrom) -> n.Stmt:
        module = _dotted(node.module) if node.module is not None else ""
        if isinstance(node.names, cst.ImportStar):
            names: tuple[tuple[str, str], ...] = (("*", "*"),)
        else:
            names = tuple(
                (alias.evaluated_name, alias.evaluated_alias or alias.evaluated_name)
                for alias in node.names
            )
        return n.Import(self.at(node), module, len(node.relative), names)

    def if_(self, node: cst.If) -> n.Stmt:
        return n.If(
            self.at(node), self.expr(node.test), self.block(node.body), self._orelse(node.orelse)
        )

    def for_(self, node: cst.For) -> n.Stmt:
        return n.For(
            self.at(node),
            self.expr(node.target),
            self.expr(node.iter),
            self.block(node.body),
            self._orelse(node.orelse),
            node.asynchronous is not None,
        )

    def while_(self, node: cst.While) -> n.Stmt:
        return n.While(
            self.at(node), self.expr(node.test), self.block(node.body), self._orelse(node.orelse)
        )

    def with_(self, node: cst.With) -> n.Stmt:
        items = tuple(self._with_item(item) for item in node.items)
        return n.With(self.at(node), items, self.block(node.body), node.asynchronous is not None)

    def _with_item(self, item: cst.WithItem) -> n.WithItem:
        context = self.expr(item.item)
        target = self.expr(item.asname.name) if item.asname else None
        at = (*context.at[:2], *(target or context).at[2:])
        return n.WithItem(at, context, target)

    def try_(self, node: cst.Try | cst.TryStar) -> n.Stmt:
        handlers = tuple(
            n.Handler(
                self.at(handler),
                self._maybe(handler.type),
                getattr(handler.name.name, "value", None) if handler.name else None,
                self.block(handler.body),
            )
            for handler in node.handlers
        )
        final = self.block(node.finalbody.body) if node.finalbody else ()
        return n.Try(
            self.at(node), self.block(node.body), handlers, self._orelse(node.orelse), final
        )

    def match(self, node: cst.Match) -> n.Stmt:
        cases = tuple(
            n.Case(
                self.at(case),
                tuple(_bound_by(case.pattern)),
                self._maybe(case.guard),
                self.block(case.body),
            )
            for case in node.cases
        )
        return n.Match(self.at(node), self.expr(node.subject), cases)

    def function(self, node: cst.FunctionDef) -> n.Stmt:
        body = self.block(node.body)
        return n.FunctionDef(
            self.at(node),
            node.name.value,
            self.parameters(node.params, node),
            tuple(self.expr(decorator.decorator) for decorator in node.decorators),
            body,
            node.asynchronous is not None,
            n.yields(body),
            self.expr(node.returns.annotation) if node.returns else None,
            self.at(node.name),
        )

    def class_(self, node: cst.ClassDef) -> n.Stmt:
        return n.ClassDef(
            self.at(node),
            node.name.value,
            tuple(self.argument(arg) for arg in (*node.bases, *node.keywords)),
            tuple(self.expr(decorator.decorator) for decorator in node.decorators),
            self.block(node.body),
            self.at(node.name),
        )

    def parameters(self, params: cst.Parameters, owner: cst.CSTNode) -> n.Parameters:
        items = [self._parameter(param, "positional") for param in params.posonly_params]
        items += [self._parameter(param, "either") for param in params.params]
        if isinstance(params.star_arg, cst.Param):
            items.append(self._parameter(params.star_arg, "*"))
        items += [self._parameter(param, "keyword") for param in params.kwonly_params]
        if params.star_kwarg is not None:
            items.append(self._parameter(params.star_kwarg, "**"))
        return n.Parameters(self.at(owner), tuple(items))

    def _parameter(
        self, node: cst.Param, kind: Literal["positional", "either", "keyword", "*", "**"]
    ) -> n.Parameter:
        annotation = self.expr(node.annotation.annotation) if node.annotation else None
        return n.Parameter(
            self.at(node.name), node.name.value, kind, self._maybe(node.default), annotation
        )

    # -- expressions --------------------------------------------------------------------

    def expr(self, node: cst.CSTNode) -> n.Expr:
        handler = _EXPRESSIONS.get(type(node))
        if handler is not None:
            return handler(self, node)
        return n.Other(self.at(node), self._inside(node))

    def _maybe(self, node: cst.CSTNode | None) -> n.Expr | None:
        return None if node is None else self.expr(node)

    def _inside(self, node: cst.CSTNode) -> tuple[n.Expr, ...]:
        found: list[n.Expr] = []
        for child in node.children:
            if type(child) in _EXPRESSIONS:
                found.append(self.expr(child))
            else:
                found.extend(self._inside(child))
        return tuple(found)

    def name(self, node: cst.Name) -> n.Expr:
        if node.value in _CONSTANTS:
            return n.Const(self.at(node), _CONSTANTS[node.value])
        return n.Name(self.at(node), node.value)

    def string(self, node: cst.SimpleString | cst.ConcatenatedString) -> n.Expr:
        value = node.evaluated_value
        if isinstance(value, str):
            return n.Const(self.at(node), value)
        if isinstance(node, cst.ConcatenatedString) and value is None:
            return self.fstring(node)
        return n.Other(self.at(node))

    def fstring(self, node: cst.FormattedString | cst.ConcatenatedString) -> n.Expr:
        parts: list[str | n.Expr | None] = []
        for part in self._string_parts(node):
            if isinstance(part, str) and parts and isinstance(parts[-1], str):
                parts[-1] += part
            elif part != "":
                parts.append(part)
        return n.FString(self.at(node), tuple(parts))

    def _string_parts(self, node: cst.BaseExpression) -> Iterator[str | n.Expr | None]:
        if isinstance(node, cst.ConcatenatedString):
            yield from self._string_parts(node.left)
            yield from self._string_parts(node.right)
        elif isinstance(node, cst.SimpleString):
            value = node.evaluated_value
            yield value if isinstance(value, str) else None
        elif isinstance(node, cst.FormattedString):
            raw = "r" in node.prefix.lower()
            for part in node.parts:
                if isinstance(part, cst.FormattedStringText):
                    yield _fstring_text(part.value, raw=raw)
                elif isinstance(part, cst.FormattedStringExpression):
                    if part.equal is not None:
                        yield _shown(part.whitespace_before_expression, part.expression, part.equal)
                    plain = part.format_spec is None and part.conversion in (None, "s")
                    plain = plain and (part.equal is None or part.conversion == "s")
                    yield self.expr(part.expression) if plain else None
        else:
            yield None

    def number(self, node: cst.Integer | cst.Float) -> n.Expr:
        return n.Const(self.at(node), node.evaluated_value)

    def other(self, node: cst.BaseExpression) -> n.Expr:
        return n.Other(self.at(node))

    def unary(self, node: cst.UnaryOperation) -> n.Expr:
        return n.Other(self.at(node), (self.expr(node.expression),))

    def attribute(self, node: cst.Attribute) -> n.Expr:
        return n.Attribute(self.at(node), self.expr(node.value), node.attr.value)

    def call(self, node: cst.Call) -> n.Expr:
        func = self.expr(node.func)
        value = node.args[0].value if len(node.args) == 1 else None
        if isinstance(value, cst.GeneratorExp) and not value.lpar:
            alone = self.comprehension(value, self._call_parentheses(node))
            return n.Call(self.at(node), func, (n.Arg(alone.at, alone),))
        return n.Call(self.at(node), func, tuple(self.argument(arg) for arg in node.args))

    def _call_parentheses(self, node: cst.Call) -> n.Span:
        """The parentheses of ``f(x for x in y)``, which are the generator's as well."""
        func, blank = node.func, node.whitespace_after_func
        _, _, line, column = self.at(func.rpar[-1] if func.rpar else func)
        if isinstance(blank, cst.SimpleWhitespace):
            column += len(blank.value)
        return (line, column, *self.at(node)[2:])

    def argument(self, node: cst.Arg) -> n.Arg:
        value = self.expr(node.value)
        keyword = node.keyword.value if node.keyword else None
        begin = self.at(node) if node.star or node.keyword else value.at
        return n.Arg((*begin[:2], *value.at[2:]), value, keyword, node.star)

    def binary(self, node: cst.BinaryOperation) -> n.Expr:
        op = _BINARY.get(type(node.operator))
        if op is None:
            return n.Other(self.at(node), (self.expr(node.left), self.expr(node.right)))
        return n.Binary(self.at(node), op, self.expr(node.left), self.expr(node.right))

    def bool_op(self, node: cst.BooleanOperation) -> n.Expr:
        return self._bool_op(node, self.at(node))

    def _bool_op(self, node: cst.BooleanOperation, at: n.Span) -> n.Expr:
        """``a or b or c`` is one operation to ``ast``: all of it begins where ``a`` does."""
        op = "or" if isinstance(node.operator, cst.Or) else "and"
        left, right = node.left, self.expr(node.right)
        same = isinstance(left, cst.BooleanOperation) and type(left.operator) is type(node.operator)
        if same and isinstance(left, cst.BooleanOperation) and not left.lpar:
            end = self.at(left.right)[2:]
            return n.BoolOp(at, op, self._bool_op(left, (*at[:2], *end)), right)
        return n.BoolOp(at, op, self.expr(left), right)

    def conditional(self, node: cst.IfExp) -> n.Expr:
        return n.Conditional(
            self.at(node), self.expr(node.test), self.expr(node.body), self.expr(node.orelse)
        )

    def dict_(self, node: cst.Dict) -> n.Expr:
        items = tuple(
            (
                self.expr(item.key) if isinstance(item, cst.DictElement) else None,
                self.expr(item.value),
            )
            for item in node.elements
        )
        return n.Dict(self.at(node), items)

    def sequence(self, node: cst.List | cst.Tuple | cst.Set) -> n.Expr:
        kind = cast(Literal["list", "tuple", "set"], type(node).__name__.lower())
        elements = tuple(
            n.Starred(self.at(item), self.expr(item.value))
            if isinstance(item, cst.StarredElement)
            else self.expr(item.value)
            for item in node.elements
        )
        at = self._with_parentheses(node) if kind == "tuple" else self.at(node)
        return n.Sequence(at, kind, elements)

    def subscript(self, node: cst.Subscript) -> n.Expr:
        first = node.slice[0].slice
        one = len(node.slice) == 1 and isinstance(first, cst.Index) and first.star is None
        one = one and not isinstance(node.slice[0].comma, cst.Comma)
        if one and isinstance(first, cst.Index) and isinstance(first.value, cst.Tuple):
            index: n.Expr = n.Other(self.at(node), self._inside(first.value))
        elif one and isinstance(first, cst.Index):
            index = self.expr(first.value)
        else:
            index = n.Other(self.at(node), tuple(e for s in node.slice for e in self._inside(s)))
        return n.Subscript(self.at(node), self.expr(node.value), index)

    def lambda_(self, node: cst.Lambda) -> n.Expr:
        return n.Lambda(self.at(node), self.parameters(node.params, node), self.expr(node.body))

    def comprehension(
        self,
        node: cst.ListComp | cst.SetComp | cst.DictComp | cst.GeneratorExp,
        at: n.Span | None = None,
    ) -> n.Expr:
        kinds: dict[type, Literal["list", "set", "dict", "generator"]] = {
            cst.ListComp: "list",
            cst.SetComp: "set",
            cst.DictComp: "dict",
            cst.GeneratorExp: "generator",
        }
        generator = isinstance(node, cst.GeneratorExp)
        at = at or (self._with_parentheses(node) if generator else self.at(node))
        key = self.expr(node.key) if isinstance(node, cst.DictComp) else None
        element = self.expr(node.value if isinstance(node, cst.DictComp) else node.elt)
        loops, conditions = [], []
        loop: cst.CompFor | None = node.for_in
        while loop is not None:
            loops.append((self.expr(loop.target), self.expr(loop.iter)))
            conditions += [self.expr(condition.test) for condition in loop.ifs]
            loop = loop.inner_for_in
        return n.Comprehension(at, kinds[type(node)], key, element, tuple(loops), tuple(conditions))

    def await_(self, node: cst.Await) -> n.Expr:
        return n.Await(self.at(node), self.expr(node.expression))

    def yield_(self, node: cst.Yield) -> n.Expr:
        if isinstance(node.value, cst.From):
            return n.Yield(self.at(node), self.expr(node.value.item), True)
        return n.Yield(self.at(node), self._maybe(node.value))

    def named(self, node: cst.NamedExpr) -> n.Expr:
        return n.NamedExpr(self.at(node), self.expr(node.target), self.expr(node.value))

    def compare(self, node: cst.Comparison) -> n.Expr:
        first = node.comparisons[0]
        if len(node.comparisons) > 1:
            return n.Other(self.at(node), self._inside(node))
        op = _COMPARE.get(type(first.operator), "?")
        return n.Compare(self.at(node), op, self.expr(node.left), self.expr(first.comparator))


def _dotted(node: cst.BaseExpression) -> str:
    if isinstance(node, cst.Attribute):
        return f"{_dotted(node.value)}.{node.attr.value}"
    return node.value if isinstance(node, cst.Name) else ""


def _shown(*parts: cst.CSTNode) -> str:
    """The text that ``{name=}`` puts before the value."""
    return "".join(cst.Module([]).code_for_node(part) for part in parts)


def _bound_by(pattern: cst.CSTNode) -> Iterator[str]:
    if isinstance(pattern, (cst.MatchAs, cst.MatchStar)) and pattern.name is not None:
        yield pattern.name.value
    if isinstance(pattern, cst.MatchMapping) and pattern.rest is not None:
        yield pattern.rest.value
    for child in pattern.children:
        yield from _bound_by(child)


def _fstring_text(value: str, *, raw: bool) -> str | None:
    value = value.replace("{{", "{").replace("}}", "}")
    if raw or "\\" not in value:
        return value
    try:
        quoted = value.replace('"', '\\"') if '\\"' not in value else value
        text = cst.SimpleString(f'"""{quoted}"""').evaluated_value
    except Exception:
        return None
    return text if isinstance(text, str) else None


_STATEMENTS: dict[type, Callable[[_Lowering, Any], n.Stmt]] = {
    cst.Expr: _Lowering.expr_stmt,
    cst.Assign: _Lowering.assign,
    cst.AnnAssign: _Lowering.ann_assign,
    cst.AugAssign: _Lowering.aug_assign,
    cst.Return: _Lowering.return_,
    cst.Raise: _Lowering.raise_,
    cst.Break: _Lowering.jump,
    cst.Continue: _Lowering.jump,
    cst.Pass: _Lowering.jump,
    cst.Global: _Lowering.scope,
    cst.Nonlocal: _Lowering.scope,
    cst.Import: _Lowering.import_,
    cst.ImportFrom: _Lowering.import_from,
    cst.If: _Lowering.if_,
    cst.For: _Lowering.for_,
    cst.While: _Lowering.while_,
    cst.With: _Lowering.with_,
    cst.Try: _Lowering.try_,
    cst.TryStar: _Lowering.try_,
    cst.Match: _Lowering.match,
    cst.Del: _Lowering.delete,
    cst.FunctionDef: _Lowering.function,
    cst.ClassDef: _Lowering.class_,
}

_EXPRESSIONS: dict[type, Callable[[_Lowering, Any], n.Expr]] = {
    cst.Name: _Lowering.name,
    cst.SimpleString: _Lowering.string,
    cst.ConcatenatedString: _Lowering.string,
    cst.FormattedString: _Lowering.fstring,
    cst.Integer: _Lowering.number,
    cst.Float: _Lowering.number,
    cst.Imaginary: _Lowering.other,
    cst.Ellipsis: _Lowering.other,
    cst.UnaryOperation: _Lowering.unary,
    cst.Attribute: _Lowering.attribute,
    cst.Call: _Lowering.call,
    cst.BinaryOperation: _Lowering.binary,
    cst.BooleanOperation: _Lowering.bool_op,
    cst.IfExp: _Lowering.conditional,
    cst.Dict: _Lowering.dict_,
    cst.List: _Lowering.sequence,
    cst.Tuple: _Lowering.sequence,
    cst.Set: _Lowering.sequence,
    cst.Subscript: _Lowering.subscript,
    cst.Lambda: _Lowering.lambda_,
    cst.ListComp: _Lowering.comprehension,
    cst.SetComp: _Lowering.comprehension,
    cst.DictComp: _Lowering.comprehension,
    cst.GeneratorExp: _Lowering.comprehension,
    cst.Await: _Lowering.await_,
    cst.Yield: _Lowering.yield_,
    cst.NamedExpr: _Lowering.named,
    cst.Comparison: _Lowering.compare,
}
