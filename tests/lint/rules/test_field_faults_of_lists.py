"""Faults that users of other projects reported: lists, documents and life cycle.

Like the faults of code in ``test_field_faults``: each is planted in the shape it was found in,
in a few spellings, with the same program without it. The numbers are those of the collection of
reports that the rules were written for.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

from rltel_lint.inspected import blindness, count_inspected
from rltel_lint.rules.base import Rule
from rltel_lint.rules.categories import UndeclaredCategory
from rltel_lint.rules.citations import CitedThingMissing
from rltel_lint.rules.consumers import ConsumedKeyNeverLogged
from rltel_lint.rules.dashboards import QueriedLabelNeverSet, QueriedSeriesNotRecorded
from rltel_lint.rules.examples import ExampleDisagrees
from rltel_lint.rules.groups import GroupsDocumentedDiffer, UnemittedGroup
from rltel_lint.rules.lifecycle import ActorNeverInitialises, EntryWithoutDriver, KilledWithoutFlush
from rltel_lint.rules.metrics import KeyNeverLogged
from rltel_lint.rules.naming import SpanUnlikeTimer
from rltel_lint.rules.pins import PinOutsideRange
from rltel_lint.rules.reading import MatchesNothing
from rltel_lint.rules.series import MetricNeverRecorded, NothingRecorded
from rltel_lint.rules.spans import ReservedSpanEmitted, UndocumentedSpan, UnemittedSpan
from tests.lint.support import link, lint, marked, project, reported


class Fault(NamedTuple):
    """A program with a fault, and the replacements that mend it."""

    rules: tuple[type[Rule], ...]
    text: str
    mended: tuple[tuple[str, str], ...]
    profile: str = "rl_telemetry"


GAUGES = """
--- pyproject.toml
[tool.rltel-lint.vocabulary.metrics.maps]
GAUGES = ["train", ""]
--- tee.py
GAUGES = {
    "drift": ("kl", "mean_kl"),  # <- RLT501
    "gain": ("score", "avg_score"),  # <- RLT501
}
--- train.py
def step(logger, s, k, number):
    logger.log_metrics({"score": s, "kl_term": k}, number, prefix="train")
"""

ROWS = """
--- telemetry/core.py
from rl_telemetry.metrics import TeedMetric, register_teed_metrics

ROWS = [
    ("algo_a/loss", "rl.a.loss"),  # <- RLT501
    ("algo_b/loss", "rl.b.loss"),
]
register_teed_metrics([TeedMetric(key, name) for key, name in ROWS])
--- algorithms/algo_a.py
def step(logger, loss, number):
    logger.log_metrics({"algo_a/total_loss": loss}, number, prefix="train")
--- algorithms/algo_b.py
def step(logger, loss, number):
    logger.log_metrics({"algo_b/loss": loss}, number, prefix="train")
"""

MODE = """
--- train.py
from rl_telemetry.metrics import TeedMetric, register_teed_metrics

register_teed_metrics([TeedMetric("spread", "rl.spread")])  # <- RLT501

def step(cfg, logger, loss, number):
    # "spread" is logged when the mode asks for it
    if cfg.mode == "spread":
        loss = loss * 2
    logger.log_metrics({"loss": loss}, number, prefix="train")
"""

WAITS = """
--- train.py
from rl_telemetry.instrumentation import efficiency_span as idle_span
from rl_telemetry.instrumentation import managed_span as _otel_managed_span
from rl_telemetry.span_groups import RLSpanGroup as G

def step():
    with idle_span("idle/refill"):  # <- RLT101
        ...
    with _otel_managed_span(name="rl.x.y", group=G.REWARD):  # <- RLT101
        ...
--- docs/spans.md
| Span | Means |
|---|---|
| `rl.idle.refills` | waiting <- RLT102 |
| `rl.x.z` | scoring <- RLT102 |
"""

DROPPED = """
--- tee.py
import inspect
from nemo.lens.instruments.rl import record_rl_metrics

_RL_OTEL_METRIC_MAP = {
    "reward_mean": ("reward",),
    "tokens_per_sec": ("speed",),  # <- RLT506
}

