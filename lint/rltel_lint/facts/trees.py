"""Trees of spans in text blocks: a name to a line, its group behind a hash."""

from __future__ import annotations

import re
from typing import NamedTuple

from rltel_lint.facts.names import in_namespace, is_dotted
from rltel_lint.facts.pages import Fence

_TEXT_LANGUAGES = frozenset({"", "text", "txt", "plain", "plaintext", "none", "tree"})
_LINE = re.compile(r"(?P<lead>[\s│├└─┬╰┌|+`\\\u2013-]*)(?P<name>[A-Za-z_<{][^\s#]*)(?P<rest>.*)")
_BRANCH = re.compile(r"[│├└╰]|\+--|\|--|`--")
_GROUP = re.compile(r"\s*#\s*`?(?P<group>[a-z][a-z0-9_]*)`?\s*(?:\(.*|[—\u2013-]\s.*)?$")
_NO_GROUP = frozenset({"reserved", "retired", "removed", "deprecated", "planned", "optional"})


class TreeName(NamedTuple):
    """A name in a tree; ``offset`` counts from the line's beginning in the block."""

    text: str
    line: int
    offset: int
    group: str
    remark: str


def is_text(fence: Fence) -> bool:
    """Whether a block is text rather than a program."""
    return fence.language in _TEXT_LANGUAGES


def tree_names(fence: Fence, namespace: str, *, marked: bool) -> list[TreeName]:
    """Returns the spans that a text block draws as a tree or lists one to a line, each once.

    Args:
        fence: The block.
        namespace: The prefix of the project's own names.
        marked: Whether a marker says that the block is such a tree.
    """
    branching = _BRANCH.search(fence.text) is not None
    found: list[TreeName] = []
    for number, line in enumerate(fence.text.split("\n")):
        if not line.strip():
            continue
        match = _LINE.match(line)
        name = match["name"].rstrip(",;") if match else ""
        rest = match["rest"].strip() if match else ""
        good = is_dotted(name) and name == name.lower()
        # Without branches only a plain list counts: prose and formulas hold names as well.
        if not match or not good or not (branching or marked or not rest or rest[0] == "#"):
            if branching or marked:
                continue
            return []
        group = _GROUP.match(rest)
        word = group["group"] if group and group["group"] not in _NO_GROUP else ""
        found.append(TreeName(name, number, match.start("name"), word, rest.lstrip("# ")))
    if not marked and not any(in_namespace(name.text, namespace) for name in found):
        return []  # a drawing of files or modules
    first: dict[str, TreeName] = {}
    for name_found in found:
        first.setdefault(name_found.text, name_found)
    return list(first.values())
