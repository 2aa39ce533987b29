"""RLT306 and RLT307: near misses and their faulty twins."""

from __future__ import annotations

import textwrap

import pytest

from rltel_lint.rules.threads import KeywordHiddenFromRay, ThreadWithoutContext
from tests.lint.support import lint, marked, reported

_HEAD = """
import asyncio
import contextvars
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from rl_telemetry.instrumentation import (
    accepts_trace_context, managed_span, remote_trace_context, umbrella_span
)
from rl_telemetry.span_groups import RLSpanGroup
from rl_telemetry.threads import TracedThread, TracedThreadPoolExecutor, bind_trace_context

def score(batch=None):
    with managed_span(RLSpanGroup.REWARD, "rl.grpo.reward"):
        return batch

def plain(batch=None):
    return batch

def carried(batch=None, carrier=None):
    with remote_trace_context(carrier):
        return score(batch)
"""

_IN_STEP = '    with umbrella_span(RLSpanGroup.U_STEP, "rl.grpo.step"):\n'

_SPAWNS = {
    "a thread": "threading.Thread(target=score).start()  # <- RLT306",
    "a thread without spans": "threading.Thread(target=plain).start()",
    "a thread that reattaches": "threading.Thread(target=carried).start()",
    "a bound function": "threading.Thread(target=bind_trace_context(score)).start()",
    "a traced thread": "TracedThread(target=score).start()",
    "a timer": "threading.Timer(3, score).start()  # <- RLT306",
    "a partial": "threading.Thread(target=partial(score, 1)).start()  # <- RLT306",
    "an executor": "ThreadPoolExecutor().submit(score)  # <- RLT306",
    "a traced executor": "TracedThreadPoolExecutor().submit(score)",
    "a map": "ThreadPoolExecutor().map(score, [1])  # <- RLT306",
    "another process": "ProcessPoolExecutor().submit(score)",
    "an executor of unknown class": "pool.submit(score)",
    "a copied context": "ThreadPoolExecutor().submit(contextvars.copy_context().run, score)",
    "to_thread": "asyncio.to_thread(score)",
    "run_in_executor": "loop.run_in_executor(None, score)  # <- RLT306",
    "run_in_executor with another pool": "loop.run_in_executor(pool, score)",
}


@pytest.mark.parametrize("case", _SPAWNS)
def test_spawn(case: str) -> None:
    text = _HEAD + f"\ndef step(pool, loop):\n{_IN_STEP}        {_SPAWNS[case]}\n"
    files = {"code.py": text}
    assert reported(lint(files, ThreadWithoutContext)) == marked(files)


_PLACES = {
    "no span is open": """
        def main():
            threading.Thread(target=score).start()
        """,
    "the caller is in a span": """
        def start():
            threading.Thread(target=score).start()  # <- RLT306

        def main():
            with umbrella_span(RLSpanGroup.U_JOB, "rl.grpo.job"):
                start()
        """,
    "the caller is outside of its span": """
        def start():
            threading.Thread(target=score).start()

        def main():
            with umbrella_span(RLSpanGroup.U_JOB, "rl.grpo.job"):
                print("working")
            start()
        """,
    "a method that accepts a carrier": """
        class Worker:
            @accepts_trace_context
            def run(self):
                threading.Thread(target=self._work).start()  # <- RLT306

            def _work(self):
                score()
        """,
    "a method that reattaches": """
        class Worker:
            @accepts_trace_context
            def run(self, carrier):
                self.carrier = carrier
                threading.Thread(target=self._work).start()

            def _work(self):
                with remote_trace_context(self.carrier):
                    score()
        """,
    "a class that is a thread": """
        class Scorer(threading.Thread):
            def run(self):
                score()

        def main():
            with umbrella_span(RLSpanGroup.U_JOB, "rl.grpo.job"):
                Scorer().start()  # <- RLT306
        """,
    "a class that is a traced thread": """
        class Scorer(TracedThread):
            def run(self):
                score()

        def main():
            with umbrella_span(RLSpanGroup.U_JOB, "rl.grpo.job"):
                Scorer().start()
        """,
    "a class that is a thread and reattaches": """
        class Scorer(threading.Thread):
            def run(self):
                with remote_trace_context(self.carrier):
                    score()

        def main():
            with umbrella_span(RLSpanGroup.U_JOB, "rl.grpo.job"):
                Scorer().start()
        """,
    "a span that is a root on purpose": """
        def load():
            with umbrella_span(RLSpanGroup.U_MODEL_INIT, "rl.policy.load_model"):
                return None

        def main():
            with umbrella_span(RLSpanGroup.U_SETUP, "rl.setup.workers"):
                threading.Thread(target=load).start()
        """,
}


