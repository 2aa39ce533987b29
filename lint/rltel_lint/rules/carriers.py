"""RLT301 to RLT305: the trace is carried into other processes, and both halves agree on it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rltel_lint.facts import nodes as n
from rltel_lint.findings import Finding
from rltel_lint.project.accepting import Method
from rltel_lint.project.carriers import CarrierFacts, Construction
from rltel_lint.project.dispatch import Dispatch
from rltel_lint.rules.base import Rule
from rltel_lint.rules.offers import accept_carrier, send_carrier
from rltel_lint.values import display

if TYPE_CHECKING:
    from rltel_lint.changes import Fix
    from rltel_lint.project.linked import Project
    from rltel_lint.vocabulary.model import Carriers


def _remedy(carriers: Carriers) -> str:
    """How a carrier is added to a call."""
    if carriers.keyword_helpers:
        return f"add **{carriers.keyword_helpers[0].name}()"
    if carriers.dispatchers:
        return f"use {carriers.dispatchers[0].name}()"
    return f"pass {carriers.keyword}="


def _decorate(carriers: Carriers) -> str:
    """How a method is made to accept a carrier."""
    if carriers.accepting:
        return f"decorate it with @{carriers.accepting[0].name}"
    return f"give it a parameter {carriers.keyword}"


def _agree(dispatch: Dispatch) -> bool:
    """Whether a dispatch means each of its targets: the class is known, or all are alike."""
    return dispatch.targets.certain or len({m.accepts for m in dispatch.methods}) == 1


class DispatchedWithoutCarrier(Rule):
    """Ray carries no trace context by itself. A method that accepts one (`@accepts_trace_context`,
    or a parameter `_otel_carrier`) opens its spans under the caller's span only if the call sends
    it. This call sends none, so the spans of the method start a trace of their own, and what the
    caller waited for is missing from its trace.

    Add `**trace_context_kwargs()` to the call, or use
    `dispatch_with_trace_context(handle.method, ...)`.
    """

    code = "RLT301"
    name = "dispatched-without-carrier"
    summary = "a method that accepts a trace context is dispatched without one"
    bad = """
    --- workers.py
    import ray
    from rl_telemetry.instrumentation import accepts_trace_context

    @ray.remote
    class Policy:
        @accepts_trace_context
        def train(self, batch):
            return batch

    --- loop.py
    from workers import Policy

    def run(batch):
        policy = Policy.remote()
        return policy.train.remote(batch)  # <- RLT301
    """
    good = """
    --- workers.py
    import ray
    from rl_telemetry.instrumentation import accepts_trace_context

    @ray.remote
    class Policy:
        @accepts_trace_context
        def train(self, batch):
            return batch

    --- loop.py
    from rl_telemetry.instrumentation import trace_context_kwargs
    from workers import Policy

    def run(batch):
        policy = Policy.remote()
        return policy.train.remote(batch, **trace_context_kwargs())
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields one finding for each call that sends no carrier."""
        facts = project.carriers
        if not facts.accepting:
            return
        remedy = _remedy(project.vocabulary.carriers)
        for dispatch in facts.dispatches:
            accepting = [m for m in dispatch.methods if m.accepts == "yes"]
            if dispatch.sent == "no" and accepting and _agree(dispatch):
                method = accepting[0]
                yield self.finding(
                    dispatch.place,
                    f"{method.label} accepts a trace context but is dispatched without one, so "
                    f"its spans start a new trace; {remedy}",
                    [(each.place, f"{each.label} accepts it") for each in accepting],
                    _send(project, dispatch),
                )


class CarrierNotAccepted(Rule):
    """Ray checks the arguments of a remote call against the method's signature. A method that
    does not accept a trace context refuses the keyword `_otel_carrier`: the call fails with a
    `TypeError` as soon as tracing is on, and only then. `dispatch_with_trace_context` saves the
    call by sending it again without the context, but the method's spans start a new trace.

    Decorate the method with `@accepts_trace_context`. A method that overrides a decorated one
    needs the decorator again.
    """

    code = "RLT302"
    name = "carrier-not-accepted"
    summary = "a trace context is sent to a method that does not accept one"
    bad = """
    --- loop.py
    import ray
    from rl_telemetry.instrumentation import trace_context_kwargs

    @ray.remote
    class Policy:
        def train(self, batch):  # <- RLT302
            return batch

    def run(batch):
        policy = Policy.remote()
        return policy.train.remote(batch, **trace_context_kwargs())
    """
    good = """
    --- loop.py
    import ray
    from rl_telemetry.instrumentation import accepts_trace_context, trace_context_kwargs

    @ray.remote
    class Policy:
        @accepts_trace_context
        def train(self, batch):
            return batch

    def run(batch):
        policy = Policy.remote()
        return policy.train.remote(batch, **trace_context_kwargs())
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields one finding for each method that a carrier is sent to."""
        facts = project.carriers
        remedy = _decorate(project.vocabulary.carriers)
        for method, dispatches in _not_accepting(facts).items():
            fails = any(not dispatch.by_dispatcher for dispatch in dispatches)
            effect = "the call fails" if fails else "its spans start a new trace"
            yield self.finding(
                method.place,
                f"{method.label} is sent a trace context but does not accept one, so {effect}; "
                f"{remedy}",
                [(dispatch.place, "sent here") for dispatch in dispatches],
                accept_carrier(project, method),
            )


def _send(project: Project, dispatch: Dispatch) -> Fix | None:
    """Adds a carrier to the call itself, if all that it may run accepts one."""
    if dispatch.via or any(method.accepts != "yes" for method in dispatch.methods):
        return None
    return send_carrier(project, dispatch.at)


def _not_accepting(facts: CarrierFacts) -> dict[Method, list[Dispatch]]:
    found: dict[Method, list[Dispatch]] = {}
    for dispatch in facts.dispatches:
        if dispatch.sent == "yes":
            for method in dispatch.methods:
                if method.accepts == "no" and _is_meant(method, dispatch, facts):
                    found.setdefault(method, []).append(dispatch)
    return found


def _is_meant(method: Method, dispatch: Dispatch, facts: CarrierFacts) -> bool:
    """Whether a dispatch whose class is not known means a method of this class as well.

    So it is when all methods of the name are alike, and when the method has no other dispatch
    but implements the same interface as one that accepts.
    """
    if _agree(dispatch):
        return True
    if any(other.sent != "yes" or other.targets.certain for other in facts.dispatches_of(method)):
        return False
    return any(
        other.accepts == "yes" and facts.share_interface(method, other)
        for other in dispatch.methods
    )


class AcceptingNeverDispatched(Rule):
    """The method accepts a trace context, but nothing in the project calls it in another process:
    the decorator promises a link in the trace that does not exist. Often the call was renamed,
    goes to another method now, or is made directly within the process.

    Dispatch the method with `**trace_context_kwargs()`, or remove the decorator.
    """

    code = "RLT303"
    name = "accepting-never-dispatched"
    summary = "a method accepts a trace context and is never dispatched"
    bad = """
    --- loop.py
    import ray
    from rl_telemetry.instrumentation import accepts_trace_context, trace_context_kwargs

    @ray.remote
    class Policy:
        @accepts_trace_context
        def train(self, batch):
            return batch

        @accepts_trace_context
        def begin_train(self, batch):  # <- RLT303
            return batch

    def run(batch):
        policy = Policy.remote()
        return policy.train.remote(batch, **trace_context_kwargs())
    """
    good = """
    --- loop.py
    import ray
    from rl_telemetry.instrumentation import accepts_trace_context, trace_context_kwargs

    @ray.remote
    class Policy:
        @accepts_trace_context
        def train(self, batch):
            return batch

        @accepts_trace_context
        def begin_train(self, batch):
            return batch

    def run(batch):
        policy = Policy.remote()
        policy.begin_train.remote(batch, **trace_context_kwargs())
        return policy.train.remote(batch, **trace_context_kwargs())
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields one finding for each method that no dispatch may run."""
        facts = project.carriers
        if not facts.accepting or facts.has_open_dispatch:
            return
        for method in facts.accepting:
            if facts.is_declaration(method) or facts.may_be_dispatched(method):
                continue
            yield self.finding(
                method.place,
                f"{method.label} accepts a trace context but is never dispatched; dispatch it "
                "with one or stop accepting it",
            )


class UnwiredRemoteSpan(Rule):
    """The method runs in another process and opens a span, directly or in a function it calls,
    but neither half carries the trace: the call sends no context and the method accepts none. Its
    spans are the roots of traces of their own.

    Wire both halves: `@accepts_trace_context` on the method, `**trace_context_kwargs()` at the
    call. An actor with threads of its own can take the carrier in its constructor instead and
    reopen it with `remote_trace_context(self._carrier)`. Spans that are roots on purpose (groups
    `job` and `model_init`) and constructors are not reported.

    A project that carries no trace anywhere gets one finding, at the first such method, with the
    others listed: either the trace is to be carried, or the rule to be ignored.
    """

    code = "RLT304"
    name = "unwired-remote-span"
    summary = "a remote method opens a span and neither half carries the trace"
    bad = """
    --- loop.py
    import ray
    from rl_telemetry.instrumentation import managed_span
    from rl_telemetry.setup import init_telemetry_worker
    from rl_telemetry.span_groups import RLSpanGroup

    @ray.remote
    class Policy:
        def __init__(self):
            init_telemetry_worker()

        def train(self, batch):  # <- RLT304
            with managed_span(RLSpanGroup.POLICY_UPDATE, "rl.policy.train"):
                return batch

    def run(batch):
        policy = Policy.remote()
        return policy.train.remote(batch)
    """
    good = """
    --- loop.py
    import ray
    from rl_telemetry.instrumentation import (
        accepts_trace_context,
        managed_span,
        trace_context_kwargs,
    )
    from rl_telemetry.setup import init_telemetry_worker
    from rl_telemetry.span_groups import RLSpanGroup

    @ray.remote
    class Policy:
        def __init__(self):
            init_telemetry_worker()

        @accepts_trace_context
        def train(self, batch):
            with managed_span(RLSpanGroup.POLICY_UPDATE, "rl.policy.train"):
                return batch

    def run(batch):
        policy = Policy.remote()
        return policy.train.remote(batch, **trace_context_kwargs())

    --- docs/spans.md
    | Span | Group |
    | --- | --- |
    | `rl.policy.train` | `policy_update` |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields one finding for each method, or one in all without any carrier."""
        facts = project.carriers
        unwired = sorted(_unwired(facts), key=lambda found: found[0].place)
        if not unwired:
            return
        carriers = project.vocabulary.carriers
        remedy = f"{_decorate(carriers)} and {_remedy(carriers)} at the call"
        if not facts.in_use:
            yield self._no_carriers(unwired, facts, remedy)
            return
        for method, dispatches in unwired:
            site = facts.opening[method].site
            related = [(site.place, "the span is opened here")]
            related += [(dispatch.place, "dispatched here") for dispatch in dispatches]
            yield self.finding(
                method.place,
                f"{method.label} opens {_span(facts, method)} in another process, and no trace "
                f"context is sent or accepted, so it starts a new trace; {remedy}",
                related,
            )

    def _no_carriers(
        self, unwired: list[tuple[Method, list[Dispatch]]], facts: CarrierFacts, remedy: str
    ) -> Finding:
        method, dispatches = unwired[0]
        others = len(unwired) - 1
        more = f", nor do {others} more" if others > 1 else ", nor does one more" if others else ""
        related = [(dispatch.place, "dispatched here") for dispatch in dispatches]
        related += [(other.place, f"so does {other.label}") for other, _ in unwired[1:]]
        return self.finding(
            method.place,
            f"{method.label} opens {_span(facts, method)} in another process and no trace is "
            f"carried there{more}, so each call starts a new trace; {remedy}",
            related,
        )


def _span(facts: CarrierFacts, method: Method) -> str:
    templates = sorted(facts.opening[method].site.name.templates)
    if len(templates) == 1 and display(templates[0]) != "**":
        return f'span "{display(templates[0])}"'
    return "a span"


def _unwired(facts: CarrierFacts) -> Iterator[tuple[Method, list[Dispatch]]]:
    for method in facts.opening:
        if method.accepts == "yes" or (method.accepts == "unknown" and not method.swallows):
            continue
        dispatches = facts.dispatches_of(method)
        if not dispatches or any(dispatch.sent != "no" for dispatch in dispatches):
            continue
        meant = [
            dispatch
            for dispatch in dispatches
            if dispatch.targets.certain
            or all(other in facts.opening and other.accepts != "yes" for other in dispatch.methods)
        ]
        if meant and not facts.takes_carrier_in_constructor(method):
            yield method, meant


class BuiltWithoutCarrier(Rule):
    """The actor's constructor takes a trace carrier, for spans that it opens later, from threads
    of its own for example. It is built here without one. The parameter falls back to its
    default, nothing fails, and the actor's spans start traces of their own.

    Pass the carrier of the span that the actor belongs to, captured where that span is open:
    `Collector.remote(..., trace_carrier=current_trace_carrier())`. A constructor with
    `@traced_worker_init` may do without; it is reported where the same class, or another one in
    the same file, is built with a carrier.
    """

    code = "RLT305"
    name = "built-without-carrier"
    summary = "an actor is built without the carrier that its constructor takes"
    bad = """
    --- loop.py
    import ray
    from rl_telemetry.instrumentation import remote_trace_context

    @ray.remote
    class Collector:
        def __init__(self, buffer, trace_carrier=None):
            self._buffer = buffer
            self._carrier = trace_carrier

        def collect(self):
            with remote_trace_context(self._carrier):
                return self._buffer

    def run(buffer):
        collector = Collector.remote(buffer)  # <- RLT305
        return collector.collect.remote()
    """
    good = """
    --- loop.py
    import ray
    from rl_telemetry.instrumentation import current_trace_carrier, remote_trace_context

    @ray.remote
    class Collector:
        def __init__(self, buffer, trace_carrier=None):
            self._buffer = buffer
            self._carrier = trace_carrier

        def collect(self):
            with remote_trace_context(self._carrier):
                return self._buffer

    def run(buffer):
        collector = Collector.remote(buffer, trace_carrier=current_trace_carrier())
        return collector.collect.remote()
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields one finding for each place that builds the actor."""
        facts = project.carriers
        makers = project.vocabulary.carriers.makers
        for built in facts.constructions:
            if built.passed is not None or not _is_used(built, facts):
                continue
            name = built.parameter.name
            value = f"{makers[0].name}()" if makers else "the current carrier"
            yield self.finding(
                built.at.place,
                f"{built.cls.name} takes its trace context as {name} but is built without it, so "
                f"its spans start a new trace; pass {name}={value}",
                [(built.constructor.place(built.parameter), "taken here")],
                send_carrier(project, built.at, name),
            )
        for dispatch, other in facts.built_unlike_others():
            yield self.finding(
                dispatch.place,
                f"{dispatch.methods[0].label} can take a trace context and is not sent one here, "
                "unlike others that are built with it, so its span starts a new trace; "
                f"{_remedy(project.vocabulary.carriers)}",
                [(other.place, "one is sent here")],
            )


def _is_used(built: Construction, facts: CarrierFacts) -> bool:
    """Whether the constructor does something with a parameter that is certainly a carrier."""
    used = any(
        isinstance(node, n.Name) and node.id == built.parameter.name
        for statement in built.constructor.paths
        for node in n.own_nodes(statement)
    )
    return used and facts.reach.class_reopens(built.cls)
