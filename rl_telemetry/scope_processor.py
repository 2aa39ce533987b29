"""The span processor that stamps scope attributes. The one core module that needs the SDK."""

from __future__ import annotations

from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.sdk.trace import Span, SpanProcessor

from rl_telemetry.scopes import scope_in


class ScopeSpanProcessor(SpanProcessor):
    """Stamps the attributes of the enclosing scopes on every span at its start.

    Install it before the processor that exports. It covers spans that this package did not open
    too, such as those of an HTTP client library. A value that was set on the span itself wins.
    """

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Stamp ``span`` with the scope of its parent context, else of the current one."""
        scope = None if parent_context is None else scope_in(parent_context)
        if scope is None:
            scope = scope_in(otel_context.get_current())
        if scope is None or not scope.attributes:
            return
        own = span.attributes or {}
        for key, value in scope.attributes.items():
            if key not in own:
                span.set_attribute(key, value)


__all__ = ["ScopeSpanProcessor"]
