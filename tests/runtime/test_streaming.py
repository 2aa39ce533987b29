from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from opentelemetry import trace

from rl_telemetry.instrumentation import managed_span, streaming_umbrella_span
from rl_telemetry.registry import set_enabled_span_groups
from rl_telemetry.span_groups import RLSpanGroup
from tests.runtime.recording import Recording

NAME = "rl.gym.run_rollouts"


async def source(fail_at: int | None = None) -> AsyncGenerator[int, None]:
    with managed_span(RLSpanGroup.GENERATION, "around"):
        for index in range(3):
            if index == fail_at:
                raise ValueError("broken")
            with managed_span(RLSpanGroup.GENERATION, "step"):
                await asyncio.sleep(0)
            yield index


async def streamed(items: AsyncGenerator[int, None]) -> AsyncGenerator[int, None]:
    with streaming_umbrella_span(RLSpanGroup.U_ROLLOUT, NAME, size=3) as activate:
        while True:
            try:
                with activate():
                    item = await items.__anext__()
            except StopAsyncIteration:
                break
            yield item


async def collect(items: AsyncGenerator[int, None]) -> list[int]:
    found = []
    async for item in items:
        assert not trace.get_current_span().get_span_context().is_valid
        found.append(item)
    return found


def test_the_span_covers_the_stream_and_is_never_the_consumers(recording: Recording) -> None:
    assert asyncio.run(collect(streamed(source()))) == [0, 1, 2]
    span = recording.named(NAME)
    assert span["attributes"] == {"size": 3}
    assert (span["status"], span["events"]) == ("UNSET", [])
    assert recording.named("around")["parent_id"] == span["span_id"]
    around = recording.named("around")["span_id"]
    steps = [s["parent_id"] for s in recording.spans() if s["name"] == "step"]
    assert steps == [around] * 3


def test_off_it_streams_all_the_same(recording: Recording) -> None:
    set_enabled_span_groups(())
    assert asyncio.run(collect(streamed(source()))) == [0, 1, 2]
    assert recording.spans() == []


def test_an_error_in_a_step_is_recorded_once(recording: Recording) -> None:
    with pytest.raises(ValueError, match="broken"):
        asyncio.run(collect(streamed(source(fail_at=1))))
    span = recording.named(NAME)
    assert (span["status"], span["events"]) == ("ERROR", ["exception"])


def test_an_error_that_the_stream_swallows_is_recorded(recording: Recording) -> None:
    with streaming_umbrella_span(RLSpanGroup.U_ROLLOUT, NAME) as activate:
        try:
            with activate():
                raise ValueError("broken")
        except ValueError:
            pass
    assert recording.named(NAME)["events"] == ["exception"]


def test_an_error_of_the_consumer_is_recorded(recording: Recording) -> None:
    async def main() -> None:
        items = streamed(source())
        await items.__anext__()
        await items.athrow(ValueError("broken"))

    with pytest.raises(ValueError, match="broken"):
        asyncio.run(main())
    assert recording.named(NAME)["status"] == "ERROR"


@pytest.mark.parametrize("how", ["close", "cancel"])
def test_an_early_end_is_no_error(recording: Recording, how: str) -> None:
    async def main() -> None:
        items: AsyncGenerator[int, Any] = streamed(source())
        await asyncio.create_task(first(items))
        if how == "close":
            await items.aclose()
        else:
            with pytest.raises(asyncio.CancelledError):
                await items.athrow(asyncio.CancelledError())

    async def first(items: AsyncGenerator[int, Any]) -> None:
        await items.__anext__()

    asyncio.run(main())
    assert recording.named(NAME)["status"] == "UNSET"
    assert [line for line in recording.logs if "detach" in line] == []
