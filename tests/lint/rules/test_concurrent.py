"""RLT413: a bucketed span that many tasks open at once."""

from __future__ import annotations

import pytest

from rltel_lint.rules.concurrent import BucketedManyAtOnce
from tests.lint.support import lint, marked, reported

HEAD = """\
import asyncio
from asyncio import gather as together

from rl_telemetry.instrumentation import managed_span, trace_fn, umbrella_span
from rl_telemetry.span_groups import RLSpanGroup as G


async def answer(prompt):
    with managed_span(G.GENERATION, "rl.grpo.answer"):
        return await prompt.send()


@trace_fn(G.GENERATION, "rl.grpo.decorated")
async def decorated(prompt):
    return await prompt.send()


async def outer(prompt):
    prepared = prompt.prepare()
    return await answer(prepared)


async def whole(prompt):
    with umbrella_span(G.U_PER_PROMPT, "rl.grpo.whole"):
        return await prompt.send()


async def counted(prompt):
    text = await prompt.send()
    with managed_span(G.REWARD, "rl.grpo.reward"):
        return prompt.reward(text)


async def guarded(prompt, lock):
    async with lock:
        with managed_span(G.GENERATION, "rl.grpo.guarded"):
            return await prompt.send()


async def one_by_one(prompt, lock):
    async with lock:
        return await answer(prompt)


def plain(prompt):
    with managed_span(G.GENERATION, "rl.grpo.plain"):
        return prompt.send()


"""

RUN = {
    "gathered": "    await asyncio.gather(*({f}(p) for p in prompts))  # <-",
    "gathered list": "    await asyncio.gather(*[{f}(p) for p in prompts])  # <-",
    "alias": "    await together(*({f}(p) for p in prompts))  # <-",
    "held": "    made = [{f}(p) for p in prompts]  # <-\n    await asyncio.gather(*made)",
    "tasks": "    tasks = [asyncio.create_task({f}(p)) for p in prompts]  # <-\n"
    "    await asyncio.gather(*tasks)",
    "loop": "    tasks = []\n    for p in prompts:\n"
    "        tasks.append(asyncio.create_task({f}(p)))  # <-\n    await asyncio.wait(tasks)",
    "group": "    async with asyncio.TaskGroup() as group:\n        for p in prompts:\n"
    "            group.create_task({f}(p))  # <-",
    "futures": "    for p in prompts:\n        asyncio.ensure_future({f}(p))  # <-",
}
FINE = {
    "one after the other": "    for p in prompts:\n        await {f}(p)",
    "awaited at once": "    for p in prompts:\n        task = asyncio.create_task({f}(p))\n"
    "        await task",
    "awaited in place": "    for p in prompts:\n        await asyncio.create_task({f}(p))",
    "one task": "    task = asyncio.create_task({f}(prompts))\n    await task",
    "others": "    await asyncio.gather(*(p.send() for p in prompts))",
    "a fixed few": "    await asyncio.gather({f}(prompts), prompts.send())",
}


def program(body: str, function: str) -> dict[str, str]:
    return {"m.py": HEAD + "async def run(prompts, lock):\n" + body.replace("{f}", function) + "\n"}


@pytest.mark.parametrize("how", RUN)
@pytest.mark.parametrize("function", ["answer", "decorated", "outer"])
def test_tasks_that_run_at_once(how: str, function: str) -> None:
    files = program(RUN[how].replace("<-", "<- RLT413"), function)
    found = lint(files, BucketedManyAtOnce)
    assert reported(found) == marked(files)
    assert all(one.related[0].place.line < one.place.line for one in found)


@pytest.mark.parametrize("how", RUN)
@pytest.mark.parametrize("function", ["whole", "counted", "plain", "prompts.answer"])
def test_what_carries_no_bucket_or_cannot_overlap(how: str, function: str) -> None:
    assert lint(program(RUN[how], function), BucketedManyAtOnce) == []


@pytest.mark.parametrize("function", ["guarded", "one_by_one"])
def test_what_a_lock_guards(function: str) -> None:
    body = "    await asyncio.gather(*({f}(p, lock) for p in prompts))"
    assert lint(program(body, function), BucketedManyAtOnce) == []


@pytest.mark.parametrize("how", FINE)
def test_tasks_that_run_one_after_the_other(how: str) -> None:
    assert lint(program(FINE[how], "answer"), BucketedManyAtOnce) == []
