"""RLT107: a span named after one algorithm in code that several algorithms run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rltel_lint.findings import Finding
from rltel_lint.project.algorithms import Algorithms
from rltel_lint.project.model import Class
from rltel_lint.rules.base import Rule
from rltel_lint.rules.wording import listed, shown

if TYPE_CHECKING:
    from rltel_lint.project.linked import Project


class SpanOfAnotherAlgorithm(Rule):
    """Code that several algorithms share must not name its spans after one of them: the spans of
    a PPO run then say `rl.grpo.collect`, a query for `rl.ppo.*` misses them, and a comparison of
    the two algorithms counts them on the wrong side.

    Take the algorithm from the caller, as in `f"rl.{algorithm}.collect"` with a parameter, or
    give the span a name without an algorithm. An algorithm is what opens a span of its own for
    its run or its steps, such as `rl.ppo.step`. A span that is opened under a condition on the
    algorithm is fine.
    """

    code = "RLT107"
    name = "span-of-another-algorithm"
    summary = "a span of one algorithm is opened in code that another algorithm runs too"
    bad = """
        --- collector.py
        from rl_telemetry.instrumentation import umbrella_span
        from rl_telemetry.span_groups import RLSpanGroup

        class Collector:
            def collect(self):
                with umbrella_span(RLSpanGroup.U_ROLLOUT, "rl.grpo.collect"):  # <- RLT107
                    return []
        --- grpo.py
        from collector import Collector
        from rl_telemetry.instrumentation import umbrella_span
        from rl_telemetry.span_groups import RLSpanGroup

        def train():
            with umbrella_span(RLSpanGroup.U_STEP, "rl.grpo.step"):
                Collector().collect()
        --- ppo.py
        from collector import Collector
        from rl_telemetry.instrumentation import umbrella_span
        from rl_telemetry.span_groups import RLSpanGroup

        def train():
            with umbrella_span(RLSpanGroup.U_STEP, "rl.ppo.step"):
                Collector().collect()
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.{grpo,ppo}.step` | one step |
        | `rl.grpo.collect` | collecting |
    """
    good = """
        --- collector.py
        from rl_telemetry.instrumentation import umbrella_span
        from rl_telemetry.span_groups import RLSpanGroup

        class Collector:
            def __init__(self, algorithm):
                self._span = f"rl.{algorithm}.collect"

            def collect(self):
                with umbrella_span(RLSpanGroup.U_ROLLOUT, self._span):
                    return []
        --- grpo.py
        from collector import Collector
        from rl_telemetry.instrumentation import umbrella_span
        from rl_telemetry.span_groups import RLSpanGroup

        def train():
            with umbrella_span(RLSpanGroup.U_STEP, "rl.grpo.step"):
                Collector("grpo").collect()
        --- ppo.py
        from collector import Collector
        from rl_telemetry.instrumentation import umbrella_span
        from rl_telemetry.span_groups import RLSpanGroup

        def train():
            with umbrella_span(RLSpanGroup.U_STEP, "rl.ppo.step"):
                Collector("ppo").collect()
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.{grpo,ppo}.step` | one step |
        | `rl.{grpo,ppo}.collect` | collecting |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each such span."""
        run_groups = project.vocabulary.lifecycle.run_groups
        if not run_groups:
            return
        facts = Algorithms(
            project.spans,
            project.resolver,
            project.carriers.invocations,
            project.namespaces,
            run_groups,
            project.modules,
        )
        for shared in facts.shared():
            others = listed(name for name, _ in shared.others)
            name = shown(sorted(shared.site.name.templates)[0])
            holder = shared.holder
            label = holder.name if isinstance(holder, Class) else holder.label
            verb = "runs" if len(shared.others) == 1 else "run"
            yield self.finding(
                shared.site.place,
                f'span "{name}" is opened in {label}, which {others} {verb} too; take the '
                "algorithm from the caller",
                [(place, f"also run by {other}") for other, place in shared.others],
            )
