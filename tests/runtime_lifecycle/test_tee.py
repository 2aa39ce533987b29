from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rl_telemetry import setup
from rl_telemetry.buckets import EFFICIENCY_CATEGORY_BUCKET
from rl_telemetry.metrics import (
    TeedMetric,
    as_scalar,
    ensure_metric_group_registered,
    print_efficiency_summary,
    record_host_memory,
    record_inference_metrics,
    record_rl_metrics,
    register_teed_metrics,
    tee_rl_metrics_to_otel,
)
from rl_telemetry.metrics.efficiency import measurement, window
from rl_telemetry.metrics.tee import setup_phase
from rl_telemetry.testing import CapturedTelemetry

Capture = CapturedTelemetry

TEED = {
    "reward": ("rl.reward.mean", ""),
    "kl_penalty": ("rl.kl.divergence", ""),
    "loss": ("rl.policy.loss", ""),
    "critic/loss": ("rl.value.loss", ""),
    "approx_entropy": ("rl.entropy", ""),
    "mean_gen_tokens_per_sample": ("rl.response.length.mean", "{token}"),
    "grad_norm": ("rl.grad_norm", ""),
    "lr": ("rl.learning_rate", ""),
    "vllm/prompt_tokens": ("rl.vllm.prompt_tokens", "{token}"),
    "vllm/generation_tokens": ("rl.vllm.generation_tokens", "{token}"),
    "vllm/prompt_length_mean": ("rl.vllm.prompt_length.mean", "{token}"),
    "vllm/generation_length_mean": ("rl.vllm.generation_length.mean", "{token}"),
    "vllm/generations_ok": ("rl.vllm.generations.ok", "{generation}"),
    "vllm/generations_failed": ("rl.vllm.generations.failed", "{generation}"),
}


def warnings_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]


@pytest.mark.parametrize("prefix", ["train", ""])
def test_every_standard_row_is_teed(rl_telemetry_capture: Capture, prefix: str) -> None:
    values = {key: float(number) for number, key in enumerate(TEED, start=1)}
    tee_rl_metrics_to_otel({**values, "unknown": 1.0}, prefix)
    assert {name: points[0].value for name, points in rl_telemetry_capture.metrics.items()} == {
        TEED[key][0]: value for key, value in values.items()
    }


def test_counters_add_up_and_gauges_do_not(rl_telemetry_capture: Capture) -> None:
    for _ in range(2):
        tee_rl_metrics_to_otel({"vllm/prompt_tokens": 10, "loss": 0.5}, "train")
    assert rl_telemetry_capture.value("rl.vllm.prompt_tokens") == 20
    assert rl_telemetry_capture.value("rl.policy.loss") == 0.5
    with pytest.raises(RuntimeError, match="declare metrics at import"):
        register_teed_metrics([TeedMetric("x", "rl.x")])


@pytest.mark.parametrize("prefix", ["validation", "performance", "timing/train"])
def test_other_prefixes_tee_nothing(rl_telemetry_capture: Capture, prefix: str) -> None:
    tee_rl_metrics_to_otel({"loss": 0.5}, prefix)
    assert rl_telemetry_capture.metrics == {}
    tee_rl_metrics_to_otel({"loss": 0.5}, "train")
    assert set(rl_telemetry_capture.metrics) == {"rl.policy.loss"}


class Tensor:
    """Looks like a number and must not be read."""

    def __float__(self) -> float:
        raise AssertionError("the device was waited for")

    item = __float__


@pytest.mark.parametrize("value", [True, False, Tensor(), "1", None, [1.0], np.bool_(True)])
def test_what_is_no_plain_number_is_skipped(rl_telemetry_capture: Capture, value: Any) -> None:
    assert as_scalar(value) is None
    tee_rl_metrics_to_otel({"loss": value, "reward": 1}, "train")
    assert set(rl_telemetry_capture.metrics) == {"rl.reward.mean"}


@given(st.one_of(st.integers(), st.floats(allow_nan=False)))
def test_numbers_stay_as_they_are(value: float) -> None:
    assert as_scalar(value) == value
    assert type(as_scalar(value)) is type(value)


@pytest.mark.parametrize("value", [np.float32(0.5), np.float64(0.5), np.int64(3)])
def test_numpy_scalars_are_numbers(value: Any) -> None:
    assert as_scalar(value) == value
    assert type(as_scalar(value)) in {int, float}


