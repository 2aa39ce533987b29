"""OpenTelemetry's global providers: install ours, or say loudly that another is there."""

from __future__ import annotations

import logging
import weakref

from opentelemetry import metrics, trace

_logger = logging.getLogger(__name__)

_ours: weakref.WeakSet[object] = weakref.WeakSet()


def install_tracer_provider(provider: trace.TracerProvider) -> None:
    """Make ours the global tracer provider unless there is one.

    Args:
        provider: Ours.
    """
    current = trace.get_tracer_provider()
    if isinstance(current, trace.ProxyTracerProvider):
        trace.set_tracer_provider(provider)
    elif current not in _ours:
        _say_foreign("tracer", current, "spans")
    _ours.add(provider)


def install_meter_provider(provider: metrics.MeterProvider) -> None:
    """Make ours the global meter provider unless there is one.

    Args:
        provider: Ours.
    """
    current = metrics.get_meter_provider()
    # The stand-in's class is private to the API.
    if type(current).__name__ == "_ProxyMeterProvider":
        metrics.set_meter_provider(provider)
    elif current not in _ours:
        _say_foreign("meter", current, "metrics")
    _ours.add(provider)


def _say_foreign(kind: str, provider: object, what: str) -> None:
    _logger.warning(
        "another library installed the global OpenTelemetry %s provider first (%s.%s). "
        "rl_telemetry still exports its own %s; those of other libraries go to that provider. "
        "Initialise telemetry before that library to have them together.",
        kind,
        type(provider).__module__,
        type(provider).__qualname__,
        what,
    )
