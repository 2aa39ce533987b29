"""RLT811: HTTP sessions are made after they are instrumented."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rltel_lint.findings import Finding
from rltel_lint.project.sessions import Sessions
from rltel_lint.rules.base import Rule

if TYPE_CHECKING:
    from rltel_lint.project.linked import Project


class SessionBeforeInstrument(Rule):
    """The instrumentation of aiohttp patches the constructor of `ClientSession`. A session that
    was made before has no trace hooks: its requests carry no trace header, their spans are
    missing, and the servers behind them start traces of their own.

    Instrument first, then make the session. Looked at is the order within one function, with the
    functions that it calls for a session. A session that is closed again before is fine.
    """

    code = "RLT811"
    name = "session-before-instrument"
    summary = "an HTTP session is made before sessions are instrumented, so it is not traced"
    severity = "warning"
    bad = """
        --- judge.py
        import aiohttp
        from rl_telemetry.contrib.aiohttp import instrument_aiohttp_client

        class Judge:
            async def start(self):
                self.session = aiohttp.ClientSession()  # <- RLT811
                instrument_aiohttp_client()
    """
    good = """
        --- judge.py
        import aiohttp
        from rl_telemetry.contrib.aiohttp import instrument_aiohttp_client

        class Judge:
            async def start(self):
                instrument_aiohttp_client()
                self.session = aiohttp.ClientSession()
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each session that is made too early."""
        lifecycle = project.vocabulary.lifecycle
        if not lifecycle.instrumentors or not lifecycle.sessions:
            return
        facts = Sessions(lifecycle, project.lifecycle.flow, project.finder, project.span_finder)
        for early in facts.early():
            related = [(early.instrumented.place, "instrumented here")]
            if early.made is not None:
                related.append((early.made.place, "the session"))
            yield self.finding(
                early.at.place,
                "this session is made before sessions are instrumented, so its requests are not "
                "traced and carry no trace; instrument first",
                related,
            )
