"""Everything a call site needs, in one import.

::

    from rl_telemetry.instrumentation import iteration_scope, managed_span, umbrella_span
    from rl_telemetry.span_groups import RLSpanGroup

    for step in range(steps):
        with iteration_scope(step), umbrella_span(RLSpanGroup.U_STEP, "rl.grpo.step"):
            with managed_span(RLSpanGroup.GENERATION, "rl.grpo.generation"):
                rollouts = generate()

Importing this module loads the OpenTelemetry API and nothing else: no SDK, no exporter, no Ray.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rl_telemetry.attributes import safe_set_span_attributes
from rl_telemetry.buckets import (
    RL_BUCKET_ATTR,
    RL_EFFICIENCY_CATEGORY_ATTR,
    UMBRELLA_GROUPS,
    Bucket,
    bucket_for_efficiency_category,
    bucket_for_span_group,
    goodput_span_attributes,
)
from rl_telemetry.decorators import trace_fn, umbrella_trace_fn
from rl_telemetry.propagation import (
    TRACE_CARRIER_KWARG,
    accepts_trace_context,
    attached_context,
    current_trace_carrier,
    dispatch_with_trace_context,
    remote_trace_context,
    remote_trace_parent,
    trace_context_kwargs,
)
from rl_telemetry.registry import is_span_group_enabled
from rl_telemetry.scopes import (
    RL_ITERATION_ATTR,
    bucket_scope,
    in_per_prompt_scope,
    iteration_scope,
    per_prompt_scope,
    span_attributes,
)
from rl_telemetry.spans import (
    NO_SPAN,
    RL_ALGORITHM,
    RL_IDLE_POLLS_ATTR,
    checkpoint_finalize_span,
    efficiency_span,
    evaluate_span,
    managed_span,
    setup_span,
    span_cm,
    start_efficiency_span,
    startup_span,
    streaming_umbrella_span,
    umbrella_span,
)
from rl_telemetry.threads import TracedThread, TracedThreadPoolExecutor, bind_trace_context

if TYPE_CHECKING:
    from rl_telemetry.contrib.worker_init import traced_worker_init


def __getattr__(name: str) -> Any:
    # It initialises telemetry in a worker, which a mere call site must not have to load.
    if name == "traced_worker_init":
        from rl_telemetry.contrib.worker_init import traced_worker_init

        return traced_worker_init
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "NO_SPAN",
    "RL_ALGORITHM",
    "RL_BUCKET_ATTR",
    "RL_EFFICIENCY_CATEGORY_ATTR",
    "RL_IDLE_POLLS_ATTR",
    "RL_ITERATION_ATTR",
    "TRACE_CARRIER_KWARG",
    "UMBRELLA_GROUPS",
    "Bucket",
    "TracedThread",
    "TracedThreadPoolExecutor",
    "accepts_trace_context",
    "attached_context",
    "bind_trace_context",
    "bucket_for_efficiency_category",
    "bucket_for_span_group",
    "bucket_scope",
    "checkpoint_finalize_span",
    "current_trace_carrier",
    "dispatch_with_trace_context",
    "efficiency_span",
    "evaluate_span",
    "goodput_span_attributes",
    "in_per_prompt_scope",
    "is_span_group_enabled",
    "iteration_scope",
    "managed_span",
    "per_prompt_scope",
    "remote_trace_context",
    "remote_trace_parent",
    "safe_set_span_attributes",
    "setup_span",
    "span_attributes",
    "span_cm",
    "start_efficiency_span",
    "startup_span",
    "streaming_umbrella_span",
    "trace_context_kwargs",
    "trace_fn",
    "traced_worker_init",
    "umbrella_span",
    "umbrella_trace_fn",
]
