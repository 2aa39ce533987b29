from __future__ import annotations

import logging
from typing import Any

import pytest

from rl_telemetry.metrics import (
    MetricSpec,
    RecordedMetric,
    TeedMetric,
    freeze_metrics,
    record_metrics,
    register_metric_group,
    register_recorded_metrics,
    register_teed_metrics,
    registered_metric_groups,
    unregister_metric_group,
)
from rl_telemetry.testing import CapturedTelemetry

SPECS = (
    MetricSpec("level", "t.level", unit="s"),
    MetricSpec("made", "t.made", "counter"),
    MetricSpec("open", "t.open", "up_down_counter"),
    MetricSpec("took", "t.took", "histogram"),
)


@pytest.fixture
def group(rl_telemetry_capture: CapturedTelemetry) -> Any:
    assert "t" not in registered_metric_groups()  # whatever the test before registered
    register_metric_group("t", SPECS)
    return rl_telemetry_capture


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]


def test_every_kind_is_recorded(group: CapturedTelemetry) -> None:
    meter = group.handle.meter
    record_metrics(meter, "t", {"level": 1.0, "made": 2, "open": None}, attributes={"a": "x"})
    record_metrics(meter, "t", {"level": 1.0}, level=4.0, made=3, open=-1, took=0.5)
    assert group.value("t.level", a="x") == 1.0
    assert {p.value for p in group.metrics["t.level"]} == {1.0, 4.0}  # keywords win
    assert group.value("t.made", a="x") == 2
    assert [point.value for point in group.metrics["t.open"]] == [-1]
    assert [point.sum for point in group.metrics["t.took"]] == [0.5]


def test_what_cannot_be_recorded_is_warned_about_once_and_the_rest_recorded(
    group: CapturedTelemetry, caplog: pytest.LogCaptureFixture
) -> None:
    meter = group.handle.meter
    for _ in range(2):
        record_metrics(meter, "t", {"nonsense": 1.0, "made": -1, "took": "x", "level": 7.0})  # type: ignore[dict-item]
        record_metrics(meter, "missing", {"x": 1.0})
    assert group.value("t.level") == 7.0
    assert "t.made" not in group.metrics
    assert messages(caplog) == [
        "metric group 't' has no key 'nonsense'",
        "t.made: a counter cannot add -1",
        *[m for m in messages(caplog) if m.startswith("t.took could not be recorded")],
        "metric group 'missing' is not registered; skipped",
    ]
    assert len(messages(caplog)) == 4


@pytest.mark.parametrize(
    ("name", "specs", "message"),
    [
        ("", SPECS, "needs a name"),
        ("u", (), "has no metrics"),
        ("u", (SPECS[0], SPECS[0]), "'level' occurs twice"),
        ("t", SPECS, "already registered"),
    ],
)
def test_wrong_groups_raise(
    group: CapturedTelemetry, name: str, specs: tuple[MetricSpec, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        register_metric_group(name, specs)


def test_an_override_replaces_the_group_as_a_whole(group: CapturedTelemetry) -> None:
    register_metric_group("t", [MetricSpec("new", "t.new")], allow_override=True)
    record_metrics(group.handle.meter, "t", {"new": 1.0, "level": 2.0})
    assert set(group.metrics) == {"t.new"}
    unregister_metric_group("t")
    with pytest.raises(ValueError, match="'t' is not registered"):
        unregister_metric_group("t")


@pytest.mark.parametrize(
    "declare",
    [
        lambda: MetricSpec("", "t.x"),
        lambda: MetricSpec("x", ""),
        lambda: MetricSpec("x", "t.x", "summary"),  # type: ignore[arg-type]
        lambda: TeedMetric("", "rl.x"),
        lambda: TeedMetric("x", ""),
        lambda: RecordedMetric("rl.x", "rate"),  # type: ignore[arg-type]
    ],
)
def test_wrong_rows_raise_where_they_stand(declare: Any) -> None:
    with pytest.raises(ValueError, match="metric"):
        declare()


def test_a_logger_key_or_series_is_claimed_once() -> None:
    register_teed_metrics([TeedMetric("a", "rl.a")])
    with pytest.raises(ValueError, match=r"logger key 'a' is claimed by 'rl\.a' already"):
        register_teed_metrics([TeedMetric("b", "rl.b"), TeedMetric("a", "rl.other")])
    with pytest.raises(ValueError, match=r"series 'rl\.a' is claimed twice"):
        register_teed_metrics([TeedMetric("c", "rl.a")])
    with pytest.raises(ValueError, match="claimed twice"):  # one key in the group for both
        register_teed_metrics([TeedMetric("d", "rl.x.y"), TeedMetric("e", "rl.x_y")])
    register_teed_metrics([TeedMetric("b", "rl.b")])  # the failed call took nothing


def test_a_recorded_row_may_be_repeated_but_not_redefined() -> None:
    register_recorded_metrics([RecordedMetric("rl.m", "gauge", "s")])
    register_recorded_metrics([RecordedMetric("rl.m", "gauge", "s")])
    with pytest.raises(ValueError, match="declared differently"):
        register_recorded_metrics([RecordedMetric("rl.m", "counter", "s")])


def test_nothing_is_declared_after_the_first_recording() -> None:
    freeze_metrics()
    with pytest.raises(RuntimeError, match="declare metrics at import"):
        register_teed_metrics([TeedMetric("a", "rl.a")])
    with pytest.raises(RuntimeError, match="declare metrics at import"):
        register_recorded_metrics([RecordedMetric("rl.a")])