@pytest.mark.parametrize("case", _PLACES)
def test_place(case: str) -> None:
    files = {"code.py": _HEAD + textwrap.dedent(_PLACES[case])}
    assert reported(lint(files, ThreadWithoutContext)) == marked(files)


_WRAPPERS = {
    "hidden": """
        def traced(method):
            @functools.wraps(method)
            def wrapper(self, *args, _otel_carrier=None, **kwargs):  # <- RLT307
                return method(self, *args, **kwargs)
            return wrapper
        """,
    "popped": """
        def traced(method):
            @functools.wraps(method)
            def wrapper(self, *args, **kwargs):
                carrier = kwargs.pop("_otel_carrier", None)  # <- RLT307
                return method(self, *args, **kwargs)
            return wrapper
        """,
    "a factory": """
        def traced(name):
            def decorate(method):
                @functools.wraps(method)
                def wrapper(self, *args, _otel_carrier=None, **kwargs):  # <- RLT307
                    return method(self, *args, **kwargs)
                return wrapper
            return decorate
        """,
    "advertised": """
        def traced(method):
            @functools.wraps(method)
            def wrapper(self, *args, _otel_carrier=None, **kwargs):
                return method(self, *args, **kwargs)
            wrapper.__signature__ = with_carrier(method)
            return wrapper
        """,
    "advertised by a helper": """
        def advertise(wrapper, method):
            wrapper.__signature__ = with_carrier(method)

        def traced(method):
            @functools.wraps(method)
            def wrapper(self, *args, _otel_carrier=None, **kwargs):
                return method(self, *args, **kwargs)
            advertise(wrapper, method)
            return wrapper
        """,
    "unwrapped": """
        def traced(method):
            @functools.wraps(method)
            def wrapper(self, *args, _otel_carrier=None, **kwargs):
                return method(self, *args, **kwargs)
            del wrapper.__wrapped__
            return wrapper
        """,
    "handed to something unknown": """
        def traced(method):
            @functools.wraps(method)
            def wrapper(self, *args, _otel_carrier=None, **kwargs):
                return method(self, *args, **kwargs)
            return register(wrapper)
        """,
    "no keyword of its own": """
        def traced(method):
            @functools.wraps(method)
            def wrapper(self, *args, **kwargs):
                return method(self, *args, **kwargs)
            return wrapper
        """,
    "a keyword that nobody sends": """
        def traced(method):
            @functools.wraps(method)
            def wrapper(self, *args, retries=3, **kwargs):
                return method(self, *args, **kwargs)
            return wrapper
        """,
    "a keyword that somebody sends": """
        def traced(method):
            @functools.wraps(method)
            def wrapper(self, *args, retries=3, **kwargs):  # <- RLT307
                return method(self, *args, **kwargs)
            return wrapper

        def run(policy):
            return policy.train.remote(1, retries=4)
        """,
    "without wraps": """
        def traced(method):
            def wrapper(self, *args, _otel_carrier=None, **kwargs):
                return method(self, *args, **kwargs)
            return wrapper
        """,
}


@pytest.mark.parametrize("case", _WRAPPERS)
@pytest.mark.parametrize(
    ("head", "params", "remote"),
    [("@ray.remote", "batch", True), ("", "batch", False), ("@ray.remote", "batch, **k", False)],
    ids=["remote", "local", "takes any"],
)
def test_wrapper(case: str, head: str, params: str, remote: bool) -> None:
    use = "traced('a')" if case == "a factory" else "traced"
    text = "import functools\nimport ray\n" + textwrap.dedent(_WRAPPERS[case])
    text += f"\n{head}\nclass Policy:\n    @{use}\n    def train(self, {params}):\n        pass\n"
    files = {"code.py": text}
    expected = marked(files) if remote else set()
    assert reported(lint(files, KeywordHiddenFromRay)) == expected
