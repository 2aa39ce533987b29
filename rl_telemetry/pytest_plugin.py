"""Pytest fixtures that capture spans and metrics.

``rl_telemetry_capture`` captures in memory, ``rl_telemetry_files`` also what other processes
(Ray actors, subprocesses) export. Nothing of OpenTelemetry is imported until a test asks for one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from rl_telemetry.testing import CapturedTelemetry, TelemetryFiles


@pytest.fixture
def rl_telemetry_isolation() -> Iterator[None]:
    """Run the test with telemetry off and untouched, and put everything back afterwards.

    Covered are the environment variables, the providers, the gates of the span groups, the metric
    groups and declarations, and the warnings that were already said.
    """
    from rl_telemetry.testing import isolated_telemetry

    with isolated_telemetry():
        yield


@pytest.fixture
def rl_telemetry_capture(rl_telemetry_isolation: None) -> Iterator[CapturedTelemetry]:
    """Capture spans and metrics of this process in memory, with all span groups on."""
    from rl_telemetry.testing import capture_telemetry

    with capture_telemetry() as captured:
        yield captured


@pytest.fixture
def rl_telemetry_files(rl_telemetry_isolation: None, tmp_path: Path) -> TelemetryFiles:
    """Make processes that start during the test export into files, and read those.

    The environment turns telemetry on, all span groups included; start Ray after this fixture,
    or pass ``rl_telemetry_files.environment`` as its ``runtime_env``.
    """
    from rl_telemetry.testing import TelemetryFiles

    return TelemetryFiles(tmp_path / "telemetry").activate()
