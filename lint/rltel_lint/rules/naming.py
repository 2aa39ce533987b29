"""Names of spans that cannot be told, and names that differ from the timer beside them."""

from __future__ import annotations

from collections.abc import Iterator

from rltel_lint.facts import nodes as n
from rltel_lint.findings import Finding, Place
from rltel_lint.project.linked import Project
from rltel_lint.project.spans import SpanSite
from rltel_lint.rules.base import Rule
from rltel_lint.rules.wording import shown
from rltel_lint.values import HOLE


class SpanNameUnknown(Rule):
    """A name that the checker cannot work out is compared with nothing: it may be undocumented, or
    new with every value, without a finding.

    Write the name down, build it from values that the code names, or accept the blind spot. This
    rule is off by default because computed names are often meant.
    """

    code = "RLT105"
    name = "span-name-unknown"
    summary = "a span's name cannot be worked out from the code"
    default = False
    bad = """
        --- train.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def score(task):
            with managed_span(RLSpanGroup.REWARD, task.name()):  # <- RLT105
                ...
    """
    good = """
        --- train.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def score(task):
            name = "rl.math.reward" if task.is_math else "rl.code.reward"
            with managed_span(RLSpanGroup.REWARD, name):
                ...
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.math.reward`, `rl.code.reward` | scoring |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each site whose name is not fully known."""
        for site in project.spans.sites:
            holes = sorted(template for template in site.name.templates if HOLE in template)
            if not holes:
                continue
            known = shown(holes[0])
            what = f'span name "{known}"' if holes[0].strip(HOLE) else "the span's name"
            reason = site.name.reason or "it is computed"
            yield self.finding(
                site.place,
                f"{what} cannot be worked out: {reason}; write it down or name its values",
            )


class SpanUnlikeTimer(Rule):
    """A span and a timer around the same block measure the same thing. Under two names nobody can
    put the trace beside the logged seconds.

    Let the span's name end in the timer's key. A span that is an exception by its last word is
    listed under `timer_exceptions` in the vocabulary; `step` and `evaluate` are listed already.
    The rule is off by default because many code bases name the two apart on purpose.
    """

    code = "RLT604"
    name = "span-unlike-timer"
    summary = "a span's name does not end in the key of the timer beside it"
    default = False
    bad = """
        --- train.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def score(timer):
            with timer.time("reward_calculation"), managed_span(
                RLSpanGroup.REWARD, "rl.grpo.compute_rewards"  # <- RLT604
            ):
                ...
    """
    good = """
        --- train.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def score(timer):
            with timer.time("reward_calculation"), managed_span(
                RLSpanGroup.REWARD, "rl.grpo.reward_calculation"
            ):
                ...
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.reward_calculation` | scoring |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each block whose span and timer differ."""
        exceptions = set(project.vocabulary.timer_exceptions)
        for site in project.spans.sites:
            name, with_ = site.name.exact, site.at.with_
            if name is None or with_ is None or name.rpartition(".")[2] in exceptions:
                continue
            timers = list(self._timers(project, site, with_))
            if not timers or any(all(_agrees(name, key) for key in keys) for keys, _ in timers):
                continue
            keys, place = timers[0]
            key = next(key for key in keys if not _agrees(name, key))
            yield self.finding(
                self._place_of(site, name),
                f'span "{name}" and timer "{key}" measure the same block under two names; let the '
                "span's name end in the timer's key",
                [(place, "the timer is started here")],
            )

    @staticmethod
    def _timers(
        project: Project, site: SpanSite, with_: n.With
    ) -> Iterator[tuple[tuple[str, ...], Place]]:
        """The timers in the same ``with`` whose key, or choice of keys, is known."""
        for item in with_.items:
            call = item.context
            if not isinstance(call, n.Call) or not isinstance(call.func, n.Attribute):
                continue
            if call.func.attr != "time" or not call.args:
                continue
            argument = call.args[0].value
            value = project.evaluator.of(argument, site.at.scope, site.at.statement)
            if value.known:
                yield value.literals, site.at.scope.place(argument)

    @staticmethod
    def _place_of(site: SpanSite, name: str) -> Place:
        for node in n.walk(site.at.call):
            if isinstance(node, n.Const) and node.value == name:
                return site.at.scope.place(node)
        return site.place


def _agrees(name: str, key: str) -> bool:
    dotted = key.replace("/", ".")
    return name == dotted or name.endswith(f".{dotted}")
