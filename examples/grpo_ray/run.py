"""A whole run: telemetry, start-up, steps, summary, and an orderly end."""

from __future__ import annotations

import contextlib
import os

import ray
from rich.console import Console

from examples.grpo_ray.build import build
from examples.grpo_ray.config import RunConfig, SettingError
from examples.grpo_ray.goodput import print_goodput
from examples.grpo_ray.progress import StepProgress
from examples.grpo_ray.timer import Timer
from examples.grpo_ray.trainer import Parts, Trainer
from rl_telemetry.contrib.ray import flush_and_kill
from rl_telemetry.instrumentation import umbrella_span
from rl_telemetry.metrics import print_efficiency_summary, record_host_memory
from rl_telemetry.setup import init_telemetry_driver, shutdown_telemetry
from rl_telemetry.span_groups import RLSpanGroup


def run(config: RunConfig, console: Console) -> list[float]:
    """Train.

    Args:
        config: The settings.
        console: Where to show progress and the summary.

    Returns:
        The mean reward of each step.

    Raises:
        SettingError: If a setting of the telemetry or the folder is wrong.
    """
    _start_telemetry(config)
    try:
        timer = Timer()
        with umbrella_span(RLSpanGroup.U_JOB, f"rl.{config.algorithm}.job"):
            with console.status("starting Ray and the workers"):
                parts = build(config, timer)
            try:
                return _train(parts, console)
            finally:
                _stop(parts)
    finally:
        ray.shutdown()
        shutdown_telemetry()


def _start_telemetry(config: RunConfig) -> None:
    """Start telemetry, before Ray: its workers get the environment as it is then."""
    if config.exporter == "file":
        os.environ.setdefault("RL_TELEMETRY_FILE", f"{config.telemetry_folder.absolute()}/")
    try:
        config.out.mkdir(parents=True, exist_ok=True)
        init_telemetry_driver(config.master_config(), config.algorithm)
    except (ValueError, ImportError, OSError) as error:
        raise SettingError(str(error)) from error


def _train(parts: Parts, console: Console) -> list[float]:
    config, timer = parts.config, parts.phases.timer
    trainer = Trainer(parts)
    rewards = []
    parts.source.start()
    begun = timer.begin_training()
    with StepProgress(config.steps, console) as progress:
        for step in range(config.steps):
            started = timer.wall
            metrics = trainer.step(step)
            rewards.append(metrics["reward"])
            _log_step(parts, step, metrics, timer.wall - started)
            progress.advance(step, metrics)
    wall = timer.wall - begun
    console.print(
        f"reward: {rewards[0]:.3f} at the first step, {rewards[-1]:.3f} at the last\n"
        f"validation: {parts.validation.example}",
        highlight=False,
    )
    print_goodput(console, timer, wall)
    return rewards


def _log_step(parts: Parts, step: int, metrics: dict[str, float], step_wall: float) -> None:
    timer, logger = parts.phases.timer, parts.logger
    seconds = timer.take_step()
    collector_seconds, collector_metrics = parts.source.measurements()
    with contextlib.redirect_stdout(None):  # it prints, and the progress bar has the terminal
        efficiency = print_efficiency_summary(
            {**seconds, **collector_seconds}, timer.wall, step, step_wall
        )
    logger.log_metrics({**metrics, **collector_metrics}, step, "train")
    logger.log_metrics({**seconds, "total_step": step_wall}, step, "timing/train")
    logger.log_metrics(efficiency, step)
    record_host_memory(["policy", "generation"])


def _stop(parts: Parts) -> None:
    """Finish the checkpoint, then stop every actor, with what it recorded delivered first."""
    parts.checkpoints.wait()
    parts.data_plane.close()
    for actor in parts.actors:
        flush_and_kill(actor)
    parts.logger.close()
