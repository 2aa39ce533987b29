"""RLT410: wait spans in loops that poll."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rltel_lint.facts import nodes as n
from rltel_lint.findings import Finding, Place
from rltel_lint.project.model import Function, Scope
from rltel_lint.project.polling import lifetime, loop_around, only_waits, reopens
from rltel_lint.rules.base import Rule
from rltel_lint.rules.wording import shown

if TYPE_CHECKING:
    from rltel_lint.project.linked import Project
    from rltel_lint.project.spans import SpanSite


class WaitReopened(Rule):
    """A loop that polls every few milliseconds and opens its wait span inside makes hundreds of
    tiny spans a second: the exporter drops others for them, and a trace shows no wait, but dust.

    Open the span around the loop, and count the polls in an attribute if you want to know them.
    A loop counts as polling when all it does between two waits is to ask, count and log. Loops
    that work between the waits, and waits for another thing in each pass, are fine.
    """

    code = "RLT410"
    name = "wait-reopened"
    summary = "a wait span is opened anew on every pass of a polling loop"
    bad = """
        --- train.py
        import time

        from rl_telemetry.instrumentation import efficiency_span

        def next_batch(buffer):
            while not buffer.is_filled():
                with efficiency_span("idle/buffer_starvation"):  # <- RLT410
                    time.sleep(0.005)
            return buffer.take()
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.idle.buffer_starvation` | waiting for samples |
    """
    good = """
        --- train.py
        import time

        from rl_telemetry.instrumentation import efficiency_span

        def next_batch(buffer):
            with efficiency_span("idle/buffer_starvation"):
                while not buffer.is_filled():
                    time.sleep(0.005)
            return buffer.take()
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.idle.buffer_starvation` | waiting for samples |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each wait span that a polling loop opens."""
        for site in project.spans.opening():
            loop = self._loop(project, site) if _is_wait(project, site) else None
            if loop is not None:
                name = shown(sorted(site.name.templates)[0]) if site.name.templates else "…"
                yield self.finding(
                    site.place,
                    f'wait span "{name}" is opened anew on every pass of a loop that only waits; '
                    "open it once, around the loop",
                    [(loop, "the loop")],
                )

    @staticmethod
    def _loop(project: Project, site: SpanSite) -> Place | None:
        """Where the polling loop is that opens the span, in its function or in a caller."""
        function = site.at.function
        if function is None or site.at.decorates is not None:
            return None
        opened = site.at.with_ if site.at.with_ is not None else site.at.statement
        found = _polled(project, function, opened)
        if found is not None:
            return found
        if not only_waits(function, opened):
            return None
        callers = project.finder.callers(function)
        for call in callers:
            value = call.statement.value if isinstance(call.statement, n.ExprStmt) else None
            value = value.value if isinstance(value, n.Await) else value
            if value is call.call and call.function is not None:
                found = _polled(project, call.function, call.statement)
                if found is not None:
                    return found
        return None


def _polled(project: Project, function: Function, statement: n.Stmt) -> Place | None:
    around = loop_around(function, statement)
    if around is None:
        return None
    loop, here = around
    region = lifetime(loop.body, here)
    if not region or not reopens(loop, region, lambda name: _is_module(project, name, function)):
        return None
    line, column = loop.at[:2]
    head = n.ExprStmt((line, column, *loop.test.at[2:]), loop.test)
    return function.place(head)


def _is_module(project: Project, name: str, scope: Scope) -> bool:
    bindings, _ = project.resolver.lookup(name, scope)
    return bool(bindings) and all(isinstance(one.node, n.Import) for one in bindings)


def _is_wait(project: Project, site: SpanSite) -> bool:
    group = project.vocabulary.efficiency_group
    return bool(group) and site.group is not None and site.group.exact == group
