"""The ``rl_telemetry`` profile and the runtime package say the same; failures say what to do."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from rl_telemetry import buckets, instrumentation, metrics, propagation, registry, span_groups
from rl_telemetry.buckets import Bucket
from rl_telemetry.span_groups import RLSpanGroup
from rl_telemetry.testing import CapturedTelemetry
from rltel_lint.facts import nodes as n
from rltel_lint.rules.nesting import is_bucketed
from rltel_lint.vocabulary import load_vocabulary
from rltel_lint.vocabulary.model import KnownCall
from tests.lint.core.support import named
from tests.lint.support import link

PROFILE = "lint/rltel_lint/vocabulary/rl_telemetry.toml"
VOCABULARY = load_vocabulary(["rl_telemetry"])
HELPERS = {helper.name: helper for helper in VOCABULARY.helpers if helper.modules[:1] != ()}
KNOWN = next(known for known in VOCABULARY.group_classes if known.name == "RLSpanGroup")

OPENS_NO_SPAN = {
    "Bucket": "an enumeration",
    "TracedThread": "carries a context, opens nothing",
    "TracedThreadPoolExecutor": "carries a context, opens nothing",
    "bind_trace_context": "carries a context, opens nothing",
    "bucket_for_efficiency_category": "answers a question",
    "bucket_for_span_group": "answers a question",
    "bucket_scope": "marks spans, opens none",
    "goodput_span_attributes": "answers a question",
    "in_per_prompt_scope": "answers a question",
    "iteration_scope": "marks spans, opens none",
    "per_prompt_scope": "marks spans, opens none",
    "safe_set_span_attributes": "sets attributes",
    "span_attributes": "marks spans, opens none",
}
"""Public callables of ``rl_telemetry.instrumentation`` that mean nothing to the checker."""


def shape(function: Callable[..., Any]) -> list[tuple[str, str]]:
    """Names and kinds of the parameters of a function, in order."""
    kinds = {
        inspect.Parameter.POSITIONAL_ONLY: "positional",
        inspect.Parameter.POSITIONAL_OR_KEYWORD: "either",
        inspect.Parameter.KEYWORD_ONLY: "keyword",
        inspect.Parameter.VAR_POSITIONAL: "*",
        inspect.Parameter.VAR_KEYWORD: "**",
    }
    parameters = inspect.signature(function).parameters.values()
    return [(parameter.name, kinds[parameter.kind]) for parameter in parameters]


def declared(params: n.Parameters) -> list[tuple[str, str]]:
    """The same of a signature in the profile."""
    return [(param.name, param.kind) for param in params.items]


def calls() -> dict[str, KnownCall]:
    """All that the profile knows besides span helpers, by name."""
    carriers = VOCABULARY.carriers
    known: Iterable[KnownCall] = (
        *VOCABULARY.gates,
        *(call for call in VOCABULARY.attachers if call.modules[0].startswith("rl_telemetry")),
        *(*carriers.keyword_helpers, *carriers.makers, *carriers.openers, *carriers.dispatchers),
        *carriers.accepting,
    )
    return {call.name: call for call in known}


def test_every_public_callable_means_something_or_is_listed_as_meaning_nothing() -> None:
    public = {name for name in instrumentation.__all__ if callable(getattr(instrumentation, name))}
    known = set(HELPERS) | set(calls())
    new = sorted(public - known - set(OPENS_NO_SPAN))
    assert not new, (
        f"{new} of rl_telemetry.instrumentation mean nothing to the checker; add a table "
        f"[helpers.NAME] (or an entry under [carriers], [gates], [attachers]) to {PROFILE}, or "
        f"list them in OPENS_NO_SPAN of {__file__} with the reason"
    )
    gone = sorted(set(OPENS_NO_SPAN) - public)
    assert not gone, f"{gone} are no longer public; take them out of OPENS_NO_SPAN"
    both = sorted(set(OPENS_NO_SPAN) & known)
    assert not both, f"{both} are in {PROFILE}; take them out of OPENS_NO_SPAN"


OURS = sorted(name for name, helper in HELPERS.items() if "rl_telemetry" in helper.modules)


@pytest.mark.parametrize("name", OURS)
def test_span_helpers_have_the_signature_that_the_profile_says(name: str) -> None:
    function = getattr(instrumentation, name, None)
    assert function is not None, (
        f"rl_telemetry.instrumentation has no {name}; take [helpers.{name}] out of {PROFILE}"
    )
    assert declared(HELPERS[name].params) == shape(function), (
        f"correct the signature under [helpers.{name}] in {PROFILE} to that of {name}"
    )


@pytest.mark.parametrize("name", sorted(calls()))
def test_carriers_gates_and_attachers_exist(name: str) -> None:
    found = [
        getattr(module, name)
        for module in (instrumentation, propagation, registry)
        if hasattr(module, name)
    ]
    assert found, f"rl_telemetry has no {name}; correct {PROFILE}"
    params = calls()[name].params
    if params is not None:
        function = found[0]
        parameters = [one for one in shape(function) if one[0] != "self"]
        assert declared(params) == parameters, f"correct the signature of {name} in {PROFILE}"


def test_carrier_keyword() -> None:
    assert VOCABULARY.carriers.keyword == propagation.TRACE_CARRIER_KWARG, (
        f"set keyword under [carriers] in {PROFILE} to TRACE_CARRIER_KWARG"
    )


def test_group_constants() -> None:
    constants = {
        name: value
        for name, value in vars(RLSpanGroup).items()
        if name.isupper() and isinstance(value, str)
    }
    assert dict(KNOWN.values) == constants, (
        f"make [groups.RLSpanGroup.values] in {PROFILE} the constants of RLSpanGroup"
    )
    assert set(KNOWN.values.values()) == span_groups.ALL_GROUPS


def test_umbrella_groups() -> None:
    assert KNOWN.umbrellas == span_groups.UMBRELLA_GROUP_VALUES == buckets.UMBRELLA_GROUPS, (
        f"make umbrellas of [groups.RLSpanGroup] in {PROFILE} the groups with a U_ alias"
    )
    aliases = {v for name, v in KNOWN.values.items() if name.startswith(VOCABULARY.alias_prefix)}
    assert aliases == KNOWN.umbrellas


def test_presets() -> None:
    presets = {name: frozenset(groups) for name, groups in KNOWN.presets.items()}
    assert presets == span_groups.PRESETS, (
        f"make [groups.RLSpanGroup.presets] in {PROFILE} those of rl_telemetry.span_groups"
    )


def test_buckets_of_groups() -> None:
    by_group = {group: bucket.value for group, bucket in buckets.SPAN_GROUP_BUCKET.items()}
    assert dict(KNOWN.buckets) == by_group, (
        f"make [groups.RLSpanGroup.buckets] in {PROFILE} SPAN_GROUP_BUCKET"
    )
    assert set(by_group.values()) <= {bucket.value for bucket in Bucket}


def test_categories_without_a_bucket() -> None:
    own = VOCABULARY.unbucketed_categories
    assert own == buckets.UNBUCKETED_SPAN_CATEGORIES, (
        f"make unbucketed_categories in {PROFILE} UNBUCKETED_SPAN_CATEGORIES"
    )
    for name in VOCABULARY.unbucketed_sets:
        assert hasattr(buckets, name), f"rl_telemetry.buckets has no {name}; correct {PROFILE}"
    for name in VOCABULARY.umbrella_sets:
        assert hasattr(buckets, name) or hasattr(span_groups, name), f"correct {name} in {PROFILE}"


def test_efficiency_group_and_registration() -> None:
    assert VOCABULARY.efficiency_group == RLSpanGroup.EFFICIENCY
    (register,) = VOCABULARY.registrations
    assert register.name == "SpanRegistry.register"
    assert register.params is not None
    assert declared(register.params) == shape(registry.SpanRegistry.register), (
        f"correct SpanRegistry.register under [registrations] in {PROFILE}"
    )


ROWS = {call.name: call for call in (*VOCABULARY.metrics.teed, *VOCABULARY.metrics.recorded)}


@pytest.mark.parametrize("name", sorted(ROWS))
def test_metric_rows_have_the_fields_that_the_profile_says(name: str) -> None:
    row = getattr(metrics, name, None)
    assert row is not None, f"rl_telemetry.metrics has no {name}; correct [metrics] in {PROFILE}"
    params = ROWS[name].params
    assert params is not None
    assert declared(params) == shape(row), f"correct {name} under [metrics] in {PROFILE}"


EVERY_HELPER = """
from rl_telemetry.instrumentation import (
    checkpoint_finalize_span, efficiency_span, evaluate_span, managed_span, setup_span, span_cm,
    start_efficiency_span, startup_span, streaming_umbrella_span, trace_fn, traced_worker_init,
    umbrella_span, umbrella_trace_fn,
)
from rl_telemetry.span_groups import RLSpanGroup as G

