"""RLT308: the context of the caller is read and then used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rltel_lint.findings import Finding
from rltel_lint.project.extracts import Extracts
from rltel_lint.rules.base import Rule

if TYPE_CHECKING:
    from rltel_lint.project.linked import Project


class ContextNeverUsed(Rule):
    """The receiving side reads the caller's context from the carrier or the headers, and does
    nothing with it. The spans that it opens then start traces of their own: every request is a
    trace of one process, although both sides look wired.

    Pass it on (`tracer.start_as_current_span(name, context=parent)`), attach it
    (`token = context.attach(parent)`), or use `with remote_trace_context(carrier):`. A context
    that is returned, stored or handed to another function is used. One that is put into `_` is
    dropped on purpose.
    """

    code = "RLT308"
    name = "context-never-used"
    summary = "the caller's context is extracted and never used"
    bad = """
        --- server.py
        from opentelemetry import propagate
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def serve(request):
            parent = propagate.extract(request.headers)  # <- RLT308
            with managed_span(RLSpanGroup.REWARD, "rl.judge.reward"):
                return request.run()
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.judge.reward` | scoring |
    """
    good = """
        --- server.py
        from opentelemetry import context, propagate
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def serve(request):
            token = context.attach(propagate.extract(request.headers))
            try:
                with managed_span(RLSpanGroup.REWARD, "rl.judge.reward"):
                    return request.run()
            finally:
                context.detach(token)
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.judge.reward` | scoring |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each context that is read in vain."""
        facts = Extracts(
            project.vocabulary,
            project.lifecycle.flow,
            project.finder,
            project.span_finder,
            project.uses,
        )
        for unused in facts.unused():
            held = f'is held in "{unused.name}" and never used' if unused.name else "is dropped"
            yield self.finding(
                unused.at.place,
                f"the caller's context that {unused.callee} returns {held}, so spans here start "
                "traces of their own; attach it, or pass it as context=",
            )
