"""RLT507: near misses and their faulty twins."""

from __future__ import annotations

import pytest

from rltel_lint.project.instruments import agree, kind_made, kind_named
from rltel_lint.rules.instruments import MetricOfAnotherKind
from tests.lint.support import lint, marked, project, reported

_CODE = """
--- metrics.py
from rl_telemetry.metrics import RecordedMetric, TeedMetric

ROWS = [TeedMetric("loss", "rl.policy.lost"), RecordedMetric("rl.host.used", kind="histogram")]

def instruments(meter, name, kind):
    meter.create_counter("rl.queue.timeouts")
    meter.create_observable_gauge("rl.queue.length")
    meter.create_up_down_counter("rl.queue.busy")
    meter.create_histogram(name="rl.queue.wait", unit="s")
    meter.create_gauge(name)
    if kind:
        meter.create_counter("rl.queue.either")
    else:
        meter.create_gauge("rl.queue.either")
"""

_ROWS = {
    "a counter called a gauge": "| `rl.queue.timeouts` | gauge | <- RLT507",
    "a counter called one": "| `rl.queue.timeouts` | Counter |",
    "a counter with its unit": "| `rl.queue.timeouts` | Counter (1) |",
    "a gauge called a counter": "| `rl.queue.length` | counter | <- RLT507",
    "an observable gauge": "| `rl.queue.length` | Observable gauge |",
    "an up-down counter called a gauge": "| `rl.queue.busy` | gauge |",
    "an up-down counter called a counter": "| `rl.queue.busy` | counter |",
    "an up-down counter called by its name": "| `rl.queue.busy` | UpDownCounter |",
    "an up-down counter called a histogram": "| `rl.queue.busy` | histogram | <- RLT507",
    "a counter called an up-down counter": "| `rl.queue.timeouts` | up-down counter | <- RLT507",
    "a histogram": "| `rl.queue.wait` | Histogram (`s`) |",
    "a histogram called a gauge": "| `rl.queue.wait` | Gauge (`s`) | <- RLT507",
    "a kind that is not known": "| `rl.queue.wait` | timer |",
    "two kinds": "| `rl.queue.wait` | gauge or counter |",
    "no kind": "| `rl.queue.wait` | - |",
    "made as either": "| `rl.queue.either` | gauge |",
    "made as either, called a third": "| `rl.queue.either` | histogram | <- RLT507",
    "a row's default": "| `rl.policy.lost` | gauge |",
    "not a row's default": "| `rl.policy.lost` | histogram | <- RLT507",
    "a row's kind": "| `rl.host.used` | histogram |",
    "not a row's kind": "| `rl.host.used` | gauge | <- RLT507",
    "made elsewhere": "| `rl.elsewhere` | gauge |",
    "several names": "| `rl.queue.{timeouts,length}` | gauge | <- RLT507",
}


@pytest.mark.parametrize("header", ["Metric | Kind", "Metric | Type", "Name | Metric type"])
@pytest.mark.parametrize("case", _ROWS)
def test_a_row_says_the_kind_that_the_code_makes(case: str, header: str) -> None:
    page = f"# Metrics\n\n| {header} |\n|---|---|\n{_ROWS[case]}\n"
    files = {**project(_CODE), "docs/metrics.md": page}
    assert reported(lint(files, MetricOfAnotherKind)) == marked(files)


def test_rows_that_have_no_emitter_yet_are_not_compared() -> None:
    page = "# Reserved metrics\n\n| Metric | Kind |\n|---|---|\n| `rl.queue.timeouts` | gauge |\n"
    files = {**project(_CODE), "docs/metrics.md": page}
    assert lint(files, MetricOfAnotherKind) == []
    files["docs/metrics.md"] = page.replace("Reserved m", "M")
    assert len(lint(files, MetricOfAnotherKind)) == 1


def test_the_message_names_both_kinds() -> None:
    page = "| Metric | Kind |\n|---|---|\n| `rl.queue.busy` | histogram |\n"
    (finding,) = lint({**project(_CODE), "docs/metrics.md": page}, MetricOfAnotherKind)
    assert finding.message == (
        'metric "rl.queue.busy" is documented as a histogram, but the code makes an up-down '
        "counter of it; correct the row or the instrument"
    )
    assert [near.place.path for near in finding.related] == ["metrics.py"]


def test_the_librarys_own_metrics_have_a_kind_too() -> None:
    page = "| Metric | Kind |\n|---|---|\n| `rl.grad_norm` | counter |\n| `rl.entropy` | gauge |\n"
    (finding,) = lint({**project(_CODE), "docs/metrics.md": page}, MetricOfAnotherKind)
    assert finding.message == (
        'metric "rl.grad_norm" is documented as a counter, but the library makes a gauge of it; '
        "correct the row"
    )
    own = {"own.py": 'def make(meter):\n    meter.create_counter("rl.grad_norm")\n'}
    assert lint({**own, "docs/metrics.md": page}, MetricOfAnotherKind) == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Gauge", "gauge"),
        ("async gauges", "gauge"),
        ("up_down_counter", "up-down counter"),
        ("Histogram, bucketed", "histogram"),
        ("gauge/counter", ""),
        ("encountered", ""),
        ("", ""),
    ],
)
def test_kinds_are_read_from_words(text: str, kind: str) -> None:
    assert kind_named(text) == kind


def test_every_maker_of_an_instrument_has_a_kind() -> None:
    from rltel_lint.project.series import _MAKERS

    kinds = {kind_made(method) for method in _MAKERS}
    assert kinds == {"gauge", "counter", "histogram", "up-down counter"}
    assert all(agree(kind, kind) for kind in kinds)
