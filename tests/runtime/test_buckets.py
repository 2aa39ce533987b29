from __future__ import annotations

import logging
from typing import Any

import pytest

from rl_telemetry import buckets
from rl_telemetry.instrumentation import (
    RL_BUCKET_ATTR,
    RL_EFFICIENCY_CATEGORY_ATTR,
    UMBRELLA_GROUPS,
    Bucket,
    bucket_for_efficiency_category,
    bucket_for_span_group,
    bucket_scope,
    checkpoint_finalize_span,
    efficiency_span,
    evaluate_span,
    goodput_span_attributes,
    iteration_scope,
    managed_span,
    setup_span,
    start_efficiency_span,
    startup_span,
    streaming_umbrella_span,
    umbrella_span,
)
from rl_telemetry.registry import set_enabled_span_groups
from rl_telemetry.span_groups import ALL_GROUPS, RLSpanGroup
from tests.runtime.recording import Recording

GENERATION = RLSpanGroup.GENERATION


def bucket_of(recording: Recording, name: str = "x") -> Any:
    return recording.named(name)["attributes"].get(RL_BUCKET_ATTR)


def test_a_leaf_has_the_bucket_of_its_group(recording: Recording) -> None:
    with managed_span(GENERATION, "x"):
        pass
    assert bucket_of(recording) == "productive"


def test_a_scope_replaces_it_and_is_restored(recording: Recording) -> None:
    with bucket_scope(Bucket.OVERHEAD):
        with managed_span(GENERATION, "inside"):
            pass
        with bucket_scope("wasted"), managed_span(GENERATION, "nested"):
            pass
        with managed_span(GENERATION, "inside again"):
            pass
    with managed_span(GENERATION, "after"):
        pass
    found = [bucket_of(recording, n) for n in ("inside", "nested", "inside again", "after")]
    assert found == ["overhead", "wasted", "overhead", "productive"]


def test_an_explicit_bucket_beats_the_scope(recording: Recording) -> None:
    with (
        bucket_scope(Bucket.OVERHEAD),
        managed_span(GENERATION, "x", **{RL_BUCKET_ATTR: Bucket.IDLE}),
    ):
        pass
    assert bucket_of(recording) == "idle"


@pytest.mark.parametrize("helper", [managed_span, umbrella_span, streaming_umbrella_span])
def test_an_umbrella_has_no_bucket(recording: Recording, helper: Any) -> None:
    with bucket_scope(Bucket.OVERHEAD), helper(RLSpanGroup.U_ROLLOUT, "x"):
        pass
    assert bucket_of(recording) is None
    with helper(RLSpanGroup.U_ROLLOUT, "explicit", **{RL_BUCKET_ATTR: "idle"}):
        pass
    assert bucket_of(recording, "explicit") == "idle"
    assert recording.warnings() == []


def test_an_unknown_group_is_overhead(recording: Recording) -> None:
    set_enabled_span_groups({"forward_backward"})
    with managed_span("forward_backward", "x"):
        pass
    assert bucket_of(recording) == "overhead"
    assert bucket_for_span_group("forward_backward") is Bucket.OVERHEAD


@pytest.mark.parametrize("helper", [umbrella_span, streaming_umbrella_span])
def test_a_leaf_opened_as_an_umbrella_keeps_its_bucket_and_warns_once(
    recording: Recording, helper: Any
) -> None:
    for _ in range(2):
        with helper(GENERATION, "x"):
            pass
    assert [s["attributes"][RL_BUCKET_ATTR] for s in recording.spans()] == ["productive"] * 2
    (warning,) = recording.warnings()
    assert "managed_span" in warning


def test_that_warning_comes_with_the_stack(
    recording: Recording, caplog: pytest.LogCaptureFixture
) -> None:
    try:
        raise KeyError("the caller's own")
    except KeyError:
        with umbrella_span(GENERATION, "x"):
            pass
    (record,) = [r for r in caplog.records if r.levelno == logging.WARNING]
    assert "test_that_warning_comes_with_the_stack" in (record.stack_info or "")
    assert not record.exc_info


def test_with_the_group_off_it_still_warns_and_the_body_runs(recording: Recording) -> None:
    set_enabled_span_groups(())
    ran = []
    with umbrella_span(GENERATION, "x") as span:
        ran.append(span)
    assert ran == [None]
    assert recording.spans() == []
    assert len(recording.warnings()) == 1
    with streaming_umbrella_span(GENERATION, "y") as activate, activate():
        ran.append(None)
    assert ran == [None, None]
    assert len(recording.warnings()) == 1  # a stream that is off does not warn


def test_every_group_is_classified() -> None:
    for group in ALL_GROUPS:
        bucket = bucket_for_span_group(group)
        assert (bucket is None) == (group in UMBRELLA_GROUPS)
    assert set(buckets.SPAN_GROUP_BUCKET) == ALL_GROUPS - UMBRELLA_GROUPS - {"efficiency"}


