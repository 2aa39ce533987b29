from __future__ import annotations

import asyncio
import functools
import inspect
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import ExitStack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry import baggage, trace
from opentelemetry.context import Context, get_current

from rl_telemetry.context import detach
from rl_telemetry.instrumentation import (
    RL_BUCKET_ATTR,
    RL_ITERATION_ATTR,
    TRACE_CARRIER_KWARG,
    Bucket,
    TracedThread,
    TracedThreadPoolExecutor,
    accepts_trace_context,
    attached_context,
    bind_trace_context,
    bucket_scope,
    current_trace_carrier,
    dispatch_with_trace_context,
    in_per_prompt_scope,
    iteration_scope,
    managed_span,
    per_prompt_scope,
    remote_trace_context,
    remote_trace_parent,
    span_attributes,
    span_cm,
    trace_context_kwargs,
    trace_fn,
)
from rl_telemetry.registry import set_enabled_span_groups
from rl_telemetry.scopes import scope_in
from rl_telemetry.span_groups import RLSpanGroup
from tests.runtime.recording import Recording

GENERATION = RLSpanGroup.GENERATION
seen: list[Any] = []


def note(*args: Any, **kwargs: Any) -> int:
    seen.append((args, kwargs))
    with managed_span(GENERATION, "callee"):
        return len(args)


@accepts_trace_context
def function(*args: int, **kwargs: int) -> int:
    return note(*args, **kwargs)


@accepts_trace_context
async def coroutine(*args: int, **kwargs: int) -> int:
    await asyncio.sleep(0)
    return note(*args, **kwargs)


@accepts_trace_context
def generator(*args: int, **kwargs: int) -> Generator[int, None, None]:
    for _ in range(2):
        yield note(*args, **kwargs)


@accepts_trace_context
async def async_generator(*args: int, **kwargs: int) -> AsyncGenerator[int, None]:
    for _ in range(2):
        await asyncio.sleep(0)
        yield note(*args, **kwargs)


async def collect(items: AsyncGenerator[int, None]) -> list[int]:
    return [item async for item in items]


RUN: dict[Callable[..., Any], Callable[[Any], Any]] = {
    function: lambda result: [result],
    coroutine: lambda result: [asyncio.run(result)],
    generator: list,
    async_generator: lambda result: asyncio.run(collect(result)),
}
every_kind = pytest.mark.parametrize("method", RUN, ids=lambda method: method.__name__)


@every_kind
def test_every_kind_runs_under_the_caller_and_sees_no_carrier(
    recording: Recording, method: Callable[..., Any]
) -> None:
    seen.clear()
    with span_cm("caller"):
        kwargs = trace_context_kwargs()
    assert list(kwargs) == [TRACE_CARRIER_KWARG]
    assert set(RUN[method](method(1, 2, a=3, **kwargs))) == {2}
    assert set(map(str, seen)) == {"((1, 2), {'a': 3})"}
    caller = recording.named("caller")
    callees = [span for span in recording.spans() if span["name"] == "callee"]
    assert {(s["trace_id"], s["parent_id"]) for s in callees} == {
        (caller["trace_id"], caller["span_id"])
    }
    assert get_current() == {}


@every_kind
@pytest.mark.parametrize("carrier", [None, {}])
def test_without_a_carrier_every_kind_is_itself(
    recording: Recording, method: Callable[..., Any], carrier: Any
) -> None:
    seen.clear()
    assert set(RUN[method](method(1, **{TRACE_CARRIER_KWARG: carrier}))) == {1}
    assert set(map(str, seen)) == {"((1,), {})"}
    assert recording.spans()[0]["parent_id"] is None


class Stream:
    """An accepting stream that holds a span across its yields and notes that it was closed."""

    def __init__(self) -> None:
        self.closed = False

    @accepts_trace_context
    async def items(self) -> AsyncGenerator[int, None]:
        try:
            with managed_span(GENERATION, "held"):
                for index in range(100):
                    yield index
        finally:
            self.closed = True


