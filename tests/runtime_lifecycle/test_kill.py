from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from rl_telemetry.testing import TelemetryFiles
from tests.support.otlp_receiver import closed_port

LOOP = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
from rl_telemetry import setup
handle = setup.init_telemetry_worker()
with handle.tracer.start_as_current_span("job"):
    for number in range(10**9):
        handle.tracer.start_span(f"step {number}").end()
        handle.meter.create_counter("made").add(1)
        time.sleep(0.001)
"""


def start(env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", LOOP], env={**os.environ, **(env or {})}, stderr=subprocess.PIPE
    )


def test_a_killed_process_leaves_whole_lines(rl_telemetry_files: TelemetryFiles) -> None:
    process = start()
    try:
        rl_telemetry_files.span("step 5")
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == -signal.SIGKILL
    for path in rl_telemetry_files.folder.glob("*.jsonl"):
        for line in path.read_text().splitlines():
            json.loads(line)
    names = {span.name for span in rl_telemetry_files.spans()}
    assert "step 5" in names
    assert "job" not in names  # nothing can be done after SIGKILL


def test_a_process_that_turns_sigterm_into_an_exit_loses_nothing(
    rl_telemetry_files: TelemetryFiles,
) -> None:
    process = start()
    try:
        rl_telemetry_files.span("step 5")
        process.terminate()
        process.communicate(timeout=10)
    finally:
        process.kill()
    assert process.returncode == 143
    job = rl_telemetry_files.span("job")
    numbers = [int(s.name.split()[1]) for s in rl_telemetry_files.spans() if s.parent_id]
    assert sorted(numbers) == list(range(len(numbers)))
    assert "nemo.span.truncated" not in job.attributes  # the exit ended it by itself
    made = max(int(point["asInt"]) for point in rl_telemetry_files.metrics()["made"])
    assert made in {len(numbers), len(numbers) - 1}


def test_sigterm_with_a_dead_collector_ends_in_time(tmp_path: Path) -> None:
    marker = tmp_path / "started"
    script = LOOP.replace(
        "    for number in", f'    open({str(marker)!r}, "w").close()\n    for number in'
    )
    with closed_port() as endpoint:
        process = subprocess.Popen(
            [sys.executable, "-c", script],
            env={
                **os.environ,
                "RL_TELEMETRY_ENABLED": "1",
                "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
            },
            stderr=subprocess.PIPE,
        )
        try:
            deadline = time.monotonic() + 10
            while not marker.exists() and time.monotonic() < deadline:
                time.sleep(0.01)
            began = time.monotonic()
            process.terminate()
            errors: Any = process.communicate(timeout=10)[1]
        finally:
            process.kill()
    assert time.monotonic() - began < 8  # 5 s and the end of the interpreter, on a busy machine
    assert process.returncode == 143
    assert b"spans" in errors
    assert b"not delivered" in errors


def test_a_metric_survives_a_kill_if_it_was_flushed(rl_telemetry_files: TelemetryFiles) -> None:
    script = """
import os, signal
from rl_telemetry import setup
handle = setup.init_telemetry_worker()
handle.meter.create_histogram("{name}").record(3)
{flush}
os.kill(os.getpid(), signal.SIGKILL)
"""
    flush = "assert setup.flush_telemetry(timeout_ms=5000)"
    for name, before in (("flushed", flush), ("lost", "")):
        code = script.format(name=name, flush=before)
        done = subprocess.run([sys.executable, "-c", code], check=False, timeout=60)
        assert done.returncode == -signal.SIGKILL
    assert set(rl_telemetry_files.metrics()) == {"flushed"}
