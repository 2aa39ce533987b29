"""The report of a real run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from rl_telemetry.report.scan import Scan
from tests.examples.trainer_runs import REPO, clean_environment
from tests.report.otlp_files import report_process

STEPS = 4


def test_a_run_of_the_trainer_is_reported(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "examples.grpo_ray", "--steps", str(STEPS), "--prompts", "8"]
    run = subprocess.run(
        [*command, "--span-groups", "all", "--exporter", "file", "--out", str(tmp_path)],
        cwd=REPO,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    page = tmp_path / "page.html"
    result = report_process(tmp_path / "telemetry", "--html", page)
    assert (result.returncode, result.stderr) == (0, "")
    assert f"{STEPS} steps" in result.stdout
    assert f"page: {page}" in result.stdout
    # The trainer's own clock and the report, which knows only its spans, agree.
    summary = re.findall(r"│ (\w+) +│ +([\d.]+) │", run.stdout)
    assert [bucket for bucket, _ in summary] == ["productive", "overhead", "idle", "wasted"]
    for bucket, text in summary:
        assert abs(total(tmp_path, bucket) - float(text)) < 0.2 + 0.1 * float(text), summary
    html = page.read_text()
    lanes = re.findall(r'class="lane"[^>]*>([^<]*)<', html)
    assert lanes[0] == "driver"
    assert {"policy 0", "policy 1"} <= set(lanes)
    assert "idle/refit_bubble" in html


def total(folder: Path, bucket: str) -> float:
    scan = Scan()
    for path in (folder / "telemetry").iterdir():
        scan.add_file(path)
    (run,) = scan.totals.runs.values()
    (driver,) = run.drivers()
    assert all(step.unbucketed >= 0 for step in driver.steps.values())
    names = ("productive", "overhead", "idle", "wasted")
    return driver.total().buckets[names.index(bucket)] / 1e9
