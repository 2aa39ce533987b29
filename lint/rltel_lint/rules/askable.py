"""The names that a query may ask for, in the spelling that they have there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rltel_lint.findings import Place
from rltel_lint.project.dashboards import exported
from rltel_lint.project.linked import Project
from rltel_lint.project.series import Instrument
from rltel_lint.rules.series import made_series
from rltel_lint.values import HOLE, display

_RECORDED = re.compile(r"\.(?:set|record|add|observe|inc)\((?:[^(){}]|\([^()]*\))*\{([^{}]*)\}")
_LABELS = ("attributes", "attrs", "labels", "tags")
_LABELLED = re.compile(rf"\b(?:{'|'.join(_LABELS)})\s*(?::[^=\n]*)?=\s*\{{([^{{}}]*)\}}")
_KEY = re.compile(r"[\"'](\w+)[\"']\s*:")


def known_series(project: Project) -> dict[str, tuple[str, Place]] | None:
    """What is recorded, as exported, with its name and place; ``None`` if that is not known."""
    unread = (project.modules.modules[at.path] for at in project.metrics.declared.unread)
    if not all(project.span_finder.implements(f"{module.name}.") for module in unread):
        return None
    found: dict[str, tuple[str, Place]] = {}
    own = False
    for name, (place, _) in made_series(project).items():
        own = own or project.in_namespace(name)
        found[exported(name)] = (name, place)
    for instrument in project.series.instruments:
        for template in instrument.name.templates:
            if not template.strip(HOLE):
                return None
            found.setdefault(exported(display(template)), (display(template), _at(instrument)))
            own = own or project.in_namespace(template)
    for name, place in project.dashboards.recorded.items():
        found.setdefault(exported(name), (name, place))
    for name in _of_library(project):
        found.setdefault(exported(name), (name, Place("")))
    return found if own else None


def _at(instrument: Instrument) -> Place:
    return instrument.site.place


def _of_library(project: Project) -> Iterator[str]:
    """Yields what a library records; not what its callers provably never give it."""
    yield from project.vocabulary.emitted_metrics
    yield from project.vocabulary.metrics.library.values()
    for row in project.metrics.declared.teed + project.metrics.recorded:
        yield row.name
    for recorder in project.vocabulary.recorders:
        for name in recorder.series:
            calls = project.series.recordings_of(name)
            if not calls or any(project.series.passes(*call) for call in calls):
                yield name


def written_names(project: Project) -> frozenset[str]:
    """Names in the code that may be those of series, as exported; what is open ends in ``**``."""
    found: set[str] = set()
    for prefix in project.namespaces:
        bare = exported(prefix)
        literal = re.compile(rf"[\"']((?:{re.escape(prefix)}|{re.escape(bare)})[\w.]+)([\"'{{%])")
        for module in project.modules:
            if module.facts.has(prefix) or module.facts.has(bare):
                for name, end in module.facts.findall(literal):
                    is_open = end in "{%" or name[-1] in "._"
                    found.add(exported(name) + ("**" if is_open else ""))
    return frozenset(found)


def reserved_series(project: Project) -> list[str]:
    """Returns the series that may have no recorder, by the configuration and by their rows."""
    reserved = [exported(name) for name in project.documents.reserved]
    rows = project.documents.of_kind("metric")
    return reserved + [exported(n) for row in rows if row.status == "reserved" for n in row.names]


def known_labels(project: Project) -> dict[str, str]:
    """The names in the project's namespace that may be labels, by their exported form."""
    names = {x for one in project.attributes.set for x in map(display, one.name.templates)}
    names |= set(project.vocabulary.attributes.stamped)
    names |= set(project.documents.reserved)
    for kind in ("attribute", "resource"):
        for row in project.documents.of_kind(kind):
            if kind == "resource" or row.status == "reserved":
                names.update(row.names)
    found = {exported(name): name for name in sorted(names) if name.strip("*")}
    return {**{name: name for name in written_names(project)}, **found}


def recorded_keys(project: Project) -> dict[str, set[str]]:
    """The keys of mappings that are recorded with a value, by their letters alone."""
    found: dict[str, set[str]] = {}
    for module in project.modules:
        mappings = module.facts.findall(_RECORDED)
        if any(module.facts.has(f"{name}{end}") for name in _LABELS for end in "= :"):
            mappings = mappings + module.facts.findall(_LABELLED)
        for key in (key for mapping in mappings for key in _KEY.findall(mapping)):
            found.setdefault(folded(key), set()).add(key)
    return found


def folded(name: str) -> str:
    """Returns a name by its letters alone."""
    return name.replace("_", "").lower()


def is_spelled(project: Project, name: str) -> bool:
    """Whether the code has this very word anywhere."""
    return bool(project.modules.mentioning(name))
