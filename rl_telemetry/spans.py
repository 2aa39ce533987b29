"""Span helpers: context managers and functions that open a span when its group is on.

A site whose group is off costs one look-up in a frozenset: no generator, no import, and nothing
computed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

from opentelemetry.trace import Span, Tracer

from rl_telemetry.blocks import NO_SPAN, NO_STREAM, EvaluateBlock, SpanBlock, StreamBlock
from rl_telemetry.buckets import (
    EFFICIENCY_CATEGORY_BUCKET,
    RL_BUCKET_ATTR,
    RL_EFFICIENCY_CATEGORY_ATTR,
    SPAN_GROUP_BUCKET,
    UMBRELLA_GROUPS,
    UNBUCKETED_SPAN_CATEGORIES,
    Bucket,
)
from rl_telemetry.registry import _gate
from rl_telemetry.scopes import RL_ITERATION_ATTR, bucket_scope
from rl_telemetry.span_groups import RLSpanGroup
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
    return SpanBlock(name, tracer, attributes, bucket)


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
    return SpanBlock(name, tracer, attributes, bucket)


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
        return NO_STREAM
    if group not in UMBRELLA_GROUPS:
        _warn_of_leaf(group, name)
    bucket = _BUCKET_OF_GROUP.get(group, _UNKNOWN_GROUP_BUCKET)
    return StreamBlock(name, tracer, attributes, bucket)


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
    return SpanBlock("rl.startup", tracer, attributes)


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
    return SpanBlock(f"rl.setup.{phase}", tracer, attributes)


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
    return EvaluateBlock(f"rl.{algorithm}.evaluate", tracer, attributes)


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
    return SpanBlock("rl.checkpoint.finalize", tracer, attributes)


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
    return SpanBlock(name, tracer, attributes, None, record_exception)


def _efficiency_block(
    category: str, tracer: Tracer | None, attributes: dict[str, Any]
) -> SpanBlock:
    own: dict[str, Any] = {RL_EFFICIENCY_CATEGORY_ATTR: category}
    bucket = EFFICIENCY_CATEGORY_BUCKET.get(category)
    if bucket is not None and category not in UNBUCKETED_SPAN_CATEGORIES:
        own[RL_BUCKET_ATTR] = bucket.value
    return SpanBlock("rl." + category.replace("/", "."), tracer, {**own, **attributes})


def _warn_of_leaf(group: str, name: str) -> None:
    warn_once(
        ("umbrella-leaf", name),
        f"span {name!r} is opened as an umbrella, but group {group!r} is a leaf and keeps its "
        "bucket; use managed_span",
        exc_info=False,
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
