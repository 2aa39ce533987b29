from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
import time
from typing import Any

import pytest

from rl_telemetry import registry, setup
from rl_telemetry.config import TelemetryConfig
from rl_telemetry.testing import CapturedTelemetry
from tests.support.otlp_receiver import closed_port, http_receiver, silent_socket

MASTER = {"telemetry": {"enabled": True, "span_groups": "all"}}


def start(endpoint: str, protocol: str = "http/protobuf", **variables: str) -> Any:
    os.environ.update(
        OTEL_EXPORTER_OTLP_ENDPOINT=endpoint, OTEL_EXPORTER_OTLP_PROTOCOL=protocol, **variables
    )
    handle = setup.init_telemetry_driver(MASTER, "grpo")
    assert handle is not None
    return handle


def losses(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        record.getMessage()
        for record in caplog.records
        if record.name.startswith("rl_telemetry") and "not delivered" in record.getMessage()
    ]


def test_shutdown_without_init_does_nothing(caplog: pytest.LogCaptureFixture) -> None:
    setup.shutdown_telemetry()
    assert setup.flush_telemetry() is True
    assert caplog.records == []


def test_a_healthy_shutdown_delivers_everything_and_says_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with http_receiver() as (received, endpoint):
        handle = start(endpoint)
        handle.meter.create_counter("made").add(1)
        for number in range(50):
            handle.tracer.start_span(f"s{number}").end()
        setup.shutdown_telemetry()
    assert len(received.spans) == 50
    assert "made" in received.metrics
    assert losses(caplog) == []
    assert registry.enabled_span_groups() == frozenset()
    assert setup.get_telemetry_handle() is None
    assert not handle.is_exporting


