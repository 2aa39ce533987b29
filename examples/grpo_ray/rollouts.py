"""Where the driver gets the rollouts of a step: made on the spot, or from the collector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import ray

from examples.grpo_ray.config import RunConfig
from examples.grpo_ray.data_plane import BatchMeta, partition_of
from examples.grpo_ray.generation import GroupOfAnswers, stream_from_all
from examples.grpo_ray.phases import Phases
from examples.grpo_ray.task import CipherTask
from rl_telemetry.contrib.data_plane import MetricsDataPlaneClient
from rl_telemetry.instrumentation import (
    RL_IDLE_POLLS_ATTR,
    dispatch_with_trace_context,
    safe_set_span_attributes,
    start_efficiency_span,
)
from rl_telemetry.span_groups import RLSpanGroup

POLL_SECONDS = 0.005


class RolloutSource(Protocol):
    """Gives the rollouts of a step, and is told about new weights."""

    def start(self) -> None:
        """Begin, when everything is built."""

    def rollouts(self, step: int) -> BatchMeta:
        """Return the samples of a step."""

    def begin_refit(self, version: int) -> None:
        """Hold generation back: new weights are coming."""

    def finish_refit(self) -> None:
        """Let generation go on."""

    def measurements(self) -> tuple[dict[str, float], dict[str, float]]:
        """Return seconds by efficiency category, and metrics of the last step."""


def generate(
    phases: Phases, generators: Sequence[Any], prompts: Sequence[str], generations: int, salt: int
) -> list[GroupOfAnswers]:
    """Let the generation actors answer prompts, and wait for them.

    Args:
        phases: The driver's phases.
        generators: The generation actors.
        prompts: The prompts.
        generations: Answers to each prompt.
        salt: Goes into the random numbers.

    Returns:
        One group for each prompt, in the order of the prompts.
    """
    with phases.phase(
        RLSpanGroup.GENERATION,
        "generation",
        **{
            "rl.num_prompt_groups": len(prompts),
            "rl.num_generations_per_prompt": generations,
        },
    ):
        streams = stream_from_all(generators, list(enumerate(prompts)), salt)
        groups = [ray.get(reference) for stream in streams for reference in stream]
    return sorted(groups, key=lambda answers: answers.index)


class RolloutsOnTheSpot:
    """Generates before each update.

    Args:
        phases: The driver's phases.
        generators: The generation actors.
        data_plane: The driver's client.
        task: Where prompts come from.
        config: The settings.
    """

    def __init__(
        self,
        phases: Phases,
        generators: Sequence[Any],
        data_plane: MetricsDataPlaneClient,
        task: CipherTask,
        config: RunConfig,
    ) -> None:
        self._phases = phases
        self._generators = generators
        self._data_plane = data_plane
        self._task = task
        self._config = config

    def start(self) -> None:
        """Do nothing."""

    def rollouts(self, step: int) -> BatchMeta:
        """Generate, and put the samples into the data plane."""
        partition = partition_of(step)
        self._data_plane.register(partition)
        prompts = self._task.prompts(self._config.prompts, step)
        groups = generate(self._phases, self._generators, prompts, self._config.generations, step)
        for answers in groups:
            self._data_plane.put(partition, answers.sample_ids(), answers.columns())
        meta: BatchMeta = self._data_plane.claim_meta(partition)
        return meta

    def begin_refit(self, version: int) -> None:
        """Do nothing: nothing is being generated."""

    def finish_refit(self) -> None:
        """Do nothing."""

    def measurements(self) -> tuple[dict[str, float], dict[str, float]]:
        """Return nothing: the driver's own clock sees all."""
        return {}, {}


class RolloutsFromCollector:
    """Takes what the collector has gathered.

    Args:
        phases: The driver's phases.
        collector: The collector.
        data_plane: The driver's client.
    """

    def __init__(self, phases: Phases, collector: Any, data_plane: MetricsDataPlaneClient) -> None:
        self._timer = phases.timer
        self._collector = collector
        self._data_plane = data_plane
        self._lag = 0.0
        self._collecting: Any = None

    def start(self) -> None:
        """Let the collector begin."""
        self._collecting = dispatch_with_trace_context(self._collector.collect)

    def rollouts(self, step: int) -> BatchMeta:
        """Wait until the buffer has the groups of the step, and claim their samples."""
        lag = ray.get(self._collector.take.remote(step))
        self._lag = self._wait_for_buffer(step) if lag is None else lag
        meta: BatchMeta = self._data_plane.claim_meta(partition_of(step))
        return meta

    def begin_refit(self, version: int) -> None:
        """Let the collector hold its next batch back."""
        ray.get(self._collector.begin_refit.remote(version))

    def finish_refit(self) -> None:
        """Let it go on."""
        ray.get(self._collector.finish_refit.remote())

    def measurements(self) -> tuple[dict[str, float], dict[str, float]]:
        """Return the collector's waits, and how old the weights of the last step's samples were."""
        return ray.get(self._collector.idle_seconds.remote()), {"weight_lag": self._lag}

    def _wait_for_buffer(self, step: int) -> float:
        polls = 0
        with self._timer.wait("idle/buffer_starvation"):
            span = start_efficiency_span("idle/buffer_starvation")
            try:
                while (lag := ray.get(self._collector.take.remote(step))) is None:
                    polls += 1
                    self._pause()
            finally:
                safe_set_span_attributes(span, {RL_IDLE_POLLS_ATTR: polls})
                if span is not None:
                    span.end()
        return float(lag)

    def _pause(self) -> None:
        """Wait a little, and raise what made the collector stop, if it has stopped."""
        done, _ = ray.wait([self._collecting], timeout=POLL_SECONDS)
        ray.get(done)
