"""What a user sees of a run that is whole."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.report.otlp_files import line, report, small_run, span, step_spans


def rows(output: str) -> dict[str, list[str]]:
    """Return the cells of each line, by the first of them."""
    found = (re.split(r"\s{2,}", text.strip()) for text in output.splitlines())
    return {cells[0]: cells[1:] for cells in found}


def test_each_step_shows_its_seconds_by_bucket(tmp_path: Path) -> None:
    result = report(small_run(tmp_path))
    assert (result.returncode, result.stderr) == (0, "")
    shown = rows(result.stdout)
    # wall, productive, overhead, idle, wasted, in no bucket, goodput
    assert shown["0"] == ["0.100", "0.050", "0.010", "0.010", "0.000", "0.030", "50%"]
    assert shown["1"] == ["0.300", "0.150", "0.030", "0.030", "0.000", "0.090", "50%"]
    assert shown["all"] == ["0.600", "0.300", "0.060", "0.060", "0.000", "0.180", "50%"]
    assert shown["share"] == ["50%", "10%", "10%", "0%", "30%"]


def test_buckets_of_a_worker_are_not_the_drivers(tmp_path: Path) -> None:
    before = report(small_run(tmp_path)).stdout
    busy = span("rl.generation.decode", 0, 90, 0, "productive")
    (tmp_path / "worker.jsonl").write_text(line(busy, group="generation"))
    after = report(tmp_path).stdout
    assert rows(after)["all"] == rows(before)["all"]
    (tmp_path / "worker.jsonl").write_text(line(busy, pid=1))  # the twin: the driver's own
    assert rows(report(tmp_path).stdout)["all"] != rows(before)["all"]


def test_waits_are_ranked_the_drivers_first(tmp_path: Path) -> None:
    small_run(tmp_path)
    starved = span("rl.idle.buffer_starvation", 70, 95, 0, "idle", "idle/buffer_starvation")
    unnamed = span("rl.idle.odd", 95, 96, 0, "idle")
    (tmp_path / "more.jsonl").write_text(line(starved, unnamed))
    lines = report(tmp_path).stdout.partition("Idle time by cause")[2].splitlines()
    assert [text.split()[:4] for text in lines if re.match(r"  (idle/|rl)", text)] == [
        ["idle/refit_bubble", "driver", "0.060", "3"],
        ["idle/buffer_starvation", "driver", "0.025", "1"],
        ["rl.idle.odd", "driver", "0.001", "1"],
        ["idle/refit_event_wait", "policy", "0", "0.030"],
        ["idle/refit_event_wait", "policy", "1", "0.030"],
    ]


def test_rotated_files_of_a_folder_are_read_and_a_file_counts_once(tmp_path: Path) -> None:
    small_run(tmp_path)
    whole = report(tmp_path).stdout
    (driver,) = tmp_path.glob("*.7.jsonl")
    newer = line(*step_spans(3, 600))
    driver.rename(f"{driver}.1")
    driver.write_text(newer)
    assert rows(report(tmp_path, f"{driver}.1").stdout)["all"][0] == "0.700"
    driver.unlink()
    assert report(tmp_path).stdout == whole


def test_many_steps_are_added_up_in_groups_unless_every_one_is_wanted(tmp_path: Path) -> None:
    steps = [s for number in range(95) for s in step_spans(number, number * 100)]
    path = tmp_path / "driver.jsonl"
    path.write_text(line(*steps))
    grouped = rows(report(path).stdout)
    assert grouped["0-2"][0] == "0.300"
    assert grouped["93-94"][0] == "0.200"
    assert grouped["all"][0] == "9.500"
    assert (
        len([label for label in rows(report(path, "--every-step").stdout) if label.isdigit()]) == 95
    )


def test_a_step_that_never_ended_is_marked(tmp_path: Path) -> None:
    small_run(tmp_path)
    assert "*" not in report(tmp_path).stdout
    (tmp_path / "more.jsonl").write_text(line(*step_spans(3, 600)[:-1]))
    result = report(tmp_path)
    assert rows(result.stdout)["3*"][0] == "0.070"
    assert "* no end of the step was seen" in result.stdout


def test_a_step_whose_span_was_cut_short_is_marked(tmp_path: Path) -> None:
    cut = span("rl.grpo.step", 600, 700, 3)
    cut["attributes"].append({"key": "nemo.span.truncated", "value": {"boolValue": True}})
    (small_run(tmp_path) / "more.jsonl").write_text(line(cut))
    assert rows(report(tmp_path).stdout)["3*"][0] == "0.100"
    cut["attributes"][-1]["value"]["boolValue"] = False
    (tmp_path / "more.jsonl").write_text(line(cut))
    assert rows(report(tmp_path).stdout)["3"][0] == "0.100"


def test_without_spans_of_steps_it_says_what_the_wall_is(tmp_path: Path) -> None:
    (tmp_path / "driver.jsonl").write_text(line(*step_spans(0, 0)[:-1]))
    result = report(tmp_path)
    assert result.returncode == 0
    assert "note: run 7 has no span rl.<algo>.step" in result.stderr


def test_overlapping_buckets_are_told(tmp_path: Path) -> None:
    twice = span("rl.grpo.policy_training", 0, 100, 0, "productive")
    (tmp_path / "driver.jsonl").write_text(line(*step_spans(0, 0), twice))
    result = report(tmp_path)
    assert "note: run 7 has more seconds in buckets than steps" in result.stderr
    assert rows(result.stdout)["0"][5] == "-0.070"


@pytest.mark.parametrize("module", ["setup", "instrumentation", "metrics", "testing"])
def test_the_runtime_never_imports_the_report(module: str) -> None:
    code = f"import rl_telemetry.{module}, sys; print('rl_telemetry.report' in sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert result.stdout == "False\n"


def test_a_pipe_that_closes_early_is_no_error(tmp_path: Path) -> None:
    small_run(tmp_path)
    bash = shutil.which("bash")
    assert bash
    command = f"set -o pipefail; {sys.executable} -m rl_telemetry.report report {tmp_path} | :"
    result = subprocess.run(
        [bash, "-c", command], capture_output=True, text=True, timeout=60, check=False
    )
    assert (result.returncode, result.stderr) == (0, "")
