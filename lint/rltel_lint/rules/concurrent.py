"""RLT413: bucketed spans that are open many times at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rltel_lint.facts import nodes as n
from rltel_lint.findings import Finding, Place
from rltel_lint.project.calls import CallSite
from rltel_lint.project.model import Function
from rltel_lint.rules.base import Rule
from rltel_lint.rules.nesting import is_bucketed
from rltel_lint.rules.wording import shown

if TYPE_CHECKING:
    from rltel_lint.project.linked import Project
    from rltel_lint.project.spans import SpanSite

_STARTERS = ("create_task", "ensure_future")

Started = Iterator[tuple[CallSite, Function]]
"""Calls of coroutine functions, and what they run."""


class BucketedManyAtOnce(Rule):
    """Goodput is the sum of span durations by `rl.bucket`, which is right as long as such spans
    come one after the other. A bucketed span in a coroutine that is started once per prompt is
    open many times at once: a second of the clock counts hundreds of times.

    Use an umbrella helper and group there, which carry no bucket, and one bucketed span around
    the whole. Spans without an `await` in them cannot overlap and are fine, as is what a lock or
    a semaphore guards.
    """

    code = "RLT413"
    name = "bucketed-many-at-once"
    summary = "a bucketed span is opened by many tasks at once"
    bad = """
        --- rollouts.py
        import asyncio

        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        async def answer(prompt):
            with managed_span(RLSpanGroup.GENERATION, "rl.grpo.generation"):
                return await prompt.send()

        async def answers(prompts):
            return await asyncio.gather(*(answer(prompt) for prompt in prompts))  # <- RLT413
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.generation` | generation |
    """
    good = """
        --- rollouts.py
        import asyncio

        from rl_telemetry.instrumentation import managed_span, umbrella_span
        from rl_telemetry.span_groups import RLSpanGroup

        async def answer(prompt):
            with umbrella_span(RLSpanGroup.U_PER_PROMPT, "rl.grpo.answer"):
                return await prompt.send()

        async def answers(prompts):
            with managed_span(RLSpanGroup.GENERATION, "rl.grpo.generation"):
                return await asyncio.gather(*(answer(prompt) for prompt in prompts))
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.generation` | generation |
        | `rl.grpo.answer` | one prompt |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each such span and each place that starts the tasks."""
        overlapping = [
            site
            for site in project.spans.opening()
            if is_bucketed(project, site) and _suspends(site) and not _is_guarded(site)
        ]
        if not overlapping:
            return
        seen: set[tuple[Place, str]] = set()
        for call, function in _started(project):
            for site in project.containment.opened_in(function):
                name = shown(sorted(site.name.templates)[0]) if site.name.templates else "…"
                if site not in overlapping or (call.place, name) in seen or _locks(function):
                    continue
                seen.add((call.place, name))
                yield self.finding(
                    call.place,
                    f'many tasks at once open bucketed span "{name}", so that the same seconds '
                    "count many times; make it an umbrella",
                    [(site.place, "the span")],
                )


def _started(project: Project) -> Started:
    """Yields the calls of coroutine functions of which many run at once."""
    for site in project.finder.named(["gather"]):
        for arg in site.call.args:
            if arg.star == "*":
                yield from _elements(project, site, arg.value)
    for site in project.finder.named(_STARTERS):
        started = site.call.positional(0)
        if isinstance(started, n.Call) and _repeats(site):
            yield from _run(project, CallSite(started, site.scope, site.statement))


def _elements(project: Project, site: CallSite, value: n.Expr) -> Started:
    """The calls that a comprehension makes, also one that a variable holds."""
    statement = site.statement
    if isinstance(value, n.Name) and site.function is not None:
        bindings = site.function.bindings_of(value.id)
        held = bindings[0] if len(bindings) == 1 else None
        if held is None or held.value is None or not isinstance(held.node, n.Stmt):
            return
        value, statement = held.value, held.node
    if isinstance(value, n.Comprehension) and isinstance(value.element, n.Call):
        yield from _run(project, CallSite(value.element, site.scope, statement))


def _run(project: Project, call: CallSite) -> Started:
    called = list(project.finder.called(call))
    if len(called) == 1 and isinstance(called[0], Function) and called[0].node.is_async:
        yield call, called[0]


def _repeats(site: CallSite) -> bool:
    """Whether a call that starts a task starts the next one before that has ended."""
    for node in n.own_nodes(site.statement):
        if isinstance(node, n.Comprehension) and any(x is site.call for x in n.walk(node.element)):
            return True
    function = site.function
    path = function.paths.get(site.statement, ()) if function is not None else ()
    loops = [block[index] for block, index in path if isinstance(block[index], (n.For, n.While))]
    if not loops:
        return False
    names = {
        target.id for target in getattr(site.statement, "targets", ()) if isinstance(target, n.Name)
    }
    awaited = {
        inner.id
        for node in n.walk(loops[-1], into_functions=False)
        if isinstance(node, n.Await)
        for inner in n.walk(node.value)
        if isinstance(inner, n.Name)
    }
    inside = any(
        isinstance(node, n.Await) and any(x is site.call for x in n.walk(node))
        for node in n.own_nodes(site.statement)
    )
    return not inside and names.isdisjoint(awaited)


def _suspends(site: SpanSite) -> bool:
    """Whether others may run while the span is open, and open it too."""
    body: tuple[n.Stmt, ...] = ()
    if site.at.with_ is not None and site.use == "context":
        body = site.at.with_.body
    elif site.at.decorates is not None and site.at.decorates.node.is_async:
        body = site.at.decorates.node.body
    return any(
        isinstance(node, n.Await) or (isinstance(node, (n.For, n.With)) and node.is_async)
        for statement in body
        for node in n.walk(statement, into_functions=False)
    )


def _is_guarded(site: SpanSite) -> bool:
    """Whether an ``async with`` around the span may let in one at a time."""
    function, with_ = site.at.function, site.at.with_
    if function is None or with_ is None:
        return False
    around = [block[index] for block, index in function.paths.get(with_, ())]
    return any(isinstance(one, n.With) and one.is_async for one in (*around, with_))


def _locks(function: Function) -> bool:
    """Whether a function enters a lock or a semaphore."""
    return any(isinstance(statement, n.With) and statement.is_async for statement in function.paths)
