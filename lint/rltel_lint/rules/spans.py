"""Span names: code against documents, both ways."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, cached_property

from rltel_lint.changes import Fix
from rltel_lint.facts.entries import DocumentEntry
from rltel_lint.facts.templates import TemplateError, expand, overlap
from rltel_lint.findings import Finding, Place
from rltel_lint.project.linked import Project
from rltel_lint.project.spans import SpanSite, written_groups
from rltel_lint.rules.base import Rule
from rltel_lint.rules.offers import add_row, pair_of, remove_row, rename_rows
from rltel_lint.rules.series import made_series
from rltel_lint.rules.wording import nearest, quoted, shown
from rltel_lint.values import HOLE, display

_WITHOUT_EMITTER = frozenset({"reserved", "retired"})
"""What a row may say of a thing that nothing emits; what is deprecated may still be emitted."""


class UndocumentedSpan(Rule):
    """Somebody who looks for a span reads the span tables; a span that is missing there is
    found by nobody, and a renamed one leaves dashboards and alerts that show nothing.

    Add a row to a span table (a Markdown table whose header says *Span*), or give the span the
    name that the documents promise. A row may be a template: `rl.<algo>.step` documents every
    algorithm's step, `rl.{grpo,ppo}.job` two jobs. Mentions in prose document nothing.

    A name is followed through variables, constants, f-strings, parameters and helpers. Where it
    cannot be known, nothing is reported.
    """

    code = "RLT101"
    name = "undocumented-span"
    summary = "a span is emitted that no document lists"
    bad = """
        --- train.py
        from rl_telemetry.instrumentation import umbrella_span
        from rl_telemetry.span_groups import RLSpanGroup

        def train(steps):
            for _ in range(steps):
                with umbrella_span(RLSpanGroup.U_STEP, "rl.grpo.train_step"):  # <- RLT101
                    ...
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.job` | the whole run |
    """
    good = """
        --- train.py
        from rl_telemetry.instrumentation import umbrella_span
        from rl_telemetry.span_groups import RLSpanGroup

        def train(steps):
            for _ in range(steps):
                with umbrella_span(RLSpanGroup.U_STEP, "rl.grpo.train_step"):
                    ...
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.train_step` | one training step |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each name of each site that no span row covers."""
        names = _Unmatched(project)
        for site in project.spans.sites:
            for template in sorted(site.name.templates):
                if not _speaks_of(project, template) or _documented(project, template):
                    continue
                yield self.finding(
                    site.place,
                    f'span "{shown(template)}" is not in the documents; '
                    f"{self._remedy(project, template, names.stale)}",
                    _through(site),
                    self._fix(project, site, template, names),
                )

    @staticmethod
    def _fix(project: Project, site: SpanSite, template: str, names: _Unmatched) -> Fix | None:
        """The documents follow the code: a stale row is renamed, else a row is added."""
        name = display(template)
        pair = pair_of(name, names.stale, names.undocumented)
        if pair is not None:
            return rename_rows(project, "span", pair)
        group = site.group.exact if site.group is not None else None
        cells = [("group", [group])] if group is not None else []
        bucket = project.vocabulary.bucket_of(group) if group is not None else ""
        if bucket:
            cells.append(("bucket", [bucket]))
        return add_row(project, "span", name, cells)

    @staticmethod
    def _remedy(project: Project, template: str, stale: dict[str, Place]) -> str:
        name = display(template)
        near = nearest(name, stale)
        if near:
            return f'did you mean "{near}" ({stale[near]})? Rename one of the two'
        near = nearest(name, project.documents.names("span"))
        hint = f', near "{near}"' if near else ""
        return f"add a row to a span table{hint}, or rename the span"


class UnemittedSpan(Rule):
    """A documented span that no code opens is a query that returns nothing, and nobody can tell
    an empty result from a quiet system.

    Remove the row, rename it to what the code emits, or, for a span that is planned, mark the
    row as *reserved* (or list the name under `reserved` in the configuration). A template row is
    stale when nothing matches it. The spans that a row names beside its own, as the parent or as
    what carries an attribute, are looked at too.
    """

    code = "RLT102"
    name = "unemitted-span"
    summary = "a span is documented that no code emits"
    bad = """
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
        | `rl.ppo.value_update` | the value model | <- RLT102
    """
    good = """
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
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each documented name that no site can emit."""
        emitted, names = emitted_spans(project), _Unmatched(project)
        sites = (*project.spans.sites, *project.spans.unseen)
        open_sites = [site for site in sites if HOLE in site.name.templates]
        seen: set[tuple[str, Place]] = set()
        for entry in project.documents.of_kind("span"):
            if entry.status != "active":
                continue
            for name in entry.names:
                if (name, entry.place) in seen or is_emitted(project, name, emitted):
                    continue
                seen.add((name, entry.place))
                yield self.finding(
                    entry.place,
                    f'documented span "{name}" is emitted nowhere; '
                    f"{self._remedy(project, name, emitted)}",
                    [
                        (site.place, f"a span whose name is not known ({site.name.reason})")
                        for site in open_sites[:3]
                    ],
                    self._fix(project, entry, name, names),
                )
        yield from self._beside(project, emitted)

    def _beside(self, project: Project, emitted: dict[str, Place]) -> Iterator[Finding]:
        """The spans that rows name as a parent, or as what carries an attribute."""
        seen: set[tuple[str, int, str]] = set()
        for entry in project.documents.entries:
            items = [*entry.column("parent"), *entry.column("span")]
            for item in items if entry.status == "active" else ():
                for name in _templates(item):
                    row = (entry.place.path, entry.place.line, name)
                    if row in seen or not _speaks_of(project, name):
                        continue
                    seen.add(row)
                    if is_emitted(project, name, emitted):
                        continue
                    if _documented(project, name):
                        continue  # its own row is reported, or says that it is reserved
                    yield self.finding(
                        entry.place,
                        f'the row of "{entry.text}" names span "{item}", which is emitted '
                        f"nowhere; {self._remedy(project, name, emitted)}",
                    )

    @staticmethod
    def _fix(project: Project, entry: DocumentEntry, name: str, names: _Unmatched) -> Fix | None:
        """The row is renamed to what the code emits; removed only where nobody is sure."""
        pair = pair_of(name, names.stale, names.undocumented)
        if pair is not None:
            return rename_rows(project, "span", pair)
        return remove_row(project, entry)

    @staticmethod
    def _remedy(project: Project, name: str, emitted: dict[str, Place]) -> str:
        known = {shown(template): place for template, place in emitted.items()}
        free = {
            other: place
            for other, place in known.items()
            if not any(True for _ in project.documents.naming("span", other))
        }
        bare = name.rstrip(".*")
        near = nearest(bare, free) or nearest(bare, known, 0.85)
        if near:
            return f'did you mean "{near}" ({known[near]})?'
        return "remove the row or mark it as reserved"


class ReservedSpanEmitted(Rule):
    """A row that says a span, a group or a metric is reserved, or gone, tells readers not to look
    for it. Once code emits it, the row hides real data.

    Take the words *reserved*, *retired* or the like off the row (or the name out of `reserved`
    in the configuration), or remove the span. What is *deprecated* may still be emitted. A metric
    may be declared while its row says *reserved*, not when it says *removed*.
    """

    code = "RLT103"
    name = "reserved-span-emitted"
    summary = "a span, group or metric is documented as reserved or retired, yet emitted"
    bad = """
        --- train.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def score():
            with managed_span(RLSpanGroup.REWARD, "rl.grpo.reward"):
                ...
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.reward` | *reserved, no site emits it yet* | <- RLT103
    """
    good = """
        --- train.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def score():
            with managed_span(RLSpanGroup.REWARD, "rl.grpo.reward"):
                ...
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.reward` | scoring the rollouts |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each reserved or retired row with an emitter."""
        for entry in project.documents.of_kind("span"):
            if entry.status in _WITHOUT_EMITTER:
                yield from self._span(project, entry)
        for entry in project.documents.of_kind("group"):
            if entry.status in _WITHOUT_EMITTER:
                yield from self._group(project, entry)
        retired = [row for row in project.documents.of_kind("metric") if row.status == "retired"]
        made = made_series(project) if retired else {}
        for entry in retired:
            for name in entry.names:
                if name in made and not _active_elsewhere(project, "metric", name):
                    place, how = made[name]
                    yield self.finding(
                        entry.place,
                        f'metric "{name}" is documented as retired, yet {how}; describe it, or '
                        "remove the metric",
                        [(place, f"it is {how} here")],
                    )

    def _span(self, project: Project, entry: DocumentEntry) -> Iterator[Finding]:
        for name in entry.names:
            sites = [
                site
                for site in project.spans.sites
                if any(overlap(name, literal) for literal in site.name.literals)
                or _same_pattern(name, site)
            ]
            if sites and not _active_elsewhere(project, "span", name):
                yield self.finding(
                    entry.place,
                    f'span "{name}" is documented as {entry.status}, yet emitted; '
                    "describe it, or remove the span",
                    [(site.place, "emitted here") for site in sites[:3]],
                )

    def _group(self, project: Project, entry: DocumentEntry) -> Iterator[Finding]:
        for name in entry.names:
            places = project.group_uses.get(name, ())
            if places and not _active_elsewhere(project, "group", name):
                yield self.finding(
                    entry.place,
                    f'group "{name}" is documented as {entry.status}, yet spans use it; '
                    "describe it, or remove the spans",
                    [(place, "used here") for place in places[:3]],
                )


def _same_pattern(name: str, site: SpanSite) -> bool:
    """Whether a documented name has its placeholders where a span's name has its holes."""
    return any(_same_places(name, pattern) for pattern in site.name.patterns)


