"""All generated tables of a project: which are stale, and the pages with current ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from rltel_lint.changes import Edit
from rltel_lint.fixes.edits import Lines, apply_edits, edit
from rltel_lint.generate.rows import elsewhere, rows_of
from rltel_lint.generate.sections import Problem, Section, find_sections
from rltel_lint.generate.tables import Filled, fill, render
from rltel_lint.inventory import Inventory
from rltel_lint.project.linked import Project


@dataclass(frozen=True)
class Stale:
    """A table that is not current: where, which, and how it differs."""

    path: str
    line: int
    word: str
    differences: tuple[str, ...]


@dataclass
class Pages:
    """What came of looking at all pages.

    Attributes:
        tables: How many tables are generated.
        stale: Those that are not current.
        problems: Markers that cannot be followed.
        texts: The pages with current tables, where they differ from what is there.
    """

    tables: int = 0
    stale: list[Stale] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)


def generate(documents: Mapping[str, str], project: Project, inventory: Inventory) -> Pages:
    """Works out every generated table.

    Args:
        documents: The texts of the documents, by path.
        project: The linked project.
        inventory: What it emits.
    """
    pages = Pages()
    entries = {facts.path: facts.entries for facts in project.documents.facts}
    namespace = project.namespaces[0] if project.namespaces else ""
    for path, text in sorted(documents.items()):
        edits: list[Edit] = []
        lines: Lines | None = None
        for section in find_sections(path, text):
            if isinstance(section, Problem):
                pages.problems.append(section)
                continue
            pages.tables += 1
            rows = rows_of(section.kind, project, inventory)
            known = (entries.get(path, ()), namespace, elsewhere(section.kind, project))
            filled = fill(section, rows, *known)
            if filled.differences:
                lines = lines or Lines(text)
                pages.stale.append(Stale(path, section.begin, section.word, filled.differences))
                edits.append(_edit(lines, section, filled))
        if edits:
            pages.texts[path] = apply_edits(text, edits)
    return pages


def _edit(lines: Lines, section: Section, filled: Filled) -> Edit:
    prefix = re.match(r"[\s>]*", lines.line(section.begin))
    before = prefix.group() if prefix else ""
    if section.table is None:
        blank = before.rstrip()
        new = [blank, *render(filled, None, before, aligned=False), blank]
        first, last = section.begin + 1, section.end - 1
        while first <= last and lines.line(first).strip(" >"):
            first += 1  # words of the writer's own stay above the table
        start = lines.offset(first, 1)
        end = start
        while first < section.end and not lines.line(first).strip(" >"):
            first += 1
            end = lines.offset(first, 1)
        return edit(lines, section.path, start, end, "".join(f"{line}\n" for line in new))
    first = section.table.line
    last = first + 1 + len(section.table.rows)
    old = [lines.line(number) for number in range(first, last + 1)]
    bars = {tuple(match.start() for match in re.finditer(r"(?<!\\)\|", line)) for line in old}
    aligned = len(bars) == 1 and len(old) > 2
    new = render(filled, old[1], before, aligned=aligned)
    start, end = lines.offset(first, 1), lines.offset(last, len(old[-1]) + 1)
    return edit(lines, section.path, start, end, "\n".join(new))
