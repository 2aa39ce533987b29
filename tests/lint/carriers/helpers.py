"""A worker module and a runner of the carrier rules: what the tests of carriers share."""

from __future__ import annotations

import textwrap

from rltel_lint.findings import Finding
from rltel_lint.rules.carriers import (
    AcceptingNeverDispatched,
    BuiltWithoutCarrier,
    CarrierNotAccepted,
    DispatchedWithoutCarrier,
    UnwiredRemoteSpan,
)
from tests.lint.support import lint

RULES = (
    DispatchedWithoutCarrier,
    CarrierNotAccepted,
    AcceptingNeverDispatched,
    UnwiredRemoteSpan,
    BuiltWithoutCarrier,
)
IMPORTS = """
import functools
import ray
from rl_telemetry.instrumentation import (
    accepts_trace_context,
    current_trace_carrier,
    dispatch_with_trace_context,
    managed_span,
    remote_trace_context,
    trace_context_kwargs,
    umbrella_span,
)
from rl_telemetry.span_groups import RLSpanGroup
"""
WORKER = (
    IMPORTS
    + """
@ray.remote
class Worker:
    @accepts_trace_context
    def step(self, batch=None):
        return batch
"""
)
CARRIER = "**trace_context_kwargs()"


def check(files: dict[str, str]) -> list[Finding]:
    """Runs the carrier rules."""
    return lint(files, *RULES)


def codes(files: dict[str, str]) -> list[str]:
    """Returns the codes of the findings, in report order."""
    return [finding.code for finding in check(files)]


def loop(body: str) -> dict[str, str]:
    """Returns a project with the accepting ``Worker`` and a module that uses it."""
    code = "from workers import *\n" + IMPORTS + "from workers import Worker\n"
    return {"workers.py": WORKER, "loop.py": code + textwrap.dedent(body)}