def test_telemetry_that_was_shut_down_does_not_start_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with http_receiver() as (_, endpoint):
        start(endpoint)
        setup.shutdown_telemetry()
        assert setup.init_telemetry_driver(MASTER, "grpo") is None
    assert any("does not start again" in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
@pytest.mark.parametrize("collector", [closed_port, silent_socket])
def test_a_dead_collector_cannot_hold_up_shutdown(
    collector: Any, protocol: str, caplog: pytest.LogCaptureFixture
) -> None:
    with collector() as endpoint:
        handle = start(endpoint, protocol)
        handle.meter.create_counter("made").add(1)
        for _ in range(700):
            handle.tracer.start_span("s").end()
        began = time.monotonic()
        assert setup.flush_telemetry(200) is False
        assert time.monotonic() - began < 1.0
        began = time.monotonic()
        handle.shutdown(timeout_ms=400)
        handle.shutdown(timeout_ms=400)
        assert time.monotonic() - began < 1.2
        setup.shutdown_telemetry()
    assert len(losses(caplog)) == 1
    assert "700 of 700 spans" in losses(caplog)[0]
    assert registry.enabled_span_groups() == frozenset()


def test_what_a_slow_collector_did_not_take_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    with http_receiver(delay_s=0.3) as (received, endpoint):
        handle = start(
            endpoint, OTEL_BSP_MAX_EXPORT_BATCH_SIZE="10", OTEL_BSP_SCHEDULE_DELAY="60000"
        )
        for _ in range(100):
            handle.tracer.start_span("s").end()
        setup.shutdown_telemetry(timeout_ms=1000)
        match = re.search(r"within 1 s and dropped: (\d+) of 100 spans", losses(caplog)[0])
        assert match is not None
        lost = int(match[1])
        assert 0 < lost < 100
        # One batch may be on its way when the budget ends; it was not confirmed in time.
        assert 100 - lost <= len(received.spans) <= 100 - lost + 10


SCRIPT = """
import atexit, logging, os, sys, time
# Registered first, so called last.
atexit.register(lambda: print("it took", time.monotonic() - began, flush=True))
logging.basicConfig(level=logging.WARNING, format="%(name)s %(message)s")
from rl_telemetry import setup
handle = setup.init_telemetry_driver({"telemetry": {"enabled": True}}, "grpo")
handle.meter.create_counter("made").add(1)
for _ in range(3000):
    handle.tracer.start_span("s").end()
began = time.monotonic()
if sys.argv[1] == "explicit":
    setup.shutdown_telemetry(5000)
"""


def test_full_size_against_dead_collectors_with_and_without_an_explicit_shutdown() -> None:
    """3,000 spans and a metric: the call keeps 5.5 s, and so does the end of the process."""
    with closed_port() as closed, silent_socket() as silent:
        running = {
            (name, protocol, how): subprocess.Popen(
                [sys.executable, "-c", SCRIPT, how],
                env={
                    **os.environ,
                    "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
                    "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
                    "OTEL_BSP_MAX_QUEUE_SIZE": "4096",
                },
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for name, endpoint in (("closed", closed), ("silent", silent))
            for protocol in ("http/protobuf", "grpc")
            for how in ("explicit", "at-exit")
        }
        for case, process in running.items():
            out, err = process.communicate(timeout=60)
            assert process.returncode == 0, (case, err)
            assert "3000 of 3000 spans" in err, (case, err)
            assert float(out.split()[-1]) < 5.5, case


def test_open_spans_are_ended_innermost_first_and_marked() -> None:
    with http_receiver() as (received, endpoint):
        handle = start(endpoint)
        opened = handle.tracer.start_as_current_span
        with opened("rl.grpo.job"), opened("rl.grpo.step"):
            handle.tracer.start_span("wait")
            handle.tracer.start_span("done").end()
            setup.shutdown_telemetry()
    assert received.span_names == ["done", "wait", "rl.grpo.step", "rl.grpo.job"]
    by_name = {span.name: span for span in received.spans}
    truncated = {
        name
        for name, span in by_name.items()
        if any(a.key == "nemo.span.truncated" and a.value.bool_value for a in span.attributes)
    }
    assert truncated == {"wait", "rl.grpo.step", "rl.grpo.job"}
    assert [event.name for event in by_name["wait"].events] == ["nemo.span.truncated"]
    assert {span.status.code for span in received.spans} == {0}
    assert by_name["wait"].parent_span_id == by_name["rl.grpo.step"].span_id


def test_a_failing_exporter_is_counted_and_fails_nothing(caplog: pytest.LogCaptureFixture) -> None:
    from opentelemetry.sdk.trace.export import SpanExporter

    class Broken(SpanExporter):
        def export(self, spans: Any) -> Any:
            raise OSError("disk full")

    handle = setup.setup_telemetry(
        TelemetryConfig(enabled=True, exporter="console", metrics_enabled=False),
        resource_attributes={"nv.dl.rank": 0},
        span_exporter=Broken(),
    )
    handle.tracer.start_span("x").end()
    setup.shutdown_telemetry()
    assert losses(caplog) == [
        "telemetry shutdown: not delivered and dropped: 1 of 1 spans. Is the collector reachable?"
    ]


def test_many_spans_that_never_end_do_not_grow_the_table_for_ever(
    rl_telemetry_capture: CapturedTelemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rl_telemetry.lifecycle.open_spans.MAX_TRACKED", 3)
    tracer = rl_telemetry_capture.handle.tracer
    spans = [tracer.start_span(f"s{number}") for number in range(5)]
    spans[4].end()  # not tracked, exported all the same
    rl_telemetry_capture.handle.shutdown()
    exported = rl_telemetry_capture._spans.get_finished_spans()
    assert [span.name for span in exported] == ["s4", "s2", "s1", "s0"]


def test_an_export_does_not_log_itself_in_a_loop() -> None:
    with closed_port() as endpoint:
        handle = start(endpoint, RL_TELEMETRY_LOGS_ENABLED="1", OTEL_EXPORTER_OTLP_TIMEOUT="1")
        logging.getLogger("train").warning("once")
        assert setup.flush_telemetry(3000) is False
        logs = handle._pipelines[-1]
        assert logs.undelivered() == (1, "log records")
        setup.shutdown_telemetry(500)
