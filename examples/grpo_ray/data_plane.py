"""The data plane: columns of samples in an actor, and the clients that reach it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import ray
from numpy.typing import NDArray

from rl_telemetry.contrib.data_plane import MetricsDataPlaneClient

Columns = dict[str, NDArray[Any]]
OnEvent = Callable[[dict[str, Any]], None]


def partition_of(step: int) -> str:
    """Return the partition that the rollouts of a step are in."""
    return f"step_{step}"


@dataclass(frozen=True)
class BatchMeta:
    """Which samples a batch consists of.

    Attributes:
        partition_id: Their partition.
        sample_ids: Their ids, in the order of the rows.
    """

    partition_id: str
    sample_ids: tuple[str, ...]

    def shards(self, count: int) -> list[BatchMeta]:
        """Return the batch in ``count`` parts of nearly the same size."""
        parts = np.array_split(np.arange(len(self.sample_ids)), count)
        return [
            BatchMeta(self.partition_id, tuple(self.sample_ids[i] for i in part)) for part in parts
        ]


@dataclass
class _Partition:
    rows: dict[str, dict[str, NDArray[Any]]] = field(default_factory=dict)
    claimed: set[str] = field(default_factory=set)
    consumed: set[str] = field(default_factory=set)


@ray.remote
class DataPlaneStore:
    """Holds the samples. Runs as one actor."""

    def __init__(self) -> None:
        self._partitions: dict[str, _Partition] = {}

    def register(self, partition_id: str) -> None:
        """Make a partition."""
        self._partitions.setdefault(partition_id, _Partition())

    def put(self, partition_id: str, sample_ids: Sequence[str], fields: Columns) -> None:
        """Store columns; row ``i`` of each belongs to ``sample_ids[i]``."""
        rows = self._partitions[partition_id].rows
        for index, sample_id in enumerate(sample_ids):
            row = rows.setdefault(sample_id, {})
            row.update({name: column[index] for name, column in fields.items()})

    def claim_meta(self, partition_id: str) -> BatchMeta:
        """Return the samples that nobody has claimed yet, sorted by id."""
        partition = self._partitions[partition_id]
        free = sorted(partition.rows.keys() - partition.claimed)
        partition.claimed.update(free)
        return BatchMeta(partition_id, tuple(free))

    def get_data(self, meta: BatchMeta, select: Sequence[str], *, consume: bool = False) -> Columns:
        """Return columns of a batch; ``consume`` marks its samples as used."""
        partition = self._partitions[meta.partition_id]
        if consume:
            partition.consumed.update(meta.sample_ids)
        rows = [partition.rows[sample_id] for sample_id in meta.sample_ids]
        return {name: np.stack([row[name] for row in rows]) for name in select}

    def check_consumption_status(self, partition_id: str) -> bool:
        """Return whether every sample of a partition was used."""
        partition = self._partitions[partition_id]
        return partition.rows.keys() == partition.consumed

    def list_sample_ids(self, partition_id: str) -> list[str]:
        """Return the ids of a partition, sorted."""
        return sorted(self._partitions[partition_id].rows)

    def clear(self, partition_id: str) -> None:
        """Forget a partition."""
        self._partitions.pop(partition_id, None)

    def save_checkpoint(self, path: str) -> None:
        """Write which samples are waiting."""
        waiting = {name: sorted(part.rows) for name, part in self._partitions.items()}
        Path(path).write_text(json.dumps(waiting))

    def close(self) -> None:
        """Forget everything."""
        self._partitions.clear()


class BlockingClient:
    """Reaches the store from synchronous code.

    Args:
        store: The actor.
    """

    def __init__(self, store: Any) -> None:
        self._store = store

    def register(self, partition_id: str) -> None:
        """Make a partition."""
        ray.get(self._store.register.remote(partition_id))

    def put(self, partition_id: str, sample_ids: Sequence[str], fields: Columns) -> None:
        """Store columns."""
        ray.get(self._store.put.remote(partition_id, sample_ids, fields))

    def claim_meta(self, partition_id: str) -> BatchMeta:
        """Claim what is free."""
        meta: BatchMeta = ray.get(self._store.claim_meta.remote(partition_id))
        return meta

    def get_data(self, meta: BatchMeta, select: Sequence[str], *, consume: bool = False) -> Columns:
        """Return columns of a batch."""
        columns: Columns = ray.get(self._store.get_data.remote(meta, select, consume=consume))
        return columns

    def check_consumption_status(self, partition_id: str) -> bool:
        """Return whether every sample was used."""
        return bool(ray.get(self._store.check_consumption_status.remote(partition_id)))

    def list_sample_ids(self, partition_id: str) -> list[str]:
        """Return the ids of a partition."""
        return list(ray.get(self._store.list_sample_ids.remote(partition_id)))

    def clear(self, partition_id: str) -> None:
        """Forget a partition."""
        ray.get(self._store.clear.remote(partition_id))

    def save_checkpoint(self, path: str) -> None:
        """Write which samples are waiting."""
        ray.get(self._store.save_checkpoint.remote(path))

    def close(self) -> None:
        """Empty the store."""
        ray.get(self._store.close.remote())


class AsyncClient:
    """Reaches the store from an event loop; what the collector needs of it.

    Args:
        store: The actor.
    """

    def __init__(self, store: Any) -> None:
        self._store = store

    async def register(self, partition_id: str) -> None:
        """Make a partition."""
        await self._store.register.remote(partition_id)

    async def put(self, partition_id: str, sample_ids: Sequence[str], fields: Columns) -> None:
        """Store columns."""
        await self._store.put.remote(partition_id, sample_ids, fields)


def connect(store: Any, on_event: OnEvent | None = None) -> MetricsDataPlaneClient:
    """Return an observed client for synchronous code.

    Args:
        store: The actor.
        on_event: Gets an event for each operation.
    """
    return MetricsDataPlaneClient(BlockingClient(store), on_event)


def connect_async(store: Any) -> MetricsDataPlaneClient:
    """Return an observed client for an event loop."""
    return MetricsDataPlaneClient(AsyncClient(store))
