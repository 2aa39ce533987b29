"""Projects that are read in parallel: the example with drifts, and a synthetic one of 60 files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.lint.fixes.test_example import ALGORITHMS, PAGE, example, planted
from tests.lint.processes import LINT, Done, Tree

_PYPROJECT = '[project]\nname = "trainer"\nversion = "1"\n'
_MODULE = '''\
"""Phase {number} of a trainer."""
from rl_telemetry.instrumentation import managed_span, trace_fn
from rl_telemetry.ray_context import trace_context_kwargs
from rl_telemetry.span_groups import RLSpanGroup
from pkg.part{before}.phase{before} import NAME as EARLIER
import ray

NAME = "rl.phase{number}.{{}}"


@ray.remote
class Worker{number}:
    def __init__(self, steps):
        self.steps = steps

    def train(self, batch{accepts}):
        with managed_span(RLSpanGroup.GENERATION, "rl.phase{number}.train"):
            return [batch for _ in range(self.steps)]


class Phase{number}:
    @trace_fn(RLSpanGroup.STEP, "rl.phase{number}.run")
    def run(self, worker, batch):
        self.logger.log_metrics({{"phase{number}/loss": 1.0}}, step=1)
        return ray.get(worker.train.remote(batch, **trace_context_kwargs()))


def own(kind):
    return managed_span(RLSpanGroup.GENERATION, NAME.format(kind))


def use():
    with own("a"), own(EARLIER):
        return Worker{number}.remote(3)
'''
_NEWER = """\
type Ids = list[int]


def late():
    with managed_span(RLSpanGroup.GENERATION, f"rl.{"late"}.part"):
        return 1
"""
"""Syntax of Python 3.12; older ones read it with libcst."""

_ODD = {
    "pkg/windows.py": _MODULE.format(number=90, before=0, accepts="").replace("\n", "\r\n"),
    "pkg/wide.py": "é = 'ü'\n" + _MODULE.format(number=91, before=1, accepts=""),
    "pkg/broken.py": "def f(:\n",
    "pkg/late.py": "def f():\n    pass\nreturn 1\n",
    "pkg/newer.py": _MODULE.format(number=92, before=2, accepts="") + _NEWER,
    "pkg/empty.py": "",
    "docs/plain.md": "Nothing in here is a table.\n",
    "docs/more.rst": "Spans\n=====\n\nSee ``rl.phase3.trained`` and `x`.\n",
}


def synthetic(modules: int = 45) -> dict[str, str]:
    """A project with findings of several kinds, and with files that are hard to read."""
    files = {"pyproject.toml": _PYPROJECT, "pkg/__init__.py": "", **_ODD}
    for number in range(modules):
        folder = f"pkg/part{number}"
        accepts = ", _otel_carrier=None" if number % 3 else ""
        files[f"{folder}/phase{number}.py"] = _MODULE.format(
            number=number, before=max(number - 1, 0), accepts=accepts
        )
        if number % 5 == 0:
            name = f"rl.phase{number}.train" + ("s" if number % 10 else "")
            files[f"docs/phase{number}.md"] = (
                f"# Spans of phase {number}\n\n| Span | What it covers |\n|---|---|\n"
                f"| `{name}` | training |\n| `rl.phase{number}.run` | all |\n"
            )
    return files


def drifted_example() -> dict[str, str]:
    """The example project and its documents, with two drifts."""
    files = {"pyproject.toml": _PYPROJECT, **example()}
    planted(files, ALGORITHMS, ", **trace_context_kwargs()", "")
    planted(files, PAGE, "| `rl.idle.refit_event_wait` |", "| `rl.idle.refit_event_waits` |")
    return files


def report(tree: Tree, *options: str) -> str:
    """Checks a project; returns the JSON report, which must have findings."""
    done = tree.run("check", "--format", "json", *options)
    assert done.code == 1, done.err
    assert "Traceback" not in done.err
    return done.out


def cache_of(folder: Path) -> dict[str, Any]:
    """The content of every file of a cache folder, by name."""
    return {path.name: json.loads(path.read_bytes()) for path in folder.glob("*.json")}


def run_with(
    tree: Tree, prelude: str, *options: str, environment: Mapping[str, str] | None = None
) -> Done:
    """Checks a project in a process that runs some lines first."""
    script = f"{prelude}\nimport sys\nfrom rltel_lint.cli import main\nsys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", script, "check", "--format", "json", *options],
        cwd=tree.root,
        env={**os.environ, "PYTHONPATH": str(LINT), **(environment or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    return Done(done.returncode, done.stdout, done.stderr)
