"""Classes that are actors without being decorated, and classes that only look like it."""

from __future__ import annotations

import pytest

from tests.lint.carriers.helpers import IMPORTS, check, codes

BODY = """
    @accepts_trace_context
    def step(self, x):
        return x
"""
MADE = {
    "decorated": "@ray.remote\nclass Worker:" + BODY + "\nmake = Worker.remote",
    "decorated with options": "@ray.remote(num_gpus=1)\nclass Worker:" + BODY,
    "imported decorator": "from ray import remote\n\n@remote\nclass Worker:" + BODY,
    "wrapped": "class Plain:" + BODY + "\nWorker = ray.remote(Plain)",
    "wrapped with options": "class Plain:" + BODY + "\nWorker = ray.remote(num_gpus=1)(Plain)",
    "subclass": "class Plain:" + BODY + "\n@ray.remote\nclass Worker(Plain):\n    pass",
}
USE = """
def run():
    worker = Worker.options(num_cpus=1).remote()
    return worker.step.remote(1SEND)
"""
SEND = ", **trace_context_kwargs()"


@pytest.mark.parametrize("form", MADE)
def test_actor_is_recognised(form: str) -> None:
    text = IMPORTS + MADE[form] + "\n" + USE
    assert codes({"loop.py": text.replace("SEND", SEND)}) == []
    assert codes({"loop.py": text.replace("SEND", "")}) == ["RLT301"]
    undecorated = text.replace("    @accepts_trace_context\n", "")
    assert codes({"loop.py": undecorated.replace("SEND", SEND)}) == ["RLT302"]


BACKENDS = {
    "pkg/__init__.py": "",
    "pkg/left.py": IMPORTS
    + """
class LeftWorker:
    @accepts_trace_context
    def train_presharded(self, data):
        return data
""",
    "pkg/right.py": IMPORTS
    + """
class RightWorker:
    @accepts_trace_context
    def train_presharded(self, data):
        return data
""",
    "pkg/policy.py": IMPORTS
    + """
from pkg.groups import WorkerBuilder, WorkerGroup

class Policy:
    def __init__(self, cluster, megatron):
        if megatron:
            name = "pkg.left.LeftWorker"
        else:
            name = "pkg.right.RightWorker"
        builder = WorkerBuilder(name, cluster)
        self.worker_group = WorkerGroup(cluster, builder, workers=2)

    def train(self, data):
        return self.worker_group.run_all_workers_sharded_data(
            "train_presharded", data=data, **trace_context_kwargs()
        )
""",
    "pkg/groups.py": """
class WorkerBuilder:
    def __init__(self, name, *args):
        self.name = name

class WorkerGroup:
    def __init__(self, cluster, builder, workers):
        self.builder = builder

    def run_all_workers_sharded_data(self, method_name, *args, **kwargs):
        return [getattr(worker, method_name).remote(**kwargs) for worker in self.builder]
""",
}


def test_decorated_backend_does_not_hide_an_undecorated_one() -> None:
    assert codes(BACKENDS) == []
    right = BACKENDS["pkg/right.py"].replace("    @accepts_trace_context\n", "")
    (finding,) = check({**BACKENDS, "pkg/right.py": right})
    assert (finding.code, finding.place.path) == ("RLT302", "pkg/right.py")


def test_presharded_entry_point_without_carrier() -> None:
    bare = BACKENDS["pkg/policy.py"].replace(", **trace_context_kwargs()", "")
    (finding,) = check({**BACKENDS, "pkg/policy.py": bare})
    assert (finding.code, finding.place.path) == ("RLT301", "pkg/policy.py")


def test_backends_of_one_interface_are_alike() -> None:
    text = (
        IMPORTS
        + """
class Interface:
    def step(self, x):
        raise NotImplementedError

@ray.remote
class Left(Interface):
    @accepts_trace_context
    def step(self, x):
        return x

@ray.remote
class Right(Interface):
    @accepts_trace_context
    def step(self, x):
        return x

def run(group):
    group.run_all_workers_single_data("step", **trace_context_kwargs())
"""
    )
    assert codes({"loop.py": text}) == []
    half = text.replace(
        "class Right(Interface):\n    @accepts_trace_context", "class Right(Interface):"
    )
    (finding,) = check({"loop.py": half})
    assert finding.message.startswith("Right.step is sent a trace context")
    strangers = half.replace("class Right(Interface):", "class Right:")
    assert codes({"loop.py": strangers}) == []


def test_actor_of_another_project_is_not_ours() -> None:
    text = (
        IMPORTS
        + """
from elsewhere import Queue

@ray.remote
class Buffer:
    @accepts_trace_context
    def put(self, x):
        return x

def run():
    Buffer.remote().put.remote(1, **trace_context_kwargs())
    HANDLE.put.remote(1)
"""
    )
    assert codes({"loop.py": text.replace("HANDLE", "Queue.remote()")}) == []
    assert codes({"loop.py": text.replace("HANDLE", "Buffer.remote()")}) == ["RLT301"]


def test_dispatch_in_examples_counts() -> None:
    worker = IMPORTS + "@ray.remote\nclass Worker:" + BODY
    use = IMPORTS + "from workers import Worker\n" + USE
    files = {"workers.py": worker, "examples/run.py": use.replace("SEND", SEND)}
    assert codes(files) == []
    assert codes({"workers.py": worker}) == ["RLT303"]
    files["examples/run.py"] = use.replace("SEND", "")
    assert codes(files) == ["RLT301"]
