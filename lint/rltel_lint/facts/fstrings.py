"""Where the expressions of an f-string stand, for Pythons whose parser counts from elsewhere.

Before 3.12 an f-string is one token, and the places of what is inside are not those of the file.
The grammar of those versions is simple: no backslash, no comment and no quote of the string itself
may stand in an expression.
Source: https://docs.python.org/3.11/reference/lexical_analysis.html#formatted-string-literals.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_START = re.compile(r"(?P<prefix>[a-zA-Z]{0,2})(?P<quote>\"\"\"|'''|\"|')")
_BETWEEN = re.compile(r"(?:\s|\\\n|#[^\n]*)*")
_QUOTE = re.compile(r"\"\"\"|'''|\"|'")
_OPENING, _CLOSING = "([{", ")]}"


class _UnclearError(Exception):
    """The text is not what this module knows to read."""


def fields(text: str) -> list[tuple[int, str]] | None:
    """Returns the expressions between braces, with the offset at which each begins.

    Args:
        text: One f-string, or strings side by side of which some are f-strings.

    Returns:
        The expressions in order, without those inside formats; ``None`` where that is not clear.
    """
    try:
        return list(_fields(text))
    except _UnclearError:
        return None


def _fields(text: str) -> Iterator[tuple[int, str]]:
    at = 0
    while at < len(text):
        start = _START.match(text, at)
        if start is None:
            raise _UnclearError
        at = start.end()
        prefix, quote = start["prefix"].lower(), start["quote"]
        while not text.startswith(quote, at):
            at, field = _next(text, at, "f" in prefix, "r" in prefix)
            if field is not None:
                yield field
        between = _BETWEEN.match(text, at + len(quote))
        at = between.end() if between is not None else len(text)


def _next(text: str, at: int, formatted: bool, raw: bool) -> tuple[int, tuple[int, str] | None]:
    """The offset behind the next character or field, and the field."""
    if at >= len(text):
        raise _UnclearError
    if text[at] == "\\":
        if formatted and not raw and text.startswith("\\N{", at):
            return text.index("}", at) + 1, None
        # Of a raw f-string ``\{`` is a backslash and a brace.
        return at + (1 if formatted and text[at + 1 : at + 2] in "{}" else 2), None
    if not formatted or text[at] not in "{}":
        return at + 1, None
    if text[at : at + 2] in {"{{", "}}"}:
        return at + 2, None
    if text[at] == "}":
        raise _UnclearError
    end = _end_of_expression(text, at + 1)
    return _end_of_field(text, end), (at + 1, text[at + 1 : end])


def _end_of_expression(text: str, at: int) -> int:
    """The offset of what ends an expression: ``!r``, a format, or the brace."""
    depth = 0
    while at < len(text):
        character = text[at]
        quote = _QUOTE.match(text, at)
        if quote is not None:
            closing = text.find(quote[0], quote.end())
            if closing < 0:
                raise _UnclearError
            at = closing + len(quote[0])
            continue
        if depth == 0 and (character in "}:" or (character == "!" and text[at + 1] != "=")):
            return at
        if depth == 0 and character == "=" and _ends_debug(text, at):
            raise _UnclearError  # ``{x=}`` is a text and a value
        depth += (character in _OPENING) - (character in _CLOSING)
        at += 1
    raise _UnclearError


def _ends_debug(text: str, at: int) -> bool:
    return text[at + 1 : at + 2] != "=" and text[at - 1] not in "=!<>"


def _end_of_field(text: str, at: int) -> int:
    """The offset behind the brace that ends a field, whose format may have fields itself."""
    depth = 0
    while at < len(text):
        if text[at] == "{":
            depth += 1
        elif text[at] == "}":
            if depth == 0:
                return at + 1
            depth -= 1
        at += 1
    raise _UnclearError
