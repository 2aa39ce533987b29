"""RLT411 and RLT412: near misses and their faulty twins."""

from __future__ import annotations

import textwrap

import pytest

from rltel_lint.rules.base import Rule
from rltel_lint.rules.deferred import GeneratorLeftOpen, SpanEndsBeforeWork
from tests.lint.support import lint, marked, reported

_HEAD = """
import contextlib
from contextlib import aclosing, contextmanager
from opentelemetry import trace
from rl_telemetry.instrumentation import (
    managed_span, safe_set_span_attributes, streaming_umbrella_span, trace_fn, umbrella_trace_fn,
)
from rl_telemetry.span_groups import RLSpanGroup as G

tracer = trace.get_tracer("app")

def numbers(count):
    yield from range(count)

async def slow(count):
    for number in range(count):
        yield number

async def fetch():
    return await io()

def plain(count):
    return list(range(count))

@contextmanager
def opened(path):
    yield path

class Reader:
    def rows(self):
        yield 1

    async def load(self):
        return await io()
"""

_ENDED = {
    "a generator is returned": """
        def rows():
            with managed_span(G.REWARD, "rl.a.rows"):
                return numbers(3)  # <- RLT411
        """,
    "a generator is run": """
        def rows():
            with managed_span(G.REWARD, "rl.a.rows"):
                yield from numbers(3)
        """,
    "a generator is used up": """
        def rows():
            with managed_span(G.REWARD, "rl.a.rows"):
                return list(numbers(3))
        """,
    "a plain function is called": """
        def rows():
            with managed_span(G.REWARD, "rl.a.rows"):
                return plain(3)
        """,
    "an unknown function is called": """
        def rows(source):
            with managed_span(G.REWARD, "rl.a.rows"):
                return source.numbers(3)
        """,
    "an async generator is returned": """
        def rows():
            with managed_span(G.REWARD, "rl.a.rows"):
                return slow(3)  # <- RLT411
        """,
    "a coroutine is returned": """
        def rows():
            with managed_span(G.REWARD, "rl.a.rows"):
                return fetch()  # <- RLT411
        """,
    "a coroutine is awaited": """
        async def rows():
            with managed_span(G.REWARD, "rl.a.rows"):
                return await fetch()
        """,
    "a coroutine is handed on": """
        def rows(pool):
            with managed_span(G.REWARD, "rl.a.rows"):
                return pool.run(fetch())
        """,
    "a context manager is returned": """
        def rows():
            with managed_span(G.REWARD, "rl.a.rows"):
                return opened("a")
        """,
    "another actor's method": """
        def rows(reader: Reader):
            with managed_span(G.REWARD, "rl.a.rows"):
                return reader.rows.remote()
        """,
    "a method": """
        def rows():
            reader = Reader()
            with managed_span(G.REWARD, "rl.a.rows"):
                return reader.rows()  # <- RLT411
        """,
    "a method of the object itself": """
        class Loader:
            def load(self):
                with managed_span(G.REWARD, "rl.a.rows"):
                    return self._load()  # <- RLT411

            async def _load(self):
                return await io()
        """,
    "a method that a subclass makes plain": """
        class Loader:
            def load(self):
                with managed_span(G.REWARD, "rl.a.rows"):
                    return self._load()

            async def _load(self):
                return await io()

        class Plain(Loader):
            def _load(self):
                return 1
        """,
    "the block works before": """
        def rows(source):
            with managed_span(G.REWARD, "rl.a.rows"):
                ready = source.prepare()
                return numbers(ready)
        """,
    "the block works for the arguments": """
        def rows(source):
            with managed_span(G.REWARD, "rl.a.rows"):
                return numbers(source.count())
        """,
    "the block only says something about the span": """
        def rows(count):
            with managed_span(G.REWARD, "rl.a.rows") as span:
                safe_set_span_attributes(span, {"rl.count": count})
                return numbers(count)  # <- RLT411
        """,
    "on both branches": """
        def rows(count):
            with tracer.start_as_current_span("rl.a.rows"):
                if count > 3:
                    return numbers(count)  # <- RLT411
                return numbers(3)  # <- RLT411
        """,
    "one branch works": """
        def rows(count):
            with tracer.start_as_current_span("rl.a.rows"):
                if count > 3:
                    return numbers(count)
                return plain(count)
        """,
    "held, and looped over outside": """
        def rows():
            with managed_span(G.REWARD, "rl.a.rows"):
                found = numbers(3)  # <- RLT411
            for one in found:
                work(one)
        """,
    "held, and looped over inside": """
        def rows():
            with managed_span(G.REWARD, "rl.a.rows"):
                found = numbers(3)
                for one in found:
                    work(one)
        """,
    "ended by somebody else": """
        def rows():
            with tracer.start_as_current_span("rl.a.rows", end_on_exit=False) as span:
                return numbers(3)
        """,
    "something else is entered inside": """
        def rows(lock):
            with managed_span(G.REWARD, "rl.a.rows"), lock:
                return numbers(3)
        """,
    "something else is entered before": """
        def rows(lock):
            with lock, managed_span(G.REWARD, "rl.a.rows"):
                return numbers(3)  # <- RLT411
        """,
    "decorated with something unknown": """
        @retried
        def many():
            yield 1

        def rows():
            with managed_span(G.REWARD, "rl.a.rows"):
                return many()
        """,
    "the generator of a nested function": """
        def rows(files):
            def read():
                for file in files:
                    yield file.read()

            with managed_span(G.REWARD, "rl.a.rows"):
                return read()  # <- RLT411
        """,
}


