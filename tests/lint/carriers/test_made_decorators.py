"""A decorator of the project that hands its arguments on to the runtime's."""

from __future__ import annotations

from rltel_lint.rules.carriers import CarrierNotAccepted
from rltel_lint.rules.lifecycle import ActorNeverInitialises
from tests.lint.support import lint

WORKER = """
import ray
from rl_telemetry.instrumentation import trace_context_kwargs, traced_worker_init

def loaded(name):
    return traced_worker_init(name)

def other(name):
    return lambda function: function

@ray.remote
class Policy:
    @loaded("rl.policy.load")
    def __init__(self, size):
        self.size = size

    def train(self):
        from rl_telemetry.instrumentation import managed_span
        with managed_span("step", "rl.policy.train"):
            return self.size

def start():
    return Policy.remote(4, **trace_context_kwargs()).train.remote()
"""


def codes(source: str) -> list[str]:
    found = lint({"workers.py": source}, CarrierNotAccepted, ActorNeverInitialises)
    return sorted(finding.code for finding in found)


def test_it_starts_telemetry_and_takes_the_carrier() -> None:
    assert codes(WORKER) == []


def test_another_one_does_neither() -> None:
    assert codes(WORKER.replace("@loaded(", "@other(")) == ["RLT302", "RLT802"]
