"""Small projects made up from words, so that no mutator or rule can know their names."""

from __future__ import annotations

import random

from rltel_lint.config import Config

_WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "inlet", "jetty")

_CODE = """\
import functools
import inspect

import ray

from rl_telemetry.contrib.ray import flush_actor, flush_and_kill
from rl_telemetry.instrumentation import (
    RL_ITERATION_ATTR,
    TracedThread,
    accepts_trace_context,
    dispatch_with_trace_context,
    efficiency_span,
    evaluate_span,
    managed_span,
    safe_set_span_attributes,
    start_efficiency_span,
    trace_context_kwargs,
    traced_worker_init,
    umbrella_span,
    umbrella_trace_fn,
)
from rl_telemetry.metrics import (
    TeedMetric,
    print_efficiency_summary,
    record_inference_metrics,
    register_teed_metrics,
)
from rl_telemetry.registry import SpanRegistry
from rl_telemetry.setup import init_telemetry_driver
from rl_telemetry.span_groups import RLSpanGroup

register_teed_metrics([TeedMetric("{key}", "rl.{a}.{key}", "gauge", "", "What is kept.")])


class {A}Group(RLSpanGroup):
    {B} = "{b}"
    {C} = "{c}"


SPAN_GROUP_BUCKET = {{
    "{b}": "productive",
    "{c}": "overhead",
}}
PRESETS = {{"{a}": frozenset({{"{b}", "{c}"}})}}
WALL_CLOCK_EFFICIENCY_CATEGORIES = (
    "idle/buffer_starvation",
    "idle/refit_bubble",
    "wasted/{d}",
    "wasted/{e}",
    "idle/validation",
)
CARRIER = inspect.Parameter("_otel_carrier", inspect.Parameter.KEYWORD_ONLY, default=None)
SpanRegistry.register("{a}", [{A}Group.{B}, {A}Group.{C}], presets=PRESETS)


def counted(method):
    @functools.wraps(method)
    def wrapper(*args, _otel_carrier=None, **kwargs):
        return method(*args, **kwargs)

    shown = inspect.signature(method)
    wrapper.__signature__ = shown.replace(parameters=[*shown.parameters.values(), CARRIER])
    return wrapper


@ray.remote
class {A}Worker:
    @traced_worker_init("rl.{a}.load", **{{"rl.{b}.kind": "x"}})
    def __init__(self, size):
        self.size = size

    @accepts_trace_context
    @umbrella_trace_fn(RLSpanGroup.U_STEP, "rl.{a}.{c}")
    def {c}(self, batch):
        return batch

    @counted
    def {d}(self):
        return self.size


def {d}s(batches):
    for batch in batches:
        yield len(batch)


def ready(queue):
    polls = 0
    with efficiency_span("idle/validation"):
        while queue.empty():
            polls += 1
            queue.wait(0.1)
    return polls


def {e}(batch):
    with managed_span(RLSpanGroup.REWARD, "rl.{b}.{e}") as span:
        safe_set_span_attributes(span, {{"rl.{c}": len(batch), RL_ITERATION_ATTR: 1}})
        return sum(batch)


def wait_for(worker):
    span = start_efficiency_span("idle/refit_bubble")
    try:
        ray.get(worker.{d}.remote(**trace_context_kwargs()))
    finally:
        if span is not None:
            span.end()


def prepare(timer):
    with timer.time("prepare"), managed_span({A}Group.{B}, "rl.{a}.prepare"):
        pass
    with managed_span({A}Group.{C}, "rl.{a}.arrange"):
        with timer.time("wasted/{d}"), timer.time("wasted/{e}"):
            timer.record("idle/validation", 0.0)


def served(meter, seconds, tokens):
    record_inference_metrics(meter, request_duration_s=seconds, output_tokens=tokens)


def finish(logger):
    with umbrella_span(RLSpanGroup.U_STEP, "rl.{b}.finish"):
        logger.flush()


def main(logger, batches):
    init_telemetry_driver({{}}, "{b}")
    prepare(logger.timer)
    with umbrella_span(RLSpanGroup.U_JOB, "rl.{b}.job"):
        worker = {A}Worker.remote(4, **trace_context_kwargs())
        spare = {A}Worker.remote(1, **trace_context_kwargs())
        for step, batch in enumerate(batches):
            ray.get(dispatch_with_trace_context(worker.{c}, batch))
            total = {e}(batch)
            logger.log_metrics({{"{key}": total, "reward": total}}, step, "train")
            with efficiency_span("idle/buffer_starvation"):
                logger.wait()
            best = {e}(batch)
            logger.log_metrics(print_efficiency_summary(logger.seconds, best, step), step)
            wait_for(worker)
        with evaluate_span("{b}"):
            {e}([])
        thread = TracedThread(target=finish, args=(logger,))
        thread.start()
        thread.join()
        flush_and_kill(worker)
        flush_actor(spare)
        ray.kill(spare)


if __name__ == "__main__":
    main(None, [])
"""

