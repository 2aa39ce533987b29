"""Other ways to write an expression or a call, with the same meaning."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from tests.mutation.tree import Change, Source, last, text_of

CONDITION = "len(__name__) > 3"


@dataclass(frozen=True)
class Spelled:
    """Changes that write an expression in another way.

    Attributes:
        how: The spelling.
        changes: In the file itself.
        more: Other files.
    """

    how: str
    changes: list[Change]
    more: Mapping[str, str] = field(default_factory=dict)


def spelled(
    source: Source,
    node: ast.expr,
    text: str,
    call: ast.Call | None = None,
    params: tuple[str, ...] = (),
) -> Iterator[Spelled]:
    """Yields the ways to write ``text`` in place of ``node``.

    Args:
        source: The file.
        node: An expression, or an argument of ``call``.
        text: The new expression.
        call: The call of a helper around it.
        params: The helper's parameters.
    """
    here = source.replace(node, text)
    yield Spelled("direct", [here])
    literal = _literal(text)
    if literal is not None or _is_constant(source, text):
        yield Spelled(
            "constant", [source.replace(node, "SPELLED"), source.at_top(f"SPELLED = {text}")]
        )
    parts = re.fullmatch(r"(.+)([./])(.+)", literal or "")
    if parts is not None:
        head, mark, rest = parts.groups()
        yield Spelled("concatenation", [source.replace(node, f'"{head}{mark}" + "{rest}"')])
        joined = f'f"{{SPELLED}}{mark}{rest}"'
        yield Spelled(
            "f-string", [source.replace(node, joined), source.at_top(f'SPELLED = "{head}"')]
        )
    if literal is not None:
        yield from _elsewhere(source, node, text)
    if text != source.segment(node):
        yield Spelled(
            "conditional",
            [source.replace(node, f"{text} if {CONDITION} else {source.segment(node)}")],
        )
    statement = source.statement(node)
    if isinstance(statement, (ast.With, ast.AsyncWith, ast.Expr, ast.Assign, ast.Return)):
        if source.function(node) is not None and _starts_line(source, statement):
            yield Spelled(
                "variable",
                [source.before(statement, f"spelled = {text}"), source.replace(node, "spelled")],
            )
    if call is not None:
        yield from _calls(source, here, call, params)


def _elsewhere(source: Source, node: ast.expr, text: str) -> Iterator[Spelled]:
    folder = PurePosixPath(source.path).parent
    module = ".".join((*folder.parts, "spelled_names"))
    if all(part.isidentifier() for part in folder.parts):
        yield Spelled(
            "other module",
            [source.replace(node, "SPELLED"), source.at_top(f"from {module} import SPELLED")],
            {str(folder / "spelled_names.py"): f"SPELLED = {text}\n"},
        )


def _calls(
    source: Source, here: Change, call: ast.Call, params: tuple[str, ...]
) -> Iterator[Spelled]:
    if params and len(call.args) <= len(params):
        named = [
            (source.span(a)[0], source.span(a)[0], f"{p}=")
            for a, p in zip(call.args, params, strict=False)
            if not isinstance(a, ast.Starred)
        ]
        if named:
            merged = [
                (here[0], here[1], f"{n[2]}{here[2]}") if n[0] == here[0] else n for n in named
            ]
            yield Spelled(
                "keyword", merged if any(n[0] == here[0] for n in named) else [here, *named]
            )
    dotted = source.imports.get(getattr(call.func, "id", ""), "")
    if isinstance(call.func, ast.Name) and "." in dotted:
        module, _, name = dotted.rpartition(".")
        aliased = [here, source.replace(call.func, "spelled_alias")]
        yield Spelled(
            "alias", [*aliased, source.at_top(f"from {module} import {name} as spelled_alias")]
        )
        required = params[: len(call.args)]
        if required and not any(isinstance(a, ast.Starred) for a in call.args):
            names = ", ".join(required)
            wrapper = (
                f"def spelled_wrapper({names}, **attributes):\n"
                f"    return {last(call)}({names}, **attributes)\n"
            )
            yield Spelled(
                "wrapper",
                [here, source.replace(call.func, "spelled_wrapper"), source.at_top(wrapper)],
            )


def _literal(text: str) -> str | None:
    try:
        return text_of(ast.parse(text, mode="eval").body)
    except SyntaxError:
        return None


def _is_constant(source: Source, text: str) -> bool:
    """Whether a dotted name starts with something imported."""
    head, dot, _ = text.partition(".")
    return bool(dot) and head.isidentifier() and head in source.imports


def _starts_line(source: Source, statement: ast.stmt) -> bool:
    start = source.line_start(statement.lineno)
    return not source.data[start : source.span(statement)[0]].strip()
