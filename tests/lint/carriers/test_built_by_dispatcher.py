"""An actor that the runtime's dispatcher builds: its handle is followed like that of ``remote``."""

from __future__ import annotations

import pytest

from rltel_lint.rules.carriers import CarrierNotAccepted, DispatchedWithoutCarrier
from tests.lint.support import lint

CODE = """
from typing import Any

import ray
from rl_telemetry.instrumentation import (
    accepts_trace_context,
    dispatch_with_trace_context,
    trace_context_kwargs,
)

@ray.remote
class Collector:
    @accepts_trace_context
    def __init__(self, size):
        self.size = size

    @accepts_trace_context
    def collect(self):
        return self.size

    def take(self):
        return self.size

def start() -> Any:
    actor_class = Collector.options(num_cpus=0)
    return dispatch_with_trace_context(actor_class, 4)

class Source:
    def __init__(self, collector: Any) -> None:
        self._collector = collector

    def begin(self):
        return self._collector.collect.remote(CARRIER)

    def lag(self):
        return self._collector.take.remote(OTHER)

source = Source(start())
"""


@pytest.mark.parametrize(
    ("collect", "take", "expected"),
    [
        ("**trace_context_kwargs()", "", []),
        ("", "", ["RLT301"]),
        ("**trace_context_kwargs()", "**trace_context_kwargs()", ["RLT302"]),
    ],
)
def test_its_methods(collect: str, take: str, expected: list[str]) -> None:
    source = CODE.replace("CARRIER", collect).replace("OTHER", take)
    found = lint({"collector.py": source}, DispatchedWithoutCarrier, CarrierNotAccepted)
    assert [one.code for one in found] == expected
