"""The trainer, its documents and its traces agree."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest

from rl_telemetry.metrics import standard
from rl_telemetry.span_groups import ALL_GROUPS
from tests.examples.trainer_runs import (
    STEPS,
    Metric,
    Span,
    TracedRun,
    matches,
    names,
    predicts,
    rows,
)

#: Opened by the data-plane client of the library, which the checker knows as a whole.
LIBRARY_SPANS = {"rl.data_plane.**": {"data_plane", "per_prompt"}}
#: Tags that the library's helpers set by themselves.
LIBRARY_TAGS = {
    "rl.bucket",
    "rl.iteration",
    "rl.efficiency.category",
    "rl.data_plane.op",
    "rl.data_plane.partition",
    "rl.data_plane.keys",
    "rl.data_plane.bytes",
    "rl.data_plane.status",
}
#: Tags that the inventory may leave out: it lists what a span is opened with.
LATE_TAGS = {
    "rl.idle.polls": "set when the wait is over",
    "rl.ray.cluster_source": "set when Ray runs",
    "rl.algorithm": "its key is a constant of the library",
}
#: Metrics that the library declares itself.
LIBRARY_METRICS = {row.name for row in (*standard.TEED_METRICS, *standard.RECORDED_METRICS)}
#: Logger keys that the inventory does not list.
UNLISTED_KEYS = {
    ("train", "weight_lag"): "comes through the protocol RolloutSource, which is not followed",
    ("train", "critic/loss"): "comes through the protocol Baseline, which is not followed",
}
#: Predicted or documented, and rightly not seen in these runs.
NOT_SEEN: dict[str, str] = {}

SPANS = rows("span-groups", "Span")


def row_of(span: Span, run: TracedRun) -> dict[str, str]:
    found = [
        row
        for row in SPANS
        if "Parent" in row and matches(names(row["Span"])[0], span.name, run.algorithm)
    ]
    assert len(found) == 1, span.name
    return found[0]


def driver(run: TracedRun) -> list[Span]:
    return [span for span in run.spans if span.worker_group is None]


def test_the_reward_rises(run: TracedRun) -> None:
    assert len(run.rewards) == STEPS
    first, last = sum(run.rewards[:2]), sum(run.rewards[-2:])
    assert last > 1.5 * first, run.rewards


def test_it_ends_with_a_summary_of_goodput(run: TracedRun) -> None:
    shares = dict(
        re.findall(r"(productive|overhead|idle|in no bucket)\W+[\d.]+\W+(-?\d+)%", run.output)
    )
    assert set(shares) == {"productive", "overhead", "idle", "in no bucket"}
    assert sum(map(int, shares.values())) == pytest.approx(100, abs=3)
    assert all(int(share) >= 0 for share in shares.values())


def test_a_run_is_one_trace_without_orphans(run: TracedRun) -> None:
    assert len({span.trace_id for span in run.spans}) == 1
    roots = [span.name for span in run.spans if not span.parent_id]
    assert roots == [f"rl.{run.algorithm}.job"]
    known = run.by_id()
    assert len(known) == len(run.spans) > 200
    assert [span.name for span in run.spans if span.parent_id and span.parent_id not in known] == []


def test_every_span_that_was_seen_was_predicted(run: TracedRun, predicted: dict[str, Any]) -> None:
    patterns = [line["name"] for line in predicted["spans"]] + list(LIBRARY_SPANS)
    seen = {span.name for span in run.spans}
    unpredicted = {n for n in seen if not any(predicts(pattern, n) for pattern in patterns)}
    assert unpredicted == set()


def test_every_predicted_span_was_seen(
    runs: dict[str, TracedRun], predicted: dict[str, Any]
) -> None:
    seen = {span.name for run in runs.values() for span in run.spans}
    patterns = {
        line["name"]
        for line in predicted["spans"]
        if any(site.startswith("examples/") for site in line["sites"])
    }
    assert len(patterns) > 35
    unseen = {p for p in patterns | LIBRARY_SPANS.keys() if not any(predicts(p, n) for n in seen)}
    assert unseen == set(NOT_SEEN)


def test_every_documented_span_was_seen(runs: dict[str, TracedRun]) -> None:
    unseen = {
        template
        for row in SPANS
        for template in names(row["Span"])
        if not any(
            matches(template, span.name, run.algorithm)
            for run in runs.values()
            for span in run.spans
        )
    }
    assert unseen == set(NOT_SEEN)


def test_every_group_has_a_span_that_was_seen(
    runs: dict[str, TracedRun], predicted: dict[str, Any]
) -> None:
    seen = {span.name for run in runs.values() for span in run.spans}
    groups = {line["name"]: set(line["groups"]) for line in predicted["spans"]} | LIBRARY_SPANS
    emitted = {
        g for pattern, g in groups.items() if any(predicts(pattern, n) for n in seen) for g in g
    }
    assert emitted == ALL_GROUPS


def test_spans_stand_where_they_are_documented(run: TracedRun) -> None:
    known = run.by_id()
    for span in run.spans:
        parents = names(row_of(span, run)["Parent"])
        if not span.parent_id:
            assert parents == [], span.name
            continue
        parent = known[span.parent_id].name
        assert any(matches(p, parent, run.algorithm) for p in parents), (span.name, parent)


def test_spans_run_in_the_process_they_are_documented_for(run: TracedRun) -> None:
    for span in run.spans:
        process = row_of(span, run).get("Process", "driver")
        if not process.startswith("all"):
            assert (span.worker_group or "driver") == process, span.name


def test_buckets_are_the_documented_ones(run: TracedRun) -> None:
    known = run.by_id()
    for span in run.spans:
        documented = row_of(span, run)["Bucket"].replace("\u2013", "")
        bucket = span.attributes.get("rl.bucket", "")
        if in_evaluation(span, known) and documented:
            assert bucket == "overhead", span.name
        elif span.name == "rl.data_plane.put" and span.worker_group == "collector":
            assert bucket == "", span.name
        else:
            assert bucket == documented, span.name


def in_evaluation(span: Span, known: dict[bytes, Span]) -> bool:
    while (parent := known.get(span.parent_id)) is not None:
        if parent.name.endswith(".evaluate"):
            return True
        span = parent
    return False


def test_a_bucket_scope_reaches_the_generation_actors(run: TracedRun) -> None:
    known = run.by_id()
    decoded = {
        (in_evaluation(span, known), span.attributes["rl.bucket"])
        for span in run.named("rl.generation.decode")
    }
    assert decoded == {(True, "overhead"), (False, "productive")}


def test_the_iteration_reaches_every_process(run: TracedRun) -> None:
    known = run.by_id()
    for span in run.spans:
        parent = known.get(span.parent_id)
        if parent is None or span.name == "rl.checkpoint.finalize":
            continue
        if (step := parent.attributes.get("rl.iteration")) is not None:
            assert span.attributes.get("rl.iteration") == step, span.name
    reached = {span.worker_group for span in run.spans if "rl.iteration" in span.attributes}
    expected = {None, "policy", "generation"}
    expected |= {"collector"} if run.named(f"rl.{run.algorithm}.collect") else set()
    expected |= {"value"} if run.algorithm == "ppo" else set()
    assert reached == expected


def test_a_finalize_has_the_iteration_of_its_checkpoint(run: TracedRun) -> None:
    known = run.by_id()
    finalized = run.named("rl.checkpoint.finalize")
    assert len(finalized) == 2
    for span in finalized:
        staged = known[span.parent_id]
        assert span.attributes["rl.iteration"] == staged.attributes["rl.iteration"] + 1


def test_bucketed_spans_never_nest_within_a_process(run: TracedRun) -> None:
    known = run.by_id()
    for span in run.spans:
        if "rl.bucket" not in span.attributes:
            continue
        above = known.get(span.parent_id)
        while above is not None:
            if above.process == span.process:
                assert "rl.bucket" not in above.attributes, (span.name, above.name)
            above = known.get(above.parent_id)


def test_the_bucketed_time_of_the_driver_fits_into_the_wall_time(run: TracedRun) -> None:
    for step in run.named(f"rl.{run.algorithm}.step"):
        inside = [
            span
            for span in driver(run)
            if "rl.bucket" in span.attributes
            and step.start_ns <= span.start_ns
            and span.end_ns <= step.end_ns
        ]
        assert len(inside) > 8
        assert sum(span.seconds for span in inside) <= step.seconds


def test_spans_lie_within_the_run(run: TracedRun) -> None:
    (job,) = run.named(f"rl.{run.algorithm}.job")
    for span in run.spans:
        assert job.start_ns <= span.start_ns <= span.end_ns <= job.end_ns, span.name


def test_bucketed_spans_of_a_process_do_not_overlap(run: TracedRun) -> None:
    """Stronger than the sum: this is why the buckets of one process may be added up."""
    by_process: dict[str, list[Span]] = {}
    for span in run.spans:
        if "rl.bucket" in span.attributes:
            by_process.setdefault(span.process, []).append(span)
    assert len(by_process) > 3
    for spans in by_process.values():
        ordered = sorted(spans, key=lambda span: span.start_ns)
        for before, after in pairwise(ordered):
            assert before.end_ns <= after.start_ns, (before.name, after.name)


def test_tags_are_the_documented_ones(runs: dict[str, TracedRun]) -> None:
    seen = {key for run in runs.values() for span in run.spans for key in span.attributes}
    documented = {
        key for row in rows("span-groups", "Span attribute") for key in names(row["Span attribute"])
    }
    assert seen == documented


def test_tags_and_their_prediction_agree(
    runs: dict[str, TracedRun], predicted: dict[str, Any]
) -> None:
    seen = {key for run in runs.values() for span in run.spans for key in span.attributes}
    in_example = {
        line["key"]
        for line in predicted["attributes"]
        if any(site.startswith("examples/") for site in line["sites"])
    }
    assert len(in_example) >= 5
    assert in_example <= seen
    assert seen <= in_example | LIBRARY_TAGS | LATE_TAGS.keys()


def test_metrics_and_their_prediction_agree(
    runs: dict[str, TracedRun], predicted: dict[str, Any]
) -> None:
    seen = {name for run in runs.values() for name in run.metrics}
    listed = {line["name"]: line["declared"] for line in predicted["metrics"]}
    in_example = {name for name, site in listed.items() if site.startswith("examples/")}
    assert len(in_example) >= 4
    assert in_example <= seen
    assert seen <= listed.keys() | LIBRARY_METRICS


def test_every_logged_key_was_predicted(run: TracedRun, predicted: dict[str, Any]) -> None:
    listed = [(p, line["key"]) for line in predicted["logger_keys"] for p in line["prefixes"]]
    unlisted = {
        (prefix, key)
        for prefix, key in run.logged
        if not any(prefix == p and predicts(pattern, key) for p, pattern in listed)
    }
    assert len(run.logged) > 30
    assert unlisted <= UNLISTED_KEYS.keys()


def test_metrics_are_the_documented_ones(runs: dict[str, TracedRun]) -> None:
    seen = {name: metric for run in runs.values() for name, metric in run.metrics.items()}
    documented = {
        name: Metric(
            row["Kind"],
            "".join(names(row["Unit"])),
            frozenset(names(row.get("Attributes", ""))),
        )
        for row in rows("metrics", "Metric")
        for name in names(row["Metric"])
    }
    assert seen == documented


def test_resource_attributes_are_the_documented_ones(run: TracedRun) -> None:
    for row in rows("configuration", "Resource attribute"):
        for name in names(row["Resource attribute"]):
            for span in run.spans:
                is_there = name in span.resource
                if row["Process"] == "all":
                    assert is_there, name
                else:
                    is_driver = span.worker_group is None
                    assert is_there == (is_driver == (row["Process"] == "driver")), name
