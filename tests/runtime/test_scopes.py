from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from opentelemetry.context import Context, get_current

from rl_telemetry.instrumentation import (
    RL_ITERATION_ATTR,
    in_per_prompt_scope,
    iteration_scope,
    managed_span,
    per_prompt_scope,
    span_attributes,
    span_cm,
)
from rl_telemetry.span_groups import RLSpanGroup
from rl_telemetry.tracing import get_tracer
from tests.runtime.recording import Recording


def iterations(recording: Recording) -> list[Any]:
    return [span["attributes"].get(RL_ITERATION_ATTR) for span in recording.spans()]


def test_an_iteration_is_on_every_span_inside(recording: Recording) -> None:
    with iteration_scope(3):
        with span_cm("ours"):
            pass
        with get_tracer().start_as_current_span("not ours"):
            pass
        get_tracer().start_span("a forced root", context=Context()).end()
    with span_cm("outside"):
        pass
    assert iterations(recording) == [3, 3, 3, None]


def test_what_is_set_on_the_span_wins(recording: Recording) -> None:
    with iteration_scope(3):
        with span_cm("at start", **{RL_ITERATION_ATTR: 1}):
            pass
        with span_cm("later") as span:
            assert span is not None
            span.set_attribute(RL_ITERATION_ATTR, 2)
    assert iterations(recording) == [1, 2]


def test_an_inner_scope_overrides_and_is_restored(recording: Recording) -> None:
    with span_attributes({RL_ITERATION_ATTR: 1, "rl.epoch": 5, "rl.nothing": None}):
        with iteration_scope(2), span_cm("inner"):
            pass
        with iteration_scope(None), span_cm("none"):
            pass
        with span_cm("outer"):
            pass
    assert iterations(recording) == [2, 1, 1]
    assert [span["attributes"].get("rl.epoch") for span in recording.spans()] == [5, 5, 5]
    assert "rl.nothing" not in recording.spans()[0]["attributes"]


def test_an_error_leaves_the_scope() -> None:
    before = get_current()
    with pytest.raises(ZeroDivisionError), iteration_scope(1), per_prompt_scope():
        raise ZeroDivisionError
    assert get_current() == before
    assert not in_per_prompt_scope()


def test_one_scope_object_can_be_entered_again() -> None:
    scope = per_prompt_scope()
    for _ in range(2):
        with scope, scope:
            assert in_per_prompt_scope()
        assert not in_per_prompt_scope()


def test_tasks_inherit_scopes_and_keep_them_apart(recording: Recording) -> None:
    async def rollout(iteration: int) -> bool:
        with iteration_scope(iteration):
            await asyncio.sleep(0)
            with managed_span(RLSpanGroup.GENERATION, f"rollout {iteration}"):
                await asyncio.sleep(0)
        return in_per_prompt_scope()

    async def main() -> list[bool]:
        with per_prompt_scope():
            return await asyncio.gather(*(rollout(i) for i in range(3)))

    assert asyncio.run(main()) == [True] * 3
    for iteration in range(3):
        span = recording.named(f"rollout {iteration}")
        assert span["attributes"][RL_ITERATION_ATTR] == iteration


def test_a_plain_thread_inherits_nothing() -> None:
    seen: list[bool] = []
    with per_prompt_scope():
        thread = threading.Thread(target=lambda: seen.append(in_per_prompt_scope()))
        thread.start()
        thread.join()
    assert seen == [False]
