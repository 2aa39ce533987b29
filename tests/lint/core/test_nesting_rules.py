"""RLT404 and RLT405: time counted twice, contexts left attached."""

from __future__ import annotations

import pytest

from rltel_lint.findings import Finding
from rltel_lint.rules.nesting import AttachedAcrossYield, CountedTwice
from tests.lint.core.support import check

HEAD = """
from contextlib import asynccontextmanager, contextmanager
from rl_telemetry.instrumentation import (
    efficiency_span, managed_span, start_efficiency_span, streaming_umbrella_span, trace_fn,
    umbrella_span, umbrella_trace_fn,
)
from rl_telemetry.span_groups import RLSpanGroup as G

def save():
    with managed_span(G.CHECKPOINT, "rl.save"):
        ...
"""
FIRST = len(HEAD.strip("\n").splitlines()) + 1


def reported(source: str, rule: type) -> list[int]:
    """The lines below the head at which a rule reports, counted from 1."""
    text = HEAD.strip("\n") + "\n" + source.strip("\n") + "\n"
    return [found.place.line - FIRST + 1 for found in check({"train.py": text}, rule)]


def finding(source: str, rule: type) -> Finding:
    (found,) = check({"train.py": HEAD.strip("\n") + "\n" + source.strip("\n") + "\n"}, rule)
    return found


TWICE = {
    "in the block": (
        "with managed_span(G.REWARD, 'rl.a'):\n    with managed_span(G.ADVANTAGE, 'rl.b'):\n"
        "        ...",
    ),
    "in a branch of the block": (
        "with managed_span(G.REWARD, 'rl.a'):\n    if x:\n"
        "        with managed_span(G.ADVANTAGE, 'rl.b'):\n            ...",
    ),
    "in one with": (
        "with managed_span(G.REWARD, 'rl.a'), managed_span(G.ADVANTAGE, 'rl.b'):\n    ...",
    ),
    "efficiency wait": ("with efficiency_span('idle/x'):\n    save()",),
    "inside an efficiency wait": (
        "with managed_span(G.REWARD, 'rl.a'):\n    with efficiency_span('idle/x'):\n        ...",
    ),
    "through a call": ("with managed_span(G.REWARD, 'rl.a'):\n    save()",),
    "through an awaited call": (
        "async def asave():\n    with managed_span(G.CHECKPOINT, 'rl.b'):\n        ...\n"
        "async def f():\n    with managed_span(G.REWARD, 'rl.a'):\n        await asave()",
    ),
    "three calls deep": (
        "def one():\n    save()\ndef two():\n    one()\ndef three():\n    two()\n"
        "with managed_span(G.REWARD, 'rl.a'):\n    three()",
    ),
    "method of self": (
        "class A:\n    def f(self):\n        with managed_span(G.REWARD, 'rl.a'):\n"
        "            self.g()\n    def g(self):\n        save()",
    ),
    "method of a base": (
        "class A:\n    def g(self):\n        save()\nclass B(A):\n    def f(self):\n"
        "        with managed_span(G.REWARD, 'rl.a'):\n            self.g()",
    ),
    "decorated function inside": (
        "@trace_fn(G.ADVANTAGE, 'rl.b')\ndef g():\n    ...\n"
        "with managed_span(G.REWARD, 'rl.a'):\n    g()",
    ),
    "decorator outside": ("@trace_fn(G.REWARD, 'rl.a')\ndef g():\n    save()",),
    "helper of the project": (
        "def phase(n):\n    return managed_span(G.ADVANTAGE, n)\n"
        "with managed_span(G.REWARD, 'rl.a'):\n    with phase('rl.b'):\n        ...",
    ),
    "umbrella between": (
        "with managed_span(G.REWARD, 'rl.a'):\n    with umbrella_span(G.U_STEP, 'rl.s'):\n"
        "        save()",
    ),
    "context manager of the project": (
        "@contextmanager\ndef phase(n):\n    with managed_span(G.ADVANTAGE, n):\n        yield\n"
        "with managed_span(G.REWARD, 'rl.a'):\n    with phase('rl.b'):\n        ...",
    ),
    "constructor": (
        "class A:\n    def __init__(self):\n        save()\n"
        "with managed_span(G.REWARD, 'rl.a'):\n    A()",
    ),
    "explicit bucket": (
        "with umbrella_span(G.U_STEP, 'rl.s', **{'rl.bucket': 'idle'}):\n    save()",
    ),
}


