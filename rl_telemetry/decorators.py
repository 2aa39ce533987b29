"""Span helpers as decorators, for callables of every kind."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from opentelemetry.trace import Tracer

from rl_telemetry.blocks import open_run
from rl_telemetry.buckets import UMBRELLA_GROUPS
from rl_telemetry.callables import Run, is_generator_function, wrap_generator_function
from rl_telemetry.propagation import accepting_method, accepts_trace_context
from rl_telemetry.registry import _gate
from rl_telemetry.spans import managed_span, umbrella_span

F = TypeVar("F", bound=Callable[..., Any])


def trace_fn(group: str, name: str, tracer: Tracer | None = None) -> Callable[[F], F]:
    """Open a span of a leaf group around every call of a function. See :func:`managed_span`.

    The group is looked up at each call. The span of a coroutine function lasts until it has
    returned; that of a generator or async generator lasts from its first step until it has ended
    or was closed, and is current only while a step runs.

    Args:
        group: The span group.
        name: The name of the span.
        tracer: The tracer; the one of the set-up by default.

    Returns:
        A decorator that keeps the kind of the function.
    """

    def decorate(function: F) -> F:
        return _traced(function, group, name, tracer, managed_span)

    return decorate


def umbrella_trace_fn(group: str, name: str, tracer: Tracer | None = None) -> Callable[[F], F]:
    """Open a span of an umbrella group around every call of a function.

    Args:
        group: An umbrella group, spelled by its ``U_`` alias. See :func:`umbrella_span`.
        name: The name of the span.
        tracer: The tracer; the one of the set-up by default.

    Returns:
        A decorator that keeps the kind of the function. See :func:`trace_fn`.
    """

    def decorate(function: F) -> F:
        return _traced(function, group, name, tracer, umbrella_span)

    return decorate


def _traced(
    function: F, group: str, name: str, tracer: Tracer | None, helper: Callable[..., Any]
) -> F:
    if isinstance(function, (staticmethod, classmethod)):
        inner = _traced(function.__func__, group, name, tracer, helper)
        return type(function)(inner)
    accepting = accepting_method(function)
    if accepting is not None:
        # In either order the span belongs inside the context that the method accepts.
        inside = _traced(accepting, group, name, tracer, helper)
        return accepts_trace_context(inside)  # type: ignore[return-value]
    # The helper itself reports a leaf group used as an umbrella, also when the group is off.
    report = helper is umbrella_span and group not in UMBRELLA_GROUPS
    wrapper: Any
    if is_generator_function(function):

        def open_generator_run(_kwargs: dict[str, Any]) -> Run | None:
            if group not in _gate.enabled and not report:
                return None
            return open_run(helper(group, name, tracer))

        return wrap_generator_function(function, open_generator_run)
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            if group not in _gate.enabled and not report:
                return await function(*args, **kwargs)
            with helper(group, name, tracer):
                return await function(*args, **kwargs)
    else:

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if group not in _gate.enabled and not report:
                return function(*args, **kwargs)
            with helper(group, name, tracer):
                return function(*args, **kwargs)

    return wrapper  # type: ignore[no-any-return]


__all__ = ["trace_fn", "umbrella_trace_fn"]
