"""The parts of a page between ``<!-- rltel: begin spans -->`` and ``<!-- rltel: end -->``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from rltel_lint.facts.headers import MARKERS
from rltel_lint.facts.markdown import read_markdown
from rltel_lint.facts.pages import Comment, Table

_MARKER = re.compile(r"rltel:\s*(?P<word>begin|end)\b(?P<rest>.*)", re.DOTALL | re.IGNORECASE)
_LINE_END = re.compile(r"\r\n|\r")


@dataclass(frozen=True)
class Section:
    """A part of a page whose table is generated.

    Attributes:
        path: The document.
        kind: What its table documents, as an entry's kind: ``span``.
        word: The same as written in the marker: ``spans``.
        patterns: The names that belong into it, ``rl.grpo.*``; none means all.
        begin: Line of the opening marker, from 1.
        end: Line of the closing one.
        table: The table; ``None`` where there is none yet.
    """

    path: str
    kind: str
    word: str
    patterns: tuple[str, ...]
    begin: int
    end: int
    table: Table | None


@dataclass(frozen=True)
class Problem:
    """A marker that cannot be followed: a line and what is wrong."""

    path: str
    line: int
    message: str


def find_sections(path: str, text: str) -> Iterator[Section | Problem]:
    """Yields the generated parts of a Markdown page, and markers that cannot be followed.

    Args:
        path: The document.
        text: Its text, with any line ends.
    """
    if "rltel:" not in text:
        return
    if PurePosixPath(path).suffix.lower() == ".rst":
        for number, line in enumerate(text.splitlines(), 1):
            if re.match(r"\s*\.\. rltel:\s*begin\b", line):
                reason = "generated tables are for Markdown; write this page as .md"
                yield Problem(path, number, reason)
        return
    opened: tuple[int, str] | None = None
    tables: list[Table] = []
    text = _LINE_END.sub("\n", text.removeprefix("\ufeff"))
    for block in read_markdown(text, mdx=path.endswith(".mdx")):
        if isinstance(block, Table):
            tables.append(block)
        match = _MARKER.fullmatch(block.text) if isinstance(block, Comment) else None
        if match is None or not isinstance(block, Comment):
            continue
        if match["word"].lower() == "begin":
            if opened:
                yield Problem(path, opened[0], 'this "begin" has no "end"; add it below its table')
            opened, tables = (block.line, match["rest"].strip()), []
        elif opened:
            yield _section(path, opened, block.line, tables)
            opened = None
        else:
            yield Problem(path, block.line, 'this "end" has no "begin"; remove it or add one')
    if opened:
        yield Problem(path, opened[0], 'this "begin" has no "end"; add it below its table')


def _section(
    path: str, opened: tuple[int, str], end: int, tables: list[Table]
) -> Section | Problem:
    line, rest = opened
    word, *patterns = rest.replace(",", " ").split() or [""]
    kind = MARKERS.get(word.lower(), "")
    if kind not in KINDS:
        known = ", ".join(word for word, one in MARKERS.items() if one in KINDS)
        return Problem(path, line, f'"{word}" cannot be generated; known are {known}')
    if len(tables) > 1:
        return Problem(path, line, "there are several tables between the markers; keep one")
    table = tables[0] if tables else None
    return Section(path, kind, word.lower(), tuple(patterns), line, end, table)


KINDS = frozenset({"span", "group", "preset", "metric"})
"""The kinds of names that the inventory knows."""
