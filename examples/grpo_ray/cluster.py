"""Starting Ray, and the actors in it."""

from __future__ import annotations

import logging
import os
from typing import Any

import ray

from examples.grpo_ray.config import RunConfig
from examples.grpo_ray.data_plane import DataPlaneStore
from examples.grpo_ray.generation import GenerationWorker
from examples.grpo_ray.policy_workers import PolicyWorker, ValueWorker
from examples.grpo_ray.worker_group import WorkerGroup
from rl_telemetry.instrumentation import (
    safe_set_span_attributes,
    setup_span,
    trace_context_kwargs,
)

# Ray's types do not see what the decorator ``ray.remote`` makes of a class.

#: What workers need of the driver's environment. Ray hands it to the workers of a cluster that it
#: starts, but not to those of a cluster that was there before.
_TELEMETRY_PREFIXES = ("RL_TELEMETRY_", "OTEL_")


def start_ray(*, show_worker_output: bool) -> None:
    """Start a local Ray with two CPUs, or attach to the one that ``RAY_ADDRESS`` names.

    Args:
        show_worker_output: Whether what actors print appears on the terminal.
    """
    with setup_span("ray_init") as span:
        is_attached = bool(os.environ.get("RAY_ADDRESS"))
        environment = {
            name: value
            for name, value in os.environ.items()
            if name.startswith(_TELEMETRY_PREFIXES)
        }
        ray.init(
            num_cpus=None if is_attached else 2,
            include_dashboard=None if is_attached else False,
            log_to_driver=show_worker_output,
            logging_level=logging.ERROR,
            runtime_env={"env_vars": environment},
        )
        source = "attached_external" if is_attached else "started_local"
        safe_set_span_attributes(span, {"rl.ray.cluster_source": source})


def _options(group: str, rank: int, world_size: int) -> dict[str, Any]:
    """Return the options of an actor that belongs to a worker group."""
    return {
        "num_cpus": 0,  # two cores are shared by all
        "runtime_env": {
            "env_vars": {
                "RL_TELEMETRY_WORKER_GROUP": group,
                "RANK": str(rank),
                "WORLD_SIZE": str(world_size),
            }
        },
    }


def start_policy(config: RunConfig, store: Any) -> WorkerGroup:
    """Start the policy workers."""
    size = config.policy_workers
    workers = []
    for rank in range(size):
        actor_class = PolicyWorker.options(**_options("policy", rank, size))  # type: ignore[attr-defined]
        workers.append(actor_class.remote(store, config.learning_rate, **trace_context_kwargs()))
    return WorkerGroup(workers)


def start_value(store: Any) -> WorkerGroup:
    """Start the value worker."""
    actor_class = ValueWorker.options(**_options("value", 0, 1))  # type: ignore[attr-defined]
    return WorkerGroup([actor_class.remote(store, **trace_context_kwargs())])


def start_generators(config: RunConfig) -> list[Any]:
    """Start the generation actors."""
    size = config.generators
    workers = []
    for rank in range(size):
        actor_class = GenerationWorker.options(**_options("generation", rank, size))  # type: ignore[attr-defined]
        workers.append(
            actor_class.remote(config.generations, config.seed, **trace_context_kwargs())
        )
    return workers


def start_store() -> Any:
    """Start the data plane's actor."""
    return DataPlaneStore.options(num_cpus=0).remote()  # type: ignore[attr-defined]
