"""RLT407, RLT409, RLT801 and RLT807: near misses and their faulty twins."""

from __future__ import annotations

import textwrap

import pytest

from rltel_lint.rules.base import Rule
from rltel_lint.rules.handling import (
    DecoratorNotSupported,
    HelperYieldsNoSpan,
    SpanMayBeNone,
    SpanNotEnded,
)
from tests.lint.support import lint, marked, reported

_HEAD = """
import functools
import inspect
from contextlib import contextmanager, nullcontext
from opentelemetry import trace
from rl_telemetry.instrumentation import (
    efficiency_span, is_span_group_enabled, managed_span, safe_set_span_attributes, span_cm,
    start_efficiency_span, trace_fn,
)
from rl_telemetry.span_groups import RLSpanGroup

tracer = trace.get_tracer("app")
"""

_ENDED = {
    "never": """
        def f():
            span = tracer.start_span("rl.a")  # <- RLT407
            work()
        """,
    "dropped": """
        def f():
            tracer.start_span("rl.a")  # <- RLT407
            work()
        """,
    "straight": """
        def f():
            span = tracer.start_span("rl.a")
            work()
            span.end()
        """,
    "of a script, never": """
        root = tracer.start_span("rl.job")  # <- RLT407
        root.set_attribute("rl.k", 1)
        work()
        """,
    "of a script, dropped": """
        tracer.start_span("rl.job")  # <- RLT407
        work()
        """,
    "of a script, ended": """
        root = tracer.start_span("rl.job")
        work()
        root.end()
        """,
    "of a script, ended in a function": """
        root = tracer.start_span("rl.job")

        def stop():
            root.end()
        """,
    "of a script, handed on": """
        root = tracer.start_span("rl.job")
        work(root)
        """,
    "of a script, used as a context": """
        root = tracer.start_span("rl.job")
        with root:
            work()
        """,
    "finally": """
        def f():
            span = tracer.start_span("rl.a")
            try:
                if work():
                    return 1
                raise ValueError
            finally:
                span.end()
        """,
    "a return before": """
        def f():
            span = tracer.start_span("rl.a")  # <- RLT407
            if work():
                return 1
            span.end()
        """,
    "ended before the return": """
        def f():
            span = tracer.start_span("rl.a")
            if work():
                span.end()
                return 1
            span.end()
        """,
    "a raise": """
        def f():
            span = tracer.start_span("rl.a")  # <- RLT407
            if work():
                raise ValueError
            span.end()
        """,
    "returned": """
        def f():
            span = tracer.start_span("rl.a")
            return span
        """,
    "stored": """
        class A:
            def f(self):
                span = tracer.start_span("rl.a")
                self.span = span
        """,
    "stored at once": """
        class A:
            def f(self):
                self.span = tracer.start_span("rl.a")
        """,
    "handed on": """
        def f(queue):
            span = tracer.start_span("rl.a")
            queue.put(span)
        """,
    "ended in a callback": """
        def f(future):
            span = tracer.start_span("rl.a")
            future.add_done_callback(lambda _: span.end())
        """,
    "ended in a nested function": """
        def f(future):
            span = tracer.start_span("rl.a")

            def done():
                span.end()

            return done
        """,
    "used as a context": """
        def f():
            span = tracer.start_span("rl.a")
            with trace.use_span(span, end_on_exit=True):
                return work()
        """,
    "used as a context that does not end it": """
        def f():
            span = tracer.start_span("rl.a")  # <- RLT407
            with trace.use_span(span):
                return work()
            span.end()
        """,
    "tested": """
        def f():
            idle = start_efficiency_span("idle/a")
            work()
            if idle is not None:
                idle.end()
        """,
    "off means return": """
        def f():
            idle = start_efficiency_span("idle/a")
            if idle is None:
                return work()
            work()
            idle.end()
        """,
    "a break that comes to the end": """
        def f(queue):
            idle = start_efficiency_span("idle/a")
            while True:
                if queue.ready():
                    break
            if idle is not None:
                idle.end()
        """,
    "each turn starts one": """
        def f(queue):
            for item in queue:
                span = tracer.start_span("rl.a")  # <- RLT407
                if item.bad:
                    continue
                span.end()
        """,
    "each turn ends its own": """
        def f(queue):
            for item in queue:
                span = tracer.start_span("rl.a")
                if item.bad:
                    span.end()
                    continue
                span.end()
        """,
    "a break out of the loop": """
        def f(queue):
            for item in queue:
                span = tracer.start_span("rl.a")  # <- RLT407
                if item.bad:
                    break
                span.end()
            return None
        """,
    "polls of one wait": """
        def f(queue):
            idle = None
            while True:
                if not queue.ready():
                    if idle is None:
                        idle = start_efficiency_span("idle/a")
                    continue
                if idle is not None:
                    idle.end()
                    idle = None
                break
        """,
    "a handler that swallows": """
        def f():
            try:
                span = tracer.start_span("rl.a")  # <- RLT407
                work()
                span.end()
            except ValueError:
                return None
        """,
    "a handler that raises": """
        def f():
            span = tracer.start_span("rl.a")
            try:
                work()
            except ValueError:
                log()
                raise
            span.end()
        """,
    "a handler that goes on to the end": """
        def f():
            span = tracer.start_span("rl.a")
            try:
                work()
            except ValueError:
                log()
            span.end()
        """,
    "a handler that returns": """
        def f():
            span = tracer.start_span("rl.a")  # <- RLT407
            try:
                work()
            except ValueError:
                return None
            span.end()
        """,
    "a global": """
        running = None

        def f():
            global running
            running = tracer.start_span("rl.a")
        """,
    "handed to a function that only reads": """
        def mark(span):
            span.set_attribute("rl.k", 1)

        def f():
            span = tracer.start_span("rl.a")  # <- RLT407
            mark(span)
        """,
    "handed to a function that ends it": """
        def close(span):
            span.end()

        def f():
            span = tracer.start_span("rl.a")
            close(span)
        """,
    "handed to a function that keeps it": """
        kept = []

        def keep(span):
            kept.append(span)

        def f():
            span = tracer.start_span("rl.a")
            keep(span)
        """,
    "not a tracer": """
        def f(painter):
            span = painter.start_span("rl.a")
            work()
        """,
}

