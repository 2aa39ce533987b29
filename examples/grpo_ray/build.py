"""Builds a run: cluster, task and workers, with a span and a metric for each phase."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import ray

from examples.grpo_ray import cluster
from examples.grpo_ray.algorithms import Baseline, GroupBaseline, ValueBaseline
from examples.grpo_ray.checkpoint import CheckpointManager
from examples.grpo_ray.collector import TrajectoryCollector
from examples.grpo_ray.config import RunConfig
from examples.grpo_ray.data_plane import connect
from examples.grpo_ray.phases import Phases
from examples.grpo_ray.rollouts import RolloutsFromCollector, RolloutsOnTheSpot, RolloutSource
from examples.grpo_ray.run_logger import RunLogger
from examples.grpo_ray.task import CipherTask
from examples.grpo_ray.timer import Timer
from examples.grpo_ray.trainer import Parts
from examples.grpo_ray.validation import Validation
from rl_telemetry.instrumentation import (
    dispatch_with_trace_context,
    efficiency_span,
    setup_span,
    startup_span,
)


def build(config: RunConfig, timer: Timer) -> Parts:
    """Start everything that a run needs, and log how long each phase took.

    Args:
        config: The settings.
        timer: The driver's clock.

    Returns:
        The parts; every actor has finished its constructor.
    """
    logger = RunLogger(config.out)
    with ExitStack() as stack:
        stack.enter_context(startup_span())
        if config.is_async:
            # Only here: without a collector nothing but the driver waits for the start-up.
            stack.enter_context(timer.wait("init/total"))
            stack.enter_context(efficiency_span("init/total"))
        parts = _build(config, timer, logger)
    seconds = timer.take_step()
    logger.log_metrics(
        {
            "ray_init_time_s": seconds["ray_init"],
            "data_time_s": seconds["data"],
            "worker_setup_time_s": seconds["workers"],
            "total_setup_time_s": seconds["ray_init"] + seconds["data"] + seconds["workers"],
        },
        0,
        "timing/setup",
    )
    return parts


def _build(config: RunConfig, timer: Timer, logger: RunLogger) -> Parts:
    phases = Phases(config.algorithm, timer)
    with timer.time("ray_init"):
        cluster.start_ray(show_worker_output=config.exporter == "console")
    with timer.time("data"), setup_span("data"):
        task = CipherTask.make(config.seed)
    with timer.time("workers"), setup_span("workers"):
        store = cluster.start_store()
        data_plane = connect(store, phases.data_plane_event)
        generators = cluster.start_generators(config)
        policy = cluster.start_policy(config, store)
        actors = [*generators, *policy.workers]
        baseline: Baseline = GroupBaseline(config.generations)
        if config.algorithm == "ppo":
            values = cluster.start_value(store)
            actors += values.workers
            baseline = ValueBaseline(phases, values)
        source: RolloutSource = RolloutsOnTheSpot(phases, generators, data_plane, task, config)
        if config.is_async:
            collector = _start_collector(config, task, generators, store)
            actors.insert(0, collector)
            source = RolloutsFromCollector(phases, collector, data_plane)
        ray.get([actor.__ray_ready__.remote() for actor in [*actors, store]])
    return Parts(
        config=config,
        phases=phases,
        task=task,
        policy=policy,
        generators=generators,
        actors=actors,
        data_plane=data_plane,
        baseline=baseline,
        source=source,
        checkpoints=CheckpointManager(config.out / "checkpoints", phases, policy, data_plane),
        validation=Validation(config, phases, task, generators, logger),
        logger=logger,
    )


def _start_collector(config: RunConfig, task: CipherTask, generators: list[Any], store: Any) -> Any:
    actor_class = TrajectoryCollector.options(num_cpus=0)  # type: ignore[attr-defined]
    return dispatch_with_trace_context(
        actor_class, config.algorithm, config, task, generators, store
    )
