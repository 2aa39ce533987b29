"""The report of a check in the format that the user asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rltel_lint.findings import Finding
from rltel_lint.report.styles import Style


class Report(NamedTuple):
    """What a check has to say.

    Attributes:
        findings: What was found, in the order to report.
        counts: How much was looked at: a noun in the singular and a number, files first.
        seconds: How long it took.
        held: How many findings the baseline held back; ``None`` without a baseline.
        blind: What to say when nothing was recognised; empty otherwise.
        base: The project's folder relative to the top of its repository, with ``/`` at its end;
            empty when they are the same. Services that annotate want paths from there.
    """

    findings: Sequence[Finding]
    counts: Mapping[str, int]
    seconds: float = 0.0
    held: int | None = None
    blind: str = ""
    base: str = ""


def render(style: Style, report: Report, *, colour: bool = False, statistics: bool = False) -> str:
    """Returns a report as text.

    Args:
        style: The format.
        report: What to say.
        colour: Whether to use terminal colours, in the format ``text``.
        statistics: Whether to add the number of findings of each code, in the format ``text``.
    """
    if style == "json":
        from rltel_lint.report import json

        return json.render_findings(report.findings, report.counts, report.held)
    if style == "sarif":
        from rltel_lint.report import sarif

        return sarif.render_findings(report)
    if style == "github":
        from rltel_lint.report import github

        return github.render_findings(report)
    if style == "gitlab":
        from rltel_lint.report import gitlab

        return gitlab.render_findings(report)
    from rltel_lint.report import text

    return text.render_findings(
        report.findings,
        report.counts,
        report.seconds,
        held=report.held,
        blind=report.blind,
        colour=colour,
        statistics=statistics,
    )
