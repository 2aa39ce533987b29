"""Wrapping callables of every kind so that their code runs in an OpenTelemetry context.

Ray, asyncio and `inspect` look at what kind of callable they hold, so the wrapper of a coroutine
function is one itself, and so on. A generator is suspended between its steps, and whoever drives
it must not see its context then: the context is attached for each step and taken off before the
item is handed out.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any, Protocol, TypeVar

from opentelemetry.context import Context, attach, get_current

from rl_telemetry.context import attached_context, detach

F = TypeVar("F", bound=Callable[..., Any])


class Run(Protocol):
    """One run of a wrapped generator."""

    @property
    def context(self) -> Context:
        """The context its code runs in."""

    def finish(self, error: BaseException | None) -> None:
        """Called once, when the generator has ended or was closed."""


#: Opens a run from the keywords of a call (which it may edit); ``None`` runs it as it is.
OpenRun = Callable[[dict[str, Any]], "Run | None"]


class ContextRun:
    """A run that only has a context."""

    __slots__ = ("context",)

    def __init__(self, context: Context) -> None:
        """Hold the context."""
        self.context = context

    def finish(self, error: BaseException | None) -> None:
        """Do nothing: a context has no end."""


def is_generator_function(function: Callable[..., Any]) -> bool:
    """Return whether calling ``function`` makes a generator or an async generator."""
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)


def wrap_generator_function(function: F, open_run: OpenRun) -> F:
    """Return ``function``, with each of its runs driven in the context that ``open_run`` gives.

    Args:
        function: A generator function or an async generator function.
        open_run: Called when the generator is first advanced.

    Returns:
        A function of the same kind. Sent values, thrown exceptions and closing reach the inner
        generator.
    """
    wrap = _wrap_async_steps if inspect.isasyncgenfunction(function) else _wrap_steps
    return wrap(function, open_run)  # type: ignore[return-value]


def _wrap_steps(function: Callable[..., Any], open_run: OpenRun) -> Callable[..., Any]:
    @functools.wraps(function)
    def steps(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        run = open_run(kwargs)
        if run is None:
            return (yield from function(*args, **kwargs))
        error: BaseException | None = None
        try:
            return (yield from _drive(function(*args, **kwargs), run.context))
        except BaseException as caught:
            error = caught
            raise
        finally:
            run.finish(error)
            del error

    return steps


def _drive(generator: Generator[Any, Any, Any], context: Context) -> Generator[Any, Any, Any]:
    step: Callable[[Any], Any] = generator.send
    argument: Any = None
    while True:
        entered, token = context, attach(context)
        try:
            item = step(argument)
        except StopIteration as stop:
            return stop.value
        finally:
            # What the generator itself has attached by now belongs to its next step.
            context = get_current()
            detach(token, entered)
        try:
            argument = yield item
            step = generator.send
        except GeneratorExit:
            with attached_context(context):
                generator.close()
            raise
        except BaseException as thrown:
            step, argument = generator.throw, thrown


def _wrap_async_steps(function: Callable[..., Any], open_run: OpenRun) -> Callable[..., Any]:
    @functools.wraps(function)
    async def steps(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        run = open_run(kwargs)
        context = None if run is None else run.context
        error: BaseException | None = None
        try:
            generator = function(*args, **kwargs)
            step, argument = generator.asend, None
            try:
                while True:
                    attached = None if context is None else (attach(context), context)
                    try:
                        item = await step(argument)
                    except StopAsyncIteration:
                        return
                    finally:
                        if attached is not None:
                            context = get_current()
                            detach(*attached)
                    try:
                        argument = yield item
                        step = generator.asend
                    except GeneratorExit:
                        raise
                    except BaseException as thrown:
                        step, argument = generator.athrow, thrown
            finally:
                with attached_context(context):
                    await generator.aclose()
        except BaseException as caught:
            error = caught
            raise
        finally:
            if run is not None:
                run.finish(error)
            del error

    return steps


__all__ = ["ContextRun", "Run", "is_generator_function", "wrap_generator_function"]