def test_without_an_exporting_handle_nothing_happens(rl_telemetry_capture: Capture) -> None:
    setup.shutdown_telemetry()
    tee_rl_metrics_to_otel({"loss": 0.5}, "train")
    record_rl_metrics({"rl.host.memory.used": 1})
    register_teed_metrics([TeedMetric("x", "rl.x")])  # nothing was frozen


def test_efficiency_seconds_say_how_they_were_measured(rl_telemetry_capture: Capture) -> None:
    logged = {f"efficiency/{category}_s": 2.0 for category in EFFICIENCY_CATEGORY_BUCKET}
    tee_rl_metrics_to_otel({**logged, "efficiency/idle_total_s": 9.0, "efficiency/x_s": 1.0}, "")
    found = {
        p.attributes["rl.efficiency.category"]: (
            p.attributes["rl.bucket"],
            p.attributes["rl.efficiency.measurement"],
            p.attributes["rl.efficiency.window"],
        )
        for p in rl_telemetry_capture.metrics["rl.efficiency.seconds"]
    }
    assert found == {
        "init/total": ("overhead", "wall_clock", "run"),
        "idle/buffer_starvation": ("idle", "wall_clock", "step"),
        "idle/refit_bubble": ("idle", "wall_clock", "step"),
        "idle/validation": ("idle", "wall_clock", "step"),
        "idle/refit_event_wait": ("idle", "collector_wall_clock", "run"),
        "idle/generation_limit_pause": ("idle", "collector_wall_clock", "run"),
        "idle/buffer_full_backoff": ("idle", "thread_seconds", "run"),
        "wasted/failed_trajectory": ("wasted", "thread_seconds", "run"),
    }


@pytest.mark.parametrize(
    ("flag", "expected"),
    [
        ({}, "run"),
        ({"efficiency/efficiency_pct_is_per_step": False}, "run"),
        ({"efficiency/efficiency_pct_is_per_step": True}, "step"),
    ],
)
def test_the_window_of_the_percentage(
    rl_telemetry_capture: Capture, flag: dict[str, bool], expected: str
) -> None:
    tee_rl_metrics_to_otel({"efficiency/efficiency_pct": 87.5, **flag}, "train")
    (point,) = rl_telemetry_capture.metrics["rl.efficiency.pct"]
    assert point.value == 87.5
    assert dict(point.attributes) == {
        "rl.efficiency.measurement": "wall_clock",
        "rl.efficiency.window": expected,
    }


@pytest.mark.parametrize(
    ("key", "phase"),
    [
        ("generation_init_time_s", "generation_init"),
        ("parallel_wall_s", "parallel_wall"),
        ("total_setup_time_s", "total_setup"),
        ("vllm_nccl_sparse_init_time_s", "vllm_nccl_sparse_init"),
        ("parallel_init_enabled", None),
        ("_time_s", None),
        ("_s", None),
    ],
)
def test_set_up_phases(rl_telemetry_capture: Capture, key: str, phase: str | None) -> None:
    assert setup_phase(key) == phase
    tee_rl_metrics_to_otel({key: 3.0, "loss": 1.0, "known_s": 1.0}, "timing/setup")
    expected = {"known"} | ({phase} if phase else set())
    points = rl_telemetry_capture.metrics["rl.setup.duration"]
    assert {point.attributes["rl.setup.phase"] for point in points} == expected
    assert set(rl_telemetry_capture.metrics) == {"rl.setup.duration"}


class BrokenEfficiency(Mapping[str, Any]):
    """A logged dictionary of which one family cannot be read."""

    def __getitem__(self, key: str) -> Any:
        if key.startswith("efficiency/"):
            raise RuntimeError("device lost")
        return {"loss": 0.5}[key]

    def __contains__(self, key: object) -> bool:
        return str(key).startswith("efficiency/") or key == "loss"

    def __iter__(self) -> Iterator[str]:
        return iter(("loss",))

    def __len__(self) -> int:
        return 1


