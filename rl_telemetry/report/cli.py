"""The command ``rl-telemetry``."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rl_telemetry.report.goodput import Driver, Run
    from rl_telemetry.report.page import Section
    from rl_telemetry.report.scan import Scan

OK = 0
NOTHING = 2
_PIPE_WIDTH = 100


class ReportError(Exception):
    """Nothing to report; the text says why."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: Those of the command line by default.

    Returns:
        0, or 2 for wrong usage or when there is nothing to report.
    """
    for stream in (sys.stdout, sys.stderr):  # a name from data must not fail a narrow encoding
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    options = _parser().parse_args(arguments)
    try:
        _report(options)
        sys.stdout.flush()
    except BrokenPipeError:  # `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return 130
    except ImportError as error:
        return _fail(
            f"the report needs the module {error.name}; run: pip install 'rl-telemetry[report]'"
        )
    except ReportError as error:
        return _fail(str(error))
    return OK


def _fail(message: str) -> int:
    print(f"error: {message}", file=sys.stderr)
    return NOTHING


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rl-telemetry", description="Look at the telemetry of a run."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    report = commands.add_parser(
        "report",
        help="show where the time of a run went",
        description="Show where the time of a run went, from the files of the exporter `file`.",
    )
    report.add_argument(
        "paths",
        nargs="+",
        type=Path,
        metavar="RUN",
        help="folder with *.jsonl (rotated ones too), or files",
    )
    report.add_argument("--run", metavar="ID", help="only the run with this nemo.run.id")
    report.add_argument("--html", type=Path, metavar="FILE", help="write a page, too")
    report.add_argument(
        "--step", type=int, metavar="N", help="step drawn on the page (default: the median one)"
    )
    report.add_argument(
        "--every-step", action="store_true", help="a row for each step, however many"
    )
    return parser


def _report(options: argparse.Namespace) -> None:
    from rl_telemetry.report import terminal

    scan = _scan(options.paths)
    for note in scan.notes.lines():
        print(note, file=sys.stderr)
    chosen = list(_chosen(scan, options.run))
    if not chosen:
        raise ReportError(
            "no steps to report: no process without rl.worker_group has spans with rl.iteration "
            "in a bucket; was the driver's file given, and were the span groups `per_step` on?"
        )
    # Before the tables, so that a wrong --step or --html is not lost below them.
    if options.html:
        _write_page(options.html, scan, chosen, options.step)
    elif options.step is not None:
        raise ReportError("--step chooses what is drawn on the page; add --html FILE")
    width, colour = _terminal(sys.stdout)
    for run, driver in chosen:
        sys.stdout.write(
            terminal.render(run, driver, every_step=options.every_step, width=width, colour=colour)
        )
    if options.html:
        print(f"page: {options.html}")


def _scan(paths: Sequence[Path]) -> Scan:
    from rich.console import Console
    from rich.progress import track

    from rl_telemetry.report import files
    from rl_telemetry.report.scan import Scan

    try:
        found = files.find(paths)
    except files.PathError as error:
        raise ReportError(str(error)) from None
    scan = Scan()
    shown = Console(stderr=True)
    for path in track(
        found, "reading", console=shown, transient=True, disable=not sys.stderr.isatty()
    ):
        scan.add_file(path)
    return scan


def _chosen(scan: Scan, wanted: str | None) -> Iterator[tuple[Run, Driver]]:
    runs = scan.totals.runs
    if not runs:
        raise ReportError("no spans in these files; were traces enabled, and any span group?")
    names = ", ".join(sorted(run_id or "(none)" for run_id in runs))
    if wanted is not None and wanted not in runs:
        raise ReportError(f"no run {wanted!r} in these files; nemo.run.id is: {names}")
    if wanted is None and len(runs) > 1:
        _note(f"{len(runs)} runs in these files, reported one by one; --run ID takes one: {names}")
    for run in runs.values():
        if wanted is None or run.id == wanted:
            yield from _of_run(run)


def _of_run(run: Run) -> Iterator[tuple[Run, Driver]]:
    drivers = run.drivers()
    name = f"run {run.id}" if run.id else "the run without nemo.run.id"
    if len(drivers) > 1:
        _note(f"{name} has {len(drivers)} drivers (was it restarted?), reported one by one")
    if not drivers:
        _note(f"{name} has no steps of a driver and is left out")
    for driver in drivers:
        if not driver.has_step_spans:
            _note(
                f"{name} has no span rl.<algo>.step (group `step`): the wall of a step is from "
                "its first to its last bucketed span"
            )
        elif driver.total().unbucketed < 0:
            _note(f"{name} has more seconds in buckets than steps: bucketed spans overlap")
        yield run, driver


def _note(text: str) -> None:
    print(f"note: {text}", file=sys.stderr)


def _write_page(
    path: Path, scan: Scan, chosen: Sequence[tuple[Run, Driver]], wanted: int | None
) -> None:
    from rl_telemetry.report.page import page

    if wanted is not None and all(wanted not in driver.steps for _, driver in chosen):
        numbers = [number for _, driver in chosen for number in driver.steps]
        raise ReportError(f"no step {wanted}; the steps are {min(numbers)} to {max(numbers)}")
    text = page([_section(scan, run, driver, wanted) for run, driver in chosen])
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise ReportError(f"cannot write {path}: {error.strerror}") from None


def _section(scan: Scan, run: Run, driver: Driver, wanted: int | None) -> Section:
    from rl_telemetry.report.page import Section
    from rl_telemetry.report.waterfall import arrange

    number = driver.median_step()
    if wanted in driver.steps:
        number = wanted
    elif wanted is not None:
        _note(f"driver {driver.process.label} has no step {wanted}; step {number} is drawn")
    begin, end = driver.steps[number].window
    spans = scan.spans_between(begin, end, run.id)
    others = run.other_drivers(driver)
    drawn = arrange(spans, number, begin, end, driver.process, others)
    return Section(run, driver, drawn)


def _terminal(stream: TextIO) -> tuple[int, bool]:
    if not stream.isatty():
        return _PIPE_WIDTH, False
    return shutil.get_terminal_size().columns, "NO_COLOR" not in os.environ
