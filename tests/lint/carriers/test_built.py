"""An actor built without the carrier that its constructor takes (RLT305)."""

from __future__ import annotations

import pytest

from tests.lint.carriers.helpers import IMPORTS, check, codes

ACTOR = (
    IMPORTS
    + """
@ray.remote
class Collector:
    def __init__(self, buffer, trace_carrier=None, size=1):
        self._buffer = buffer
        self._carrier = trace_carrier or {}

    def collect(self):
        with remote_trace_context(self._carrier):
            return self._buffer

def run(buffer, options):
    return BUILD
"""
)
CLEAN = [
    "Collector.remote(buffer, trace_carrier=current_trace_carrier())",
    "Collector.remote(buffer, current_trace_carrier())",
    "Collector.options(num_cpus=1).remote(buffer, trace_carrier=options)",
    "Collector.remote(*options)",
    "Collector.remote(buffer, **options)",
    "Collector.remote(**{'buffer': buffer, 'trace_carrier': current_trace_carrier()})",
    "Collector(buffer)",
]
FAULTY = [
    "Collector.remote(buffer)",
    "Collector.remote(buffer, size=2)",
    "Collector.options(num_cpus=1).remote(buffer)",
    "Collector.remote(**{'buffer': buffer})",
]


@pytest.mark.parametrize("build", CLEAN)
def test_built_with_the_carrier_or_unknown(build: str) -> None:
    assert codes({"loop.py": ACTOR.replace("BUILD", build)}) == []


@pytest.mark.parametrize("build", FAULTY)
def test_built_without_the_carrier(build: str) -> None:
    (finding,) = check({"loop.py": ACTOR.replace("BUILD", build)})
    assert finding.code == "RLT305"
    assert finding.message == (
        "Collector takes its trace context as trace_carrier but is built without it, so its spans "
        "start a new trace; pass trace_carrier=current_trace_carrier()"
    )
    (near,) = finding.related
    assert near.message == "taken here"


def test_parameter_that_is_not_used() -> None:
    faulty = ACTOR.replace("BUILD", FAULTY[0])
    assert codes({"loop.py": faulty}) == ["RLT305"]
    assert codes({"loop.py": faulty.replace("trace_carrier or {}", "{}")}) == []


def test_carrier_of_another_kind() -> None:
    faulty = ACTOR.replace("BUILD", FAULTY[0])
    radio = faulty.replace("trace_carrier", "carrier_frequency").replace(
        "with remote_trace_context(self._carrier)", "with tuned(self._carrier)"
    )
    assert codes({"loop.py": faulty.replace("trace_carrier", "carrier")}) == ["RLT305"]
    assert codes({"loop.py": radio}) == []


def test_every_place_that_builds_it() -> None:
    two = ACTOR.replace("BUILD", "[Collector.remote(buffer), Collector.remote(buffer, options)]")
    assert codes({"loop.py": two}) == ["RLT305"]
    other = IMPORTS + "from loop import Collector\n\ndef more():\n    return Collector.remote(1)\n"
    assert codes({"loop.py": two, "more.py": other}) == ["RLT305", "RLT305"]


def test_inherited_constructor() -> None:
    base = ACTOR.replace("@ray.remote\nclass Collector", "class Base").replace(
        "def run", "@ray.remote\nclass Collector(Base):\n    pass\n\ndef run"
    )
    assert codes({"loop.py": base.replace("BUILD", CLEAN[0])}) == []
    assert codes({"loop.py": base.replace("BUILD", FAULTY[0])}) == ["RLT305"]