_NONE = {
    "unguarded": """
        def f():
            with managed_span(RLSpanGroup.REWARD, "rl.a") as span:
                span.set_attribute("rl.k", 1)  # <- RLT801
        """,
    "not bound": """
        def f():
            with managed_span(RLSpanGroup.REWARD, "rl.a"):
                pass
        """,
    "tested": """
        def f():
            with managed_span(RLSpanGroup.REWARD, "rl.a") as span:
                if span is not None:
                    span.set_attribute("rl.k", 1)
        """,
    "tested for truth": """
        def f():
            with managed_span(RLSpanGroup.REWARD, "rl.a") as span:
                if span and span.is_recording():
                    span.set_attribute("rl.k", 1)
        """,
    "tested in an expression": """
        def f():
            with managed_span(RLSpanGroup.REWARD, "rl.a") as span:
                span and span.set_attribute("rl.k", 1)
                name = span.name if span else ""
        """,
    "left early": """
        def f():
            with managed_span(RLSpanGroup.REWARD, "rl.a") as span:
                if span is None:
                    return
                span.set_attribute("rl.k", 1)
        """,
    "asserted": """
        def f():
            with managed_span(RLSpanGroup.REWARD, "rl.a") as span:
                assert span is not None
                span.set_attribute("rl.k", 1)
        """,
    "asked the gate": """
        def f():
            with managed_span(RLSpanGroup.REWARD, "rl.a") as span:
                if is_span_group_enabled(RLSpanGroup.REWARD):
                    span.set_attribute("rl.k", 1)
        """,
    "asked something else": """
        def f(batch):
            with managed_span(RLSpanGroup.REWARD, "rl.a") as span:
                if batch:
                    span.set_attribute("rl.k", 1)  # <- RLT801
        """,
    "a helper that takes None": """
        def f():
            with managed_span(RLSpanGroup.REWARD, "rl.a") as span:
                safe_set_span_attributes(span, {"rl.k": 1})
        """,
    "raw spans": """
        def f():
            with tracer.start_as_current_span("rl.a") as span:
                span.set_attribute("rl.k", 1)
            with span_cm("rl.b") as span:
                span.set_attribute("rl.k", 1)
        """,
    "a null context": """
        def f(on):
            with (managed_span(RLSpanGroup.REWARD, "rl.a") if on else nullcontext()) as span:
                span.set_attribute("rl.k", 1)  # <- RLT801
        """,
    "the second of two": """
        def f(timer):
            with timer.time("a"), managed_span(RLSpanGroup.REWARD, "rl.a") as span:
                span.set_attribute("rl.k", 1)  # <- RLT801
        """,
    "another object": """
        def f(timer):
            with timer.time("a") as span, managed_span(RLSpanGroup.REWARD, "rl.a"):
                span.set_attribute("rl.k", 1)
        """,
    "rebound": """
        def f(make):
            with managed_span(RLSpanGroup.REWARD, "rl.a") as span:
                span = make()
                span.set_attribute("rl.k", 1)
        """,
    "caught": """
        def f():
            with managed_span(RLSpanGroup.REWARD, "rl.a") as span:
                try:
                    span.set_attribute("rl.k", 1)
                except AttributeError:
                    pass
        """,
    "through the project's helper": """
        @contextmanager
        def phase(name):
            with managed_span(RLSpanGroup.REWARD, f"rl.{name}") as span:
                yield span

        def f():
            with phase("a") as span:
                span.set_attribute("rl.k", 1)  # <- RLT801
        """,
    "a helper that gives something else": """
        @contextmanager
        def phase(name):
            with managed_span(RLSpanGroup.REWARD, f"rl.{name}") as span:
                yield Recorder(span)

        def f():
            with phase("a") as span:
                span.set_attribute("rl.k", 1)
        """,
    "started by hand": """
        def f():
            idle = start_efficiency_span("idle/a")
            work()
            idle.end()  # <- RLT801
        """,
    "started by hand and tested": """
        def f():
            idle = start_efficiency_span("idle/a")
            work()
            if idle:
                idle.end()
        """,
}

