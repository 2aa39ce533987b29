"""Comments that silence findings, held to what there is to silence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from rltel_lint.codes import READ_PROBLEM, SUPPRESSION, known_codes
from rltel_lint.comments import Comment, DocumentComments, PythonComments
from rltel_lint.findings import Finding, Place
from rltel_lint.rules.base import Review, Reviewed
from rltel_lint.rules.wording import listed
from rltel_lint.suppression import Suppressions

_CODE = re.compile(r"\bRLT[-_ ]?(\d{1,3})\b", re.IGNORECASE)
_OURS = re.compile(r"\bRLT(?:\b|[-_]?\d)|\brltel\b", re.IGNORECASE)
_UNREAD = re.compile(r"#\s*noqa\s*:?\s*(?:[A-Z]+\d+[,\s]+)*RLT[-_]?\d*", re.IGNORECASE)


class UnusedSuppression(Review):
    """A comment that silences nothing hides the next finding at that place. A `noqa` without
    codes hides more than anybody meant, and flake8 takes one for that whenever it cannot read the
    codes: `noqa: RLT`, `noqa: RLT-101`, `noqa : RLT101` and `noqa RLT101` all silence every tool on
    their line, while `flake8: noqa: RLT101` skips the whole file.

    Take out what is not used, and write `# noqa: RLT101`: one blank after the hash, the colon
    directly after the word, codes in upper case, a reason after them. In documents it is
    `<!-- rltel: ignore RLT102 reason -->`.

    A `noqa` for other tools is reported only where it hides a finding of this one. Nothing is
    called unused when a rule that it names did not run, or when some file could not be read.
    flake8 itself does not show what is said of a blanket comment, because that comment silences
    it; the command does.
    """

    code = SUPPRESSION
    name = "unused-suppression"
    summary = "a comment silences nothing, or more than it names"
    bad = """
        --- train.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def step():
            with managed_span(RLSpanGroup.GENERATION, "rl.rollout"):  # noqa: RLT101  <- RLT001
                ...
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.rollout` | rollouts |
    """
    good = """
        --- train.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def step():
            with managed_span(RLSpanGroup.GENERATION, "rl.rollout"):
                ...
            with managed_span(RLSpanGroup.GENERATION, "rl.probe"):  # noqa: RLT101 for a week
                ...
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.rollout` | rollouts |
    """

    def review(self, reviewed: Reviewed) -> Iterator[Finding]:
        """Yields a finding for each comment, or each of its codes, that is wrong or unused."""
        by_path: dict[str, list[Finding]] = {}
        for finding in reviewed.findings:
            by_path.setdefault(finding.place.path, []).append(finding)
        complete = all(finding.code != READ_PROBLEM for finding in reviewed.findings)
        judged = reviewed.ran if complete else frozenset()
        suppressions = Suppressions(reviewed.texts, {})
        for path, text in sorted(reviewed.texts.items()):
            here = by_path.get(path, [])
            if not here and not self._may_be_for_us(text):
                continue
            comments = suppressions.comments(path)
            if comments is None:
                continue
            hidden: dict[Comment, list[str]] = {}
            for finding in here:
                for comment in comments.at(finding.place):
                    if comment.silences(finding.code):
                        hidden.setdefault(comment, []).append(finding.code)
            if isinstance(comments, PythonComments):
                yield from self._python(path, comments, hidden, judged)
            else:
                yield from self._document(path, comments, hidden, judged)

    @cached_property
    def _names(self) -> re.Pattern[str]:
        from rltel_lint.rules.catalogue import ALL_RULES

        return re.compile(r"\b(?:" + "|".join(rule.name for rule in ALL_RULES) + r")\b")

    @cached_property
    def _mentions(self) -> re.Pattern[str]:
        return re.compile(f"{_OURS.pattern}|{self._names.pattern}", re.IGNORECASE)

    def _may_be_for_us(self, text: str) -> bool:
        """Whether a comment here may name this tool; cheap, because most files have none."""
        lower = text.lower()
        return ("noqa" in lower or "rltel:" in lower) and any(
            self._mentions.search(line)
            for line in lower.splitlines()
            if "noqa" in line or "rltel:" in line
        )

    def _python(
        self,
        path: str,
        comments: PythonComments,
        hidden: dict[Comment, list[str]],
        judged: frozenset[str],
    ) -> Iterator[Finding]:
        for comment in comments.whole_file:
            if comment in hidden or self._meant_for_us(comment.text):
                yield self._at(
                    path,
                    comment,
                    "makes flake8 skip the whole file, whatever codes follow; "
                    'name the file and the codes under "per-file-ignores"',
                )
        for comment in comments.inline:
            if comment.quoted:
                continue
            codes = hidden.get(comment, [])
            if comment.codes:
                yield from self._unused(path, comment, codes, judged)
            elif self._meant_for_us(comment.text):
                wanted = [f"RLT{number}" for number in _CODE.findall(comment.text)] or codes
                yield self._at(
                    path,
                    comment,
                    f"silences everything on its line, as flake8 reads it; {_write(wanted)}",
                )
            elif codes:
                names = listed(sorted(set(codes)))
                yield self._at(path, comment, f"hides {names} among all else; {_write(codes)}")
        yield from self._unread(path, comments)

    def _unread(self, path: str, comments: PythonComments) -> Iterator[Finding]:
        """Comments that look like a ``noqa`` for this tool and are none to flake8."""
        read = {one.line: one for one in comments.inline}
        for line, column, text in comments.plain:
            for match in _UNREAD.finditer(text):
                start, known = column + match.start(), read.get(line)
                if known is None or known.column < start:
                    end = start + len(match[0])
                    wanted = [f"RLT{number}" for number in _CODE.findall(match[0])]
                    why = "" if known is None else ", which takes the first of a line only"
                    yield self.finding(
                        Place(path, line, start, line, end),
                        f'"{match[0]}" is not read by flake8{why}; {_write(wanted)}',
                    )

    def _document(
        self,
        path: str,
        comments: DocumentComments,
        hidden: dict[Comment, list[str]],
        judged: frozenset[str],
    ) -> Iterator[Finding]:
        for comment in comments.inline:
            if comment.quoted:
                continue
            if comment.codes:
                yield from self._unused(path, comment, hidden.get(comment, []), judged)
            else:
                yield self._at(path, comment, 'names no code; write "rltel: ignore RLT102 reason"')

    def _unused(
        self, path: str, comment: Comment, hidden: list[str], judged: frozenset[str]
    ) -> Iterator[Finding]:
        for code in dict.fromkeys(comment.codes):
            if not code.upper().startswith("RLT") or SUPPRESSION.startswith(code):
                continue
            meant = [known for known in known_codes() if known.startswith(code)]
            if code != code.upper():
                why = f"is not read by flake8; {_write([code])}"
            elif not meant:
                why = 'is the code of no rule; "rltel-lint rules" lists all codes'
            elif not judged.issuperset(meant) or any(one.startswith(code) for one in hidden):
                continue
            else:
                why = "silences nothing here; take it out"
            start = comment.column + max(comment.text.find(code), 0)
            place = Place(path, comment.line, start, comment.line, start + len(code))
            yield self.finding(place, f"{code} {why}")

    def _meant_for_us(self, text: str) -> bool:
        return bool(_OURS.search(text) or self._names.search(text))

    def _at(self, path: str, comment: Comment, why: str) -> Finding:
        end = comment.column + len(comment.text)
        place = Place(path, comment.line, comment.column, comment.line, end)
        shown = comment.text if len(comment.text) <= 60 else comment.text[:57] + "..."
        return self.finding(place, f'"{shown}" {why}')


def _write(codes: Iterable[str]) -> str:
    wanted = ", ".join(dict.fromkeys(code.upper() for code in codes))
    return f'write "# noqa: {wanted}"' if wanted else "name the codes, as in RLT101"
