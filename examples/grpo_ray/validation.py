"""Validation on held-out prompts."""

from __future__ import annotations

from typing import Any

import numpy as np

from examples.grpo_ray.config import RunConfig
from examples.grpo_ray.phases import Phases
from examples.grpo_ray.rollouts import generate
from examples.grpo_ray.run_logger import RunLogger
from examples.grpo_ray.task import CipherTask, Tokenizer
from rl_telemetry.instrumentation import evaluate_span
from rl_telemetry.span_groups import RLSpanGroup


class Validation:
    """Generates and verifies answers to prompts that the policy never trains on.

    Args:
        config: The settings.
        phases: The driver's phases.
        task: Prompts and verification.
        generators: The generation actors.
        logger: The logger.

    Attributes:
        example: One prompt of the last validation, its answer and the verdict.
    """

    def __init__(
        self,
        config: RunConfig,
        phases: Phases,
        task: CipherTask,
        generators: list[Any],
        logger: RunLogger,
    ) -> None:
        self._config = config
        self._phases = phases
        self._task = task
        self._generators = generators
        self._logger = logger
        self.example = ""

    def run(self, step: int) -> float:
        """Validate, log the result and return the mean reward.

        Args:
            step: Updates so far.
        """
        # The timer measures for how long training stands still. Its parts are overhead, and it
        # would count them again, so it has no bucket.
        with (
            self._phases.timer.time("idle/validation"),
            evaluate_span(self._phases.algorithm),
        ):
            prompts = self._task.prompts(self._config.prompts, step, held_out=True)
            groups = generate(
                self._phases, self._generators, prompts, self._config.generations, step
            )
            with self._phases.phase(RLSpanGroup.REWARD, "reward_calculation"):
                rewards = [self._task.reward(g.inputs, g.answers, g.mask) for g in groups]
        answer = Tokenizer().decode(groups[0].answers[0])
        verdict = "right" if rewards[0][0] == 1 else f"{rewards[0][0]:.0%} right"
        self.example = f'"{prompts[0]}" deciphered as "{answer}": {verdict}'
        reward = float(np.mean(rewards))
        self._logger.log_metrics({"reward": reward}, step, "validation")
        return reward
