"""Span groups and presets: declared, used, documented."""

from __future__ import annotations

from collections.abc import Iterator

from rltel_lint.changes import Fix
from rltel_lint.facts.entries import DocumentEntry
from rltel_lint.findings import Finding, Place
from rltel_lint.project.groups import Preset
from rltel_lint.project.linked import Project
from rltel_lint.rules.base import Rule
from rltel_lint.rules.offers import add_row, pair_of, remove_row, rename_rows, take_out
from rltel_lint.rules.wording import nearest, quoted


class UnemittedGroup(Rule):
    """Somebody enables a group to see more, gets silence, and cannot tell a quiet system from a
    group that no code uses.

    Open a span under the group, remove it, or mark its documented row as *reserved*. Only groups
    that the checked project declares are looked at; those of a library are its own to emit.
    Asking whether the group is enabled counts as a use.
    """

    code = "RLT201"
    name = "unemitted-group"
    summary = "a group is registered, but no span uses it"
    bad = """
        --- groups.py
        from rl_telemetry.registry import SpanRegistry

        SpanRegistry.register(
            "search",
            ["search"],  # <- RLT201
        )
    """
    good = """
        --- groups.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.registry import SpanRegistry

        SpanRegistry.register(
            "search",
            ["search"],
        )

        def search():
            with managed_span("search", "rl.search.run"):
                ...
        --- docs/spans.md
        | Span | Group |
        |---|---|
        | `rl.search.run` | `search` |

        | Group | What it covers |
        |---|---|
        | `search` | tree search |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each declared group without a site."""
        if project.open_groups:
            return
        for group in project.groups.declared:
            if group.name in project.group_uses or _reserved(project, group.name):
                continue
            near = nearest(group.name, set(project.group_uses) - project.groups.names)
            hint = f'; did you mean "{near}"?' if near else ""
            yield self.finding(
                group.place,
                f'group "{group.name}" is registered, but no span uses it{hint or "; "}'
                f"{'' if hint else 'open one, remove the group, or document it as reserved'}",
            )


class UnregisteredGroup(Rule):
    """A span under a group that nothing registers can never be enabled, not even by `all`.

    Register the group, or use the one that was meant.
    """

    code = "RLT202"
    name = "unregistered-group"
    summary = "a span uses a group that is not registered"
    bad = """
        --- train.py
        from rl_telemetry.instrumentation import managed_span

        def score():
            with managed_span("rewards", "rl.grpo.reward"):  # <- RLT202
                ...
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.reward` | scoring |
    """
    good = """
        --- train.py
        from rl_telemetry.instrumentation import managed_span

        def score():
            with managed_span("reward", "rl.grpo.reward"):
                ...
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.reward` | scoring |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each site under a group that does not exist."""
        groups = project.groups
        if not groups.closed or not groups.names:
            return
        for site in project.spans.sites:
            group = site.group.exact if site.group is not None else None
            if group is None or group in groups.names:
                continue
            near = nearest(group, groups.names)
            hint = f'did you mean "{near}"?' if near else "register it, or use a registered one"
            yield self.finding(site.place, f'group "{group}" is registered nowhere; {hint}')


class PresetDrift(Rule):
    """A preset is what people switch on. A group in it that is registered nowhere, or that no
    span uses, promises data that never comes; a documented row that differs from the code
    misleads whoever chooses by it.

    Make the preset, the registry and the row agree.
    """

    code = "RLT203"
    name = "preset-drift"
    summary = "a preset names a dead group or differs from its documented row"
    bad = """
        --- groups.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.registry import SpanRegistry

        SpanRegistry.register(
            "search",
            ["search"],
            presets={"deep": ["search", "serach"]},  # <- RLT203
        )

        def search():
            with managed_span("search", "rl.search.run"):
                ...
        --- docs/spans.md
        | Span | Group |
        |---|---|
        | `rl.search.run` | `search` |

        | Group | What it covers |
        |---|---|
        | `search` | tree search |
    """
    good = """
        --- groups.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.registry import SpanRegistry

        SpanRegistry.register(
            "search",
            ["search"],
            presets={"deep": ["search"]},
        )

        def search():
            with managed_span("search", "rl.search.run"):
                ...
        --- docs/spans.md
        | Span | Group |
        |---|---|
        | `rl.search.run` | `search` |

        | Group | What it covers |
        |---|---|
        | `search` | tree search |

        | Preset | Groups |
        |---|---|
        | `deep` | `search` |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each dead member of a preset and each row that differs."""
        for preset in project.groups.presets:
            yield from self._members(project, preset)
        presets = {preset.name: preset for preset in project.groups.presets}
        known = {
            name: frozenset(groups)
            for library in project.vocabulary.group_classes
            for name, groups in library.presets.items()
        }
        for entry in project.documents.of_kind("preset"):
            yield from self._row(project, entry, presets, known)

    def _members(self, project: Project, preset: Preset) -> Iterator[Finding]:
        groups = project.groups
        own = {group.name for group in groups.declared}
        wildcard = own <= {name for name, _ in preset.groups}  # RLT201 says it already
        for name, place in preset.groups:
            if name not in groups.names and groups.closed:
                near = nearest(name, groups.names)
                hint = f'did you mean "{near}"?' if near else "register it or take it out"
                yield self.finding(
                    place,
                    f'preset "{preset.name}" names group "{name}", which is registered nowhere; '
                    f"{hint}",
                    # Dead weight if the group that was meant is in the preset already.
                    fix=take_out(place, f'"{name}"', safe=near in {g for g, _ in preset.groups}),
                )
            elif (
                name in own
                and not wildcard
                and name not in project.group_uses
                and not project.open_groups
                and not _reserved(project, name)
            ):
                yield self.finding(
                    place,
                    f'preset "{preset.name}" names group "{name}", which no span uses; '
                    "open a span under it or take it out",
                    fix=take_out(place, f'"{name}"'),
                )

    def _row(
        self,
        project: Project,
        entry: DocumentEntry,
        presets: dict[str, Preset],
        known: dict[str, frozenset[str]],
    ) -> Iterator[Finding]:
        documented = _expanded(entry.column("group"), presets, known)
        for name in entry.names:
            preset = presets.get(name)
            if preset is not None and preset.complete:
                real, place = frozenset(group for group, _ in preset.groups), preset.place
            elif preset is None and name in known and not project.groups.presets:
                real, place = known[name], None
            else:
                continue
            if documented == {"*"}:
                documented = project.groups.names
            if not documented or not documented <= project.groups.names | real:
                continue
            if documented in {real, project.groups.names}:
                continue
            missing, extra = sorted(real - documented), sorted(documented - real)
            parts = [f"leaves out {quoted(missing)}"] if missing else []
            parts += [f"adds {quoted(extra)}"] if extra else []
            yield self.finding(
                entry.place,
                f'the row of preset "{name}" {" and ".join(parts)}; make the row and the code '
                "agree",
                [(place, "declared here")] if place else [],
            )


