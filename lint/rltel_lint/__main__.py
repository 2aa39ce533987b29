"""Runs the command as ``python -m rltel_lint``."""

from rltel_lint.cli import run

run()
