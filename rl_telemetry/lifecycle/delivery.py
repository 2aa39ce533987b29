"""What was handed to the exporters and what they delivered, so that a loss can be said.

The SDK answers ``True`` to a flush whose exports all failed, so delivery is counted here, at
the exporter. The wrappers also make exporters safe over a fork: a child must not write on the
sockets of its parent.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

from opentelemetry.sdk.metrics.export import MetricExporter, MetricExportResult, MetricsData
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from rl_telemetry.lifecycle.fork_safe import ForkSafe

_logger = logging.getLogger(__name__)


class SpanDelivery:
    """Counts ended and delivered spans of this process."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Start from zero, in a forked child."""
        self._lock = threading.RLock()
        self._ended = 0
        self._delivered = 0
        self._failed = 0

    def add_ended(self) -> None:
        """Count one span that was handed over for export."""
        with self._lock:
            self._ended += 1

    def add_delivered(self, count: int) -> None:
        """Count spans that an exporter confirmed."""
        with self._lock:
            self._delivered += count

    def add_failed(self, count: int) -> None:
        """Count spans of an export that failed."""
        with self._lock:
            self._failed += count

    @property
    def failed(self) -> int:
        """Spans of exports that failed."""
        return self._failed

    @property
    def ended(self) -> int:
        """Spans handed over for export."""
        return self._ended

    @property
    def undelivered(self) -> int:
        """Spans handed over and not confirmed: still queued, in flight, refused or dropped."""
        return max(0, self._ended - self._delivered)


class CountedSpanExporter(SpanExporter):
    """Counts deliveries, refuses work once abandoned, and is rebuilt in a forked child.

    Args:
        factory: Makes the real exporter; called now, and once in each forked child.
        delivery: Where confirmed spans are counted.
        given: Use this exporter instead, in forked children too.
    """

    def __init__(
        self,
        factory: Callable[[], SpanExporter],
        delivery: SpanDelivery,
        given: SpanExporter | None = None,
    ) -> None:
        self._exporter = (
            ForkSafe(factory) if given is None else ForkSafe(lambda: given, can_remake=False)
        )
        self._delivery = delivery
        self._resource: Resource | None = None
        self._abandoned = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Export a batch with the exporter of this process."""
        result = refused = SpanExportResult.FAILURE
        try:
            if not self._abandoned:
                batch = self._under_own_resource(spans)
                result = self._exporter.run(lambda inner: inner.export(batch), refused)
        finally:
            if result is SpanExportResult.SUCCESS:
                self._delivery.add_delivered(len(spans))
            else:
                self._delivery.add_failed(len(spans))
        return result

    def _under_own_resource(self, spans: Sequence[ReadableSpan]) -> Sequence[ReadableSpan]:
        if self._resource is None:
            return spans
        return [_with_resource(span, self._resource) for span in spans]

    def abandon(self) -> None:
        """Refuse further batches, so that a worker thread left behind ends soon."""
        self._abandoned = True

    def after_fork(self, resource: Resource) -> None:
        """Export under the child's resource; tracers made before the fork keep the parent's."""
        self._resource = resource

    def shutdown(self) -> None:
        """Shut the real exporter down, but not the parent's copy of it."""
        self._exporter.shutdown(lambda inner: inner.shutdown())

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Do nothing: the real exporters hold nothing back."""
        return True


def _with_resource(span: ReadableSpan, resource: Resource) -> ReadableSpan:
    """Copy a span under another resource."""
    return ReadableSpan(
        name=span.name,
        context=span.get_span_context(),
        parent=span.parent,
        resource=resource,
        attributes=span.attributes,
        events=span.events,
        links=span.links,
        kind=span.kind,
        status=span.status,
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


class CountedMetricExporter(MetricExporter):
    """Counts the points of the last collection that were not delivered.

    It works in the process that made it alone: a forked child gets its own meter provider,
    for cumulative sums copied by the fork would be counted twice.

    Args:
        factory: Makes the real exporter.
    """

    def __init__(self, factory: Callable[[], MetricExporter]) -> None:
        self._exporter = ForkSafe(factory)
        inner = self._exporter.first
        super().__init__(
            # The SDK offers these under private names only, and readers take them from there.
            preferred_temporality=inner._preferred_temporality,
            preferred_aggregation=inner._preferred_aggregation,
        )
        self._pid = os.getpid()
        self._undelivered = 0
        self._failed = 0
        self._abandoned = False

    @property
    def failed(self) -> int:
        """Points of exports that failed."""
        return self._failed

    @property
    def undelivered(self) -> int:
        """Points of the last collection that are in flight or were refused."""
        return self._undelivered

    def export(
        self, metrics_data: MetricsData, timeout_millis: float = 10_000, **kwargs: Any
    ) -> MetricExportResult:
        """Export a collection and note whether it arrived."""
        if self._pid != os.getpid():
            return MetricExportResult.SUCCESS
        points = self._undelivered = _count_points(metrics_data)
        result = refused = MetricExportResult.FAILURE
        try:
            if not self._abandoned:
                result = self._exporter.run(
                    lambda inner: inner.export(metrics_data, timeout_millis, **kwargs), refused
                )
        finally:
            if result is MetricExportResult.SUCCESS:
                self._undelivered = 0
            else:
                self._failed += points
        return result

    def abandon(self) -> None:
        """Refuse further collections."""
        self._abandoned = True

    def shutdown(self, timeout_millis: float = 30_000, **kwargs: Any) -> None:
        """Shut the real exporter down."""
        self._exporter.shutdown(lambda inner: inner.shutdown(timeout_millis=timeout_millis))

    def force_flush(self, timeout_millis: float = 10_000) -> bool:
        """Do nothing: the real exporters hold nothing back."""
        return True


def _count_points(data: MetricsData) -> int:
    return sum(
        len(metric.data.data_points)
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    )
