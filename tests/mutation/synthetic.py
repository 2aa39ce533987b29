"""Small projects made up from words, so that no mutator or rule can know their names."""

from __future__ import annotations

import random

_WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "inlet", "jetty")

_CODE = """\
import ray

from rl_telemetry.contrib.ray import flush_and_kill
from rl_telemetry.instrumentation import (
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
from rl_telemetry.metrics import TeedMetric, register_teed_metrics
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
SpanRegistry.register("{a}", [{A}Group.{B}, {A}Group.{C}], presets=PRESETS)


@ray.remote
class {A}Worker:
    @traced_worker_init("rl.{a}.load", **{{"rl.{b}": "x"}})
    def __init__(self, size):
        self.size = size

    @accepts_trace_context
    @umbrella_trace_fn(RLSpanGroup.U_STEP, "rl.{a}.{c}")
    def {c}(self, batch):
        return batch

    def {d}(self):
        return self.size


def {e}(batch):
    with managed_span(RLSpanGroup.REWARD, "rl.{b}.{e}") as span:
        safe_set_span_attributes(span, {{"rl.{c}": len(batch)}})
        return sum(batch)


def wait_for(worker):
    span = start_efficiency_span("idle/refit_bubble")
    try:
        ray.get(worker.{d}.remote())
    finally:
        if span is not None:
            span.end()


def prepare(timer):
    with managed_span({A}Group.{B}, "rl.{a}.prepare"):
        pass
    with managed_span({A}Group.{C}, "rl.{a}.arrange"):
        with timer.time("wasted/{d}"), timer.time("wasted/{e}"):
            timer.record("idle/validation", 0.0)


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
            logger.log_metrics({{"{key}": total}}, step, "train")
            with efficiency_span("idle/buffer_starvation"):
                logger.wait()
            wait_for(worker)
        with evaluate_span("{b}"):
            {e}([])
        thread = TracedThread(target=finish, args=(logger,))
        thread.start()
        thread.join()
        flush_and_kill(worker)
        flush_and_kill(spare)


if __name__ == "__main__":
    main(None, [])
"""

_PAGE = """\
# Spans

| Span | Group | Bucket | Means |
|---|---|---|---|
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
| `rl.{b}` | a word |
| `rl.{c}` | a number |

| Metric | Logger key | Kind |
|---|---|---|
| `rl.{a}.{key}` | `{key}` | gauge |

## How spans nest

```text
rl.{b}.job
├── rl.{b}.{e}
└── rl.{b}.evaluate
```
"""


def synthetic(seed: int) -> dict[str, str]:
    """Returns the files of a small clean project.

    Args:
        seed: Decides the words.
    """
    a, b, c, d, e, key, package, page = random.Random(seed).sample(_WORDS, 8)
    words = {"a": a, "b": b, "c": c, "d": d, "e": e, "key": key, "A": a.capitalize()}
    words |= {"B": b.upper(), "C": c.upper()}
    return {
        f"{package}/{a}_{b}.py": _CODE.format(**words),
        f"docs/{page}.md": _PAGE.format(**words),
    }
