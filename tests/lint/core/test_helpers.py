"""Span helpers: a project's own, to any depth, raw tracers, and what only looks like one."""

from __future__ import annotations

import pytest

from tests.lint.core.support import IMPORTS, check, groups, named, sites
from tests.lint.support import project

CONTEXT = "from contextlib import contextmanager, asynccontextmanager, ExitStack\n"

HELPERS = {
    "context manager": """
@contextmanager
def phase(name):
    with managed_span(RLSpanGroup.REWARD, f"rl.{name}"):
        yield
with phase("a"):
    ...
""",
    "asynchronous context manager": """
@asynccontextmanager
async def phase(name):
    with managed_span(RLSpanGroup.REWARD, f"rl.{name}"):
        yield
async def train():
    async with phase("a"):
        ...
""",
    "returned context": """
def phase(name, **attributes):
    return managed_span(RLSpanGroup.REWARD, f"rl.{name}", **attributes)
with phase("a", x=1):
    ...
""",
    "returned through a variable": """
def phase(name):
    if off():
        return nullcontext()
    span = managed_span(RLSpanGroup.REWARD, f"rl.{name}")
    return span
with phase("a"):
    ...
""",
    "opened and ended inside": """
def phase(name, work):
    with managed_span(RLSpanGroup.REWARD, f"rl.{name}"):
        work()
phase("a", print)
""",
    "decorator factory": """
def traced(name):
    def decorate(fn):
        def inner(*args):
            with managed_span(RLSpanGroup.REWARD, f"rl.{name}"):
                return fn(*args)
        return inner
    return decorate
@traced("a")
def work():
    ...
""",
    "decorator factory around a decorator": """
def traced(name):
    return trace_fn(RLSpanGroup.REWARD, f"rl.{name}")
@traced("a")
def work():
    ...
""",
    "helper of helpers": """
def one(name):
    return managed_span(RLSpanGroup.REWARD, name)
def two(tail):
    return one("rl." + tail)
@contextmanager
def three(tail):
    with two(tail):
        yield
with three("a"):
    ...
""",
    "method": """
class Tracing:
    def __init__(self, prefix):
        self.prefix = prefix
    def phase(self, name):
        return managed_span(RLSpanGroup.REWARD, f"{self.prefix}.{name}")
tracing = Tracing("rl")
with tracing.phase("a"):
    ...
""",
    "class method": """
class Tracing:
    PREFIX = "rl"
    @classmethod
    def phase(cls, name):
        return managed_span(RLSpanGroup.REWARD, f"{cls.PREFIX}.{name}")
with Tracing.phase("a"):
    ...
""",
    "static method": """
class Tracing:
    @staticmethod
    @contextmanager
    def phase(name):
        with managed_span(RLSpanGroup.REWARD, "rl." + name):
            yield
with Tracing.phase("a"):
    ...
""",
    "partial of a helper": """
from functools import partial
reward = partial(managed_span, RLSpanGroup.REWARD)
with reward("rl.a"):
    ...
""",
    "partial by keyword": """
import functools
reward = functools.partial(managed_span, group=RLSpanGroup.REWARD)
with reward(name="rl.a"):
    ...
""",
    "partial of the project's helper": """
from functools import partial
def phase(group, name):
    return managed_span(group, "rl." + name)
reward = partial(phase, RLSpanGroup.REWARD)
with reward("a"):
    ...
""",
    "partial as decorator": """
from functools import partial
reward = partial(trace_fn, RLSpanGroup.REWARD)
@reward("rl.a")
def work():
    ...
""",
    "exit stack": """
def train():
    with ExitStack() as stack:
        stack.enter_context(managed_span(RLSpanGroup.REWARD, "rl.a"))
""",
    "chosen helper": """
def train(umbrella):
    span = umbrella_span if umbrella else managed_span
    with span(RLSpanGroup.REWARD, "rl.a"):
        ...
""",
    "conditional context": """
def train(on):
    with managed_span(RLSpanGroup.REWARD, "rl.a") if on else nullcontext():
        ...
""",
}


@pytest.mark.parametrize("case", HELPERS, ids=str)
def test_helper_is_inferred(case: str) -> None:
    source = CONTEXT + HELPERS[case]
    assert named(source) == {"rl.a"}
    assert groups(source) == {"reward"}


@pytest.mark.parametrize("case", HELPERS, ids=str)
def test_helper_over_another_library_is_none(case: str) -> None:
    source = IMPORTS.replace("rl_telemetry.instr", "another.instr") + CONTEXT + HELPERS[case]
    assert named({"train.py": source}) == set()


def test_the_site_is_the_call_and_knows_the_way() -> None:
    source = CONTEXT + HELPERS["helper of helpers"]
    (site,) = sites(source)
    assert [function.label for function in site.via] == ["three", "two", "one"]
    assert site.place.line == (IMPORTS + source).splitlines().index('with three("a"):')


