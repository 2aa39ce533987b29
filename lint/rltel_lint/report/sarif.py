"""Findings as SARIF 2.1.0, the OASIS format that code scanning services read.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from rltel_lint import __version__
from rltel_lint.changes import Edit, Fix
from rltel_lint.findings import Finding, Place
from rltel_lint.identity import fingerprints
from rltel_lint.report.render import Report
from rltel_lint.rules.base import Rule
from rltel_lint.rules.catalogue import ALL_RULES

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
ROOT = "%SRCROOT%"
"""What paths are relative to: the top of the repository."""

FINGERPRINT = "rltelLint/v1"

_Json = dict[str, Any]


def render_findings(report: Report) -> str:
    """Returns a log with one run: its rules, its results, and what it inspected."""
    rules = sorted(ALL_RULES, key=lambda rule: rule.code)
    places = {rule.code: index for index, rule in enumerate(rules)}
    writer = _Writer(report.base)
    marks = fingerprints(report.findings)
    run: _Json = {
        "tool": {
            "driver": {
                "name": "rltel-lint",
                "version": __version__,
                "rules": [_rule(rule) for rule in rules],
            }
        },
        "invocations": [_invocation(report)],
        "originalUriBaseIds": {
            ROOT: {"description": {"text": "The top of the repository that was checked."}}
        },
        "columnKind": "unicodeCodePoints",
        "results": [
            writer.result(finding, mark, places)
            for finding, mark in zip(report.findings, marks, strict=True)
        ],
        "properties": _properties(report),
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2) + "\n"


def _properties(report: Report) -> _Json:
    held = {} if report.held is None else {"heldBackByBaseline": report.held}
    return {"inspected": dict(report.counts), **held}


def _invocation(report: Report) -> _Json:
    found: _Json = {"executionSuccessful": True}
    if report.blind:
        found["toolExecutionNotifications"] = [
            {"level": "warning", "message": {"text": report.blind}}
        ]
    return found


def _rule(rule: type[Rule]) -> _Json:
    summary = f"{rule.summary[0].upper()}{rule.summary[1:]}."
    page = rule.page()
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": summary},
        "fullDescription": {"text": _first_paragraph(page)},
        "help": {"text": page, "markdown": page},
        "defaultConfiguration": {
            "enabled": rule.default,
            "level": _level(rule.severity),
        },
    }


def _first_paragraph(page: str) -> str:
    """The page's paragraph behind its title and its summary: why the rule exists."""
    return " ".join(page.split("\n\n")[2].split())


def _level(severity: str) -> str:
    return "warning" if severity == "warning" else "error"


class _Writer:
    """Writes places relative to the top of the repository.

    Args:
        base: The project's folder relative to it, with ``/`` at its end or empty.
    """

    def __init__(self, base: str) -> None:
        self._base = base

    def result(self, finding: Finding, fingerprint: str, rules: dict[str, int]) -> _Json:
        """One finding."""
        result: _Json = {"ruleId": finding.code}
        if finding.code in rules:
            result["ruleIndex"] = rules[finding.code]
        result |= {
            "level": _level(finding.severity),
            "message": {"text": finding.message},
            "locations": [{"physicalLocation": self._location(finding.place)}],
            "partialFingerprints": {FINGERPRINT: fingerprint},
        }
        if finding.related:
            result["relatedLocations"] = [
                {
                    "id": number,
                    "physicalLocation": self._location(one.place),
                    "message": {"text": one.message},
                }
                for number, one in enumerate(finding.related)
            ]
        if finding.fix is not None and finding.fix.edits:
            result["fixes"] = [self._fix(finding.fix)]
        return result

    def _fix(self, fix: Fix) -> _Json:
        by_path: dict[str, list[Edit]] = {}
        for edit in fix.edits:
            by_path.setdefault(edit.place.path, []).append(edit)
        return {
            "description": {"text": fix.message},
            "artifactChanges": [
                {
                    "artifactLocation": self._artifact(path),
                    "replacements": self._replacements(edits),
                }
                for path, edits in sorted(by_path.items())
            ],
            "properties": {"safe": fix.safe},
        }

    @staticmethod
    def _replacements(edits: Iterable[Edit]) -> list[_Json]:
        return [
            {"deletedRegion": _replaced(edit.place), "insertedContent": {"text": edit.text}}
            for edit in sorted(edits, key=lambda one: one.place)
        ]

    def _location(self, place: Place) -> _Json:
        return {"artifactLocation": self._artifact(place.path), "region": _region(place)}

    def _artifact(self, path: str) -> _Json:
        return {"uri": quote(self._base + path, errors="surrogateescape"), "uriBaseId": ROOT}


def _region(place: Place) -> _Json:
    """The range of a place; only its start where no more is known."""
    region = {"startLine": place.line, "startColumn": place.column}
    if place.end_line:
        region |= {"endLine": place.end_line, "endColumn": max(1, place.end_column)}
    return region


def _replaced(place: Place) -> _Json:
    """The range that an edit replaces; empty where it only adds."""
    empty = {"endLine": place.line, "endColumn": place.column}
    return {**empty, **_region(place)}
