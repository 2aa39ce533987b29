"""RLT503 to RLT506: metrics documented, declared, claimed once, recorded."""

from __future__ import annotations

import pytest

from rltel_lint.rules.series import (
    MetricClaimedTwice,
    MetricNeverRecorded,
    MetricUndocumented,
    NothingRecorded,
)
from tests.lint.support import lint, marked, project, reported

TABLE = "# Metrics `rl.*`\n\n| Metric | Kind |\n|---|---|\n| `rl.queue.length` | gauge |\n"

DECLARED = {
    "a gauge": ('meter.create_gauge("rl.queue.{x}")', 1),
    "a keyword": ('meter.create_histogram(unit="s", name="rl.queue.{x}")', 1),
    "a constant": ("meter.create_counter(AGE)", 1),
    "a row": ('RecordedMetric("rl.queue.{x}", "gauge")', 1),
    "a teed row": ('TeedMetric("queue/x", "rl.queue.{x}")', 1),
    "a name outside the namespace": ('meter.create_gauge("http.queue.{x}")', 0),
    "a name that is not known": ("meter.create_gauge(name())", 0),
}


@pytest.mark.parametrize("how", DECLARED)
def test_declared_metrics_have_a_row(how: str) -> None:
    code, missing = DECLARED[how]
    head = "from rl_telemetry.metrics import RecordedMetric, TeedMetric\nAGE = 'rl.queue.{x}'\n"
    body = f"{head}def f(meter, name):\n    return {code}\n"
    for x, expected in (("length", 0), ("age", missing)):
        files = {"m.py": body.replace("{x}", x), "docs/m.md": TABLE}
        assert len(lint(files, MetricUndocumented)) == expected


def test_a_project_without_metric_tables_is_not_asked_for_rows() -> None:
    code = "def f(meter):\n    return meter.create_gauge('rl.queue.age')\n"
    assert lint({"m.py": code, "docs/m.md": "# Metrics `rl.*`\n"}, MetricUndocumented) == []
    assert len(lint({"m.py": code, "docs/m.md": TABLE}, MetricUndocumented)) == 1


def test_a_template_documents_what_it_matches() -> None:
    table = TABLE.replace("rl.queue.length", "rl.queue.<what>")
    code = "def f(meter):\n    return meter.create_gauge('rl.queue.age')\n"
    assert lint({"m.py": code, "docs/m.md": table}, MetricUndocumented) == []
    other = code.replace("queue", "buffer")
    assert len(lint({"m.py": other, "docs/m.md": table}, MetricUndocumented)) == 1


LIBRARY = """
from rl_telemetry.metrics import record_inference_metrics as rec

def wrapper(meter, tokens, seconds=None):
    {call}

def caller(meter, tokens, options, rest):
    {outer}
"""
SERVER = "# `rl.*`\n\n| Metric | Kind |\n|---|---|\n| `gen_ai.server.request.duration` | h |\n"

CALLS = {
    "left out": ("rec(meter, output_tokens=tokens)", "wrapper(meter, 3)", 1),
    "none": ("rec(meter, None, output_tokens=tokens)", "wrapper(meter, 3)", 1),
    "a parameter nobody passes": ("rec(meter, seconds)", "wrapper(meter, 3)", 1),
    "a parameter that is passed": ("rec(meter, seconds)", "wrapper(meter, 3, 4.0)", 0),
    "a parameter of a function that escapes": ("rec(meter, seconds)", "options.run(wrapper)", 0),
    "positional": ("rec(meter, 3.0)", "wrapper(meter, 3)", 0),
    "keyword": ("rec(meter, request_duration_s=tokens)", "wrapper(meter, 3)", 0),
    "unpacked": ("rec(meter, **seconds)", "wrapper(meter, 3)", 0),
    "unpacked positions": ("rec(meter, *seconds)", "wrapper(meter, 3)", 0),
    "a dict display": ("rec(meter, **{'request_duration_s': 3})", "wrapper(meter, 3)", 0),
    "another dict display": ("rec(meter, **{'output_tokens': 3})", "wrapper(meter, 3)", 1),
    "computed": ("rec(meter, seconds or tokens)", "wrapper(meter, 3)", 0),
}


