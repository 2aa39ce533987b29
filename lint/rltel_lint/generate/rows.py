"""What the code says of each name: the cells that a generated table takes from the inventory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from rltel_lint.facts.templates import overlap
from rltel_lint.inventory import Inventory
from rltel_lint.project.linked import Project
from rltel_lint.rules.series import made_series
from rltel_lint.values import HOLE, display


@dataclass(frozen=True)
class Row:
    """One name that the code has.

    Attributes:
        name: The name; ``**`` stands for what is not known.
        cells: The names in its typed columns, by the kind of the column.
    """

    name: str
    cells: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def written(self) -> str:
        """The name as a document writes it."""
        return self.name.replace("**", "<name>")


COLUMNS: dict[str, tuple[str, ...]] = {
    "span": ("Span", "Group", "Bucket", "Description"),
    "group": ("Group", "Presets", "Bucket", "Description"),
    "preset": ("Preset", "Groups", "Description"),
    "metric": ("Metric", "Type", "Unit", "Logger key", "Description"),
}
"""The header of a table that has none yet."""


def rows_of(kind: str, project: Project, inventory: Inventory) -> list[Row]:
    """Returns all rows of a kind, sorted by name.

    Args:
        kind: An entry's kind.
        project: The linked project.
        inventory: What it emits.
    """
    return sorted(_ROWS[kind](project, inventory), key=lambda row: row.written)


def elsewhere(kind: str, project: Project) -> tuple[str, ...]:
    """Returns what rows may name although the code does not have it as a plain name.

    That is what a library emits by itself, what the configuration reserves, and series whose
    name is put together at run time.
    """
    found = project.documents.reserved
    if kind == "span":
        return (*found, *project.vocabulary.emitted_spans)
    if kind == "metric":
        open_names = {
            display(template)
            for instrument in project.series.instruments
            for template in instrument.name.templates
            if HOLE in template
        }
        return (*found, *project.vocabulary.emitted_metrics, *sorted(open_names))
    return found


def belongs(name: str, patterns: tuple[str, ...]) -> bool:
    """Whether a name belongs into a table; without patterns every one does."""
    return not patterns or any(overlap(_open(pattern), name) for pattern in patterns)


def _open(pattern: str) -> str:
    return f"{pattern}*" if pattern.endswith("*") and not pattern.endswith("**") else pattern


def _spans(project: Project, inventory: Inventory) -> Iterator[Row]:
    for line in inventory.spans:
        if project.in_namespace(line.name) and line.name.strip("*") not in project.namespaces:
            bucket = (line.bucket,) if line.bucket else ()
            yield Row(line.name, {"group": line.groups, "bucket": bucket})


def _groups(project: Project, inventory: Inventory) -> Iterator[Row]:
    presets = _all_presets(project)
    for line in inventory.groups:
        bucket = project.vocabulary.bucket_of(line.name)
        within = sorted(name for name, groups in presets.items() if line.name in groups)
        if line.declared != "nowhere" and (line.uses or line.declared != "library"):
            cells = {"preset": tuple(within), "bucket": (bucket,) if bucket else ()}
            yield Row(line.name, cells)


def _presets(project: Project, inventory: Inventory) -> Iterator[Row]:
    for name, groups in _all_presets(project).items():
        yield Row(name, {"group": tuple(groups)})


def _all_presets(project: Project) -> dict[str, tuple[str, ...]]:
    """The presets that the project declares; those of the library where it declares none."""
    own = {
        preset.name: tuple(dict.fromkeys(group for group, _ in preset.groups))
        for preset in project.groups.presets
        if preset.complete
    }
    if own or project.groups.presets:
        return own
    found: dict[str, tuple[str, ...]] = {}
    for known in project.vocabulary.group_classes:
        found.update(known.presets)
    return found


def _metrics(project: Project, inventory: Inventory) -> Iterator[Row]:
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for line in inventory.metrics:
        if line.source == "field" or not line.name:
            continue
        known = {"key": line.key, "type": line.kind, "unit": line.unit}
        cells = found.setdefault(line.name, {})
        for kind, value in known.items():
            if value and value not in cells.get(kind, ()):
                cells[kind] = (*cells.get(kind, ()), value)
    for name in made_series(project):
        found.setdefault(name, {})
    for name, cells in found.items():
        yield Row(name, cells)


_ROWS = {"span": _spans, "group": _groups, "preset": _presets, "metric": _metrics}
