"""Arranges the spans of one step: a lane for each process, and in it a row for each depth."""

from __future__ import annotations

import heapq
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rl_telemetry.report.otlp import Process, Span

#: Limits of what is drawn, so that a page stays one that a browser opens.
MAX_SPANS: Final = 4000
MAX_SPANS_OF_LANE: Final = 800
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
    kept = _Kept(driver)
    for process, span in spans:
        # Of what covers all of the step, the run itself would fill a row of each.
        covers = span.iteration is None and span.start <= start and span.end >= end
        if process.key not in others and not covers:
            kept.add(process, span)
    lanes = kept.lanes()
    left_out = kept.seen - kept.hidden_spans - sum(len(lane.bars) for lane in lanes)
    left_out += sum(_stack(lane) for lane in lanes)
    return Waterfall(step, start, end, lanes, left_out, len(kept.hidden))


class _Kept:
    """The longest spans of the first processes; what it holds is bounded."""

    def __init__(self, driver: Process) -> None:
        self.seen = 0
        self.hidden: dict[str, int] = {}
        self._driver = driver
        self._lanes: dict[str, tuple[Process, list[tuple[int, int, Span]]]] = {}

    @property
    def hidden_spans(self) -> int:
        """Spans of the processes that are not shown."""
        return sum(self.hidden.values())

    def add(self, process: Process, span: Span) -> None:
        self.seen += 1
        if process.key in self.hidden:
            self.hidden[process.key] += 1
            return
        _, heap = self._lanes.setdefault(process.key, (process, []))
        item = (span.end - span.start, -self.seen, span)
        if len(heap) < MAX_SPANS_OF_LANE:
            heapq.heappush(heap, item)
        else:
            heapq.heappushpop(heap, item)
        if len(self._lanes) > MAX_LANES:
            last = max(self._lanes, key=lambda key: self._order(self._lanes[key][0]))
            self.hidden[last] = len(self._lanes.pop(last)[1])

    def lanes(self) -> list[Lane]:
        """Return the lanes in their order, each with its spans as they began."""
        share = MAX_SPANS // max(1, len(self._lanes))
        found = []
        for process, heap in sorted(self._lanes.values(), key=lambda kept: self._order(kept[0])):
            is_driver = process.key == self._driver.key
            longest = heap if is_driver else heapq.nlargest(share, heap)
            longest.sort(key=lambda item: (item[2].start, -item[2].end, -item[1]))
            found.append(Lane(process, [Bar(span, 0) for _, _, span in longest]))
        return found

    def _order(self, process: Process) -> tuple[bool, list[str | int]]:
        """Sort the driver first, and 2 before 10."""
        parts = re.split(r"([0-9]+)", process.label)
        numbered = [int(part) if number % 2 else part for number, part in enumerate(parts)]
        return process.key != self._driver.key, numbered


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
