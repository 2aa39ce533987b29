from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import ray

from rl_telemetry.contrib.ray import flush_actor, flush_and_kill
from rl_telemetry.instrumentation import managed_span, trace_context_kwargs
from rl_telemetry.span_groups import RLSpanGroup
from rl_telemetry.testing import TelemetryFiles, capture_telemetry
from tests.support.lifecycle_actors import Generator

ROOT = str(Path(__file__).parents[2])


@pytest.fixture(scope="module", autouse=True)
def _ray() -> Iterator[None]:
    if ray.is_initialized():
        yield
        return
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    yield
    ray.shutdown()


def start(files: TelemetryFiles, *args: Any, **variables: str) -> Any:
    # A slow schedule, so that nothing is exported before a flush.
    slow = {"OTEL_BSP_SCHEDULE_DELAY": "600000", "OTEL_METRIC_EXPORT_INTERVAL": "600000"}
    env = {**files.environment, **slow, **variables, "PYTHONPATH": ROOT}
    return Generator.options(runtime_env={"env_vars": env}).remote(*args, **trace_context_kwargs())


def test_an_actor_is_flushed_before_it_is_killed(rl_telemetry_files: TelemetryFiles) -> None:
    with (
        capture_telemetry(exporter="console") as driver,
        managed_span(RLSpanGroup.SETUP, "rl.setup.workers"),
    ):
        flushed = start(rl_telemetry_files, NRL_WORKER_GROUP="vllm")
        lost = start(rl_telemetry_files, NRL_WORKER_GROUP="lost")
        assert ray.get([flushed.generate.remote(), lost.generate.remote()]) == [True, True]
    assert flush_and_kill(flushed) is True
    ray.kill(lost)
    spans = rl_telemetry_files.spans()
    assert sorted(span.name for span in spans) == ["rl.vllm.generate", "rl.vllm.load_model"]
    assert {span.resource["rl.worker_group"] for span in spans} == {"vllm"}
    assert "rl.vllm.batch.duration" in rl_telemetry_files.metrics()
    parent = driver.span("rl.setup.workers").get_span_context()
    constructor = rl_telemetry_files.span("rl.vllm.load_model")
    assert constructor.trace_id == format(parent.trace_id, "032x")
    assert constructor.parent_id == format(parent.span_id, "016x")


def test_an_actor_that_is_busy_does_not_hold_up_its_kill(
    rl_telemetry_files: TelemetryFiles, caplog: pytest.LogCaptureFixture
) -> None:
    actor = start(rl_telemetry_files)
    ray.get(actor.generate.remote())
    actor.sleep.remote(60)
    began = time.monotonic()
    assert flush_and_kill(actor, timeout_ms=300) is False
    assert time.monotonic() - began < 2
    assert any("killed before all its telemetry" in r.getMessage() for r in caplog.records)


def test_with_telemetry_off_no_actor_is_asked(rl_telemetry_files: TelemetryFiles) -> None:
    os.environ["RL_TELEMETRY_ENABLED"] = "0"
    assert flush_actor(object()) is True
    os.environ["RL_TELEMETRY_ENABLED"] = "1"
    assert flush_actor(object()) is False
