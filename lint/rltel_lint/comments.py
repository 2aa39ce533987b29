"""Comments that silence findings, as they stand in one file: ``noqa``, and those of documents.

In Python files a comment is read as flake8 reads it, so that a finding is silent in both:
https://flake8.pycqa.org/en/stable/user/violations.html, "In-line Ignoring Errors". There is
one difference: the comment may stand on any line of the range that a finding marks, such as
beside the closing bracket of a call, and on any line of the decorators and the head of a
definition when the finding is at one of them.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rltel_lint.findings import Place

# flake8 wants one blank after the hash; a part after the colon that is no list of codes makes
# the comment a blanket one, and so do codes without digits.
_NOQA = re.compile(r"# noqa(?::\s?(?P<codes>[a-z]+[0-9]+(?:[,\s]*[a-z]+[0-9]+)*))?", re.IGNORECASE)
_NOQA_FILE = re.compile(r"\s*(?P<text># flake8[:=]\s*noqa)", re.IGNORECASE)
MAY_SILENCE = ("noqa", "rltel:")
"""Of these one stands, in any case, in every text where a comment silences, or is meant to."""
_LINE_END = re.compile(r"\r\n|\r|\n")

# A comment in Markdown, MDX, reStructuredText, YAML and TOML.
_DOCUMENT = re.compile(
    r"(?:<!--|\{/\*|^\s*\.\.|(?:^|(?<=\s))#)\s*rltel:\s*ignore\b"
    r"(?:\s+(?P<codes>RLT[0-9]+(?:[,\s]+RLT[0-9]+)*)\b)?.*?(?:-->|\*/\}|$)"
)
_SEPARATOR = re.compile(r"[,\s]+")
_FENCE = re.compile(r"\s*(?:[-*+>]\s+)*(?P<mark>`{3,}|~{3,})")


@dataclass(frozen=True)
class Comment:
    """One comment that silences findings.

    Attributes:
        line: Where it starts, from 1.
        column: Likewise.
        text: The comment, to the end of its line.
        codes: The codes and beginnings of codes that it names; empty for a blanket one.
        covers: The lines that it speaks for; ``None`` for the whole file.
        quoted: Whether it is not really a comment but part of a string or of an example.
    """

    line: int
    column: int
    text: str
    codes: tuple[str, ...]
    covers: range | None
    quoted: bool = False

    def silences(self, code: str) -> bool:
        """Whether findings with this code are silent where the comment counts."""
        return not self.codes or code.startswith(self.codes)


class PythonComments:
    """The ``noqa`` comments of a Python file.

    Args:
        text: The file's text.
    """

    def __init__(self, text: str) -> None:
        self._lines = _LINE_END.split(text)
        self.plain: list[tuple[int, int, str]] = []
        """Every comment, whatever it says: line, column from 1, text."""
        self._heads: dict[int, range] = {}
        joined = list(self._read())
        self.whole_file = tuple(self._of_file())
        self.inline = tuple(self._inline(joined))
        self._at = {line: one for one in self.inline for line in one.covers or ()}

    def _of_file(self) -> Iterator[Comment]:
        for number, line in enumerate(self._lines, 1):
            match = _NOQA_FILE.match(line)
            if match is not None:
                text = line[match.start("text") :].rstrip()
                yield Comment(number, match.start("text") + 1, text, (), None)

    def _inline(self, joined: Iterable[range]) -> Iterator[Comment]:
        starts = {line: column for line, column, _ in self.plain}
        for covers in joined:
            text = "\n".join(self._lines[number - 1] for number in covers)
            match = _NOQA.search(text)
            if match is None:
                continue
            before = text[: match.start()]
            line = covers.start + before.count("\n")
            column = match.start() - (before.rfind("\n") + 1) + 1
            codes = tuple(_SEPARATOR.split(match["codes"])) if match["codes"] else ()
            shown = text[match.start() :].partition("\n")[0].rstrip()
            quoted = column < starts.get(line, column + 1)
            yield Comment(line, column, shown, codes, covers, quoted)

    def _read(self) -> Iterator[range]:
        """Notes comments and heads; yields the lines that one comment speaks for.

        Those are several in a multi-line string or after a backslash.
        """
        start, first, decorated = 1, "", 0
        begin = 1
        try:
            for token in tokenize.generate_tokens(io.StringIO("\n".join(self._lines)).readline):
                if token.type == tokenize.COMMENT:
                    self.plain.append((token.start[0], token.start[1] + 1, token.string))
                elif token.type in (tokenize.NEWLINE, tokenize.NL):
                    yield range(start, token.end[0] + 1)
                    start = token.end[0] + 1
                elif not first and token.type not in (tokenize.INDENT, tokenize.DEDENT):
                    first, begin = token.string, token.start[0]
                if token.type == tokenize.NEWLINE:
                    if first == "@":
                        decorated = decorated or begin
                    elif decorated:
                        head = range(decorated, token.end[0] + 1)
                        self._heads.update(dict.fromkeys(head, head))
                        decorated = 0
                    first = ""
        except (tokenize.TokenError, SyntaxError):
            pass  # A file that does not parse has comments all the same, one line each.
        for line in range(start, len(self._lines) + 1):
            yield range(line, line + 1)

    def at(self, place: Place) -> Iterator[Comment]:
        """Yields the comments that count at a place."""
        yield from self.whole_file
        lines = dict.fromkeys(range(place.line, max(place.line, place.end_line) + 1))
        lines |= dict.fromkeys(self._heads.get(place.line, ()))
        yield from dict.fromkeys(self._at[line] for line in lines if line in self._at)


class DocumentComments:
    """The comments for this tool in a document; one counts on its line and on the next text.

    Args:
        text: The document's text.
    """

    def __init__(self, text: str) -> None:
        lines = _LINE_END.split(text)
        self._at: dict[int, list[Comment]] = {}
        found: list[Comment] = []
        above: list[int] = []
        for number, (line, fenced) in enumerate(zip(lines, _fenced(lines), strict=True), 1):
            here = list(_of_line(number, line, fenced))
            whole = _DOCUMENT.fullmatch(line.strip()) is not None
            found += here
            self._at[number] = [*here, *(found[index] for index in above)]
            if whole:
                above += range(len(found) - len(here), len(found))
            elif line.strip():
                above = []
        self.inline = tuple(found)

    def at(self, place: Place) -> Iterator[Comment]:
        """Yields the comments that count at a place."""
        yield from self._at.get(place.line, ())


def _of_line(number: int, line: str, fenced: bool) -> Iterator[Comment]:
    for match in _DOCUMENT.finditer(line):
        codes = tuple(_SEPARATOR.split(match["codes"])) if match["codes"] else ()
        start = match.start() + len(match[0]) - len(match[0].lstrip())
        quoted = fenced or line[:start].count("`") % 2 == 1 or match[0][:1].isspace()
        covers = range(number, number + 1)
        yield Comment(number, start + 1, match[0].strip(), codes, covers, quoted)


def _fenced(lines: Iterable[str]) -> Iterator[bool]:
    """For each line, whether it stands in a fenced block of code."""
    mark = ""
    for line in lines:
        match = _FENCE.match(line)
        if match is not None and not mark:
            mark = match["mark"]
            yield True
        else:
            yield bool(mark)
            if match is not None and match["mark"].startswith(mark):
                mark = ""
