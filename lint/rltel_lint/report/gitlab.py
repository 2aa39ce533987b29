"""Findings as a GitLab Code Quality report.

The fields are those that "Code Quality report format" in GitLab's documentation asks for.
"""

from __future__ import annotations

import json

from rltel_lint.findings import Finding
from rltel_lint.identity import fingerprints
from rltel_lint.report.render import Report

_SEVERITIES = {"error": "major", "warning": "minor"}


def render_findings(report: Report) -> str:
    """Returns a JSON array with one object for each finding."""
    marks = fingerprints(report.findings)
    issues = [
        _issue(finding, mark, report.base)
        for finding, mark in zip(report.findings, marks, strict=True)
    ]
    return json.dumps(issues, indent=2) + "\n"


def _issue(finding: Finding, fingerprint: str, base: str) -> dict[str, object]:
    place = finding.place
    return {
        "description": f"{finding.code} {finding.message}",
        "check_name": f"{finding.code} {finding.name}",
        "fingerprint": fingerprint,
        "severity": _SEVERITIES[finding.severity],
        "location": {
            "path": base + place.path,
            "lines": {"begin": place.line, "end": max(place.line, place.end_line)},
        },
    }
