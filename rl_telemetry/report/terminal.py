"""The report as tables on a terminal."""

from __future__ import annotations

from typing import Final

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rl_telemetry.report.goodput import BUCKETS, OTHER, Driver, Run, Step, rows
from rl_telemetry.report.text import counted, printable, seconds, share

#: More steps than this are added up in groups, unless every one is asked for.
MAX_STEPS: Final = 40
MAX_WAITS: Final = 15
PRODUCTIVE: Final = 0

_STYLES: Final = {
    "productive": "green",
    "overhead": "blue",
    "idle": "yellow",
    "wasted": "red",
    OTHER: "magenta",
}


def shown_buckets(driver: Driver) -> list[int]:
    """Return positions in ``BUCKETS``; that of unknown buckets only if there are any."""
    other = len(BUCKETS) - 1
    unknown = driver.outside[other] or any(step.buckets[other] for step in driver.steps.values())
    return [n for n in range(len(BUCKETS)) if n != other or unknown]


def title(run: Run, driver: Driver) -> str:
    """Return the heading of a report."""
    name = f"run {run.id}" if run.id else "a run without nemo.run.id"
    return (
        f"{name}, driver {driver.process.label}: {counted(len(driver.steps), 'step')}, "
        f"{counted(run.spans, 'span')} of {len(run.processes)} process"
        + ("" if len(run.processes) == 1 else "es")
    )


def render(run: Run, driver: Driver, *, every_step: bool, width: int, colour: bool) -> str:
    """Return the report of a driver.

    Args:
        run: The run.
        driver: Its driver.
        every_step: Whether to give each step a row, however many there are.
        width: Columns of the terminal.
        colour: Whether to use colours.

    Returns:
        Text that ends with a line break.
    """
    console = Console(width=width, no_color=not colour, force_terminal=colour, highlight=False)
    with console.capture() as capture:
        console.print(Text(printable(title(run, driver)), style="bold"))
        console.print(_goodput(driver, len(driver.steps) if every_step else MAX_STEPS))
        if not all(step.is_whole for step in driver.steps.values()):
            console.print("* no end of the step was seen: its wall is from first to last span")
        if run.waits:
            console.print(_waits(run, driver))
    return "\n".join(line.rstrip() for line in capture.get().split("\n"))


def _table(title: str) -> Table:
    # Narrow enough for eight columns on a terminal of 80.
    return Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, collapse_padding=True)


def _goodput(driver: Driver, limit: int) -> Table:
    shown = shown_buckets(driver)
    table = _table("Goodput of the driver, seconds")
    table.add_column("step", justify="right", no_wrap=True)
    table.add_column("wall", justify="right")
    for position in shown:
        name = BUCKETS[position]
        table.add_column(name, justify="right", style=_STYLES[name])
    table.add_column("in no bucket", justify="right")
    table.add_column("goodput", justify="right")

    def add(label: str, step: Step) -> None:
        cells = [seconds(step.buckets[position]) for position in shown]
        goodput = share(step.buckets[PRODUCTIVE], step.wall)
        table.add_row(label, seconds(step.wall), *cells, seconds(step.unbucketed), goodput)

    for row in rows(driver.steps, limit):
        add(row.label, row.step)
    total = driver.total()
    table.add_section()
    add("all", total)
    table.add_row(
        "share",
        "",
        *(share(total.buckets[position], total.wall) for position in shown),
        share(total.unbucketed, total.wall),
        "",
    )
    if any(driver.outside):
        cells = [seconds(driver.outside[position]) for position in shown]
        table.add_row("outside", "-", *cells, "-", "")
    return table


def _waits(run: Run, driver: Driver) -> Table:
    ranked = run.ranked_waits(driver)
    table = _table("Idle time by cause")
    table.add_column("cause", overflow="fold")
    table.add_column("process", overflow="fold")
    table.add_column("seconds", justify="right")
    table.add_column("spans", justify="right")
    table.add_column("share of wall", justify="right")
    wall = driver.total().wall
    for cause, wait in ranked[:MAX_WAITS]:
        is_drivers = cause.process.key == driver.process.key
        table.add_row(
            Text(cause.name),
            Text("driver" if is_drivers else cause.process.label),
            seconds(wait.nanoseconds),
            f"{wait.spans:,}",
            share(wait.nanoseconds, wall) if is_drivers else "-",
        )
    if len(ranked) > MAX_WAITS:
        table.add_row(f"and {len(ranked) - MAX_WAITS:,} more", "", "", "", "")
    return table
