"""Which code spans of a cell are names, by what the column holds."""

from __future__ import annotations

import re
from typing import NamedTuple

from rltel_lint.facts.pages import Code, Inline
from rltel_lint.facts.wording import formerly

_TEMPLATE = re.compile(r"[A-Za-z_<{*][\w.\-*{}<>,|/ ]*")
_IN_BRACES = re.compile(r"\{[^{}]*\}|<[^<>]*>")
_FILE = re.compile(
    r"\.(?:py|pyi|ya?ml|md|mdx|rst|json|jsonl|toml|sh|txt|cfg|ini|parquet|html|log|csv|so|cu|cpp"
    r"|lock|ipynb|sbatch|env|proto)$"
)
_VERSION = re.compile(r"v?\d+(?:\.\w+)*$")
_WORD = re.compile(r"[a-z_<{*][a-z0-9_\-*{}<>,|]*")
_VARIABLE = re.compile(r"[A-Z<{][A-Za-z0-9_*{}<>,|]*")
_CATEGORY = re.compile(r"[A-Za-z_<{*][\w\-*{}<>,|.]*(?:/[\w\-*{}<>,|.]+)+")
_PLAIN_DOTTED = re.compile(
    r"(?<![\w/.#@\\-])(?:[A-Za-z_]|[<{][^\s<>{}]{1,60}[>}])"
    r"(?:[\w-]|\\_|[<{][^\s<>{}]{1,60}[>}]){0,80}"
    r"(?:\.(?:[\w-]|\\_|[<{][^\s<>{}]{1,60}[>}]|\*){1,80}){1,12}(?![\w/(=])"
)
_LINK_TARGET = re.compile(r"\]\([^()\s]*\)|\]\[[^\[\]]*\]")
_BETWEEN = re.compile(r"[\s,/+&;|*~_\[\]`]*(?:\b(?:and|or|plus|then)\b)?[\s,/+&;|*~_\[\]`]*$")
_BEFORE = re.compile(r"(?:[\s*~_\[\]`]|\b(?:the|a|group|span|preset|tag|metric|attribute)\b)*$")
_ASIDE = re.compile(r"\([^()]*\)")
_EMPTY = re.compile(
    r"[\s*_~()]*(?:none|n/?a|[-\u2013—]+|nothing|\u2717|)?(?![\w/])[\s*_~()]*(?:—.*|\u2013.*)?$"
)
_DOTTED_KINDS = frozenset({"span", "metric", "attribute", "resource"})
_MAX_LENGTH = 300


class Name(NamedTuple):
    """A name in a cell.

    Attributes:
        text: The name as written.
        start: Offset of its first character in the cell.
        end: Offset after its last one.
        code: Index of its code span; -1 for a name in plain text.
        old: Whether the cell introduces it as what something else was called.
    """

    text: str
    start: int
    end: int
    code: int = -1
    old: bool = False


def is_empty(cell: Inline) -> bool:
    """Whether a cell says that there is nothing: ``*(none)*``, a dash, ``n/a``, no text."""
    return not cell.codes and _EMPTY.match(cell.text.strip().lower()) is not None


def is_dotted(text: str) -> bool:
    """Whether the text is a dotted name or a template of one, and no file or version."""
    if "." not in text or text[-1] == "." or ".." in text or "/" in _IN_BRACES.sub("", text):
        return False
    return _is_template(text) and not _FILE.search(text) and not _VERSION.match(text)


def is_name(text: str, kind: str, *, strict: bool = True) -> bool:
    """Whether the text can be a name of this kind.

    Args:
        text: The content of a code span.
        kind: An entry's kind.
        strict: Whether names that only a marker or their place makes names are refused:
            a span or a metric without a dot, a category without a slash.
    """
    if kind in _DOTTED_KINDS:
        if is_dotted(text):
            return kind != "span" or not _looks_like_code(text)
        return not strict and _is_template(text) and "/" not in text and "." not in text
    if kind == "category" and (strict or "/" in text):
        return _is_template(text) and _CATEGORY.fullmatch(text) is not None
    pattern = _VARIABLE if kind == "environment" else _WORD
    return len(text) <= _MAX_LENGTH and pattern.fullmatch(text) is not None


