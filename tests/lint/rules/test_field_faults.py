"""Faults that users of other projects reported, each planted in the shape it was found in.

Every fault has a program with it and the same program without. The numbers are those of the
collection of reports that the rules were written for.
"""

from __future__ import annotations

import pytest

from rltel_lint.rules.base import Rule
from rltel_lint.rules.carriers import (
    AcceptingNeverDispatched,
    CarrierNotAccepted,
    DispatchedWithoutCarrier,
)
from rltel_lint.rules.deferred import GeneratorLeftOpen, SpanEndsBeforeWork
from rltel_lint.rules.extracted import ContextNeverUsed
from rltel_lint.rules.gating import WorkAheadOfGate
from rltel_lint.rules.handling import DecoratorNotSupported, SpanNotEnded
from rltel_lint.rules.importing import ReadAtImport, StartedAtImport
from rltel_lint.rules.instruments import MetricOfAnotherKind
from rltel_lint.rules.lifecycle import KilledWithoutFlush
from rltel_lint.rules.nesting import AttachedAcrossYield
from rltel_lint.rules.sessions import SessionBeforeInstrument
from rltel_lint.rules.spans import UndocumentedSpan, UnemittedSpan
from rltel_lint.rules.threads import KeywordHiddenFromRay
from tests.lint.support import lint, marked, project, reported

