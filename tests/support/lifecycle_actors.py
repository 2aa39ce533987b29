"""Ray actors of the lifecycle tests; importable in the worker processes."""

from __future__ import annotations

import time

import ray

from rl_telemetry import setup
from rl_telemetry.contrib.worker_init import traced_worker_init
from rl_telemetry.instrumentation import managed_span
from rl_telemetry.metrics import record_rl_metrics
from rl_telemetry.span_groups import RLSpanGroup


@ray.remote(num_cpus=0)
class Generator:
    """Starts telemetry in its constructor and traces one method."""

    @traced_worker_init("rl.vllm.load_model")
    def __init__(self) -> None:
        self.handle = setup.get_telemetry_handle()

    def generate(self) -> bool:
        with managed_span(RLSpanGroup.GENERATION, "rl.vllm.generate"):
            record_rl_metrics({"rl.vllm.batch.duration": 0.5})
        return self.handle is not None

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)
