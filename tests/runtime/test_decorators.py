"""Every kind of callable, plain, traced, off, and closed early."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncGenerator, Generator
from typing import Any

import pytest
from opentelemetry import trace

from rl_telemetry.instrumentation import (
    bind_trace_context,
    managed_span,
    span_cm,
    trace_fn,
    umbrella_span,
    umbrella_trace_fn,
)
from rl_telemetry.registry import set_enabled_span_groups
from rl_telemetry.span_groups import RLSpanGroup
from rl_telemetry.tracing import get_tracer
from tests.runtime.recording import Recording

GENERATION = RLSpanGroup.GENERATION
traced = trace_fn(GENERATION, "x")


def inner_span() -> None:
    with managed_span(RLSpanGroup.REWARD, "inner"):
        pass


@traced
def function(value: int, *, times: int = 1) -> int:
    inner_span()
    return value * times


@traced
async def coroutine(value: int, *, times: int = 1) -> int:
    await asyncio.sleep(0)
    inner_span()
    return value * times


@traced
def generator(count: int) -> Generator[int, Any, str]:
    for index in range(count):
        inner_span()
        got = yield index
        if got is not None:
            yield got
    return "done"


@traced
async def async_generator(count: int) -> AsyncGenerator[int, Any]:
    for index in range(count):
        await asyncio.sleep(0)
        inner_span()
        got = yield index
        if got is not None:
            yield got


def nothing_current() -> bool:
    return not trace.get_current_span().get_span_context().is_valid


async def collect(items: AsyncGenerator[int, Any]) -> list[int]:
    found = []
    async for item in items:
        assert nothing_current()
        found.append(item)
    return found


def test_wrappers_keep_the_kind_the_name_and_the_signature() -> None:
    assert inspect.iscoroutinefunction(coroutine)
    assert inspect.isgeneratorfunction(generator)
    assert inspect.isasyncgenfunction(async_generator)
    assert not inspect.iscoroutinefunction(function)
    assert function.__name__ == "function"
    assert list(inspect.signature(function).parameters) == ["value", "times"]


@pytest.mark.parametrize("on", [True, False])
def test_every_kind_gives_its_result_and_one_span(recording: Recording, on: bool) -> None:
    if not on:
        set_enabled_span_groups(())
    results = [
        function(2, times=3),
        asyncio.run(coroutine(2, times=3)),
        list(generator(2)),
        asyncio.run(collect(async_generator(2))),
    ]
    assert results == [6, 6, [0, 1], [0, 1]]
    assert nothing_current()
    outer = [span for span in recording.spans() if span["name"] == "x"]
    inner = [span for span in recording.spans() if span["name"] == "inner"]
    assert (len(outer), len(inner)) == ((4, 6) if on else (0, 0))
    ids = {span["span_id"] for span in outer}
    assert {span["parent_id"] for span in inner} == ids
    assert all(span["attributes"] == {"rl.bucket": "productive"} for span in outer)


def test_methods_of_every_binding_can_be_traced(recording: Recording) -> None:
    class Trainer:
        @traced
        def plain(self) -> str:
            return "plain"

        @traced
        @staticmethod
        def static() -> str:
            return "static"

        @traced
        @classmethod
        def of_class(cls) -> str:
            return cls.__name__

    trainer = Trainer()
    assert [trainer.plain(), trainer.static(), trainer.of_class()] == ["plain", "static", "Trainer"]
    assert len(recording.spans()) == 3


def test_the_span_of_a_coroutine_lasts_until_it_returns(recording: Recording) -> None:
    async def main() -> None:
        started = asyncio.Event()

        @traced
        async def waits() -> None:
            started.set()
            await asyncio.Event().wait()

        task = asyncio.create_task(waits())
        await started.wait()
        assert recording.spans() == []
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert recording.named("x")["status"] == "UNSET"


def test_the_consumer_of_a_generator_never_sees_its_span(recording: Recording) -> None:
    with umbrella_span(RLSpanGroup.U_STEP, "step") as step:
        for _ in generator(2):
            assert trace.get_current_span() is step
            with managed_span(GENERATION, "consumer"):
                pass
    step_id = recording.named("step")["span_id"]
    consumed = [span for span in recording.spans() if span["name"] == "consumer"]
    assert [span["parent_id"] for span in consumed] == [step_id] * 2
    assert recording.named("x")["parent_id"] == step_id


def test_interleaved_generators_keep_their_spans_apart(recording: Recording) -> None:
    assert list(zip(generator(2), generator(2), strict=True)) == [(0, 0), (1, 1)]
    assert nothing_current()
    parents = [s["parent_id"] for s in recording.spans() if s["name"] == "inner"]
    assert parents[0] == parents[2] != parents[1] == parents[3]


def test_what_a_generator_holds_open_is_current_at_its_later_steps(recording: Recording) -> None:
    @traced
    def holds() -> Generator[None, None, None]:
        with span_cm("held"):
            yield
            inner_span()
            yield

    @traced
    async def async_holds() -> AsyncGenerator[Any, Any]:
        with span_cm("held"):
            yield 0
            inner_span()
            yield 1

    for _ in holds():
        assert nothing_current()
    asyncio.run(collect(async_holds()))
    held = [span["span_id"] for span in recording.spans() if span["name"] == "held"]
    assert [s["parent_id"] for s in recording.spans() if s["name"] == "inner"] == held
    assert len(held) == 2


def test_a_generator_takes_sent_values_and_returns(recording: Recording) -> None:
    steps = generator(1)
    assert next(steps) == 0
    assert steps.send(7) == 7
    with pytest.raises(StopIteration) as stop:
        next(steps)
    assert stop.value.value == "done"
    assert recording.named("x")["status"] == "UNSET"


def test_an_async_generator_takes_sent_values(recording: Recording) -> None:
    async def main() -> list[int]:
        steps = async_generator(1)
        return [await steps.__anext__(), await steps.asend(7)]

    assert asyncio.run(main()) == [0, 7]


@traced
def careful() -> Generator[Any, Any, None]:
    try:
        yield "first"
    except KeyError as error:
        inner_span()
        yield f"caught {error}"


@traced
async def async_careful() -> AsyncGenerator[Any, Any]:
    try:
        yield "first"
    except KeyError as error:
        inner_span()
        yield f"caught {error}"


def test_thrown_errors_reach_the_generator(recording: Recording) -> None:
    async def main() -> list[Any]:
        steps = async_careful()
        found = [await steps.__anext__(), await steps.athrow(KeyError("k"))]
        await steps.aclose()
        return found

    steps = careful()
    assert [next(steps), steps.throw(KeyError("k"))] == ["first", "caught 'k'"]
    steps.close()
    assert asyncio.run(main()) == ["first", "caught 'k'"]
    outer = {span["span_id"] for span in recording.spans() if span["name"] == "x"}
    assert {s["parent_id"] for s in recording.spans() if s["name"] == "inner"} == outer


def test_an_error_of_a_generator_marks_its_span(recording: Recording) -> None:
    @traced
    def breaks() -> Generator[int, None, None]:
        yield 1
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        list(breaks())
    assert recording.named("x")["status"] == "ERROR"
    assert nothing_current()


def test_a_call_with_wrong_arguments_fails_as_ever(recording: Recording) -> None:
    with pytest.raises(TypeError, match="count"):
        list(generator())  # type: ignore[call-arg]
    assert recording.named("x")["status"] == "ERROR"


class Closes:
    """Generators that note that they were closed, and open a span while they are."""

    def __init__(self) -> None:
        self.closed = 0

    def _close(self) -> None:
        self.closed += 1
        inner_span()

    @traced
    def steps(self) -> Generator[int, None, None]:
        try:
            yield from range(100)
        finally:
            self._close()

    @traced
    async def async_steps(self) -> AsyncGenerator[int, None]:
        try:
            with span_cm("held across yields"):
                for index in range(100):
                    yield index
        finally:
            self._close()


def test_closing_the_outer_closes_the_inner(recording: Recording) -> None:
    async def main() -> None:
        steps = closes.async_steps()
        assert await steps.__anext__() == 0
        await steps.aclose()

    closes = Closes()
    steps = closes.steps()
    next(steps)
    steps.close()
    asyncio.run(main())
    assert closes.closed == 2
    outer = {s["span_id"] for s in recording.spans() if s["name"] == "x"}
    assert {s["parent_id"] for s in recording.spans() if s["name"] == "inner"} == outer
    assert {span["status"] for span in recording.spans()} == {"UNSET"}


def test_a_generator_can_be_closed_from_another_thread(recording: Recording) -> None:
    closes = Closes()
    steps = closes.steps()
    next(steps)
    thread = threading.Thread(target=steps.close)
    thread.start()
    thread.join()
    assert closes.closed == 1
    assert recording.named("inner")["parent_id"] == recording.named("x")["span_id"]
    assert recording.logs == []


def test_a_stream_driven_by_a_task_per_step_is_clean(recording: Recording) -> None:
    async def main() -> None:
        steps = closes.async_steps()
        for index in range(3):
            assert await asyncio.create_task(anext_of(steps)) == index
            assert nothing_current()
        await asyncio.create_task(close(steps))

    async def anext_of(steps: AsyncGenerator[int, None]) -> int:
        return await steps.__anext__()

    async def close(steps: AsyncGenerator[int, None]) -> None:
        await steps.aclose()

    closes = Closes()
    asyncio.run(main())
    assert closes.closed == 1
    held, outer = recording.named("held across yields"), recording.named("x")
    assert held["parent_id"] == outer["span_id"]
    # closed after the held span had ended, so under the stream's own
    assert recording.named("inner")["parent_id"] == outer["span_id"]
    assert [line for line in recording.logs if not line.startswith("DEBUG")] == []


def test_an_abandoned_stream_is_clean(recording: Recording) -> None:
    async def main() -> None:
        async for _ in closes.async_steps():
            break
        # the event loop closes what was abandoned, in a task of its own
        for _ in range(100):
            if closes.closed:
                break
            await asyncio.sleep(0)

    closes = Closes()
    asyncio.run(main())
    assert closes.closed == 1
    assert recording.named("x")
    assert [line for line in recording.logs if "detach" in line] == []


def test_the_same_stream_with_the_plain_api_is_not_clean(recording: Recording) -> None:
    """The twin: the fault that the test above would find."""

    async def plain() -> AsyncGenerator[int, None]:
        with get_tracer().start_as_current_span("across"):
            yield 1

    async def main() -> None:
        steps = plain()
        await asyncio.create_task(anext_of(steps))
        await asyncio.create_task(close(steps))

    async def anext_of(steps: AsyncGenerator[int, None]) -> int:
        return await steps.__anext__()

    async def close(steps: AsyncGenerator[int, None]) -> None:
        await steps.aclose()

    asyncio.run(main())
    assert [line for line in recording.logs if "detach" in line]


def test_an_umbrella_decorator_has_no_bucket(recording: Recording) -> None:
    @umbrella_trace_fn(RLSpanGroup.U_MODEL_INIT, "rl.vllm.load_model")
    def load() -> str:
        return "model"

    assert load() == "model"
    assert recording.named("rl.vllm.load_model")["attributes"] == {}


@pytest.mark.parametrize("on", [True, False])
def test_an_umbrella_decorator_with_a_leaf_group_warns_once(recording: Recording, on: bool) -> None:
    @umbrella_trace_fn(GENERATION, "misspelled")
    def generate() -> None:
        pass

    @umbrella_trace_fn(GENERATION, "misspelled")
    def stream() -> Generator[int, None, None]:
        yield 1

    if not on:
        set_enabled_span_groups(())
    generate()
    generate()
    assert list(stream()) == [1]
    assert len(recording.warnings()) == 1
    assert len(recording.spans()) == (3 if on else 0)


def test_a_bound_callable_of_every_kind_runs_under_the_span_of_its_binding(
    recording: Recording,
) -> None:
    def plain() -> None:
        inner_span()

    async def awaited() -> None:
        inner_span()

    def steps() -> Generator[None, None, None]:
        yield inner_span()

    async def async_steps() -> AsyncGenerator[Any, None]:
        yield inner_span()

    with span_cm("outer"):
        bound = [bind_trace_context(f) for f in (plain, awaited, steps, async_steps)]
    bound[0]()
    asyncio.run(bound[1]())
    list(bound[2]())
    asyncio.run(collect(bound[3]()))
    outer = recording.named("outer")["span_id"]
    inner = [span["parent_id"] for span in recording.spans() if span["name"] == "inner"]
    assert inner == [outer] * 4
