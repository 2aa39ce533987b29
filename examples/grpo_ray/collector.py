"""The collector: an actor that gathers rollouts while the driver trains."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import ray

from examples.grpo_ray.config import RunConfig
from examples.grpo_ray.data_plane import connect_async, partition_of
from examples.grpo_ray.generation import GroupOfAnswers, stream_from_all
from examples.grpo_ray.replay_buffer import ReplayBuffer
from examples.grpo_ray.task import CipherTask
from rl_telemetry.instrumentation import (
    accepts_trace_context,
    efficiency_span,
    iteration_scope,
    per_prompt_scope,
    setup_span,
    umbrella_span,
)
from rl_telemetry.setup import init_telemetry_worker
from rl_telemetry.span_groups import RLSpanGroup

#: A group of which fewer answers came to an end is sampled once more.
MIN_STOPPED = 0.25


@ray.remote
class TrajectoryCollector:
    """Gathers the rollouts of one step after the other, for any algorithm."""

    @accepts_trace_context
    def __init__(
        self, algorithm: str, config: RunConfig, task: CipherTask, generators: list[Any], store: Any
    ) -> None:
        """Connect to the generation actors and the data plane.

        Args:
            algorithm: Name of the algorithm it collects for, the second part of span names.
            config: The settings.
            task: Where prompts come from.
            generators: The generation actors.
            store: The data plane's actor.
        """
        init_telemetry_worker(rank=0, world_size=1, worker_group="collector")
        with setup_span("collector"):
            self._algorithm = algorithm
            self._config = config
            self._task = task
            self._generators = generators
            self._data_plane = connect_async(store)
            self._buffer = ReplayBuffer(config.prompts, config.prompts)
            self._version = 0
            self._version_changed = asyncio.Event()
            self._refit_done = asyncio.Event()
            self._refit_done.set()
            self._seconds: dict[str, float] = defaultdict(float)

    @accepts_trace_context
    async def collect(self) -> None:
        """Gather the rollouts of every step of the run."""
        for step in range(self._config.steps):
            await self._wait_for_limit(step)
            await self._wait_for_refit()
            with (
                iteration_scope(step),
                umbrella_span(
                    RLSpanGroup.U_ROLLOUT,
                    f"rl.{self._algorithm}.collect",
                    **{
                        "rl.target_step": step,
                        "rl.weight_version": self._version,
                        "rl.num_prompt_groups": self._config.prompts,
                    },
                ),
            ):
                await self._collect_step(step)

    async def begin_refit(self, version: int) -> None:
        """Hold new batches back until :meth:`finish_refit`.

        Args:
            version: Updates that the coming weights have seen.
        """
        self._refit_done.clear()
        self._version = version
        self._version_changed.set()

    async def finish_refit(self) -> None:
        """Go on with the new weights."""
        self._refit_done.set()

    async def take(self, step: int) -> float | None:
        """Take the groups of a step out of the buffer; see :meth:`ReplayBuffer.take`."""
        return self._buffer.take(step)

    async def idle_seconds(self) -> dict[str, float]:
        """Return the seconds of each efficiency category since the run began."""
        return {**self._seconds, "idle/buffer_full_backoff": self._buffer.seconds_full}

    async def _wait_for_limit(self, step: int) -> None:
        if step <= self._version + self._config.max_lag:
            return
        started = time.perf_counter()
        with efficiency_span("idle/generation_limit_pause"):
            while step > self._version + self._config.max_lag:
                self._version_changed.clear()
                await self._version_changed.wait()
        self._seconds["idle/generation_limit_pause"] += time.perf_counter() - started

    async def _wait_for_refit(self) -> None:
        if self._refit_done.is_set():
            return
        started = time.perf_counter()
        with efficiency_span("idle/refit_event_wait"):
            await self._refit_done.wait()
        self._seconds["idle/refit_event_wait"] += time.perf_counter() - started

    async def _collect_step(self, step: int) -> None:
        await self._data_plane.register(partition_of(step))
        prompts = list(enumerate(self._task.prompts(self._config.prompts, step)))
        streams = stream_from_all(self._generators, prompts, step)
        texts = dict(prompts)
        await asyncio.gather(*(self._follow(stream, step, texts) for stream in streams))
        self._buffer.record_size()

    async def _follow(self, stream: Any, step: int, texts: dict[int, str]) -> None:
        started = time.perf_counter()
        async for reference in stream:
            answers: GroupOfAnswers = await reference
            with per_prompt_scope():
                if answers.stopped < MIN_STOPPED:
                    self._seconds["wasted/failed_trajectory"] += time.perf_counter() - started
                    answers = await self._sample_again(answers.index, texts[answers.index], step)
                await self._keep(answers, step)

    async def _sample_again(self, number: int, text: str, step: int) -> GroupOfAnswers:
        salt = step + self._config.steps  # other random numbers than the first time
        generator = self._generators[number % len(self._generators)]
        (stream,) = stream_from_all([generator], [(number, text)], salt)
        groups: Sequence[GroupOfAnswers] = [await reference async for reference in stream]
        return groups[0]

    async def _keep(self, answers: GroupOfAnswers, step: int) -> None:
        with umbrella_span(RLSpanGroup.U_PER_PROMPT, f"rl.{self._algorithm}.collect_prompt"):
            await self._data_plane.put(partition_of(step), answers.sample_ids(), answers.columns())
            await self._buffer.add(step, step - answers.weight_version)
