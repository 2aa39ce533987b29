"""The lists of the ``rl_telemetry`` profile are those of the runtime."""

from __future__ import annotations

import fnmatch
import inspect
import re
from pathlib import Path
from types import ModuleType

import pytest

import rl_telemetry
from rl_telemetry import buckets, environment, instrumentation, metrics
from rl_telemetry.contrib import data_plane, vllm
from rl_telemetry.instrumentation import (
    RL_BUCKET_ATTR,
    RL_EFFICIENCY_CATEGORY_ATTR,
    RL_ITERATION_ATTR,
)
from rl_telemetry.metrics import efficiency, genai, standard
from rltel_lint.vocabulary import load_vocabulary

VOCABULARY = load_vocabulary(("rl_telemetry",))


def test_categories() -> None:
    assert set(VOCABULARY.categories.library) == set(buckets.EFFICIENCY_CATEGORY_BUCKET)
    counted = {name: bucket.value for name, bucket in buckets.EFFICIENCY_CATEGORY_BUCKET.items()}
    assert VOCABULARY.categories.buckets == counted
    for name in VOCABULARY.categories.tables:
        assert hasattr(buckets, name)


def test_buckets() -> None:
    declared = {
        group: VOCABULARY.bucket_of(group)
        for known in VOCABULARY.group_classes
        for group in known.values.values()
        if VOCABULARY.bucket_of(group)
    }
    assert declared == {str(k): v.value for k, v in buckets.SPAN_GROUP_BUCKET.items()}


def test_metrics() -> None:
    rows = (*standard.TEED_METRICS, *standard.RECORDED_METRICS)
    assert set(VOCABULARY.emitted_metrics) == {row.name for row in rows}


def test_kinds_of_metrics() -> None:
    rows = (*standard.TEED_METRICS, *standard.RECORDED_METRICS)
    kinds = {spec.name: spec.kind for spec in (genai.TOKEN_USAGE, genai.REQUEST_DURATION)}
    assert VOCABULARY.metric_kinds == {**{row.name: row.kind for row in rows}, **kinds}


def test_recorders_take_what_they_take() -> None:
    for recorder in VOCABULARY.recorders:
        if "rl_telemetry" in recorder.modules:
            real = inspect.signature(getattr(metrics, recorder.name))
            assert [param.name for param in recorder.params.items] == list(real.parameters)


def _constants(module: ModuleType) -> dict[str, str]:
    named = {name: getattr(module, name) for name in dir(module) if name.isupper()}
    return {name: value for name, value in named.items() if isinstance(value, str)}


def test_stamped_attributes_are_constants_of_the_runtime() -> None:
    stamped = {RL_BUCKET_ATTR, RL_EFFICIENCY_CATEGORY_ATTR, RL_ITERATION_ATTR}
    stamped |= {v for v in _constants(data_plane).values() if v.startswith("rl.data_plane.")}
    assert stamped == set(VOCABULARY.attributes.stamped)


@pytest.mark.parametrize(("name", "value"), sorted(_constants(instrumentation).items()))
def test_constants_that_call_sites_import(name: str, value: str) -> None:
    assert VOCABULARY.constant(f"rl_telemetry.instrumentation.{name}") == value
    assert VOCABULARY.constant(f"elsewhere.{name}") is None


def test_environment() -> None:
    folder = Path(inspect.getfile(rl_telemetry)).parent
    named = set(environment.ENV_BY_FIELD.values())
    for file in folder.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        named |= set(re.findall(r"RL_TELEMETRY_[A-Z_]*[A-Z]\b", text))
    written = {name for name in named if not name.endswith("_")}
    assert written <= set(VOCABULARY.environment)


def test_rows_of_the_runtime() -> None:
    plain = {k: v for k, v in VOCABULARY.metrics.library.items() if "*" not in k}
    percentage = {efficiency.PCT_KEY: standard.EFFICIENCY_PCT}
    assert plain == {row.logger_key: row.name for row in standard.TEED_METRICS} | percentage
    seconds = VOCABULARY.metrics.library[efficiency.seconds_key("*")]
    assert seconds == standard.EFFICIENCY_SECONDS


def test_mappings_for_the_logger_have_the_keys_that_they_have() -> None:
    series = [f"{family}{part}" for family in vllm.KEPT_FAMILIES for part in ("", "_sum", "_count")]
    read = dict.fromkeys([*series, f"vllm:{vllm.SPEC_DECODE}_drafts"], 1.0)
    returned = {
        "print_efficiency_summary": metrics.print_efficiency_summary(
            dict.fromkeys(buckets.EFFICIENCY_CATEGORY_BUCKET, 1.0), 20.0, 1, 10.0
        ),
        "counter_deltas": vllm.counter_deltas(read, read),
        "step_metrics": vllm.step_metrics(read),
    }
    for result in VOCABULARY.metrics.results:
        assert hasattr(metrics, result.name) or hasattr(vllm, result.name)
        for key in returned.get(result.name, ()):
            assert any(fnmatch.fnmatchcase(key, pattern) for pattern in result.keys)
    assert all(returned.values())