class GroupsDocumentedDiffer(Rule):
    """The group table is where people learn what they can switch on. A group that is missing
    there is never enabled; one that does not exist is a setting without effect.

    Add or remove the row. Nothing is reported while no document has a group table.
    """

    code = "RLT204"
    name = "groups-documented-differ"
    summary = "the documented groups are not the registered ones"
    bad = """
        --- groups.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.registry import SpanRegistry

        SpanRegistry.register(
            "search",
            ["search"],
        )

        def search():
            with managed_span("search", "rl.search.run"):
                ...
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.search.run` | tree search |

        | Group | What it covers |
        |---|---|
        | `search` | tree search |
        | `searching` | tree search | <- RLT204
    """
    good = """
        --- groups.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.registry import SpanRegistry

        SpanRegistry.register(
            "search",
            ["search"],
        )

        def search():
            with managed_span("search", "rl.search.run"):
                ...
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.search.run` | tree search |

        | Group | What it covers |
        |---|---|
        | `search` | tree search |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each group that only one side knows."""
        rows = project.documents.of_kind("group")
        groups = project.groups
        if not rows or not groups.names:
            return
        documented = {name for row in rows for name in row.names}
        seen: set[tuple[str, Place]] = set()
        for row in rows:
            for name in row.names:
                if "*" in name or name in groups.names:
                    continue
                if row.status in {"deprecated", "retired"}:
                    continue
                if not groups.closed or (name, row.place) in seen:
                    continue
                seen.add((name, row.place))
                if project.documents.is_reserved(name) or row.status == "reserved":
                    continue
                near = nearest(name, groups.names - documented) or nearest(name, groups.names)
                hint = f'did you mean "{near}"?' if near else "remove the row or register it"
                yield self.finding(
                    row.place,
                    f'documented group "{name}" is registered nowhere; {hint}',
                    fix=_mended_row(project, row, name, documented),
                )
        for group in groups.declared:
            if group.name not in documented and not project.documents.is_reserved(group.name):
                yield self.finding(
                    group.place,
                    f'group "{group.name}" is not in any group table; add a row',
                    [(rows[0].place, "other groups are documented here")],
                    self._row_for(project, group.name, documented),
                )

    @staticmethod
    def _row_for(project: Project, group: str, documented: set[str]) -> Fix | None:
        """A stale row is renamed, else a row is added."""
        free = {one.name for one in project.groups.declared} - documented
        pair = pair_of(group, _stale_groups(project, documented), free)
        if pair is not None:
            return rename_rows(project, "group", pair)
        return add_row(project, "group", group)


def _mended_row(
    project: Project, row: DocumentEntry, name: str, documented: set[str]
) -> Fix | None:
    """A row is renamed to a group that no row documents, else removed."""
    free = {group.name for group in project.groups.declared} - documented
    pair = pair_of(name, _stale_groups(project, documented), free)
    if pair is not None:
        return rename_rows(project, "group", pair)
    return remove_row(project, row)


def _stale_groups(project: Project, documented: set[str]) -> set[str]:
    return {
        name
        for name in documented - project.groups.names
        if "*" not in name and not _reserved(project, name)
    }


def _expanded(
    items: tuple[str, ...], presets: dict[str, Preset], known: dict[str, frozenset[str]]
) -> frozenset[str]:
    """The groups of a preset's row; another preset in it stands for that one's groups."""
    found: set[str] = set()
    for item in items:
        preset = presets.get(item)
        if preset is not None and preset.complete:
            found |= {group for group, _ in preset.groups}
        else:
            found |= known.get(item, {item})
    return frozenset(found)


def _reserved(project: Project, group: str) -> bool:
    if project.documents.is_reserved(group):
        return True
    return any(
        row.status != "active" and group in row.names for row in project.documents.of_kind("group")
    )
