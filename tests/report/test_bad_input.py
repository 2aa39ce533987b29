"""What a user is told about files that are broken, mixed or beside the point."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rl_telemetry.report import files
from rl_telemetry.report.otlp import LineError, decode
from tests.report.otlp_files import line, report, report_process, small_run, span, step_spans

METRICS = '{"resourceMetrics":[]}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return small_run(tmp_path / "run")


def fails(*arguments: str | Path) -> str:
    """Run the command, expect one line of error, and return it."""
    result = report(*arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith("error: "), result.stderr
    assert result.stderr.count("\n") == 1
    return result.stderr


def notes(folder: Path, *broken: str) -> list[str]:
    """Add a file with these lines to a good run, and return what is said beside the report."""
    clean = report(folder)
    assert (clean.returncode, clean.stderr) == (0, "")
    (folder / "extra.jsonl").write_text("".join(broken))
    result = report(folder)
    assert result.returncode == 0
    assert "Traceback" not in result.stderr
    assert "Goodput of the driver" in result.stdout
    prefix = f"{folder}/extra.jsonl"
    assert all(text.startswith((prefix, "note: ")) for text in result.stderr.splitlines())
    return [text.removeprefix(prefix) for text in result.stderr.splitlines()]


def test_broken_lines_are_named_and_the_rest_is_read(folder: Path) -> None:
    good = line(*step_spans(3, 600))
    said = notes(folder, METRICS, "{broken\n", good, "[1]\n", "\n", '{"a":1}\n', "{broken\n")
    assert said == [
        ":2: not JSON; line skipped (1 more like it in this file)",
        ":4: JSON, but not OTLP: it has no resourceSpans, resourceMetrics or -Logs; line skipped "
        "(1 more like it in this file)",
    ]
    assert "0.700" in report(folder).stdout  # the good line among them counts


def test_a_last_line_that_is_cut_off_is_named(folder: Path) -> None:
    good = line(*step_spans(3, 600))
    assert notes(folder, good, line(*step_spans(4, 700))[:-40]) == [
        ":2: the last line is cut off; skipped (the process was killed or still runs)"
    ]


def test_a_last_line_that_lacks_only_its_end_counts(folder: Path) -> None:
    assert notes(folder, line(*step_spans(3, 600)).rstrip("\n")) == []
    assert "0.700" in report(folder).stdout


def test_an_unknown_bucket_is_named_and_counted_apart(folder: Path) -> None:
    assert "other" not in report(folder).stdout
    fancy = span("rl.grpo.fancy", 90, 95, 0, "fancy")
    assert notes(folder, METRICS, line(fancy, fancy)) == [
        ":2: bucket 'fancy' is none of productive, overhead, idle, wasted; counted as other "
        "(1 more like it)"
    ]
    assert "other" in report(folder).stdout


@pytest.mark.parametrize(
    "change",
    [
        {"name": None},
        {"name": 3},
        {"startTimeUnixNano": "soon"},
        {"endTimeUnixNano": "0"},
        {"endTimeUnixNano": None},
        {"startTimeUnixNano": [1]},
        {"attributes": [3]},
        {"attributes": [{"key": "rl.iteration"}]},
        {"attributes": [{"key": [], "value": {"intValue": "1"}}]},
        {"attributes": 5},
        {"endTimeUnixNano": "9" * 400},
        {"endTimeUnixNano": float("inf")},
        {"attributes": [{"key": "rl.iteration", "value": {"intValue": "9" * 400}}]},
        {"attributes": [{"key": "rl.iteration", "value": {"intValue": "-1"}}]},
        {"attributes": [{"key": "rl.iteration", "value": {"stringValue": "x"}}]},
    ],
)
def test_a_broken_span_is_named(folder: Path, change: dict[str, Any]) -> None:
    (said,) = notes(folder, line({**span("rl.grpo.step", 1, 2), **change}))
    assert said.startswith(":1: ")


@pytest.mark.parametrize("value", ["3", "{}", "[3]", '[{"scopeSpans":[{"spans":{}}]}]', "[[]]"])
def test_a_wrong_shape_is_named(folder: Path, value: str) -> None:
    (said,) = notes(folder, f'{{"resourceSpans":{value}}}\n')
    assert said.startswith(":1: not as OTLP has it")


def test_deep_nesting_and_bytes_that_are_no_text_are_broken_lines(folder: Path) -> None:
    (folder / "deep.jsonl").write_bytes(b"[" * 100_000 + b"\n" + b'{"resourceSpans":"\xff"}\n')
    result = report(folder)
    assert result.returncode == 0
    assert f"{folder}/deep.jsonl:1: not JSON; line skipped (1 more" in result.stderr


def test_a_line_without_end_does_not_fill_the_memory(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = line(*step_spans(3, 600))
    monkeypatch.setattr(files, "MAX_LINE_BYTES", 16 * 1024)
    assert notes(folder, "x" * 100_000 + "\n", good, "x" * 16 * 1024) == [
        ":1: line of more than 64 MiB; skipped (1 more like it in this file)"
    ]
    assert "0.700" in report(folder).stdout


def test_without_its_library_it_says_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "rich"]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("terminal", "page", "charts"):
        monkeypatch.delitem(sys.modules, f"rl_telemetry.report.{name}", raising=False)
    monkeypatch.delattr("rl_telemetry.report.terminal", raising=False)
    monkeypatch.setitem(sys.modules, "rich", None)
    assert "needs the module rich; run: pip install 'rl-telemetry[report]'" in fails(folder)


def test_control_characters_of_data_never_reach_the_terminal(folder: Path) -> None:
    wait = span("rl.x", 0, 1, 0, "idle", "idle/\x1b[2J[red]\x07\u202e" + "x" * 9999)
    (folder / "extra.jsonl").write_text(line(wait))
    result = report_process(folder, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert result.returncode == 0
    assert r"idle/\x1b[2J[red]\x07" in result.stdout.replace("\n", "")
    assert not set("\x1b\x07\u202e") & set(result.stdout + result.stderr)


def test_runs_that_are_mixed_are_told_and_can_be_chosen(folder: Path) -> None:
    small_run(folder, "other run")
    both = report(folder)
    assert both.returncode == 0
    assert both.stderr == (
        "note: 2 runs in these files, reported one by one; --run ID takes one: 7, other run\n"
    )
    assert both.stdout.count("Goodput of the driver") == 2
    one = report(folder, "--run", "other run")
    assert one.stderr == ""
    assert one.stdout.count("Goodput of the driver") == 1
    assert one.stdout.startswith("run other run, ")
    assert "no run 'x' in these files; nemo.run.id is: 7, other run" in fails(folder, "--run", "x")


def test_two_drivers_of_a_run_are_reported_one_by_one(folder: Path) -> None:
    assert notes(folder, line(*step_spans(1, 900), pid=2)) == [
        "note: run 7 has 2 drivers (was it restarted?), reported one by one"
    ]
    assert report(folder).stdout.count("Goodput of the driver") == 2


def test_spans_without_a_run_are_a_run(tmp_path: Path) -> None:
    path = tmp_path / "driver.jsonl"
    path.write_text(line(*step_spans(0, 0), run=None))
    assert report(path).stdout.startswith("a run without nemo.run.id, driver node1 pid 1: 1 step,")


def test_no_spans_at_all(tmp_path: Path) -> None:
    (tmp_path / "driver.jsonl").write_text(METRICS)
    assert "no spans in these files" in fails(tmp_path)


def test_workers_alone(tmp_path: Path) -> None:
    (tmp_path / "worker.jsonl").write_text(line(*step_spans(0, 0), group="policy"))
    result = report(tmp_path)
    assert result.returncode == 2
    assert "error: no steps to report" in result.stderr
    assert "was the driver's file given" in result.stderr


def test_paths_that_are_no_run(tmp_path: Path) -> None:
    assert "no such file or folder" in fails(tmp_path / "nowhere")
    assert "no *.jsonl in" in fails(tmp_path)
    assert "is no regular file" in fails(Path("/dev/null"))


def test_wrong_options(folder: Path) -> None:
    page = folder / "page.html"
    assert "no step 9; the steps are 0 to 2" in fails(folder, "--html", page, "--step", "9")
    assert not page.exists()
    assert "add --html FILE" in fails(folder, "--step", "1")
    assert "cannot write" in fails(folder, "--html", folder / "no" / "page.html")
    assert report().returncode == 2


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.binary()
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "resourceSpans",
                        "resource",
                        "attributes",
                        "scopeSpans",
                        "spans",
                        "key",
                        "value",
                        "name",
                        "startTimeUnixNano",
                        "endTimeUnixNano",
                        "status",
                        "code",
                        "intValue",
                    ]
                ),
                inner,
                max_size=6,
            )
        ),
        max_leaves=20,
    ).map(lambda value: json.dumps(value).encode())
)
def test_no_line_whatever_breaks_the_reader(data: bytes) -> None:
    try:
        for process, found in decode(data, lambda problem: None):
            assert isinstance(process.label, str)
            assert 0 < found.start <= found.end
    except LineError as error:
        assert str(error)  # noqa: PT017
