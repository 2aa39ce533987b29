from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from rl_telemetry import setup
from rl_telemetry.lifecycle.file_exporter import JsonLinesFile, file_path
from rl_telemetry.testing import TelemetryFiles


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(x) for p in folder.glob("*.jsonl") for x in p.read_text().splitlines()]


def test_each_line_is_one_otlp_json_object(rl_telemetry_files: TelemetryFiles) -> None:
    handle = setup.init_telemetry_driver({}, "grpo")
    assert handle is not None
    with handle.tracer.start_as_current_span("outer"):
        span = handle.tracer.start_span("inner", attributes={"n": 2**40, "list": ["a", "b"]})
        span.end()
    handle.meter.create_gauge("level", unit="s").set(0.5)
    setup.shutdown_telemetry()
    written = lines(rl_telemetry_files.folder)
    assert {key for line in written for key in line} == {"resourceSpans", "resourceMetrics"}
    assert all(len(line) == 1 for line in written)
    inner = rl_telemetry_files.span("inner")
    context = span.get_span_context()
    assert inner.trace_id == format(context.trace_id, "032x")
    assert inner.span_id == format(context.span_id, "016x")
    assert inner.parent_id == rl_telemetry_files.span("outer").span_id
    assert inner.attributes == {"n": 2**40, "list": ["a", "b"]}
    assert rl_telemetry_files.metrics()["level"][0]["asDouble"] == 0.5


@pytest.mark.parametrize(
    ("setting", "folder", "stem"),
    [
        ("{tmp}/run/trace.jsonl", "run", "trace."),
        ("{tmp}/folder/", "folder", "telemetry."),
        ("{tmp}", "", "telemetry."),
    ],
)
def test_where_a_process_writes(tmp_path: Path, setting: str, folder: str, stem: str) -> None:
    os.environ["RL_TELEMETRY_FILE"] = setting.format(tmp=tmp_path)
    path = file_path()
    assert path.parent == tmp_path / folder
    assert path.name.startswith(stem)
    assert path.name.endswith(f".{os.getpid()}.jsonl")


def test_files_rotate_by_size_and_the_oldest_go(tmp_path: Path) -> None:
    file = JsonLinesFile(tmp_path / "x.jsonl", max_bytes=20, backups=2)
    for number in range(9):
        file.write(json.dumps({"n": number}))  # 9 bytes with the line break
    kept = {path.name: path.read_text().split("\n")[:-1] for path in tmp_path.iterdir()}
    assert kept == {
        "x.jsonl": ['{"n": 8}'],
        "x.jsonl.1": ['{"n": 6}', '{"n": 7}'],
        "x.jsonl.2": ['{"n": 4}', '{"n": 5}'],
    }


def test_without_backups_a_full_file_is_begun_anew(tmp_path: Path) -> None:
    file = JsonLinesFile(tmp_path / "x.jsonl", max_bytes=10, backups=0)
    file.write('{"n": 1}')
    file.write('{"n": 2}')
    assert (tmp_path / "x.jsonl").read_text() == '{"n": 2}\n'


def test_a_size_that_is_no_number_is_refused(rl_telemetry_files: TelemetryFiles) -> None:
    os.environ["RL_TELEMETRY_FILE_MAX_BYTES"] = "10MB"
    with pytest.raises(ValueError, match="RL_TELEMETRY_FILE_MAX_BYTES='10MB' is not a whole"):
        setup.init_telemetry_driver({}, "grpo")


def test_several_processes_write_files_of_their_own(
    run_python: Any, rl_telemetry_files: TelemetryFiles
) -> None:
    script = """
        from rl_telemetry import setup
        handle = setup.init_telemetry_worker()
        for number in range(200):
            handle.tracer.start_span("s", attributes={"padding": "x" * 200}).end()
    """
    for _ in range(2):
        assert run_python(script, {"OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "7"}).returncode == 0
    assert len(list(rl_telemetry_files.folder.glob("*.jsonl"))) == 2
    assert len(rl_telemetry_files.spans()) == 400


def test_a_folder_that_cannot_be_made_is_said_in_one_line(
    rl_telemetry_files: TelemetryFiles, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    os.environ["RL_TELEMETRY_FILE"] = f"{tmp_path}/file/run.jsonl"
    with pytest.raises(ValueError, match="RL_TELEMETRY_FILE: cannot make the folder"):
        setup.init_telemetry_driver({}, "grpo")


def test_a_full_disk_leaves_no_half_line_and_is_reported(run_python: Any, tmp_path: Path) -> None:
    script = """
        import resource, signal
        from rl_telemetry import setup
        handle = setup.init_telemetry_driver({}, "grpo")
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))  # stands for the full disk
        for _ in range(40):
            handle.tracer.start_span("s", attributes={"padding": "x" * 1000}).end()
            setup.flush_telemetry()
        setup.shutdown_telemetry()
    """
    env = {
        "RL_TELEMETRY_ENABLED": "1",
        "RL_TELEMETRY_METRICS_ENABLED": "0",
        "RL_TELEMETRY_EXPORTER": "file",
        "RL_TELEMETRY_FILE": f"{tmp_path}/out/",
    }
    result = run_python(script, env)
    assert result.returncode == 0, result.stderr
    written = len(lines(tmp_path / "out"))
    assert 0 < written < 40
    assert f"{40 - written} of 40 spans" in result.stderr
