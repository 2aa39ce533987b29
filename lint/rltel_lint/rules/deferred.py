"""RLT411 and RLT412: spans around work that a generator or a coroutine does later."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rltel_lint.facts import nodes as n
from rltel_lint.findings import Finding
from rltel_lint.project.calls import CallSite
from rltel_lint.project.lazy import first_yield, kind_of, made_lazily, ways_out
from rltel_lint.project.model import Function
from rltel_lint.rules.base import Rule
from rltel_lint.rules.wording import shown

if TYPE_CHECKING:
    from rltel_lint.project.calls import CallFinder
    from rltel_lint.project.linked import Project
    from rltel_lint.project.spans import SpanSite

_ACTS = (n.Call, n.Await, n.Yield, n.Comprehension)


def _name(site: SpanSite) -> str:
    return shown(sorted(site.name.templates)[0]) if site.name.templates else "…"


class SpanEndsBeforeWork(Rule):
    """Calling a generator function or a coroutine function runs none of its body. A block that
    only returns what the call made leaves at once, so the span ends first: it lasts
    microseconds, the spans of the body are not inside it, and attributes that the body sets on
    it are lost.

    Do the work inside: `yield from rows()` or `return await fetch()`. Or open the span in the
    generator itself. A block that does something else as well may be a span of that, and is not
    reported, nor is a call of something whose kind is not known.
    """

    code = "RLT411"
    name = "span-ends-before-work"
    summary = "a span's block only makes a generator or a coroutine, which runs after the span"
    bad = """
        --- rows.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def read(path):
            with open(path) as file:
                yield from file

        def rows(path):
            with managed_span(RLSpanGroup.DATA_PROCESSING, "rl.data.rows"):
                return read(path)  # <- RLT411
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.data.rows` | reading |
    """
    good = """
        --- rows.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def read(path):
            with open(path) as file:
                yield from file

        def rows(path):
            with managed_span(RLSpanGroup.DATA_PROCESSING, "rl.data.rows"):
                return list(read(path))
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.data.rows` | reading |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each span whose block does nothing by itself."""
        for site in project.spans.opening():
            function, with_ = site.function, site.at.with_
            if site.use != "context" or function is None or with_ is None:
                continue
            if with_.items[-1].context is not site.at.call or _stays_open(site):
                continue
            made = _made_in(with_.body, _Block(function, _span_names(with_), project.finder))
            for call, target in made or ():
                kind = kind_of(target)
                article = "an" if kind[0] in "aeiou" else "a"
                remedy = "await it" if kind == "coroutine" else "loop over it"
                yield self.finding(
                    function.place(call),
                    f'span "{_name(site)}" ends before {target.label} has run, for the call only '
                    f"makes {article} {kind}; {remedy} inside the span, or open the span in "
                    f"{target.label}",
                    [(site.place, "the span")],
                )


class _Block:
    """What a span's block is looked at with."""

    def __init__(self, function: Function, spans: frozenset[str], finder: CallFinder) -> None:
        self.function = function
        self.spans = spans
        self.finder = finder

    def lazy(self, value: n.Expr, statement: n.Stmt) -> Function | None:
        """The generator or coroutine function that an expression only calls."""
        if not isinstance(value, n.Call) or any(_acts(arg) for arg in value.args):
            return None
        if isinstance(value.func, n.Attribute) and _acts(value.func.base):
            return None
        return made_lazily(CallSite(value, self.function, statement), self.finder)


Made = list[tuple[n.Call, Function]]


def _made_in(block: Iterable[n.Stmt], look: _Block) -> Made | None:
    """The calls of a block that make something lazy; ``None`` if the block does anything else."""
    found: Made = []
    for statement in block:
        inner = _made_by(statement, look)
        if inner is None:
            return None
        found += inner
    return found


def _made_by(statement: n.Stmt, look: _Block) -> Made | None:
    if isinstance(statement, (n.Return, n.Assign)) and statement.value is not None:
        value = statement.value
        target = look.lazy(value, statement)
        if target is not None and isinstance(value, n.Call):
            return [(value, target)]
        return None if _acts(value) else []
    if isinstance(statement, n.If):
        if _acts(statement.test):
            return None
        return _made_in((*statement.body, *statement.orelse), look)
    if isinstance(statement, n.ExprStmt):
        return [] if _only_tells(statement.value, look.spans) else None
    return [] if isinstance(statement, (n.Return, n.Jump, n.Assign)) else None