@pytest.mark.parametrize("how", ["abandoned", "closed", "closed in another task", "cancelled"])
def test_a_stream_that_ends_early_is_closed_without_an_error(
    recording: Recording, how: str
) -> None:
    async def consume(items: AsyncGenerator[int, None]) -> None:
        async for item in items:
            assert get_current() == {}
            if item == 2:
                break

    async def close(items: AsyncGenerator[int, None]) -> None:
        await items.aclose()

    async def main() -> None:
        items = stream.items(**kwargs)
        await asyncio.create_task(consume(items))
        if how == "closed":
            await items.aclose()
        elif how == "closed in another task":
            await asyncio.create_task(close(items))
        elif how == "cancelled":
            with pytest.raises(asyncio.CancelledError):
                await items.athrow(asyncio.CancelledError())
        del items
        for _ in range(100):  # what was abandoned is closed by the loop
            if stream.closed:
                break
            await asyncio.sleep(0)

    stream = Stream()
    with span_cm("caller"):
        kwargs: Any = trace_context_kwargs()
    asyncio.run(main())
    assert stream.closed
    held = recording.named("held")
    assert held["parent_id"] == recording.named("caller")["span_id"]
    assert held["status"] == "UNSET"
    assert [line for line in recording.logs if not line.startswith("DEBUG")] == []


def test_no_span_means_no_keyword(recording: Recording) -> None:
    assert current_trace_carrier() == {}
    assert trace_context_kwargs() == {}
    set_enabled_span_groups(())
    with managed_span(GENERATION, "off"), iteration_scope(1):
        assert trace_context_kwargs() == {}


def test_a_sampled_out_trace_is_carried_on(recording: Recording) -> None:
    carrier = {"traceparent": "00-" + "1" * 32 + "-" + "2" * 16 + "-00"}
    with remote_trace_context(carrier):
        assert current_trace_carrier()["traceparent"] == carrier["traceparent"]


@pytest.mark.parametrize("carrier", [None, {}])
def test_no_carrier_is_no_context(carrier: Any) -> None:
    assert remote_trace_parent(carrier) is None
    with remote_trace_context(carrier), attached_context(None):
        assert get_current() == {}


@pytest.mark.parametrize(
    "carrier",
    [
        {"traceparent": "nonsense"},
        {"baggage": "rl_telemetry.scope=nonsense"},
        {"baggage": "rl_telemetry.scope=%5B1%5D"},
        {"traceparent": 7},
        [1],
        "text",
    ],
)
def test_a_carrier_that_cannot_be_read_never_fails_the_call(
    recording: Recording, carrier: Any
) -> None:
    assert function(1, **{TRACE_CARRIER_KWARG: carrier}) == 1
    assert recording.spans()[0]["parent_id"] is None


def test_a_carrier_without_a_valid_span_leaves_the_local_one_in_place(
    recording: Recording,
) -> None:
    zeros = {"traceparent": "00-" + "0" * 32 + "-" + "0" * 16 + "-01"}
    with span_cm("local"):
        assert function(1, **{TRACE_CARRIER_KWARG: zeros}) == 1
    assert recording.named("callee")["parent_id"] == recording.named("local")["span_id"]


def test_scopes_and_baggage_travel_with_the_carrier(recording: Recording) -> None:
    with (
        attached_context(baggage.set_baggage("mine", "1,2", get_current())),
        span_cm("caller"),
        iteration_scope(3),
        bucket_scope(Bucket.WASTED),
        per_prompt_scope(),
    ):
        carrier = current_trace_carrier()
        assert current_trace_carrier() == carrier
    assert all(isinstance(value, str) for value in carrier.values())
    with remote_trace_context(carrier):
        assert in_per_prompt_scope()
        # ours is a scope again, and does not go on as baggage
        assert baggage.get_all() == {"mine": "1,2"}
        with managed_span(GENERATION, "callee"):
            pass
    assert recording.named("callee")["attributes"] == {
        RL_ITERATION_ATTR: 3,
        RL_BUCKET_ATTR: "wasted",
    }
    assert not in_per_prompt_scope()


scalars = st.one_of(
    st.booleans(), st.integers(-(2**60), 2**60), st.floats(allow_nan=False), st.text(max_size=20)
)