_SHARED = """\
import asyncio

from rl_telemetry.instrumentation import managed_span, umbrella_span
from rl_telemetry.span_groups import RLSpanGroup


class {C}Collector:
    def __init__(self, algorithm):
        self.algorithm = algorithm

    def gather(self, prompts):
        with umbrella_span(RLSpanGroup.U_ROLLOUT, f"rl.{{self.algorithm}}.gather"):
            return [self.answer(prompt) for prompt in prompts]

    async def ask_all(self, prompts):
        return await asyncio.gather(*(self.ask(prompt) for prompt in prompts))

    async def ask(self, prompt):
        return await prompt.send()

    def answer(self, prompt):
        with managed_span(RLSpanGroup.GENERATION, f"rl.{{self.algorithm}}.answer"):
            return prompt
"""

_LAUNCHER = """\
from {package}.shared import {C}Collector
from rl_telemetry.instrumentation import umbrella_span
from rl_telemetry.setup import init_telemetry_driver
from rl_telemetry.span_groups import RLSpanGroup


def main(prompts):
    init_telemetry_driver({{}}, "{algorithm}")
    collector = {C}Collector("{algorithm}")
    for _ in range(3):
        with umbrella_span(RLSpanGroup.U_STEP, "rl.{algorithm}.step"):
            collector.gather(prompts)


if __name__ == "__main__":
    main([])
"""

_PAGE = """\
# Spans

The loops are in `{package}/shared.py`, the worker is `{package}.{a}_{b}.{A}Worker`.

| Span | Group | Bucket | Means |
|---|---|---|---|
| `rl.<algo>.step` | `step` | - | a step |
| `rl.<algo>.gather` | `rollout` | - | all prompts |
| `rl.<algo>.answer` | `generation` | productive | one prompt |
| `rl.idle.validation` | `efficiency` | idle | a queue |
| `rl.{b}.job` | `job` | - | the run |
| `rl.{b}.evaluate` | `evaluate` | - | validation |
| `rl.{a}.prepare` | `{b}` | productive | getting ready |
| `rl.{a}.arrange` | `{c}` | overhead | and in order |
| `rl.{b}.finish` | `step` | - | the end |
| `rl.{b}.{e}` | `reward` | productive | verifying |
| `rl.{a}.load` | `model_init` | - | the constructor |
| `rl.{a}.{c}` | `step` | - | a batch |
| `rl.idle.refit_bubble` | `efficiency` | idle | a refit |
| `rl.idle.buffer_starvation` | `efficiency` | idle | samples |

| Group | Bucket | Covers |
|---|---|---|
| `{b}` | productive | getting ready |
| `{c}` | overhead | putting in order |

| Preset | Groups |
|---|---|
| `{a}` | `{b}`, `{c}` |

| Span attribute | Means |
|---|---|
| `rl.{b}.kind` | a word |
| `rl.{c}` | a number |
| `rl.iteration` | a step |

| Metric | Logger key | Kind |
|---|---|---|
| `rl.{a}.{key}` | `{key}` | gauge |

| Metric | Logger key | Kind |
|---|---|---|
| `rl.reward.mean` | `reward` | gauge |
| `rl.efficiency.pct` | `efficiency/efficiency_pct` | gauge |
| `gen_ai.server.request.duration` | | histogram |
| `gen_ai.client.token.usage` | | histogram |

| Span | Parent |
|---|---|
| `rl.<algo>.gather` | `rl.<algo>.step` |

| Environment variable | Means |
|---|---|
| `RL_TELEMETRY_EXPORTER` | where to |

```python
from rl_telemetry.instrumentation import managed_span
from {package}.{a}_{b} import {A}Group

with managed_span({A}Group.{B}, "rl.{a}.prepare"):
    ...
```

## How spans nest

```text
rl.{b}.job
├── rl.{b}.{e}
└── rl.{b}.evaluate
```
"""


CONFIG = Config(profile=("rl_telemetry",), namespace=("rl.",), extend_select=("RLT604", "RLT703"))
"""The configuration of such a project."""


def synthetic(seed: int) -> dict[str, str]:
    """Returns the files of a small clean project.

    Args:
        seed: Decides the words.
    """
    a, b, c, d, e, key, package, page = random.Random(seed).sample(_WORDS, 8)
    words = {"a": a, "b": b, "c": c, "d": d, "e": e, "key": key, "A": a.capitalize()}
    words |= {"B": b.upper(), "C": c.upper(), "package": package}
    return {
        f"{package}/{a}_{b}.py": _CODE.format(**words),
        f"{package}/shared.py": _SHARED.format(**words),
        **{
            f"{package}/{algorithm}_{d}.py": _LAUNCHER.format(**words, algorithm=algorithm)
            for algorithm in ("grpo", "ppo")
        },
        f"docs/{page}.md": _PAGE.format(**words),
    }
