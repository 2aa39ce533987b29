"""Spans that are open, so that shutdown can end them before the exporter stops."""

from __future__ import annotations

import logging

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor

from rl_telemetry.lifecycle.delivery import SpanDelivery

_logger = logging.getLogger(__name__)

TRUNCATED_ATTR = "nemo.span.truncated"
TRUNCATED_EVENT = "nemo.span.truncated"
MAX_TRACKED = 10_000
"""A program that never ends its spans must not grow this table without bound."""


class OpenSpanProcessor(SpanProcessor):
    """Hands ended spans to the batch processor and knows which have not ended.

    It wraps the batch processor rather than standing before it, so that the order
    "end open spans, then stop exporting" cannot be got wrong.

    Args:
        inner: The batch processor, which does nothing when a span starts.
        delivery: Counts what is handed over.
    """

    def __init__(self, inner: SpanProcessor, delivery: SpanDelivery) -> None:
        self._inner = inner
        self._delivery = delivery
        # By span id. Its single operations are atomic, so there is no lock that a signal handler
        # could meet or a fork could copy.
        self._open: dict[int, Span] = {}
        self._inherited: frozenset[int] = frozenset()

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Remember the span (the oldest are kept when there are too many)."""
        if len(self._open) < MAX_TRACKED:
            self._open[span.context.span_id] = span

    def on_end(self, span: ReadableSpan) -> None:
        """Forget the span and pass it on, unless it belongs to the parent of a fork."""
        context = span.context
        if context is None:
            return
        self._open.pop(context.span_id, None)
        if context.span_id in self._inherited:
            return
        if context.trace_flags.sampled:
            self._delivery.add_ended()
        self._inner.on_end(span)

    def close_open_spans(self) -> int:
        """End every open span, innermost first, marked as truncated and not as an error.

        Returns:
            How many there were.
        """
        spans = list(self._open.values())
        for span in reversed(spans):  # a child starts after its parent
            try:
                span.set_attribute(TRUNCATED_ATTR, True)
                span.add_event(TRUNCATED_EVENT, {"reason": "telemetry shut down"})
                span.end()
            except Exception as error:
                _logger.warning("could not end span %r at shutdown: %s", span.name, error)
        return len(spans)

    def forget_inherited(self) -> None:
        """Disown the spans copied by a fork: the parent ends and exports them."""
        self._inherited = frozenset(self._open) | self._inherited
        self._open = {}

    def shutdown(self) -> None:
        """Stop the exporting processor."""
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Flush the exporting processor (which may block past the timeout)."""
        return self._inner.force_flush(timeout_millis)
