"""What a site costs while its group is off, as a ratio, so that any machine can hold it."""

from __future__ import annotations

import timeit
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

import pytest

from rl_telemetry.instrumentation import (
    efficiency_span,
    is_span_group_enabled,
    managed_span,
    trace_fn,
    umbrella_span,
)
from rl_telemetry.registry import set_enabled_span_groups
from rl_telemetry.span_groups import RLSpanGroup

GENERATION = RLSpanGroup.GENERATION


@contextmanager
def generator_based(group: str, name: str) -> Iterator[None]:
    if is_span_group_enabled(group):
        raise AssertionError
    yield


def null() -> None:
    with nullcontext():
        pass


def leaf() -> None:
    with managed_span(GENERATION, "x"):
        pass


def umbrella() -> None:
    with umbrella_span(RLSpanGroup.U_STEP, "x"):
        pass


def wait() -> None:
    with efficiency_span("idle/refit_bubble"):
        pass


@trace_fn(GENERATION, "x")
def decorated() -> None:
    pass


def generator() -> None:
    with generator_based(GENERATION, "x"):
        pass


def ratio(site: Callable[[], None]) -> float:
    """Return the best time of ``site`` over the best of a null context, taken in turns."""
    pairs = [
        (timeit.timeit(site, number=4000), timeit.timeit(null, number=4000)) for _ in range(25)
    ]
    return min(pair[0] for pair in pairs) / min(pair[1] for pair in pairs)


@pytest.mark.parametrize("site", [leaf, umbrella, wait, decorated], ids=lambda f: f.__name__)
def test_a_site_that_is_off_costs_no_more_than_a_null_context(site: Callable[[], None]) -> None:
    set_enabled_span_groups(())
    assert ratio(site) < 1.1


def test_a_generator_would_cost_more() -> None:
    """The twin: the measure tells the two apart."""
    set_enabled_span_groups(())
    assert ratio(generator) > 1.5
