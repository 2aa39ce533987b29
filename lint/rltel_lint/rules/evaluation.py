"""RLT408: evaluation is taken out of productive time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rltel_lint.findings import Finding
from rltel_lint.project.evaluations import Evaluations
from rltel_lint.rules.base import Rule
from rltel_lint.rules.offers import open_evaluation
from rltel_lint.rules.wording import shown

if TYPE_CHECKING:
    from rltel_lint.project.linked import Project
    from rltel_lint.project.spans import SpanSite


def _name(site: SpanSite) -> str:
    return shown(sorted(site.name.templates)[0]) if site.name.templates else "…"


class EvaluationWithoutScope(Rule):
    """Validation generates with the code that training uses. Its generation spans carry
    `rl.bucket: productive` like those of training, although the tokens are scored and thrown
    away, so goodput looks better the more a run validates.

    Open the span with `evaluate_span(algorithm)`, which also makes everything inside overhead,
    or put `bucket_scope(Bucket.OVERHEAD)` around the work. Where the checker knows of no helper
    for it, only an evaluation that reaches a productive span is reported.
    """

    code = "RLT408"
    name = "evaluation-without-scope"
    summary = "an evaluation is counted as productive: no overhead scope is around it"
    bad = """
        --- validation.py
        from rl_telemetry.instrumentation import managed_span, umbrella_span
        from rl_telemetry.span_groups import RLSpanGroup

        def generate(prompts):
            with managed_span(RLSpanGroup.GENERATION, "rl.grpo.generation"):
                return prompts

        def validate(prompts):
            with umbrella_span(RLSpanGroup.U_EVALUATE, "rl.grpo.evaluate"):  # <- RLT408
                return generate(prompts)
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.generation` | generation |
        | `rl.grpo.evaluate` | validation |
    """
    good = """
        --- validation.py
        from rl_telemetry.instrumentation import evaluate_span, managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def generate(prompts):
            with managed_span(RLSpanGroup.GENERATION, "rl.grpo.generation"):
                return prompts

        def validate(prompts):
            with evaluate_span("grpo"):
                return generate(prompts)
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.generation` | generation |
        | `rl.grpo.evaluate` | validation |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each evaluation that no scope covers."""
        known = project.vocabulary.lifecycle
        if not known.evaluate_groups or not (known.overhead_scopes or known.evaluate_helpers):
            return
        buckets = {
            entry.group: entry.bucket
            for table in project.bucket_tables
            for entry in table.entries
            if entry.bucket
        }
        for group in project.group_uses:
            bucket = project.vocabulary.bucket_of(group)
            if bucket:
                buckets.setdefault(group, bucket)
        facts = Evaluations(
            known,
            project.spans,
            project.lifecycle.flow,
            project.carriers.invocations,
            buckets,
        )
        helper = known.evaluate_helpers[0].name if known.evaluate_helpers else ""
        scope = known.overhead_scopes[0].name if known.overhead_scopes else ""
        remedy = f"open it with {helper}()" if helper else f"put {scope}() around the work"
        for site in facts.unscoped():
            inside = facts.productive_inside(site)
            if inside is None and not helper:
                continue
            what = "spans in it would count as training"
            if inside is not None:
                what = f'span "{_name(inside)}" in it is counted as productive'
            yield self.finding(
                site.place,
                f'evaluation span "{_name(site)}" has no {known.overhead} scope, so {what}; '
                f"{remedy}",
                [(inside.place, "the productive span")] if inside is not None else (),
                open_evaluation(project, site, helper) if helper else None,
            )
