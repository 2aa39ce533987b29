from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import ray

from rl_telemetry.instrumentation import (
    RL_BUCKET_ATTR,
    RL_ITERATION_ATTR,
    Bucket,
    bucket_scope,
    dispatch_with_trace_context,
    iteration_scope,
    managed_span,
    trace_context_kwargs,
    umbrella_span,
)
from rl_telemetry.span_groups import RLSpanGroup
from tests.runtime.ray_actors import AsyncWorker, PlainConstructor, SyncWorker, task
from tests.runtime.recording import Recording

pytestmark = pytest.mark.usefixtures("ray_cluster")

Job = dict[str, Any]


@pytest.fixture
def sync_worker() -> Iterator[Any]:
    actor = SyncWorker.remote()
    yield actor
    ray.kill(actor)


@pytest.fixture
def async_worker() -> Iterator[Any]:
    actor = AsyncWorker.remote()
    yield actor
    ray.kill(actor)


@pytest.fixture
def worker(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


both_kinds = pytest.mark.parametrize("worker", ["sync_worker", "async_worker"], indirect=True)


def in_job(recording: Recording, body: Callable[[], Any]) -> tuple[Job, Any]:
    """Run ``body`` inside a span, and return that span and the result."""
    with umbrella_span(RLSpanGroup.U_JOB, "rl.test.job"):
        result = body()
    return recording.named("rl.test.job"), result


def spans_of(actor: Any, name: str, count: int = 1) -> list[dict[str, Any]]:
    spans, logs = ray.get(actor.report.remote())
    assert not [line for line in logs if "detach" in line]
    found = [span for span in spans if span["name"] == name]
    assert len(found) == count
    return found


def assert_child(span: dict[str, Any], parent: dict[str, Any]) -> None:
    assert (span["trace_id"], span["parent_id"]) == (parent["trace_id"], parent["span_id"])


@both_kinds
def test_a_method_opens_its_span_under_the_caller(worker: Any, recording: Recording) -> None:
    job, result = in_job(
        recording, lambda: ray.get(dispatch_with_trace_context(worker.whole, "ab", times=2))
    )
    assert result == "abab"
    assert_child(*spans_of(worker, "rl.test.whole"), job)


@both_kinds
def test_a_stream_opens_its_spans_under_the_caller(worker: Any, recording: Recording) -> None:
    def consume() -> list[int]:
        method = worker.stream.options(num_returns="streaming")
        return [ray.get(item) for item in dispatch_with_trace_context(method, 3)]

    job, result = in_job(recording, consume)
    assert result == [0, 1, 2]
    steps = spans_of(worker, "rl.test.stream", 3)
    around = [s for s in ray.get(worker.report.remote())[0] if s["name"] == "rl.test.around"]
    for step in steps:  # the async stream holds a span of its own over all its steps
        assert_child(step, around[0] if around else job)
    for span in around:
        assert_child(span, job)


@both_kinds
def test_without_a_span_nothing_is_sent_and_the_call_works(
    worker: Any, recording: Recording
) -> None:
    assert trace_context_kwargs() == {}
    assert ray.get(dispatch_with_trace_context(worker.whole, "a")) == "a"
    assert spans_of(worker, "rl.test.whole")[0]["parent_id"] is None


def test_a_method_called_by_name_takes_the_carrier(sync_worker: Any, recording: Recording) -> None:
    def call() -> str:
        method = getattr(sync_worker, "whole")  # noqa: B009 - what a worker group does
        return ray.get(method.remote(text="a", **trace_context_kwargs()))

    job, result = in_job(recording, call)
    assert result == "a"
    assert_child(*spans_of(sync_worker, "rl.test.whole"), job)


def test_a_handle_looked_up_by_name_takes_the_carrier(recording: Recording) -> None:
    actor = SyncWorker.options(name="looked-up").remote()
    handle = ray.get_actor("looked-up")
    job, _ = in_job(recording, lambda: ray.get(dispatch_with_trace_context(handle.whole, "a")))
    assert_child(*spans_of(actor, "rl.test.whole"), job)
    ray.kill(actor)


@pytest.mark.parametrize("method", ["two_options_above", "two_options_below"])
def test_options_of_ray_method_survive(sync_worker: Any, recording: Recording, method: str) -> None:
    job, result = in_job(
        recording, lambda: ray.get(dispatch_with_trace_context(getattr(sync_worker, method)))
    )
    assert result == [1, 2]
    assert_child(*spans_of(sync_worker, f"rl.test.{method}"), job)


@pytest.mark.parametrize("method", ["traced_below", "traced_above"])
def test_a_span_decorator_can_stand_on_either_side(
    sync_worker: Any, recording: Recording, method: str
) -> None:
    job, result = in_job(
        recording,
        lambda: ray.get(dispatch_with_trace_context(getattr(sync_worker, method), "a")),
    )
    assert result == "a"
    assert_child(*spans_of(sync_worker, f"rl.test.{method}"), job)


@both_kinds
def test_concurrent_calls_keep_their_own_parents(worker: Any, recording: Recording) -> None:
    pending = []
    for index in range(8):
        with managed_span(RLSpanGroup.GENERATION, f"caller {index}"), iteration_scope(index):
            pending.append(dispatch_with_trace_context(worker.whole, "a"))
    ray.get(pending)
    found = {
        (span["attributes"][RL_ITERATION_ATTR], span["parent_id"])
        for span in spans_of(worker, "rl.test.whole", 8)
    }
    assert found == {(i, recording.named(f"caller {i}")["span_id"]) for i in range(8)}


def test_an_undecorated_target_is_called_with_one_warning(
    sync_worker: Any, recording: Recording
) -> None:
    def call_twice() -> list[str]:
        methods = (sync_worker.undecorated, sync_worker.undecorated.options(num_returns=1))
        return [ray.get(dispatch_with_trace_context(method, "a")) for method in methods]

    _, result = in_job(recording, call_twice)
    assert result == ["a", "a"]
    (warning,) = recording.warnings()
    assert "undecorated" in warning
    assert "accepts_trace_context" in warning
    for span in spans_of(sync_worker, "rl.test.undecorated", 2):
        assert span["parent_id"] is None  # the orphan that the warning is about


def test_a_type_error_of_the_call_is_raised_unchanged(
    sync_worker: Any, recording: Recording
) -> None:
    with (
        umbrella_span(RLSpanGroup.U_JOB, "rl.test.job"),
        pytest.raises(TypeError, match="missing a required argument"),
    ):
        dispatch_with_trace_context(sync_worker.whole)
    with (
        umbrella_span(RLSpanGroup.U_JOB, "rl.test.job"),
        pytest.raises(TypeError, match="unknown"),
    ):
        dispatch_with_trace_context(sync_worker.whole, "a", unknown=1)
    assert recording.warnings() == []


def test_a_type_error_of_the_target_is_its_own(sync_worker: Any, recording: Recording) -> None:
    def call() -> None:
        with pytest.raises(TypeError, match="not the problem here"):
            ray.get(dispatch_with_trace_context(sync_worker.broken))

    in_job(recording, call)
    assert recording.warnings() == []
    assert spans_of(sync_worker, "rl.test.broken")[0]["status"] == "ERROR"


@pytest.mark.parametrize("actor_class", [SyncWorker, AsyncWorker], ids=["sync", "async"])
def test_a_constructor_opens_its_span_under_the_caller(
    actor_class: Any, recording: Recording
) -> None:
    job, actor = in_job(recording, lambda: actor_class.remote("policy", **trace_context_kwargs()))
    assert_child(*spans_of(actor, "rl.policy.load_model"), job)
    ray.kill(actor)


def test_a_constructor_can_be_dispatched(recording: Recording) -> None:
    job, actor = in_job(
        recording,
        lambda: dispatch_with_trace_context(SyncWorker.options(num_cpus=0), label="value"),
    )
    assert_child(*spans_of(actor, "rl.value.load_model"), job)
    ray.kill(actor)


def test_a_constructor_that_takes_no_carrier_is_called_without(recording: Recording) -> None:
    _, actor = in_job(recording, lambda: dispatch_with_trace_context(PlainConstructor, "a"))
    assert ray.get(actor.name.remote()) == "a"
    (warning,) = recording.warnings()
    assert "PlainConstructor" in warning
    ray.kill(actor)


def test_a_remote_function_takes_the_carrier(recording: Recording) -> None:
    job, (text, spans) = in_job(recording, lambda: ray.get(dispatch_with_trace_context(task, "a")))
    assert text == "a"
    assert_child(spans[0], job)


def test_a_thread_in_an_actor_stays_in_the_trace(sync_worker: Any, recording: Recording) -> None:
    job, _ = in_job(
        recording,
        lambda: ray.get(dispatch_with_trace_context(sync_worker.in_thread, traced=True)),
    )
    assert_child(*spans_of(sync_worker, "rl.test.in_thread"), job)


def test_a_plain_thread_in_an_actor_starts_a_trace_of_its_own(
    sync_worker: Any, recording: Recording
) -> None:
    in_job(
        recording,
        lambda: ray.get(dispatch_with_trace_context(sync_worker.in_thread, traced=False)),
    )
    assert spans_of(sync_worker, "rl.test.in_thread")[0]["parent_id"] is None


def test_an_actor_that_calls_another_keeps_the_trace(
    sync_worker: Any, async_worker: Any, recording: Recording
) -> None:
    job, result = in_job(
        recording,
        lambda: ray.get(dispatch_with_trace_context(sync_worker.onwards, async_worker)),
    )
    assert result == "x"
    (hop,) = spans_of(sync_worker, "rl.test.onwards")
    assert_child(hop, job)
    assert_child(*spans_of(async_worker, "rl.test.whole"), hop)


def test_span_decorators_work_on_methods_of_an_actor(
    sync_worker: Any, recording: Recording
) -> None:
    """Ray ships a class by value: its wrappers must ask the gate of the actor's own process."""

    def call() -> str:
        stream = sync_worker.decorated_stream.options(num_returns="streaming")
        assert [ray.get(item) for item in dispatch_with_trace_context(stream)] == [0]
        return ray.get(dispatch_with_trace_context(sync_worker.decorated, "a"))

    job, result = in_job(recording, call)
    assert result == "a"
    assert_child(*spans_of(sync_worker, "rl.test.decorated"), job)
    assert_child(*spans_of(sync_worker, "rl.test.decorated_stream"), job)


@both_kinds
def test_scopes_travel_with_the_call(worker: Any, recording: Recording) -> None:
    with iteration_scope(7), bucket_scope(Bucket.OVERHEAD):
        in_job(recording, lambda: ray.get(dispatch_with_trace_context(worker.whole, "a")))
    (span,) = spans_of(worker, "rl.test.whole")
    assert span["attributes"] == {RL_ITERATION_ATTR: 7, RL_BUCKET_ATTR: "overhead"}
    # and are gone with it
    in_job_spans = ray.get(worker.whole.remote("a")), spans_of(worker, "rl.test.whole", 2)
    assert in_job_spans[1][1]["attributes"] == {RL_BUCKET_ATTR: "productive"}


def test_a_cancelled_stream_leaves_nothing_behind(async_worker: Any, recording: Recording) -> None:
    def abandon() -> None:
        method = async_worker.endless.options(num_returns="streaming")
        stream = dispatch_with_trace_context(method)
        assert ray.get(next(stream)) == 0
        ray.cancel(stream)

    job, _ = in_job(recording, abandon)
    deadline = time.monotonic() + 20
    found: list[dict[str, Any]] = []
    while not found and time.monotonic() < deadline:
        spans, logs = ray.get(async_worker.report.remote())
        found = [span for span in spans if span["name"] == "rl.test.endless"]
    assert_child(found[0], job)
    assert found[0]["status"] == "UNSET"
    assert not [line for line in logs if "detach" in line]
    # the actor's next call is not under the stream's span
    assert ray.get(async_worker.whole.remote("a")) == "a"
    assert spans_of(async_worker, "rl.test.whole")[0]["parent_id"] is None


def test_a_plain_span_over_a_cancelled_stream_does_leave_an_error(async_worker: Any) -> None:
    """The twin: the error in the actor's log that the test above looks for."""
    stream = async_worker.plain_endless.options(num_returns="streaming").remote()
    ray.get(next(stream))
    ray.cancel(stream)
    deadline = time.monotonic() + 20
    found: list[str] = []
    while not found and time.monotonic() < deadline:
        _, logs = ray.get(async_worker.report.remote())
        found = [line for line in logs if "detach" in line]
    assert found


def test_a_killed_actor_fails_like_one_without_telemetry(recording: Recording) -> None:
    actor = AsyncWorker.remote()

    def drain(stream: Any) -> None:
        with managed_span(RLSpanGroup.GENERATION, "rl.test.consume"):
            for item in stream:
                ray.get(item)

    def consume() -> str:
        method = actor.endless.options(num_returns="streaming")
        stream = dispatch_with_trace_context(method)
        ray.get(next(stream))
        ray.kill(actor)
        with pytest.raises(ray.exceptions.RayActorError):
            drain(stream)
        return "goes on"

    job, result = in_job(recording, consume)
    assert result == "goes on"
    consumed = recording.named("rl.test.consume")
    assert_child(consumed, job)
    assert consumed["status"] == "ERROR"
    assert recording.warnings() == []
