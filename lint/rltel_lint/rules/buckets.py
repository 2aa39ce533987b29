"""Groups against buckets and presets: what is counted, and what a preset shows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rltel_lint.facts.entries import DocumentEntry
from rltel_lint.findings import Finding, Place
from rltel_lint.project.buckets import BucketTable
from rltel_lint.project.groups import Group
from rltel_lint.project.linked import Project
from rltel_lint.project.spans import SpanSite
from rltel_lint.rules.base import Rule
from rltel_lint.rules.offers import take_out
from rltel_lint.rules.wording import nearest, quoted, shown

_BUCKETS = frozenset({"productive", "overhead", "idle", "wasted"})
_ON_PURPOSE = re.compile(r"\ball\b|\bpresets?\b|opt[ -]?in|deliberate|explicit", re.IGNORECASE)
_AROUND = 8
"""So many lines around a group's declaration may say why no preset has it."""


class BucketDrift(Rule):
    """Goodput is the sum of span time by `rl.bucket`. A leaf group that the bucket table does not
    know falls back to overhead, an entry for a group that nobody opens decides nothing, and a
    documented table that differs from the code makes readers add up the wrong spans.

    Make the table in the code, the registered groups and the documents agree. Umbrella groups
    have no bucket, and the efficiency group takes its bucket from its category.
    """

    code = "RLT205"
    name = "bucket-drift"
    summary = "groups, the bucket table and its documented copy disagree"
    bad = """
        --- groups.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.registry import SpanRegistry

        SpanRegistry.register(
            "search",
            ["search", "expand"],
        )
        DEFAULT_GROUP_BUCKET = {
            "search": "productive",
            "serach": "productive",  # <- RLT205
            "expand": "overhead",
        }

        def search():
            with managed_span("search", "rl.search.run"):
                ...
            with managed_span("expand", "rl.search.expand"):
                ...
    """
    good = """
        --- groups.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.registry import SpanRegistry

        SpanRegistry.register(
            "search",
            ["search", "expand"],
        )
        DEFAULT_GROUP_BUCKET = {
            "search": "productive",
            "expand": "overhead",
        }

        def search():
            with managed_span("search", "rl.search.run"):
                ...
            with managed_span("expand", "rl.search.expand"):
                ...
        --- docs/spans.md
        | Span | Group |
        |---|---|
        | `rl.search.run` | `search` |
        | `rl.search.expand` | `expand` |

        | Group | Bucket |
        |---|---|
        | `search` | `productive` |
        | `expand` | `overhead` |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each group that the tables disagree about."""
        own = [table for table in project.bucket_tables if not table.library]
        if own and all(table.complete for table in own):
            yield from self._missing(project, own)
        for table in own:
            yield from self._entries(project, table)
        yield from self._documented(project)

    def _missing(self, project: Project, tables: list[BucketTable]) -> Iterator[Finding]:
        groups = project.groups
        known = {entry.group for table in tables for entry in table.entries}
        for group in groups.declared:
            if group.name in known | groups.umbrellas | {project.vocabulary.efficiency_group}:
                continue
            if group.name not in project.group_uses or project.open_groups:
                continue
            if nearest(group.name, known - groups.names):
                continue  # the misspelt entry is reported
            if not any(_counted(site, group.name) for site in project.spans.sites):
                continue
            yield self.finding(
                group.place,
                f'group "{group.name}" is opened as a leaf, but {tables[0].name} has no bucket '
                "for it; add one, or make it an umbrella",
                [(tables[0].place, "the other groups have theirs here")],
            )

    def _entries(self, project: Project, table: BucketTable) -> Iterator[Finding]:
        groups = project.groups
        own = {group.name for group in groups.declared}
        for entry in table.entries:
            if entry.group in groups.umbrellas:
                yield self.finding(
                    entry.place,
                    f'{table.name} has a bucket for "{entry.group}", which is an umbrella group '
                    "and counts in none; take it out",
                    fix=take_out(entry.place, f'"{entry.group}"'),
                )
            elif entry.group not in groups.names and groups.closed and groups.names:
                near = nearest(entry.group, groups.names)
                hint = f'did you mean "{near}"?' if near else "register it or take it out"
                yield self.finding(
                    entry.place,
                    f'{table.name} has a bucket for "{entry.group}", which is registered nowhere; '
                    f"{hint}",
                    # A group that lacks its bucket may have been meant.
                    fix=take_out(
                        entry.place,
                        f'"{entry.group}"',
                        safe=near is None or near in {one.group for one in table.entries},
                    ),
                )
            elif (
                entry.group in own
                and entry.group not in project.group_uses
                and not project.open_groups
                and not _reserved(project, entry.group)
            ):
                yield self.finding(
                    entry.place,
                    f'{table.name} has a bucket for "{entry.group}", which no span uses; open a '
                    "span under it, take it out, or document the group as reserved",
                    fix=take_out(entry.place, f'"{entry.group}"'),
                )

    # -- documents ----------------------------------------------------------------------

    def _documented(self, project: Project) -> Iterator[Finding]:
        known: dict[str, tuple[str, Place | None]] = {}
        for table in project.bucket_tables:
            for entry in table.entries:
                if entry.bucket:
                    known.setdefault(entry.group, (entry.bucket, entry.place))
        for group in project.groups.names - set(known):
            bucket = project.vocabulary.bucket_of(group)
            if bucket:
                known[group] = (bucket, None)
        for row in project.documents.of_kind("group"):
            yield from self._group_row(project, row, known)
        for row in project.documents.of_kind("bucket"):
            yield from self._bucket_row(row, known)
        for row in project.documents.of_kind("span"):
            yield from self._span_row(project, row, known)
            yield from self._category_row(project, row, row.column("category"))
        for row in project.documents.of_kind("category"):
            yield from self._category_row(project, row, row.names)

    def _category_row(
        self, project: Project, row: DocumentEntry, names: tuple[str, ...]
    ) -> Iterator[Finding]:
        buckets = row.column("bucket")
        if len(buckets) != 1 or buckets[0] not in _BUCKETS or row.status != "active":
            return
        for name in names:
            bucket, place = project.categories.buckets.get(name, (buckets[0], None))
            if bucket in _BUCKETS - {buckets[0]}:
                yield self.finding(
                    row.place,
                    f'category "{name}" is documented under bucket "{buckets[0]}", but counts as '
                    f'"{bucket}"; make them agree',
                    [(place, "the bucket is given here")] if place else (),
                )

    def _group_row(
        self, project: Project, row: DocumentEntry, known: dict[str, tuple[str, Place | None]]
    ) -> Iterator[Finding]:
        buckets = row.column("bucket")
        if len(buckets) != 1 or buckets[0] not in _BUCKETS or row.status != "active":
            return
        for name in row.names:
            if name == project.vocabulary.efficiency_group:
                continue
            if name in project.groups.umbrellas:
                yield self.finding(
                    row.place,
                    f'umbrella group "{name}" is documented under bucket "{buckets[0]}", but its '
                    "spans carry none; correct the row",
                )
            elif name in known and known[name][0] != buckets[0]:
                bucket, place = known[name]
                yield self.finding(
                    row.place,
                    f'group "{name}" is documented under bucket "{buckets[0]}", but counts as '
                    f'"{bucket}"; make them agree',
                    [(place, "the bucket is given here")] if place else (),
                )

    def _span_row(
        self, project: Project, row: DocumentEntry, known: dict[str, tuple[str, Place | None]]
    ) -> Iterator[Finding]:
        buckets, groups = row.column("bucket"), row.column("group")
        if len(buckets) != 1 or buckets[0] not in _BUCKETS or row.status != "active":
            return
        counted = [group for group in groups if group not in project.groups.umbrellas]
        if not counted or not all(group in known for group in counted):
            return
        bucket, place = known[counted[0]]
        # What an overhead scope holds counts as overhead, whatever its group.
        fitting = {known[group][0] for group in counted}
        if buckets[0] in {*fitting, project.vocabulary.lifecycle.overhead}:
            return
        sites = [s for s in project.spans.sites if set(row.names) & set(s.name.literals)]
        if any("bucket" in key for site in sites for key in site.attribute_keys()):
            return
        yield self.finding(
            row.place,
            f'span "{shown(row.names[0])}" is documented under bucket "{buckets[0]}", but its '
            f'group "{counted[0]}" counts as "{bucket}"; make them agree',
            [(place, "the bucket is given here")] if place else (),
        )

    def _bucket_row(
        self, row: DocumentEntry, known: dict[str, tuple[str, Place | None]]
    ) -> Iterator[Finding]:
        groups = row.column("group")
        bucket = row.names[0] if len(row.names) == 1 else ""
        if bucket not in _BUCKETS or not groups:
            return
        for name in groups:
            if name in known and known[name][0] != bucket:
                place = known[name][1]
                yield self.finding(
                    row.place,
                    f'bucket "{bucket}" is documented with group "{name}", which counts as '
                    f'"{known[name][0]}"; make them agree',
                    [(place, "the bucket is given here")] if place else (),
                )


