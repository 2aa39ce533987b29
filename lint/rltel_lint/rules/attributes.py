"""Span attributes: set, documented, and spelled with their constant."""

from __future__ import annotations

from collections.abc import Iterator

from rltel_lint.facts import nodes as n
from rltel_lint.findings import Finding, Place
from rltel_lint.project.attributes import SetAttribute
from rltel_lint.project.linked import Project
from rltel_lint.rules.base import Rule
from rltel_lint.rules.offers import add_row
from rltel_lint.rules.wording import nearest


class AttributeUndocumented(Rule):
    """Attributes are what people filter and group by. One that no table lists is found only by
    whoever reads the code.

    Add a row for it. Looked at are attributes in the project's namespace: keywords and `**{...}`
    of the span helpers, `set_attribute`, `set_attributes` and `safe_set_span_attributes`.
    Attributes of resources and of metrics belong to other tables.
    """

    code = "RLT701"
    name = "attribute-undocumented"
    summary = "a span attribute is set, but not documented"
    bad = """
        --- train.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def generate(prompts):
            attributes = {
                "rl.num_prompts": len(prompts),  # <- RLT701
                "rl.backend": "vllm",
            }
            with managed_span(RLSpanGroup.GENERATION, "rl.grpo.generation", **attributes):
                ...
        --- docs/spans.md
        | Span attribute | Means |
        |---|---|
        | `rl.backend` | the engine |
    """
    good = """
        --- train.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def generate(prompts):
            attributes = {
                "rl.num_prompts": len(prompts),
                "rl.backend": "vllm",
            }
            with managed_span(RLSpanGroup.GENERATION, "rl.grpo.generation", **attributes):
                ...
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.generation` | generation |

        | Span attribute | Means |
        |---|---|
        | `rl.backend` | the engine |
        | `rl.num_prompts` | how many prompts |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each attribute that no table has, where it is first set."""
        rows = project.documents.of_kind("attribute")
        if not any(project.in_namespace(name) for row in rows for name in row.names):
            return
        in_columns = {
            item
            for entry in project.documents.of_kind("span")
            for item in entry.column("attribute")
        }
        stale = {name for row in rows for name in row.names if row.status == "active"}
        first: dict[str, SetAttribute] = {}
        for one in project.attributes.set:
            if project.span_finder.implements(f"{one.scope.module.name}."):
                continue
            for name in one.name.literals:
                if project.in_namespace(name):
                    first.setdefault(name, one)
        for name, one in sorted(first.items(), key=lambda item: item[1].place):
            if name in in_columns or project.documents.is_reserved(name):
                continue
            if any(True for _ in project.documents.naming("attribute", name)):
                continue
            near = nearest(name, stale - set(first))
            hint = f'its row may be the one of "{near}"' if near else "add a row"
            yield self.finding(
                one.place,
                f'attribute "{name}" is set on a span, but not in any attribute table; {hint}',
                [(rows[0].place, "other attributes are documented here")],
                add_row(project, "attribute", name) if near is None else None,
            )


class AttributeNeverSet(Rule):
    """A filter on a documented attribute that no code sets matches nothing, and that looks like
    an answer.

    Set the attribute, correct its row, or remove it.
    """

    code = "RLT702"
    name = "attribute-never-set"
    summary = "a span attribute is documented, but nothing sets it"
    bad = """
        --- train.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def generate(prompts):
            with managed_span(
                RLSpanGroup.GENERATION, "rl.grpo.generation", **{"rl.num_prompts": len(prompts)}
            ):
                ...
        --- docs/spans.md
        | Span attribute | Means |
        |---|---|
        | `rl.num_prompts` | how many prompts |
        | `rl.backend` | the engine | <- RLT702
    """
    good = """
        --- train.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def generate(prompts):
            with managed_span(
                RLSpanGroup.GENERATION, "rl.grpo.generation", **{"rl.num_prompts": len(prompts)}
            ):
                ...
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.generation` | generation |

        | Span attribute | Means |
        |---|---|
        | `rl.num_prompts` | how many prompts |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each documented attribute without a setter."""
        if not project.spans.sites:
            return
        attributes = project.attributes
        seen: set[tuple[str, Place]] = set()
        for row in project.documents.of_kind("attribute"):
            for name in row.names:
                if row.status != "active" or not project.in_namespace(name) or "*" in name:
                    continue
                if project.documents.is_reserved(name) or (name, row.place) in seen:
                    continue
                seen.add((name, row.place))
                if attributes.may_be_set(name):
                    continue
                candidates = {x for one in attributes.set for x in one.name.literals}
                near = nearest(name, candidates - set(project.documents.names("attribute")))
                hint = f'did you mean "{near}"?' if near else "set it, or remove the row"
                yield self.finding(
                    row.place, f'documented attribute "{name}" is set nowhere; {hint}'
                )


class AttributeRetyped(Rule):
    """A key that is typed again beside its constant is not renamed with it, and a misspelling of
    it is no error.

    Use the constant.
    """

    code = "RLT703"
    name = "attribute-retyped"
    summary = "an attribute key is retyped instead of its constant"
    default = False
    bad = """
        --- keys.py
        RL_NUM_PROMPTS = "rl.num_prompts"
        --- train.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def generate(prompts):
            with managed_span(
                RLSpanGroup.GENERATION,
                "rl.grpo.generation",
                **{"rl.num_prompts": len(prompts)},  # <- RLT703
            ):
                ...
    """
    good = """
        --- keys.py
        RL_NUM_PROMPTS = "rl.num_prompts"
        --- train.py
        from keys import RL_NUM_PROMPTS
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def generate(prompts):
            with managed_span(
                RLSpanGroup.GENERATION,
                "rl.grpo.generation",
                **{RL_NUM_PROMPTS: len(prompts)},
            ):
                ...
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.generation` | generation |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each literal key that a constant holds."""
        constants = project.attributes.constants
        offered = {
            value: written.rpartition(":")[2]
            for written, value in project.vocabulary.constants.items()
            if ":" in written  # of the library that the profile is about
        }
        for one in project.attributes.set:
            if not isinstance(one.node, n.Const) or not isinstance(one.node.value, str):
                continue
            name = one.node.value
            if name in constants:
                constant, place = constants[name]
                yield self.finding(
                    one.place,
                    f'"{name}" is typed again; use {constant}',
                    [(place, f"{constant} is defined here")],
                )
            elif name in offered:
                yield self.finding(one.place, f'"{name}" is typed again; use {offered[name]}')
