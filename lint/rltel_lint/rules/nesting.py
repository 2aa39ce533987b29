"""Spans within spans, and spans across a yield."""

from __future__ import annotations

from collections.abc import Iterator

from rltel_lint.facts import nodes as n
from rltel_lint.findings import Finding, Place
from rltel_lint.project.calls import CallSite
from rltel_lint.project.lazy import first_yield
from rltel_lint.project.linked import Project
from rltel_lint.project.model import Function
from rltel_lint.project.spans import SpanSite, call_means, is_context_manager
from rltel_lint.rules.base import Rule
from rltel_lint.rules.offers import activate_stream
from rltel_lint.rules.wording import shown


class CountedTwice(Rule):
    """Goodput is the sum of span durations by `rl.bucket`. A bucketed span inside another
    bucketed span, or inside an efficiency wait, is summed with it: the same seconds count twice.

    Make the outer span an umbrella, or end it before the inner one starts; wrap only the wait in
    an efficiency span. Calls into functions of the project are followed a few levels deep.
    """

    code = "RLT404"
    name = "counted-twice"
    summary = "a bucketed span runs inside a bucketed span or an efficiency wait"
    bad = """
        --- train.py
        from rl_telemetry.instrumentation import efficiency_span, managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def refit(policy):
            with efficiency_span("idle/refit_bubble"):
                with managed_span(RLSpanGroup.CHECKPOINT, "rl.grpo.checkpointing"):  # <- RLT404
                    policy.save()
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.idle.refit_bubble` | waiting for new weights |
        | `rl.grpo.checkpointing` | writing a checkpoint |
    """
    good = """
        --- train.py
        from rl_telemetry.instrumentation import efficiency_span, managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def refit(policy, ready):
            with efficiency_span("idle/refit_bubble"):
                ready.wait()
            with managed_span(RLSpanGroup.CHECKPOINT, "rl.grpo.checkpointing"):
                policy.save()
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.idle.refit_bubble` | waiting for new weights |
        | `rl.grpo.checkpointing` | writing a checkpoint |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each bucketed span inside another one."""
        for outer in project.spans.opening():
            if outer.use not in {"context", "decorator"} or not is_bucketed(project, outer):
                continue
            reported: set[Place] = set()
            for inside in project.containment.inside(outer):
                if not is_bucketed(project, inside.site):
                    continue
                place = inside.call.place if inside.call is not None else inside.site.place
                if place in reported:
                    continue
                reported.add(place)
                related = [(outer.place, "the outer span")]
                if inside.call is not None:
                    related.append((inside.site.place, "the inner span, reached from here"))
                yield self.finding(
                    place,
                    f'bucketed span "{_name(inside.site)}" runs inside bucketed span '
                    f'"{_name(outer)}", so its time is counted twice; end the outer span first '
                    "or make it an umbrella",
                    related,
                )


class AttachedAcrossYield(Rule):
    """A generator that is suspended inside an attached context leaves that context to whoever
    runs next: their spans land under the wrong parent, and when the stream is cancelled or
    closed elsewhere OpenTelemetry logs *Failed to detach context*.

    Use `streaming_umbrella_span` and wrap each step, use the decorator `trace_fn`, which attaches
    per step, or end the block before the `yield`. Generators that are context managers are fine.
    """

    code = "RLT405"
    name = "attached-across-yield"
    summary = "a context stays attached across a yield"
    bad = """
        --- rollouts.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        async def rollouts(prompts):
            with managed_span(RLSpanGroup.GENERATION, "rl.grpo.generation"):  # <- RLT405
                for prompt in prompts:
                    yield prompt
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.generation` | generation |
    """
    good = """
        --- rollouts.py
        from rl_telemetry.instrumentation import streaming_umbrella_span
        from rl_telemetry.span_groups import RLSpanGroup

        async def rollouts(prompts):
            with streaming_umbrella_span(RLSpanGroup.U_ROLLOUT, "rl.grpo.rollout") as activate:
                for prompt in prompts:
                    with activate():
                        result = prompt.run()
                    yield result
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.rollout` | collecting rollouts |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each attaching block with a yield in it."""
        sites = (*project.spans.sites, *project.spans.inner)
        attaching: list[tuple[CallSite, str, SpanSite | None]] = [
            (site.at, f'span "{_name(site)}"', site) for site in sites if _attaches(site)
        ]
        known = project.vocabulary.attachers
        for call in project.finder.named([attacher.words for attacher in known]):
            if project.span_finder.implements(f"{call.scope.module.name}."):
                continue
            if call_means(call, known, project.resolver) is not None:
                attaching.append((call, "the attached context", None))
        for call, what, opened in attaching:
            function = call.function
            if function is None or not function.node.is_generator or is_context_manager(function):
                continue
            if _fixture(function):
                continue
            stop = _yield_in(function, call)
            if stop is not None:
                yield self.finding(
                    call.place,
                    f"{what} stays attached while {function.label} is suspended at a yield; "
                    "use streaming_umbrella_span and activate it around each step",
                    [(function.place(stop), "suspended here")],
                    activate_stream(project, opened) if opened is not None else None,
                )


def _name(site: SpanSite) -> str:
    return shown(sorted(site.name.templates)[0]) if site.name.templates else "…"


def _attaches(site: SpanSite) -> bool:
    return site.use == "context"


def _fixture(function: Function) -> bool:
    def dotted(expr: n.Expr) -> str:
        return n.dotted(expr.func if isinstance(expr, n.Call) else expr) or ""

    return any(dotted(d).rpartition(".")[2] == "fixture" for d in function.node.decorators)


def _yield_in(function: Function, call: CallSite) -> n.Yield | None:
    """The first yield that is reached with the context of this call attached."""
    if call.with_ is not None:
        return first_yield(call.with_.body)
    statement = call.statement
    if isinstance(statement, n.Assign) and isinstance(statement.value, n.Call):
        return _yield_before_detach(function, statement)
    return None


def _yield_before_detach(function: Function, statement: n.Assign) -> n.Yield | None:
    """For ``token = attach(...)``: a yield between it and the ``detach`` that ends it."""
    call = statement.value
    if not isinstance(statement.targets[0], n.Name) or not isinstance(call, n.Call):
        return None
    if not (n.dotted(call.func) or "").endswith("attach"):
        return None
    ordered = sorted(
        (
            node
            for inner in function.paths
            for node in n.own_nodes(inner)
            if isinstance(node, (n.Yield, n.Call)) and node.at > statement.at
        ),
        key=lambda node: node.at,
    )
    for node in ordered:
        if isinstance(node, n.Yield):
            return node
        if (n.dotted(node.func) or "").endswith("detach"):
            return None
    return None


def is_bucketed(project: Project, site: SpanSite) -> bool:
    """Whether a site's span certainly carries ``rl.bucket``."""
    if site.at.call.keyword("rl.bucket") is not None:
        return True
    name, group = site.name.exact, site.group.exact if site.group is not None else None
    if site.helper.kind == "fixed" or group is None:
        return False
    if group == project.vocabulary.efficiency_group and name is not None:
        waits = {f"rl.{category.replace('/', '.')}" for category in project.unbucketed_categories}
        return name not in waits
    groups = project.groups
    return bool(groups.umbrellas) and group in groups.names and group not in groups.umbrellas
