"""The training loop of the driver, the same for every algorithm and both sources of rollouts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import ray

from examples.grpo_ray.algorithms import Baseline, advantages
from examples.grpo_ray.checkpoint import CheckpointManager
from examples.grpo_ray.config import RunConfig
from examples.grpo_ray.data_plane import BatchMeta, Columns
from examples.grpo_ray.phases import Phases
from examples.grpo_ray.policy import Gradients
from examples.grpo_ray.rollouts import RolloutSource
from examples.grpo_ray.run_logger import RunLogger
from examples.grpo_ray.task import CipherTask
from examples.grpo_ray.validation import Validation
from examples.grpo_ray.worker_group import WorkerGroup
from rl_telemetry.contrib.data_plane import MetricsDataPlaneClient
from rl_telemetry.instrumentation import (
    RL_ALGORITHM,
    dispatch_with_trace_context,
    efficiency_span,
    iteration_scope,
    trace_context_kwargs,
    umbrella_span,
)
from rl_telemetry.span_groups import RLSpanGroup

COLUMNS = ("inputs", "answers", "mask")


@dataclass
class Parts:
    """What a run consists of.

    Attributes:
        config: The settings.
        phases: Spans and timers of the driver.
        task: Prompts and verification.
        policy: The policy workers.
        generators: The generation actors.
        actors: Every actor, in the order in which to stop them.
        data_plane: The driver's client.
        baseline: The algorithm.
        source: Where rollouts come from.
        checkpoints: The checkpoint manager.
        validation: The validation.
        logger: The logger.
    """

    config: RunConfig
    phases: Phases
    task: CipherTask
    policy: WorkerGroup
    generators: list[Any]
    actors: list[Any]
    data_plane: MetricsDataPlaneClient
    baseline: Baseline
    source: RolloutSource
    checkpoints: CheckpointManager
    validation: Validation
    logger: RunLogger


class Trainer:
    """Runs steps.

    Args:
        parts: What the run consists of.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._config = parts.config
        self._phases = parts.phases
        self._timer = parts.phases.timer

    def step(self, step: int) -> dict[str, float]:
        """Update the policy once, and return the metrics of the step."""
        with (
            iteration_scope(step),
            umbrella_span(
                RLSpanGroup.U_STEP,
                f"rl.{self._phases.algorithm}.step",
                **{RL_ALGORITHM: self._phases.algorithm},
            ),
        ):
            meta = self._parts.source.rollouts(step)
            metrics = self._update(meta)
            self._refit(step + 1)
            self._finish(meta)
            if (step + 1) % self._config.checkpoint_every == 0:
                self._parts.checkpoints.save(step + 1, {"metrics": metrics})
                self._parts.validation.run(step + 1)
        return metrics

    def _update(self, meta: BatchMeta) -> dict[str, float]:
        samples = self._parts.data_plane.get_data(meta, COLUMNS)
        rewards = self._rewards(samples)
        self._parts.data_plane.put(meta.partition_id, meta.sample_ids, {"rewards": rewards})
        shards = meta.shards(len(self._parts.policy.workers))
        with self._phases.phase(RLSpanGroup.LOGPROB, "policy_and_reference_logprobs"):
            ray.get(
                self._parts.policy.run_all_workers_multiple_data(
                    "infer_logprobs", shards, **trace_context_kwargs()
                )
            )
        expected = self._parts.baseline.expected(meta, rewards)
        with self._phases.phase(RLSpanGroup.ADVANTAGE, "advantage_calculation"):
            better = advantages(rewards, expected)
        self._parts.data_plane.put(meta.partition_id, meta.sample_ids, {"advantages": better})
        lengths = self._answer_lengths(samples)
        metrics = self._train_policy(shards, float(lengths.sum()))
        metrics |= self._parts.baseline.learn(meta)
        return {
            "reward": float(rewards.mean()),
            "mean_gen_tokens_per_sample": float(lengths.mean()),
            **metrics,
        }

    def _rewards(self, samples: Columns) -> Any:
        with self._phases.phase(RLSpanGroup.REWARD, "reward_calculation"):
            return self._parts.task.reward(samples["inputs"], samples["answers"], samples["mask"])

    def _answer_lengths(self, samples: Columns) -> Any:
        with self._phases.phase(RLSpanGroup.DATA_PROCESSING, "data_processing"):
            return samples["mask"].sum(axis=1)

    def _train_policy(self, shards: list[BatchMeta], total_tokens: float) -> dict[str, float]:
        with self._phases.phase(RLSpanGroup.POLICY_UPDATE, "policy_training"):
            for _ in range(self._config.epochs):
                parts: list[Gradients] = ray.get(
                    self._parts.policy.run_all_workers_multiple_data(
                        "forward_backward",
                        shards,
                        total_tokens=total_tokens,
                        **trace_context_kwargs(),
                    )
                )
                gradient = sum(part.weights for part in parts)
                ray.get(
                    self._parts.policy.run_all_workers_single_data(
                        "optimizer_step", gradient, **trace_context_kwargs()
                    )
                )
        return {
            "loss": sum(part.loss for part in parts),
            "kl_penalty": sum(part.kl for part in parts),
            "approx_entropy": sum(part.entropy for part in parts),
            "clip_fraction": sum(part.clipped for part in parts),
            "grad_norm": float(np.linalg.norm(gradient)),
            "lr": self._config.learning_rate,
        }

    def _refit(self, version: int) -> None:
        """Give the generation actors the new weights; the driver only waits for it."""
        with self._timer.wait("idle/refit_bubble"), efficiency_span("idle/refit_bubble"):
            self._parts.source.begin_refit(version)
            weights = self._parts.policy.run_rank_0_workers_single_data("get_weights")
            ray.get(
                [
                    dispatch_with_trace_context(generator.load_weights, weights, version)
                    for generator in self._parts.generators
                ]
            )
            self._parts.source.finish_refit()

    def _finish(self, meta: BatchMeta) -> None:
        """Forget the samples of a step, which every worker must have used by now."""
        data_plane = self._parts.data_plane
        if not data_plane.check_consumption_status(meta.partition_id):
            left = len(data_plane.list_sample_ids(meta.partition_id))
            raise RuntimeError(f"some of the {left} samples of {meta.partition_id} were not used")
        data_plane.clear(meta.partition_id)
