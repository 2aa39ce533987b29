"""The end of a check: what the baseline holds back, and the report in its format."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rltel_lint.codes import READ_PROBLEM
from rltel_lint.errors import UserError
from rltel_lint.findings import Finding, Place
from rltel_lint.inspected import blindness
from rltel_lint.outcome import Judged, judge, unsuppressed
from rltel_lint.output import note, write_whole
from rltel_lint.report.render import Report, render
from rltel_lint.report.styles import Style
from rltel_lint.report.text import counted, summary
from rltel_lint.session import PathFilter, Session

if TYPE_CHECKING:
    from rltel_lint.baseline import Baseline


class Presentation(NamedTuple):
    """How a check is reported.

    Attributes:
        style: The format.
        colour: Whether text gets terminal colours.
        statistics: Whether text gets the number of findings of each code.
        output_file: The file that the report goes to; ``None`` for standard output.
    """

    style: Style = "text"
    colour: bool = False
    statistics: bool = False
    output_file: Path | None = None


class Check:
    """A check whose findings are known.

    Args:
        session: The project.
        only: Restricts findings to what the user named.
        found: The findings, before suppression.
        counts: How much was looked at.
    """

    def __init__(
        self,
        session: Session,
        only: PathFilter,
        found: Iterable[Finding],
        counts: Mapping[str, int],
    ) -> None:
        self._session = session
        self._only = only
        self._counts = counts
        self._found = unsuppressed(session, only.keep(found))
        self._unreadable = {one.place.path for one in self._found if one.code == READ_PROBLEM}

    def judged(self) -> Judged:
        """Returns what is to be reported: new findings, and entries that match nothing.

        Raises:
            ConfigError: The baseline cannot be used.
        """
        judged = judge(self._session, self._found)
        if judged.baseline is None:
            return judged
        stale = self._stale(judged.baseline)
        findings = sorted([*judged.findings, *stale], key=lambda one: one.sort_key)
        return Judged(findings, judged.held, judged.baseline)

    def write_baseline(self) -> str:
        """Accepts all findings; returns what to say of it.

        What the run did not look at, because of paths or codes that the user named, stays.

        Raises:
            UserError: No file is named, or it cannot be written.
        """
        from rltel_lint.baseline import Baseline, may_replace, read_baseline, render_baseline

        path = self._session.baseline
        if path is None:
            raise UserError(
                "--write-baseline needs a file: give --baseline FILE, or set baseline in "
                "[tool.rltel-lint]"
            )
        name = self._session.shown(path)
        if not may_replace(path):
            raise UserError(f"{name} is something else than a baseline; name another file")
        try:
            old = read_baseline(path, name)
        except UserError:
            if self._is_partial and path.exists():
                raise  # what the run did not look at would be lost
            old = Baseline(name)
        new = old.rewritten(self._found, self._judges)
        write_whole(path, render_baseline(new).encode())
        return _change(old, new)

    @property
    def _is_partial(self) -> bool:
        return self._only.restricts or self._session.config.select is not None

    def _judges(self, finding: Finding) -> bool:
        """Whether the run would have reported a finding like this one."""
        if finding.place.path in self._unreadable and finding.code != READ_PROBLEM:
            return False
        return self._session.config.selects(finding.code) and bool(self._only.keep([finding]))

    def _stale(self, baseline: Baseline) -> list[Finding]:
        """A finding for each entry that matches nothing; rules are imported only for one."""
        unmatched = baseline.unmatched(self._found, self._judges)
        if not unmatched:
            return []
        from rltel_lint.rules.reading import MatchesNothing

        places = [Place(baseline.name, one.entry.line) for one in unmatched]
        stale = [
            MatchesNothing().finding(place, one.message)
            for place, one in zip(places, unmatched, strict=True)
        ]
        return unsuppressed(self._session, stale)

    def report(self, judged: Judged, how: Presentation, started: float) -> str:
        """Returns the report; what it does not say itself goes to standard error.

        Args:
            judged: From :meth:`judged`.
            how: The format.
            started: When the run began, by ``time.perf_counter()``, in seconds.
        """
        findings = judged.findings
        if how.style in {"json", "sarif"}:
            from rltel_lint.fixes.plan import with_edits

            findings = with_edits(findings, self._session.texts.all)
        held = None if judged.baseline is None else len(judged.held)
        blind, seconds = blindness(self._counts), time.perf_counter() - started
        report = Report(findings, self._counts, seconds, held, blind, self._session.base)
        if how.output_file is not None or how.style not in {"text", "json"}:
            note(summary(judged.findings, self._counts, seconds, held))
        if blind and (how.output_file is not None or how.style != "text"):
            note(f"note: {blind}")
        return render(how.style, report, colour=how.colour, statistics=how.statistics)


def _change(old: Baseline, new: Baseline) -> str:
    before = {entry.identity: entry.count for entry in old.entries}
    after = {entry.identity: entry.count for entry in new.entries}
    added = sum(max(0, number - before.get(one, 0)) for one, number in after.items())
    gone = sum(max(0, number - after.get(one, 0)) for one, number in before.items())
    total = counted(sum(after.values()), "finding")
    return f"wrote {total} to {new.name}: {added or 'none'} added, {gone or 'none'} gone"