with umbrella_span(G.U_STEP, "rl.step"), managed_span(G.REWARD, "rl.reward"):
    pass
with checkpoint_finalize_span(3), evaluate_span("grpo"), setup_span("data"), startup_span():
    pass
with efficiency_span("idle/refit_bubble"), efficiency_span("idle/refit_event_wait"):
    pass
start_efficiency_span("wasted/failed_trajectory").end()
with streaming_umbrella_span(G.U_ROLLOUT, "rl.rollout"), span_cm("rl.free"):
    pass

@trace_fn(G.LOGPROB, "rl.logprob")
@umbrella_trace_fn(G.U_JOB, "rl.job")
def work():
    pass

class Worker:
    @traced_worker_init("rl.worker.init")
    def __init__(self):
        pass

work()
Worker()
"""


def test_the_spans_that_the_profile_promises_are_really_opened(
    rl_telemetry_capture: CapturedTelemetry,
) -> None:
    exec(compile(EVERY_HELPER, "every_helper.py", "exec"), {})
    project = link({"train.py": EVERY_HELPER})
    opened = {span.name: span for span in rl_telemetry_capture.spans}
    assert named({"train.py": EVERY_HELPER}) == set(opened)
    assert {site.helper.name for site in project.spans.sites} == set(OURS)
    for site in project.spans.sites:
        attributes = opened[site.name.exact or ""].attributes or {}
        if is_bucketed(project, site):
            assert "rl.bucket" in attributes, f"{site.name.exact} carries no bucket"
    assert {str(site.name.exact) for site in project.spans.sites if is_bucketed(project, site)} == {
        *("rl.reward", "rl.idle.refit_bubble", "rl.wasted.failed_trajectory", "rl.logprob"),
    }