@pytest.mark.parametrize("how", CALLS)
def test_the_argument_that_records_a_metric(how: str) -> None:
    call, outer, expected = CALLS[how]
    files = {"m.py": LIBRARY.format(call=call, outer=outer), "docs/m.md": SERVER}
    found = lint(files, MetricNeverRecorded)
    assert len(found) == expected
    assert all(f.place.path == "docs/m.md" and f.related[0].place.path == "m.py" for f in found)


OWN = """
def instruments(meter):
    return {
        "loss": meter.create_gauge(name="rl.train.loss"),
        "speed": meter.create_gauge(name="rl.train.speed"),
    }

def record(meter, loss=None, speed=None):
    made = instruments(meter)
    if loss is not None:
        made["loss"].set(loss)
    if speed is not None:
        made["speed"].set(float(speed))

def step(meter, loss):
    record(meter, loss=loss{more})
"""
OWN_TABLE = """
# Metrics

| Metric | Kind |
|---|---|
| `rl.train.loss` | gauge |
| `rl.train.speed` | gauge |
"""


def test_a_recorder_of_the_project_is_understood() -> None:
    for more, expected in ((", speed=3", 0), ("", 1), (", speed=None", 1), (", **loss", 0)):
        files = {"m.py": OWN.replace("{more}", more), "docs/m.md": OWN_TABLE}
        found = lint(files, MetricNeverRecorded)
        assert len(found) == expected
        assert all('"rl.train.speed" is never recorded' in f.message for f in found)


def test_documented_but_declared_nowhere() -> None:
    code = "def f(meter):\n    return meter.create_gauge('rl.queue.length')\n"
    more = TABLE + "| `rl.queue.lenght` | gauge |\n"
    (finding,) = lint({"m.py": code, "docs/m.md": more}, MetricNeverRecorded)
    assert 'did you mean "rl.queue.length"' in finding.message
    assert lint({"m.py": code, "docs/m.md": TABLE}, MetricNeverRecorded) == []


def test_a_misspelt_name_of_the_standard() -> None:
    code = "from rl_telemetry.metrics import record_inference_metrics as rec\n"
    code += "def f(meter):\n    rec(meter, 1.0)\n"
    other = SERVER.replace("request.duration", "time_to_first_token")
    assert lint({"m.py": code, "docs/m.md": SERVER}, MetricNeverRecorded) == []
    assert lint({"m.py": code, "docs/m.md": other}, MetricNeverRecorded) == []
    wrong = SERVER.replace("request.duration", "request.durations")
    assert len(lint({"m.py": code, "docs/m.md": wrong}, MetricNeverRecorded)) == 1


NOT_STALE = {
    "reserved": "| `rl.queue.age` | *reserved* |",
    "of the library": "| `rl.reward.mean` | gauge |",
    "of another system": "| `vllm:queue_length` | gauge |",
    "a name that is built": "| `rl.pool.idle` | gauge |",
    "a name in a table of the code": "| `rl.made.elsewhere` | gauge |",
}


@pytest.mark.parametrize("case", NOT_STALE)
def test_rows_that_are_not_stale(case: str) -> None:
    code = """
    NAMES = {"x": "rl.made.elsewhere"}

    def f(meter, kind):
        meter.create_gauge("rl.queue.length")
        return meter.create_gauge(f"rl.pool.{kind}")
    """
    table = f"{TABLE}{NOT_STALE[case]}\n"
    assert lint({"m.py": code, "docs/m.md": table}, MetricNeverRecorded) == []
    faulty = f"{table}| `rl.queue.gone` | gauge |\n"
    assert len(lint({"m.py": code, "docs/m.md": faulty}, MetricNeverRecorded)) == 1


def test_a_row_that_is_recorded_by_hand() -> None:
    code = """
    from rl_telemetry.metrics import RecordedMetric, record_rl_metrics, register_recorded_metrics

    register_recorded_metrics([RecordedMetric("rl.queue.length")])

    def f(queue):
        {call}
    """
    for call, expected in (
        ('record_rl_metrics({"rl.queue.length": len(queue)})', 0),
        ('record_rl_metrics({"queue_length": len(queue)})', 0),
        ("queue.clear()", 1),
    ):
        files = {"m.py": code.format(call=call), "docs/m.md": TABLE}
        assert len(lint(files, MetricNeverRecorded)) == expected


