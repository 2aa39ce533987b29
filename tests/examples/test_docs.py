"""The Python in the pages of docs/observability runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples.trainer_runs import DOCS, REPO

# Each example in a process of its own, for what one registers another would meet. Forked, so that
# the imports are paid for once.
_RUNNER = """
import os, runpy, sys
import numpy, ray, rl_telemetry.instrumentation, rl_telemetry.metrics, rl_telemetry.setup
for path in sys.argv[1:]:
    if (pid := os.fork()) == 0:
        runpy.run_path(path, run_name="__main__")
        sys.stdout.flush()
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0, path
"""

_DRIVER = """
from rl_telemetry.instrumentation import iteration_scope, managed_span
from rl_telemetry.setup import init_telemetry_driver
init_telemetry_driver({"telemetry": {"enabled": True, "span_groups": "all"}}, "grpo")
for step in (6, 7):
    with iteration_scope(step), managed_span("generation", f"rl.grpo.generation_{step}"):
        pass
"""


def examples(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (DOCS / f"{page}.md").read_text(), re.M | re.S)


def run(folder: Path, sources: list[str]) -> subprocess.CompletedProcess[str]:
    paths = [folder / f"{number}.py" for number in range(len(sources))]
    for path, source in zip(paths, sources, strict=True):
        path.write_text(source)
    return subprocess.run(
        [sys.executable, "-c", _RUNNER, *map(str, paths)],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(REPO),
            "RL_TELEMETRY_EXPORTER": "file",
            "RL_TELEMETRY_FILE": f"{folder}/grpo_ray_run/telemetry/",
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(("page", "count"), [("extending", 7), ("inference-engine", 1)])
def test_the_examples_of_a_page_run(page: str, count: int, tmp_path: Path) -> None:
    found = examples(page)
    assert len(found) == count
    result = run(tmp_path, found)
    assert result.returncode == 0, result.stderr


def test_an_example_that_fails_is_noticed(tmp_path: Path) -> None:
    assert run(
        tmp_path, [*examples("extending")[:1], "from rl_telemetry import nothing"]
    ).returncode


def test_the_seconds_of_a_step_can_be_added_up(tmp_path: Path) -> None:
    (script,) = examples("looking-at-the-data")
    driver = "import atexit\n" + _DRIVER + "atexit._run_exitfuncs()\n"
    result = run(tmp_path, [driver, script])
    assert result.returncode == 0, result.stderr
    assert re.fullmatch(r" +0\.\d+ s  productive  rl\.grpo\.generation_7\n", result.stdout)
