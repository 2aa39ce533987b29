"""The command as a process: started as a user does, or quickly, in a fork of the test run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lint.shell.conftest import command as program
from tests.lint.shell.conftest import environment, git, write

__all__ = ["command", "environment", "git", "program", "write"]


@pytest.fixture
def command(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Runs the command in a process that has all modules already."""
    import rltel_lint.engine
    import rltel_lint.fixes.python
    import rltel_lint.generate.command  # noqa: F401
    from rltel_lint.cli import main

    def run(*arguments: str) -> subprocess.CompletedProcess[bytes]:
        outputs = [tmp_path / "stdout", tmp_path / "stderr"]
        child = os.fork()
        if child == 0:
            code = 99
            try:
                for number, path in enumerate(outputs, 1):
                    os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
                sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
                sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
                code = main(arguments)
                sys.stdout.flush()
                sys.stderr.flush()
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        stdout, stderr = (path.read_bytes() for path in outputs)
        code = os.waitstatus_to_exitcode(status)
        return subprocess.CompletedProcess(list(arguments), code, stdout, stderr)

    return run
