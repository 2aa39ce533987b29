"""RLT410: a wait span that a polling loop opens on every pass."""

from __future__ import annotations

import pytest

from rltel_lint.rules.waiting import WaitReopened
from tests.lint.support import lint

HEAD = """
import asyncio
import logging
import time

import ray

from rl_telemetry.instrumentation import (
    efficiency_span,
    managed_span,
    start_efficiency_span,
)
from rl_telemetry.span_groups import RLSpanGroup

logger = logging.getLogger(__name__)


class Poller:
    def pause(self):
        time.sleep(0.1)

    def wait_once(self):
        if self.closed:
            return
        started = time.perf_counter()
        with efficiency_span("idle/x"):
            time.sleep(0.1)
        self.seconds += time.perf_counter() - started

    def work_once(self):
        self.train()
        with efficiency_span("idle/x"):
            time.sleep(0.1)

    async def wait_soon(self):
        with efficiency_span("idle/x"):
            await asyncio.sleep(0.1)

"""

POLLING = {
    "a test": """
        while not event.is_set():
            with efficiency_span("idle/x"):
                time.sleep(0.1)
    """,
    "a test that waits by itself": """
        while not event.is_set():
            with efficiency_span("idle/x"):
                event.wait(0.1)
    """,
    "a walrus": """
        polls = 0
        while (item := ray.get(self.buffer.take.remote())) is None:
            polls += 1
            with efficiency_span("idle/x"):
                self.pause()
        return item
    """,
    "a break": """
        while True:
            if buffer.is_filled():
                break
            with efficiency_span("idle/x"):
                time.sleep(0.1)
    """,
    "a category in a variable": """
        while not event.is_set():
            category = "idle/x"
            with efficiency_span(category):
                time.sleep(0.1)
    """,
    "a probe": """
        while True:
            sample = buffer.sample()
            if sample is not None:
                return sample
            logger.debug("nothing yet")
            with efficiency_span("idle/x"):
                time.sleep(0.1)
    """,
    "a continue, with work behind it": """
        while True:
            with efficiency_span("idle/x"):
                sample = buffer.sample()
                if sample is None:
                    time.sleep(0.1)
                    continue
            self.train(sample)
    """,
    "beside a timer": """
        while not event.is_set():
            with self.timer.time("idle/x"), efficiency_span("idle/x"):
                time.sleep(0.1)
    """,
    "inside a timer": """
        while not event.is_set():
            with self.timer.time("idle/x"):
                with efficiency_span("idle/x"):
                    time.sleep(0.1)
    """,
    "by hand": """
        while not event.is_set():
            span = start_efficiency_span("idle/x")
            try:
                time.sleep(0.1)
            finally:
                if span is not None:
                    span.end()
    """,
    "in a method": """
        while not event.is_set():
            self.wait_once()
    """,
    "in a coroutine": """
        while not event.is_set():
            await self.wait_soon()
    """,
    "of a condition": """
        while step > self.version + self.lag:
            with efficiency_span("idle/x"):
                self.changed.clear()
                await self.changed.wait()
    """,
}

FINE = {
    "around the loop": """
        with efficiency_span("idle/x"):
            while not event.is_set():
                time.sleep(0.1)
    """,
    "work between the waits": """
        while not event.is_set():
            self.train()
            with efficiency_span("idle/x"):
                time.sleep(0.1)
    """,
    "work behind the wait": """
        while not event.is_set():
            with efficiency_span("idle/x"):
                batch = buffer.get()
            self.train(batch)
    """,
    "work that a method does": """
        while not event.is_set():
            self.work_once()
    """,
    "another thing in each pass": """
        while True:
            item = buffer.pop()
            if item is None:
                break
            with efficiency_span("idle/x"):
                item.wait()
    """,
    "another thing in each test": """
        while item := buffer.pop():
            with efficiency_span("idle/x"):
                item.wait()
    """,
    "what the pass itself uses up": """
        while self.waiting:
            with efficiency_span("idle/x"):
                self.waiting.pop().wait()
    """,
    "what the pass itself changes": """
        while pending:
            with efficiency_span("idle/x"):
                done, pending = ray.wait(pending)
    """,
    "a number of workers": """
        for worker in self.workers:
            with efficiency_span("idle/x"):
                worker.join()
    """,
    "a loop without an end": """
        while True:
            with efficiency_span("idle/x"):
                self.heartbeat()
    """,
    "a continue of an inner loop": """
        while True:
            with efficiency_span("idle/x"):
                for worker in self.workers:
                    if worker.is_done():
                        continue
                    worker.join()
            self.train()
    """,
    "no wait": """
        while not event.is_set():
            with managed_span(RLSpanGroup.REWARD, "rl.grpo.reward"):
                self.pause()
    """,
    "work by hand": """
        while not event.is_set():
            span = start_efficiency_span("idle/x")
            self.pause()
            if span is not None:
                span.end()
            self.train()
    """,
    "a definition in a loop": """
        while not event.is_set():
            def later():
                with efficiency_span("idle/x"):
                    time.sleep(0.1)
            self.submit(later)
    """,
}


def method(body: str) -> dict[str, str]:
    lines = [line[4:] for line in body.strip("\n").splitlines()]
    return {"m.py": HEAD + "    async def run(self, event, buffer, step, pending):\n"
            + "\n".join(f"    {line}" for line in lines) + "\n"}  # fmt: skip


@pytest.mark.parametrize("how", POLLING)
def test_a_polling_loop_is_reported(how: str) -> None:
    (found,) = lint(method(POLLING[how]), WaitReopened)
    assert 'wait span "rl.idle.x" is opened anew' in found.message
    assert [related.message for related in found.related] == ["the loop"]


@pytest.mark.parametrize("how", FINE)
def test_other_loops_are_not(how: str) -> None:
    assert lint(method(FINE[how]), WaitReopened) == []


def test_the_reference_system_names_its_own_helper() -> None:
    files = {
        "tele.py": """
            from contextlib import contextmanager
            from nemo.lens import managed_span

            @contextmanager
            def efficiency_span(category):
                with managed_span("efficiency", f"rl.{category.replace('/', '.')}") as span:
                    yield span
        """,
        "m.py": """
            import time
            from tele import efficiency_span

            def wait(event):
                while not event.is_set():
                    with efficiency_span("idle/x"):
                        time.sleep(0.1)
        """,
    }
    assert len(lint(files, WaitReopened, profile="nemo_lens")) == 1
