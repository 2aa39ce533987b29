"""What the text of a statement calls and defines, as far as the text alone tells."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rltel_lint.facts.occurrences import occurrences

_DEFINED = re.compile(r"\bdef\s+(\w+)")
_HANDED_ON = re.compile(r"\b([^\W\d]\w*)[\"']?\s*(?:[(),]|\.remote\b|\.options\b)")
"""A name, or one in quotes, that is called or passed on; and much that is not."""
_DECORATORS = re.compile(r"@((?:\w+\.)*\w+)")
_CALLS = re.compile(r"\s*(?:\(|\.remote\b|\.options\b)")
_NAMED = re.compile(r"\s*(?:as\b|[),;#\\]|$)", re.MULTILINE)
"""What follows a name that may be imported or assigned under another one, not called."""


@dataclass(frozen=True)
class Calling:
    """Names in the text of a statement, strings and comments included.

    Attributes:
        defines: The functions that are defined in it, nested ones too.
        hands_on: Names that it may call, pass on, or decorate with.
    """

    defines: frozenset[str]
    hands_on: frozenset[str]


def read_calling(text: str) -> Calling:
    """Reads off a text what it calls and defines.

    Args:
        text: Source lines.
    """
    defines = frozenset(_DEFINED.findall(text)) if "def" in text else frozenset()
    hands_on = set(_HANDED_ON.findall(text))
    if "@" in text:
        for dotted in _DECORATORS.findall(text):
            hands_on.update(dotted.split("."))
    return Calling(defines, frozenset(hands_on))


def calls_name(name: str, text: str) -> bool:
    """Whether a text calls a name, in this process or through Ray."""
    return any(
        _CALLS.match(text, end) and not text.endswith(("def ", "class "), 0, start)
        for start, end in occurrences(name, text)
    )


def names_only(name: str, text: str) -> bool:
    """Whether a name stands in a text as what is imported or assigned, and not called."""
    return any(_NAMED.match(text, end) for _, end in occurrences(name, text))