def tee(meter, row):
    ok = set(inspect.signature(record_rl_metrics).parameters)
    record_rl_metrics(meter, **{k: v for k, v in row.items() if k in ok})
"""

TIMERS = """
--- train.py
from rl_telemetry.instrumentation import managed_span, umbrella_span
from rl_telemetry.span_groups import RLSpanGroup as G

def step(clock):
    with clock.time("policy_update"), managed_span(G.POLICY_UPDATE, "rl.a.update"):  # <- RLT604
        ...
    with managed_span(G.CHECKPOINT, "rl.a.checkpointing"), clock.time("save"):  # <- RLT604
        ...
"""

WORKER = """
--- setup.py
from rl_telemetry.setup import init_telemetry_worker

__all__ = ["setup_worker"]

def setup_worker():
    init_telemetry_worker()
--- workers.py
import ray
from rl_telemetry.instrumentation import managed_span
from rl_telemetry.span_groups import RLSpanGroup
from setup import setup_worker

@ray.remote
class Scorer:  # <- RLT802
    def __init__(self, model):
        self.model = model

    def score(self, rows):
        with managed_span(RLSpanGroup.REWARD, "rl.a.reward"):
            return self.model(rows)
"""

LOOPS = """
--- loops.py
from rl_telemetry.instrumentation import umbrella_span
from rl_telemetry.span_groups import RLSpanGroup

def train(steps):
    for step in range(steps):
        with umbrella_span(RLSpanGroup.U_STEP, "rl.a.step"):
            print(step)
--- run_old.py
from loops import train
from rl_telemetry.setup import init_telemetry_driver

def main():
    init_telemetry_driver({}, "old")
    train(10)

if __name__ == "__main__":
    main()
--- run_new.py
from loops import train

def main():  # <- RLT804
    train(20)

if __name__ == "__main__":
    main()
"""

KILL = """
--- once.py
import os
import ray
from rl_telemetry.setup import init_telemetry_worker

@ray.remote
class Once:
    def __init__(self):
        init_telemetry_worker(rank=int(os.environ.get("RANK", 3)))

def end(handle):
    handle = Once.remote()
    handles = [handle]
    for one in handles:
        ray.kill(one)  # <- RLT803
"""

WASTE = """
--- categories.py
WALL_CLOCK_EFFICIENCY_CATEGORIES = ("idle/a",)
--- train.py
def wait(clock, queue):
    with clock.time("idle/a"):
        queue.get()
    with clock.time("idle/b"):  # <- RLT601
        queue.get()
    clock.start("wasted/c")  # <- RLT601
    queue.get()
    clock.stop("wasted/c")  # <- RLT601
"""

CONFIG = """
--- pyproject.toml
[tool.rltel-lint]
profile = "nemo_lens"
configs = ["recipes/"]
--- validate.py
def validate(logger, score, step):
    logger.log_metrics({"score/mean": score}, step, prefix="validation")
--- recipes/old.yaml
checkpointing:
  metric_name: "val_score"  # <- RLT509
--- recipes/new.yaml
checkpointing:
  metric_name: "val:score"  # <- RLT509
"""

PROSE = """
--- pkg/__init__.py
--- pkg/sampling.py
class Sampler:
    ...
--- tests/test_draw.py
def test_draws_one():
    ...
--- docs/sampling.md
See `pkg.sampling.RankSampler` <- RLT902

and `tests/test_hop.py`. <- RLT902

```python
from pkg.sampling import RankSampler  # <- RLT901
```
"""

GROUPS = """
--- groups.py
from rl_telemetry.registry import SpanRegistry
from rl_telemetry.span_groups import RLSpanGroup

class Mine(RLSpanGroup):
    SERVE = "serve"
    TOOL = "tool_call"  # <- RLT201

SpanRegistry.register("mine", [Mine.SERVE, Mine.TOOL])
--- serve.py
from groups import Mine
from rl_telemetry.instrumentation import managed_span

def serve():
    with managed_span(Mine.SERVE, "rl.serve.request"):
        ...
--- docs/groups.md
Groups of `rl.serve.request` and others:

