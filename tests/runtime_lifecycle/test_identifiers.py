"""Ids of traces and spans do not depend on what the training code seeds."""

from __future__ import annotations

import random

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

from rl_telemetry.instrumentation import current_trace_carrier, span_cm
from rl_telemetry.lifecycle.identifiers import PrivateIdGenerator
from rl_telemetry.testing import CapturedTelemetry


def _ids_after_the_same_seed(provider: TracerProvider) -> list[str]:
    ids = []
    state = random.getstate()
    try:
        for _ in range(2):
            random.seed(0)
            with provider.get_tracer("test").start_as_current_span("rl.a") as span:
                ids.append(format(span.get_span_context().trace_id, "032x"))
    finally:
        random.setstate(state)
    return ids


def test_the_same_seed_gives_other_ids() -> None:
    ours = _ids_after_the_same_seed(TracerProvider(id_generator=PrivateIdGenerator()))
    assert len(set(ours)) == 2


def test_the_sdks_own_ids_follow_the_seed() -> None:
    theirs = _ids_after_the_same_seed(TracerProvider(id_generator=RandomIdGenerator()))
    assert len(set(theirs)) == 1


def test_a_carrier_says_that_the_trace_id_is_random(
    rl_telemetry_capture: CapturedTelemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = PrivateIdGenerator()
    provider = TracerProvider(id_generator=generator)
    with span_cm("rl.a", tracer=provider.get_tracer("test")):
        flags = int(current_trace_carrier()["traceparent"].rpartition("-")[2], 16)
    assert flags == 0b11  # sampled, and random as of W3C Trace Context level 2
    monkeypatch.setattr(generator, "is_trace_id_random", lambda: False)
    with span_cm("rl.a", tracer=provider.get_tracer("test")):
        flags = int(current_trace_carrier()["traceparent"].rpartition("-")[2], 16)
    assert flags == 0b01
