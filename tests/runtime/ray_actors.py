"""Remote targets of the Ray tests: one per kind of callable, decorated or not."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import ray

from rl_telemetry.instrumentation import (
    TracedThread,
    accepts_trace_context,
    dispatch_with_trace_context,
    managed_span,
    trace_fn,
    umbrella_span,
    umbrella_trace_fn,
)
from rl_telemetry.span_groups import RLSpanGroup
from rl_telemetry.tracing import get_tracer
from tests.runtime.recording import start_recording

GENERATION = RLSpanGroup.GENERATION


class _Recorded:
    @accepts_trace_context
    def __init__(self, label: str = "actor") -> None:
        self.recording = start_recording()
        self.label = label
        with umbrella_span(RLSpanGroup.U_MODEL_INIT, f"rl.{label}.load_model"):
            pass

    def report(self) -> tuple[list[dict[str, Any]], list[str]]:
        return self.recording.spans(), self.recording.logs


@ray.remote(num_cpus=0)
class SyncWorker(_Recorded):
    @accepts_trace_context
    def whole(self, text: str, *, times: int = 1) -> str:
        with managed_span(GENERATION, "rl.test.whole"):
            return text * times

    @accepts_trace_context
    def stream(self, count: int) -> Iterator[int]:
        for index in range(count):
            with managed_span(GENERATION, "rl.test.stream"):
                pass
            yield index

    @ray.method(num_returns=2)
    @accepts_trace_context
    def two_options_above(self) -> tuple[int, int]:
        with managed_span(GENERATION, "rl.test.two_options_above"):
            return 1, 2

    @accepts_trace_context
    @ray.method(num_returns=2)
    def two_options_below(self) -> tuple[int, int]:
        with managed_span(GENERATION, "rl.test.two_options_below"):
            return 1, 2

    @accepts_trace_context
    @trace_fn(GENERATION, "rl.test.traced_below")
    def traced_below(self, text: str) -> str:
        return text

    @trace_fn(GENERATION, "rl.test.traced_above")
    @accepts_trace_context
    def traced_above(self, text: str) -> str:
        return text

    def undecorated(self, text: str) -> str:
        with managed_span(GENERATION, "rl.test.undecorated"):
            return text

    @accepts_trace_context
    def broken(self) -> None:
        with managed_span(GENERATION, "rl.test.broken"):
            raise TypeError("_otel_carrier is not the problem here")

    @accepts_trace_context
    @umbrella_trace_fn(RLSpanGroup.U_STEP, "rl.test.decorated")
    def decorated(self, text: str) -> str:
        return text

    @accepts_trace_context
    @trace_fn(GENERATION, "rl.test.decorated_stream")
    def decorated_stream(self) -> Iterator[int]:
        yield 0

    @accepts_trace_context
    def in_thread(self, *, traced: bool) -> None:
        def work() -> None:
            with managed_span(GENERATION, "rl.test.in_thread"):
                pass

        thread = (TracedThread if traced else threading.Thread)(target=work)
        thread.start()
        thread.join()

    @accepts_trace_context
    def onwards(self, other: Any) -> str:
        with managed_span(GENERATION, "rl.test.onwards"):
            return ray.get(dispatch_with_trace_context(other.whole, "x"))


@ray.remote(num_cpus=0, max_concurrency=8)
class AsyncWorker(_Recorded):
    @accepts_trace_context
    async def whole(self, text: str, *, times: int = 1) -> str:
        with managed_span(GENERATION, "rl.test.whole"):
            await asyncio.sleep(0)
            return text * times

    @accepts_trace_context
    async def stream(self, count: int) -> AsyncIterator[int]:
        with managed_span(GENERATION, "rl.test.around"):
            for index in range(count):
                with managed_span(GENERATION, "rl.test.stream"):
                    await asyncio.sleep(0)
                yield index

    @accepts_trace_context
    async def endless(self) -> AsyncIterator[int]:
        # It never waits itself, so a cancellation always finds it suspended at its ``yield``.
        index = 0
        with managed_span(GENERATION, "rl.test.endless"):
            while True:
                yield index
                index += 1

    async def plain_endless(self) -> AsyncIterator[int]:
        """The fault that a carrier held across ``yield`` would be."""
        with get_tracer().start_as_current_span("across"):
            while True:
                yield 0


@ray.remote(num_cpus=0)
class PlainConstructor:
    def __init__(self, label: str) -> None:
        self.label = label

    def name(self) -> str:
        return self.label


@ray.remote(num_cpus=0)
@accepts_trace_context
def task(text: str) -> tuple[str, list[dict[str, Any]]]:
    recording = start_recording()
    with managed_span(GENERATION, "rl.test.task"):
        pass
    return text, recording.spans()
