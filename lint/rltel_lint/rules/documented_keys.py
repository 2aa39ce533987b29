"""The logger key of a documented metric: the one its row in the code has, and really logged."""

from __future__ import annotations

from collections.abc import Iterator

from rltel_lint.facts.entries import DocumentEntry
from rltel_lint.facts.templates import TemplateError, expand, overlap
from rltel_lint.findings import Place
from rltel_lint.project.linked import Project
from rltel_lint.project.metrics.declared import MetricRow
from rltel_lint.rules.wording import listed, nearest, quoted

Told = tuple[str, list[tuple[Place, str]]]
"""A message and the places that belong to it."""


def disagreements(project: Project, entry: DocumentEntry, name: str) -> Iterator[Told]:
    """Yields what is wrong with the logger key of a documented metric.

    Args:
        project: The project.
        entry: The row of a document.
        name: The metric, one of the row's names.
    """
    rows = [row for row in project.metrics.declared.teed if row.name == name]
    written = _written(entry)
    if rows:
        keys = {row.key for row in rows}
        if all(keys) and written and not _agree(project, written, keys):
            yield _other_key(entry, name, keys, _related(rows))
        return
    if not all_rows_are_read(project):
        return  # a row whose key is not known may be the one of this metric
    taken = {row.key for row in project.metrics.declared.teed}  # an own row goes before these
    library = project.vocabulary.metrics.library
    keys = {key for key, series in library.items() if series == name and key not in taken}
    if not keys or not project.metrics.logged:
        return
    if written and not _agree(project, written, keys):
        yield _other_key(entry, name, keys, [])
        return
    yield from _unlogged(project, name, keys)


def all_rows_are_read(project: Project) -> bool:
    """Whether the project itself makes no row whose key is not known."""
    unread = (project.modules.modules[place.path] for place in project.metrics.declared.unread)
    return all(project.span_finder.implements(f"{module.name}.") for module in unread)


def _unlogged(project: Project, name: str, keys: set[str]) -> Iterator[Told]:
    if any("*" in key for key in keys):
        return
    found = [project.metrics.emission(key) for key in sorted(keys)]
    if not all(one.status in {"never", "elsewhere"} for one in found):
        return
    prefixes = project.vocabulary.metrics.prefixes
    under = _choice(f'"{prefix}"' if prefix else "the empty prefix" for prefix in prefixes)
    near = nearest(min(keys), project.metrics.logged_keys(prefixes) - set(keys))
    hint = f'is it logged as "{near}"?' if near else "log it, or take the row out"
    what = _choice(f'"{key}"' for key in sorted(keys))
    message = f'documented metric "{name}" is never recorded: nothing logs {what} under {under}'
    places = [place for one in found for place in one.at][:3]
    yield f"{message}; {hint}", [(place, "the key is written here") for place in places]


def _other_key(
    entry: DocumentEntry, name: str, keys: set[str], related: list[tuple[Place, str]]
) -> Told:
    said = quoted(entry.column("key"))
    return (
        f'documented metric "{name}" has the logger key {said} in its row, but '
        f"{quoted(sorted(keys))} in its declaration; correct the row",
        related,
    )


def _related(rows: list[MetricRow]) -> list[tuple[Place, str]]:
    return [(row.place, "it is declared here") for row in rows]


def _choice(words: Iterator[str]) -> str:
    return listed(words).replace(" and ", " or ")


def _written(entry: DocumentEntry) -> tuple[str, ...]:
    """The keys of the row's *Logger key* column as patterns; none if one cannot be read."""
    found: list[str] = []
    for text in entry.column("key"):
        try:
            found += expand(text.strip().strip("`\"'")).names
        except TemplateError:
            return ()
    return tuple(found)


def _agree(project: Project, written: tuple[str, ...], keys: set[str]) -> bool:
    """Whether a documented key may be one of these, with its prefix before it or without."""
    prefixes = [f"{prefix}/" for prefix in project.vocabulary.metrics.prefixes if prefix]
    wanted = {start + key for key in keys for start in ("", *prefixes)}
    # Of a key, ``*`` in a document is anything: keys have no segments.
    return any(
        overlap(text.replace("*", "**").replace("****", "**"), key.replace("*", "**"))
        for text in written
        for key in wanted
    )
