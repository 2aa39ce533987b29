"""Queries, in dashboards and documents: the spans, series and labels that they ask for exist."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator

from rltel_lint.facts.queries import Asked
from rltel_lint.facts.templates import overlap
from rltel_lint.findings import Finding, Place
from rltel_lint.project.dashboards import exported, stems
from rltel_lint.project.linked import Project
from rltel_lint.rules.askable import (
    folded,
    is_spelled,
    known_labels,
    known_series,
    recorded_keys,
    reserved_series,
    written_names,
)
from rltel_lint.rules.base import Rule
from rltel_lint.rules.spans import emitted_spans, is_emitted
from rltel_lint.rules.wording import listed, nearest, shown
from rltel_lint.values import LIMIT, display

_PLAIN = re.compile(r"[\w.]+")
_PIECE = re.compile(r"(?:\([^()]*\)|\[[^\]]*\]|\\[wdWD]|(?<!\\)\.(?=[*+?]))(?:[*+?]|\{\d+,?\d*\})?")
"""What matches more than one text, in a regular expression."""
_CHOICE = re.compile(r"\((?:\?:)?([\w.\\|-]+)\)(?![*+?{])")
_META = re.compile(r"[()\[\]{}|?+^$\\]")


class QueriedSpanNotEmitted(Rule):
    """After a span is renamed, a dashboard that asks for the old name shows an empty panel, and
    that looks like a quiet system.

    Ask for the name that the code emits. Read are the queries of dashboards
    (`**/dashboards/**/*.json`, or what `dashboards` in the configuration lists) and those in
    documents: code spans with a selection in braces, and blocks of `traceql` and `promql`. What
    counts are names in quotes that `name`, `span_name` and the like are compared with. A regular
    expression has to match some span in each of its alternatives. What begins with another prefix
    than the project's own is left alone; a span of another package can be listed under `reserved`.
    """

    code = "RLT108"
    name = "queried-span-not-emitted"
    summary = "a query asks for a span that no code emits"
    bad = r"""
        --- train.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def update():
            with managed_span(RLSpanGroup.POLICY_UPDATE, "rl.ppo.value_training"):
                ...
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.ppo.value_training` | the value model |
        --- dashboards/training.json
        {
          "panels": [
            {"query": "{ name = \"rl.ppo.value_update\" }", "x": "<- RLT108"}
          ]
        }
    """
    good = r"""
        --- train.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def update():
            with managed_span(RLSpanGroup.POLICY_UPDATE, "rl.ppo.value_training"):
                ...
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.ppo.value_training` | the value model |
        --- dashboards/training.json
        {
          "panels": [
            {"query": "{ name = \"rl.ppo.value_training\" }"}
          ]
        }
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each span that is asked for and cannot be there."""
        asked = project.dashboards.own("span") + project.dashboards.own("span pattern")
        if not asked or not project.spans.sites:
            return
        emitted = emitted_spans(project)
        for one in sorted(asked, key=lambda each: each.place):
            for name in _alternatives(one):
                if not project.in_namespace(name.replace("\\", "")):
                    continue
                if _may_be_emitted(project, name, emitted, one.kind == "span pattern"):
                    continue
                what = name.replace("\\.", ".")
                known = {shown(template): place for template, place in emitted.items()}
                near = nearest(what, known)
                hint = f'did you mean "{near}"?' if near else "correct or remove the query"
                yield self.finding(
                    one.place,
                    f'the query asks for span "{what}", which nothing emits; {hint}',
                    [(known[near], f'"{near}" is emitted here')] if near else (),
                )


class QueriedSeriesNotRecorded(Rule):
    """A panel over a series that was renamed, or that nothing records any more, says "No data", and
    so does one that just has nothing to show. An alert over it never fires.

    Ask for the series that the code records, or take the panel out. Names are compared as the
    exporter spells them: underscores for dots, and without `_total`, `_bucket`, `_sum`, `_count`
    and the unit at the end. Only names that begin like the project's own are looked at, and
    nothing is said of a project whose names of metrics cannot all be read. A series of another
    package, or of a recording rule that is not among the files, can be listed under `reserved`.
    """

    code = "RLT508"
    name = "queried-series-not-recorded"
    summary = "a query asks for a series that nothing records"
    bad = """
        --- metrics.py
        def instruments(meter):
            return [meter.create_gauge("rl.queue.length")]
        --- docs/metrics.md
        | Metric | Kind |
        |---|---|
        | `rl.queue.length` | gauge |
        --- dashboards/queue.json
        {
          "panels": [
            {"expr": "max(rl_queue_length)"},
            {"expr": "max(rl_queue_depth)", "x": "<- RLT508"}
          ]
        }
    """
    good = """
        --- metrics.py
        def instruments(meter):
            return [meter.create_gauge("rl.queue.length")]
        --- docs/metrics.md
        | Metric | Kind |
        |---|---|
        | `rl.queue.length` | gauge |
        --- dashboards/queue.json
        {
          "panels": [
            {"expr": "max(rl_queue_length)"}
          ]
        }
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each series that is asked for and cannot be there."""
        asked = project.dashboards.own("series")
        known = known_series(project) if asked else None
        if not known:
            return
        written = written_names(project)
        open_names = [name for name in known if "*" in name]
        for one in asked:
            names = stems(exported(one.text))
            if any(name in known or name in written for name in names):
                continue
            open_ones = (*open_names, *reserved_series(project), *(w for w in written if "*" in w))
            others = (*open_ones, *known) if "*" in one.text else open_ones
            if any(overlap(name, other) for name in names for other in others):
                continue
            near = nearest(_dotted(project, names[-1]), [_dotted(project, name) for name in known])
            original = next((n for n in known if near and _dotted(project, n) == near), None)
            hint = "correct or remove the query"
            if original is not None:
                hint = f'did you mean "{known[original][0]}"?'
            yield self.finding(
                one.place,
                f'the query asks for series "{one.text}", which nothing records; {hint}',
                [(known[original][1], "it is recorded here")] if original else (),
            )


class QueriedLabelNeverSet(Rule):
    """A filter on a label that no series carries matches nothing; grouping by it puts all in one
    line. Both look like an answer.

    Use the label that the code sets. Looked at are labels and attributes that begin like the
    project's own names, as `rl_algorithm` or `span.rl.algorithm`, and those of the project's own
    series that differ from a key in the code by case and underscores only.
    """

    code = "RLT704"
    name = "queried-label-never-set"
    summary = "a query asks for a label or an attribute that nothing sets"
    bad = r"""
        --- metrics.py
        def instruments(meter):
            return meter.create_gauge("rl.queue.length")

        def observe(gauge, length, kind):
            gauge.set(length, {"worker_kind": kind})
        --- docs/metrics.md
        | Metric | Kind |
        |---|---|
        | `rl.queue.length` | gauge |
        --- dashboards/queue.json
        {
          "panels": [
            {"expr": "rl_queue_length{WorkerKind=\"a\"}", "x": "<- RLT704"}
          ]
        }
    """
    good = r"""
        --- metrics.py
        def instruments(meter):
            return meter.create_gauge("rl.queue.length")

        def observe(gauge, length, kind):
            gauge.set(length, {"worker_kind": kind})
        --- docs/metrics.md
        | Metric | Kind |
        |---|---|
        | `rl.queue.length` | gauge |
        --- dashboards/queue.json
        {
          "panels": [
            {"expr": "rl_queue_length{worker_kind=\"a\"}"}
          ]
        }
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each label that is asked for and cannot be there."""
        yield from self._own(project)
        yield from self._respelled(project)

    def _own(self, project: Project) -> Iterator[Finding]:
        asked = project.dashboards.own("label")
        if not asked or not project.attributes.set:
            return
        known = known_labels(project)
        open_names = [name for name in known if "*" in name]
        for one in asked:
            name = exported(one.text)
            if name in known or any(overlap(name, other) for other in open_names):
                continue
            near = nearest(_dotted(project, name), {_dotted(project, label) for label in known})
            original = next((n for n in known if near and _dotted(project, n) == near), "")
            hint = f'did you mean "{known[original]}"?' if original else "correct the query"
            yield self.finding(
                one.place, f'the query asks for label "{one.text}", which nothing sets; {hint}'
            )

    def _respelled(self, project: Project) -> Iterator[Finding]:
        selected = [
            one
            for one in project.dashboards.asked
            if one.kind == "label" and one.series and _PLAIN.fullmatch(one.text)
        ]
        known = known_series(project) if selected else None
        keys = recorded_keys(project) if known else {}
        for one in selected:
            if not known or not any(stem in known for stem in stems(exported(one.series))):
                continue
            keyed = keys.get(folded(one.text), ())
            if not keyed or one.text in keyed or is_spelled(project, one.text):
                continue
            yield self.finding(
                one.place,
                f'label "{one.text}" of "{one.series}" is spelled {listed(sorted(keyed))} in the '
                "code, so the query matches nothing; spell it so",
            )


def _alternatives(one: Asked) -> list[str]:
    if one.kind == "span" or "(" in one.text or "[" in one.text:
        return [one.text]
    return one.text.split("|")


def _may_be_emitted(
    project: Project, name: str, emitted: dict[str, Place], is_pattern: bool
) -> bool:
    plain = name.replace("\\.", ".")
    if not is_pattern or _PLAIN.fullmatch(plain):
        return is_emitted(project, plain, emitted) or _is_reserved_span(project, plain)
    names = [display(template) for template in emitted]
    names += [*project.vocabulary.emitted_spans, *project.documents.reserved]
    rough = [_roughly(text) for text in _choices(name)]
    if any("*" in other and overlap(text, other) for other in names for text in rough):
        return True
    try:
        pattern = re.compile(name.replace("**", ".*") if "$" not in name else name)
    except re.error:
        return True
    return any(pattern.fullmatch(other) for other in names)


def _choices(pattern: str) -> list[str]:
    """A regular expression with its choices, such as ``(a|b)``, made in every way."""
    parts = _CHOICE.split(pattern)
    ways = [part.split("|") if number % 2 else [part] for number, part in enumerate(parts)]
    if math.prod(map(len, ways)) > LIMIT:
        return [pattern]
    return ["".join(way) for way in itertools.product(*ways)]


def _roughly(pattern: str) -> str:
    """A template that covers all that a regular expression matches."""
    plain = _PIECE.sub("**", pattern).replace("\\.", ".")
    rest = _META.search(plain)
    return plain if rest is None else f"{plain[: max(0, rest.start() - 1)]}**"


def _is_reserved_span(project: Project, name: str) -> bool:
    rows = list(project.documents.naming("span", name))
    return bool(rows) and all(row.status == "reserved" for row in rows)


def _dotted(project: Project, name: str) -> str:
    """The name with a dot behind the namespace, so that likeness is that of the rest."""
    for prefix in project.namespaces:
        if name.startswith(exported(prefix)):
            return prefix + name[len(exported(prefix)) :]
    return name
