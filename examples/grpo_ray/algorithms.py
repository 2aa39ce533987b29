"""What the algorithms do differently: where the baseline of a reward comes from."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import ray

from examples.grpo_ray.data_plane import BatchMeta
from examples.grpo_ray.phases import Phases
from examples.grpo_ray.task import FloatArray
from examples.grpo_ray.worker_group import WorkerGroup
from rl_telemetry.instrumentation import trace_context_kwargs
from rl_telemetry.span_groups import RLSpanGroup


class Baseline(Protocol):
    """What a reward is compared with."""

    def expected(self, meta: BatchMeta, rewards: FloatArray) -> FloatArray:
        """Return the expected reward of each sample."""

    def learn(self, meta: BatchMeta) -> dict[str, float]:
        """Learn from the rewards of a batch, and return metrics."""


class GroupBaseline:
    """GRPO (https://arxiv.org/abs/2402.03300): the mean over the answers to the same prompt.

    Args:
        generations: Answers to each prompt.
    """

    def __init__(self, generations: int) -> None:
        self._generations = generations

    def expected(self, meta: BatchMeta, rewards: FloatArray) -> FloatArray:
        """Return the mean reward of each sample's group."""
        means = rewards.reshape(-1, self._generations).mean(axis=1)
        expected: FloatArray = np.repeat(means, self._generations)
        return expected

    def learn(self, meta: BatchMeta) -> dict[str, float]:
        """Learn nothing."""
        return {}


class ValueBaseline:
    """PPO: a value model that runs beside the policy.

    Args:
        phases: The driver's phases.
        workers: The value workers.
    """

    def __init__(self, phases: Phases, workers: WorkerGroup) -> None:
        self._phases = phases
        self._workers = workers

    def expected(self, meta: BatchMeta, rewards: FloatArray) -> FloatArray:
        """Ask the value model."""
        with self._phases.phase(RLSpanGroup.LOGPROB, "value_inference"):
            answers = self._workers.run_all_workers_single_data(
                "infer_values", meta, **trace_context_kwargs()
            )
            values: FloatArray = ray.get(answers[0])
        return values

    def learn(self, meta: BatchMeta) -> dict[str, float]:
        """Fit the value model to the rewards of the batch."""
        with self._phases.phase(RLSpanGroup.POLICY_UPDATE, "value_training"):
            answers = self._workers.run_all_workers_single_data(
                "train_values", meta, **trace_context_kwargs()
            )
            loss = ray.get(answers[0])
        return {"critic/loss": loss}


def advantages(rewards: FloatArray, expected: FloatArray) -> FloatArray:
    """Return how much better than expected each sample was, scaled to unit deviation."""
    better = rewards - expected
    scaled: FloatArray = better / (better.std() + 1e-6)
    return scaled
