"""One pipeline per signal: provider, processor, exporter, and the counting of what is lost."""

from __future__ import annotations

import importlib
import logging
import os
import warnings
from collections.abc import Callable
from typing import Any, Protocol

from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import (
    MetricExporter,
    MetricReader,
    PeriodicExportingMetricReader,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

from rl_telemetry.lifecycle.bounded import DeadlineWorker
from rl_telemetry.lifecycle.delivery import (
    CountedMetricExporter,
    CountedSpanExporter,
    SpanDelivery,
)
from rl_telemetry.lifecycle.fork_safe import ForkSafe
from rl_telemetry.lifecycle.identifiers import PrivateIdGenerator
from rl_telemetry.lifecycle.open_spans import OpenSpanProcessor
from rl_telemetry.scopes import ScopeSpanProcessor
from rl_telemetry.tracing import INSTRUMENTATION_NAME

_logger = logging.getLogger(__name__)


class Pipeline(Protocol):
    """What :class:`~rl_telemetry.lifecycle.handle.TelemetryHandle` needs of a signal."""

    worker: DeadlineWorker

    def prepare_shutdown(self) -> None:
        """Do what must come before the exporter stops; must not block."""

    def shutdown(self, timeout_ms: float) -> None:
        """Export what is left and stop; may block past the timeout."""

    def flush(self, timeout_ms: float) -> None:
        """Export what is there; may block past the timeout."""

    def abandon(self) -> None:
        """Refuse further exports, once nobody waits any more."""

    def undelivered(self) -> tuple[int, str]:
        """Return how much was not confirmed by the exporter, and the word for it."""

    def failures(self) -> int:
        """Return how much was in exports that failed, since the start of the process."""

    def after_fork(self, resource: Resource) -> None:
        """Make the pipeline usable in a forked child."""


class TracePipeline:
    """Spans: scope stamps, then the open-span table, then the batch processor.

    Args:
        resource: Resource of this process.
        factory: Makes the exporter, again in each forked child.
        given: An exporter to use instead.
    """

    def __init__(
        self,
        resource: Resource,
        factory: Callable[[], SpanExporter],
        given: SpanExporter | None = None,
    ) -> None:
        self._delivery = SpanDelivery()
        self._exporter = CountedSpanExporter(factory, self._delivery, given)
        self._open_spans = OpenSpanProcessor(BatchSpanProcessor(self._exporter), self._delivery)
        # The SDK's own exit hook waits 30 s for each processor; ours keeps a budget.
        self.provider = TracerProvider(
            resource=resource, shutdown_on_exit=False, id_generator=PrivateIdGenerator()
        )
        self.provider.add_span_processor(ScopeSpanProcessor())
        self.provider.add_span_processor(self._open_spans)
        self.tracer: trace.Tracer = self.provider.get_tracer(INSTRUMENTATION_NAME)
        self.worker = DeadlineWorker("traces")

    def prepare_shutdown(self) -> None:
        """End the spans that are still open."""
        self._open_spans.close_open_spans()

    def shutdown(self, timeout_ms: float) -> None:
        """Export the queue and stop."""
        self.provider.shutdown()

    def flush(self, timeout_ms: float) -> None:
        """Export the queue."""
        # Not the provider's: that stops at a processor whose flush returns None, as the SDK's
        # base class does.
        self._open_spans.force_flush(int(timeout_ms))

    def abandon(self) -> None:
        """Refuse further batches."""
        self._exporter.abandon()

    def undelivered(self) -> tuple[int, str]:
        """Return the spans that were ended and not confirmed."""
        return self._delivery.undelivered, f"of {self._delivery.ended} spans"

    def failures(self) -> int:
        """Return the spans of failed exports."""
        return self._delivery.failed

    def after_fork(self, resource: Resource) -> None:
        """Disown the parent's spans; the batch processor renews its own queue and thread."""
        self._open_spans.forget_inherited()
        self._delivery.reset()
        self._exporter.after_fork(resource)
        self.worker.restart()


class MetricPipeline:
    """Metrics: a provider with one reader.

    Args:
        resource: Resource of this process.
        factory: Makes the exporter, again in each forked child.
        reader: A reader to use in place of one that exports periodically.
    """

    def __init__(
        self,
        resource: Resource,
        factory: Callable[[], MetricExporter],
        reader: MetricReader | None = None,
    ) -> None:
        self._factory = factory
        self._given_reader = reader
        self._inherited: list[MeterProvider] = []
        self.worker = DeadlineWorker("metrics")
        self._build(resource)

    def _build(self, resource: Resource) -> None:
        self._exporter: CountedMetricExporter | None = None
        reader = self._given_reader
        if reader is None:
            self._exporter = CountedMetricExporter(self._factory)
            reader = PeriodicExportingMetricReader(self._exporter)
        self.provider = MeterProvider(
            metric_readers=[reader], resource=resource, shutdown_on_exit=False
        )
        self._meter: metrics.Meter = self.provider.get_meter(INSTRUMENTATION_NAME)
        self._pid = os.getpid()

    @property
    def meter(self) -> metrics.Meter:
        """The meter of this process.

        A forked child gets a new provider at first use: the locks of the copied one may be held
        by threads that no longer exist, and its sums are the parent's.
        """
        if self._pid != os.getpid() and self._given_reader is None:
            self._inherited.append(self.provider)
            self._build(self._child_resource)
        return self._meter

    def prepare_shutdown(self) -> None:
        """Do nothing: metrics have no open parts."""

    def shutdown(self, timeout_ms: float) -> None:
        """Collect and export once more, and stop."""
        if self._used_here():
            self.provider.shutdown(timeout_millis=timeout_ms)

    def flush(self, timeout_ms: float) -> None:
        """Collect and export now."""
        if self._used_here():
            self.provider.force_flush(timeout_millis=timeout_ms)

    def _used_here(self) -> bool:
        return self._pid == os.getpid() or self._given_reader is not None

    def abandon(self) -> None:
        """Refuse further collections."""
        if self._exporter is not None:
            self._exporter.abandon()

    def undelivered(self) -> tuple[int, str]:
        """Return the points of the last collection that were not confirmed."""
        count = self._exporter.undelivered if self._exporter and self._used_here() else 0
        return count, "metric points of the last collection"

    def failures(self) -> int:
        """Return the points of failed exports."""
        return self._exporter.failed if self._exporter else 0

    def after_fork(self, resource: Resource) -> None:
        """Remember the child's resource for the provider that first use builds."""
        self._child_resource = resource
        self.worker.restart()


class LogPipeline:
    """Records of the :mod:`logging` module, as OpenTelemetry logs.

    Args:
        resource: Resource of this process.
        factory: Makes the exporter.
    """

    def __init__(self, resource: Resource, factory: Callable[[], Any]) -> None:
        sdk = importlib.import_module("opentelemetry.sdk._logs")
        export = importlib.import_module("opentelemetry.sdk._logs.export")
        self._exporter = _CountedLogExporter(factory)
        self.provider = sdk.LoggerProvider(resource=resource, shutdown_on_exit=False)
        self.provider.add_log_record_processor(export.BatchLogRecordProcessor(self._exporter))
        with warnings.catch_warnings():
            # The SDK points to a handler in another distribution; this one does the same.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._handler: logging.Handler = sdk.LoggingHandler(logger_provider=self.provider)
        self._handler.addFilter(_not_from_export)
        logging.getLogger().addHandler(self._handler)
        self.worker = DeadlineWorker("logs")

    def prepare_shutdown(self) -> None:
        """Stop taking records."""
        logging.getLogger().removeHandler(self._handler)

    def shutdown(self, timeout_ms: float) -> None:
        """Export the queue and stop."""
        self.provider.shutdown()

    def flush(self, timeout_ms: float) -> None:
        """Export the queue."""
        self.provider.force_flush(int(timeout_ms))

    def abandon(self) -> None:
        """Refuse further batches."""
        self._exporter.abandoned = True

    def undelivered(self) -> tuple[int, str]:
        """Return the records whose export failed."""
        return self._exporter.failed, "log records"

    def failures(self) -> int:
        """Return the records of failed exports."""
        return self._exporter.failed

    def after_fork(self, resource: Resource) -> None:
        """Renew the thread; the batch processor renews its own queue."""
        self._exporter.failed = 0
        self.worker.restart()


class _CountedLogExporter:
    """Counts log records that were not delivered; built anew in a forked child."""

    def __init__(self, factory: Callable[[], Any]) -> None:
        self._exporter = ForkSafe(factory)
        self.failed = 0
        self.abandoned = False

    def export(self, batch: Any) -> Any:
        self.failed += len(batch)
        if self.abandoned:
            return None
        result = self._exporter.run(lambda inner: inner.export(batch), None)
        if getattr(result, "name", "") == "SUCCESS":
            self.failed -= len(batch)
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown(lambda inner: inner.shutdown())


_EXPORT_LOGGERS = ("opentelemetry", "rl_telemetry", "grpc", "requests", "urllib3")


def _not_from_export(record: logging.LogRecord) -> bool:
    """Keep the exporters' own records out, or each failed export would cause another."""
    return record.name.partition(".")[0] not in _EXPORT_LOGGERS
