"""The span groups of a training loop. Importing this module registers them.

A leaf group is a phase whose time counts in one goodput bucket. An umbrella group holds other
phases (a whole step, a whole job), so its spans are in no bucket; spell it by its ``U_`` alias.
"""

from __future__ import annotations

from typing import ClassVar

from rl_telemetry.registry import SpanRegistry

NAMESPACE = "rl_telemetry"


class RLSpanGroup:
    """Names of the span groups, for use at call sites."""

    JOB = "job"
    STEP = "step"
    ROLLOUT = "rollout"
    MODEL_INIT = "model_init"
    EVALUATE = "evaluate"
    SETUP = "setup"
    PER_PROMPT = "per_prompt"

    CHECKPOINT = "checkpoint"
    GENERATION = "generation"
    REWARD = "reward"
    POLICY_UPDATE = "policy_update"
    LOGPROB = "logprob"
    ADVANTAGE = "advantage"
    DATA_PROCESSING = "data_processing"
    DATA_PLANE = "data_plane"
    EFFICIENCY = "efficiency"

    U_JOB = JOB
    U_STEP = STEP
    U_ROLLOUT = ROLLOUT
    U_MODEL_INIT = MODEL_INIT
    U_EVALUATE = EVALUATE
    U_SETUP = SETUP
    U_PER_PROMPT = PER_PROMPT

    ALL_GROUPS: ClassVar[frozenset[str]]
    UMBRELLA_GROUP_VALUES: ClassVar[frozenset[str]]

    @staticmethod
    def resolve(spec: str) -> frozenset[str]:
        """Return the groups that ``spec`` selects, leaving out entries nobody registered."""
        return SpanRegistry.resolve(spec)[0]

    @staticmethod
    def resolve_with_pending(spec: str) -> tuple[frozenset[str], frozenset[str]]:
        """Return the groups that ``spec`` selects, and the entries nobody registered."""
        return SpanRegistry.resolve(spec)


def _values(*, aliases: bool) -> frozenset[str]:
    return frozenset(
        value
        for name, value in vars(RLSpanGroup).items()
        if name.isupper() and isinstance(value, str) and name.startswith("U_") is aliases
    )


#: Every group above.
ALL_GROUPS = _values(aliases=False)
#: The groups that have a ``U_`` alias: their spans are in no goodput bucket.
UMBRELLA_GROUP_VALUES = _values(aliases=True)

RLSpanGroup.ALL_GROUPS = ALL_GROUPS
RLSpanGroup.UMBRELLA_GROUP_VALUES = UMBRELLA_GROUP_VALUES

#: A run, its start-up, its evaluations and its checkpoints: a handful of spans.
DEFAULT_PRESET = frozenset(
    {
        RLSpanGroup.JOB,
        RLSpanGroup.SETUP,
        RLSpanGroup.MODEL_INIT,
        RLSpanGroup.EVALUATE,
        RLSpanGroup.CHECKPOINT,
    }
)
#: Everything whose number grows with steps. ``job`` is in it because a carrier needs a span that
#: records while workers are called: without one their spans would start traces of their own.
PER_STEP_PRESET = ALL_GROUPS - {RLSpanGroup.PER_PROMPT}

PRESETS = {"default": DEFAULT_PRESET, "per_step": PER_STEP_PRESET}


def register_span_groups(*, allow_override: bool = True) -> None:
    """Register the groups and presets of this module; doing so again changes nothing.

    Args:
        allow_override: Replace an earlier registration of the same namespace.

    Raises:
        ValueError: The namespace is registered and ``allow_override`` is off.
    """
    SpanRegistry.register(NAMESPACE, ALL_GROUPS, PRESETS, allow_override=allow_override)


register_span_groups()

__all__ = [
    "ALL_GROUPS",
    "DEFAULT_PRESET",
    "NAMESPACE",
    "PER_STEP_PRESET",
    "PRESETS",
    "UMBRELLA_GROUP_VALUES",
    "RLSpanGroup",
    "register_span_groups",
]
