"""The first documents of a project, and its configuration where it needs one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

from rltel_lint.config import Config
from rltel_lint.generate.pages import generate
from rltel_lint.generate.rows import rows_of
from rltel_lint.inventory import Inventory, take_inventory
from rltel_lint.project.linked import Project
from rltel_lint.vocabulary.load import profile_names

PAGE = "docs/observability/spans.md"
"""The page that is written first."""

_HEAD = """# Spans

What this project emits. `rltel-lint docs --write` fills the tables between the markers;
descriptions and further columns are yours, and stay.
"""
_TITLES = {"span": "Span names", "group": "Span groups", "preset": "Presets", "metric": "Metrics"}
_WORDS = {"span": "spans", "group": "groups", "preset": "presets", "metric": "metrics"}


@dataclass(frozen=True)
class Start:
    """What a project needs to begin with.

    Attributes:
        page: The first page; empty without anything to document.
        settings: The table for ``pyproject.toml``; empty where the defaults fit.
        spans: How many span names there are.
    """

    page: str
    settings: str
    spans: int


def start(config: Config, link: Callable[[Config], Project]) -> Start:
    """Works out what a project needs to begin with.

    Args:
        config: Its configuration.
        link: Links the project under a configuration.
    """
    fitting, settings, project = config, "", link(config)
    if config == Config():
        fitting, project = _fitting(config, link, project)
        settings = _settings(config, fitting)
    inventory = take_inventory(project)
    return Start(_page(project, inventory), settings, len(rows_of("span", project, inventory)))


def _fitting(
    config: Config, link: Callable[[Config], Project], project: Project
) -> tuple[Config, Project]:
    """The configuration whose vocabulary knows most of the code's helpers."""
    best, most = (config, project), _recognised(project)
    if not most:
        for profile in profile_names():
            other = replace(config, profile=(profile,))
            linked = link(other)
            if _recognised(linked) > most:
                best, most = (other, linked), _recognised(linked)
    config, project = best
    names = [name for site in project.spans.sites for name in site.name.literals if "." in name]
    if names and not any(project.in_namespace(name) for name in names):
        prefix, count = Counter(name.partition(".")[0] for name in names).most_common(1)[0]
        if 2 * count > len(names):
            config = replace(config, namespace=(f"{prefix}.",))
            project = link(config)
    return config, project


def _recognised(project: Project) -> int:
    """How many calls of helpers there are; raw tracers, which all profiles know, left aside."""
    sites = (*project.spans.sites, *project.spans.inner)
    return sum(1 for site in sites if not site.helper.receiver)


def _settings(old: Config, new: Config) -> str:
    lines = []
    if new.profile != old.profile:
        lines.append(f'profile = "{new.profile[0]}"\n')
    if new.namespace != old.namespace:
        lines.append(f'namespace = "{new.namespace[0]}"\n')
    return f"[tool.rltel-lint]\n{''.join(lines)}" if lines else ""


def _page(project: Project, inventory: Inventory) -> str:
    if not rows_of("span", project, inventory):
        return ""
    text = _HEAD
    for kind, title in _TITLES.items():
        if rows_of(kind, project, inventory):
            word = _WORDS[kind]
            text += f"\n## {title}\n\n<!-- rltel: begin {word} -->\n<!-- rltel: end -->\n"
    return generate({PAGE: text}, project, inventory).texts.get(PAGE, text)