def _same_places(name: str, pattern: str) -> bool:
    documented = re.sub(r"\*+", "*", name)
    return not documented.endswith("*") and re.sub(r"\*+", "*", pattern) == documented


class SpanUnderTwoGroups(Rule):
    """A span name that is opened under different groups appears and disappears with whichever
    group happens to be on, and its time lands in different buckets.

    Use one group for one name, and the group that the span's row names.
    """

    code = "RLT104"
    name = "span-under-two-groups"
    summary = "one span name is opened under different groups, or another group than documented"
    bad = """
        --- train.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def score():
            with managed_span(RLSpanGroup.ADVANTAGE, "rl.grpo.reward"):  # <- RLT104
                ...
        --- docs/spans.md
        | Span | Group |
        |---|---|
        | `rl.grpo.reward` | `reward` |
    """
    good = """
        --- train.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def score():
            with managed_span(RLSpanGroup.REWARD, "rl.grpo.reward"):
                ...
        --- docs/spans.md
        | Span | Group |
        |---|---|
        | `rl.grpo.reward` | `reward` |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each site whose group differs from the row's or the first site's."""
        first: dict[str, tuple[str, Place]] = {}
        for site in project.spans.sites:
            written = written_groups(site)
            names = (*site.name.literals, *site.name.patterns)
            for group in written:
                found = [list(self._against_documents(project, site, x, group)) for x in names]
                # Where both are chosen, one choice may go with the other.
                if len(written) > 1 and len(site.name.templates) > 1:
                    found = (
                        found[:1] if all(found) and len(found) == len(site.name.templates) else []
                    )
                yield from (finding for one in found for finding in one)
            if len(written) != 1:
                continue
            group = written[0]
            for name in site.name.literals:
                known = first.setdefault(name, (group, site.place))
                if known[0] != group and site.name.known:
                    yield self.finding(
                        site.place,
                        f'span "{name}" is opened under group "{group}" here and under '
                        f'"{known[0]}" elsewhere; use one group for one name',
                        [(known[1], f'under "{known[0]}" here')],
                    )

    def _against_documents(
        self, project: Project, site: SpanSite, name: str, group: str
    ) -> Iterator[Finding]:
        rows = [
            (row.place, row.column("group"))
            for row in project.documents.naming("span", name)
            if row.column("group")
            and ("*" not in name or any(_same_places(other, name) for other in row.names))
        ]
        if "*" not in name:
            rows += [(row.place, row.names) for row in _group_rows(project, name)]
        if rows and not any(group in groups for _, groups in rows):
            place, documented = rows[0]
            yield self.finding(
                site.place,
                f'span "{name}" is opened under group "{group}", but documented under '
                f"{quoted(documented)}; correct one of the two",
                [(place, "documented here")],
            )


