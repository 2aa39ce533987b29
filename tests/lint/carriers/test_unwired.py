"""A remote method that opens spans while neither half carries the trace (RLT304)."""

from __future__ import annotations

import pytest

from tests.lint.carriers.helpers import IMPORTS, check, codes

WIRED = """
@ray.remote
class Wired:
    @accepts_trace_context
    def go(self):
        return 1

def wire():
    Wired.remote().go.remote(**trace_context_kwargs())
"""
SPAN = 'with managed_span(RLSpanGroup.GENERATION, "rl.worker.step"):'
WORKER = (
    IMPORTS
    + WIRED
    + f"""
@ray.remote
class Worker:
    def step(self, x):
        {SPAN}
            return x

def run():
    worker = Worker.remote()
    return worker.step.remote(1)
"""
)


def test_method_that_opens_a_span() -> None:
    (finding,) = check({"loop.py": WORKER})
    assert finding.code == "RLT304"
    assert finding.message == (
        'Worker.step opens span "rl.worker.step" in another process, and no trace context is sent '
        "or accepted, so it starts a new trace; decorate it with @accepts_trace_context and add "
        "**trace_context_kwargs() at the call"
    )
    assert [near.message for near in finding.related] == [
        "the span is opened here",
        "dispatched here",
    ]


CLEAN = {
    "no span": (f"{SPAN}\n            return x", "return x"),
    "never dispatched": ("worker.step.remote(1)", "worker.other.remote(1)"),
    "unknown keywords": ("worker.step.remote(1)", "worker.step.remote(1, **unknown_to_all())"),
    "reopened by hand": (SPAN, f"with remote_trace_context(x), {SPAN[5:]}"),
    "job": ("RLSpanGroup.GENERATION", "RLSpanGroup.JOB"),
    "model init": ("RLSpanGroup.GENERATION", "RLSpanGroup.MODEL_INIT"),
    "group not known": ("RLSpanGroup.GENERATION", "x.group"),
    "constructor": ("def step(self, x)", "def __init__(self, x)"),
    "only called": ("worker.step.remote(1)", "Worker.step(worker, 1)"),
}


@pytest.mark.parametrize("case", CLEAN)
def test_left_alone(case: str) -> None:
    old, new = CLEAN[case]
    assert old in WORKER
    assert codes({"loop.py": WORKER.replace(old, new)}) == []


def test_one_half_is_another_finding() -> None:
    accepting = WORKER.replace("    def step", "    @accepts_trace_context\n    def step")
    assert codes({"loop.py": accepting}) == ["RLT301"]
    sent = WORKER.replace("step.remote(1)", "step.remote(1, **trace_context_kwargs())")
    assert codes({"loop.py": sent}) == ["RLT302"]
    both = accepting.replace("step.remote(1)", "step.remote(1, **trace_context_kwargs())")
    assert codes({"loop.py": both}) == []


CHAIN = (
    IMPORTS
    + WIRED
    + """
def third():
    SPAN
        return 1

def second():
    return third()

class Helper:
    def first(self):
        return second()

class Other:
    def first(self):
        return 1

@ray.remote
class Worker:
    def __init__(self):
        self.helper = Helper()

    def step(self):
        return self.helper.first()

def run():
    return Worker.remote().step.remote()
"""
)


def test_span_reached_through_functions() -> None:
    text = CHAIN.replace("SPAN", SPAN)
    (finding,) = check({"loop.py": text})
    assert (finding.code, finding.message.split()[0]) == ("RLT304", "Worker.step")
    assert codes({"loop.py": text.replace("self.helper = Helper()", "self.helper = Other()")}) == []


def test_span_in_another_actor_is_not_reached() -> None:
    text = CHAIN.replace("SPAN", SPAN).replace("return third()", "return third.remote()")
    assert codes({"loop.py": text}) == []


def test_reopened_on_the_way() -> None:
    text = CHAIN.replace("SPAN", SPAN).replace(
        "    return third()", "    with remote_trace_context(load()):\n        return third()"
    )
    assert codes({"loop.py": text}) == []
    assert codes({"loop.py": text.replace("remote_trace_context(load())", "other(load())")}) == [
        "RLT304"
    ]


def test_actor_with_the_carrier_in_its_constructor() -> None:
    text = (
        IMPORTS
        + f"""
@ray.remote
class Collector:
    def __init__(self, trace_carrier=None):
        self._carrier = trace_carrier

    def collect(self):
        with remote_trace_context(self._carrier):
            self._collect()

    def _collect(self):
        {SPAN}
            return 1

    def flush(self):
        {SPAN}
            return 1

def run():
    collector = Collector.remote(trace_carrier=current_trace_carrier())
    collector.collect.remote()
    collector.flush.remote()
"""
    )
    assert codes({"loop.py": text}) == []
    without = text.replace("trace_carrier=None", "other=None").replace(
        "trace_carrier=current_trace_carrier()", "current_trace_carrier()"
    )
    assert codes({"loop.py": without}) == ["RLT304"]


def test_project_that_carries_nothing_gets_one_finding() -> None:
    text = (
        IMPORTS
        + "\n@ray.remote\nclass Worker:\n"
        + "".join(
            f'    def m{i}(self):\n        with managed_span(RLSpanGroup.REWARD, "rl.m{i}"):\n'
            f"            return {i}\n\n"
            for i in range(3)
        )
        + "def run(w: Worker):\n"
        + "".join(f"    w.m{i}.remote()\n" for i in range(3))
    )
    (finding,) = check({"loop.py": text})
    assert finding.code == "RLT304"
    assert finding.message.startswith(
        'Worker.m0 opens span "rl.m0" in another process and no trace is carried there, nor do 2 '
    )
    assert [near.message for near in finding.related] == [
        "dispatched here",
        "so does Worker.m1",
        "so does Worker.m2",
    ]
    assert codes({"loop.py": text + WIRED}) == ["RLT304"] * 3


def test_family_wired_on_neither_side() -> None:
    text = (
        IMPORTS
        + WIRED
        + "".join(
            f"""
@ray.remote
class Worker{i}:
    def begin_step(self):
        {SPAN}
            return {i}
"""
            for i in range(2)
        )
        + """
def run(group):
    group.run_all_workers_single_data("begin_step")
"""
    )
    assert codes({"loop.py": text}) == ["RLT304", "RLT304"]
    one = text.replace(f"{SPAN}\n            return 1", "return 1")
    assert codes({"loop.py": one}) == []


def test_another_way_to_name_the_parent() -> None:
    text = WORKER.replace(
        SPAN, 'with tracer.start_as_current_span("rl.worker.step", context=extract(x)):'
    ).replace(
        "import ray\n",
        "import ray\nfrom opentelemetry import trace\n"
        "from opentelemetry.propagate import extract\ntracer = trace.get_tracer('rl')\n",
    )
    assert codes({"loop.py": text}) == []
    assert codes({"loop.py": text.replace(", context=extract(x)", "")}) == ["RLT304"]