@pytest.mark.parametrize("case", TWICE, ids=str)
def test_time_is_counted_twice(case: str) -> None:
    (source,) = TWICE[case]
    assert len(reported(source, CountedTwice)) == 1


@pytest.mark.parametrize("case", TWICE, ids=str)
def test_under_an_umbrella_it_is_counted_once(case: str) -> None:
    (source,) = TWICE[case]
    outer = source.replace("managed_span(G.REWARD", "umbrella_span(G.U_STEP")
    outer = outer.replace(
        "efficiency_span('idle/x'):\n    save", "umbrella_span(G.U_STEP, 'x'):\n    save"
    )
    outer = outer.replace("trace_fn(G.REWARD", "umbrella_trace_fn(G.U_STEP")
    outer = outer.replace("{'rl.bucket': 'idle'}", "{'rl.other': 'idle'}")
    assert reported(outer, CountedTwice) == []


ONCE = {
    "one after the other": (
        "with managed_span(G.REWARD, 'rl.a'):\n    ...\nsave()",
        "with managed_span(G.REWARD, 'rl.a'):\n    ...\n    save()",
    ),
    "dispatched to an actor": (
        "import ray\n@ray.remote\nclass A:\n    def g(self):\n        save()\na = A.remote()\n"
        "with managed_span(G.REWARD, 'rl.a'):\n    a.g.remote()",
        "class A:\n    def g(self):\n        save()\na = A()\n"
        "with managed_span(G.REWARD, 'rl.a'):\n    a.g()",
    ),
    "remote function": (
        "import ray\nremote_save = ray.remote(save)\n"
        "with managed_span(G.REWARD, 'rl.a'):\n    remote_save.remote()",
        "with managed_span(G.REWARD, 'rl.a'):\n    save()",
    ),
    "handed to a thread": (
        "with managed_span(G.REWARD, 'rl.a'):\n    Thread(target=save).start()",
        "with managed_span(G.REWARD, 'rl.a'):\n    save().start()",
    ),
    "handed to an executor": (
        "with managed_span(G.REWARD, 'rl.a'):\n    pool.submit(save)",
        "with managed_span(G.REWARD, 'rl.a'):\n    save()",
    ),
    "defined inside, not called": (
        "with managed_span(G.REWARD, 'rl.a'):\n    def later():\n        save()",
        "with managed_span(G.REWARD, 'rl.a'):\n    def later():\n        save()\n    later()",
    ),
    "in a lambda": (
        "with managed_span(G.REWARD, 'rl.a'):\n    run(lambda: save())",
        "with managed_span(G.REWARD, 'rl.a'):\n    run(save())",
    ),
    "one of several methods": (
        "class A:\n    def g(self):\n        save()\nclass B:\n    def g(self):\n        ...\n"
        "def f(x):\n    it = A() if x else B()\n    with managed_span(G.REWARD, 'rl.a'):\n"
        "        it.g()",
        "class A:\n    def g(self):\n        save()\n"
        "def f(x):\n    it = A()\n    with managed_span(G.REWARD, 'rl.a'):\n        it.g()",
    ),
    "overridden method": (
        "class A:\n    def f(self):\n        with managed_span(G.REWARD, 'rl.a'):\n"
        "            self.g()\n    def g(self):\n        save()\n"
        "class B(A):\n    def g(self):\n        ...",
        "class A:\n    def f(self):\n        with managed_span(G.REWARD, 'rl.a'):\n"
        "            self.g()\n    def g(self):\n        save()\nclass B(A):\n    ...",
    ),
    "unbucketed category": (
        "with efficiency_span('idle/refit_event_wait'):\n    save()",
        "with efficiency_span('idle/refit_bubble'):\n    save()",
    ),
    "category of the project without a bucket": (
        "UNBUCKETED_SPAN_CATEGORIES = {'idle/mine'}\n"
        "with efficiency_span('idle/mine'):\n    save()",
        "UNBUCKETED_SPAN_CATEGORIES = {'idle/x'}\nwith efficiency_span('idle/mine'):\n    save()",
    ),
    "started by hand": (
        "s = start_efficiency_span('idle/x')\nsave()",
        "with efficiency_span('idle/x'):\n    save()",
    ),
    "unknown group outside": (
        "def f(g):\n    with managed_span(g, 'rl.a'):\n        save()",
        "def f():\n    with managed_span(G.REWARD, 'rl.a'):\n        save()",
    ),
    "a task": (
        "async def asave():\n    save()\nasync def f():\n    with managed_span(G.REWARD, 'rl.a'):\n"
        "        task = create_task(asave())",
        "async def asave():\n    save()\nasync def f():\n    with managed_span(G.REWARD, 'rl.a'):\n"
        "        task = await asave()",
    ),
    "a generator that is not run": (
        "def steps():\n    save()\n    yield\n"
        "with managed_span(G.REWARD, 'rl.a'):\n    it = steps()",
        "def steps():\n    save()\n    yield\nwith managed_span(G.REWARD, 'rl.a'):\n"
        "    for it in steps():\n        ...",
    ),
    "a span in a lambda": (
        "with managed_span(G.REWARD, 'rl.a'):\n    f = lambda: managed_span(G.ADVANTAGE, 'rl.b')",
        "with managed_span(G.REWARD, 'rl.a'):\n    f = managed_span(G.ADVANTAGE, 'rl.b')",
    ),
    "perhaps another function": (
        "try:\n    from fast import keep\nexcept ImportError:\n    keep = save\n"
        "with managed_span(G.REWARD, 'rl.a'):\n    keep()",
        "keep = save\nwith managed_span(G.REWARD, 'rl.a'):\n    keep()",
    ),
    "the same function": (
        "def walk(n):\n    with umbrella_span(G.U_STEP, 'rl.a'):\n        walk(n - 1)",
        "def walk(n):\n    with managed_span(G.REWARD, 'rl.a'):\n        save()",
    ),
}