| Group | Means |
|---|---|
| `serve` | one request |
| `tool_call` | a call |
| `browse` | a page <- RLT204 |
"""

PIN = """
--- pyproject.toml
[project]
name = "tracer"
dependencies = ["otel-api>=1.3"]

[project.optional-dependencies]
export = ["otel-exporter~=1.3"]
--- docs/tracing.md
```bash
pip install otel-api==1.1.0  <- RLT904
pip install other \\
    otel-exporter==2.0  <- RLT904
```

or `pip install otel-api~=1.1.0` <- RLT904
"""

PANELS = """
--- pool.py
def instruments(meter):
    return meter.create_gauge("rl.cluster.pool_active")

def observe(gauge, count, kind):
    gauge.set(count, {"node_kind": kind})
--- ops/dashboards/pool.json
{
  "a": {"expr": "sum(rl_pool_active{Kind=\\"w\\"})", "x": "<- RLT508"},
  "b": {"expr": "sum(rl_cluster_pool_active{NodeKind=\\"w\\"})", "x": "<- RLT704"},
  "c": {"expr": "histogram_quantile(0.9, rl_cluster_pool_bucket)", "x": "<- RLT508"}
}
"""

REMOVED = """
--- serve.py
def instruments(meter):
    return [meter.create_gauge("rl.ttft")]
--- docs/metrics.md
| Metric | State |
|---|---|
| `rl.ttft` | removed in 0.5 <- RLT103 |
| `rl.tpot` | active <- RLT504 |
--- dashboards/serve.json
{
  "a": {"expr": "rl_ttft"},
  "b": {"expr": "rl_itl", "x": "<- RLT508"}
}
"""

PREFIXES = """
--- serve.py
def instruments(meter):
    return [meter.create_gauge("rl.cache.hit_rate")]