@pytest.mark.parametrize("case", _ENDED)
def test_a_span_is_open_while_its_work_is_done(case: str) -> None:
    _check(_ENDED[case], SpanEndsBeforeWork)


_TRACED = """
async def attached():
    with tracer.start_as_current_span("rl.a.stream"):
        yield 1

@trace_fn(G.REWARD, "rl.a.decorated")
async def decorated():
    yield 1

async def spanned_before():
    with managed_span(G.REWARD, "rl.a.before"):
        work()
    yield 1
"""

_LEFT = {
    "a return": """
        async def first():
            async for one in attached():  # <- RLT412
                return one
        """,
    "a break": """
        async def first():
            async for one in decorated():  # <- RLT412
                if one:
                    break
        """,
    "looped over to its end": """
        async def every():
            async for one in attached():
                work(one)
        """,
    "a break of an inner loop": """
        async def every():
            async for one in attached():
                for part in one:
                    if part:
                        break
        """,
    "a return in an inner loop": """
        async def every():
            async for one in attached():  # <- RLT412
                for part in one:
                    if part:
                        return part
        """,
    "a return of a nested function": """
        async def every():
            async for one in attached():
                def show():
                    return one
                work(show)
        """,
    "closed where it is left": """
        async def first():
            async with aclosing(attached()) as stream:
                async for one in stream:
                    return one
        """,
    "held, and left": """
        async def first():
            stream = attached()  # <- RLT412
            async for one in stream:
                if one:
                    break
        """,
    "held, and closed by hand": """
        async def first():
            stream = attached()
            async for one in stream:
                if one:
                    break
            await stream.aclose()
        """,
    "held, and closed in the with": """
        async def first():
            stream = attached()
            async with contextlib.aclosing(stream):
                async for one in stream:
                    return one
        """,
    "a generator without a span": """
        async def first():
            async for one in slow(3):
                return one
        """,
    "a generator whose span is over by then": """
        async def first():
            async for one in spanned_before():
                return one
        """,
}


@pytest.mark.parametrize("case", _LEFT)
def test_a_traced_generator_is_closed_where_it_is_left(case: str) -> None:
    _check(_TRACED + textwrap.dedent(_LEFT[case]), GeneratorLeftOpen)


def _check(text: str, rule: type[Rule]) -> None:
    files = {"app.py": _HEAD + textwrap.dedent(text)}
    assert reported(lint(files, rule)) == marked(files)


def test_the_message_says_what_the_call_makes() -> None:
    text = _HEAD + textwrap.dedent(_ENDED["an async generator is returned"])
    (finding,) = lint({"app.py": text}, SpanEndsBeforeWork)
    assert finding.message == (
        'span "rl.a.rows" ends before slow has run, for the call only makes an async generator; '
        "loop over it inside the span, or open the span in slow"
    )


def test_leaving_a_generator_open_is_reported_on_request_only() -> None:
    assert not GeneratorLeftOpen.default
    assert GeneratorLeftOpen.severity == "warning"
