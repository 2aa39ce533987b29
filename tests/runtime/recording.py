"""Spans and log records kept in memory, in the test process and inside Ray actors."""

from __future__ import annotations

import logging
from typing import Any

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from rl_telemetry.registry import set_enabled_span_groups
from rl_telemetry.scopes import ScopeSpanProcessor
from rl_telemetry.span_groups import ALL_GROUPS
from rl_telemetry.tracing import set_tracer


class Recording(logging.Handler):
    """What a process has emitted since the recording was started."""

    def __init__(self) -> None:
        super().__init__()
        self.exporter = InMemorySpanExporter()
        self.logs: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.logs.append(f"{record.levelname} {record.getMessage()}")

    def spans(self) -> list[dict[str, Any]]:
        """Return the finished spans as plain mappings, in the order in which they ended."""
        return [
            {
                "name": span.name,
                "trace_id": span.context.trace_id,
                "span_id": span.context.span_id,
                "parent_id": span.parent.span_id if span.parent else None,
                "attributes": dict(span.attributes or {}),
                "status": span.status.status_code.name,
                "events": [event.name for event in span.events],
            }
            for span in self.exporter.get_finished_spans()
        ]

    def named(self, name: str) -> dict[str, Any]:
        """Return the one finished span of that name."""
        (span,) = (span for span in self.spans() if span["name"] == name)
        return span

    def warnings(self) -> list[str]:
        return [line for line in self.logs if line.startswith("WARNING")]


def start_recording(groups: frozenset[str] = ALL_GROUPS) -> Recording:
    """Switch on ``groups`` and keep every span and log record of this process."""
    recording = Recording()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(ScopeSpanProcessor())
    provider.add_span_processor(SimpleSpanProcessor(recording.exporter))
    set_tracer(provider.get_tracer("test"))
    set_enabled_span_groups(groups)
    logging.getLogger().addHandler(recording)
    return recording


def stop_recording(recording: Recording) -> None:
    logging.getLogger().removeHandler(recording)
    set_tracer(None)
    set_enabled_span_groups(())
