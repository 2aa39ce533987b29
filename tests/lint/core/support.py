"""Short ways to ask what the checker sees of a project."""

from __future__ import annotations

from collections.abc import Mapping

from rltel_lint.findings import Finding
from rltel_lint.project.spans import SpanSite
from rltel_lint.rules.base import Rule
from rltel_lint.rules.catalogue import ALL_RULES
from rltel_lint.values import display
from tests.lint.support import link, lint

CORE = frozenset(
    {
        *("RLT000", "RLT002", "RLT101", "RLT102", "RLT103", "RLT104", "RLT106"),
        *("RLT201", "RLT202", "RLT203", "RLT204", "RLT401", "RLT402", "RLT403"),
        *("RLT404", "RLT405", "RLT406"),
    }
)
"""The rules that these tests are about."""

IMPORTS = """
from rl_telemetry.instrumentation import managed_span, trace_fn, umbrella_span
from rl_telemetry.span_groups import RLSpanGroup
"""


def named(source: str | Mapping[str, str], **options: str) -> set[str]:
    """Returns the span names that the sites of a project may have, ``**`` for a hole."""
    files = {"train.py": IMPORTS + source} if isinstance(source, str) else source
    spans = link(files, **options).spans
    return {
        display(template)
        for site in (*spans.sites, *spans.unseen)
        for template in site.name.templates
    }


def sites(source: str | Mapping[str, str]) -> list[SpanSite]:
    """Returns the span sites of a project."""
    files = {"train.py": IMPORTS + source} if isinstance(source, str) else source
    return link(files).spans.sites


def groups(source: str | Mapping[str, str]) -> set[str]:
    """Returns the groups that the sites of a project may have."""
    return {
        display(template)
        for site in sites(source)
        if site.group is not None
        for template in site.group.templates
    }


def rows(*names: str) -> str:
    """Returns a page that documents spans."""
    return "| Span | What it covers |\n|---|---|\n" + "".join(
        f"| `{name}` | x |\n" for name in names
    )


def check(files: Mapping[str, str], *rules: type[Rule], **options: str) -> list[Finding]:
    """Returns the findings of rules, by default of all that these tests are about."""
    core = [rule for rule in ALL_RULES if rule.code in CORE]
    return lint(files, *(rules or core), **options)


def codes(files: Mapping[str, str], **options: str) -> list[str]:
    """Returns the codes of all findings, in report order."""
    return [finding.code for finding in check(files, **options)]


def undocumented(files: Mapping[str, str], *documented: str) -> set[str]:
    """Returns the names that RLT101 reports when only some are documented."""
    found = check({**files, "docs/spans.md": rows("rl.documented", *documented)})
    return {f.message.split('"')[1] for f in found if f.code == "RLT101"}
