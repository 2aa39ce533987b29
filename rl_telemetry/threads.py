"""Carrying the trace into threads, which do not inherit the context of their starter."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from opentelemetry.context import Context, get_current

from rl_telemetry.callables import ContextRun, is_generator_function, wrap_generator_function
from rl_telemetry.context import attached_context

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def bind_trace_context(function: F) -> F:
    """Return ``function`` bound to the trace context and scopes of this line.

    Hand the result to a thread, an executor or a callback: wherever it runs, its spans are
    children of the span that is current now.

    Args:
        function: A callable of any kind.

    Returns:
        A callable of the same kind. It cannot be pickled; into another process send the carrier
        of :func:`~rl_telemetry.propagation.trace_context_kwargs`.
    """
    context = get_current()
    wrapper: Any
    if is_generator_function(function):
        return wrap_generator_function(function, lambda _kwargs: ContextRun(context))
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            with attached_context(context):
                return await function(*args, **kwargs)
    else:

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with attached_context(context):
                return function(*args, **kwargs)

    return wrapper  # type: ignore[no-any-return]


class TracedThread(threading.Thread):
    """A thread that runs under the span that is current where :meth:`start` is called.

    A subclass that overrides :meth:`run` calls ``super().run()`` or attaches the context itself.
    """

    _trace_context: Context | None = None

    def start(self) -> None:
        """Start the thread with the current trace context and scopes."""
        self._trace_context = get_current()
        super().start()

    def run(self) -> None:
        """Run the target under the context of the starter."""
        with attached_context(self._trace_context):
            super().run()


class TracedThreadPoolExecutor(ThreadPoolExecutor):
    """A thread pool whose work runs under the span that is current where it is submitted."""

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Submit work together with the current trace context and scopes."""
        return super().submit(bind_trace_context(fn), *args, **kwargs)


__all__ = ["TracedThread", "TracedThreadPoolExecutor", "bind_trace_context"]
