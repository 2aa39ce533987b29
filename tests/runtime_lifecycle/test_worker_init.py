from __future__ import annotations

import os
from typing import Any

import pytest

from rl_telemetry import setup
from rl_telemetry.contrib.worker_init import traced_worker_init
from rl_telemetry.instrumentation import trace_context_kwargs
from rl_telemetry.testing import TelemetryFiles


class Worker:
    @traced_worker_init("rl.policy.load_model", **{"rl.backend": "megatron"})
    def __init__(self, size: int, *, fail: bool = False) -> None:
        """Load the model."""
        if fail:
            raise RuntimeError("no memory")
        self.size = size


def test_a_constructor_stays_as_it_is_when_telemetry_is_off() -> None:
    assert Worker(3).size == 3
    assert Worker.__init__.__doc__ == "Load the model."
    assert setup.get_telemetry_handle() is None


def test_the_decorator_starts_telemetry_and_traces_the_constructor(
    rl_telemetry_files: TelemetryFiles,
) -> None:
    os.environ["NRL_WORKER_GROUP"] = "policy"
    assert Worker(3).size == 3
    setup.shutdown_telemetry()
    span = rl_telemetry_files.span("rl.policy.load_model")
    assert span.attributes == {"rl.backend": "megatron"}  # an umbrella has no bucket
    assert span.parent_id == ""
    assert span.resource["rl.worker_group"] == "policy"


def test_a_constructor_that_is_given_a_carrier_is_traced_under_its_caller(
    rl_telemetry_files: TelemetryFiles,
) -> None:
    handle = setup.init_telemetry_driver({}, "grpo")
    assert handle is not None
    with handle.tracer.start_as_current_span("rl.setup.workers"):
        carrier: dict[str, Any] = trace_context_kwargs()
    Worker(3, **carrier)
    setup.shutdown_telemetry()
    parent, child = (
        rl_telemetry_files.span(n) for n in ("rl.setup.workers", "rl.policy.load_model")
    )
    assert (child.trace_id, child.parent_id) == (parent.trace_id, parent.span_id)


def test_a_constructor_that_fails_still_fails(rl_telemetry_files: TelemetryFiles) -> None:
    with pytest.raises(RuntimeError, match="no memory"):
        Worker(3, fail=True)
    setup.shutdown_telemetry()
    assert rl_telemetry_files.span("rl.policy.load_model").attributes["rl.backend"] == "megatron"


def test_telemetry_that_cannot_start_does_not_stop_the_constructor(
    rl_telemetry_files: TelemetryFiles, caplog: pytest.LogCaptureFixture
) -> None:
    os.environ["RL_TELEMETRY_EXPORTER"] = "pigeon"
    assert Worker(3).size == 3
    assert any("could not start" in record.getMessage() for record in caplog.records)
