"""The tracer that span helpers use when a call site names none."""

from __future__ import annotations

from opentelemetry import trace

INSTRUMENTATION_NAME = "rl_telemetry"

_tracer: trace.Tracer | None = None
# A provider builds a new tracer at each ``get_tracer``, which costs as much as the span itself.
_looked_up: tuple[trace.TracerProvider, trace.Tracer] | None = None


def get_tracer() -> trace.Tracer:
    """Return the tracer of span helpers.

    Returns:
        The tracer given to :func:`set_tracer`, else the one that OpenTelemetry's global provider
        gives for ``rl_telemetry`` (kept for as long as that provider stays the global one).
    """
    global _looked_up  # noqa: PLW0603
    if _tracer is not None:
        return _tracer
    provider = trace.get_tracer_provider()
    known = _looked_up
    if known is None or known[0] is not provider:
        known = _looked_up = (provider, provider.get_tracer(INSTRUMENTATION_NAME))
    return known[1]


def set_tracer(tracer: trace.Tracer | None) -> None:
    """Choose the tracer of span helpers.

    Args:
        tracer: The tracer to use from now on; ``None`` goes back to the global provider.
    """
    global _tracer  # noqa: PLW0603
    _tracer = tracer


__all__ = ["INSTRUMENTATION_NAME", "get_tracer", "set_tracer"]
