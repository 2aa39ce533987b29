"""RLT504: the name of a series that is put together where it is recorded."""

from __future__ import annotations

import pytest

from rltel_lint.rules.series import MetricNeverRecorded
from tests.lint.support import lint

CODE = """
from rl_telemetry.metrics import RecordedMetric, record_rl_metrics, register_recorded_metrics

register_recorded_metrics([RecordedMetric("rl.buffer.groups")])
HEAD = "rl.buffer"

def record(size):
    record_rl_metrics({NAME: size})
"""
PAGE = "# Metrics\n\n| Metric | Kind |\n|---|---|\n| `rl.buffer.groups` | gauge |\n"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ('"rl.buffer.groups"', []),
        ('"rl.buffer." + "groups"', []),
        ('f"{HEAD}.groups"', []),
        ('"rl.buffer." + "rooms"', ["RLT504"]),
    ],
)
def test_a_name_in_pieces(name: str, expected: list[str]) -> None:
    files = {"buffer.py": CODE.replace("NAME", name), "docs/metrics.md": PAGE}
    assert [one.code for one in lint(files, MetricNeverRecorded)] == expected