@given(
    st.dictionaries(st.text(min_size=1, max_size=20), scalars, max_size=5),
    st.sampled_from([None, *Bucket]),
    st.booleans(),
)
def test_any_scope_arrives_as_it_was_sent(
    attributes: dict[str, Any], bucket: Bucket | None, per_prompt: bool
) -> None:
    parent = trace.NonRecordingSpan(trace.SpanContext(1, 2, False))
    with ExitStack() as stack:
        stack.enter_context(attached_context(trace.set_span_in_context(parent, Context())))
        stack.enter_context(span_attributes(attributes))
        if bucket:
            stack.enter_context(bucket_scope(bucket))
        if per_prompt:
            stack.enter_context(per_prompt_scope())
        sent = scope_in(get_current())
        carrier = current_trace_carrier()
    context = remote_trace_parent(carrier)
    assert sent is not None
    assert context is not None
    arrived = scope_in(context)
    assert arrived is not None
    assert arrived.attributes == sent.attributes
    assert arrived.bucket == (bucket.value if bucket else None)
    assert arrived.per_prompt == per_prompt


def test_a_scope_too_long_to_travel_is_left_behind(recording: Recording) -> None:
    with span_cm("caller"), span_attributes({"long": "x" * 5000}), per_prompt_scope():
        carrier = current_trace_carrier()
    assert len(carrier["baggage"]) < 4096
    assert any("too long" in warning for warning in recording.warnings())
    with remote_trace_context(carrier):
        assert in_per_prompt_scope()
        with span_cm("callee"):
            pass
    assert "long" not in recording.named("callee")["attributes"]


class Target:
    def plain(self, a: int, *, b: int = 1) -> None: ...

    def open_ended(self, a: int, **rest: int) -> None: ...

    def has_it(self, _otel_carrier: Any = None) -> None: ...


@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        (Target.plain, ["self", "a", "b", TRACE_CARRIER_KWARG]),
        (Target.open_ended, ["self", "a", "rest"]),
        (Target.has_it, ["self", TRACE_CARRIER_KWARG]),
        (trace_fn(GENERATION, "x")(Target.plain), ["self", "a", "b", TRACE_CARRIER_KWARG]),
    ],
)
@pytest.mark.parametrize("times", [1, 2])
def test_the_carrier_is_in_the_signature_once(
    method: Callable[..., Any], parameters: list[str], times: int
) -> None:
    for _ in range(times):
        method = accepts_trace_context(method)
    assert list(inspect.signature(method).parameters) == parameters
    assert list(inspect.signature(inspect.unwrap(method)).parameters) == parameters


@every_kind
def test_the_kind_is_kept(method: Callable[..., Any]) -> None:
    kinds = (
        inspect.iscoroutinefunction,
        inspect.isgeneratorfunction,
        inspect.isasyncgenfunction,
    )
    expected = {function: None, coroutine: 0, generator: 1, async_generator: 2}[method]
    assert [kind(method) for kind in kinds] == [index == expected for index in range(3)]


def test_a_callable_without_a_signature_is_taken_as_it_is() -> None:
    largest = accepts_trace_context(max)
    assert largest(1, 2, _otel_carrier={}) == 2  # type: ignore[call-overload]


