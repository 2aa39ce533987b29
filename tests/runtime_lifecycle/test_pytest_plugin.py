from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TESTS = """
import os
import pytest
from opentelemetry import trace
from rl_telemetry import registry, setup
from rl_telemetry.instrumentation import iteration_scope, managed_span
from rl_telemetry.metrics import tee_rl_metrics_to_otel
from rl_telemetry.span_groups import RLSpanGroup

@pytest.mark.parametrize("round", [1, 2])
def test_capture(rl_telemetry_capture, round):
    with iteration_scope(3), managed_span(RLSpanGroup.GENERATION, "rl.grpo.generation"):
        trace.get_tracer("other library").start_span("http").end()
    tee_rl_metrics_to_otel({"loss": 0.5}, "train")
    assert rl_telemetry_capture.span_names == ["http", "rl.grpo.generation"]
    span = rl_telemetry_capture.span("rl.grpo.generation")
    assert span.attributes == {"rl.bucket": "productive", "rl.iteration": 3}
    assert rl_telemetry_capture.value("rl.policy.loss") == 0.5
    assert rl_telemetry_capture.value("rl.value.loss") is None
    with pytest.raises(AssertionError, match="0 spans 'absent'"):
        rl_telemetry_capture.span("absent")
    rl_telemetry_capture.clear()
    assert rl_telemetry_capture.spans == []

def test_files(rl_telemetry_files):
    assert "OTEL_SERVICE_NAME" not in os.environ
    handle = setup.init_telemetry_driver({}, "grpo")
    handle.tracer.start_span("x").end()
    assert rl_telemetry_files.span("x").resource["rl.algorithm"] == "grpo"
    with pytest.raises(AssertionError, match="no span 'absent' among"):
        rl_telemetry_files.span("absent", timeout_s=0)

def test_nothing_is_left_behind():
    assert setup.get_telemetry_handle() is None
    assert registry.enabled_span_groups() == frozenset()
    assert "RL_TELEMETRY_ENABLED" not in os.environ
    assert os.environ["OTEL_SERVICE_NAME"] == "outer"
    assert isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)

def test_a_wrong_expectation_fails(rl_telemetry_capture):
    rl_telemetry_capture.span("rl.grpo.step")
"""


def run_pytest(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments, str(folder)],
        cwd=folder,
        env={**os.environ, "OTEL_SERVICE_NAME": "outer"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_fixtures_in_a_project_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(TESTS)
    result = run_pytest(tmp_path)
    assert "1 failed, 4 passed" in result.stdout, result.stdout + result.stderr
    assert "0 spans 'rl.grpo.step' among []" in result.stdout


def test_an_unused_plugin_imports_no_telemetry(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        "import sys\n"
        "def test_it():\n"
        "    assert 'rl_telemetry.pytest_plugin' in sys.modules\n"
        "    assert [m for m in sys.modules if m.startswith('opentelemetry')] == []\n"
    )
    # A plugin of the SDK itself would load it; only ours is looked at.
    result = run_pytest(tmp_path)
    assert "1 passed" in result.stdout, result.stdout + result.stderr
