"""Writes files as the exporter `file` does, and runs the command over them."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from rl_telemetry.report.cli import main

MS = 1_000_000
START = 1_800_000_000_000_000_000


def tags(**values: Any) -> list[dict[str, Any]]:
    """Return attributes; ``__`` in a name stands for a dot."""
    return [
        {
            "key": key.replace("__", "."),
            "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value},
        }
        for key, value in values.items()
        if value is not None
    ]


def span(
    name: str,
    begin: int,
    end: int,
    step: int | None = None,
    bucket: str | None = None,
    category: str | None = None,
) -> dict[str, Any]:
    """Return a span; times in milliseconds."""
    return {
        "traceId": "0" * 31 + "1",
        "spanId": "0" * 15 + "1",
        "name": name,
        "startTimeUnixNano": str(START + begin * MS),
        "endTimeUnixNano": str(START + end * MS),
        "attributes": tags(
            rl__iteration=step, rl__bucket=bucket, rl__efficiency__category=category
        ),
        "status": {},
    }


def line(
    *spans: dict[str, Any],
    group: str | None = None,
    rank: int = 0,
    run: str | None = "7",
    pid: int = 1,
) -> str:
    """Return a line with the spans of one process."""
    resource = tags(
        nemo__run__id=run,
        service__instance__id=f"{group}-{rank}-{pid}",
        host__name="node1",
        process__pid=pid,
        rl__worker_group=group,
        nv__dl__rank=rank,
    )
    scopes = [{"scope": {"name": "rl_telemetry"}, "spans": list(spans)}]
    content = {"resourceSpans": [{"resource": {"attributes": resource}, "scopeSpans": scopes}]}
    return json.dumps(content, separators=(",", ":")) + "\n"


def step_spans(number: int, at: int, wall: int = 100) -> list[dict[str, Any]]:
    """Return a step of the driver: half of it productive, a tenth each overhead and idle."""
    tenth = wall // 10
    return [
        span("rl.idle.refit_bubble", at, at + tenth, number, "idle", "idle/refit_bubble"),
        span("rl.grpo.policy_training", at + tenth, at + 6 * tenth, number, "productive"),
        span("rl.data_plane.put", at + 6 * tenth, at + 7 * tenth, number, "overhead"),
        span("rl.grpo.step", at, at + wall, number),
    ]


def small_run(folder: Path, run: str = "7") -> Path:
    """Write a run of three steps with a driver and two workers into a folder."""
    folder.mkdir(exist_ok=True)
    steps = [s for n, at in enumerate((0, 100, 400)) for s in step_spans(n, at, (100, 300, 200)[n])]
    (folder / f"telemetry.node1.{run}.jsonl").write_text(line(*steps, run=run))
    for rank in range(2):
        work = [
            span("rl.policy.forward_backward", 140 + rank, 250, 1),
            span("rl.idle.refit_event_wait", 100, 130, 2, None, "idle/refit_event_wait"),
        ]
        (folder / f"telemetry.node1.{run}-{rank}.jsonl").write_text(
            line(*work, group="policy", rank=rank, run=run)
        )
    return folder


def report(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the command in this process, which is faster."""
    out, errors = io.StringIO(), io.StringIO()
    words = ["report", *map(str, arguments)]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        try:
            code = main(words)
        except SystemExit as exit_:  # wrong usage
            code = int(str(exit_.code))
    return subprocess.CompletedProcess(words, code, out.getvalue(), errors.getvalue())


def report_process(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "rl_telemetry.report", "report", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **options,
    )
