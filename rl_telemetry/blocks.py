"""Blocks that open a span on entry and end it on exit.

They are classes and not generators: that is what makes a span cheaper than
``start_as_current_span``. A span that cannot be started or ended is reported once and never fails
the block.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import Token
from types import TracebackType
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.trace import Span, Status, StatusCode, Tracer, set_span_in_context

from rl_telemetry.attributes import REDACT_KEYS, SCALARS, clean_attributes
from rl_telemetry.buckets import RL_BUCKET_ATTR, Bucket
from rl_telemetry.context import detach
from rl_telemetry.scopes import scope_in, with_bucket
from rl_telemetry.tracing import get_tracer
from rl_telemetry.warnings_once import warn_once


class _NoSpan:
    """What a site gets whose group is off: yields ``None`` and does nothing."""

    __slots__ = ()

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        return None


#: Shared by every site that is off. It has no state, so it can be entered any number of times.
NO_SPAN = _NoSpan()


class SpanBlock:
    """Opens a span on entry, makes it current, and ends it on exit.

    Attributes are given to the span at its start: that is cheaper than setting them one by one,
    and samplers and processors see them.
    """

    __slots__ = (
        "_attributes",
        "_bucket",
        "_name",
        "_record",
        "_span",
        "_token",
        "_tracer",
        "context",
    )

    def __init__(
        self,
        name: str,
        tracer: Tracer | None,
        attributes: dict[str, Any],
        bucket: str | None = None,
        record_exception: bool = True,
    ) -> None:
        self._name = name
        self._tracer = tracer
        self._attributes = attributes
        self._bucket = bucket
        self._record = record_exception
        self._span: Span | None = None
        self._token: Token[Context] | None = None
        self.context: Context

    def __enter__(self) -> Span | None:
        span = self.start()
        self._token = otel_context.attach(self.context)
        return span

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._token is not None:
            detach(self._token, self.context)
        self.finish(exc)

    def start(self) -> Span | None:
        """Start the span; :attr:`context` is then the one in which it is current."""
        self.context = current = otel_context.get_current()
        try:
            attributes = self._attributes
            if self._bucket is not None and RL_BUCKET_ATTR not in attributes:
                scope = scope_in(current)
                attributes[RL_BUCKET_ATTR] = (
                    self._bucket if scope is None or scope.bucket is None else scope.bucket
                )
            if attributes and not (
                SCALARS.issuperset(map(type, attributes.values()))
                and REDACT_KEYS.isdisjoint(attributes)
            ):
                attributes = clean_attributes(attributes)
            span = (self._tracer or get_tracer()).start_span(
                self._name, current, attributes=attributes
            )
            self.context = set_span_in_context(span, current)
        except Exception:
            warn_once(("span-start", self._name), f"span {self._name!r} could not be started")
            return None
        self._span = span
        return span

    def finish(self, error: BaseException | None) -> None:
        """End the span, marked as failed when ``error`` is an ``Exception``."""
        span = self._span
        if span is None:
            return
        self._span = None
        if error is not None and self._record:
            _record_error(span, error)
        try:
            span.end()
        except Exception:
            warn_once(("span-end", self._name), f"span {self._name!r} could not be ended")


class EvaluateBlock(SpanBlock):
    """A span around an evaluation: the phases inside count as overhead."""

    __slots__ = ()

    def start(self) -> Span | None:
        """Start the span and enter the bucket scope, also when there is no span."""
        span = super().start()
        self.context = with_bucket(self.context, Bucket.OVERHEAD.value)
        return span


class _Activation:
    """Makes the span of a stream current while one step runs."""

    __slots__ = ("_attached", "_stream")

    def __init__(self, stream: StreamBlock) -> None:
        self._stream = stream

    def __enter__(self) -> None:
        context = self._stream.context
        self._attached = (otel_context.attach(context), context)

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # What the step itself has attached by now belongs to the next one.
        self._stream.context = otel_context.get_current()
        detach(*self._attached)
        if exc is not None:
            self._stream.step_failed(exc)


class StreamBlock(SpanBlock):
    """A span over a stream, current only inside an activation."""

    __slots__ = ("_failure",)

    def __enter__(self) -> Callable[[], AbstractContextManager[None]]:  # type: ignore[override]
        self._failure: BaseException | None = None
        self.start()
        return lambda: _Activation(self)

    def step_failed(self, error: BaseException) -> None:
        """Record the error of a step, which the caller may go on to swallow."""
        if self._span is None or isinstance(error, (StopIteration, StopAsyncIteration)):
            return
        self._failure = error
        _record_error(self._span, error)

    def finish(self, error: BaseException | None) -> None:
        """End the span; an error that a step has recorded is not recorded again."""
        failure, self._failure = self._failure, None
        super().finish(None if error is failure else error)


class _NoStream:
    """A stream whose group is off."""

    __slots__ = ()

    def __enter__(self) -> Callable[[], AbstractContextManager[None]]:
        return _no_activation

    __exit__ = _NoSpan.__exit__


def _no_activation() -> AbstractContextManager[None]:
    return NO_SPAN


NO_STREAM = _NoStream()


def open_run(block: AbstractContextManager[Span | None]) -> SpanBlock | None:
    """Start the span of ``block`` for a generator, which drives itself in the span's context.

    Args:
        block: What a span helper returned.

    Returns:
        The started block, or ``None`` when its group is off.
    """
    if not isinstance(block, SpanBlock):
        return None
    block.start()
    return block


def _record_error(span: Span, error: BaseException) -> None:
    if not isinstance(error, Exception):
        return
    kind = type(error).__name__
    try:
        span.record_exception(error)
        span.set_status(Status(StatusCode.ERROR, f"{kind}: {error}"))
    except Exception:
        warn_once(("span-error", kind), f"an error of type {kind} could not be put on its span")


__all__ = ["NO_SPAN", "NO_STREAM", "EvaluateBlock", "SpanBlock", "StreamBlock", "open_run"]