def test_fixed_helpers_build_their_names() -> None:
    source = """
from rl_telemetry.instrumentation import (
    checkpoint_finalize_span, efficiency_span, evaluate_span, setup_span, start_efficiency_span,
    startup_span, streaming_umbrella_span, traced_worker_init, umbrella_trace_fn,
)
with startup_span(), setup_span("model"), evaluate_span("grpo"), checkpoint_finalize_span(3):
    ...
efficiency_span("idle/refit_bubble")
start_efficiency_span(category="wasted/a/b")
with streaming_umbrella_span(RLSpanGroup.U_ROLLOUT, "rl.stream"):
    ...
@traced_worker_init("rl.worker.init")
def init(self):
    ...
@umbrella_trace_fn(RLSpanGroup.U_STEP, "rl.step")
def step():
    ...
"""
    assert named(source) == {
        *("rl.startup", "rl.setup.model", "rl.grpo.evaluate", "rl.checkpoint.finalize"),
        *("rl.idle.refit_bubble", "rl.wasted.a.b", "rl.stream", "rl.worker.init", "rl.step"),
    }
    assert groups(source) == {
        *("setup", "evaluate", "checkpoint", "efficiency", "rollout", "model_init", "step")
    }


RAW = {
    "from the API": "from opentelemetry import trace\ntracer = trace.get_tracer(__name__)\n"
    "with tracer.start_as_current_span('rl.a'):\n    ...",
    "at once": "from opentelemetry import trace\ntrace.get_tracer('x').start_span(name='rl.a')",
    "as a decorator": "from opentelemetry import trace\ntracer = trace.get_tracer(__name__)\n"
    "@tracer.start_as_current_span('rl.a')\ndef f():\n    ...",
    "parameter by its name": "def f(tracer):\n    with tracer.start_as_current_span('rl.a'):\n"
    "        ...",
    "parameter by its type": "from opentelemetry.trace import Tracer\ndef f(t: Tracer):\n"
    "    t.start_span('rl.a')",
    "attribute": "class A:\n    def f(self):\n        self._tracer.start_span('rl.a')",
    "helper": "from corp import provider\ndef get_tracer():\n    return provider().make()\n"
    "get_tracer().start_span('rl.a')",
    "span_cm": "from rl_telemetry.instrumentation import span_cm\nwith span_cm('rl.a'):\n    ...",
    "span_cm by keyword": "from rl_telemetry.instrumentation import span_cm as cm\n"
    "with cm(name='rl.a'):\n    ...",
}


@pytest.mark.parametrize("case", RAW, ids=str)
def test_raw_span_is_a_span(case: str) -> None:
    assert named({"train.py": RAW[case] + "\n"}) == {"rl.a"}


NOT_SPANS = {
    "another library": "import profiler\np = profiler.Profiler()\np.start_span('rl.a')",
    "the project's own class": "class Doc:\n    def start_span(self, name):\n        ...\n"
    "d = Doc()\nd.start_span('rl.a')",
    "an unknown receiver": "def f(doc):\n    doc.start_span('rl.a')",
    "a plain function": "def managed_span(group, name):\n    ...\nmanaged_span('reward', 'rl.a')",
    "a class of the project called tracer": "class RayTracer:\n"
    "    def start_span(self, name):\n        ...\nray_tracer = RayTracer()\n"
    "ray_tracer.start_span('rl.a')",
    "text": "'''managed_span(RLSpanGroup.REWARD, \"rl.a\")'''\n# span_cm('rl.a')",
}


@pytest.mark.parametrize("case", NOT_SPANS, ids=str)
def test_what_only_looks_like_a_span_is_none(case: str) -> None:
    assert named({"train.py": NOT_SPANS[case] + "\n"}) == set()


TAUGHT = project(
    """
    --- pyproject.toml
    [tool.rltel-lint.vocabulary.helpers.op_span]
    module = "corp.tracing"
    signature = "(op, *, group='reward')"
    kind = "leaf"
    group = "{group}"
    span = "rl.op.{op|dots}"
    --- train.py
    from corp.tracing import op_span as span
    with span("a/b"):
        ...
    with span(op="c", group="generation"):
        ...
    """
)


def test_a_helper_can_be_taught() -> None:
    assert named(TAUGHT) == {"rl.op.a.b", "rl.op.c"}
    assert groups(TAUGHT) == {"reward", "generation"}


def test_a_helper_of_another_module_is_not_the_taught_one() -> None:
    files = {**TAUGHT, "train.py": TAUGHT["train.py"].replace("corp.tracing", "corp.other")}
    assert named(files) == set()
    assert "RLT002" in {finding.code for finding in check(files)}


FOLDERS = (
    "utils",
    "experience",
    "weight_sync",
    "telemetry",
    "evals",
    "research",
    "examples",
    "a/b",
)


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_folder_is_looked_at(folder: str) -> None:
    source = 'from rl_telemetry.instrumentation import span_cm\nspan_cm("rl.a")\n'
    assert named({f"{folder}/train.py": source}) == {"rl.a"}
