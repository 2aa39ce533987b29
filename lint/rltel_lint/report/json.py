"""Findings as one JSON object; its fields are a promise, new ones may be added."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from rltel_lint.changes import Fix
from rltel_lint.findings import Finding, Place

VERSION = 1


def render_findings(
    findings: Iterable[Finding], counts: Mapping[str, int], held: int | None = None
) -> str:
    """Returns the report of a check.

    Args:
        findings: What was found, in the order to report.
        counts: How much was looked at: a noun in the singular and a number.
        held: How many findings the baseline held back; ``None`` without a baseline.
    """
    reported = [_finding(finding) for finding in findings]
    by_code: dict[str, int] = {}
    for finding in reported:
        by_code[finding["code"]] = by_code.get(finding["code"], 0) + 1
    summary: dict[str, Any] = {
        "findings": len(reported),
        "by_code": dict(sorted(by_code.items())),
        "inspected": dict(counts),
    }
    if held is not None:
        summary["held_back"] = held
    return dump({"findings": reported, "summary": summary})


def dump(content: Mapping[str, Any]) -> str:
    """Returns an object as JSON text in ASCII, with the version of the format first."""
    return json.dumps({"version": VERSION, **content}, indent=2) + "\n"


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        **_place(finding.place),
        "message": finding.message,
        "severity": finding.severity,
        "related": [
            {
                "path": related.place.path,
                "line": related.place.line,
                "message": related.message,
            }
            for related in finding.related
        ],
        "fix": None if finding.fix is None else _fix(finding.fix),
    }


def _fix(fix: Fix) -> dict[str, Any]:
    """What the fix does, whether it is safe, and the texts to put at places."""
    edits = [{**_place(edit.place), "text": edit.text} for edit in fix.edits]
    return {"message": fix.message, "safe": fix.safe, "edits": edits}


def _place(place: Place) -> dict[str, Any]:
    """The range; where only the start is known it is empty."""
    known = place.end_line > 0
    return {
        "path": place.path,
        "line": place.line,
        "column": place.column,
        "end_line": place.end_line if known else place.line,
        "end_column": place.end_column if known else place.column,
    }
