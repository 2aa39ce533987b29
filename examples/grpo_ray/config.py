"""The settings of a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

AlgorithmName = Literal["grpo", "ppo"]
Exporter = Literal["console", "file", "otlp"]


class SettingError(Exception):
    """A setting that the run cannot start with; the message says what is wrong with it."""


@dataclass(frozen=True)
class RunConfig:
    """What to train and how.

    Attributes:
        algorithm: ``grpo`` (baseline: the other answers of the group) or ``ppo`` (a value model).
        steps: Updates of the policy.
        is_async: Collect rollouts beside training instead of before each update.
        seed: Seed of the task, the prompts and the sampling.
        out: Folder for checkpoints, metrics and, with the exporter ``file``, telemetry.
        exporter: Where telemetry goes.
        span_groups: Presets and groups of spans, such as ``per_step``.
        prompts: Prompts of one step.
        generations: Answers to each prompt.
        epochs: Passes over the rollouts of one step.
        learning_rate: Of the policy.
        max_lag: Updates by which the collector may be ahead.
        policy_workers: Workers that share an update.
        generators: Generation actors.
    """

    algorithm: AlgorithmName
    steps: int = 20
    is_async: bool = True
    seed: int = 0
    out: Path = Path("grpo_ray_run")
    exporter: Exporter = "file"
    span_groups: str = "per_step"
    prompts: int = 32
    generations: int = 8
    epochs: int = 4
    learning_rate: float = 0.1
    max_lag: int = 1
    policy_workers: int = 2
    generators: int = 2

    @property
    def checkpoint_every(self) -> int:
        """Steps between checkpoints, and between validations."""
        return max(1, min(5, self.steps // 2))

    @property
    def telemetry_folder(self) -> Path:
        """Where the exporter ``file`` writes."""
        return self.out / "telemetry"

    def master_config(self) -> dict[str, Any]:
        """Return the configuration in the form that ``init_telemetry_driver`` reads."""
        return {
            "telemetry": {
                "enabled": True,
                "service_name": "grpo-ray",
                "span_groups": self.span_groups,
                "exporter": self.exporter,
            },
            "policy": {"model_name": "cipher-softmax", "precision": "float64"},
        }
