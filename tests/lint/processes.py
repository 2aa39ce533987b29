"""Small projects on disk, and the command in them: in this process, or in one of its own."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rltel_lint.cli import main

LINT = Path(__file__).parents[2] / "lint"

TRAIN = """\
from rl_telemetry.instrumentation import managed_span
from rl_telemetry.span_groups import RLSpanGroup


def rollout():
    with managed_span(RLSpanGroup.GENERATION, "rl.rollout"):
        return 1
"""
TABLE = "| Span | What it covers |\n|---|---|\n| `rl.rollout` | a rollout |\n"
CLEAN = {
    "pyproject.toml": "[project]\nname = 'trainer'\n",
    "pkg/train.py": TRAIN,
    "docs/spans.md": TABLE,
}
"""A project without a finding."""


@dataclass(frozen=True)
class Done:
    """What a process left behind."""

    code: int
    out: str
    err: str


class Tree:
    """A project on disk.

    Args:
        root: Its folder, which is made.
        files: Its files.
    """

    def __init__(self, root: Path, files: Mapping[str, str]) -> None:
        self.root = root
        self.write(files)

    def write(self, files: Mapping[str, str]) -> None:
        """Writes files, by path."""
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def text(self, name: str) -> str:
        """Reads a file."""
        return (self.root / name).read_text(encoding="utf-8")

    def run(self, *arguments: str, folder: str = "") -> Done:
        """Runs the command in this process, which saves its start."""
        out, err = io.StringIO(), io.StringIO()
        streams = (contextlib.redirect_stdout(out), contextlib.redirect_stderr(err))
        with _working_in(self.root / folder), streams[0], streams[1]:
            code = main(arguments)
        return Done(code, out.getvalue(), err.getvalue())

    def process(self, *arguments: str, folder: str = "") -> Done:
        """Runs the command as a process of its own."""
        done = subprocess.run(
            [sys.executable, "-m", "rltel_lint", *arguments],
            cwd=self.root / folder,
            env={**os.environ, "PYTHONPATH": str(LINT)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=60,
        )
        return Done(done.returncode, done.stdout, done.stderr)


@contextlib.contextmanager
def _working_in(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
