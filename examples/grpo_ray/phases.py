"""A phase of the driver: one span and one timer, under one name and in one bucket."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opentelemetry.trace import Span

from examples.grpo_ray.timer import Timer
from rl_telemetry.instrumentation import (
    RL_BUCKET_ATTR,
    Bucket,
    goodput_span_attributes,
    managed_span,
)


class Phases:
    """Opens the phases of one algorithm.

    Args:
        algorithm: Name of the algorithm, the second part of the span names.
        timer: Where the seconds go.
    """

    def __init__(self, algorithm: str, timer: Timer) -> None:
        self.algorithm = algorithm
        self.timer = timer

    @contextmanager
    def phase(self, group: str, label: str, **attributes: Any) -> Iterator[Span | None]:
        """Open ``rl.<algorithm>.<label>`` and time it.

        Args:
            group: A leaf group.
            label: Key of the timer and last part of the span's name.
            **attributes: Span attributes.

        Yields:
            The span, or ``None`` when its group is off.
        """
        bucket = goodput_span_attributes(group).get(RL_BUCKET_ATTR)
        name = f"rl.{self.algorithm}.{label}"
        with (
            self.timer.time(label, bucket),
            managed_span(group, name, **attributes) as span,
        ):
            yield span

    def data_plane_event(self, event: dict[str, Any]) -> None:
        """Count an operation of the data plane, whose span the client opens itself."""
        self.timer.add(f"data_plane/{event['op']}", event["wall_ms"] / 1e3, Bucket.OVERHEAD)
