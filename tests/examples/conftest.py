from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.examples.trainer_runs import TracedRun, finished, inventory, ray_cluster, trainer

MODES = {"grpo-sync": ("--algorithm", "grpo", "--sync"), "ppo": ("--algorithm", "ppo")}


@pytest.fixture(scope="session")
def cluster() -> Iterator[dict[str, str]]:
    """The environment of processes that attach to a cluster of the tests."""
    with ray_cluster() as environment:
        yield environment


@pytest.fixture(scope="session")
def runs(
    cluster: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, TracedRun]]:
    """A run of each mode. They go on at the same time."""
    out = tmp_path_factory.mktemp("runs")
    with ExitStack() as stack:
        started = {
            mode: stack.enter_context(trainer(cluster, out / mode, *options))
            for mode, options in MODES.items()
        }
        yield {
            mode: finished(process, receiver, out / mode, mode.removesuffix("-sync"))
            for mode, (process, receiver) in started.items()
        }


@pytest.fixture(params=list(MODES))
def run(request: pytest.FixtureRequest, runs: dict[str, TracedRun]) -> TracedRun:
    return runs[request.param]


@pytest.fixture(scope="session")
def predicted() -> dict[str, Any]:
    return inventory()
