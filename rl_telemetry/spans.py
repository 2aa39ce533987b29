"""Span helpers: context managers and functions that open a span when its group is on.

A site whose group is off costs one look-up in a frozenset: no generator, no import, and nothing
computed. A span that cannot be opened or closed is reported once and never fails the block.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import Token
from types import TracebackType
from typing import Any, TypeAlias

from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.trace import Span, Status, StatusCode, Tracer, set_span_in_context

from rl_telemetry.attributes import REDACT_KEYS, SCALARS, clean_attributes
from rl_telemetry.buckets import (
    EFFICIENCY_CATEGORY_BUCKET,
    RL_BUCKET_ATTR,
    RL_EFFICIENCY_CATEGORY_ATTR,
    SPAN_GROUP_BUCKET,
    UMBRELLA_GROUPS,
    UNBUCKETED_SPAN_CATEGORIES,
    Bucket,
)
from rl_telemetry.context import detach
from rl_telemetry.registry import _gate
from rl_telemetry.scopes import RL_ITERATION_ATTR, bucket_scope, scope_in, with_bucket
from rl_telemetry.span_groups import RLSpanGroup
from rl_telemetry.tracing import get_tracer
from rl_telemetry.warnings_once import warn_once

# A dotted attribute key is passed as ``**{"rl.iteration": 3}``, and type checkers hold such a
# mapping against every keyword of the helper. A narrower type would refuse each of those calls.
OptionalTracer: TypeAlias = Any

RL_ALGORITHM = "rl.algorithm"
RL_IDLE_POLLS_ATTR = "rl.idle.polls"

_UNKNOWN_GROUP_BUCKET = Bucket.OVERHEAD.value
# The bucket of each group as the string that goes on the span; ``None`` stamps none.
_BUCKET_OF_GROUP: dict[str, str | None] = {
    **{group: bucket.value for group, bucket in SPAN_GROUP_BUCKET.items()},
    **dict.fromkeys(UMBRELLA_GROUPS),
}


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


class _SpanBlock:
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


class _EvaluateBlock(_SpanBlock):
    """A span around an evaluation: the phases inside count as overhead."""

    __slots__ = ()

    def start(self) -> Span | None:
        span = super().start()
        self.context = with_bucket(self.context, Bucket.OVERHEAD.value)
        return span


class _Activation:
    """Makes the span of a stream current while one step runs."""

    __slots__ = ("_attached", "_stream")

    def __init__(self, stream: _StreamBlock) -> None:
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


class _StreamBlock(_SpanBlock):
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


_NO_STREAM = _NoStream()


def managed_span(
    group: str, name: str, tracer: OptionalTracer = None, **attributes: Any
) -> AbstractContextManager[Span | None]:
    """Open a span of a leaf group around a block.

    An ``Exception`` from the block is recorded, marks the span as failed and goes on; other
    ``BaseException`` (a cancellation, a closing generator, Ctrl-C) end the span unmarked.

    Args:
        group: The span group; :class:`~rl_telemetry.span_groups.RLSpanGroup` names them.
        name: The name of the span.
        tracer: The tracer; the one of the set-up by default.
        **attributes: Span attributes. ``rl.bucket`` is added according to the group and the
            enclosing :func:`bucket_scope` unless it is given here.

    Returns:
        A context manager that yields the span, or ``None`` when the group is off.
    """
    if group not in _gate.enabled:
        return NO_SPAN
    bucket = _BUCKET_OF_GROUP.get(group, _UNKNOWN_GROUP_BUCKET)
    return _SpanBlock(name, tracer, attributes, bucket)


def umbrella_span(
    group: str, name: str, tracer: OptionalTracer = None, **attributes: Any
) -> AbstractContextManager[Span | None]:
    """Open a span of an umbrella group around a block that holds other phases.

    Args:
        group: An umbrella group, spelled by its ``U_`` alias. A leaf group is reported once per
            span name and keeps its bucket.
        name: The name of the span.
        tracer: The tracer; the one of the set-up by default.
        **attributes: Span attributes. No ``rl.bucket`` is added.

    Returns:
        A context manager that yields the span, or ``None`` when the group is off.
    """
    if group not in UMBRELLA_GROUPS:
        _warn_of_leaf(group, name)
    if group not in _gate.enabled:
        return NO_SPAN
    bucket = _BUCKET_OF_GROUP.get(group, _UNKNOWN_GROUP_BUCKET)
    return _SpanBlock(name, tracer, attributes, bucket)


def streaming_umbrella_span(
    group: str, name: str, tracer: OptionalTracer = None, **attributes: Any
) -> AbstractContextManager[Callable[[], AbstractContextManager[None]]]:
    """Open a span over a stream without holding it across a ``yield``.

    The span lasts for the ``with`` block and is current only inside an activation, so that the
    consumer of the stream never sees it::

        with streaming_umbrella_span(RLSpanGroup.U_ROLLOUT, "rl.gym.run_rollouts") as activate:
            while True:
                try:
                    with activate():
                        item = await anext(results)
                except StopAsyncIteration:
                    break
                yield item

    Args:
        group: An umbrella group, spelled by its ``U_`` alias.
        name: The name of the span.
        tracer: The tracer; the one of the set-up by default.
        **attributes: Span attributes.

    Returns:
        A context manager that yields a function; each call of it returns a context manager that
        makes the span current.
    """
    if group not in _gate.enabled:
        return _NO_STREAM
    if group not in UMBRELLA_GROUPS:
        _warn_of_leaf(group, name)
    bucket = _BUCKET_OF_GROUP.get(group, _UNKNOWN_GROUP_BUCKET)
    return _StreamBlock(name, tracer, attributes, bucket)


def efficiency_span(
    category: str, tracer: OptionalTracer = None, **attributes: Any
) -> AbstractContextManager[Span | None]:
    """Open a span around a wait, named after its efficiency category.

    ``idle/refit_bubble`` gives ``rl.idle.refit_bubble``. The block must be the wait alone, on one
    thread: a bucketed span inside it would count the same time twice.

    Args:
        category: A category of :data:`~rl_telemetry.buckets.EFFICIENCY_CATEGORY_BUCKET`; one that
            is not declared there gets no bucket.
        tracer: The tracer; the one of the set-up by default.
        **attributes: Span attributes; they win over the category's own. An enclosing
            :func:`bucket_scope` does not.

    Returns:
        A context manager that yields the span, or ``None`` when the group is off.
    """
    if RLSpanGroup.EFFICIENCY not in _gate.enabled:
        return NO_SPAN
    return _efficiency_block(category, tracer, attributes)


def start_efficiency_span(
    category: str, tracer: OptionalTracer = None, **attributes: Any
) -> Span | None:
    """Start the span of a wait that is no block, such as one spread over several polls.

    The span is not made current, so it adopts no children. End it on every path on which the run
    goes on, and put the number of polls on it as ``rl.idle.polls``.

    Args:
        category: See :func:`efficiency_span`.
        tracer: The tracer; the one of the set-up by default.
        **attributes: Span attributes; they win over the category's own.

    Returns:
        The span, or ``None`` when the group is off.
    """
    if RLSpanGroup.EFFICIENCY not in _gate.enabled:
        return None
    return _efficiency_block(category, tracer, attributes).start()


def startup_span(
    tracer: OptionalTracer = None, **attributes: Any
) -> AbstractContextManager[Span | None]:
    """Open ``rl.startup`` around everything before the first step. No bucket.

    Args:
        tracer: The tracer; the one of the set-up by default.
        **attributes: Span attributes.

    Returns:
        A context manager that yields the span, or ``None`` when group ``setup`` is off.
    """
    if RLSpanGroup.U_SETUP not in _gate.enabled:
        return NO_SPAN
    return _SpanBlock("rl.startup", tracer, attributes)


def setup_span(
    phase: str, tracer: OptionalTracer = None, **attributes: Any
) -> AbstractContextManager[Span | None]:
    """Open ``rl.setup.<phase>`` around one phase of the start-up. No bucket: phases overlap.

    Args:
        phase: The last part of the name, such as ``tokenizer``.
        tracer: The tracer; the one of the set-up by default.
        **attributes: Span attributes.

    Returns:
        A context manager that yields the span, or ``None`` when group ``setup`` is off.
    """
    if RLSpanGroup.U_SETUP not in _gate.enabled:
        return NO_SPAN
    return _SpanBlock(f"rl.setup.{phase}", tracer, attributes)


def evaluate_span(
    algorithm: str, tracer: OptionalTracer = None, **attributes: Any
) -> AbstractContextManager[Span | None]:
    """Open ``rl.<algorithm>.evaluate`` around an evaluation, whose phases count as overhead.

    Args:
        algorithm: The second part of the name, such as ``grpo``.
        tracer: The tracer; the one of the set-up by default.
        **attributes: Span attributes.

    Returns:
        A context manager that yields the span, or ``None`` when group ``evaluate`` is off. The
        bucket scope is entered in both cases.
    """
    if RLSpanGroup.U_EVALUATE not in _gate.enabled:
        return bucket_scope(Bucket.OVERHEAD)
    return _EvaluateBlock(f"rl.{algorithm}.evaluate", tracer, attributes)


def checkpoint_finalize_span(
    iteration: int | None, *, tracer: OptionalTracer = None, **attributes: Any
) -> AbstractContextManager[Span | None]:
    """Open ``rl.checkpoint.finalize`` around the end of an asynchronous checkpoint.

    It overlaps the next step, so it has no bucket. It usually runs in a thread: attach the context
    of the span that staged the checkpoint there, so that it becomes its child.

    Args:
        iteration: The iteration that the checkpoint belongs to, which is not the current one.
        tracer: The tracer; the one of the set-up by default.
        **attributes: Span attributes.

    Returns:
        A context manager that yields the span, or ``None`` when group ``checkpoint`` is off.
    """
    if RLSpanGroup.CHECKPOINT not in _gate.enabled:
        return NO_SPAN
    if iteration is not None:
        attributes.setdefault(RL_ITERATION_ATTR, iteration)
    return _SpanBlock("rl.checkpoint.finalize", tracer, attributes)


def span_cm(
    name: str, tracer: OptionalTracer = None, record_exception: Any = True, **attributes: Any
) -> AbstractContextManager[Span | None]:
    """Open a span that belongs to no group, and so is made whatever groups are on.

    Args:
        name: The name of the span.
        tracer: The tracer; the one of the set-up by default.
        record_exception: Whether an ``Exception`` from the block is recorded and marks the span.
        **attributes: Span attributes.

    Returns:
        A context manager that yields the span.
    """
    return _SpanBlock(name, tracer, attributes, None, record_exception)


def open_run(block: AbstractContextManager[Span | None]) -> _SpanBlock | None:
    """Start the span of ``block`` for a generator, which drives itself in the span's context.

    Args:
        block: What a span helper returned.

    Returns:
        The started block, or ``None`` when its group is off.
    """
    if not isinstance(block, _SpanBlock):
        return None
    block.start()
    return block


def _efficiency_block(
    category: str, tracer: Tracer | None, attributes: dict[str, Any]
) -> _SpanBlock:
    own: dict[str, Any] = {RL_EFFICIENCY_CATEGORY_ATTR: category}
    bucket = EFFICIENCY_CATEGORY_BUCKET.get(category)
    if bucket is not None and category not in UNBUCKETED_SPAN_CATEGORIES:
        own[RL_BUCKET_ATTR] = bucket.value
    return _SpanBlock("rl." + category.replace("/", "."), tracer, {**own, **attributes})


def _record_error(span: Span, error: BaseException) -> None:
    if not isinstance(error, Exception):
        return
    kind = type(error).__name__
    try:
        span.record_exception(error)
        span.set_status(Status(StatusCode.ERROR, f"{kind}: {error}"))
    except Exception:
        warn_once(("span-error", kind), f"an error of type {kind} could not be put on its span")


def _warn_of_leaf(group: str, name: str) -> None:
    warn_once(
        ("umbrella-leaf", name),
        f"span {name!r} is opened as an umbrella, but group {group!r} is a leaf and keeps its "
        "bucket; use managed_span",
        stack_info=True,
    )


__all__ = [
    "NO_SPAN",
    "RL_ALGORITHM",
    "RL_IDLE_POLLS_ATTR",
    "checkpoint_finalize_span",
    "efficiency_span",
    "evaluate_span",
    "managed_span",
    "setup_span",
    "span_cm",
    "start_efficiency_span",
    "startup_span",
    "streaming_umbrella_span",
    "umbrella_span",
]
