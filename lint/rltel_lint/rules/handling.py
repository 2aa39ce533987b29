"""RLT407, RLT409, RLT801 and RLT807: what code does with the spans that it holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rltel_lint.facts import nodes as n
from rltel_lint.findings import Finding
from rltel_lint.project.calls import CallSite
from rltel_lint.project.handles import IsGate, Reads, ends, escapes, leaks, unguarded_use
from rltel_lint.project.model import Function, Module
from rltel_lint.project.spans import is_context_manager
from rltel_lint.rules.base import Rule
from rltel_lint.rules.offers import guard_none
from rltel_lint.rules.wording import shown

if TYPE_CHECKING:
    from rltel_lint.project.linked import Project
    from rltel_lint.project.spans import SpanSite

_SETS = {"set_attribute", "set_attributes", "add_event", "record_exception", "set_status"}
_TRANSPARENT = {
    *("staticmethod", "classmethod", "override", "final", "abstractmethod", "method", "remote"),
    *("accepts_trace_context", "traced_remote_call"),
}


def _name(site: SpanSite) -> str:
    return shown(sorted(site.name.templates)[0]) if site.name.templates else "…"


def _bound_at(site: SpanSite) -> str:
    """The local name that a ``with`` or an assignment gives the span; empty without one."""
    if site.use == "context" and site.at.with_ is not None:
        for item in site.at.with_.items:
            if site.at.call in set(n.walk(item.context)) and isinstance(item.target, n.Name):
                return item.target.id
    statement = site.at.statement
    if site.use == "start" and isinstance(statement, n.Assign) and len(statement.targets) == 1:
        target, value = statement.targets[0], statement.value
        while isinstance(value, n.Await):
            value = value.value
        if value is site.at.call and isinstance(target, n.Name):
            return target.id
    return ""


class SpanNotEnded(Rule):
    """A span that is started by hand (`start_efficiency_span`, `tracer.start_span`) is exported
    when it is ended, and only then. On a way out of the function that does not end it, the span
    is lost; in a loop, each turn loses one.

    End it in a `finally`, or use a `with`. A span that is returned, stored on an object or handed
    to another function is that one's to end and is not judged. Nor is an exception that nobody
    in the function catches.
    """

    code = "RLT407"
    name = "span-not-ended"
    summary = "a span started by hand is not ended on some way out"
    bad = """
        --- waits.py
        from rl_telemetry.instrumentation import start_efficiency_span

        def wait(buffer):
            idle = start_efficiency_span("idle/buffer_starvation")  # <- RLT407
            while not buffer.ready():
                if buffer.closed:
                    return None
            if idle is not None:
                idle.end()
            return buffer.take()
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.idle.buffer_starvation` | waiting for rollouts |
    """
    good = """
        --- waits.py
        from rl_telemetry.instrumentation import start_efficiency_span

        def wait(buffer):
            idle = start_efficiency_span("idle/buffer_starvation")
            try:
                while not buffer.ready():
                    if buffer.closed:
                        return None
            finally:
                if idle is not None:
                    idle.end()
            return buffer.take()
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.idle.buffer_starvation` | waiting for rollouts |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields one finding for each such span, with all ways out."""
        for site in project.spans.opening():
            function = site.function
            if site.use != "start":
                continue
            if isinstance(site.at.statement, n.ExprStmt):
                if site.at.statement.value is site.at.call:
                    yield self.finding(
                        site.place,
                        f'span "{_name(site)}" is started and dropped, so it is never ended; '
                        "keep it and end it in a finally",
                    )
                continue
            name = _bound_at(site)
            if function is None:
                if name and _never_ended(project, name, site):
                    yield self.finding(
                        site.place,
                        f'span "{_name(site)}" is never ended, so it is never exported; end {name} '
                        "in a finally",
                    )
                continue
            if not name or escapes(name, function, _reader(project, function)):
                continue
            ways = leaks(name, site.at.statement, function)
            if not ways:
                continue
            first = ways[0]
            where = "" if first.what == "anywhere" else f" {first.what}"
            verb = "is never ended" if not where else "is not ended"
            yield self.finding(
                site.place,
                f'span "{_name(site)}" {verb}{where}, so it is never exported; end {name} in a '
                "finally",
                [
                    (function.place(way.at), f"left {way.what}")
                    for way in ways
                    if way.at is not site.at.statement and not isinstance(way.at, n.FunctionDef)
                ],
            )


def _never_ended(project: Project, name: str, site: SpanSite) -> bool:
    """Whether a module holds a span and does no more than to set something on it."""
    if not isinstance(site.at.scope, Module):
        return False
    for use in project.uses.everywhere(name, site.at.scope):
        if project.uses.is_target(use.node, use.statement):
            continue
        holder = project.uses.parent(use.node, use.statement)
        if not isinstance(holder, n.Attribute) or holder.attr not in _SETS:
            return False
    return True


def _reader(project: Project, scope: Function) -> Reads:
    """Tells which calls of a function hand a span to a function that only reads it."""

    def only_reads(call: n.Call, arg: n.Arg) -> bool:
        at = CallSite(call, scope, scope.statement_of.get(call, scope.node))
        targets = project.finder.targets(at)
        if not targets or arg.star or not isinstance(arg.value, n.Name):
            return False
        for target in targets:
            given = project.finder.bound(at, target)
            names = [name for name, passed in given.items() if passed.expr is arg.value]
            if len(names) != 1 or ends(names[0], target) or target is scope:
                return False
            if escapes(names[0], target, lambda _call, _arg: False):
                return False
        return True

    return only_reads


class DecoratorNotSupported(Rule):
    """A span decorator that only knows plain functions ends the span when the coroutine or the
    generator is made, before any of its body has run: the span lasts microseconds, and the spans
    of the body are not inside it.

    Open the span in the body with a `with`, or use a decorator that knows the kind. Those of
    `rl_telemetry` know all four. A project's own decorator is read: one that never looks at
    `inspect.iscoroutinefunction` and returns a plain wrapper is for plain functions.
    """

    code = "RLT409"
    name = "decorator-not-supported"
    summary = "a span decorator does not support coroutines or generators, but decorates one"
    bad = """
        --- fetch.py
        import functools
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def traced(name):
            def decorate(function):
                @functools.wraps(function)
                def wrapper(*args, **kwargs):
                    with managed_span(RLSpanGroup.GENERATION, name):
                        return function(*args, **kwargs)
                return wrapper
            return decorate

        @traced("rl.grpo.generation")  # <- RLT409
        async def generate(engine):
            return await engine.run()
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.generation` | generation |
    """
    good = """
        --- fetch.py
        from rl_telemetry.instrumentation import trace_fn
        from rl_telemetry.span_groups import RLSpanGroup

        @trace_fn(RLSpanGroup.GENERATION, "rl.grpo.generation")
        async def generate(engine):
            return await engine.run()
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.generation` | generation |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each decorated callable of a kind that is not supported."""
        for site in project.spans.opening():
            function = site.at.decorates
            if function is None or _converted(function, site):
                continue
            kind = _kind(function)
            supported = _supported(site)
            if kind == "function" or not supported or kind in supported:
                continue
            called = site.at.call.func
            decorator = (n.dotted(called) or "the decorator").rpartition(".")[2]
            yield self.finding(
                site.place,
                f'{decorator} ends span "{_name(site)}" before {function.label} runs, since it '
                f"does not support {_a(kind)}; open the span inside it",
                [(function.place(n.Name(function.node.name_at, "")), _a(kind))],
            )


def _a(kind: str) -> str:
    return f"{'an' if kind[0] == 'a' else 'a'} {kind}"


def _kind(function: Function) -> str:
    if function.node.is_generator:
        return "async generator" if function.node.is_async else "generator"
    return "coroutine" if function.node.is_async else "function"


def _converted(function: Function, site: SpanSite) -> bool:
    """Whether a decorator below ours may make something else of the function."""
    decorators = function.node.decorators
    if site.at.call not in decorators:
        return True
    for decorator in decorators[decorators.index(site.at.call) + 1 :]:
        func = decorator.func if isinstance(decorator, n.Call) else decorator
        if (n.dotted(func) or "").rpartition(".")[2] not in _TRANSPARENT:
            return True
    return False


def _supported(site: SpanSite) -> tuple[str, ...]:
    """The kinds of callables that a decorator supports; empty when that is not known."""
    if not site.via:
        return site.helper.supports
    own = site.via[0]
    lines = own.module.facts.excerpt(own.node.at[0], own.node.at[2])
    text = "\n".join(lines)
    if site.helper.use == "decorator":
        return site.helper.supports
    if any(word in text for word in ("iscoroutine", "isasyncgen", "isgenerator", "isawaitable")):
        return ()
    wrappers = [s for s in own.paths if isinstance(s, n.FunctionDef)]
    while wrappers:
        wrapper = wrappers.pop()
        if wrapper.is_async or wrapper.is_generator:
            return ()
        nested = [s for s in wrapper.body if isinstance(s, n.FunctionDef)]
        if not nested and _returns_call(wrapper):
            return ("function",)
        wrappers += nested
    return ()


def _returns_call(wrapper: n.FunctionDef) -> bool:
    """Whether a wrapper returns what the wrapped function returned, inside a ``with``."""
    return any(
        isinstance(node, n.Return) and isinstance(node.value, n.Call)
        for statement in wrapper.body
        if isinstance(statement, n.With)
        for node in n.walk(statement)
    )


class SpanMayBeNone(Rule):
    """The span helpers yield `None` when the span's group is off: that is what makes a site that
    is off cost nothing. An attribute set without a test then fails with *'NoneType' object has no
    attribute 'set_attribute'*, and only in runs with that group off.

    Use `safe_set_span_attributes(span, {...})`, pass the attributes to the helper, or test the
    span first. Raw OpenTelemetry spans and `span_cm` are never `None`.
    """

    code = "RLT801"
    name = "span-may-be-none"
    summary = "an attribute of a span is used although the span can be None"
    bad = """
        --- train.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def reward(batch):
            with managed_span(RLSpanGroup.REWARD, "rl.grpo.reward") as span:
                span.record_exception(ValueError(batch))  # <- RLT801
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.reward` | scoring |
    """
    good = """
        --- train.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def reward(batch):
            with managed_span(RLSpanGroup.REWARD, "rl.grpo.reward") as span:
                if span is not None:
                    span.record_exception(ValueError(batch))
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.reward` | scoring |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for the first such use of each span."""
        gates = {gate.name for gate in project.vocabulary.gates}

        def is_gate(test: n.Expr) -> bool:
            return any(_asks(node, gates) for node in n.walk(test))

        for site in (*project.spans.sites, *project.spans.inner):
            function = site.function
            if not site.helper.optional or function is None or not _hands_on_none(site):
                continue
            name = _bound_at(site)
            if not name or _under_gate(site, function, is_gate):
                continue
            block = _block(site, function)
            use = unguarded_use(name, block, is_gate)
            if use is not None:
                yield self.finding(
                    function.place(use),
                    f'{name}.{use.attr} is used although span "{_name(site)}" is None while its '
                    "group is off; test it, or use safe_set_span_attributes()",
                    [(site.place, "the span")],
                    guard_none(function, use),
                )


def _asks(node: n.Node, gates: set[str]) -> bool:
    word = node.attr if isinstance(node, n.Attribute) else getattr(node, "id", "")
    return word in gates or any(
        part in word.lower() for part in ("enabled", "telemetry", "tracing")
    )


def _under_gate(site: SpanSite, function: Function, is_gate: IsGate) -> bool:
    path = function.paths.get(site.at.statement, ())
    return any(
        isinstance(outer := block[index], n.If) and is_gate(outer.test)
        for block, index in path[:-1]
    )


def _block(site: SpanSite, function: Function) -> tuple[n.Stmt, ...]:
    if site.at.with_ is not None and site.use == "context":
        return site.at.with_.body
    path = function.paths.get(site.at.statement, ())
    found: tuple[n.Stmt, ...] = ()
    for block, index in reversed(path):
        found += block[index + 1 :]
    return found


def _hands_on_none(site: SpanSite) -> bool:
    """Whether the project's own helpers on the way hand on the span as they got it."""
    for function in site.via:
        yields = _yields(function)
        if not all(isinstance(one.value, n.Name) for one in yields):
            return False
        if not is_context_manager(function) and yields:
            return False
    return True


