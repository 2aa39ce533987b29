"""What the user has said not to report: comments in the code and in documents, per-file ignores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from rltel_lint.codes import SUPPRESSION
from rltel_lint.comments import Comment, DocumentComments, PythonComments
from rltel_lint.findings import Finding, Place
from rltel_lint.globs import Globs

Inline = Literal["any line", "other lines", "none"]
"""Which comments count: all; those that flake8 does not honour itself, because they stand on
another line than the finding; or none (flake8's ``--disable-noqa``)."""


class Suppressions:
    """Decides which findings stay.

    Args:
        texts: Texts of source files and documents, by path.
        per_file_ignores: Codes and prefixes by glob, as in the configuration.
        inline: Which comments count in Python files.
    """

    def __init__(
        self,
        texts: Mapping[str, str],
        per_file_ignores: Mapping[str, tuple[str, ...]],
        inline: Inline = "any line",
    ) -> None:
        self._texts = texts
        self._ignores = [(Globs([glob]), codes) for glob, codes in per_file_ignores.items()]
        self._inline = inline
        self._comments: dict[str, PythonComments | DocumentComments | None] = {}

    def keep(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """Returns the findings that nothing suppresses, in the order given."""
        return tuple(finding for finding in findings if not self._suppressed(finding))

    def comments(self, path: str) -> PythonComments | DocumentComments | None:
        """Returns the comments of a file, ``None`` if it has none that matter."""
        if path not in self._comments:
            self._comments[path] = _comments(path, self._texts.get(path, ""))
        return self._comments[path]

    def _suppressed(self, finding: Finding) -> bool:
        path, code = finding.place.path, finding.code
        for globs, codes in self._ignores:
            if code.startswith(codes) and globs.match(path):
                return True
        comments = self.comments(path)
        if comments is None:
            return False
        if isinstance(comments, DocumentComments):
            return any(one.codes and one.silences(code) for one in comments.at(finding.place))
        if self._inline == "none":
            return False
        return any(
            _silences(one, code)
            for one in comments.at(finding.place)
            if self._inline == "any line" or not _on_its_line(one, finding.place)
        )


def _silences(comment: Comment, code: str) -> bool:
    """Whether a comment silences a code; what is said of comments wants to be named for that.

    A blanket comment would otherwise hide the finding about itself.
    """
    return comment.silences(code) and (bool(comment.codes) or code != SUPPRESSION)


def _on_its_line(comment: Comment, place: Place) -> bool:
    return comment.covers is None or place.line in comment.covers


def _comments(path: str, text: str) -> PythonComments | DocumentComments | None:
    if path.endswith(".py"):
        return PythonComments(text) if "noqa" in text.lower() else None
    return DocumentComments(text) if "rltel:" in text else None
