"""Adds up where the time went, span by span.

Goodput is the driver's: the same seconds show again in the workers it waits for, so buckets add
up within a process and never across processes. Sums are whole nanoseconds, so the order in which
spans are read makes no difference. Memory grows with steps, processes and causes, not with spans.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rl_telemetry.buckets import Bucket
from rl_telemetry.report.otlp import Process, Span

#: Holds the seconds of buckets that this package does not know.
OTHER: Final = "other"
BUCKETS: Final = (*(bucket.value for bucket in Bucket), OTHER)

_POSITION: Final = {bucket: number for number, bucket in enumerate(BUCKETS[:-1])}
_IDLE: Final = Bucket.IDLE.value


def is_step(span: Span) -> bool:
    """Say whether this is the umbrella of a step, ``rl.<algo>.step``."""
    return span.name.startswith("rl.") and span.name.endswith(".step") and span.bucket is None


@dataclass(slots=True)
class Step:
    """A step of a driver.

    Attributes:
        measured: Nanoseconds of the spans of the step itself.
        begin: Begin of the first of them; 0 when there is none.
        end: End of the last.
        first: Begin of the first bucketed span.
        last: End of the last.
        is_whole: Whether the step ended, and not the process within it.
        buckets: Nanoseconds by position in ``BUCKETS``.
    """

    measured: int = 0
    begin: int = 0
    end: int = 0
    first: int = 0
    last: int = 0
    is_whole: bool = False
    buckets: list[int] = field(default_factory=lambda: [0] * len(BUCKETS))

    @property
    def wall(self) -> int:
        """Nanoseconds of the step; from its first to its last span if it never ended."""
        return self.measured if self.begin else self.last - self.first

    @property
    def unbucketed(self) -> int:
        """Nanoseconds in no bucket; negative when bucketed spans overlap."""
        return self.wall - sum(self.buckets)

    @property
    def window(self) -> tuple[int, int]:
        """Begin and end of the step; of its bucketed spans if it never ended."""
        return (self.begin, self.end) if self.begin else (self.first, self.last)


@dataclass(slots=True)
class Wait:
    """Nanoseconds and number of the spans of one cause of idle time."""

    nanoseconds: int = 0
    spans: int = 0


class Cause(NamedTuple):
    """Who waited for what: a process, and an efficiency category or the name of a span."""

    process: Process
    name: str


@dataclass
class Driver:
    """A process without worker group.

    Attributes:
        process: The process.
        steps: By ``rl.iteration``.
        outside: Nanoseconds of bucketed spans in no step, by position in ``BUCKETS``.
        has_step_spans: Whether a span of a step itself was seen.
    """

    process: Process
    steps: dict[int, Step] = field(default_factory=dict)
    outside: list[int] = field(default_factory=lambda: [0] * len(BUCKETS))
    has_step_spans: bool = False

    def add(self, span: Span) -> None:
        """Count a span."""
        if span.bucket is not None:
            position = _POSITION.get(span.bucket, len(_POSITION))
            if span.iteration is None:
                self.outside[position] += span.end - span.start
                return
            step = self.steps.setdefault(span.iteration, Step())
            step.buckets[position] += span.end - span.start
            step.first = min(step.first or span.start, span.start)
            step.last = max(step.last, span.end)
        elif span.iteration is not None and is_step(span):
            step = self.steps.setdefault(span.iteration, Step())
            step.measured += span.end - span.start
            step.begin = min(step.begin or span.start, span.start)
            if span.end > step.end:
                step.is_whole = False  # until the last span of it says otherwise
            if span.end >= step.end:
                step.end = span.end
                step.is_whole |= not span.is_truncated
            self.has_step_spans = True

    def total(self) -> Step:
        """Return the sum of all steps."""
        return summed(self.steps.values())

    def median_step(self) -> int:
        """Return the step of median wall time, of those that ended if there are any."""
        numbers = [n for n, step in self.steps.items() if step.is_whole] or list(self.steps)
        numbers.sort(key=lambda number: (self.steps[number].wall, number))
        return numbers[(len(numbers) - 1) // 2]


@dataclass
class Run:
    """A run.

    Attributes:
        id: ``nemo.run.id``, or ``None``.
        spans: How many there are.
        processes: Keys of its processes.
        waits: Idle time by cause.
    """

    id: str | None
    spans: int = 0
    processes: set[str] = field(default_factory=set)
    waits: dict[Cause, Wait] = field(default_factory=dict)
    _candidates: dict[str, Driver] = field(default_factory=dict)

    def add(self, process: Process, span: Span) -> None:
        """Count a span of the run."""
        self.spans += 1
        self.processes.add(process.key)
        if span.bucket == _IDLE or (span.category or "").startswith("idle/"):
            wait = self.waits.setdefault(Cause(process, span.category or span.name), Wait())
            wait.nanoseconds += span.end - span.start
            wait.spans += 1
        if process.group is None:
            driver = self._candidates.get(process.key)
            if driver is None:
                driver = self._candidates[process.key] = Driver(process)
            driver.add(span)

    def drivers(self) -> list[Driver]:
        """Return the processes that ran steps, earliest first.

        A forked child or a helper has no worker group either; without steps it is no driver.
        """
        found = [d for d in self._candidates.values() if d.steps]
        found = [d for d in found if d.has_step_spans] or found
        return sorted(found, key=lambda d: (min(s.window for s in d.steps.values()), d.process.key))

    def other_drivers(self, driver: Driver) -> set[str]:
        """Return the keys of the drivers but this one."""
        return {other.process.key for other in self.drivers()} - {driver.process.key}

    def ranked_waits(self, driver: Driver) -> list[tuple[Cause, Wait]]:
        """Return the waits of a driver, longest first, and then those of the workers."""
        others = self.other_drivers(driver)
        mine = [item for item in self.waits.items() if item[0].process.key not in others]
        return sorted(
            mine,
            key=lambda item: (
                item[0].process.key != driver.process.key,
                -item[1].nanoseconds,
                item[0].name,
                item[0].process.label,
            ),
        )


@dataclass
class Totals:
    """The runs, by their id."""

    runs: dict[str | None, Run] = field(default_factory=dict)

    def add(self, process: Process, span: Span) -> None:
        """Count a span."""
        run = self.runs.get(process.run)
        if run is None:
            run = self.runs[process.run] = Run(process.run)
        run.add(process, span)


class Row(NamedTuple):
    """Neighbouring steps, from ``first`` to ``last``."""

    first: int
    last: int
    step: Step

    @property
    def label(self) -> str:
        """The numbers; a star marks what did not end."""
        numbers = str(self.first) if self.first == self.last else f"{self.first}-{self.last}"
        return numbers if self.step.is_whole else f"{numbers}*"


def rows(steps: dict[int, Step], limit: int) -> list[Row]:
    """Return at most ``limit`` rows, by adding up neighbours when there are more steps."""
    numbers = sorted(steps)
    size = -(-len(numbers) // limit)
    chunks = (numbers[at : at + size] for at in range(0, len(numbers), size or 1))
    return [Row(c[0], c[-1], summed([steps[number] for number in c])) for c in chunks]


def summed(steps: Iterable[Step]) -> Step:
    """Return the sum of steps as one step."""
    total = Step(is_whole=True)
    for step in steps:
        total.measured += step.wall
        total.begin = min(total.begin or step.window[0], step.window[0])
        total.is_whole &= step.is_whole
        total.buckets = [a + b for a, b in zip(total.buckets, step.buckets, strict=True)]
    return total
