"""What methods and operators make of abstract strings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from rltel_lint.facts import nodes as n
from rltel_lint.values import HOLE, NEVER, Strings, concat, literal, unknown

_BY_CHARACTER: Mapping[str, Callable[[str], str]] = {
    "lower": str.lower,
    "upper": str.upper,
    "casefold": str.casefold,
}
_WHOLE: Mapping[str, Callable[[str], str]] = {
    "strip": str.strip,
    "lstrip": str.lstrip,
    "rstrip": str.rstrip,
    "title": str.title,
    "capitalize": str.capitalize,
}
_TWO_TEXTS = {"replace": 2, "removeprefix": 1, "removesuffix": 1}


class Value(Protocol):
    """Evaluates a part of an expression."""

    def __call__(self, part: n.Expr, *, in_text: bool = False) -> Strings:
        """Evaluates; ``in_text``: as ``str()`` of it."""


def constant(expr: n.Const, *, formatted: bool) -> Strings:
    """Evaluates a literal; ``None`` is no value at all, unless it is put into a text."""
    if isinstance(expr.value, str):
        return literal(expr.value)
    if formatted:
        return literal(str(expr.value))
    return NEVER if expr.value is None else unknown("it is not a string")


def fstring(expr: n.FString, value: Value) -> Strings:
    """Evaluates an f-string."""
    return concat(
        literal(part)
        if isinstance(part, str)
        else value(part, in_text=True)
        if part is not None
        else unknown("a formatted part")
        for part in expr.parts
    )


def bool_op(expr: n.BoolOp, value: Value, *, formatted: bool) -> Strings:
    """Evaluates ``or`` and ``and``: an empty string never passes ``or``, only it passes ``and``."""
    left, right = value(expr.left, in_text=formatted), value(expr.right, in_text=formatted)
    if expr.op == "or":
        return Strings(left.templates - {""}, left.reason) | right
    if formatted:
        return left | right
    falsy = frozenset(template for template in left.templates if not template.strip(HOLE))
    return Strings(falsy, left.reason) | right


def percent(expr: n.Binary, value: Value) -> Strings:
    """Evaluates ``template % arguments``."""
    template = value(expr.left).exact
    right = expr.right
    several = isinstance(right, n.Sequence) and right.kind == "tuple"
    args = right.elements if several and isinstance(right, n.Sequence) else (right,)
    if template is None or "%%" in template:
        return unknown("it is formatted")
    texts = re.split(r"%s", template)
    if any("%" in text for text in texts) or len(texts) != len(args) + 1:
        return unknown("it is formatted")
    pieces = [literal(texts[0])]
    for arg, text in zip(args, texts[1:], strict=True):
        pieces += [_formatted(arg, value), literal(text)]
    return concat(pieces)


def _formatted(arg: n.Expr, value: Value) -> Strings:
    if isinstance(arg, n.Starred):
        return unknown("it is passed by unpacking")
    return value(arg, in_text=True)


def method(expr: n.Call, func: n.Attribute, value: Value) -> Strings | None:
    """Evaluates a call of a string method; ``None`` if it is none that is understood.

    ``join`` and ``get`` need containers and are not looked at here.
    """
    plain = all(not arg.star and arg.keyword is None for arg in expr.args)
    args = [arg.value for arg in expr.args]
    name = func.attr
    if name in _BY_CHARACTER and not args:
        return value(func.base).map_text(_BY_CHARACTER[name])
    if name in _WHOLE and not args:
        return value(func.base).map(_WHOLE[name])
    if name == "format":
        return _format(expr, value(func.base), value)
    if name in _TWO_TEXTS and plain and len(args) == _TWO_TEXTS[name]:
        texts = [value(arg).exact for arg in args]
        known = [text for text in texts if text is not None]
        return _change(value(func.base), name, known) if len(known) == len(args) else None
    return None


def _change(strings: Strings, name: str, args: Sequence[str]) -> Strings:
    def change(text: str) -> str:
        return getattr(text, name)(*args)  # type: ignore[no-any-return]

    if name == "replace" and len(args[0]) == 1:
        return strings.map_text(change)
    return strings.map(change)


def _format(expr: n.Call, template: Strings, value: Value) -> Strings:
    fields = _fields(template.exact) if template.exact is not None else None
    if fields is None or any(arg.star for arg in expr.args):
        return unknown("it is formatted")
    numbered = [arg.value for arg in expr.args if arg.keyword is None]
    named = {arg.keyword: arg.value for arg in expr.args if arg.keyword is not None}
    pieces: list[Strings] = []
    for text, field in fields:
        pieces.append(literal(text))
        if field is None:
            continue
        if isinstance(field, int):
            found = numbered[field] if field < len(numbered) else None
        else:
            found = named.get(field)
        pieces.append(
            value(found, in_text=True) if found is not None else unknown("it is formatted")
        )
    return concat(pieces)


def _fields(template: str) -> list[tuple[str, str | int | None]] | None:
    """Cuts a template into texts, each with the field after it; ``None`` if not that plain."""
    parts = re.split(r"\{(\w*)\}", template)
    if any("{" in text or "}" in text for text in parts[::2]):
        return None
    return list(_numbered(parts))


def _numbered(parts: Sequence[str]) -> Iterator[tuple[str, str | int | None]]:
    count = 0
    for place in range(0, len(parts) - 1, 2):
        field = parts[place + 1]
        if not field:
            yield parts[place], count
            count += 1
        else:
            yield parts[place], int(field) if field.isdigit() else field
    yield parts[-1], None
