"""Findings as GitHub workflow commands, which become annotations on the lines of a change.

The syntax and its escapes are those of "Workflow commands for GitHub Actions" in GitHub's
documentation, and of ``@actions/core``, which writes them.
"""

from __future__ import annotations

from collections.abc import Iterator

from rltel_lint.findings import Finding
from rltel_lint.report.render import Report
from rltel_lint.report.text import one_line

_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def render_findings(report: Report) -> str:
    """Returns one workflow command for each finding, and one for a run that saw nothing."""
    lines = [_finding(finding, report.base) for finding in report.findings]
    if report.blind:
        lines.append(f"::warning title=rltel-lint::{report.blind.translate(_DATA)}")
    return "".join(f"{line}\n" for line in lines)


def _finding(finding: Finding, base: str) -> str:
    place = finding.place
    properties = ",".join(
        f"{key}={value.translate(_PROPERTY)}" for key, value in _properties(finding, base)
    )
    # The log of the job shows the message alone, so it says the place as well.
    where = f"{base}{place.path}:{place.line}:{place.column}"
    lines = [f"{where}: {finding.code} {finding.message}"]
    lines += [f"{one.message}: {base}{one.place}" for one in finding.related]
    # No name in the sources may steer the terminal of whoever reads the log.
    message = "\n".join(map(one_line, lines)).translate(_DATA)
    return f"::{finding.severity} {properties}::{message}"


def _properties(finding: Finding, base: str) -> Iterator[tuple[str, str]]:
    place = finding.place
    yield "title", f"{finding.code} {finding.name}"
    yield "file", base + one_line(place.path)
    yield "line", str(place.line)
    if place.end_line > place.line:
        yield "endLine", str(place.end_line)  # columns count only on one line
    else:
        yield "col", str(place.column)
        if place.end_column > place.column:
            yield "endLine", str(place.line)
            yield "endColumn", str(place.end_column)