def test_a_broken_family_takes_no_other_with_it(
    rl_telemetry_capture: Capture, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        tee_rl_metrics_to_otel(BrokenEfficiency(), "train")
    assert set(rl_telemetry_capture.metrics) == {"rl.policy.loss"}
    assert warnings_in(caplog) == ["efficiency metrics could not be recorded: device lost"]


def test_an_owner_may_declare_a_row_itself(rl_telemetry_capture: Capture) -> None:
    register_teed_metrics(
        [TeedMetric("reward", "rl.my.reward"), TeedMetric("my_loss", "rl.policy.loss")]
    )
    tee_rl_metrics_to_otel({"reward": 1.0, "my_loss": 2.0, "loss": 3.0, "lr": 4.0}, "train")
    assert {k: v[0].value for k, v in rl_telemetry_capture.metrics.items()} == {
        "rl.my.reward": 1.0,
        "rl.policy.loss": 2.0,
        "rl.learning_rate": 4.0,
    }


def test_a_wrong_declaration_is_said_once_and_not_tried_again(
    rl_telemetry_capture: Capture, caplog: pytest.LogCaptureFixture
) -> None:
    # A standard row and this one would have the same key in the group.
    register_teed_metrics([TeedMetric("x", "rl.grad.norm")])
    for _ in range(3):
        tee_rl_metrics_to_otel({"loss": 0.5}, "train")
    assert ensure_metric_group_registered() is False
    assert rl_telemetry_capture.metrics == {}
    assert len(warnings_in(caplog)) == 1
    assert "a declaration is wrong" in warnings_in(caplog)[0]
    assert "'grad_norm' occurs twice" in warnings_in(caplog)[0]


def test_values_that_do_not_pass_the_logger(rl_telemetry_capture: Capture) -> None:
    record_rl_metrics({"rl.vllm.batch.duration": 1.5, "host_memory_used": None}, {"a": "b"})
    (point,) = rl_telemetry_capture.metrics["rl.vllm.batch.duration"]
    assert (point.sum, dict(point.attributes)) == (1.5, {"a": "b"})
    assert "rl.host.memory.used" not in rl_telemetry_capture.metrics


def test_host_memory(rl_telemetry_capture: Capture) -> None:
    record_host_memory(["vllm", "policy"])
    used = rl_telemetry_capture.metrics["rl.host.memory.used"][0]
    total = rl_telemetry_capture.value("rl.host.memory.total")
    assert total is not None
    assert 0 < used.value < total
    assert used.attributes["rl.worker_groups"] == ("policy", "vllm")


def test_inference_metrics_follow_the_convention(rl_telemetry_capture: Capture) -> None:
    meter = rl_telemetry_capture.handle.meter
    record_inference_metrics(meter, None, "org/model", 100, 40, "vllm")
    points = rl_telemetry_capture.metrics["gen_ai.client.token.usage"]
    common = {
        "gen_ai.operation.name": "text_completion",
        "gen_ai.provider.name": "vllm",
        "gen_ai.request.model": "org/model",
    }
    assert {point.sum: dict(point.attributes) for point in points} == {
        100: {**common, "gen_ai.token.type": "input"},
        40: {**common, "gen_ai.token.type": "output"},
    }
    assert "gen_ai.server.request.duration" not in rl_telemetry_capture.metrics
    record_inference_metrics(meter, request_duration_s=0.25)
    (point,) = rl_telemetry_capture.metrics["gen_ai.server.request.duration"]
    assert point.sum == 0.25
    # The buckets of the convention, without which every request would be in one.
    assert {0.16, 0.32, 81.92} <= set(point.explicit_bounds)
    assert {1, 4, 16, 67108864} <= set(points[0].explicit_bounds)


SECONDS = {
    "init/total": 50.0,
    "idle/refit_bubble": 1.0,
    "idle/validation": 1.5,
    "idle/refit_event_wait": 70.0,
    "wasted/failed_trajectory": 80.0,
    "idle/undeclared": 4.0,
}


@pytest.mark.parametrize(
    ("total", "step_wall", "pct", "per_step"),
    [(100.0, 10.0, 75.0, True), (100.0, None, 97.5, False), (1.0, None, 0.0, False)],
)
def test_the_efficiency_summary(
    capsys: pytest.CaptureFixture[str],
    total: float,
    step_wall: float | None,
    pct: float,
    per_step: bool,
) -> None:
    logged = print_efficiency_summary(SECONDS, total, 7, step_wall)
    assert logged["efficiency/efficiency_pct"] == pytest.approx(pct)
    assert logged["efficiency/efficiency_pct_is_per_step"] is per_step
    assert logged["efficiency/idle/refit_bubble_s"] == 1.0
    assert "efficiency/idle/undeclared_s" not in logged
    printed = capsys.readouterr().out
    assert f"step 7: {pct:.1f}%" in printed
    assert "idle/refit_event_wait: 70.00 s (collector_wall_clock, run)" in printed


def test_every_category_has_a_measurement_and_a_window() -> None:
    assert {measurement(c) for c in EFFICIENCY_CATEGORY_BUCKET} == {
        "wall_clock",
        "collector_wall_clock",
        "thread_seconds",
    }
    assert {window(c) for c in EFFICIENCY_CATEGORY_BUCKET} == {"step", "run"}
