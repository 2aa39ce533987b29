"""Efficiency: seconds that were not productive, by category, and the productive share.

Only declared categories are looked at: an undeclared one counts as productive time, which is why
the checker reports it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from rl_telemetry.buckets import (
    COLLECTOR_LOOP_CATEGORIES,
    EFFICIENCY_CATEGORY_BUCKET,
    RL_BUCKET_ATTR,
    RL_EFFICIENCY_CATEGORY_ATTR,
    RUN_WINDOW_WALL_CLOCK_CATEGORIES,
    WALL_CLOCK_EFFICIENCY_CATEGORIES,
)
from rl_telemetry.metrics.standard import EFFICIENCY_PCT, EFFICIENCY_SECONDS

MEASUREMENT_ATTR: Final = "rl.efficiency.measurement"
WINDOW_ATTR: Final = "rl.efficiency.window"
PCT_KEY: Final = "efficiency/efficiency_pct"
PCT_IS_PER_STEP_KEY: Final = "efficiency/efficiency_pct_is_per_step"


def seconds_key(category: str) -> str:
    """Return the logger key of a category's seconds: ``efficiency/<category>_s``."""
    return f"efficiency/{category}_s"


def measurement(category: str) -> str:
    """Return how a declared category is measured.

    Returns:
        ``wall_clock`` (one thread of the driver), ``collector_wall_clock`` (the collector's loop,
        beside the driver) or ``thread_seconds`` (a sum over threads, which can exceed the run).
    """
    if category in WALL_CLOCK_EFFICIENCY_CATEGORIES:
        return "wall_clock"
    return "collector_wall_clock" if category in COLLECTOR_LOOP_CATEGORIES else "thread_seconds"


def window(category: str) -> str:
    """Return what the seconds of a declared category cover: one ``step``, or the ``run`` so far."""
    per_run = RUN_WINDOW_WALL_CLOCK_CATEGORIES
    in_step = category in WALL_CLOCK_EFFICIENCY_CATEGORIES and category not in per_run
    return "step" if in_step else "run"


def efficiency_points(
    metrics: Mapping[str, Any],
) -> Iterator[tuple[str, Any, dict[str, str]]]:
    """Pick the efficiency values out of a logged dictionary.

    Args:
        metrics: Logger keys to values.

    Yields:
        Series, value as it was logged, attributes.
    """
    for category, bucket in EFFICIENCY_CATEGORY_BUCKET.items():
        if (key := seconds_key(category)) in metrics:
            yield (
                EFFICIENCY_SECONDS,
                metrics[key],
                {
                    RL_EFFICIENCY_CATEGORY_ATTR: category,
                    MEASUREMENT_ATTR: measurement(category),
                    WINDOW_ATTR: window(category),
                    RL_BUCKET_ATTR: bucket.value,
                },
            )
    if PCT_KEY in metrics:
        is_per_step = bool(metrics.get(PCT_IS_PER_STEP_KEY))
        yield (
            EFFICIENCY_PCT,
            metrics[PCT_KEY],
            {MEASUREMENT_ATTR: "wall_clock", WINDOW_ATTR: "step" if is_per_step else "run"},
        )


def print_efficiency_summary(
    metrics: Mapping[str, float],
    total_wall: float,
    step: int,
    step_wall: float | None = None,
) -> dict[str, float | bool]:
    """Compute the productive share of the time, and print the seconds that were not.

    Subtracted are the wall-clock categories but ``init/total``, which the step did not spend.
    Thread-accumulated categories are shown and not subtracted: their seconds overlap the step's.

    Args:
        metrics: Efficiency categories (``idle/refit_bubble``) to seconds.
        total_wall: Wall-clock seconds of the run so far.
        step: Number of the step, for the heading.
        step_wall: Wall-clock seconds of the step; then the share is that of the step.

    Returns:
        The dictionary to log: the seconds of every declared category that was measured, the
        percentage (0 to 100), and whether it is that of the step.
    """
    wall = total_wall if step_wall is None else step_wall
    seconds = {name: metrics[name] for name in EFFICIENCY_CATEGORY_BUCKET if name in metrics}
    lost = sum(
        value
        for name, value in seconds.items()
        if name in WALL_CLOCK_EFFICIENCY_CATEGORIES and name not in RUN_WINDOW_WALL_CLOCK_CATEGORIES
    )
    pct = min(100.0, max(0.0, 100.0 * (wall - lost) / wall)) if wall > 0 else 0.0
    lines = [f"Efficiency at step {step}: {pct:.1f}% of {wall:.1f} s"]
    lines += [
        f"  {name}: {value:.2f} s ({measurement(name)}, {window(name)})"
        for name, value in seconds.items()
    ]
    print("\n".join(lines))
    logged: dict[str, float | bool] = {seconds_key(name): value for name, value in seconds.items()}
    return {**logged, PCT_KEY: pct, PCT_IS_PER_STEP_KEY: step_wall is not None}