--- docs/metrics.md
| Metric | Kind |
|---|---|
| `rl.cache.hit_rate` | gauge |
| `rl.prefill.*` | gauges of one side <- RLT504 |
| `rl.decode.cache.hit_rate` | gauge <- RLT504 |
"""

FAULTS = {
    "1: candidates of a field that nothing logs": Fault(
        (KeyNeverLogged,),
        GAUGES,
        (('("kl", "mean_kl"),', '("kl_term",),'), ('("score", "avg_score"),', '("score",),')),
    ),
    "2: a key that is only compared with": Fault(
        (KeyNeverLogged,), MODE, (('{"loss": loss}', '{"loss": loss, "spread": 1}'),)
    ),
    "2: names by a helper, by keyword and alias": Fault(
        (UndocumentedSpan, UnemittedSpan),
        WAITS,
        (("rl.idle.refills", "rl.idle.refill"), ("rl.x.z", "rl.x.y")),
    ),
    "3: rows in one module, the key in another": Fault(
        (KeyNeverLogged,), ROWS, (("algo_a/total_loss", "algo_a/loss"),)
    ),
    "4: a field that the dependency has under another name": Fault(
        (NothingRecorded,),
        DROPPED,
        (('"tokens_per_sec"', '"throughput_tokens_per_sec"'),),
        "nemo_lens",
    ),
    "5: a timer and its span under two names": Fault(
        (SpanUnlikeTimer,),
        TIMERS,
        (('"rl.a.update"', '"rl.a.policy_update"'), ('"save"', '"checkpointing"')),
    ),
    "6: an initialiser that no worker calls": Fault(
        (ActorNeverInitialises,),
        WORKER,
        (("        self.model = model\n", "        setup_worker()\n        self.model = model\n"),),
    ),
    "6: a launcher that was forgotten": Fault(
        (EntryWithoutDriver,),
        LOOPS,
        (
            ("    train(20)", '    init_telemetry_driver({}, "new")\n    train(20)'),
            (
                "from loops import train\n\n",
                "from loops import train\nfrom rl_telemetry.setup import init_telemetry_driver\n\n",
            ),
        ),
    ),
    "7: a kill without a flush": Fault(
        (KilledWithoutFlush,),
        KILL,
        (
            (
                "        ray.kill(one)",
                "        flush_and_kill(one)",
            ),
            ("import ray\n", "import ray\nfrom rl_telemetry.contrib.ray import flush_and_kill\n"),
        ),
    ),
    "8: waste that no list declares": Fault(
        (UndeclaredCategory,), WASTE, (('("idle/a",)', '("idle/a", "idle/b", "wasted/c")'),)
    ),
    "17: a recipe that selects by what nobody logs": Fault(
        (ConsumedKeyNeverLogged,),
        CONFIG,
        (('"val_score"', '"val:score/mean"'), ('"val:score"', '"val:score/mean"')),
    ),
    "22: prose about what is gone": Fault(
        (CitedThingMissing, ExampleDisagrees),
        PROSE,
        (("RankSampler", "Sampler"), ("test_hop.py", "test_draw.py")),
    ),
    "23: a group of one's own that nothing uses": Fault(
        (UnemittedGroup, GroupsDocumentedDiffer),
        GROUPS,
        (
            (", Mine.TOOL]", "]"),
            ("| `tool_call` | a call |\n", ""),
            ("| `browse` | a page <- RLT204 |\n", ""),
            ('    TOOL = "tool_call"  # <- RLT201\n', ""),
        ),
    ),
    "34: a pin below what the project needs": Fault(
        (PinOutsideRange,),
        PIN,
        (("==1.1.0", "==1.3.1"), ("==2.0", "==1.4"), ("~=1.1.0", "~=1.3.0")),
    ),
    "35: a dashboard with the old names": Fault(
        (QueriedSeriesNotRecorded, QueriedLabelNeverSet),
        PANELS,
        (
            ("rl_pool_active{Kind", "rl_cluster_pool_active{node_kind"),
            ("NodeKind", "node_kind"),
            ("rl_cluster_pool_bucket", "rl_cluster_pool_active"),
        ),
    ),
    "49: removed here and there, promised elsewhere": Fault(
        (ReservedSpanEmitted, MetricNeverRecorded, QueriedSeriesNotRecorded),
        REMOVED,
        (
            ("removed in 0.5", "deprecated since 0.4"),
            ("`rl.tpot` | active", "`rl.tpot` | removed in 0.5"),
            ("rl_itl", "rl_ttft"),
        ),
    ),
    "52: prefixes that the code does not have": Fault(
        (MetricNeverRecorded,),
        PREFIXES,
        (
            ("`rl.prefill.*`", "`rl.cache.*`"),
            ("| `rl.decode.cache.hit_rate` | gauge <- RLT504 |\n", ""),
        ),
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_fault_is_reported_where_it_is(fault: str) -> None:
    one = FAULTS[fault]
    files = project(one.text)
    marks = marked(files)
    assert {code for _, _, code in marks} == {rule.code for rule in one.rules}
    assert reported(lint(files, *one.rules, profile=one.profile)) == marks


@pytest.mark.parametrize("fault", FAULTS)
def test_without_the_fault_nothing_is_reported(fault: str) -> None:
    one = FAULTS[fault]
    text = one.text
    for old, new in one.mended:
        assert old in text, old
        text = text.replace(old, new)
    assert lint(project(text), *one.rules, profile=one.profile) == []


def test_14_a_check_that_sees_nothing_says_so() -> None:
    seen = link(project(UndocumentedSpan.good))
    blind = link({"train.py": "def train():\n    ...\n"})
    codes = [UndocumentedSpan.code]
    assert blindness(count_inspected(seen, codes)) == ""
    assert "no span was recognised" in blindness(count_inspected(blind, codes))


def test_14_a_helper_that_matches_nothing_is_a_finding() -> None:
    table = """
        [tool.rltel-lint.vocabulary.helpers.{name}]
        module = "tools"
        signature = "(name)"
        span = "{{name}}"
    """
    code = 'from tools import phase\n\ndef train():\n    with phase("rl.a.step"):\n        ...\n'
    for name, expected in (("phase", 0), ("phases", 1)):
        files = {"train.py": code, "pyproject.toml": table.format(name=name)}
        assert len(lint(files, MatchesNothing)) == expected