def test_keys_and_series_are_claimed_once() -> None:
    head = "from rl_telemetry.metrics import TeedMetric, register_teed_metrics\n"
    row = 'register_teed_metrics([TeedMetric("{key}", "rl.{name}")])\n'
    same_key = row.format(key="loss", name="a") + row.format(key="loss", name="b")
    same_series = row.format(key="loss", name="a") + row.format(key="other", name="a")
    apart = row.format(key="loss", name="a") + row.format(key="other", name="b")
    assert len(lint({"m.py": head + same_key}, MetricClaimedTwice)) == 1
    assert len(lint({"m.py": head + same_series}, MetricClaimedTwice)) == 1
    assert lint({"m.py": head + apart}, MetricClaimedTwice) == []


def test_rows_of_two_modules_clash_when_both_are_loaded() -> None:
    head = "from rl_telemetry.metrics import TeedMetric, register_teed_metrics\n"
    row = head + 'register_teed_metrics([TeedMetric("loss", "rl.{name}")])\n'
    files = {"pkg/ppo.py": row.format(name="a"), "pkg/sft.py": row.format(name="b")}
    assert lint(files, MetricClaimedTwice) == []
    for imports in ("from pkg import ppo, sft\n", "import pkg.ppo\nimport pkg.sft\n"):
        assert len(lint({**files, "run.py": imports}, MetricClaimedTwice)) == 1
    assert lint({**files, "run.py": "from pkg import ppo\n"}, MetricClaimedTwice) == []


RECORDED = {
    "a declared key": ('record_rl_metrics({"rl.queue.length": 3})', 0),
    "a registry key": ('record_rl_metrics({"queue_length": 3})', 0),
    "a key of the library": ('record_rl_metrics({"rl.host.memory.used": 3})', 0),
    "an unknown mapping": ("record_rl_metrics(values)", 0),
    "an unknown key": ("record_rl_metrics({values: 3})", 0),
    "a misspelt key": ('record_rl_metrics({"rl.queue.lenght": 3})', 1),
    "something": ("record_inference_metrics(meter, output_tokens=3)", 0),
    "nothing but a model": ("record_inference_metrics(meter, model='m')", 1),
    "unpacked": ("record_inference_metrics(meter, model='m', **values)", 0),
}


@pytest.mark.parametrize("case", RECORDED)
def test_what_a_recorder_takes(case: str) -> None:
    code, expected = RECORDED[case]
    names = "RecordedMetric, record_rl_metrics, record_inference_metrics"
    head = f"from rl_telemetry.metrics import {names}\nRecordedMetric('rl.queue.length')\n"
    files = {"m.py": f"{head}def f(meter, values):\n    {code}\n"}
    assert len(lint(files, NothingRecorded)) == expected


def test_fields_of_a_mapping_are_arguments_of_its_recorder() -> None:
    code = """
    from nemo.lens.instruments.rl import record_rl_metrics

    _RL_OTEL_METRIC_MAP = {{
        "reward_mean": ("reward",),
        "{field}": ("lr",),
    }}

    def tee(meter, kwargs):
        record_rl_metrics(meter, **kwargs)
    """
    clean = {"m.py": code.format(field="learning_rate")}
    assert lint(clean, NothingRecorded, profile="nemo_lens") == []
    (finding,) = lint(
        {"m.py": code.format(field="learning_rates")}, NothingRecorded, profile="nemo_lens"
    )
    assert 'did you mean "learning_rate"' in finding.message


def test_marks() -> None:
    files = project(MetricNeverRecorded.bad)
    assert reported(lint(files, MetricNeverRecorded)) == marked(files)


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        ("RecordedMetric('rl.queue.length', 'gauge', 's')", 0),
        ("RecordedMetric('rl.queue.age', 'counter', 's')", 0),
        ("RecordedMetric('rl.queue.length', 'counter', 's')", 1),
        ("RecordedMetric('rl.queue.length', 'gauge')", 1),
    ],
)
def test_a_row_that_is_repeated_says_the_same(second: str, expected: int) -> None:
    head = "from rl_telemetry.metrics import RecordedMetric, register_recorded_metrics\n"
    first = "RecordedMetric('rl.queue.length', 'gauge', 's')"
    code = f"{head}register_recorded_metrics([{first}])\nregister_recorded_metrics([{second}])\n"
    assert len(lint({"m.py": code}, MetricClaimedTwice)) == expected


