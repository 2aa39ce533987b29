from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.examples.trainer_runs import TracedRun, finished, inventory, ray_cluster, trainer

MODES = {"grpo-sync": ("--algorithm", "grpo", "--sync"), "ppo": ("--algorithm", "ppo")}


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, TracedRun]]:
    """A run of each mode. They go on at the same time, in one cluster."""
    out = tmp_path_factory.mktemp("runs")
    with ExitStack() as stack:
        address = stack.enter_context(ray_cluster())
        started = {
            mode: stack.enter_context(trainer(address, out / mode, *options))
            for mode, options in MODES.items()
        }
        yield {
            mode: finished(process, receiver, mode.removesuffix("-sync"))
            for mode, (process, receiver) in started.items()
        }


@pytest.fixture(params=list(MODES))
def run(request: pytest.FixtureRequest, runs: dict[str, TracedRun]) -> TracedRun:
    return runs[request.param]


@pytest.fixture(scope="session")
def predicted() -> dict[str, Any]:
    return inventory()