def test_every_category_has_a_bucket_and_a_way_of_measuring() -> None:
    wall, threads = (
        buckets.WALL_CLOCK_EFFICIENCY_CATEGORIES,
        buckets.THREAD_ACCUMULATED_EFFICIENCY_CATEGORIES,
    )
    assert sorted((*wall, *threads)) == sorted(buckets.EFFICIENCY_CATEGORY_BUCKET)
    assert set(threads) > buckets.COLLECTOR_LOOP_CATEGORIES
    assert {"init/total"} | buckets.COLLECTOR_LOOP_CATEGORIES == buckets.UNBUCKETED_SPAN_CATEGORIES
    assert bucket_for_efficiency_category("wasted/failed_trajectory") is Bucket.WASTED
    assert bucket_for_efficiency_category("idle/x") is None


def test_goodput_attributes_follow_the_scope() -> None:
    assert goodput_span_attributes(GENERATION) == {RL_BUCKET_ATTR: "productive"}
    with bucket_scope(Bucket.OVERHEAD):
        assert goodput_span_attributes(GENERATION) == {RL_BUCKET_ATTR: "overhead"}
        assert goodput_span_attributes(RLSpanGroup.U_JOB) == {}


@pytest.mark.parametrize(
    ("category", "name", "bucket"),
    [
        ("idle/refit_bubble", "rl.idle.refit_bubble", "idle"),
        ("idle/buffer_starvation", "rl.idle.buffer_starvation", "idle"),
        ("init/total", "rl.init.total", None),
        ("idle/refit_event_wait", "rl.idle.refit_event_wait", None),
        ("idle/generation_limit_pause", "rl.idle.generation_limit_pause", None),
        ("idle/x", "rl.idle.x", None),
    ],
)
@pytest.mark.parametrize("scope", [None, Bucket.PRODUCTIVE])
def test_a_wait_is_named_after_its_category(
    recording: Recording, category: str, name: str, bucket: str | None, scope: Bucket | None
) -> None:
    def emit() -> None:
        with efficiency_span(category):
            pass
        span = start_efficiency_span(category)
        assert span is not None
        span.end()

    if scope is None:
        emit()
    else:
        with bucket_scope(scope):
            emit()
    expected = {RL_EFFICIENCY_CATEGORY_ATTR: category}
    if bucket:
        expected[RL_BUCKET_ATTR] = bucket
    assert [(s["name"], s["attributes"]) for s in recording.spans()] == [(name, expected)] * 2


def test_attributes_of_the_caller_win_over_the_category(recording: Recording) -> None:
    with efficiency_span("idle/refit_bubble", **{RL_BUCKET_ATTR: "wasted", "rl.idle.polls": 3}):
        pass
    (span,) = recording.spans()
    assert span["attributes"][RL_BUCKET_ATTR] == "wasted"
    assert span["attributes"]["rl.idle.polls"] == 3


def test_waits_that_are_off_yield_nothing(recording: Recording) -> None:
    set_enabled_span_groups(ALL_GROUPS - {"efficiency"})
    with efficiency_span("idle/refit_bubble") as span:
        assert span is None
    assert start_efficiency_span("idle/refit_bubble") is None
    assert recording.spans() == []


def test_a_started_wait_adopts_no_children(recording: Recording) -> None:
    with umbrella_span(RLSpanGroup.U_STEP, "step"):
        wait = start_efficiency_span("idle/buffer_starvation")
        with managed_span(GENERATION, "child"):
            pass
        assert wait is not None
        wait.end()
    step = recording.named("step")["span_id"]
    assert recording.named("child")["parent_id"] == step
    assert recording.named("rl.idle.buffer_starvation")["parent_id"] == step


@pytest.mark.parametrize("groups", [ALL_GROUPS, ALL_GROUPS - {"evaluate"}])
def test_what_an_evaluation_does_is_overhead(recording: Recording, groups: frozenset[str]) -> None:
    set_enabled_span_groups(groups)
    with evaluate_span("grpo", **{"rl.step": 3}) as span, managed_span(GENERATION, "x"):
        assert (span is None) == ("evaluate" not in groups)
    assert bucket_of(recording) == "overhead"
    if "evaluate" in groups:
        evaluation = recording.named("rl.grpo.evaluate")
        assert evaluation["attributes"] == {"rl.step": 3}
        assert recording.named("x")["parent_id"] == evaluation["span_id"]
    with managed_span(GENERATION, "after"):
        pass
    assert bucket_of(recording, "after") == "productive"


def test_start_up_spans_have_no_bucket(recording: Recording) -> None:
    with startup_span(**{"rl.algorithm": "grpo"}), setup_span("tokenizer"):
        pass
    assert recording.named("rl.startup")["attributes"] == {"rl.algorithm": "grpo"}
    setup = recording.named("rl.setup.tokenizer")
    assert setup["attributes"] == {}
    assert setup["parent_id"] == recording.named("rl.startup")["span_id"]


def test_finalising_a_checkpoint_has_its_own_iteration_and_no_bucket(
    recording: Recording,
) -> None:
    with iteration_scope(9):
        with checkpoint_finalize_span(7):
            pass
        assert recording.spans()[-1]["attributes"] == {"rl.iteration": 7}
        with checkpoint_finalize_span(None):
            pass
        assert recording.spans()[-1]["attributes"] == {"rl.iteration": 9}
    assert {span["name"] for span in recording.spans()} == {"rl.checkpoint.finalize"}
