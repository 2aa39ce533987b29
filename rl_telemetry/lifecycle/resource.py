"""Resource attributes: which run, process, host, rank and worker group telemetry is from.

Names follow the OpenTelemetry semantic conventions where they have one (``service.*``,
``host.*``, ``process.*``, ``k8s.*``).
"""

from __future__ import annotations

import logging
import os
import socket
import sys
import uuid
from collections.abc import Mapping
from importlib import metadata
from typing import Any, Final

from opentelemetry.sdk.resources import Resource
from opentelemetry.util.types import AttributeValue

from rl_telemetry import __version__, environment

_logger = logging.getLogger(__name__)

SERVICE_INSTANCE_ID: Final = "service.instance.id"
RUN_ID: Final = "nemo.run.id"
USER_ID: Final = "nemo.user.id"
CAMPAIGN_STAGE: Final = "nv.dl.campaign.stage"
RANK: Final = "nv.dl.rank"
WORLD_SIZE: Final = "nv.dl.world_size"
LOCAL_RANK: Final = "nv.dl.local_rank"
RUN_UUID: Final = "nv.dl.run.uuid"
PROVIDER_NAME: Final = "nv.dl.provider.name"
WORKER_GROUP: Final = "rl.worker_group"
ALGORITHM: Final = "rl.algorithm"
MODEL: Final = "rl.model"
PRECISION: Final = "nemo.precision"
TENSOR_PARALLEL_SIZE: Final = "dl.tensor_parallel.size"
PIPELINE_PARALLEL_SIZE: Final = "dl.pipeline_parallel.size"

_STAGE_BY_ALGORITHM: Final = {"sft": "SFT", "sft_v2": "SFT", "rm": "RM"}
DEFAULT_STAGE: Final = "RL"

_SLURM: Final = {
    "slurm.job.id": "SLURM_JOB_ID",
    "slurm.job.name": "SLURM_JOB_NAME",
    "slurm.nodelist": "SLURM_NODELIST",
    "slurm.nnodes": "SLURM_NNODES",
    "slurm.ntasks": "SLURM_NTASKS",
    "slurm.partition": "SLURM_PARTITION",
    "slurm.cluster.name": "SLURM_CLUSTER_NAME",
}
_KUBERNETES: Final = {
    "k8s.namespace.name": "K8S_NAMESPACE",
    "k8s.pod.name": "K8S_POD_NAME",
    "k8s.pod.uid": "K8S_POD_UID",
    "k8s.node.name": "K8S_NODE_NAME",
    "k8s.container.name": "K8S_CONTAINER_NAME",
    "k8s.job.name": "K8S_JOB_NAME",
}
_SOFTWARE: Final = ("torch", "ray", "vllm", "transformers", "megatron-core")


def campaign_stage(algorithm: str) -> str:
    """Return the campaign stage of an algorithm: ``SFT``, ``RM``, or ``RL`` for the others."""
    return _STAGE_BY_ALGORITHM.get(algorithm, DEFAULT_STAGE)


def build_resource(
    service_name: str,
    attributes: Mapping[str, Any],
    defaults: Mapping[str, Any],
    local_rank: int | None = None,
) -> Resource:
    """Build the resource of this process.

    Precedence, lowest first: ``defaults``, what is detected, ``OTEL_RESOURCE_ATTRIBUTES``, the
    service name, run and user id, ``local_rank``, ``attributes``.

    Args:
        service_name: ``service.name``.
        attributes: Attributes that win over all others.
        defaults: Attributes that lose to all others.
        local_rank: Rank on this host, or ``None``.

    Returns:
        The resource. It always has its own ``service.instance.id``: one copied through the
        environment would be shared by every process of the run.
    """
    base = {"service.version": __version__, **defaults, **_detect()}
    own = {
        "service.name": service_name,
        SERVICE_INSTANCE_ID: str(uuid.uuid4()),
        PROVIDER_NAME: "rl_telemetry",
        RUN_ID: environment.read(environment.RUN_ID) or None,
        USER_ID: environment.read(environment.USER_ID) or None,
        RUN_UUID: environment.read(environment.RUN_UUID) or None,
        LOCAL_RANK: local_rank,
        **attributes,
    }
    detected = Resource.create({})  # reads OTEL_RESOURCE_ATTRIBUTES now, not at import
    return Resource(clean(base)).merge(detected).merge(Resource(clean(own)))