_FAULTS: dict[str, tuple[tuple[type[Rule], ...], str, str]] = {
    "10: a context attached across the yields of a stream": (
        (AttachedAcrossYield,),
        """
        --- rows.py
        from rl_telemetry.instrumentation import accepts_trace_context, remote_trace_context
        class Rows:
            @accepts_trace_context
            async def rows(self, n, carrier):
                with remote_trace_context(carrier):  # <- RLT405
                    for i in range(n):
                        yield i
        """,
        """
        --- rows.py
        from rl_telemetry.instrumentation import accepts_trace_context
        class Rows:
            @accepts_trace_context
            async def rows(self, n):
                for i in range(n):
                    yield i
        """,
    ),
    "11: a carrier that Ray does not see below the wrapper": (
        (KeywordHiddenFromRay,),
        """
        --- rows.py
        import functools
        import ray
        def takes_carrier(fn):
            @functools.wraps(fn)
            def inner(*a, _otel_carrier=None, **k):  # <- RLT307
                return fn(*a, **k)
            return inner
        @ray.remote
        class Rows:
            @takes_carrier
            def rows(self):
                return 1
        """,
        """
        --- rows.py
        import functools
        import ray
        def takes_carrier(fn):
            @functools.wraps(fn)
            def inner(*a, _otel_carrier=None, **k):
                return fn(*a, **k)
            inner.__signature__ = with_carrier(fn)
            return inner
        @ray.remote
        class Rows:
            @takes_carrier
            def rows(self):
                return 1
        """,
    ),
    "11: a send without the decorator, a decorator without a send": (
        (DispatchedWithoutCarrier, CarrierNotAccepted, AcceptingNeverDispatched),
        """
        --- rows.py
        import ray
        from rl_telemetry.instrumentation import (
            accepts_trace_context, dispatch_with_trace_context,
        )
        @ray.remote
        class Rows:
            def plain(self):  # <- RLT302
                return 1
            @accepts_trace_context
            def wired(self):
                return 2
            @accepts_trace_context
            def unused(self):  # <- RLT303
                return 3
        def run():
            rows = Rows.remote()
            dispatch_with_trace_context(rows.plain)
            rows.wired.remote()  # <- RLT301
        """,
        """
        --- rows.py
        import ray
        from rl_telemetry.instrumentation import (
            accepts_trace_context, dispatch_with_trace_context,
        )
        @ray.remote
        class Rows:
            def plain(self):
                return 1
            @accepts_trace_context
            def wired(self):
                return 2
        def run():
            rows = Rows.remote()
            rows.plain.remote()
            dispatch_with_trace_context(rows.wired)
        """,
    ),
    "13: an import above the gate": (
        (WorkAheadOfGate,),
        """
        --- tracing.py
        from contextlib import nullcontext
        from rl_telemetry.instrumentation import is_span_group_enabled
        def leaf(group, name, **attrs):
            from heavy import sdk  # <- RLT806
            if not is_span_group_enabled(group):
                return nullcontext()
            return sdk.start(name)
        """,
        """
        --- tracing.py
        from contextlib import nullcontext
        from rl_telemetry.instrumentation import is_span_group_enabled
        def leaf(group, name, **attrs):
            if not is_span_group_enabled(group):
                return nullcontext()
            from heavy import sdk
            return sdk.start(name)
        """,
    ),
    "20: a span that nobody ends before the provider shuts down": (
        (SpanNotEnded,),
        """
        --- job.py
        def job(tracer, provider):
            root = tracer.start_span("rl.job")  # <- RLT407
            train()
            provider.shutdown()
        """,
        """
        --- job.py
        def job(tracer, provider):
            root = tracer.start_span("rl.job")
            try:
                train()
            finally:
                root.end()
            provider.shutdown()
        """,
    ),
    "21: a copy of the environment made at import": (
        (ReadAtImport,),
        """
        --- lib/__init__.py
        import os
        _ENV = dict(os.environ)  # <- RLT810
        def resource():
            return parse(_ENV.get("OTEL_RESOURCE_ATTRIBUTES", ""))
        """,
        """
        --- lib/__init__.py
        import os
        def resource():
            return parse(os.environ.get("OTEL_RESOURCE_ATTRIBUTES", ""))
        """,
    ),
    "24: a guide with one taxonomy, call sites with another": (
        (UndocumentedSpan, UnemittedSpan),
        """
        --- loop.py
        from rl_telemetry.instrumentation import managed_span
        def step():
            with managed_span("step", "rl.train.iteration"):  # <- RLT101
                return None
        --- docs/spans.md
        | Group | Span |
        |---|---|
        | `step` | `rl.train_step` | <- RLT102
        """,
        """
        --- loop.py
        from rl_telemetry.instrumentation import managed_span
        def step():
            with managed_span("step", "rl.train.iteration"):
                return None
        --- docs/spans.md
        | Group | Span |
        |---|---|
        | `step` | `rl.train.iteration` |
        """,
    ),
    "27: a parent that is extracted and never used": (
        (ContextNeverUsed,),
        """
        --- server.py
        from opentelemetry.propagate import extract
        from rl_telemetry.instrumentation import managed_span
        def serve(headers):
            parent = extract(headers)  # <- RLT308
            with managed_span("serve", "rl.serve.request"):
                return answer()
        """,
        """
        --- server.py
        from opentelemetry import trace
        from opentelemetry.propagate import extract
        def serve(headers):
            parent = extract(headers)
            with trace.get_tracer("a").start_as_current_span("rl.serve.request", context=parent):
                return answer()
        """,
    ),
    "29: a generator method without the decorator that the others have": (
        (CarrierNotAccepted,),
        """
        --- rows.py
        import ray
        from rl_telemetry.instrumentation import (
            accepts_trace_context, dispatch_with_trace_context,
        )
        @ray.remote
        class A:
            @accepts_trace_context
            def one(self, x):
                return x
            def many(self, n):  # <- RLT302
                yield from range(n)
        def run():
            a = A.remote()
            dispatch_with_trace_context(a.one, 1)
            dispatch_with_trace_context(a.many, 3)
        """,
        """
        --- rows.py
        import ray
        from rl_telemetry.instrumentation import (
            accepts_trace_context, dispatch_with_trace_context,
        )
        @ray.remote
        class A:
            @accepts_trace_context
            def one(self, x):
                return x
            @accepts_trace_context
            def many(self, n):
                yield from range(n)
        def run():
            a = A.remote()
            dispatch_with_trace_context(a.one, 1)
            dispatch_with_trace_context(a.many, 3)
        """,
    ),
    "32: a keyword that is metadata of the wrapped function only": (
        (KeywordHiddenFromRay,),
        """
        --- steps.py
        import functools
        import ray
        def traced(fn):
            @functools.wraps(fn)
            def w(*a, extra=None, **k):  # <- RLT307
                return fn(*a, **k)
            return w
        @ray.remote
        @traced
        def step(x):
            return x
        def run():
            return step.remote(1, extra={})
        """,
        """
        --- steps.py
        import functools
        import ray
        def traced(fn):
            @functools.wraps(fn)
            def w(*a, extra=None, **k):
                return fn(*a, **k)
            del w.__wrapped__
            return w
        @ray.remote
        @traced
        def step(x):
            return x
        def run():
            return step.remote(1, extra={})
        """,
    ),
    "32, 43: a synchronous span decorator on a coroutine": (
        (DecoratorNotSupported,),
        """
        --- fetch.py
        import functools
        from rl_telemetry.instrumentation import managed_span
        def sync_span(name):
            def decorate(fn):
                @functools.wraps(fn)
                def w(*a, **k):
                    with managed_span("reward", name):
                        return fn(*a, **k)
                return w
            return decorate
        @sync_span("rl.a.fetch")  # <- RLT409
        async def fetch():
            return await io()
        """,
        """
        --- fetch.py
        from rl_telemetry.instrumentation import trace_fn
        @trace_fn("reward", "rl.a.fetch")
        async def fetch():
            return await io()
        """,
    ),
    "33: a kill right after something was recorded": (
        (KilledWithoutFlush,),
        """
        --- run.py
        import ray
        from rl_telemetry.setup import init_telemetry_worker
        @ray.remote
        class Worker:
            def __init__(self):
                init_telemetry_worker()
            def observe(self, histogram):
                histogram.record(3)
        def run(histogram):
            worker = Worker.remote()
            ray.get(worker.observe.remote(histogram))
            ray.kill(worker)  # <- RLT803
        """,
        """
        --- run.py
        import ray
        from rl_telemetry.contrib.ray import flush_actor
        from rl_telemetry.setup import init_telemetry_worker
        @ray.remote
        class Worker:
            def __init__(self):
                init_telemetry_worker()
            def observe(self, histogram):
                histogram.record(3)
        def run(histogram):
            worker = Worker.remote()
            ray.get(worker.observe.remote(histogram))
            flush_actor(worker)
            ray.kill(worker)
        """,
    ),
    "39: a span attached across the yields of an async generator": (
        (AttachedAcrossYield, GeneratorLeftOpen),
        """
        --- run.py
        from opentelemetry import trace
        tracer = trace.get_tracer("a")
        async def run(events):
            with tracer.start_as_current_span("rl.a.run"):  # <- RLT405
                for event in events:
                    yield event
        async def watch(events):
            async for event in run(events):  # <- RLT412
                if event.done:
                    break
        """,
        """
        --- run.py
        from contextlib import aclosing
        from rl_telemetry.instrumentation import umbrella_trace_fn
        @umbrella_trace_fn("rollout", "rl.a.run")
        async def run(events):
            for event in events:
                yield event
        async def watch(events):
            async with aclosing(run(events)) as stream:
                async for event in stream:
                    if event.done:
                        break
        """,
    ),
    "40: a provider that is made before the fork": (
        (StartedAtImport,),
        """
        --- app/__init__.py
        --- app/tracing.py
        from opentelemetry import trace
        def init_tracing():
            trace.set_tracer_provider(make())
        init_tracing()  # <- RLT809
        --- app/work.py
        from multiprocessing import Process
        from app import tracing
        def run():
            Process(target=work).start()
        """,
        """
        --- app/__init__.py
        --- app/tracing.py
        from opentelemetry import trace
        def init_tracing():
            trace.set_tracer_provider(make())
        --- app/work.py
        from multiprocessing import Process
        from app.tracing import init_tracing
        def work():
            init_tracing()
        def run():
            Process(target=work).start()
        """,
    ),
    "42: a session that is made before instrument()": (
        (SessionBeforeInstrument,),
        """
        --- client.py
        import aiohttp
        from opentelemetry.instrumentation.aiohttp_client import AioHttpClientInstrumentor
        async def start():
            s = aiohttp.ClientSession()  # <- RLT811
            AioHttpClientInstrumentor().instrument()
            return s
        """,
        """
        --- client.py
        import aiohttp
        from opentelemetry.instrumentation.aiohttp_client import AioHttpClientInstrumentor
        async def start():
            AioHttpClientInstrumentor().instrument()
            return aiohttp.ClientSession()
        """,
    ),
    "43: a generator that is returned from inside the span": (
        (SpanEndsBeforeWork,),
        """
        --- rows.py
        from rl_telemetry.instrumentation import managed_span
        def gen():
            yield 1
        def rows():
            with managed_span("reward", "rl.rows"):
                return gen()  # <- RLT411
        """,
        """
        --- rows.py
        from rl_telemetry.instrumentation import managed_span
        def gen():
            with managed_span("reward", "rl.rows"):
                found = [1]
            yield from found
        def rows():
            return gen()
        """,
    ),
    "44: a library that sets the global provider": (
        (StartedAtImport,),
        """
        --- helper_lib/__init__.py
        from opentelemetry import trace
        trace.set_tracer_provider(make())  # <- RLT809
        --- app.py
        import helper_lib
        from opentelemetry import trace
        trace.set_tracer_provider(mine)
        """,
        """
        --- helper_lib/__init__.py
        from opentelemetry import trace
        tracer = trace.get_tracer("helper_lib")
        --- app.py
        import helper_lib
        from opentelemetry import trace
        trace.set_tracer_provider(mine)
        """,
    ),
    "56: a counter that the table calls a gauge": (
        (MetricOfAnotherKind,),
        """
        --- dag.py
        def instruments(meter):
            return meter.create_counter("rl.dag.timeouts")
        --- docs/metrics.md
        | Metric | Type |
        |---|---|
        | `rl.dag.timeouts` | gauge | <- RLT507
        """,
        """
        --- dag.py
        def instruments(meter):
            return meter.create_counter("rl.dag.timeouts")
        --- docs/metrics.md
        | Metric | Type |
        |---|---|
        | `rl.dag.timeouts` | counter |
        """,
    ),
}


@pytest.mark.parametrize("fault", _FAULTS)
def test_the_fault_is_reported_where_it_is(fault: str) -> None:
    rules, bad, _ = _FAULTS[fault]
    files = project(bad)
    marks = marked(files)
    assert {code for _, _, code in marks} == {rule.code for rule in rules}
    assert reported(lint(files, *rules)) == marks


@pytest.mark.parametrize("fault", _FAULTS)
def test_without_the_fault_nothing_is_reported(fault: str) -> None:
    rules, _, good = _FAULTS[fault]
    assert lint(project(good), *rules) == []
