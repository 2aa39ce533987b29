"""What could not be read, and what was named and matches nothing."""

from __future__ import annotations

from collections.abc import Iterator

from rltel_lint.facts import nodes as n
from rltel_lint.facts.templates import overlap
from rltel_lint.findings import Finding, Place
from rltel_lint.project.linked import Project
from rltel_lint.rules.base import Rule
from rltel_lint.rules.wording import listed
from rltel_lint.values import display


class Unreadable(Rule):
    """A file that cannot be read or parsed was not checked; whatever it emits or documents is
    missing from every comparison. The rest of the project is still checked.

    Mend the file, or exclude it. Python that is newer than the Python rltel-lint runs under is
    read all the same.
    """

    code = "RLT000"
    name = "unreadable"
    summary = "a file, or a part of it, cannot be read or parsed"
    bad = """
        --- train.py
        def train(:  # <- RLT000
            ...
    """
    good = """
        --- train.py
        def train():
            ...
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each problem of a source file or a document."""
        for path, facts in sorted(project.sources.items()):
            if facts.refused is None and not facts.problems:
                continue
            for problem in facts.problems:
                yield self.finding(
                    Place(path, problem.line),
                    f"cannot be parsed: {problem.message}; correct the file or exclude it",
                )
        for document in project.documents.facts:
            for line, message in document.problems:
                yield self.finding(Place(document.path, line), message)


class MatchesNothing(Rule):
    """A checker that sees nothing must not look like one that found nothing. Whatever the
    configuration names, and every helper that the code imports, should match something. So
    should every entry of the baseline: one that has been mended would let the same finding back
    in, so `rltel-lint check --write-baseline` drops it.

    Correct the name, or take it out.
    """

    code = "RLT002"
    name = "matches-nothing"
    summary = "something named in the configuration or imported matches nothing"
    bad = """
        --- pyproject.toml
        [tool.rltel-lint]
        reserved = ["rl.grpo.later"]  # <- RLT002
        --- train.py
        STEPS = 3
    """
    good = """
        --- pyproject.toml
        [tool.rltel-lint]
        reserved = ["rl.grpo.later"]
        --- train.py
        STEPS = 3
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.later` | planned |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each name without a match."""
        for key, value in project.unmatched_globs:
            yield self.finding(
                project.configured_at(value),
                f'"{value}" under "{key}" matches no file; correct the glob or take it out',
            )
        names = {name for entry in project.documents.entries for name in entry.names}
        names |= {display(t) for site in project.spans.sites for t in site.name.templates}
        names |= {group.name for group in project.groups.declared}
        names |= project.dashboards.names
        for reserved in project.documents.reserved:
            if not any(overlap(reserved, name) for name in names):
                yield self.finding(
                    project.configured_at(reserved),
                    f'"{reserved}" under "reserved" is neither documented nor emitted; '
                    "correct it or take it out",
                )
        used = {site.helper.name for site in (*project.spans.sites, *project.spans.inner)}
        for name in sorted(project.vocabulary.own - used):
            yield self.finding(
                project.configured_at(name),
                f'"{name}" under "vocabulary" matches no call in the code; check its module and '
                "signature, or take it out",
            )
        yield from self._imported(project, used)

    def _imported(self, project: Project, used: set[str]) -> Iterator[Finding]:
        """Helpers that are imported and named, while no use of them was recognised."""
        for helper in project.vocabulary.helpers:
            if helper.name in used or not helper.modules:
                continue
            places = [
                module.place(node)
                for module, unit in project.finder.mentioning([helper.name])
                if not module.is_package and not project.span_finder.implements(f"{module.name}.")
                for statement in unit.statements
                for node in n.walk(statement)
                if isinstance(node, n.Import)
                and _is_from(node.module or "", helper.modules)
                and any(original == helper.name for original, _ in node.names)
            ]
            if places and _named_beyond_import(project, helper.name, places[0].path):
                yield self.finding(
                    places[0],
                    f"{helper.name} is imported, but none of its uses was recognised in "
                    f"{listed(sorted({place.path for place in places})[:3])}; teach the checker "
                    'the helper that takes it under "vocabulary"',
                )


def _is_from(module: str, prefixes: tuple[str, ...]) -> bool:
    return any(module == prefix or module.startswith(f"{prefix}.") for prefix in prefixes)


def _named_beyond_import(project: Project, name: str, path: str) -> bool:
    """Whether the file uses the name in code, not only in its import and ``__all__``."""
    module = project.modules.modules[path]
    for unit in module.facts.all_units():
        if not unit.has(name):
            continue
        for statement in unit.statements:
            if isinstance(statement, n.Assign) and n.dotted(statement.targets[0]) == "__all__":
                continue
            if any(isinstance(node, n.Name) and node.id == name for node in n.walk(statement)):
                return True
    return False
