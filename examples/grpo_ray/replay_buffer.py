"""The replay buffer of the collector: which groups are ready, for which step."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict

from rl_telemetry.metrics import RecordedMetric, record_rl_metrics, register_recorded_metrics

# Not in the module of the actor: Ray ships an actor's class by value and does not import its
# module in the worker, so that nothing would be declared there.
register_recorded_metrics(
    [RecordedMetric("rl.replay_buffer.groups", unit="{group}", description="Groups that wait.")]
)


class ReplayBuffer:
    """Counts the groups that are ready for each step. The samples are in the data plane.

    Args:
        capacity: Groups it holds before :meth:`add` waits.
        groups_per_step: Groups that a step needs.
    """

    def __init__(self, capacity: int, groups_per_step: int) -> None:
        self._capacity = capacity
        self._groups_per_step = groups_per_step
        self._lags: dict[int, list[int]] = defaultdict(list)
        self._room = asyncio.Event()
        self.seconds_full = 0.0

    def __len__(self) -> int:
        """Return how many groups are waiting."""
        return sum(len(lags) for lags in self._lags.values())

    async def add(self, step: int, lag: int) -> None:
        """Add a group, when there is room.

        Args:
            step: The step it is for.
            lag: Updates between its weights and the step's.
        """
        started = time.perf_counter()
        while len(self) >= self._capacity:
            self._room.clear()
            await self._room.wait()
        self.seconds_full += time.perf_counter() - started
        self._lags[step].append(lag)

    def take(self, step: int) -> float | None:
        """Take the groups of a step.

        Returns:
            Their mean lag, or ``None`` while some are missing.
        """
        if len(self._lags[step]) < self._groups_per_step:
            return None
        lags = self._lags.pop(step)
        self._room.set()
        return sum(lags) / len(lags)

    def record_size(self) -> None:
        """Record how many groups are waiting."""
        record_rl_metrics({"rl.replay_buffer.groups": len(self)})
