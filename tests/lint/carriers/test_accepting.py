"""Which methods accept a carrier: class by class, however the decorator is put on."""

from __future__ import annotations

import pytest

from tests.lint.carriers.helpers import IMPORTS, check, codes

USE = """
def run():
    worker = Worker.remote()
    return worker.step.remote(1SEND)
"""
SEND = ", **trace_context_kwargs()"

ACCEPTING = {
    "bare": "    @accepts_trace_context\n    def step(self, x):\n        return x",
    "call form": "    @accepts_trace_context()\n    def step(self, x):\n        return x",
    "under another": "    @functools.cache\n    @accepts_trace_context\n    def step(self, x):\n"
    "        return x",
    "attribute": "    @instrumentation.accepts_trace_context\n    def step(self, x):\n"
    "        return x",
    "alias": "    @takes_context\n    def step(self, x):\n        return x",
    "own decorator": "    @wired\n    def step(self, x):\n        return x",
    "own decorator by hand": "    @by_hand\n    def step(self, x):\n        return x",
    "assignment": "    def step(self, x):\n        return x\n\n"
    "    step = accepts_trace_context(step)",
    "parameter": "    def step(self, x, _otel_carrier=None):\n        return x",
    "popped": "    def step(self, x, **kwargs):\n        kwargs.pop('_otel_carrier', None)\n"
    "        return x",
    "generator": "    @accepts_trace_context\n    async def step(self, x):\n        yield x",
}
HEAD = (
    IMPORTS
    + """
from rl_telemetry import instrumentation
from rl_telemetry.instrumentation import accepts_trace_context as takes_context

def wired(method):
    return accepts_trace_context(functools.wraps(method)(method))

def by_hand(method):
    def wrapper(*args, _otel_carrier=None, **kwargs):
        with remote_trace_context(_otel_carrier):
            return method(*args, **kwargs)
    return wrapper

@ray.remote
class Worker:
"""
)


def project(member: str, send: str = "") -> dict[str, str]:
    return {"loop.py": HEAD + member + "\n" + USE.replace("SEND", send)}


@pytest.mark.parametrize("form", ACCEPTING)
def test_an_accepting_method_may_be_sent_a_carrier(form: str) -> None:
    assert codes(project(ACCEPTING[form], SEND)) == []


@pytest.mark.parametrize("form", ACCEPTING)
def test_an_accepting_method_must_be_sent_a_carrier(form: str) -> None:
    assert codes(project(ACCEPTING[form])) == ["RLT301"]


NOT_ACCEPTING = {
    "plain": "    def step(self, x):\n        return x",
    "other decorator": "    @functools.cache\n    def step(self, x):\n        return x",
    "own decorator": "    @silent\n    def step(self, x):\n        return x",
    "sibling of an accepting one": "    @accepts_trace_context\n    def stop(self):\n"
    "        return 1\n\n    def step(self, x):\n        return x",
}


@pytest.mark.parametrize("form", NOT_ACCEPTING)
def test_a_method_that_does_not_accept_is_found_when_sent_a_carrier(form: str) -> None:
    files = project(NOT_ACCEPTING[form], SEND)
    files["loop.py"] = files["loop.py"].replace(
        "@ray.remote", "def silent(method):\n    return method\n\n@ray.remote"
    )
    assert "RLT302" in codes(files)
    files["loop.py"] = files["loop.py"].replace(SEND, "")
    assert "RLT302" not in codes(files)


def test_the_finding_stands_at_the_method() -> None:
    files = project(NOT_ACCEPTING["plain"], SEND)
    (finding,) = check(files)
    assert files["loop.py"].strip().splitlines()[finding.place.line - 1] == "    def step(self, x):"
    assert (finding.place.column, finding.place.end_column) == (9, 13)
    assert [near.message for near in finding.related] == ["sent here"]


def test_unknown_keywords_may_take_the_carrier() -> None:
    assert codes(project("    def step(self, x, **options):\n        return x", SEND)) == []
    assert codes(project("    def step(self, x, *options):\n        return x", SEND)) == ["RLT302"]


CLASSES = (
    IMPORTS
    + """
class Base:
    @accepts_trace_context
    def step(self, x):
        return x

@ray.remote
class Worker(Base):
    OVERRIDE
"""
    + USE
)


def test_inherited_method_accepts() -> None:
    clean = CLASSES.replace("OVERRIDE", "pass")
    assert codes({"loop.py": clean.replace("SEND", SEND)}) == []
    assert codes({"loop.py": clean.replace("SEND", "")}) == ["RLT301"]


def test_override_without_decorator_does_not_accept() -> None:
    override = "def step(self, x):\n        return super().step(x)"
    decorated = CLASSES.replace("OVERRIDE", f"@accepts_trace_context\n    {override}")
    assert codes({"loop.py": decorated.replace("SEND", SEND)}) == []
    plain = CLASSES.replace("OVERRIDE", override)
    assert codes({"loop.py": plain.replace("SEND", SEND)}) == ["RLT302"]