def resource_after_fork(resource: Resource) -> Resource:
    """Return the resource of a forked child: another instance and process id."""
    return resource.merge(
        Resource({SERVICE_INSTANCE_ID: str(uuid.uuid4()), "process.pid": os.getpid()})
    )


def clean(attributes: Mapping[str, Any]) -> dict[str, AttributeValue]:
    """Keep scalars and lists of scalars; skip ``None``; warn about and drop the rest."""
    kept: dict[str, AttributeValue] = {}
    for key, value in attributes.items():
        if value is None:
            continue
        if isinstance(value, (str, bool, int, float)):
            kept[key] = value
        elif isinstance(value, (list, tuple)) and all(
            isinstance(item, (str, bool, int, float)) for item in value
        ):
            kept[key] = list(value)
        else:
            _logger.warning(
                "resource attribute %r dropped: a %s is neither a scalar nor a list of scalars",
                key,
                type(value).__name__,
            )
    return kept


def driver_attributes(master_config: Any, algorithm: str) -> dict[str, Any]:
    """Describe the run from its configuration; what is missing there is left out.

    Args:
        master_config: The run's configuration, of mappings or objects.
        algorithm: Name of the algorithm, such as ``grpo``.

    Returns:
        Attributes, with ``None`` for what was not found.
    """
    tensor = dig(master_config, "policy", "megatron_cfg", "tensor_model_parallel_size")
    return {
        ALGORITHM: algorithm,
        CAMPAIGN_STAGE: environment.read(environment.CAMPAIGN_STAGE, DEFAULT_STAGE),
        RANK: 0,
        WORLD_SIZE: 1,
        MODEL: dig(master_config, "policy", "model_name"),
        PRECISION: dig(master_config, "policy", "precision"),
        TENSOR_PARALLEL_SIZE: tensor
        or dig(master_config, "policy", "dtensor_cfg", "tensor_parallel_size"),
        PIPELINE_PARALLEL_SIZE: dig(
            master_config, "policy", "megatron_cfg", "pipeline_model_parallel_size"
        ),
    }


def worker_attributes(
    rank: int, world_size: int, group: str | None, extra: Mapping[str, Any]
) -> dict[str, Any]:
    """Describe a worker.

    Args:
        rank: Rank within the worker group.
        world_size: Size of the group.
        group: Name of the group, or ``None``.
        extra: The caller's attributes; they win over group and stage, not over the rank.

    Returns:
        Attributes.
    """
    return {
        CAMPAIGN_STAGE: environment.read(environment.CAMPAIGN_STAGE, DEFAULT_STAGE),
        WORKER_GROUP: group,
        **extra,
        RANK: rank,
        WORLD_SIZE: world_size,
    }


def dig(value: Any, *path: str) -> Any:
    """Follow keys or attributes through mappings and objects; ``None`` when one is missing."""
    for name in path:
        value = value.get(name) if hasattr(value, "get") else getattr(value, name, None)
        if value is None:
            return None
    return value


def _detect() -> dict[str, Any]:
    found: dict[str, Any] = {
        "host.name": socket.gethostname(),
        "process.pid": os.getpid(),
        "process.runtime.name": sys.implementation.name,
        "process.runtime.version": ".".join(str(part) for part in sys.version_info[:3]),
        "host.gpu.count": _visible_gpus(),
    }
    if os.environ.get("SLURM_JOB_ID"):
        found.update({key: os.environ.get(name) for key, name in _SLURM.items()})
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        found.update({key: os.environ.get(name) for key, name in _KUBERNETES.items()})
        found["k8s.pod.name"] = found["k8s.pod.name"] or os.environ.get("HOSTNAME")
    for package in _SOFTWARE:
        try:
            found[f"nv.dl.software.{package}.version"] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def _visible_gpus() -> int | None:
    """Count ``CUDA_VISIBLE_DEVICES``; asking a driver would cost start-up time."""
    text = os.environ.get("CUDA_VISIBLE_DEVICES")
    if text is None:
        return None
    return len([part for part in text.split(",") if part.strip()])
