"""The summary at the end: where the driver's time went."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from examples.grpo_ray.timer import Timer
from rl_telemetry.instrumentation import Bucket


def print_goodput(console: Console, timer: Timer, wall: float) -> None:
    """Print the seconds of each bucket.

    Args:
        console: Where to.
        timer: The driver's clock.
        wall: Seconds of the training loop.
    """
    table = Table(title=f"Goodput of the driver, {wall:.1f} s", title_justify="left")
    table.add_column("bucket")
    table.add_column("seconds", justify="right")
    table.add_column("share", justify="right")
    for bucket in Bucket:
        seconds = timer.buckets.get(bucket, 0.0)
        table.add_row(bucket.value, f"{seconds:.2f}", f"{seconds / wall:.0%}")
    rest = wall - sum(timer.buckets.values())
    table.add_row("in no bucket", f"{rest:.2f}", f"{rest / wall:.0%}")
    console.print(table)