@pytest.mark.parametrize("case", ONCE, ids=str)
def test_what_is_counted_once_is_clean(case: str) -> None:
    clean, planted = ONCE[case]
    assert reported(clean, CountedTwice) == []
    assert len(reported(planted, CountedTwice)) == 1


def test_double_count_names_both_spans_and_the_way() -> None:
    found = finding("with managed_span(G.REWARD, 'rl.a'):\n    save()", CountedTwice)
    assert (found.place.line, found.place.column, found.place.end_column) == (FIRST + 1, 5, 11)
    assert found.message == (
        'bucketed span "rl.save" runs inside bucketed span "rl.a", so its time is counted twice; '
        "end the outer span first or make it an umbrella"
    )
    assert [(r.place.line, r.message) for r in found.related] == [
        (FIRST, "the outer span"),
        (9, "the inner span, reached from here"),
    ]


def test_deeper_calls_than_one_reads_are_not_followed() -> None:
    source = "def f0():\n    save()\n"
    source += "".join(f"def f{i}():\n    f{i - 1}()\n" for i in range(1, 8))
    call = "with managed_span(G.REWARD, 'rl.a'):\n    f{}()"
    assert reported(source + call.format(7), CountedTwice) == []
    assert len(reported(source + call.format(2), CountedTwice)) == 1


