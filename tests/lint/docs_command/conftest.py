"""The command as a process, as the tests of fixes run it."""

from __future__ import annotations

from tests.lint.fixes.conftest import command, environment, git, program, write

__all__ = ["command", "environment", "git", "program", "write"]
