"""Arranges the spans of one step: a lane for each process, and in it a row for each depth."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rl_telemetry.report.otlp import Process, Span

#: Most spans that are drawn, so that a page stays one that a browser opens.
MAX_SPANS: Final = 4000
MAX_LANES: Final = 48
MAX_ROWS: Final = 12


class Bar(NamedTuple):
    """A span in a row of its lane; row 0 is on top."""

    span: Span
    row: int


@dataclass
class Lane:
    """The spans of a process."""

    process: Process
    bars: list[Bar] = field(default_factory=list)
    rows: int = 0


@dataclass
class Waterfall:
    """One step of a run.

    Attributes:
        step: Its number.
        start: Its begin, in nanoseconds since 1970.
        end: Its end.
        lanes: The driver's, then the workers' by name.
        left_out: How many spans are too many to draw.
        lanes_left_out: How many processes are.
    """

    step: int
    start: int
    end: int
    lanes: list[Lane]
    left_out: int = 0
    lanes_left_out: int = 0


def arrange(
    spans: Iterable[tuple[Process, Span]],
    step: int,
    start: int,
    end: int,
    driver: Process,
    others: Collection[str] = (),
) -> Waterfall:
    """Arrange the spans of a step.

    Args:
        spans: Spans that overlap the step.
        step: Its number.
        start: Its begin, in nanoseconds since 1970.
        end: Its end.
        driver: The process whose step it is.
        others: Keys of processes to leave out: other drivers.

    Returns:
        The longest spans, in lanes.
    """
    kept: list[tuple[int, int, Process, Span]] = []
    seen = 0
    for process, span in spans:
        if process.key in others:
            continue
        if span.iteration is None and span.start <= start and span.end >= end:
            continue  # the run itself: it would fill a row of every step
        seen += 1
        item = (span.end - span.start, -seen, process, span)
        if len(kept) < MAX_SPANS:
            heapq.heappush(kept, item)
        else:
            heapq.heappushpop(kept, item)
    lanes: dict[str, Lane] = {}
    for _, _, process, span in sorted(kept, key=lambda k: (k[3].start, -k[3].end, -k[1])):
        lane = lanes.setdefault(process.key, Lane(process))
        lane.bars.append(Bar(span, 0))
    ordered = sorted(
        lanes.values(), key=lambda lane: (lane.process.key != driver.key, lane.process.label)
    )
    left_out = seen - len(kept) + sum(_stack(lane) for lane in ordered[:MAX_LANES])
    hidden = ordered[MAX_LANES:]
    return Waterfall(step, start, end, ordered[:MAX_LANES], left_out, len(hidden))


def _stack(lane: Lane) -> int:
    """Put each span in the first row that is free, and return how many found none."""
    free_from: list[int] = []
    placed: list[Bar] = []
    for span, _ in lane.bars:
        row = next((n for n, free in enumerate(free_from) if free <= span.start), len(free_from))
        if row == MAX_ROWS:
            continue
        if row == len(free_from):
            free_from.append(0)
        free_from[row] = span.end
        placed.append(Bar(span, row))
    left_out = len(lane.bars) - len(placed)
    lane.bars, lane.rows = placed, len(free_from)
    return left_out
