"""What reports say of fixes."""

from __future__ import annotations

import pytest

from rltel_lint.changes import Fix
from rltel_lint.findings import Finding, Place
from rltel_lint.report.text import render_findings

PLAIN = Finding(Place("a.py"), "RLT101", "r", "m")
SAFE = Finding(Place("a.py"), "RLT101", "r", "m", fix=Fix("do it", ()))
GUESS = Finding(Place("a.py"), "RLT101", "r", "m", fix=Fix("do it", (), safe=False))


@pytest.mark.parametrize(
    ("findings", "summary"),
    [
        ([PLAIN], "1 finding in 1 file; 0.0 s"),
        ([SAFE, PLAIN, SAFE], "3 findings (2 fixable with --fix) in 1 file; 0.0 s"),
        ([GUESS], "1 finding (1 fixable with --fix --unsafe-fixes) in 1 file; 0.0 s"),
        (
            [SAFE, GUESS],
            "2 findings (1 fixable with --fix, 1 more with --unsafe-fixes) in 1 file; 0.0 s",
        ),
    ],
)
def test_the_summary_counts_what_can_be_fixed(findings: list[Finding], summary: str) -> None:
    assert render_findings(findings, {"file": 1}, 0.0).splitlines()[-1] == summary