def _only_tells(value: n.Expr, spans: frozenset[str]) -> bool:
    """Whether a statement is a text, or says something about the span."""
    if isinstance(value, n.Const):
        return True
    if not isinstance(value, n.Call) or any(_acts(arg) for arg in value.args):
        return False
    told = [value.func.base] if isinstance(value.func, n.Attribute) else []
    told += [arg.value for arg in value.args[:1]]
    return any(isinstance(one, n.Name) and one.id in spans for one in told)


def _acts(node: n.Node) -> bool:
    return any(isinstance(part, _ACTS) for part in n.walk(node, into_functions=False))


def _span_names(with_: n.With) -> frozenset[str]:
    return frozenset(item.target.id for item in with_.items if isinstance(item.target, n.Name))


def _stays_open(site: SpanSite) -> bool:
    """Whether something else than the block may end the span."""
    return site.at.call.keyword("end_on_exit") is not None or any(
        arg.star == "**" and not isinstance(arg.value, n.Dict) for arg in site.at.call.args
    )


class GeneratorLeftOpen(Rule):
    """A `break` or a `return` in an `async for` does not close the generator: that happens when
    the garbage collector gets to it, or when the event loop ends, and in another context. Until
    then the generator's span is open, and a raw OpenTelemetry span reports *"Failed to detach
    context"* at the end.

    Close it where it is left: `async with contextlib.aclosing(rows()) as stream:` around
    `async for row in stream:`. Leaving an `async for` like this is common and harmless for
    generators without a span, and the spans of `rl_telemetry` detach by themselves; hence this
    rule is for projects that want their spans to end on time.
    """

    code = "RLT412"
    name = "generator-left-open"
    summary = "an `async for` over a traced generator is left early without closing it"
    default = False
    severity = "warning"
    bad = """
        --- rollouts.py
        from rl_telemetry.instrumentation import umbrella_trace_fn
        from rl_telemetry.span_groups import RLSpanGroup

        @umbrella_trace_fn(RLSpanGroup.U_ROLLOUT, "rl.grpo.rollout")
        async def rollouts(engine):
            while True:
                yield await engine.next()

        async def first(engine):
            async for rollout in rollouts(engine):  # <- RLT412
                if rollout.done:
                    return rollout
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.rollout` | rollouts |
    """
    good = """
        --- rollouts.py
        from contextlib import aclosing
        from rl_telemetry.instrumentation import umbrella_trace_fn
        from rl_telemetry.span_groups import RLSpanGroup

        @umbrella_trace_fn(RLSpanGroup.U_ROLLOUT, "rl.grpo.rollout")
        async def rollouts(engine):
            while True:
                yield await engine.next()

        async def first(engine):
            async with aclosing(rollouts(engine)) as stream:
                async for rollout in stream:
                    if rollout.done:
                        return rollout
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.rollout` | rollouts |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each loop that leaves a traced generator open."""
        traced: dict[Function, SpanSite] = {}
        for site in project.spans.opening():
            function = site.at.decorates or site.function
            if function is not None and kind_of(function) == "async generator":
                if site.at.decorates is not None or _spans_a_yield(site):
                    traced.setdefault(function, site)
        for function, site in traced.items():
            for call in project.finder.callers(function):
                loop = _loop_over(call)
                if loop is None or call.function is None:
                    continue
                left = next(ways_out(loop.body), None)
                if left is not None:
                    yield self.finding(
                        call.place,
                        f"{function.label} is left early and stays open, and with it span "
                        f'"{_name(site)}", until it is collected; loop over it in '
                        "async with contextlib.aclosing(...)",
                        [
                            (call.function.place(left), "left here"),
                            (site.place, "the span"),
                        ],
                    )


def _spans_a_yield(site: SpanSite) -> bool:
    if site.use not in {"context", "stream"} or site.at.with_ is None:
        return False
    return first_yield(site.at.with_.body) is not None


def _loop_over(site: CallSite) -> n.For | None:
    """The ``async for`` over what a call makes, if nothing else can close that."""
    statement, function = site.statement, site.function
    if isinstance(statement, n.For):
        return statement if statement.is_async and statement.iterable is site.call else None
    if function is None or not isinstance(statement, n.Assign) or statement.value is not site.call:
        return None
    name = statement.targets[0]
    if not isinstance(name, n.Name):
        return None
    uses = [
        (node, holder)
        for node, holder in function.statement_of.items()
        if isinstance(node, n.Name) and node.id == name.id and node is not name
    ]
    if len(uses) != 1:
        return None  # something else holds it too, or closes it
    node, holder = uses[0]
    return holder if isinstance(holder, n.For) and holder.iterable is node else None
