"""RLT108, RLT508 and RLT704: what dashboards ask for is there."""

from __future__ import annotations

import json

import pytest

from rltel_lint.rules.dashboards import (
    QueriedLabelNeverSet,
    QueriedSeriesNotRecorded,
    QueriedSpanNotEmitted,
)
from tests.lint.support import lint, project

CODE = """
--- train.py
from rl_telemetry.instrumentation import efficiency_span, managed_span
from rl_telemetry.span_groups import RLSpanGroup

ALGORITHM = "rl.algorithm"

def step(engine, meter, worker):
    with managed_span(RLSpanGroup.POLICY_UPDATE, "rl.grpo.update", **{ALGORITHM: "grpo"}):
        ...
    with managed_span(RLSpanGroup.GENERATION, f"rl.engine.{engine}.generate"):
        ...
    with efficiency_span("idle/refill"):
        ...

def instruments(meter, shard):
    return [
        meter.create_histogram("rl.step.duration", unit="s"),
        meter.create_counter("rl.rollout.tokens"),
        meter.create_gauge("rl.queue.length"),
        meter.create_gauge(f"rl.shard.{shard}.load"),
        meter.create_gauge("engine.load"),
    ]

def observe(gauge, length, kind):
    gauge.set(length, {"worker_kind": kind, "rl.role": "actor"})
--- export.py
from prometheus_client import Gauge

AGE = Gauge("rl_buffer_age", "age")
LAGS = {name: Gauge(f"rl_lag_{name}", name) for name in ("policy", "value")}
--- docs/metrics.md
| Metric | Kind | Means |
|---|---|---|
| `rl.later.count` | counter | reserved, nothing records it yet |
"""

#: A query that finds something, and one next to it that finds nothing.
SERIES = {
    "a gauge": ("rl_queue_length", "rl_queue_len"),
    "in a function": ("sum(rate(rl_rollout_tokens[5m]))", "sum(rate(rl_rollouts_tokens[5m]))"),
    "a counter": ("rl_rollout_tokens_total", "rl_rollout_token_total"),
    "a histogram": (
        "histogram_quantile(0.9, sum by (le) (rate(rl_step_duration_seconds_bucket[1m])))",
        "histogram_quantile(0.9, sum by (le) (rate(rl_step_time_seconds_bucket[1m])))",
    ),
    "its sum": ("rl_step_duration_seconds_sum", "rl_steps_duration_seconds_sum"),
    "with a selector": ('rl_queue_length{job="a"}', 'rl_queue_depth{job="a"}'),
    "in arithmetic": (
        "rl_queue_length / on(instance) engine_load",
        "rl_queue_size / on(instance) engine_load",
    ),
    "by its name": ('{__name__="rl_queue_length"}', '{__name__="rl_queue_depth"}'),
    "quoted": ('{"rl.queue.length", job="a"}', '{"rl.queue.depth", job="a"}'),
    "a variable's query": (
        "label_values(rl_queue_length, instance)",
        "label_values(rl_queue_depth, instance)",
    ),
    "with a variable of the dashboard": ("rl_${what}_length", "rl_queue_${what}_length"),
    "with another notation of it": ("rl_[[what]]_length", "rl_queue_[[what]]_length"),
    "from a client of another library": ("rl_buffer_age", "rl_buffer_ages"),
    "with a name that is put together": ("rl_lag_policy", "rl_lags_policy"),
    "with a part that is not known": ("rl_shard_7_load", "rl_shards_7_load"),
    "reserved": ("rl_later_count_total", "rl_latest_count_total"),
}


@pytest.mark.parametrize("what", SERIES)
def test_a_series_is_recorded(what: str) -> None:
    for query, expected in zip(SERIES[what], (0, 1), strict=True):
        assert len(lint(_with(query), QueriedSeriesNotRecorded)) == expected, query


