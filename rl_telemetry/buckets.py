"""Goodput buckets: which phase of a run counts as productive, overhead, idle or wasted.

Span groups have a default bucket. Efficiency categories have one each, declared next to how they
are measured, because they are recorded as metrics too and the two must agree.
"""

from __future__ import annotations

from enum import Enum

from opentelemetry import context as otel_context

from rl_telemetry.scopes import scope_in
from rl_telemetry.span_groups import UMBRELLA_GROUP_VALUES, RLSpanGroup

RL_BUCKET_ATTR = "rl.bucket"
RL_EFFICIENCY_CATEGORY_ATTR = "rl.efficiency.category"

#: Groups whose spans hold other phases and therefore count in no bucket.
UMBRELLA_GROUPS = UMBRELLA_GROUP_VALUES


class Bucket(str, Enum):
    """What a piece of time counts as."""

    PRODUCTIVE = "productive"
    OVERHEAD = "overhead"
    IDLE = "idle"
    WASTED = "wasted"


#: Default bucket of the leaf groups. ``efficiency`` is left out: its bucket is its category's.
SPAN_GROUP_BUCKET = {
    RLSpanGroup.GENERATION: Bucket.PRODUCTIVE,
    RLSpanGroup.REWARD: Bucket.PRODUCTIVE,
    RLSpanGroup.POLICY_UPDATE: Bucket.PRODUCTIVE,
    RLSpanGroup.CHECKPOINT: Bucket.OVERHEAD,
    RLSpanGroup.LOGPROB: Bucket.OVERHEAD,
    RLSpanGroup.ADVANTAGE: Bucket.OVERHEAD,
    RLSpanGroup.DATA_PROCESSING: Bucket.OVERHEAD,
    RLSpanGroup.DATA_PLANE: Bucket.OVERHEAD,
}

#: Measured on one thread that does nothing else, so that the seconds are seconds of the run.
WALL_CLOCK_EFFICIENCY_CATEGORIES = (
    "init/total",
    "idle/buffer_starvation",
    "idle/refit_bubble",
    "idle/validation",
)
#: Added up over threads or tasks, so that the seconds can exceed the run.
THREAD_ACCUMULATED_EFFICIENCY_CATEGORIES = (
    "idle/refit_event_wait",
    "idle/generation_limit_pause",
    "idle/buffer_full_backoff",
    "wasted/failed_trajectory",
)
EFFICIENCY_CATEGORY_BUCKET = {
    "init/total": Bucket.OVERHEAD,
    "idle/buffer_starvation": Bucket.IDLE,
    "idle/refit_bubble": Bucket.IDLE,
    "idle/validation": Bucket.IDLE,
    "idle/refit_event_wait": Bucket.IDLE,
    "idle/generation_limit_pause": Bucket.IDLE,
    "idle/buffer_full_backoff": Bucket.IDLE,
    "wasted/failed_trajectory": Bucket.WASTED,
}
#: Waits of the trajectory collector, which overlap the driver's own phases.
COLLECTOR_LOOP_CATEGORIES = frozenset({"idle/refit_event_wait", "idle/generation_limit_pause"})
#: Wall-clock categories that are measured once per run and not per step.
RUN_WINDOW_WALL_CLOCK_CATEGORIES = frozenset({"init/total"})
#: Categories whose spans carry no bucket, because other bucketed spans cover the same time.
UNBUCKETED_SPAN_CATEGORIES = COLLECTOR_LOOP_CATEGORIES | RUN_WINDOW_WALL_CLOCK_CATEGORIES


def bucket_for_span_group(group: str) -> Bucket | None:
    """Return the default bucket of a group.

    Args:
        group: A span group.

    Returns:
        ``None`` for an umbrella group; ``OVERHEAD`` for a group this package does not know, so
        that unknown time is never counted as productive.
    """
    if group in UMBRELLA_GROUPS:
        return None
    return SPAN_GROUP_BUCKET.get(group, Bucket.OVERHEAD)


def bucket_for_efficiency_category(category: str) -> Bucket | None:
    """Return the bucket of an efficiency category, or ``None`` when it is not declared."""
    return EFFICIENCY_CATEGORY_BUCKET.get(category)


def goodput_span_attributes(group: str) -> dict[str, str]:
    """Return the bucket attribute that a span of ``group`` gets here.

    Args:
        group: A span group.

    Returns:
        Nothing for an umbrella group; otherwise ``rl.bucket``, where an enclosing
        :func:`~rl_telemetry.scopes.bucket_scope` replaces the default of the group.
    """
    if group in UMBRELLA_GROUPS:
        return {}
    scope = scope_in(otel_context.get_current())
    if scope is not None and scope.bucket is not None:
        return {RL_BUCKET_ATTR: scope.bucket}
    return {RL_BUCKET_ATTR: SPAN_GROUP_BUCKET.get(group, Bucket.OVERHEAD).value}


__all__ = [
    "COLLECTOR_LOOP_CATEGORIES",
    "EFFICIENCY_CATEGORY_BUCKET",
    "RL_BUCKET_ATTR",
    "RL_EFFICIENCY_CATEGORY_ATTR",
    "RUN_WINDOW_WALL_CLOCK_CATEGORIES",
    "SPAN_GROUP_BUCKET",
    "THREAD_ACCUMULATED_EFFICIENCY_CATEGORIES",
    "UMBRELLA_GROUPS",
    "UNBUCKETED_SPAN_CATEGORIES",
    "WALL_CLOCK_EFFICIENCY_CATEGORIES",
    "Bucket",
    "bucket_for_efficiency_category",
    "bucket_for_span_group",
    "goodput_span_attributes",
]
