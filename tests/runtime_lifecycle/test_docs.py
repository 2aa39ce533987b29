"""The pages of the runtime: their examples run, and what they name exists."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rl_telemetry import environment
from rl_telemetry.config import TelemetryConfig
from rl_telemetry.lifecycle import resource
from rl_telemetry.metrics import standard

DOCS = Path(__file__).parents[2] / "docs" / "runtime"
PAGES = ("index", "configure", "metrics", "shutdown", "testing", "migrating")


def examples(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (DOCS / f"{page}.md").read_text(), re.M | re.S)


def test_there_are_examples() -> None:
    assert {page: bool(examples(page)) for page in PAGES} == {
        page: page != "migrating" for page in PAGES
    }


@pytest.mark.parametrize("page", ["index", "configure", "metrics", "shutdown"])
def test_the_examples_of_a_page_run(page: str, tmp_path: Path) -> None:
    for number, example in enumerate(examples(page)):
        (tmp_path / f"{number}.py").write_text(example)
    script = f"""
import runpy
for number in range({len(examples(page))}):
    # One after the other in one process each would meet what the last one registered.
    import os
    if (pid := os.fork()) == 0:
        runpy.run_path(f"{{number}}.py", run_name="__main__")
        raise SystemExit
    assert os.waitpid(pid, 0)[1] == 0, number
"""
    result = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**os.environ, "RL_TELEMETRY_ENABLED": "1", "RL_TELEMETRY_EXPORTER": "file"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 0, result.stderr


def test_the_examples_of_the_testing_page_pass(tmp_path: Path) -> None:
    for number, example in enumerate(examples("testing")):
        if "import ray" in example:
            compile(example, "testing.md", "exec")  # test_ray_actors.py does the same for real
        else:
            (tmp_path / f"test_{number}.py").write_text(example)
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "2 passed" in result.stdout, result.stdout


def table_rows(page: str, heading: str | None = None) -> list[list[str]]:
    """Return the cells of a page's tables, or of those under one heading."""
    text = (DOCS / f"{page}.md").read_text()
    if heading is not None:
        text = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("| ")
    ]


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def resolve(dotted: str) -> Any:
    parts = dotted.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for name in parts[end:]:
            found = getattr(found, name)
        return found
    raise AssertionError(dotted)


def test_every_name_to_migrate_to_exists() -> None:
    targets = [name for row in table_rows("migrating", "Modules")[1:] for name in names(row[1])]
    assert len(targets) > 10
    for target in targets:
        resolve(target)
    rows = table_rows("migrating", "Names")[1:]
    listed = [(names(row[1])[0], name) for row in rows for name in names(row[0])]
    assert len(listed) > 70
    for module, name in listed:
        resolve(f"{module}.{name}")


def test_the_settings_are_the_documented_ones() -> None:
    rows = [row for row in table_rows("configure", "Settings")[1:] if len(row) == 3]
    assert {names(row[0])[0]: (names(row[1])[0], names(row[2])[0]) for row in rows} == {
        name: (
            str(field.default).lower(),
            environment.ENV_BY_FIELD.get(name, environment.SERVICE_NAME),
        )
        for name, field in TelemetryConfig.model_fields.items()
    }


def test_the_resource_attributes_are_the_documented_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "1")
    emitted = {
        *resource._detect(),
        *resource.build_resource("x", {}, {}).attributes,
        *resource.driver_attributes({}, "grpo"),
        *resource.worker_attributes(0, 1, "g", {}),
        resource.RUN_ID,
        resource.USER_ID,
        resource.RUN_UUID,
        resource.LOCAL_RANK,
    }
    emitted = {
        re.sub(r"software\.[^.]+\.", "software.<package>.", name)
        for name in emitted
        if not name.startswith("telemetry.sdk.")
    }
    text = (DOCS / "configure.md").read_text().partition("## Which run")[2]
    documented = {
        name
        for line in text.splitlines()
        if line.startswith("| `")
        for name in names(line.split("|")[1])
    }
    assert documented == emitted


def test_the_metrics_are_the_documented_ones() -> None:
    documented = {
        name: row
        for row in table_rows("metrics")
        for name in names(row[0])
        if name.startswith("rl.") and not name.startswith("rl.efficiency.m")
    }
    declared = {row.name: row for row in (*standard.TEED_METRICS, *standard.RECORDED_METRICS)}
    assert set(documented) == set(declared)
    for name, row in declared.items():
        assert row.kind in documented[name], name
        assert not row.unit or f"`{row.unit}`" in documented[name], name
    for row in standard.TEED_METRICS:
        assert documented[row.name][1] == f"`{row.logger_key}`"