def subject_names(cell: Inline, kind: str, namespace: str, *, strict: bool = True) -> list[Name]:
    """Returns the names that a cell of the documenting column holds.

    Names are the code spans that open the cell, set apart by commas and the like, and,
    behind them, further code spans that are names beyond doubt. Prose after the names
    documents nothing.

    Args:
        cell: The cell.
        kind: What the column documents.
        namespace: The prefix of the project's own names.
        strict: See ``is_name``.
    """
    if not cell.codes:
        return _plain_names(cell, kind, namespace, strict)
    leading = _leading(cell)
    dotted = kind in _DOTTED_KINDS
    found: list[Name] = []
    for index, code in enumerate(cell.codes):
        gap_start = cell.codes[index - 1].end if index else 0
        old = formerly(cell, gap_start, code.start)
        for name in _split(code, index):
            if index in leading or old:
                good = is_name(name.text, kind, strict=strict)
                good = good or (
                    dotted and in_namespace(name.text, namespace) and is_dotted(name.text)
                )
                # Which words are spans of a name without a dot, the place alone decides.
                good = good or (dotted and not found and kind == "span" and _bare_span(cell, name))
            else:
                good = dotted and is_name(name.text, kind) and in_namespace(name.text, namespace)
            if good:
                found.append(name._replace(old=old))
    if dotted and any(is_dotted(name.text) for name in found):
        return [name for name in found if is_dotted(name.text) or not strict]
    return found


def in_namespace(text: str, namespace: str) -> bool:
    """Whether a name begins with the project's prefix."""
    return text.startswith(namespace)


def _bare_span(cell: Inline, name: Name) -> bool:
    """Whether a name without a dot fills its cell: then nothing but a span is meant."""
    rest = cell.plain().strip(" *_~,/")
    return rest == "" and is_name(name.text, "span", strict=False) and name.text.islower()


def _leading(cell: Inline) -> set[int]:
    """Returns the indices of the code spans that open the cell as a list of names."""
    text = _LINK_TARGET.sub(lambda m: " " * len(m.group()), cell.masked("\ue001"))
    leading: set[int] = set()
    at = 0
    for index, code in enumerate(cell.codes):
        gap = text[at : code.start].replace("\ue001", " ")
        pattern = _BETWEEN if index else _BEFORE
        if not pattern.match(_ASIDE.sub(" ", gap).lower()):
            break
        leading.add(index)
        at = code.end
    return leading


def _split(code: Code, index: int) -> list[Name]:
    """Returns the names in one code span: `` `a, b` `` is two, `` `a` `` and ``{a, b}`` one."""
    parts: list[Name] = []
    at = 0
    pieces = re.split(r",\s+|\s+/\s+", _IN_BRACES.sub(lambda m: "x" * len(m.group()), code.text))
    for piece in pieces:
        start = code.text.find(code.text[at : at + len(piece)], at)
        written = code.text[start : start + len(piece)]
        left = len(written) - len(written.lstrip())
        text = written.strip()
        begin = code.start + start + left
        parts.append(Name(_unescaped(text), begin, begin + len(text), index))
        at = start + len(piece)
        while at < len(code.text) and code.text[at] in ",/ \t":
            at += 1
    return parts


def _unescaped(text: str) -> str:
    """MDX writes angle brackets as entities."""
    return text.replace("&lt;", "<").replace("&gt;", ">")


def _plain_names(cell: Inline, kind: str, namespace: str, strict: bool) -> list[Name]:
    """Returns the names of a cell that holds no code span."""
    text = _LINK_TARGET.sub(lambda m: " " * len(m.group()), cell.text)
    text = re.sub(r"(?<![.\w>}])\*+|\*+(?![\w.<{*])(?<!\.\*)", lambda m: " " * len(m.group()), text)
    if kind in _DOTTED_KINDS:
        whole = _PLAIN_DOTTED.fullmatch(text.strip(" []"))
        names = []
        for match in _PLAIN_DOTTED.finditer(text):
            name = match.group().replace("\\_", "_")
            if (whole or in_namespace(name, namespace)) and is_name(name, kind):
                old = formerly(cell, 0, match.start())
                names.append(Name(name, match.start(), match.end(), -1, old))
        return names
    if is_empty(cell):
        return []
    matches = list(re.finditer(r"[^,/\s]+(?:/[^,/\s]+)*", text.replace("[", " ").replace("]", " ")))
    if re.search(r"[^\s,]\s+[^\s,]", re.sub(r"\s*,\s*|\s+/\s+", ",", text.strip(" []"))):
        return []  # words in a row are prose
    return [
        Name(match.group().replace("\\_", "_"), match.start(), match.end())
        for match in matches
        if is_name(match.group().replace("\\_", "_"), kind, strict=strict)
    ]


def _is_template(text: str) -> bool:
    if len(text) > _MAX_LENGTH or not _TEMPLATE.fullmatch(text):
        return False
    return " " not in _IN_BRACES.sub("", text).strip()


def _looks_like_code(text: str) -> bool:
    """A class or a module path, which a span's name never is: ``Engine.generate``."""
    bare = _IN_BRACES.sub("", text)
    return bare != bare.lower() or bare.startswith(("self.", "cls.", "torch.", "os."))
