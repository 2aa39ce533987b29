"""``TelemetryHandle``: flush and shutdown that keep their budget whatever the collector does."""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections.abc import Sequence

from opentelemetry import metrics, trace
from opentelemetry.sdk.resources import Resource

from rl_telemetry.lifecycle.bounded import Deadline
from rl_telemetry.lifecycle.pipelines import MetricPipeline, Pipeline, TracePipeline
from rl_telemetry.lifecycle.resource import resource_after_fork
from rl_telemetry.tracing import INSTRUMENTATION_NAME

_logger = logging.getLogger(__name__)


class TelemetryHandle:
    """The telemetry of this process.

    Args:
        resource: Resource of this process, or ``None`` when telemetry is off.
        traces: The trace pipeline, or ``None``.
        metric_points: The metric pipeline, or ``None``.
        others: Further pipelines that flush and shutdown cover.
    """

    def __init__(
        self,
        resource: Resource | None = None,
        traces: TracePipeline | None = None,
        metric_points: MetricPipeline | None = None,
        others: Sequence[Pipeline] = (),
    ) -> None:
        self._resource = resource
        self._metrics = metric_points
        signals: list[Pipeline | None] = [traces, metric_points, *others]
        self._pipelines = [pipeline for pipeline in signals if pipeline is not None]
        self._tracer: trace.Tracer = traces.tracer if traces else trace.NoOpTracer()
        self._no_op_meter = metrics.NoOpMeter(INSTRUMENTATION_NAME)
        self._is_shut_down = False
        self._lock = threading.RLock()
        _live_handles.add(self)

    @property
    def tracer(self) -> trace.Tracer:
        """The tracer; it records nothing when traces are off."""
        return self._tracer

    @property
    def meter(self) -> metrics.Meter:
        """The meter of this process; it records nothing when metrics are off.

        Ask for it at each use: a forked child has another one.
        """
        return self._metrics.meter if self._metrics else self._no_op_meter

    @property
    def resource(self) -> Resource | None:
        """The resource of this process, or ``None`` when telemetry is off."""
        return self._resource

    @property
    def is_exporting(self) -> bool:
        """Whether anything is exported."""
        return bool(self._pipelines) and not self._is_shut_down

    def flush(self, timeout_ms: float = 5000) -> bool:
        """Export what was recorded so far.

        Args:
            timeout_ms: Budget in milliseconds for all signals together.

        Returns:
            Whether everything was delivered within the budget. The SDK's own answer is not
            trusted: it is ``True`` after a failed export as well.
        """
        if not self.is_exporting:
            return True
        failures = [pipeline.failures() for pipeline in self._pipelines]
        deadline = Deadline(timeout_ms)
        jobs = [
            pipeline.worker.submit(lambda p=pipeline: p.flush(timeout_ms))  # type: ignore[misc]
            for pipeline in self._pipelines
        ]
        in_time = [job.wait(deadline) for job in jobs]
        return all(in_time) and failures == [pipeline.failures() for pipeline in self._pipelines]

    def shutdown(self, timeout_ms: float = 5000) -> None:
        """End open spans, export what is left and stop; later calls do nothing.

        It returns within the budget even when the collector is gone or never answers; a warning
        then says how much was lost.

        Args:
            timeout_ms: Budget in milliseconds for all signals together.
        """
        with self._lock:
            if self._is_shut_down:
                return
            self._is_shut_down = True
        deadline = Deadline(timeout_ms)
        for pipeline in self._pipelines:
            pipeline.prepare_shutdown()
        # All at once: a collector that swallows one signal must not use up the others' budget.
        jobs = [
            pipeline.worker.submit(lambda p=pipeline: p.shutdown(timeout_ms))  # type: ignore[misc]
            for pipeline in self._pipelines
        ]
        in_time = [job.wait(deadline) for job in jobs]
        for pipeline in self._pipelines:
            pipeline.abandon()
            pipeline.worker.stop()
        self._report(timeout_ms, all(in_time))

    def _report(self, timeout_ms: float, in_time: bool) -> None:
        lost = [_describe(pipeline) for pipeline in self._pipelines if pipeline.undelivered()[0]]
        if in_time and not lost:
            return
        what = ", ".join(lost) if lost else "what the exporters still held"
        why = "" if in_time else f" within {timeout_ms / 1000:g} s"
        _logger.warning(
            "telemetry shutdown: not delivered%s and dropped: %s. Is the collector reachable?",
            why,
            what,
        )

    def _after_fork_in_child(self) -> None:
        self._lock = threading.RLock()
        if self._resource is None or self._is_shut_down:
            return
        self._resource = resource_after_fork(self._resource)
        for pipeline in self._pipelines:
            pipeline.after_fork(self._resource)


def _describe(pipeline: Pipeline) -> str:
    count, noun = pipeline.undelivered()
    return f"{count} {noun}"


_live_handles: weakref.WeakSet[TelemetryHandle] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for handle in list(_live_handles):
        handle._after_fork_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