class SpanOutsideNamespace(Rule):
    """Queries, dashboards and this checker find a project's spans by their prefix. A name
    without it is missed by all of them.

    Give the span the project's prefix, or add the other prefix to `namespace` in the
    configuration. Spans opened with a raw tracer are not the project's and are left alone.
    """

    code = "RLT106"
    name = "span-outside-namespace"
    summary = "a span name is outside the project's namespace"
    bad = """
        --- train.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def score():
            with managed_span(RLSpanGroup.REWARD, "grpo.reward"):  # <- RLT106
                ...
    """
    good = """
        --- train.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def score():
            with managed_span(RLSpanGroup.REWARD, "rl.grpo.reward"):
                ...
        --- docs/spans.md
        | Span | Group |
        |---|---|
        | `rl.grpo.reward` | `reward` |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each name of a helper's site without the project's prefix."""
        prefixes = quoted(project.namespaces)
        for site in project.spans.sites:
            if site.helper.receiver:
                continue
            for template in sorted(site.name.templates):
                fixed = template.partition(HOLE)[0]
                inside = project.in_namespace(template) or (
                    HOLE in template and any(p.startswith(fixed) for p in project.namespaces)
                )
                documented = any(True for _ in project.documents.naming("span", template))
                if not inside and not documented:
                    yield self.finding(
                        site.place,
                        f'span "{shown(template)}" is outside the namespace {prefixes}; rename '
                        'it, or add its prefix to "namespace" in the configuration',
                        _through(site),
                    )


