"""Sums of buckets are sums of spans, however the lines are ordered and spread over files."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from rl_telemetry.report.goodput import BUCKETS, Driver, rows
from rl_telemetry.report.scan import Scan
from tests.report.otlp_files import MS, line, report, span


class Piece(NamedTuple):
    begin: int
    length: int
    step: int | None
    bucket: str | None
    worker: str | None

    def text(self) -> str:
        name = "rl.piece" if self.bucket else "rl.grpo.step"
        made = span(name, self.begin, self.begin + self.length, self.step, self.bucket)
        return line(made, group=self.worker)


PIECES = st.lists(
    st.builds(
        Piece,
        st.integers(0, 1000),
        st.integers(0, 50),
        st.none() | st.integers(0, 4),
        st.none() | st.sampled_from([*BUCKETS, "strange"]),
        st.none() | st.just("policy"),
    ),
    max_size=40,
)


def scanned(texts: list[str], files: int) -> list[Driver]:
    with TemporaryDirectory() as folder:
        scan = Scan()
        for number in range(files):
            path = Path(folder) / f"{number}.jsonl"
            path.write_text("".join(texts[number::files]))
            scan.add_file(path)
        return [driver for run in scan.totals.runs.values() for driver in run.drivers()]


@settings(max_examples=60, deadline=None)
@given(PIECES, st.integers(1, 4), st.randoms(use_true_random=False))
def test_sums_of_buckets_are_sums_of_spans(
    pieces: list[Piece], files: int, shuffler: random.Random
) -> None:
    wanted: Counter[tuple[int | None, str]] = Counter()
    for piece in pieces:
        if piece.bucket and not piece.worker:
            bucket = piece.bucket if piece.bucket in BUCKETS else "other"
            wanted[piece.step, bucket] += piece.length * MS
    texts = [piece.text() for piece in pieces]
    found = scanned(texts, 1)
    shuffler.shuffle(texts)
    assert scanned(texts, files) == found
    for driver in found:
        for number, step in driver.steps.items():
            assert step.buckets == [wanted[number, bucket] for bucket in BUCKETS]
        assert driver.outside == [wanted[None, bucket] for bucket in BUCKETS]
        total = driver.total()
        for limit in (1, 2, 7):
            grouped = rows(driver.steps, limit)
            assert len(grouped) <= limit
            assert [
                sum(column) for column in zip(*(r.step.buckets for r in grouped), strict=True)
            ] == (total.buckets)
            assert sum(row.step.wall for row in grouped) == total.wall
    has_steps = any(p.step is not None and not p.worker for p in pieces)
    assert len(found) == has_steps


@settings(max_examples=40, deadline=None)
@given(PIECES)
def test_any_run_makes_a_page_or_says_why_not(pieces: list[Piece]) -> None:
    has_steps = any(p.step is not None and not p.worker for p in pieces)
    with TemporaryDirectory() as folder:
        (Path(folder) / "run.jsonl").write_text("".join(piece.text() for piece in pieces))
        page = Path(folder) / "page.html"
        result = report(folder, "--html", page)
        assert page.exists() == has_steps
        assert result.returncode == (0 if has_steps else 2)
        assert result.stderr.count("error: ") == (0 if has_steps else 1)
