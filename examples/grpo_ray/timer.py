"""Seconds of the driver, by phase and by goodput bucket."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from rl_telemetry.instrumentation import Bucket, bucket_for_efficiency_category


class Timer:
    """Adds up the seconds of labelled blocks, for one step and for the run.

    Labels that are efficiency categories count in the bucket of their category.
    """

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self._step: dict[str, float] = defaultdict(float)
        self.buckets: dict[Bucket, float] = defaultdict(float)

    @property
    def wall(self) -> float:
        """Seconds since the run began."""
        return time.perf_counter() - self._started

    @contextmanager
    def time(self, label: str, bucket: Bucket | str | None = None) -> Iterator[None]:
        """Time a block.

        Args:
            label: Its label.
            bucket: Its bucket, if it is no efficiency category; without one it is in none.
        """
        started = time.perf_counter()
        try:
            yield
        finally:
            self.add(label, time.perf_counter() - started, bucket)

    def add(self, label: str, seconds: float, bucket: Bucket | str | None = None) -> None:
        """Add seconds that were measured elsewhere; see :meth:`time`."""
        self._step[label] += seconds
        if bucket is not None:
            self.buckets[Bucket(bucket)] += seconds

    @contextmanager
    def wait(self, category: str) -> Iterator[None]:
        """Time a wait of an efficiency category."""
        with self.time(category, bucket_for_efficiency_category(category)):
            yield

    def begin_training(self) -> float:
        """Forget the buckets of the start-up, and return the seconds since the run began."""
        self.buckets.clear()
        return self.wall

    def take_step(self) -> dict[str, float]:
        """Return the seconds of each label since the last call."""
        taken, self._step = dict(self._step), defaultdict(float)
        return taken
