"""Twins of the trainer's tests: a run with one fault planted into it does not pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.examples import test_trainer as checks
from tests.examples.trainer_runs import Metric, Span, TracedRun

Fault = Callable[[TracedRun], TracedRun]


def changed(name: str, /, **changes: Any) -> Fault:
    """Change the last span of a name."""

    def plant(run: TracedRun) -> TracedRun:
        victim = run.named(name.replace("<algo>", run.algorithm))[-1]
        return with_spans(run, [replace(s, **changes) if s is victim else s for s in run.spans])

    return plant


def tagged(name: str, key: str, value: Any) -> Fault:
    """Set an attribute on the last span of a name; ``None`` takes it away."""

    def plant(run: TracedRun) -> TracedRun:
        victim = run.named(name.replace("<algo>", run.algorithm))[-1]
        kept = {k: v for k, v in victim.attributes.items() if k != key}
        if value is not None:
            kept[key] = value
        return changed(name, attributes=kept)(run)

    return plant


def lost(name: str) -> Fault:
    """Lose every span of a name."""

    def plant(run: TracedRun) -> TracedRun:
        gone = name.replace("<algo>", run.algorithm)
        return with_spans(run, [span for span in run.spans if span.name != gone])

    return plant


def longer(name: str) -> Fault:
    """Let the last span of a name end a minute later."""

    def plant(run: TracedRun) -> TracedRun:
        victim = run.named(name.replace("<algo>", run.algorithm))[-1]
        return changed(name, end_ns=victim.end_ns + 60 * 10**9)(run)

    return plant


def earlier(name: str) -> Fault:
    """Let the last span of a name begin ten milliseconds earlier."""

    def plant(run: TracedRun) -> TracedRun:
        victim = run.named(name.replace("<algo>", run.algorithm))[-1]
        return changed(name, start_ns=victim.start_ns - 10**7)(run)

    return plant


def stretched(run: TracedRun) -> TracedRun:
    """Let every bucketed span of the driver last until the end of its step."""
    steps = run.named(f"rl.{run.algorithm}.step")

    def stretch(span: Span) -> Span:
        around = [s for s in steps if s.start_ns <= span.start_ns and span.end_ns <= s.end_ns]
        if "rl.bucket" not in span.attributes or span.worker_group is not None or not around:
            return span
        return replace(span, end_ns=around[0].end_ns)

    return with_spans(run, [stretch(span) for span in run.spans])


def with_spans(run: TracedRun, spans: list[Span]) -> TracedRun:
    return replace(run, spans=spans)


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        (lambda run: replace(run, rewards=run.rewards[::-1]), checks.test_the_reward_rises),
        (
            lambda run: replace(run, output=run.output.replace("idle", "")),
            checks.test_it_ends_with_a_summary_of_goodput,
        ),
        (lost("rl.<algo>.step"), checks.test_a_run_is_one_trace_without_orphans),
        (
            changed("rl.generation.decode", trace_id=b"other"),
            checks.test_a_run_is_one_trace_without_orphans,
        ),
        (
            changed("rl.generation.decode", parent_id=b""),
            checks.test_a_run_is_one_trace_without_orphans,
        ),
        (
            changed("rl.policy.logprobs", name="rl.generation.decode"),
            checks.test_spans_stand_where_they_are_documented,
        ),
        (
            changed("rl.policy.logprobs", resource={}),
            checks.test_spans_run_in_the_process_they_are_documented_for,
        ),
        (
            tagged("rl.<algo>.policy_training", "rl.bucket", "overhead"),
            checks.test_buckets_are_the_documented_ones,
        ),
        (
            tagged("rl.checkpoint.finalize", "rl.bucket", "overhead"),
            checks.test_buckets_are_the_documented_ones,
        ),
        (
            tagged("rl.generation.decode", "rl.bucket", "productive"),
            checks.test_a_bucket_scope_reaches_the_generation_actors,
        ),
        (
            tagged("rl.policy.optimizer_step", "rl.iteration", None),
            checks.test_the_iteration_reaches_every_process,
        ),
        (
            tagged("rl.checkpoint.finalize", "rl.iteration", 0),
            checks.test_a_finalize_has_the_iteration_of_its_checkpoint,
        ),
        (
            tagged("rl.<algo>.step", "rl.bucket", "productive"),
            checks.test_bucketed_spans_never_nest_within_a_process,
        ),
        (stretched, checks.test_the_bucketed_time_of_the_driver_fits_into_the_wall_time),
        (longer("rl.generation.decode"), checks.test_spans_lie_within_the_run),
        (
            earlier("rl.<algo>.policy_training"),
            checks.test_bucketed_spans_of_a_process_do_not_overlap,
        ),
        (
            changed("rl.<algo>.step", resource={"service.instance.id": "x"}),
            checks.test_resource_attributes_are_the_documented_ones,
        ),
    ],
)
def test_a_planted_fault_is_noticed(
    fault: Fault, check: Callable[[TracedRun], None], runs: dict[str, TracedRun]
) -> None:
    run = runs["ppo"]
    check(run)
    with pytest.raises(AssertionError):
        check(fault(run))


def test_a_renamed_span_is_noticed(runs: dict[str, TracedRun], predicted: dict[str, Any]) -> None:
    def rename(run: TracedRun) -> TracedRun:
        spans = [
            replace(s, name="rl.generation.decoding") if s.name == "rl.generation.decode" else s
            for s in run.spans
        ]
        return with_spans(run, spans)

    renamed = {mode: rename(run) for mode, run in runs.items()}
    with pytest.raises(AssertionError):
        checks.test_every_span_that_was_seen_was_predicted(renamed["ppo"], predicted)
    for check in (
        checks.test_every_predicted_span_was_seen,
        checks.test_every_group_has_a_span_that_was_seen,
    ):
        with pytest.raises(AssertionError):
            check(
                {mode: lost("rl.policy.logprobs")(run) for mode, run in lost_data(runs).items()},
                predicted,
            )
    with pytest.raises(AssertionError):
        checks.test_every_documented_span_was_seen(renamed)


def lost_data(runs: dict[str, TracedRun]) -> dict[str, TracedRun]:
    """Lose the only span of a group."""
    return {mode: lost("rl.<algo>.advantage_calculation")(run) for mode, run in runs.items()}


def test_another_tag_or_metric_is_noticed(
    runs: dict[str, TracedRun], predicted: dict[str, Any]
) -> None:
    tag = {mode: tagged("rl.startup", "rl.new", 1)(run) for mode, run in runs.items()}
    with pytest.raises(AssertionError):
        checks.test_tags_are_the_documented_ones(tag)
    with pytest.raises(AssertionError):
        checks.test_tags_and_their_prediction_agree(tag, predicted)
    other = {"rl.startup": Metric("gauge", "s", frozenset())}
    metric = {mode: replace(run, metrics=run.metrics | other) for mode, run in runs.items()}
    with pytest.raises(AssertionError):
        checks.test_metrics_are_the_documented_ones(metric)
    with pytest.raises(AssertionError):
        checks.test_metrics_and_their_prediction_agree(metric, predicted)
    logged = replace(runs["ppo"], logged=runs["ppo"].logged | {("train", "reward_new")})
    with pytest.raises(AssertionError):
        checks.test_every_logged_key_was_predicted(logged, predicted)
