"""What a sentence says about the names in it: gone, reserved, not emitted."""

from __future__ import annotations

import re

from rltel_lint.facts.entries import Status
from rltel_lint.facts.pages import Inline

_CODE_FILLER = "\ue001"  # stands for a character of a code span

# Under a condition the thing is emitted after all.
_UNCONDITIONAL = r"(?!\s+(?:on|when|if|under|unless|during|outside|while|for|with|at|until)\b)"
_ANYWHERE: tuple[tuple[re.Pattern[str], Status], ...] = (
    (
        re.compile(
            rf"\bno longer (?:being )?(?:emitted|recorded|set|exported|opened){_UNCONDITIONAL}"
            r"|\bno longer exists?\b|\bnot emitted any ?more\b"
        ),
        "retired",
    ),
    (
        re.compile(
            rf"\bnot yet (?:emitted|recorded|set|wired|implemented){_UNCONDITIONAL}"
            rf"|\bnot (?:emitted|recorded|wired|implemented)(?: yet| today)?(?= *(?:$|[.,;*_]))"
            r"|\bno (?:call )?sites? (?:emits?|sets?|records?|opens?)\b"
            r"|\bnothing (?:emits|sets|records|opens) (?:it|them|this)\b"
            r"|\bemitted nowhere\b|\bfor future use\b"
        ),
        "reserved",
    ),
)
_FILLER = (
    r"(?:\W|\b(?:it|this|that|the|span|spans|group|metric|attribute|tag|name|now|is|was|are|were"
    r"|has|have|been|currently|still|and|today)\b)*"
)
_START_WORDS: tuple[tuple[str, Status], ...] = (
    ("retired|removed|renamed|dropped|obsolete|superseded|replaced|gone", "retired"),
    ("deprecated", "deprecated"),
    ("reserved|planned|not yet", "reserved"),
)
_AT_START: tuple[tuple[re.Pattern[str], Status], ...] = tuple(
    (
        re.compile(
            rf"{_FILLER}\b(?:{words})\b(?=\W*$|\s*[.,;:]|\s+(?:in|since|for|as|by|to|with|until|and|at"
            r"|after|before)\b)"
        ),
        status,
    )
    for words, status in _START_WORDS
)
# Without one of these no pattern above can match: most cells are done with here.
_HINT = re.compile(
    r"no |not|nothing|nowhere|future|retire|remove|deprecat|rename|drop|obsolete|supersede|replace"
    r"|gone|reserve|plan",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[.;()\[\]—\u2013:,]|\s-\s|\bbut\b")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+")
_FORMERLY = re.compile(
    r"\b(?:formerly|previously|was|were|renamed from|replaces|instead of|no longer|old name|once)"
    r"\W*$"
)
_NEGATED = re.compile(
    r"\b(?:not|never|cannot|\w+n't)\b[^.;]{0,60}\b(?:emit\w*|record(?:s|ed)?|set|exist\w*|export\w*"
    r"|register\w*|open(?:s|ed)?|wired|span|metric|attribute|group)\b"
    r"|\bno longer\b|\bremoved\b|\brenam(?:ed|es)\b|\bretired\b|\bdeprecated\b|\breserved\b"
    r"|\bdropped\b|\bobsolete\b|\bformerly\b|\bused to\b|\buninstrumented\b|\bplanned\b"
    rf"|\bno\b[\s\w{_CODE_FILLER}.]{{0,60}}\b(?:spans?|site|emitter|metric)\b"
    r"|\bnothing\b[^.;]{0,20}\bemit\w*|\bemit\w* (?:nothing|nowhere)\b|\bmonitor-derived\b"
)


def status_of(inline: Inline, start: int = 0, end: int | None = None) -> Status:
    """Returns what a cell, or a part of it, says about the subject of its row.

    Only what is said of the subject counts: a clause that names something else first, such
    as "the old flag was removed", says nothing about it.

    Args:
        inline: The cell.
        start: Offset of the part's first character.
        end: Offset after its last one; the cell's end by default.
    """
    if not _HINT.search(inline.text, start):
        return "active"
    text = _masked(inline)[start:end]
    for clause in _CLAUSE.split(text):
        own = clause.split(_CODE_FILLER, 1)[0]
        for pattern, status in _ANYWHERE:
            if pattern.search(own):
                return status
        for pattern, status in _AT_START:
            if pattern.match(own if own.strip() else clause):
                return status
    return "active"


def formerly(inline: Inline, start: int, end: int) -> bool:
    """Whether the text of a cell from ``start`` to ``end`` introduces an old name."""
    return _FORMERLY.search(_masked(inline)[start:end].rstrip(" ([")) is not None


class Negations:
    """Which sentences of a text say that the things they name are not there."""

    def __init__(self, inline: Inline) -> None:
        text = _masked(inline).replace("\n", " ")
        self._sentences: list[tuple[int, bool]] = []  # end offset, negated
        start = 0
        for match in [*_SENTENCE.finditer(text), None]:
            end = match.end() if match else len(text) + 1
            self._sentences.append((end, _NEGATED.search(text, start, end) is not None))
            start = end

    def at(self, offset: int) -> bool:
        """Whether the sentence around an offset is negated."""
        return next((negated for end, negated in self._sentences if offset < end), False)


def _masked(inline: Inline) -> str:
    text = inline.masked(_CODE_FILLER).lower()
    return text.replace("*", " ").replace("\u2019", "'")
