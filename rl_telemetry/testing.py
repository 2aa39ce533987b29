"""What the pytest fixtures are made of; usable from other test frameworks as well."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from rl_telemetry import environment, registry, setup, span_groups, tracing
from rl_telemetry.config import TelemetryConfig
from rl_telemetry.metrics import declarations, instruments, tee
from rl_telemetry.warnings_once import reset_warnings

_ENVIRONMENT_PREFIXES = (environment.PREFIX, *environment.FALLBACK_PREFIXES, "OTEL_")


@contextlib.contextmanager
def isolated_telemetry() -> Iterator[None]:
    """Start from a process without telemetry, and put everything back on exit.

    Yields:
        Nothing.
    """
    variables = dict(os.environ)
    declared = (
        declarations.declared_teed(),
        declarations.declared_recorded(),
        declarations.is_frozen(),
    )
    metric_groups = set(instruments.registered_metric_groups())
    for name in variables:
        if name.startswith(_ENVIRONMENT_PREFIXES):
            del os.environ[name]
    _reset()
    try:
        yield
    finally:
        setup.shutdown_telemetry(timeout_ms=1000)
        _reset()
        declarations.restore_declarations(*declared)
        for group in set(instruments.registered_metric_groups()) - metric_groups:
            instruments.unregister_metric_group(group)
        os.environ.clear()
        os.environ.update(variables)


def _reset() -> None:
    setup.reset_telemetry()
    tracing.set_tracer(None)
    registry.set_enabled_span_groups(frozenset())
    span_groups.register_span_groups()
    reset_warnings()
    tee.reset_metric_group()
    with contextlib.suppress(ValueError):
        instruments.unregister_metric_group(tee.RL_METRIC_GROUP)
    declarations.reset_declarations()
    _reset_global_providers()


def _reset_global_providers() -> None:
    """Undo the set-once of OpenTelemetry's global providers, which has no public way."""
    for module, once, provider in (
        (trace, "_TRACER_PROVIDER_SET_ONCE", "_TRACER_PROVIDER"),
        (metrics._internal, "_METER_PROVIDER_SET_ONCE", "_METER_PROVIDER"),
    ):
        setattr(module, once, type(getattr(module, once))())
        setattr(module, provider, None)


@dataclass
class CapturedTelemetry:
    """Spans and metrics of this process.

    Attributes:
        handle: The telemetry handle.
    """

    handle: setup.TelemetryHandle
    _spans: InMemorySpanExporter = field(default_factory=InMemorySpanExporter)
    _metrics: InMemoryMetricReader = field(default_factory=InMemoryMetricReader)
    _points: dict[str, dict[frozenset[tuple[str, Any]], Any]] = field(default_factory=dict)

    @property
    def spans(self) -> list[ReadableSpan]:
        """The spans that have ended, in that order."""
        self.handle.flush()
        return list(self._spans.get_finished_spans())

    @property
    def span_names(self) -> list[str]:
        """The names of :attr:`spans`."""
        return [span.name for span in self.spans]

    def span(self, name: str) -> ReadableSpan:
        """Return the one span of a name.

        Raises:
            AssertionError: If there is none, or more than one.
        """
        found = [span for span in self.spans if span.name == name]
        if len(found) != 1:
            raise AssertionError(f"{len(found)} spans {name!r} among {self.span_names}")
        return found[0]

    @property
    def metrics(self) -> dict[str, list[Any]]:
        """The newest data point of each attribute set recorded so far, by metric name."""
        data = self._metrics.get_metrics_data()
        for resource in data.resource_metrics if data else ():
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    kept = self._points.setdefault(metric.name, {})
                    # Kept between readings: older SDKs hand out a gauge once.
                    kept.update({_identity(point): point for point in metric.data.data_points})
        return {name: list(points.values()) for name, points in self._points.items()}

    def value(self, name: str, **attributes: Any) -> float | None:
        """Return the value of a gauge or counter.

        Args:
            name: Name of the metric.
            **attributes: What its point must carry; spell dotted keys as ``**{"rl.bucket": ..}``.

        Returns:
            The value, or ``None`` when there is no such point.

        Raises:
            AssertionError: If several points match.
        """
        wanted = attributes.items()
        found = [
            p for p in self.metrics.get(name, []) if wanted <= dict(p.attributes or {}).items()
        ]
        if len(found) > 1:
            raise AssertionError(f"{len(found)} points of {name!r} match {attributes}: {found}")
        return found[0].value if found else None

    def clear(self) -> None:
        """Forget the spans captured so far."""
        self.handle.flush()
        self._spans.clear()


def _identity(point: Any) -> frozenset[tuple[str, Any]]:
    return frozenset((point.attributes or {}).items())


