"""``traced_worker_init``: start telemetry in an actor's constructor and trace the constructor."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from rl_telemetry.propagation import accepts_trace_context

Constructor = TypeVar("Constructor", bound=Callable[..., None])


def traced_worker_init(span_name: str, **attributes: Any) -> Callable[[Constructor], Constructor]:
    """Decorate ``__init__`` of a worker.

    It initialises telemetry first. When telemetry is off the constructor runs untouched.
    Otherwise it runs in an umbrella span of the group ``model_init``. The constructor takes a
    trace carrier: ``Worker.remote(..., **trace_context_kwargs())`` puts the span under the
    caller's, without it the span is a root.

    Args:
        span_name: Such as ``rl.policy.load_model``.
        **attributes: Span attributes, such as ``**{"rl.backend": "megatron"}``.

    Returns:
        The decorator.
    """

    def decorate(constructor: Constructor) -> Constructor:
        @functools.wraps(constructor)
        def wrapper(*args: Any, **kwargs: Any) -> None:
            from rl_telemetry.setup import init_telemetry_worker

            if init_telemetry_worker() is None:
                constructor(*args, **kwargs)
                return
            from rl_telemetry.instrumentation import umbrella_span
            from rl_telemetry.span_groups import RLSpanGroup

            with umbrella_span(RLSpanGroup.U_MODEL_INIT, span_name, **attributes):
                constructor(*args, **kwargs)

        return accepts_trace_context(cast(Constructor, wrapper))

    return decorate
