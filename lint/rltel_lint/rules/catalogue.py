"""All rules, in the order of their codes."""

from __future__ import annotations

from rltel_lint.rules import (
    attributes,
    buckets,
    carriers,
    categories,
    evaluation,
    groups,
    handling,
    lifecycle,
    metrics,
    nesting,
    reading,
    series,
    shared,
    spans,
    spelling,
    suppressions,
)
from rltel_lint.rules.base import Rule

ALL_RULES: tuple[type[Rule], ...] = (
    reading.Unreadable,
    suppressions.UnusedSuppression,
    reading.MatchesNothing,
    spans.UndocumentedSpan,
    spans.UnemittedSpan,
    spans.ReservedSpanEmitted,
    spans.SpanUnderTwoGroups,
    spans.SpanOutsideNamespace,
    shared.SpanOfAnotherAlgorithm,
    groups.UnemittedGroup,
    groups.UnregisteredGroup,
    groups.PresetDrift,
    groups.GroupsDocumentedDiffer,
    buckets.BucketDrift,
    buckets.GroupInNoPreset,
    carriers.DispatchedWithoutCarrier,
    carriers.CarrierNotAccepted,
    carriers.AcceptingNeverDispatched,
    carriers.UnwiredRemoteSpan,
    carriers.BuiltWithoutCarrier,
    spelling.UmbrellaHelperWithLeafGroup,
    spelling.LeafHelperWithUmbrellaGroup,
    spelling.UmbrellaGroupWithoutAlias,
    nesting.CountedTwice,
    nesting.AttachedAcrossYield,
    spelling.EfficiencyGroupThroughLeafHelper,
    handling.SpanNotEnded,
    evaluation.EvaluationWithoutScope,
    handling.DecoratorNotSupported,
    metrics.KeyNeverLogged,
    metrics.KeyUnderOtherPrefix,
    series.MetricUndocumented,
    series.MetricNeverRecorded,
    series.MetricClaimedTwice,
    series.NothingRecorded,
    categories.UndeclaredCategory,
    categories.UnmeasuredCategory,
    categories.CategoriesRestated,
    attributes.AttributeUndocumented,
    attributes.AttributeNeverSet,
    attributes.AttributeRetyped,
    handling.SpanMayBeNone,
    lifecycle.ActorNeverInitialises,
    lifecycle.KilledWithoutFlush,
    lifecycle.EntryWithoutDriver,
    handling.HelperYieldsNoSpan,
)


def rule_by_code(code: str) -> type[Rule] | None:
    """Returns the rule with a code, ``None`` without one."""
    return next((rule for rule in ALL_RULES if rule.code == code), None)