ATTACHED = {
    "generator": "def g():\n    with managed_span(G.REWARD, 'rl.a'):\n        yield 1",
    "asynchronous generator": "async def g(xs):\n    with managed_span(G.REWARD, 'rl.a'):\n"
    "        async for x in xs:\n            yield x",
    "umbrella": "def g():\n    with umbrella_span(G.U_STEP, 'rl.a'):\n        yield 1",
    "yield from": "def g():\n    with managed_span(G.REWARD, 'rl.a'):\n        yield from xs",
    "value of an assignment": "def g():\n    with managed_span(G.REWARD, 'rl.a'):\n"
    "        got = yield 1",
    "raw tracer": "def g(tracer):\n    with tracer.start_as_current_span('rl.a'):\n        yield 1",
    "use_span": "from opentelemetry.trace import use_span\ndef g(span):\n    with use_span(span):\n"
    "        yield 1",
    "remote context": "from rl_telemetry.instrumentation import remote_trace_context\n"
    "def g(c):\n    with remote_trace_context(c):\n        yield 1",
    "attach without detach": "from opentelemetry.context import attach\ndef g(c):\n"
    "    token = attach(c)\n    yield 1",
    "attach with a late detach": "from opentelemetry import context\ndef g(c):\n"
    "    token = context.attach(c)\n    try:\n        yield 1\n    finally:\n"
    "        context.detach(token)",
    "helper of the project": "def phase(n):\n    return managed_span(G.REWARD, n)\n"
    "def g():\n    with phase('rl.a'):\n        yield 1",
    "method": "class A:\n    def g(self):\n        with managed_span(G.REWARD, 'rl.a'):\n"
    "            yield 1",
}


@pytest.mark.parametrize("case", ATTACHED, ids=str)
def test_context_attached_across_a_yield(case: str) -> None:
    assert len(reported(ATTACHED[case], AttachedAcrossYield)) == 1


DETACHED = {
    "yield after the block": "def g():\n    with managed_span(G.REWARD, 'rl.a'):\n        ...\n"
    "    yield 1",
    "context manager": "@contextmanager\ndef g():\n    with managed_span(G.REWARD, 'rl.a'):\n"
    "        yield",
    "asynchronous context manager": "@asynccontextmanager\nasync def g():\n"
    "    with managed_span(G.REWARD, 'rl.a'):\n        yield",
    "pytest fixture": "import pytest\n@pytest.fixture\ndef g():\n"
    "    with managed_span(G.REWARD, 'rl.a'):\n        yield 1",
    "pytest fixture with a scope": "import pytest\n@pytest.fixture(scope='module')\ndef g():\n"
    "    with managed_span(G.REWARD, 'rl.a'):\n        yield 1",
    "yield of a nested function": "def g():\n    with managed_span(G.REWARD, 'rl.a'):\n"
    "        def inner():\n            yield 1\n        list(inner())\n    yield 2",
    "streaming helper": "def g():\n    with streaming_umbrella_span(G.U_STEP, 'rl.a') as step:\n"
    "        with step():\n            ...\n        yield 1",
    "decorator": "@trace_fn(G.REWARD, 'rl.a')\ndef g():\n    yield 1",
    "detached before": "from opentelemetry.context import attach, detach\ndef g(c):\n"
    "    token = attach(c)\n    detach(token)\n    yield 1",
    "no generator": "def g():\n    with managed_span(G.REWARD, 'rl.a'):\n        return [1]",
    "attach of something else": "def g(c):\n    token = debugger.attach(c)\n    yield 1",
    "generator expression": "def g(xs):\n    with managed_span(G.REWARD, 'rl.a'):\n"
    "        return list(x for x in xs)",
    "started by hand": "def g(tracer):\n    span = tracer.start_span('rl.a')\n    yield 1",
}


@pytest.mark.parametrize("case", DETACHED, ids=str)
def test_no_context_attached_across_a_yield(case: str) -> None:
    assert reported(DETACHED[case], AttachedAcrossYield) == []
    planted = (
        DETACHED[case] + "\ndef h():\n    with managed_span(G.REWARD, 'rl.b'):\n        yield 1"
    )
    assert len(reported(planted, AttachedAcrossYield)) == 1


def test_attached_across_yield_says_where_it_is_suspended() -> None:
    source = "def g():\n    with managed_span(G.REWARD, 'rl.a'):\n        yield 1"
    found = finding(source, AttachedAcrossYield)
    assert (found.place.line, found.place.column) == (FIRST + 1, 10)
    assert found.message == (
        'span "rl.a" stays attached while g is suspended at a yield; use streaming_umbrella_span '
        "and activate it around each step"
    )
    assert [(r.place.line, r.place.column, r.message) for r in found.related] == [
        (FIRST + 2, 9, "suspended here")
    ]
