from __future__ import annotations

import logging
import os
from dataclasses import dataclass, field
from typing import Any

import pytest

from rl_telemetry.contrib import vllm


@dataclass
class Counter:
    name: str
    value: float
    labels: dict[str, str] = field(default_factory=dict)


@dataclass
class Histogram:
    name: str
    sum: float
    count: int
    labels: dict[str, str] = field(default_factory=dict)


def engine(scale: int, number: str = "0") -> list[Any]:
    labels = {"model_name": "m", "engine": number}
    return [
        Counter("vllm:prompt_tokens", 100 * scale, labels),
        Counter("vllm:generation_tokens", 40 * scale, labels),
        Counter("vllm:num_preemptions", 3 * scale, labels),
        Counter("vllm:spec_decode_num_drafts", 2 * scale, labels),
        Histogram("vllm:request_prompt_tokens", 100 * scale, 4 * scale, labels),
        Histogram("vllm:request_generation_tokens", 40 * scale, 4 * scale, labels),
        Counter("vllm:request_success", 2 * scale, {**labels, "finished_reason": "stop"}),
        Counter("vllm:request_success", 1 * scale, {**labels, "finished_reason": "length"}),
        Counter("vllm:request_success", 1 * scale, {**labels, "finished_reason": "abort"}),
    ]


STEP = {
    "vllm/prompt_tokens": 100,
    "vllm/generation_tokens": 40,
    "vllm/prompt_length_mean": 25,
    "vllm/generation_length_mean": 10,
    "vllm/generations_ok": 3,
    "vllm/generations_failed": 1,
    "vllm/spec_decode_num_drafts": 2,
}


def step(before: list[Any], after: list[Any]) -> dict[str, float]:
    return vllm.get_step_metrics(vllm.snapshot_step_metrics(lambda: before), lambda: after)


def test_what_the_engine_did_in_a_step() -> None:
    assert step(engine(1), engine(2)) == STEP


def test_engines_are_summed() -> None:
    before, after = engine(1) + engine(1, "1"), engine(2) + engine(2, "1")
    doubled = {k: v if k.endswith("mean") else 2 * v for k, v in STEP.items()}
    assert step(before, after) == doubled


def test_an_engine_that_restarted_is_left_out_and_not_counted_as_zero() -> None:
    assert step(engine(5), engine(1)) == {}
    assert step(engine(5) + engine(1, "1"), engine(1) + engine(2, "1")) == STEP


def test_a_step_without_requests_has_no_lengths() -> None:
    quiet = step(engine(1), engine(1))
    assert quiet == {
        "vllm/prompt_tokens": 0,
        "vllm/generation_tokens": 0,
        "vllm/generations_ok": 0,
        "vllm/generations_failed": 0,
        "vllm/spec_decode_num_drafts": 0,
    }


def test_series_that_are_missing_on_one_side_are_left_out() -> None:
    assert step([], engine(1)) == {}
    assert step(engine(1)[:1], engine(2)) == {"vllm/prompt_tokens": 100}


def test_half_a_histogram_gives_no_mean() -> None:
    before = [Histogram("vllm:request_prompt_tokens", 100, 4)]
    after = [Histogram("vllm:request_prompt_tokens", 50, 5)]
    assert step(before, after) == {}
    other = {"engine": "1"}
    before.append(Histogram("vllm:request_prompt_tokens", 10, 1, other))
    after.append(Histogram("vllm:request_prompt_tokens", 40, 2, other))
    assert step(before, after) == {"vllm/prompt_length_mean": 30}


def test_a_failed_reading_gives_nothing_and_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> list[Any]:
        raise RuntimeError("engine gone")

    for _ in range(2):
        snapshot = vllm.snapshot_step_metrics(fail)
        assert snapshot is None
        assert vllm.get_step_metrics(snapshot, lambda: engine(2)) == {}
        assert vllm.get_step_metrics({"vllm:prompt_tokens": 1.0}, fail) == {}
    said = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert said == ["vLLM's counters cannot be read: engine gone"]


def engine_arguments(model: str, otlp_traces_endpoint: str | None = None) -> None:
    """Stands for an engine that can trace."""


def engine_without_tracing(model: str) -> None:
    """Stands for an engine that cannot."""


ON = {"RL_TELEMETRY_ENABLED": "1", "RL_TELEMETRY_VLLM_NATIVE_TRACING": "1"}
ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4317"}


@pytest.mark.parametrize(
    ("variables", "target", "expected", "warning"),
    [
        (ON | ENDPOINT, engine_arguments, "http://c:4317", None),
        (
            ON | ENDPOINT | {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://t:4317"},
            engine_arguments,
            "http://t:4317",
            None,
        ),
        (ENDPOINT | {"RL_TELEMETRY_ENABLED": "1"}, engine_arguments, None, None),
        # The opt-in does not outlive the master switch.
        (ON | ENDPOINT | {"RL_TELEMETRY_ENABLED": "0"}, engine_arguments, None, None),
        (ON, engine_arguments, None, "set OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"),
        (ON | ENDPOINT, engine_without_tracing, None, "no engine argument otlp_traces_endpoint"),
        (ON | ENDPOINT, type, None, "cannot be read"),
    ],
)
def test_native_tracing(
    variables: dict[str, str],
    target: Any,
    expected: str | None,
    warning: str | None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    os.environ.update(variables)
    arguments: dict[str, Any] = {"model": "m"}
    assert vllm.enable_native_tracing(arguments, target) is (expected is not None)
    assert arguments.get("otlp_traces_endpoint") == expected
    said = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert len(said) == (1 if warning else 0)
    assert warning is None or warning in said[0]


def test_an_endpoint_that_was_given_stays() -> None:
    os.environ.update(ON | ENDPOINT)
    arguments = {"otlp_traces_endpoint": "mine"}
    assert vllm.enable_native_tracing(arguments, engine_arguments) is True
    assert arguments == {"otlp_traces_endpoint": "mine"}
