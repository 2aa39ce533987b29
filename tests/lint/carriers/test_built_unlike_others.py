"""RLT305: a constructor that can do without a carrier, built without one beside others with one."""

from __future__ import annotations

import pytest

from rltel_lint.rules.carriers import BuiltWithoutCarrier
from tests.lint.support import lint

WORKERS = """
import ray
from rl_telemetry.instrumentation import traced_worker_init

@ray.remote
class Policy:
    @traced_worker_init("rl.policy.load")
    def __init__(self, size):
        self.size = size

@ray.remote
class Critic:
    @traced_worker_init("rl.critic.load")
    def __init__(self, size):
        self.size = size
"""
HEAD = """
from rl_telemetry.instrumentation import trace_context_kwargs
from workers import Critic, Policy
"""
CARRIED = "def start():\n    return Policy.remote(1, **trace_context_kwargs())\n"


def found(loop: str) -> list[int]:
    findings = lint({"workers.py": WORKERS, "loop.py": HEAD + loop}, BuiltWithoutCarrier)
    return [finding.place.line for finding in findings]


@pytest.mark.parametrize(
    "bare",
    [
        "def more():\n    return Policy.remote(1)\n",
        "def more():\n    return Critic.remote(1)\n",
        "def more():\n    return Critic.options(num_cpus=0).remote(1)\n",
    ],
)
def test_built_without_beside_others_with(bare: str) -> None:
    assert found(CARRIED + bare) == [6]
    assert found(CARRIED + bare.replace("(1)", "(1, **trace_context_kwargs())")) == []


def test_options_in_a_variable() -> None:
    bare = "def more():\n    actor = Critic.options(num_cpus=0)\n    return actor.remote(1)\n"
    assert found(CARRIED + bare) == [7]


def test_where_none_is_sent_none_is_wanted() -> None:
    assert found("def start():\n    return Policy.remote(1), Critic.remote(1)\n") == []