@contextlib.contextmanager
def capture_telemetry(span_groups: str = "all", **config: Any) -> Iterator[CapturedTelemetry]:
    """Set telemetry up with exporters in memory.

    Args:
        span_groups: The groups to enable.
        **config: Further fields of :class:`~rl_telemetry.config.TelemetryConfig`.

    Yields:
        What was captured, also readable after the block.
    """
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    handle = setup.setup_telemetry(
        TelemetryConfig(enabled=True, span_groups=span_groups, **config),
        resource_attributes={"nv.dl.rank": 0},
        span_exporter=exporter,
        metric_reader=reader,
        _allow_reinit=True,
    )
    try:
        yield CapturedTelemetry(handle, exporter, reader)
    finally:
        setup.shutdown_telemetry(timeout_ms=1000)


@dataclass(frozen=True)
class FileSpan:
    """A span read from an OTLP JSON line.

    Attributes:
        name: Name of the span.
        trace_id: Hexadecimal.
        span_id: Hexadecimal.
        parent_id: Hexadecimal; empty for a root.
        attributes: Its attributes.
        resource: The attributes of its resource.
    """

    name: str
    trace_id: str
    span_id: str
    parent_id: str
    attributes: Mapping[str, Any]
    resource: Mapping[str, Any]


class TelemetryFiles:
    """A folder that processes export to.

    Args:
        folder: The folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            environment.ENV_BY_FIELD["enabled"]: "1",
            environment.ENV_BY_FIELD["exporter"]: "file",
            environment.ENV_BY_FIELD["span_groups"]: "all",
            "RL_TELEMETRY_FILE": f"{folder}/",
            "OTEL_BSP_SCHEDULE_DELAY": "100",
            "OTEL_METRIC_EXPORT_INTERVAL": "200",
        }
        """For ``subprocess`` or ``ray.init(runtime_env={"env_vars": ...})``."""

    def activate(self) -> TelemetryFiles:
        """Put :attr:`environment` into this process's environment, for those it starts."""
        os.environ.update(self.environment)
        return self

    def spans(self) -> list[FileSpan]:
        """Return the spans written so far, by every process."""
        return [
            _file_span(span, _attributes(entry["resource"]))
            for line in self._lines()
            for entry in line.get("resourceSpans", ())
            for scope in entry["scopeSpans"]
            for span in scope["spans"]
        ]

    def span(self, name: str, timeout_s: float = 10.0) -> FileSpan:
        """Wait for the span of a name.

        Args:
            name: Name of the span.
            timeout_s: Seconds to wait for it to be exported.

        Returns:
            The first such span.

        Raises:
            AssertionError: If it does not come.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            spans = self.spans()
            found = [span for span in spans if span.name == name]
            if found:
                return found[0]
            if time.monotonic() > deadline:
                raise AssertionError(f"no span {name!r} among {[span.name for span in spans]}")
            time.sleep(0.02)

    def metrics(self) -> dict[str, list[dict[str, Any]]]:
        """Return the data points written so far, by name.

        Returns:
            Points as OTLP JSON, but with plain ``attributes`` and those of their ``resource``.
        """
        found: dict[str, list[dict[str, Any]]] = {}
        for line in self._lines():
            for entry in line.get("resourceMetrics", ()):
                resource = _attributes(entry["resource"])
                for scope in entry["scopeMetrics"]:
                    for metric in scope["metrics"]:
                        found.setdefault(metric["name"], []).extend(_points(metric, resource))
        return found

    def _lines(self) -> Iterator[dict[str, Any]]:
        for path in sorted(self.folder.glob("*.jsonl*")):
            for line in path.read_text().splitlines():
                yield json.loads(line)


def _file_span(span: dict[str, Any], resource: Mapping[str, Any]) -> FileSpan:
    return FileSpan(
        name=span["name"],
        trace_id=span["traceId"],
        span_id=span["spanId"],
        parent_id=span.get("parentSpanId", ""),
        attributes=_attributes(span),
        resource=resource,
    )


def _points(metric: dict[str, Any], resource: Mapping[str, Any]) -> list[dict[str, Any]]:
    data = metric.get("gauge") or metric.get("sum") or metric.get("histogram") or {}
    return [
        {**point, "attributes": _attributes(point), "resource": resource}
        for point in data.get("dataPoints", ())
    ]


def _attributes(owner: Mapping[str, Any]) -> dict[str, Any]:
    return {pair["key"]: _value(pair.get("value", {})) for pair in owner.get("attributes", ())}


def _value(value: Mapping[str, Any]) -> Any:
    if "intValue" in value:
        return int(value["intValue"])  # 64-bit numbers are strings in OTLP JSON
    if "arrayValue" in value:
        return [_value(item) for item in value["arrayValue"].get("values", ())]
    return next(iter(value.values()), None)
