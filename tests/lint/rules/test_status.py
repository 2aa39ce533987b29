"""What a row says of its subject, planned, deprecated or gone, against what the code emits."""

from __future__ import annotations

import pytest

from rltel_lint.rules.dashboards import QueriedSeriesNotRecorded, QueriedSpanNotEmitted
from rltel_lint.rules.groups import UnregisteredGroup
from rltel_lint.rules.series import MetricNeverRecorded
from rltel_lint.rules.spans import ReservedSpanEmitted, UndocumentedSpan, UnemittedSpan
from tests.lint.support import lint

CODE = """
from rl_telemetry.instrumentation import managed_span
from rl_telemetry.span_groups import RLSpanGroup

def step(meter):
    with managed_span(RLSpanGroup.REWARD, "rl.grpo.reward"):
        ...
    with managed_span(RLSpanGroup.REWARD, "rl.grpo.other"):
        ...
    return [meter.create_gauge("rl.queue.length"), meter.create_gauge("rl.queue.other")]
"""

PAGE = """
| Span | Means |
|---|---|
| `rl.grpo.reward` | {saying} |
| `rl.grpo.other` | another one |

| Metric | Means |
|---|---|
| `rl.queue.length` | {saying} |
| `rl.queue.other` | another one |
"""

#: For each saying: whether the span, then the metric, may still be emitted.
SAYINGS = {
    "verifying": (True, True),
    "deprecated since 0.4, use `rl.grpo.other`": (True, True),
    "**Deprecated**": (True, True),
    "*removed in 0.5*": (False, False),
    "retired": (False, False),
    "no longer emitted": (False, False),
    "*reserved, nothing emits it yet*": (False, True),
}


@pytest.mark.parametrize("saying", SAYINGS)
def test_what_is_emitted_and_what_its_row_says(saying: str) -> None:
    files = {"train.py": CODE, "docs/a.md": PAGE.replace("{saying}", saying)}
    found = {one.place.line for one in lint(files, ReservedSpanEmitted)}
    expected = {line for line, may in zip((3, 8), SAYINGS[saying], strict=True) if not may}
    assert found == expected
    assert lint(files, UndocumentedSpan, UnregisteredGroup) == []


@pytest.mark.parametrize("saying", SAYINGS)
def test_what_is_not_emitted_and_what_its_row_says(saying: str) -> None:
    files = {"train.py": CODE, "docs/a.md": PAGE.replace("{saying}", saying)}
    files["train.py"] = CODE.replace("rl.grpo.reward", "rl.grpo.other").replace("length", "other")
    found = {one.place.line for one in lint(files, UnemittedSpan, MetricNeverRecorded)}
    assert found == ({3, 8} if saying == "verifying" else set())


def test_what_is_gone_may_not_be_asked_for() -> None:
    rules = (QueriedSpanNotEmitted, QueriedSeriesNotRecorded)
    query = r'{"a": {"expr": "rl_queue_length"}, "query": "{ name = \"rl.grpo.reward\" }"}'
    files = {"train.py": CODE, "docs/a.md": PAGE.replace("{saying}", "deprecated since 0.4")}
    files["dashboards/d.json"] = query
    assert lint(files, *rules) == []
    files["docs/a.md"] = PAGE.replace("{saying}", "removed in 0.5")
    assert lint(files, *rules) == []  # it is still there: that is for RLT103 to say
    files["train.py"] = CODE.replace("rl.grpo.reward", "rl.grpo.other").replace("length", "other")
    assert len(lint(files, *rules)) == 2
