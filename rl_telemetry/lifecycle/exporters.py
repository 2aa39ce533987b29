"""Which exporter a configuration means, built from the standard ``OTEL_EXPORTER_OTLP_*``."""

from __future__ import annotations

import importlib
import os
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from opentelemetry.sdk.metrics.export import ConsoleMetricExporter, MetricExporter
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SpanExporter

Signal = Literal["TRACES", "METRICS", "LOGS"]

_PACKAGES: Final = {
    "grpc": "opentelemetry.exporter.otlp.proto.grpc",
    "http/protobuf": "opentelemetry.exporter.otlp.proto.http",
}
_CLASSES: Final[dict[Signal, tuple[str, str]]] = {
    "TRACES": ("trace_exporter", "OTLPSpanExporter"),
    "METRICS": ("metric_exporter", "OTLPMetricExporter"),
    "LOGS": ("_log_exporter", "OTLPLogExporter"),
}
_GRPC_PORT: Final = 4317


class MissingExtraError(ImportError):
    """An optional library is needed and not installed; the message says what to install."""


def otlp_protocol(signal: Signal) -> str:
    """Return the OTLP transport of a signal.

    Args:
        signal: ``TRACES``, ``METRICS`` or ``LOGS``.

    Returns:
        ``OTEL_EXPORTER_OTLP_<signal>_PROTOCOL``, else ``OTEL_EXPORTER_OTLP_PROTOCOL``. When
        neither is set, ``grpc`` for an endpoint on port 4317, else ``http/protobuf``, the default
        of the OpenTelemetry specification.

    Raises:
        ValueError: For a transport that is not supported.
    """
    name, protocol = _signal_env(signal, "PROTOCOL")
    if not protocol:
        return "grpc" if _port(otlp_endpoint(signal)) == _GRPC_PORT else "http/protobuf"
    if protocol not in _PACKAGES:
        known = " or ".join(_PACKAGES)
        raise ValueError(f"{name}={protocol!r} is not supported; use {known}")
    return protocol


def otlp_endpoint(signal: Signal) -> str:
    """Return the endpoint that the environment gives for a signal, or an empty string."""
    return _signal_env(signal, "ENDPOINT")[1]


def make_span_exporter(kind: str) -> SpanExporter:
    """Build the span exporter.

    Args:
        kind: ``otlp``, ``console`` or ``file``.

    Returns:
        The exporter.

    Raises:
        MissingExtraError: If its library is not installed.
        ValueError: If the protocol or a file setting is not understood.
    """
    if kind == "console":
        return ConsoleSpanExporter()
    if kind == "file":
        from rl_telemetry.lifecycle.file_exporter import FileSpanExporter

        return FileSpanExporter()
    exporter: SpanExporter = _otlp("TRACES")
    return exporter


def make_metric_exporter(kind: str) -> MetricExporter:
    """Build the metric exporter; see :func:`make_span_exporter`."""
    if kind == "console":
        return ConsoleMetricExporter()
    if kind == "file":
        from rl_telemetry.lifecycle.file_exporter import FileMetricExporter

        return FileMetricExporter()
    exporter: MetricExporter = _otlp("METRICS")
    return exporter


def make_log_exporter(kind: str) -> Any:
    """Build the log record exporter; see :func:`make_span_exporter`."""
    if kind == "console":
        module = importlib.import_module("opentelemetry.sdk._logs.export")
        name = "ConsoleLogRecordExporter"  # ConsoleLogExporter before the SDK 1.39
        return getattr(module, name if hasattr(module, name) else "ConsoleLogExporter")()
    if kind == "file":
        from rl_telemetry.lifecycle.file_exporter import FileLogExporter

        return FileLogExporter()
    return _otlp("LOGS")


def _otlp(signal: Signal) -> Any:
    protocol = otlp_protocol(signal)
    module, name = _CLASSES[signal]
    try:
        package = importlib.import_module(f"{_PACKAGES[protocol]}.{module}")
    except ImportError as error:
        raise MissingExtraError(
            f"the OTLP exporter for {protocol} is not installed ({error}); "
            "run: pip install 'rl-telemetry[otlp]'"
        ) from None
    return getattr(package, name)()


def _signal_env(signal: Signal, setting: str) -> tuple[str, str]:
    """Return name and value of a standard variable, that of the signal first."""
    generic = f"OTEL_EXPORTER_OTLP_{setting}"
    for name in (f"OTEL_EXPORTER_OTLP_{signal}_{setting}", generic):
        if value := os.environ.get(name, "").strip():
            return name, value
    return generic, ""


def _port(endpoint: str) -> int | None:
    try:
        return urlsplit(endpoint if "//" in endpoint else f"//{endpoint}").port
    except ValueError:
        return None