SIBLINGS = (
    IMPORTS
    + """
@ray.remote
class Left:
    @accepts_trace_context
    def step(self, x):
        return x

@ray.remote
class Right:
    DECORATOR
    def step(self, x):
        return x

def run():
    left, right = Left.remote(), Right.remote()
    left.step.remote(1, **trace_context_kwargs())
    right.step.remote(1, **trace_context_kwargs())
"""
)


def test_decorated_sibling_of_another_class_hides_nothing() -> None:
    assert codes({"loop.py": SIBLINGS.replace("DECORATOR", "@accepts_trace_context")}) == []
    (finding,) = check({"loop.py": SIBLINGS.replace("    DECORATOR\n", "")})
    assert finding.code == "RLT302"
    assert finding.message.startswith("Right.step is sent")


def test_method_of_unknown_class_needs_all_to_agree() -> None:
    unknown = (
        SIBLINGS.partition("def run")[0]
        + """
def run(name):
    ray.get_actor(name).step.remote(1)
"""
    )
    one = {"loop.py": unknown.replace("    DECORATOR\n", "")}
    both = {"loop.py": unknown.replace("DECORATOR", "@accepts_trace_context")}
    assert codes(one) == []
    assert codes(both) == ["RLT301"]


def test_assignment_on_the_class_from_outside() -> None:
    plain = project("    def step(self, x):\n        return x", SEND)["loop.py"]
    late = "\nWorker.step = accepts_trace_context(Worker.step)\n"
    assert codes({"loop.py": plain + late}) == []
    assert codes({"loop.py": plain + late.replace("Worker.step =", "other =")}) == ["RLT302"]


def test_accepting_method_that_nothing_dispatches() -> None:
    files = project(
        "    @accepts_trace_context\n    def step(self, x):\n        return x\n\n"
        "    @accepts_trace_context\n    def finish_step(self):\n        return 1",
        SEND,
    )
    (finding,) = check(files)
    assert (finding.code, finding.message) == (
        "RLT303",
        "Worker.finish_step accepts a trace context but is never dispatched; dispatch it with "
        "one or stop accepting it",
    )
    more = "\ndef end(worker: Worker):\n    worker.finish_step.remote(**trace_context_kwargs())\n"
    files["loop.py"] += more
    assert codes(files) == []


@pytest.mark.parametrize(
    "use",
    [
        "def end(pool, worker):\n    pool.submit(worker.finish_step)\n",
        "NAMES = ['finish_step']\n",
        "def end(worker, names):\n    for name in names:\n        getattr(worker, name).remote()\n",
    ],
    ids=["passed on", "named in a string", "any name"],
)
def test_a_method_that_may_be_dispatched_elsewhere_is_left_alone(use: str) -> None:
    member = (
        "    @accepts_trace_context\n    def step(self, x):\n        return x\n\n"
        "    @accepts_trace_context\n    def finish_step(self):\n        return 1"
    )
    files = project(member, SEND)
    assert codes(files) == ["RLT303"]
    files["loop.py"] += use
    assert codes(files) == []


def test_tasks_accept_too() -> None:
    task = (
        IMPORTS
        + """
@ray.remote
@accepts_trace_context
def reward(batch):
    return batch

def run(batch):
    return reward.remote(batchSEND)
"""
    )
    assert codes({"loop.py": task.replace("SEND", SEND)}) == []
    assert codes({"loop.py": task.replace("SEND", "")}) == ["RLT301"]


def test_constructor_that_accepts() -> None:
    built = (
        IMPORTS
        + """
@ray.remote
class Worker:
    @accepts_trace_context
    def __init__(self, size):
        self.size = size

def run():
    return Worker.options(num_gpus=1).remote(1SEND)
"""
    )
    assert codes({"loop.py": built.replace("SEND", SEND)}) == []
    assert codes({"loop.py": built.replace("SEND", "")}) == ["RLT301"]


def test_traced_constructor_may_be_a_root() -> None:
    built = (
        IMPORTS
        + """
from rl_telemetry.contrib.worker_init import traced_worker_init

@ray.remote
class Worker:
    @traced_worker_init("rl.policy.load_model")
    def __init__(self, size):
        self.size = size

def run():
    return Worker.remote(1SEND)
"""
    )
    assert codes({"loop.py": built.replace("SEND", "")}) == []
    assert codes({"loop.py": built.replace("SEND", SEND)}) == []
    plain = built.replace('    @traced_worker_init("rl.policy.load_model")\n', "")
    assert codes({"loop.py": plain.replace("SEND", SEND)}) == ["RLT302"]