@cache
def _templates(text: str) -> tuple[str, ...]:
    try:
        return expand(text).names
    except TemplateError:
        return ()


def _group_rows(project: Project, name: str) -> Iterator[DocumentEntry]:
    """The rows of groups that list a span among those they control."""
    for row in project.documents.of_kind("group"):
        for item in row.column("span"):
            if any(overlap(template, name) for template in _templates(item)):
                yield row
                break


def _speaks_of(project: Project, template: str) -> bool:
    """Whether enough of a name is known to say that it is the project's and undocumented."""
    return project.in_namespace(template) and template.strip(HOLE) not in project.namespaces


def _documented(project: Project, template: str) -> bool:
    if any(
        not _of_library(project, entry, template)
        for entry in project.documents.naming("span", template)
    ):
        return True
    return project.documents.is_reserved(display(template))


def _of_library(project: Project, entry: DocumentEntry, template: str) -> bool:
    """Whether a row lists spans that a library opens by itself, and not this one.

    A name that begins with a gap (`rl.<algo>.step`) could be taken for one of the library's,
    whatever stands behind it in the row.
    """
    heads = [own.partition("*")[0] for own in project.vocabulary.emitted_spans if "*" in own]
    return any(
        not template.startswith(head)
        and not template.endswith((HOLE, "*"))
        and all(name.startswith(head) for name in entry.names)
        for head in heads
    )


def emitted_spans(project: Project) -> dict[str, Place]:
    """Every name or template that some site emits, with the first such site."""
    found: dict[str, Place] = {}
    for site in (*project.spans.sites, *project.spans.unseen):
        for template in sorted(site.name.templates):
            if template not in found and template.strip(HOLE):
                found[template] = site.place
    return found


def is_emitted(project: Project, name: str, emitted: dict[str, Place]) -> bool:
    """Whether a name or a pattern of one is emitted, by the project or by a library."""
    if name in emitted or project.documents.is_reserved(name):
        return True
    if any(overlap(name, display(template)) for template in emitted):
        return True
    return any(
        name.startswith(own.partition("*")[0]) and overlap(name, own)
        for own in project.vocabulary.emitted_spans
    )


class _Unmatched:
    """The names on either side that have no counterpart, worked out once for all findings."""

    def __init__(self, project: Project) -> None:
        self._project = project

    @cached_property
    def stale(self) -> dict[str, Place]:
        """Plain documented names without an emitter: what an undocumented name may have been."""
        project, emitted = self._project, emitted_spans(self._project)
        return {
            name: entry.place
            for entry in project.documents.of_kind("span")
            for name in entry.names
            if entry.status == "active"
            and "*" not in name
            and not is_emitted(project, name, emitted)
        }

    @cached_property
    def undocumented(self) -> set[str]:
        """Plain emitted names that no row covers: what a stale row may have to be renamed to."""
        project = self._project
        return {
            name
            for name in emitted_spans(project)
            if HOLE not in name and _speaks_of(project, name) and not _documented(project, name)
        }


def _active_elsewhere(project: Project, kind: str, name: str) -> bool:
    return any(
        entry.kind == kind and entry.status == "active" and name in entry.names
        for entry in project.documents.entries
    )


def _through(site: SpanSite) -> list[tuple[Place, str]]:
    """The project's own helper that opens the span, as a related place."""
    return [(helper.place(helper.node), f"opened by {helper.label}") for helper in site.via[:1]]