#: Queries that a checker may not complain of, however little it finds.
OF_OTHERS = [
    *("up", "DCGM_FI_DEV_GPU_UTIL{gpu=~'$gpu'}", "rlhf_queue_depth", "vllm:rl_queue_depth"),
    *("rl:queue_depth:rate5m", "metrics(rl_.*)", "label_values(rl_job)", "count(up) by (rl_pod)"),
    *('up{rl_pod="a"}', 'label_replace(up, "rl_pod", "$1", "pod", "(.*)")', "$rl_series"),
    *('{app="x"} | json | rl_queue_depth != "a"', '{app="x"} | json | rl_queue_depth =~ "a"'),
    *('{app="x"} |= "rl_queue_depth"', "name:rl_queue_depth AND level:error", "rl"),
]


@pytest.mark.parametrize("query", OF_OTHERS)
def test_what_is_no_series_of_the_project_is_left_alone(query: str) -> None:
    assert lint(_with(query), QueriedSeriesNotRecorded) == []
    twin = f"{query} + rl_queue_depth"
    assert len(lint(_with(twin), QueriedSeriesNotRecorded)) == 1, twin


def test_nothing_is_said_where_names_of_metrics_cannot_be_read() -> None:
    unread = {"more.py": "def more(meter, name):\n    return meter.create_gauge(name)\n"}
    assert lint({**_with("rl_queue_depth"), **unread}, QueriedSeriesNotRecorded) == []
    read = {"more.py": 'def more(meter):\n    return meter.create_gauge("rl.more")\n'}
    assert len(lint({**_with("rl_queue_depth"), **read}, QueriedSeriesNotRecorded)) == 1


def test_nothing_is_said_where_another_project_records() -> None:
    files = _with("rl_queue_depth")
    files["train.py"] = files["train.py"].split("def instruments")[0]
    assert lint(files, QueriedSeriesNotRecorded) == []


def test_a_series_that_the_library_tees_is_recorded() -> None:
    assert lint(_with("rl_reward_mean"), QueriedSeriesNotRecorded) == []
    assert len(lint(_with("rl_rewards_mean"), QueriedSeriesNotRecorded)) == 1


@pytest.mark.parametrize("reserved", ["rl_made_by_rule", "rl.made.by.rule", "rl.made.*"])
def test_a_reserved_series_may_be_asked_for(reserved: str) -> None:
    table = f'[tool.rltel-lint]\nreserved = ["{reserved}"]\n'
    files = {**_with("rl_made_by_rule"), "pyproject.toml": table}
    assert lint(files, QueriedSeriesNotRecorded) == []
    assert len(lint(_with("rl_made_by_rule"), QueriedSeriesNotRecorded)) == 1


def test_a_reserved_series_that_only_a_dashboard_names_matches_something() -> None:
    from rltel_lint.rules.reading import MatchesNothing

    table = '[tool.rltel-lint]\nreserved = ["rl_made_by_rule"]\n'
    assert lint({**_with("rl_made_by_rule"), "pyproject.toml": table}, MatchesNothing) == []
    assert len(lint({**_with("up"), "pyproject.toml": table}, MatchesNothing)) == 1


def test_a_series_that_no_call_passes_is_asked_for_in_vain() -> None:
    code = """
        from nemo.lens.metrics import record_rl_metrics

        def log(meter, row):
            record_rl_metrics(meter, {passed}=row)
    """
    for passed, expected in (("kl_divergence", 0), ("reward_mean", 1)):
        files = {
            "log.py": code.replace("{passed}", passed),
            "dashboards/d.json": _dashboard("rl_kl_divergence"),
        }
        found = lint(files, QueriedSeriesNotRecorded, profile="nemo_lens")
        assert len(found) == expected, passed


