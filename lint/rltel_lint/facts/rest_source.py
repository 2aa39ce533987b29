"""Rewrites directives that docutils does not know into ones it does, line for line.

docutils throws away the content of a directive it has no class for. Registering classes
would change docutils for everyone in the process (a linter runs beside others), so the text
is changed instead; every line keeps its number and its indentation.
"""

from __future__ import annotations

import re

_DIRECTIVE = re.compile(r"(?P<indent>\s*)\.\. (?P<name>[A-Za-z][\w:.+-]*?)::(?P<rest>\s.*|)$")
_OPTION = re.compile(r"\s+:(?P<name>[A-Za-z][\w-]*):(?:\s|$)")

_CODE = frozenset(
    {
        "code",
        "code-block",
        "sourcecode",
        "parsed-literal",
        "prompt",
        "testcode",
        "testoutput",
        "testsetup",
    }
)
# Content that is not prose, or that would open files, run code or change docutils' state.
_DROPPED = frozenset(
    {
        "include",
        "raw",
        "literalinclude",
        "toctree",
        "role",
        "default-role",
        "math",
        "mermaid",
        "graphviz",
        "digraph",
        "graph",
        "uml",
        "plantuml",
        "highlight",
        "image",
        "figure",
        "meta",
        "index",
        "autosummary",
        "productionlist",
        "doctest",
        "title",
        "date",
        "bibliography",
    }
)
_ADMONITIONS = frozenset(
    {
        "note",
        "warning",
        "tip",
        "important",
        "hint",
        "caution",
        "danger",
        "attention",
        "error",
        "admonition",
    }
)
_TABLE_OPTIONS = {
    "table": {"align", "class", "name", "width", "widths"},
    "list-table": {"align", "class", "name", "width", "widths", "header-rows", "stub-columns"},
    "csv-table": {
        *("align", "class", "name", "width", "widths", "header-rows", "stub-columns"),
        *("header", "delim", "quote", "escape", "keepspace"),
    },
}


def plain_lines(text: str) -> list[str]:
    """Returns the lines, without the other characters at which docutils would break them."""
    return re.sub("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", " ", text).split("\n")


def prepare(lines: list[str]) -> list[str]:
    """Returns the lines of a page as docutils shall read them."""
    result = list(lines)
    number = 0
    while number < len(result):
        match = _DIRECTIVE.match(result[number])
        number += 1
        if match is None:
            continue
        name, indent = match["name"].lower(), match["indent"]
        end = number
        while end < len(result) and _option(result[end], indent):
            end += 1
        if name in _CODE:
            language = match["rest"].strip().split(" ")[0]
            result[number - 1] = f"{indent}.. code:: {language}"
            result[number:end] = [""] * (end - number)
        elif name in _DROPPED:
            result[number - 1] = f"{indent}.. {name}"
        elif name in _TABLE_OPTIONS:
            result[number:end] = _known_options(result[number:end], _TABLE_OPTIONS[name])
        elif name not in _ADMONITIONS:
            result[number - 1] = f"{indent}.. container::"
            result[number:end] = [""] * (end - number)
    return result


def _option(line: str, indent: str) -> bool:
    return _OPTION.match(line) is not None and len(line) - len(line.lstrip()) > len(indent)


def _known_options(options: list[str], known: set[str]) -> list[str]:
    """Puts the options docutils knows first: an empty line would end them."""
    kept = [o for o in options if (match := _OPTION.match(o)) and match["name"] in known]
    return kept + [""] * (len(options) - len(kept))