def test_a_decorator_of_somebody_else_in_between_is_kept(recording: Recording) -> None:
    def doubled(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return 2 * method(*args, **kwargs)

        return wrapper

    method = trace_fn(GENERATION, "x")(doubled(accepts_trace_context(note)))
    assert method(1, 2, 3) == 6


def test_decorated_twice_and_of_every_binding(recording: Recording) -> None:
    class Worker:
        @accepts_trace_context
        @accepts_trace_context
        def twice(self) -> int:
            return note()

        @accepts_trace_context
        @staticmethod
        def static() -> int:
            return note()

        @accepts_trace_context
        @classmethod
        def of_class(cls) -> int:
            return note()

    with span_cm("caller"):
        kwargs: Any = trace_context_kwargs()
    for method in (Worker().twice, Worker.static, Worker.of_class):
        assert method(**kwargs) == 0
    caller = recording.named("caller")["span_id"]
    callees = [s["parent_id"] for s in recording.spans() if s["name"] == "callee"]
    assert callees == [caller] * 3


class Handle:
    """A Ray-like method: records what it was called with, and refuses what it is told to."""

    def __init__(self, refusal: str | None = None) -> None:
        self._method_name = "train"
        self.refusal = refusal
        self.calls: list[tuple[Any, Any]] = []

    def remote(self, *args: Any, **kwargs: Any) -> str:
        if self.refusal and (TRACE_CARRIER_KWARG in kwargs or "unrelated" in self.refusal):
            raise TypeError(self.refusal)
        self.calls.append((args, kwargs))
        return "ref"


def test_dispatch_adds_the_carrier_only_under_a_span(recording: Recording) -> None:
    handle = Handle()
    assert dispatch_with_trace_context(handle, 1, a=2) == "ref"
    with span_cm("caller"):
        assert dispatch_with_trace_context(handle, 1, a=2) == "ref"
    assert handle.calls[0] == ((1,), {"a": 2})
    assert handle.calls[1][1].keys() == {"a", TRACE_CARRIER_KWARG}


def test_a_refused_carrier_is_left_out_with_one_warning(recording: Recording) -> None:
    handle = Handle(f"got an unexpected keyword argument '{TRACE_CARRIER_KWARG}'")
    with span_cm("caller"):
        for _ in range(2):
            assert dispatch_with_trace_context(handle, 1, a=2) == "ref"
    assert handle.calls == [((1,), {"a": 2})] * 2
    (warning,) = recording.warnings()
    assert warning.startswith("WARNING train ")


def test_an_unrelated_type_error_is_raised_unchanged(recording: Recording) -> None:
    with span_cm("caller"), pytest.raises(TypeError, match=r"^unrelated$"):
        dispatch_with_trace_context(Handle("unrelated"))
    assert recording.warnings() == []


def test_a_token_of_another_runtime_context_is_left_to_opentelemetry(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens: list[Any] = []
    monkeypatch.setattr("opentelemetry.context.detach", tokens.append)
    detach("token", Context())  # type: ignore[arg-type]
    assert tokens == ["token"]


def test_a_carrier_can_be_entered_in_each_thread(recording: Recording) -> None:
    def work(carrier: dict[str, str]) -> None:
        with remote_trace_context(carrier), span_cm("attached"):
            pass
        with span_cm("not attached"):
            pass

    with span_cm("caller"):
        thread = threading.Thread(target=work, args=(current_trace_carrier(),))
        thread.start()
        thread.join()
    assert recording.named("attached")["parent_id"] == recording.named("caller")["span_id"]
    assert recording.named("not attached")["parent_id"] is None


def test_threads_and_executors_stay_in_the_trace(recording: Recording) -> None:
    def work(name: str) -> str:
        with managed_span(GENERATION, name):
            return name

    with TracedThreadPoolExecutor(1) as pool, span_cm("caller"), iteration_scope(4):
        thread = TracedThread(target=work, args=("thread",))
        thread.start()
        thread.join()
        assert pool.submit(work, "submitted").result() == "submitted"
        assert list(pool.map(work, ["mapped"])) == ["mapped"]
        bound = threading.Thread(target=bind_trace_context(work), args=("bound",))
        bound.start()
        bound.join()
        plain = threading.Thread(target=work, args=("plain",))
        plain.start()
        plain.join()
    caller = recording.named("caller")["span_id"]
    for name in ("thread", "submitted", "mapped", "bound"):
        span = recording.named(name)
        assert span["parent_id"] == caller
        assert span["attributes"][RL_ITERATION_ATTR] == 4
    assert recording.named("plain")["parent_id"] is None


def test_a_pool_thread_keeps_nothing_of_earlier_work(recording: Recording) -> None:
    with TracedThreadPoolExecutor(1) as pool:
        with span_cm("caller"):
            assert pool.submit(get_current).result()
        assert pool.submit(get_current).result() == {}