class GroupInNoPreset(Rule):
    """People switch on a preset. A group that only `all` has is seen by nobody who follows the
    documented advice, so the phase it covers looks uninstrumented.

    Add the group to the preset that its cost allows. Where leaving it out is meant, say so next
    to its declaration, or name it in the documented row of `all`.
    """

    code = "RLT206"
    name = "group-in-no-preset"
    summary = "a group is in no preset but the one with everything"
    bad = """
        --- groups.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.registry import SpanRegistry

        SpanRegistry.register(
            "search",
            ["search",
             "expand"],  # <- RLT206
            presets={"searching": ["search"]},
        )

        def search():
            with managed_span("search", "rl.search.run"):
                ...
            with managed_span("expand", "rl.search.expand"):
                ...
    """
    good = """
        --- groups.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.registry import SpanRegistry

        SpanRegistry.register(
            "search",
            ["search",
             "expand"],
            presets={"searching": ["search"], "deep": ["search", "expand"]},
        )

        def search():
            with managed_span("search", "rl.search.run"):
                ...
            with managed_span("expand", "rl.search.expand"):
                ...
        --- docs/spans.md
        | Span | Group |
        |---|---|
        | `rl.search.run` | `search` |
        | `rl.search.expand` | `expand` |

        | Group | What it covers |
        |---|---|
        | `search` | a search |
        | `expand` | one expansion |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each used group outside every preset."""
        presets = project.groups.presets
        chosen = [preset for preset in presets if preset.name != "all"]
        if not chosen or not all(preset.complete for preset in chosen):
            return
        covered = {name for preset in chosen for name, _ in preset.groups}
        covered |= self._of_library(project)
        for group in self._used(project):
            if group.name in covered or self._on_purpose(project, group):
                continue
            names = quoted(dict.fromkeys(preset.name for preset in chosen))
            yield self.finding(
                group.place,
                f'group "{group.name}" is in no preset but "all"; add it to {names}, or say next '
                "to its declaration that it is left out on purpose",
                [(chosen[0].place, f'preset "{chosen[0].name}" is declared here')],
            )

    @staticmethod
    def _of_library(project: Project) -> set[str]:
        """The groups in the library's presets, unless a class of the project replaces those."""
        attributes = project.vocabulary.preset_attributes
        if any(cls.bindings_of(name) for cls in project.groups.classes for name in attributes):
            return set()
        return {
            name
            for known in project.vocabulary.group_classes
            for groups in known.presets.values()
            for name in groups
        }

    @staticmethod
    def _used(project: Project) -> Iterator[Group]:
        """The groups that spans use: the project's where declared, others where first used."""
        own = {group.name for group in project.groups.declared}
        yield from (g for g in project.groups.declared if g.name in project.group_uses)
        for name in sorted(project.groups.library & set(project.group_uses) - own):
            yield Group(name, "", min(project.group_uses[name]))

    @staticmethod
    def _on_purpose(project: Project, group: Group) -> bool:
        """Whether the code or the documents say that only ``all`` has the group."""
        for row in project.documents.of_kind("preset"):
            if "all" in row.names and group.name in row.column("group"):
                return True
        lines: set[tuple[str, int]] = set()
        for facts in project.documents.facts:
            here = {m.place.line for m in facts.mentions if m.text == group.name}
            here |= {e.place.line for e in facts.entries if group.name in e.names}
            alls = {m.place.line for m in facts.mentions if m.text == "all"}
            alls |= {e.place.line for e in facts.entries if "all" in e.names}
            lines |= {(facts.path, line) for line in here & alls}
        if lines:
            return True
        text = project.modules.modules[group.place.path].facts.lines
        return any(_ON_PURPOSE.search(line) for line in _said_of(text, group.place.line - 1))


def _said_of(lines: list[str], index: int) -> Iterator[str]:
    """Yields the comments above and beside a line, and the text right below it."""
    _, hash_, comment = lines[index].partition("#")
    yield comment if hash_ else ""
    above = index - 1
    while above >= 0 and lines[above].lstrip().startswith("#"):
        yield lines[above]
        above -= 1
    for line in lines[index + 1 : index + _AROUND]:
        if not line.strip() or re.match(r"\s*\w+\s*[=:(]|\s*[\])}]|\s*\w+,\s*$", line):
            return
        yield line


def _counted(site: SpanSite, group: str) -> bool:
    """Whether a span site opens the group with a helper that puts a bucket on its span."""
    leaf = site.helper.kind in {"leaf", "either"}
    return leaf and site.group is not None and group in site.group.literals


def _reserved(project: Project, group: str) -> bool:
    if project.documents.is_reserved(group):
        return True
    return any(
        row.status != "active" and group in row.names for row in project.documents.of_kind("group")
    )
