from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = ("opentelemetry.sdk", "opentelemetry.exporter", "ray", "pydantic", "aiohttp", "numpy")


def loaded_by(statement: str) -> set[str]:
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    result = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60
    )
    modules = json.loads(result.stdout)
    return {heavy for heavy in HEAVY if any(f"{m}.".startswith(f"{heavy}.") for m in modules)}


@pytest.mark.parametrize(
    "module",
    ["rl_telemetry", "rl_telemetry.instrumentation", "rl_telemetry.contrib.data_plane"],
)
def test_a_call_site_loads_nothing_heavy(module: str) -> None:
    assert loaded_by(f"import {module}") == set()


def test_what_needs_the_sdk_loads_it() -> None:
    assert loaded_by("from rl_telemetry.scopes import ScopeSpanProcessor") >= {"opentelemetry.sdk"}


def test_importing_the_package_alone_loads_no_opentelemetry() -> None:
    code = "import rl_telemetry, sys; sys.exit('opentelemetry' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


def test_unknown_names_are_errors() -> None:
    with pytest.raises(ImportError):
        from rl_telemetry.instrumentation import no_such_helper  # noqa: F401
    with pytest.raises(ImportError):
        from rl_telemetry.scopes import no_such_scope  # noqa: F401