_PLAIN = """
        def traced(name):
            def decorate(function):
                @functools.wraps(function)
                def wrapper(*args, **kwargs):
                    with managed_span(RLSpanGroup.REWARD, name):
                        return function(*args, **kwargs)
                return wrapper
            return decorate
"""

_DECORATED = {
    "a coroutine": f"""{_PLAIN}
        @traced("rl.a")  # <- RLT409
        async def f():
            pass
        """,
    "a function": f"""{_PLAIN}
        @traced("rl.a")
        def f():
            pass
        """,
    "a generator": f"""{_PLAIN}
        @traced("rl.a")  # <- RLT409
        def f():
            yield 1
        """,
    "an async generator": f"""{_PLAIN}
        @traced("rl.a")  # <- RLT409
        async def f():
            yield 1
        """,
    "a context manager below": f"""{_PLAIN}
        @traced("rl.a")
        @contextmanager
        def f():
            yield 1
        """,
    "made synchronous below": f"""{_PLAIN}
        @traced("rl.a")
        @run_in_loop
        async def f():
            pass
        """,
    "a decorator that asks": """
        def traced(name):
            def decorate(function):
                if inspect.iscoroutinefunction(function):
                    @functools.wraps(function)
                    async def awaiting(*args, **kwargs):
                        with managed_span(RLSpanGroup.REWARD, name):
                            return await function(*args, **kwargs)
                    return awaiting

                @functools.wraps(function)
                def wrapper(*args, **kwargs):
                    with managed_span(RLSpanGroup.REWARD, name):
                        return function(*args, **kwargs)
                return wrapper
            return decorate

        @traced("rl.a")
        async def f():
            pass
        """,
    "the library's": """
        @trace_fn(RLSpanGroup.REWARD, "rl.a")
        async def f():
            yield 1
        """,
    "raw, a coroutine": """
        @tracer.start_as_current_span("rl.a")
        async def f():
            pass
        """,
    "raw, a generator": """
        @tracer.start_as_current_span("rl.a")  # <- RLT409
        def f():
            yield 1
        """,
}

_YIELDS = {
    "nothing": """
        @contextmanager
        def phase(name):  # <- RLT807
            with managed_span(RLSpanGroup.REWARD, f"rl.{name}"):
                yield

        def f():
            with phase("a") as span:
                safe_set_span_attributes(span, {})
        """,
    "the span": """
        @contextmanager
        def phase(name):
            with managed_span(RLSpanGroup.REWARD, f"rl.{name}") as span:
                yield span

        def f():
            with phase("a") as span:
                safe_set_span_attributes(span, {})
        """,
    "nobody asks": """
        @contextmanager
        def phase(name):
            with managed_span(RLSpanGroup.REWARD, f"rl.{name}"):
                yield

        def f():
            with phase("a"):
                pass
        """,
    "bound and not used": """
        @contextmanager
        def phase(name):
            with managed_span(RLSpanGroup.REWARD, f"rl.{name}"):
                yield

        def f():
            with phase("a") as _:
                pass
        """,
    "on one path only": """
        @contextmanager
        def phase(name, on=True):
            if not on:
                yield None
                return
            with managed_span(RLSpanGroup.REWARD, f"rl.{name}") as span:
                yield span

        def f():
            with phase("a") as span:
                safe_set_span_attributes(span, {})
        """,
    "something else": """
        @contextmanager
        def phase(name):
            with managed_span(RLSpanGroup.REWARD, f"rl.{name}"):
                yield object()

        def f():
            with phase("a") as result:
                print(result)
        """,
}

_CASES = [
    *((SpanNotEnded, _ENDED, case) for case in _ENDED),
    *((SpanMayBeNone, _NONE, case) for case in _NONE),
    *((DecoratorNotSupported, _DECORATED, case) for case in _DECORATED),
    *((HelperYieldsNoSpan, _YIELDS, case) for case in _YIELDS),
]


@pytest.mark.parametrize(
    ("rule", "cases", "case"), _CASES, ids=[f"{rule.code}-{case}" for rule, _, case in _CASES]
)
def test_handling(rule: type[Rule], cases: dict[str, str], case: str) -> None:
    files = {"code.py": _HEAD + textwrap.dedent(cases[case])}
    assert reported(lint(files, rule)) == marked(files)