def _yields(function: Function) -> list[n.Yield]:
    return [
        node
        for statement in function.paths
        for node in n.own_nodes(statement)
        if isinstance(node, n.Yield)
    ]


class HelperYieldsNoSpan(Rule):
    """A context manager around a span helper that ends in a bare `yield` gives its caller
    `None` in every run. What the caller then sets on the span is never set.

    Yield the span: `with managed_span(...) as span: yield span`. A helper whose callers do not
    ask for the span is fine.
    """

    code = "RLT807"
    name = "helper-yields-no-span"
    summary = "a context-manager helper yields no span, but a caller uses one"
    bad = """
        --- phases.py
        from contextlib import contextmanager
        from rl_telemetry.instrumentation import managed_span, safe_set_span_attributes
        from rl_telemetry.span_groups import RLSpanGroup

        @contextmanager
        def phase(name):  # <- RLT807
            with managed_span(RLSpanGroup.REWARD, f"rl.grpo.{name}"):
                yield

        def score(batch):
            with phase("reward") as span:
                safe_set_span_attributes(span, {})
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.reward` | scoring |
    """
    good = """
        --- phases.py
        from contextlib import contextmanager
        from rl_telemetry.instrumentation import managed_span, safe_set_span_attributes
        from rl_telemetry.span_groups import RLSpanGroup

        @contextmanager
        def phase(name):
            with managed_span(RLSpanGroup.REWARD, f"rl.grpo.{name}") as span:
                yield span

        def score(batch):
            with phase("reward") as span:
                safe_set_span_attributes(span, {})
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.reward` | scoring |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each helper whose callers get nothing."""
        users: dict[Function, list[SpanSite]] = {}
        for site in (*project.spans.sites, *project.spans.inner):
            if site.via and site.use == "context" and _reads_span(site):
                users.setdefault(site.via[0], []).append(site)
        for function in project.spans.helpers:
            if function not in users or not is_context_manager(function):
                continue
            yields = _yields(function)
            if not yields or not all(_is_nothing(one) for one in yields):
                continue
            at = n.Name(function.node.name_at, function.name)
            yield self.finding(
                function.place(at),
                f"{function.label} yields no span, but a caller uses one, which is None in "
                "every run; yield the span",
                [(site.place, "used here") for site in users[function]],
            )


def _reads_span(site: SpanSite) -> bool:
    name = _bound_at(site)
    with_ = site.at.with_
    if not name or with_ is None:
        return False
    return any(
        isinstance(node, n.Name) and node.id == name
        for statement in with_.body
        for node in n.walk(statement)
    )


def _is_nothing(one: n.Yield) -> bool:
    return one.value is None or (isinstance(one.value, n.Const) and one.value.value is None)