#: A query that finds spans, and one next to it that finds none.
SPANS = {
    "TraceQL": ('{ name = "rl.grpo.update" }', '{ name = "rl.grpo.updates" }'),
    "with a scope": ('{span:name="rl.grpo.update"}', '{span:name="rl.grpo.updated"}'),
    "of the root": ('{ rootName != "rl.grpo.update" }', '{ rootName != "rl.grpo.updates" }'),
    "among conditions": (
        '{ duration > 1s && name = "rl.grpo.update" } | rate()',
        '{ duration > 1s && name = "rl.grpo.updates" } | rate()',
    ),
    "metrics of spans": (
        'traces_spanmetrics_calls_total{span_name="rl.grpo.update"}',
        'traces_spanmetrics_calls_total{span_name="rl.grpo.updates"}',
    ),
    "of a category": ('{ name = "rl.idle.refill" }', '{ name = "rl.idle.refills" }'),
    "with a part that is not known": (
        '{ name = "rl.engine.vllm.generate" }',
        '{ name = "rl.engines.vllm.generate" }',
    ),
    "with a variable of the dashboard": (
        '{ name = "rl.${algo}.update" }',
        '{ name = "rl.${algo}.updates" }',
    ),
    "a pattern": ('{ name =~ "rl\\\\.grpo\\\\..*" }', '{ name =~ "rl\\\\.dapo\\\\..*" }'),
    "a pattern that is a name": ('{ name =~ "rl.grpo.update" }', '{ name =~ "rl.grpo.updates" }'),
    "a pattern with a choice": (
        '{ name =~ "rl.(grpo|ppo).update" }',
        '{ name =~ "rl.(dapo|ppo).update" }',
    ),
    "alternatives": (
        '{ name =~ "rl.grpo.update|rl.idle.refill" }',
        '{ name =~ "rl.grpo.update|rl.idle.refills" }',
    ),
    "a pattern over what is not known": (
        '{ name =~ "rl.engine.(vllm|sglang).*" }',
        '{ name =~ "rl.engines.(vllm|sglang).*" }',
    ),
}


@pytest.mark.parametrize("what", SPANS)
def test_a_span_is_emitted(what: str) -> None:
    for query, expected in zip(SPANS[what], (0, 1), strict=True):
        assert len(lint(_with(query, "query"), QueriedSpanNotEmitted)) == expected, query


def test_sql_asks_for_spans_too() -> None:
    for name, expected in (("rl.grpo.update", 0), ("rl.grpo.updates", 1)):
        query = f"SELECT Duration FROM otel_traces WHERE SpanName = '{name}' AND rl_queue_depth > 1"
        assert len(lint(_with(query, "rawSql"), QueriedSpanNotEmitted)) == expected
        assert lint(_with(query, "rawSql"), QueriedSeriesNotRecorded) == []


@pytest.mark.parametrize(
    "query",
    [
        '{ name = "checkout" }',
        '{ name = "grpc.rl.step" }',
        '{ span.http.route = "rl.grpo.updates" }',
        '{ name =~ ".*update" }',
        '{ name =~ "rl.(" }',
        '{ name =~ "$span" }',
        '{ resource.service.name = "rl.trainer" }',
    ],
)
def test_what_is_no_name_of_the_project_is_left_alone(query: str) -> None:
    assert lint(_with(query, "query"), QueriedSpanNotEmitted) == []
    twin = f'{query} && {{ name = "rl.grpo.updates" }}'
    assert len(lint(_with(twin, "query"), QueriedSpanNotEmitted)) == 1


def test_a_renamed_span_is_found_where_it_is_asked_for() -> None:
    files = _with('{ name = "rl.grpo.update" }', "query")
    assert lint(files, QueriedSpanNotEmitted) == []
    files["train.py"] = files["train.py"].replace("rl.grpo.update", "rl.grpo.policy_update")
    (finding,) = lint(files, QueriedSpanNotEmitted)
    assert finding.message == (
        'the query asks for span "rl.grpo.update", which nothing emits; '
        'did you mean "rl.grpo.policy_update"?'
    )
    line = files["dashboards/d.json"].splitlines()[finding.place.line - 1]
    assert line[finding.place.column - 1 : finding.place.end_column - 1] == "rl.grpo.update"


