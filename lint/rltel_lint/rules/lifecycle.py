"""RLT802 to RLT805: telemetry is started before spans open and delivered before a process ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rltel_lint.facts import nodes as n
from rltel_lint.findings import Finding
from rltel_lint.project.kills import Kills
from rltel_lint.rules.base import Rule
from rltel_lint.rules.wording import shown

if TYPE_CHECKING:
    from rltel_lint.project.linked import Project
    from rltel_lint.project.spans import SpanSite


def _name(site: SpanSite) -> str:
    return shown(sorted(site.name.templates)[0]) if site.name.templates else "…"


class ActorNeverInitialises(Rule):
    """A Ray actor is a process of its own. What the driver set up does not reach it: until the
    actor starts telemetry itself, every span that its methods open is a no-op, and a whole phase
    of the run is missing from the trace without any error.

    Call `init_telemetry_worker()` in the constructor, or decorate the constructor with
    `@traced_worker_init("rl.policy.load_model")`. A base class, a mixin or a helper may do it.
    """

    code = "RLT802"
    name = "actor-never-initialises"
    summary = "an actor opens spans and never starts telemetry in its process"
    bad = """
        --- workers.py
        import ray
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        @ray.remote
        class Scorer:  # <- RLT802
            def __init__(self, model):
                self.model = model

            def flush_scores(self):
                with managed_span(RLSpanGroup.REWARD, "rl.grpo.reward"):
                    self.model.flush()
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.reward` | scoring |
    """
    good = """
        --- workers.py
        import ray
        from rl_telemetry.instrumentation import accepts_trace_context, managed_span
        from rl_telemetry.setup import init_telemetry_worker
        from rl_telemetry.span_groups import RLSpanGroup

        @ray.remote
        class Scorer:
            def __init__(self, model):
                init_telemetry_worker()
                self.model = model

            @accepts_trace_context
            def flush_scores(self):
                with managed_span(RLSpanGroup.REWARD, "rl.grpo.reward"):
                    self.model.flush()
        --- loop.py
        from rl_telemetry.instrumentation import dispatch_with_trace_context
        from workers import Scorer

        def score(model):
            scorer = Scorer.remote(model)
            return dispatch_with_trace_context(scorer.flush_scores)
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.reward` | scoring |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each actor class whose spans go nowhere."""
        name = project.lifecycle.worker_name
        remedy = f"{name}()" if name else "the telemetry initialiser"
        for cls, site in project.lifecycle.uninitialised:
            at = n.Name(cls.node.name_at, cls.name)
            yield self.finding(
                cls.module.place(at),
                f'actor {cls.name} opens span "{_name(site)}" but never starts telemetry in its '
                f"process, so the span is lost; call {remedy} in its constructor",
                [(site.place, "the span")],
            )


class KilledWithoutFlush(Rule):
    """`ray.kill` ends an actor at once: no exit hook runs, and what the actor recorded since its
    last export, often the last rollouts of the run, is lost.

    Deliver it first: `flush_and_kill(actor)` of `rl_telemetry.contrib.ray` does both within a
    budget; or give the actor a method that calls `shutdown_telemetry()` and call that before the
    kill. Actors that never start telemetry have nothing to lose and are not reported.
    """

    code = "RLT803"
    name = "killed-without-flush"
    summary = "an actor that records telemetry is killed without a flush"
    bad = """
        --- run.py
        import ray
        from rl_telemetry.setup import init_telemetry_worker

        @ray.remote
        class Collector:
            def __init__(self):
                init_telemetry_worker()

        def run():
            collector = Collector.remote()
            ray.kill(collector)  # <- RLT803
    """
    good = """
        --- run.py
        import ray
        from rl_telemetry.contrib.ray import flush_and_kill
        from rl_telemetry.setup import init_telemetry_worker

        @ray.remote
        class Collector:
            def __init__(self):
                init_telemetry_worker()

        def run():
            collector = Collector.remote()
            flush_and_kill(collector)
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each kill that loses what an actor recorded."""
        facts = project.lifecycle
        if not facts.is_started_somewhere and not project.vocabulary.lifecycle.worker_decorators:
            return
        kills = Kills(project.vocabulary, project.resolver, project.finder, project.carriers, facts)
        flushers = project.vocabulary.lifecycle.actor_flushers
        reported: set[n.Call] = set()
        for kill in kills.all:
            if kill.at.call in reported or not facts.class_starts(kill.cls):
                continue
            if kills.is_flushed(kill):
                continue
            reported.add(kill.at.call)
            methods = sorted(kills.flushing_methods(kill.cls))
            if flushers:
                remedy = f"use {flushers[-1].name}()"
            elif methods:
                remedy = f"call {kill.cls.name}.{methods[0]} first"
            else:
                remedy = "flush it first"
            at = n.Name(kill.cls.node.name_at, kill.cls.name)
            related = [(kill.cls.module.place(at), f"{kill.cls.name} starts telemetry")]
            related += [(call.place, "killed from here") for call in kill.through]
            yield self.finding(
                kill.at.place,
                f"{kill.cls.name} is killed without a flush, so what it recorded since its last "
                f"export is lost; {remedy}",
                related,
            )


class EntryWithoutDriver(Rule):
    """A launcher that runs an instrumented loop but never starts telemetry gives a run without
    a trace: spans are no-ops, workers do not learn the configuration, and nothing says so.

    Call `init_telemetry_driver(config, algorithm)` in the launcher before `ray.init()`, and
    `shutdown_telemetry()` in a `finally`. Scripts with `if __name__ == "__main__"` and the
    console commands of `[project.scripts]` are looked at. What a launcher calls may do it too.
    """

    code = "RLT804"
    name = "entry-without-driver"
    summary = "an entry point runs an instrumented loop and never starts telemetry"
    bad = """
        --- run_grpo.py
        from rl_telemetry.instrumentation import umbrella_span
        from rl_telemetry.span_groups import RLSpanGroup

        def train(steps):
            for step in range(steps):
                with umbrella_span(RLSpanGroup.U_STEP, "rl.grpo.step"):
                    print(step)

        def main():  # <- RLT804
            train(10)

        if __name__ == "__main__":
            main()
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.step` | one step |
    """
    good = """
        --- run_grpo.py
        from rl_telemetry.instrumentation import umbrella_span
        from rl_telemetry.setup import init_telemetry_driver, shutdown_telemetry
        from rl_telemetry.span_groups import RLSpanGroup

        def train(steps):
            for step in range(steps):
                with umbrella_span(RLSpanGroup.U_STEP, "rl.grpo.step"):
                    print(step)

        def main():
            init_telemetry_driver({"telemetry": {"enabled": True}}, "grpo")
            try:
                train(10)
            finally:
                shutdown_telemetry()

        if __name__ == "__main__":
            main()
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.step` | one step |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each launcher without telemetry."""
        facts = project.lifecycle
        drivers = project.vocabulary.lifecycle.drivers
        if not drivers or facts.starts_on_import:
            return
        for entry in facts.entries:
            site = facts.loop_of(entry)
            if site is None or facts.starts_in(entry):
                continue
            if site.helper.receiver and not facts.is_started_somewhere:
                continue  # raw spans may be set up from outside, as by opentelemetry-instrument
            function = entry.function
            if entry.call is None or function not in facts.loops or function.module is entry.scope:
                at = function.module.place(n.Name(function.node.name_at, function.name))
            else:
                at = entry.scope.place(entry.call)
            yield self.finding(
                at,
                f'{function.label} runs the loop of span "{_name(site)}" but never starts '
                f"telemetry, so the run has no trace; call {facts.driver_name}() first",
                [(site.place, "the span")],
            )
