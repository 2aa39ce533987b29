from __future__ import annotations

import asyncio
import contextvars
from enum import Enum
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from rl_telemetry import tracing
from rl_telemetry.attributes import REDACTED
from rl_telemetry.instrumentation import (
    NO_SPAN,
    managed_span,
    safe_set_span_attributes,
    span_cm,
    umbrella_span,
)
from rl_telemetry.registry import set_enabled_span_groups
from rl_telemetry.span_groups import RLSpanGroup
from tests.runtime.recording import Recording

GENERATION = RLSpanGroup.GENERATION


class Color(Enum):
    RED = "red"


def test_spans_nest_and_the_current_one_is_restored(recording: Recording) -> None:
    with umbrella_span(RLSpanGroup.U_STEP, "step") as step:
        assert trace.get_current_span() is step
        with managed_span(GENERATION, "leaf") as leaf:
            assert trace.get_current_span() is leaf
        assert trace.get_current_span() is step
    assert not trace.get_current_span().get_span_context().is_valid
    assert recording.named("leaf")["parent_id"] == recording.named("step")["span_id"]


def test_a_site_that_is_off_is_the_shared_null_context(recording: Recording) -> None:
    set_enabled_span_groups(())
    assert managed_span(GENERATION, "x", a=1) is NO_SPAN
    assert umbrella_span(RLSpanGroup.U_STEP, "x") is NO_SPAN
    with NO_SPAN as first, NO_SPAN as second:
        assert first is second is None
    with pytest.raises(ZeroDivisionError), NO_SPAN:
        raise ZeroDivisionError
    assert recording.spans() == []


def test_an_exception_is_recorded_and_goes_on(recording: Recording) -> None:
    with pytest.raises(ValueError, match="broken"), managed_span(GENERATION, "x"):
        raise ValueError("broken")
    span = recording.named("x")
    assert span["status"] == "ERROR"
    assert span["events"] == ["exception"]


@pytest.mark.parametrize("error", [asyncio.CancelledError, GeneratorExit, KeyboardInterrupt])
def test_a_cancellation_is_no_error_of_the_span(
    recording: Recording, error: type[BaseException]
) -> None:
    with pytest.raises(error), managed_span(GENERATION, "x"):
        raise error
    span = recording.named("x")
    assert (span["status"], span["events"]) == ("UNSET", [])


def test_span_cm_has_no_group_and_can_leave_errors_out(recording: Recording) -> None:
    set_enabled_span_groups(())
    with pytest.raises(ValueError, match="broken"), span_cm("x", record_exception=False, a=1):
        raise ValueError("broken")
    span = recording.named("x")
    assert (span["status"], span["events"], span["attributes"]) == ("UNSET", [], {"a": 1})


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("a", 1, 1),
        ("a", 1.5, 1.5),
        ("a", True, True),
        ("a", "text", "text"),
        ("a", [1, 2], (1, 2)),
        ("a", ("x",), ("x",)),
        ("a", Color.RED, "red"),
        ("a", None, None),
        ("a", {"b": 1}, None),
        ("a", [object()], None),
        ("a", object(), None),
        ("prompt", "secret", REDACTED),
        ("token", ["secret"], REDACTED),
        ("token", 3, 3),
        ("rl.token", "kept", "kept"),
    ],
)
def test_only_scalars_reach_a_span_and_secrets_do_not(
    recording: Recording, key: str, value: Any, expected: Any
) -> None:
    with span_cm("at start", **{key: value}):
        pass
    with span_cm("later") as span:
        safe_set_span_attributes(span, {key: value})
    for found in recording.spans():
        assert found["attributes"] == ({} if expected is None else {key: expected})


def test_attributes_can_be_set_on_what_a_site_yielded(recording: Recording) -> None:
    safe_set_span_attributes(None, {"a": 1})
    with managed_span(GENERATION, "x") as span:
        pass
    safe_set_span_attributes(span, {"a": 1})  # ended: neither set nor complained about
    assert recording.warnings() == []
    with span_cm("y") as span:
        safe_set_span_attributes(span, {"mine": "x", "a": "y"}, redact_keys={"mine"})
    assert recording.named("y")["attributes"] == {"mine": REDACTED, "a": "y"}


class Broken:
    """A tracer, or a span, that fails whatever is asked of it."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("no telemetry today")


def test_a_tracer_that_fails_does_not_fail_the_block(recording: Recording) -> None:
    for _ in range(2):
        with managed_span(GENERATION, "x", Broken()) as span:
            assert span is None
    (warning,) = recording.warnings()
    assert "'x' could not be started" in warning


def test_a_span_that_cannot_end_does_not_fail_the_block(recording: Recording) -> None:
    with span_cm("x") as span:
        assert span is not None
        span.end = Broken().__getattr__  # type: ignore[method-assign]
    (warning,) = recording.warnings()
    assert "'x' could not be ended" in warning
    assert not trace.get_current_span().get_span_context().is_valid


def test_an_error_that_cannot_be_printed_is_still_the_callers(recording: Recording) -> None:
    class UnprintableError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    with pytest.raises(UnprintableError), managed_span(GENERATION, "x"):
        raise UnprintableError
    assert recording.named("x")["span_id"]
    (warning,) = recording.warnings()
    assert "UnprintableError" in warning


def test_a_block_left_in_another_context_logs_no_error(recording: Recording) -> None:
    block = span_cm("x")
    contextvars.copy_context().run(block.__enter__)
    block.__exit__(None, None, None)
    assert recording.named("x")
    assert recording.logs == []


def test_a_tracer_of_the_call_wins(recording: Recording) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with managed_span(GENERATION, "x", provider.get_tracer("mine")):
        pass
    assert [span.name for span in exporter.get_finished_spans()] == ["x"]
    assert recording.spans() == []


def test_the_tracer_of_the_global_provider_is_looked_up_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tracing.set_tracer(None)
    first, second = TracerProvider(), TracerProvider()
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: first)
    assert tracing.get_tracer() is tracing.get_tracer()
    before = tracing.get_tracer()
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: second)
    assert tracing.get_tracer() is not before
