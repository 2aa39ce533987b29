"""Reads a run in two passes: one that adds up, and one over the part with the step to draw."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rl_telemetry.report import files, otlp
from rl_telemetry.report.goodput import BUCKETS, OTHER, Totals
from rl_telemetry.report.notes import Notes
from rl_telemetry.report.otlp import Process, Span

_BLOCK_BYTES: Final = 1024 * 1024
_KNOWN: Final = frozenset(BUCKETS) - {OTHER}


@dataclass
class _Block:
    """Neighbouring lines of a file, and the time that their spans cover."""

    path: Path
    line: files.Line  # without its data
    end_offset: int
    start: int = 0
    end: int = 0

    def cover(self, span: Span) -> None:
        self.start = min(self.start or span.start, span.start)
        self.end = max(self.end, span.end)


@dataclass
class Scan:
    """What the first pass found.

    Attributes:
        totals: The sums.
        notes: What was wrong.
    """

    totals: Totals = field(default_factory=Totals)
    notes: Notes = field(default_factory=Notes)
    _blocks: list[_Block] = field(default_factory=list)

    def add_file(self, path: Path) -> None:
        """Read a file and add up its spans; what is broken is noted and left out."""
        block: _Block | None = None
        for line in files.read(path, self.notes):
            if block is None or line.offset - block.line.offset >= _BLOCK_BYTES:
                block = _Block(path, line._replace(data=b""), 0)
                self._blocks.append(block)
            block.end_offset = line.offset + len(line.data)
            for process, span in _spans(path, line, self.notes):
                block.cover(span)
                self.totals.add(process, span)
                if span.bucket is not None and span.bucket not in _KNOWN:
                    self._note_bucket(path, line.number, span.bucket)

    def spans_between(
        self, start: int, end: int, run: str | None
    ) -> Iterator[tuple[Process, Span]]:
        """Read again the spans of a run that overlap a time.

        Args:
            start: Begin, in nanoseconds since 1970.
            end: Its end.
            run: The run.

        Yields:
            Spans, in the order of the files.
        """
        known = Notes()  # the first pass has told
        for block in self._blocks:
            if block.end <= start or block.start >= end:
                continue
            for line in files.read(block.path, known, after=block.line):
                if line.offset >= block.end_offset:
                    break
                for process, span in _spans(block.path, line, known):
                    if process.run == run and span.end > start and span.start < end:
                        yield process, span

    def _note_bucket(self, path: Path, line: int, bucket: str) -> None:
        known = ", ".join(BUCKETS[:-1])
        self.notes.at(
            path, line, f"bucket {bucket!r} is none of {known}; counted as other", per_file=False
        )


def _spans(path: Path, line: files.Line, notes: Notes) -> Iterator[tuple[Process, Span]]:
    def complain(problem: str) -> None:
        notes.at(path, line.number, problem)

    try:
        yield from otlp.decode(line.data, complain)
    except otlp.LineError as error:
        if line.is_whole:
            complain(f"{error}; line skipped")
        else:
            complain("the last line is cut off; skipped (the process was killed or still runs)")
