"""What the user has said not to report: ``noqa`` comments, document comments, per-file ignores.

In Python files a comment is read as flake8 reads it, so that a finding is silent in both:
https://flake8.pycqa.org/en/stable/user/violations.html, "In-line Ignoring Errors". There is
one difference: the comment may stand on any line of the range that the finding marks, such
as beside the closing bracket of a call.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rltel_lint.findings import Finding, Place
from rltel_lint.globs import Globs

# flake8 wants one blank after the hash; a part after the colon that is no list of codes makes
# the comment a blanket one, and so do codes without digits.
_NOQA = re.compile(r"# noqa(?::\s?(?P<codes>[a-z]+[0-9]+(?:[,\s]*[a-z]+[0-9]+)*))?", re.IGNORECASE)
_NOQA_FILE = re.compile(r"\s*# flake8[:=]\s*noqa", re.IGNORECASE)
_LINE_END = re.compile(r"\r\n|\r|\n")

# A comment in Markdown, MDX and reStructuredText.
_DOCUMENT = re.compile(
    r"(?:<!--|\{/\*|^\s*\.\.)\s*rltel:\s*ignore\s+"
    r"(?P<codes>RLT[0-9]+(?:[,\s]+RLT[0-9]+)*)\b.*?(?:-->|\*/\}|$)"
)
_SEPARATOR = re.compile(r"[,\s]+")


class Suppressions:
    """Decides which findings stay.

    Args:
        texts: Texts of source files and documents, by path.
        per_file_ignores: Codes and prefixes by glob, as in the configuration.
    """

    def __init__(
        self, texts: Mapping[str, str], per_file_ignores: Mapping[str, tuple[str, ...]]
    ) -> None:
        self._texts = texts
        self._ignores = [(Globs([glob]), codes) for glob, codes in per_file_ignores.items()]
        self._comments: dict[str, _PythonComments | _DocumentComments | None] = {}

    def keep(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """Returns the findings that nothing suppresses, in the order given."""
        return tuple(finding for finding in findings if not self._suppressed(finding))

    def _suppressed(self, finding: Finding) -> bool:
        path, code = finding.place.path, finding.code
        for globs, codes in self._ignores:
            if code.startswith(codes) and globs.match(path):
                return True
        if path not in self._comments:
            self._comments[path] = _comments(path, self._texts.get(path, ""))
        comments = self._comments[path]
        return comments is not None and comments.cover(finding.place, code)


def _comments(path: str, text: str) -> _PythonComments | _DocumentComments | None:
    if path.endswith(".py"):
        return _PythonComments(text) if "noqa" in text.lower() else None
    return _DocumentComments(_LINE_END.split(text)) if "rltel:" in text else None


class _PythonComments:
    def __init__(self, text: str) -> None:
        lines = _LINE_END.split(text)
        self._whole_file = any(_NOQA_FILE.match(line) for line in lines)
        self._codes: dict[int, tuple[str, ...]] = {}
        for lines_of_one in _joined_lines(lines):
            joined = "\n".join(lines[number - 1] for number in lines_of_one)
            match = _NOQA.search(joined)
            if match is not None:
                codes = tuple(_SEPARATOR.split(match["codes"])) if match["codes"] else ()
                self._codes.update(dict.fromkeys(lines_of_one, codes))

    def cover(self, place: Place, code: str) -> bool:
        if self._whole_file:
            return True
        for line in range(place.line, max(place.line, place.end_line) + 1):
            codes = self._codes.get(line)
            if codes is not None and (not codes or code.startswith(codes)):
                return True
        return False


def _joined_lines(lines: list[str]) -> list[range]:
    """Lines that one comment speaks for: several in a multi-line string or after a backslash."""
    spans: list[range] = []
    start = 1
    try:
        for token in tokenize.generate_tokens(io.StringIO("\n".join(lines)).readline):
            if token.type in (tokenize.NEWLINE, tokenize.NL):
                spans.append(range(start, token.end[0] + 1))
                start = token.end[0] + 1
    except (tokenize.TokenError, SyntaxError):
        pass  # A file that does not parse has comments all the same, one line each.
    return spans + [range(line, line + 1) for line in range(start, len(lines) + 1)]


@dataclass(frozen=True)
class _DocumentComments:
    lines: list[str]

    def cover(self, place: Place, code: str) -> bool:
        if place.line > len(self.lines):
            return False
        row = self.lines[place.line - 1]
        return any(code.startswith(codes) for codes in [_row_codes(row), *self._above(place.line)])

    def _above(self, line: int) -> list[tuple[str, ...]]:
        """Codes of the lines above that hold nothing but such a comment."""
        found: list[tuple[str, ...]] = []
        for text in reversed(self.lines[: line - 1]):
            match = _DOCUMENT.fullmatch(text.strip())
            if match is not None:
                found.append(_row_codes(text))
            elif text.strip():
                break
        return found


def _row_codes(line: str) -> tuple[str, ...]:
    return tuple(
        code for match in _DOCUMENT.finditer(line) for code in _SEPARATOR.split(match["codes"])
    )
