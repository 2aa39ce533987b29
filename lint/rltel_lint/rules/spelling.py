"""Umbrella and leaf helpers: is each given the groups it is for?"""

from __future__ import annotations

from collections.abc import Iterator

from rltel_lint.facts import nodes as n
from rltel_lint.findings import Finding
from rltel_lint.project.linked import Project
from rltel_lint.project.spans import SpanSite, written_groups
from rltel_lint.rules.base import Rule
from rltel_lint.rules.offers import spell_group, use_helper


class UmbrellaHelperWithLeafGroup(Rule):
    """An umbrella helper opens spans that only enclose others and carry no `rl.bucket`. Given a
    leaf group it warns at run time and behaves like the leaf helper; the reader of the code is
    misled about where time is counted.

    Use the leaf helper, or an umbrella group.
    """

    code = "RLT401"
    name = "umbrella-helper-with-leaf-group"
    summary = "an umbrella helper is given a leaf group"
    bad = """
        --- train.py
        from rl_telemetry.instrumentation import umbrella_span
        from rl_telemetry.span_groups import RLSpanGroup

        def generate():
            with umbrella_span(RLSpanGroup.GENERATION, "rl.grpo.generation"):  # <- RLT401
                ...
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.generation` | generation |
    """
    good = """
        --- train.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def generate():
            with managed_span(RLSpanGroup.GENERATION, "rl.grpo.generation"):
                ...
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.generation` | generation |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each umbrella site under a known leaf group."""
        groups = project.groups
        for site, group in _sites(project, "umbrella"):
            if group not in groups.umbrellas and group in groups.names:
                yield self.finding(
                    site.place,
                    f'{_called(site)} is for umbrella groups, but "{group}" is a leaf; '
                    f"use {site.helper.remedy}",
                    fix=use_helper(project, site) if _is_settled(site) else None,
                )


class LeafHelperWithUmbrellaGroup(Rule):
    """A leaf helper tags its span with `rl.bucket`, so that its time is counted. An umbrella
    group only encloses others and must not be counted; the leaf helper leaves the bucket out,
    but whoever reads the call expects a bucket that is not there.

    Use the umbrella helper with the `U_` spelling of the group.
    """

    code = "RLT402"
    name = "leaf-helper-with-umbrella-group"
    summary = "a leaf helper is given an umbrella group"
    bad = """
        --- train.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def step():
            with managed_span(RLSpanGroup.STEP, "rl.grpo.step"):  # <- RLT402
                ...
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.step` | one step |
    """
    good = """
        --- train.py
        from rl_telemetry.instrumentation import umbrella_span
        from rl_telemetry.span_groups import RLSpanGroup

        def step():
            with umbrella_span(RLSpanGroup.U_STEP, "rl.grpo.step"):
                ...
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.step` | one step |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each leaf site under an umbrella group."""
        groups = project.groups
        for site, group in _sites(project, "leaf"):
            if group in groups.umbrellas:
                alias = groups.alias_of(group)
                spelled = f"({alias}, ...)" if alias else ""
                yield self.finding(
                    site.place,
                    f'{_called(site)} is for leaf groups, but "{group}" is an umbrella; '
                    f"use {site.helper.remedy}{spelled}",
                    fix=use_helper(project, site, alias=alias) if _is_settled(site) else None,
                )


class UmbrellaGroupWithoutAlias(Rule):
    """The `U_` constants are the umbrella groups' spelling at the call site, so that one sees
    without looking it up that the span only encloses others.

    Spell the group with its `U_` constant; the value is the same.
    """

    code = "RLT403"
    name = "umbrella-group-without-alias"
    summary = "an umbrella group is spelled without its U_ alias"
    bad = """
        --- train.py
        from rl_telemetry.instrumentation import umbrella_span
        from rl_telemetry.span_groups import RLSpanGroup

        def step():
            with umbrella_span(RLSpanGroup.STEP, "rl.grpo.step"):  # <- RLT403
                ...
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.step` | one step |
    """
    good = LeafHelperWithUmbrellaGroup.good

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each umbrella site whose group constant is not the alias."""
        groups, prefix = project.groups, project.vocabulary.alias_prefix
        for site, group in _sites(project, "umbrella"):
            spelled = _constant(site.group_argument)
            alias = groups.alias_of(group)
            if spelled and alias and group in groups.umbrellas and not spelled.startswith(prefix):
                argument = site.group_argument
                assert argument is not None  # a constant was read from it
                yield self.finding(
                    site.at.scope.place(argument),
                    f'"{group}" is an umbrella group; spell it {alias}',
                    fix=spell_group(project, site, alias),
                )


class EfficiencyGroupThroughLeafHelper(Rule):
    """Spans of the efficiency group take their bucket from their category. A plain helper knows
    no category, so the wait is counted as overhead instead of idle or wasted.

    Use `efficiency_span(category)`, or `start_efficiency_span(category)` where no block fits.
    """

    code = "RLT406"
    name = "efficiency-group-through-leaf-helper"
    summary = "the efficiency group is opened through a helper that knows no category"
    bad = """
        --- train.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def wait(event):
            with managed_span(RLSpanGroup.EFFICIENCY, "rl.idle.refit_bubble"):  # <- RLT406
                event.wait()
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.idle.refit_bubble` | waiting for new weights |
    """
    good = """
        --- train.py
        from rl_telemetry.instrumentation import efficiency_span

        def wait(event):
            with efficiency_span("idle/refit_bubble"):
                event.wait()
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.idle.refit_bubble` | waiting for new weights |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each leaf site under the efficiency group."""
        efficiency = project.vocabulary.efficiency_group
        if not any(helper.kind == "efficiency" for helper in project.vocabulary.helpers):
            return
        for site, group in _sites(project, "leaf"):
            if efficiency and group == efficiency:
                yield self.finding(
                    site.place,
                    f'group "{group}" needs a category, which {_called(site)} does not know; '
                    'use efficiency_span("idle/...")',
                )


def _sites(project: Project, kind: str) -> Iterator[tuple[SpanSite, str]]:
    """The calls of helpers of a kind that write down their group, with the group."""
    for site in (*project.spans.sites, *project.spans.inner):
        if site.helper.kind != kind or not _written_here(project, site):
            continue
        for group in written_groups(site):
            yield site, group


def _is_settled(site: SpanSite) -> bool:
    """Whether the site has one group, so that another helper is right for all of its spans."""
    return site.group is not None and site.group.exact is not None


def _written_here(project: Project, site: SpanSite) -> bool:
    argument = site.group_argument
    if not isinstance(argument, n.Name):
        return argument is not None
    bindings, _ = project.resolver.lookup(argument.id, site.at.scope)
    return not any(isinstance(binding.node, n.Parameter) for binding in bindings)


def _called(site: SpanSite) -> str:
    return site.via[0].label if site.via else site.helper.name


def _constant(expr: n.Expr | None) -> str:
    return expr.attr if isinstance(expr, n.Attribute) else ""