#: A label that is set, and one next to it that is not.
LABELS = {
    "an attribute": ("{ span.rl.algorithm = 1 }", "{ span.rl.algorithms = 1 }"),
    "without a scope": ("{ .rl.algorithm = 1 }", "{ .rl.algorithms = 1 }"),
    "selected": ("{ } | select(span.rl.algorithm)", "{ } | select(span.rl.algorithms)"),
    "exported": ('up{rl_algorithm="a"}', 'up{rl_algo="a"}'),
    "of a metric": ("sum by (rl_role) (up)", "sum by (rl_roles) (up)"),
    "grouped behind": ("sum(up) by (rl_role)", "sum(up) by (rl_roles)"),
    "joined": ("up * on(pod) group_left(rl_role) up", "up * on(pod) group_left(rl_roles) up"),
    "a variable's query": ("label_values(up, rl_role)", "label_values(up, rl_roles)"),
    "of all series": ("label_values(rl_role)", "label_values(rl_roles)"),
    "respelled": ('rl_queue_length{worker_kind="a"}', 'rl_queue_length{WorkerKind="a"}'),
    "respelled in one word": ('rl_queue_length{worker_kind="a"}', 'rl_queue_length{workerkind=""}'),
}


@pytest.mark.parametrize("what", LABELS)
def test_a_label_is_set(what: str) -> None:
    for query, expected in zip(LABELS[what], (0, 1), strict=True):
        assert len(lint(_with(query), QueriedLabelNeverSet)) == expected, query


#: Ways to record a label; ``KEY`` is its name.
RECORDED = [
    'gauge.set(length, {"KEY": kind})',
    'gauge.add(len(rows), attributes={"KEY": kind, "other": f(kind)})',
    'gauge.record(f(length), {"other": 1, "KEY": kind})',
    'labels = {"KEY": kind}\n    gauge.set(length, labels)',
    'attrs: dict[str, str] = {\n        "KEY": kind,\n    }\n    gauge.set(length, attrs)',
]


@pytest.mark.parametrize("how", RECORDED)
def test_a_label_is_spelled_as_it_is_recorded(how: str) -> None:
    files = _with('rl_queue_length{node_kind="a"}')
    for key, expected in (("node_kind", 0), ("nodeKind", 1), ("NodeKind", 1), ("kind", 0)):
        files["more.py"] = f"def more(gauge, length, kind):\n    {how.replace('KEY', key)}\n"
        assert len(lint(files, QueriedLabelNeverSet)) == expected, key


@pytest.mark.parametrize(
    "code", ['NODE = {"nodeName": 1}', 'seen.add("nodeName")', 'x["nodeName"]']
)
def test_a_label_of_the_scraper_is_no_key_of_the_code(code: str) -> None:
    files = {**_with('rl_queue_length{node_name="a"}'), "more.py": f"{code}\n"}
    assert lint(files, QueriedLabelNeverSet) == []
    files["more.py"] += 'def more(gauge):\n    gauge.set(1, {"nodeName": 2})\n'
    assert len(lint(files, QueriedLabelNeverSet)) == 1


@pytest.mark.parametrize(
    "query",
    [
        'rl_queue_length{instance="a", le="1", job="b"}',
        'other_queue_length{WorkerKind="a"}',
        '{ resource.service.name = "a" && span.http.route = "b" }',
        "sum by (le, pod) (rl_queue_length)",
    ],
)
def test_labels_of_others_are_left_alone(query: str) -> None:
    assert lint(_with(query), QueriedLabelNeverSet) == []
    assert len(lint(_with(f'{query} + up{{rl_roles="a"}}'), QueriedLabelNeverSet)) == 1