KEYED = """
from rl_telemetry.metrics import TeedMetric, print_efficiency_summary, register_teed_metrics

register_teed_metrics([TeedMetric("queue/age", "rl.queue.age")])

def log(logger, step, seconds, more):
    logger.log_metrics({"queue/age": 1.0, "reward": 2.0}, step, prefix="train")
    logger.log_metrics(print_efficiency_summary(seconds, 1.0, step), step)
    {extra}
"""
KEY_TABLE = "# `rl.*`\n\n| Metric | Logger key |\n|---|---|\n| `{name}` | {key} |\n"

DOCUMENTED_KEYS = {
    "the declared one": ("rl.queue.age", "`queue/age`", "pass", 0),
    "another one": ("rl.queue.age", "`queue/ages`", "pass", 1),
    "with its prefix": ("rl.queue.age", "`train/queue/age`", "pass", 0),
    "with another prefix": ("rl.queue.age", "`validation/queue/age`", "pass", 1),
    "a template": ("rl.queue.age", "`queue/<what>`", "pass", 0),
    "another template": ("rl.queue.age", "`buffer/<what>`", "pass", 1),
    "one of several": ("rl.queue.age", "`queue/age`, `queue/old_age`", "pass", 0),
    "several others": ("rl.queue.age", "`queue/old`, `queue/old_age`", "pass", 1),
    "none": ("rl.queue.age", "-", "pass", 0),
    "words": ("rl.queue.age", "set by the tee, see there", "pass", 0),
    "one of the runtime": ("rl.reward.mean", "`reward`", "pass", 0),
    "another one of the runtime": ("rl.reward.mean", "`rewards`", "pass", 1),
    "one that nobody logs": ("rl.policy.loss", "`loss`", "pass", 1),
    "without a key": ("rl.policy.loss", "-", "pass", 1),
    "one that may be logged": (
        "rl.policy.loss", "`loss`", 'logger.log_metrics({**more, "loss": 1}, step, "train")', 0
    ),
    "one logged elsewhere": (
        "rl.policy.loss", "`loss`", 'logger.log_metrics({"loss": 1}, step, "validation")', 1
    ),
    "one under a prefix that is not known": (
        "rl.policy.loss", "`loss`", 'logger.log_metrics({"loss": 1}, step, more)', 0
    ),
    "one of the summary": ("rl.efficiency.pct", "`efficiency/efficiency_pct`", "pass", 0),
    "a template of the summary": ("rl.efficiency.seconds", "`efficiency/<x>_s`", "pass", 0),
    "another template of the summary": ("rl.efficiency.seconds", "`waste/<x>`", "pass", 1),
}  # fmt: skip


@pytest.mark.parametrize("how", DOCUMENTED_KEYS)
def test_the_logger_key_of_a_documented_metric(how: str) -> None:
    name, key, extra, expected = DOCUMENTED_KEYS[how]
    table = KEY_TABLE.replace("{name}", name).replace("{key}", key)
    files = {"m.py": KEYED.replace("{extra}", extra), "docs/m.md": table}
    assert len(lint(files, MetricNeverRecorded)) == expected


def test_a_row_of_the_project_goes_before_the_one_of_the_runtime() -> None:
    own = KEYED.replace("queue/age", "loss").replace("rl.queue.age", "rl.train.loss")
    table = KEY_TABLE.replace("{name}", "rl.policy.loss").replace("{key}", "`loss`")
    for extra in ("pass", 'register_teed_metrics([TeedMetric(more.key, "rl.policy.loss")])'):
        files = {"m.py": own.replace("{extra}", extra), "docs/m.md": table}
        assert lint(files, MetricNeverRecorded) == []


def test_a_project_that_logs_nothing_is_not_asked_for_keys() -> None:
    table = KEY_TABLE.replace("{name}", "rl.policy.loss").replace("{key}", "`loss`")
    code = KEYED.replace("log_metrics", "keep").replace("{extra}", "pass")
    assert lint({"m.py": code, "docs/m.md": table}, MetricNeverRecorded) == []
