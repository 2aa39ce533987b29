from __future__ import annotations

from collections.abc import Iterator

import pytest

from rl_telemetry.registry import SpanRegistry, set_enabled_span_groups
from rl_telemetry.span_groups import register_span_groups
from rl_telemetry.warnings_once import reset_warnings
from tests.runtime.recording import Recording, start_recording, stop_recording


@pytest.fixture
def recording() -> Iterator[Recording]:
    """Every group on, spans and log records of this process kept in memory."""
    reset_warnings()
    started = start_recording()
    yield started
    stop_recording(started)


@pytest.fixture
def own_registry() -> Iterator[type[SpanRegistry]]:
    """The registry with this package's groups alone, put back afterwards."""
    set_enabled_span_groups(())
    SpanRegistry.clear()
    register_span_groups()
    yield SpanRegistry
    set_enabled_span_groups(())
    SpanRegistry.clear()
    register_span_groups()


@pytest.fixture(scope="session")
def ray_cluster() -> Iterator[None]:
    """A local Ray with two CPUs, shared by the whole run."""
    import ray

    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        configure_logging=False,
        namespace="rl_telemetry_tests",
    )
    yield
    ray.shutdown()