def test_a_documented_resource_attribute_may_be_asked_for() -> None:
    resource = "| Resource attribute | Means |\n|---|---|\n| `rl.cluster` | where it runs |\n"
    files = _with('up{rl_cluster="a"}')
    assert len(lint(files, QueriedLabelNeverSet)) == 1
    assert lint({**files, "docs/resource.md": resource}, QueriedLabelNeverSet) == []


def test_an_alert_asks_like_a_panel() -> None:
    rules = "groups:\n- rules:\n  - alert: Stuck\n    expr: {query} > 0\n    for: 5m\n"
    files = project(CODE)
    for query, expected in (("rl_queue_length", 0), ("rl_queue_depth", 1)):
        files["alerts.yaml"] = rules.format(query=query)
        found = lint(files, QueriedSeriesNotRecorded)
        assert [(one.place.line, one.place.column) for one in found] == [(4, 11)] * expected


#: A text with a query that finds something; ``NAME`` stands for what is asked for.
IN_DOCUMENTS = {
    "a code span": 'Ask `{ name = "rl.grpo.NAME" }` for it.\n',
    "a cell": '| I want | Query |\n|---|---|\n| it | `{ x = 1 && name = "rl.grpo.NAME" }` |\n',
    "a cell with a bar": '| Query |\n|---|\n| `{ name =~ "rl.grpo.NAME\\|rl.idle.refill" }` |\n',
    "a block": '```traceql\n{ x = 1\n  && name = "rl.grpo.NAME" }\n```\n',
    "another block": '```promql\ncalls_total{span_name="rl.grpo.NAME"}\n```\n',
}


@pytest.mark.parametrize("what", IN_DOCUMENTS)
def test_a_query_in_a_document_is_read(what: str) -> None:
    for name, expected in (("update", 0), ("updates", 1)):
        text = IN_DOCUMENTS[what].replace("NAME", name)
        found = lint({**project(CODE), "docs/q.md": text}, QueriedSpanNotEmitted)
        assert len(found) == expected
        for one in found:
            line = text.splitlines()[one.place.line - 1]
            assert "rl.grpo.updates" in line[one.place.column - 1 : one.place.end_column]


@pytest.mark.parametrize(
    "text",
    [
        'The old query `{ name = "rl.grpo.updates" }` no longer exists, the span was renamed.\n',
        '`span(name="rl.grpo.updates", color={})` is Python.\n',
        'It was `{"name": "rl.grpo.updates"}` in JSON.\n',
        '```python\nrows = {name == "rl.grpo.updates"}\n```\n',
        "Series such as `rl_queue_depth` and `rl_queue_depth_total`.\n",
    ],
)
def test_what_is_no_query_of_a_document_is_left_alone(text: str) -> None:
    rules = (QueriedSpanNotEmitted, QueriedSeriesNotRecorded)
    files = {**project(CODE), "docs/q.md": text}
    assert lint(files, *rules) == []
    files["docs/q.md"] += '\nAsk `{ name = "rl.grpo.updates" }`.\n'
    assert len(lint(files, *rules)) == 1


def test_a_recording_rule_records() -> None:
    rules = "groups:\n- rules:\n  - record: {name}\n    expr: avg(rl_queue_length)\n"
    for name, expected in (("rl_queue_average", 0), ("rl_queue_averages", 1)):
        files = {**_with("rl_queue_average"), "rules.yaml": rules.format(name=name)}
        assert len(lint(files, QueriedSeriesNotRecorded)) == expected


def test_titles_and_legends_ask_for_nothing() -> None:
    for key, expected in (("title", 0), ("legendFormat", 0), ("description", 0), ("expr", 1)):
        assert len(lint(_with("rl_queue_depth", key), QueriedSeriesNotRecorded)) == expected


def _with(query: str, key: str = "expr") -> dict[str, str]:
    return {**project(CODE), "dashboards/d.json": _dashboard(query, key)}


def _dashboard(query: str, key: str = "expr") -> str:
    return json.dumps({"panels": [{"targets": [{"refId": "A", key: query}]}]}, indent=2)
