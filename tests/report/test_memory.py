"""A long run needs no more memory than a short one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.report.otlp_files import line, span, step_spans

SPANS = 200_000
STEPS = 200
ALLOWED_MB = 25

# Memory beyond what the imports need. Not `ru_maxrss`: it begins with the size of the parent.
_MEASURED = """
import sys
from pathlib import Path
import rich.console, rich.table
from rl_telemetry.report import cli, page, scan, terminal, waterfall
def peak_mb():
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024
{keep}
before = peak_mb()
code = cli.main(["report", *sys.argv[1:]])
print(peak_mb() - before, file=sys.stderr)
sys.exit(code)
"""
_KEEP_ALL = """
kept = []
add = scan.Totals.add
def keep(self, process, span):
    kept.append((process, span))
    add(self, process, span)
scan.Totals.add = keep
"""


@pytest.fixture(scope="module")
def long_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a run of 200,000 spans, 96 MB."""
    folder = tmp_path_factory.mktemp("long")
    work = [
        span("rl.generation.decode", 5 * n // 50, 5 * n // 50 + 5, n // 1000, "productive")
        for n in range(1000)
    ]
    lines = line(*work, group="generation")
    with (folder / "worker.jsonl").open("w") as file:
        for _ in range(SPANS // len(work)):
            file.write(lines)
    driver = [s for number in range(STEPS) for s in step_spans(number, number * 100)]
    (folder / "driver.jsonl").write_text(line(*driver))
    return folder


def used_mb(folder: Path, keep: str = "") -> float:
    page = folder / "page.html"
    result = subprocess.run(
        [sys.executable, "-c", _MEASURED.format(keep=keep), str(folder), "--html", str(page)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert f"{SPANS + 4 * STEPS:,} spans" in result.stdout
    assert page.stat().st_size < 3_000_000
    return float(result.stderr)


def test_two_hundred_thousand_spans_fit(long_run: Path) -> None:
    assert used_mb(long_run) < ALLOWED_MB


def test_keeping_every_span_would_be_noticed(long_run: Path) -> None:
    assert used_mb(long_run, _KEEP_ALL) > ALLOWED_MB
