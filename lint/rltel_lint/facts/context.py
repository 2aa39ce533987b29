"""Where on its page a block stands: the sections above it and the marker before it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import NamedTuple

from rltel_lint.facts.entries import DocumentEntry, EntryKind, Status
from rltel_lint.facts.headers import MARKERS, read_heading, section_status, speaks_of
from rltel_lint.facts.names import Name, in_namespace
from rltel_lint.facts.pages import Heading, Inline
from rltel_lint.facts.templates import MAX_NAMES, TemplateError, expand

IGNORE = "ignore"
BEGIN, END = "begin", "end"
_MARKER = re.compile(r"rltel:\s*(?P<word>[A-Za-z-]+)(?P<rest>.*)", re.DOTALL)
_TELEMETRY = re.compile(r"telemetry|\botel\b|OTEL_|\botlp\b|(?<![</])\bspans?\b", re.IGNORECASE)
_DOTTED_KINDS = frozenset({"span", "metric", "attribute", "resource"})


class Section(NamedTuple):
    """A heading above a block, and what it says of the names below it."""

    level: int
    heading: Inline
    kind: EntryKind | None


@dataclass
class Context:
    """What is known of the page at the block being read.

    Attributes:
        path: The page's path.
        namespace: The prefix of the project's own names.
        telemetry: Whether the page speaks of telemetry at all. On one that does not, a table
            headed "Group" or "Metric" is about something else, unless it holds the
            project's own names.
        sections: The headings above the block, highest first.
        marker: The kind a marker gives to the next table, list or text block, ``ignore``,
            or an empty string.
        marker_line: Where that marker stands.
        problems: What could not be read as meant.
    """

    path: str
    namespace: str
    telemetry: bool
    sections: list[Section] = field(default_factory=list)
    marker: str = ""
    marker_line: int = 0
    problems: list[tuple[int, str]] = field(default_factory=list)

    def enter(self, heading: Heading) -> None:
        """Begins a section, and so ends the deeper ones."""
        self.drop_marker()
        while self.sections and self.sections[-1].level >= heading.level:
            self.sections.pop()
        section = Section(heading.level, heading.inline, read_heading(heading.inline))
        self.sections.append(section)

    def comment(self, text: str, line: int) -> None:
        """Reads a comment: a marker, or something that is none of our business."""
        match = _MARKER.fullmatch(text)
        if match is None:
            return
        word, more = match["word"].lower(), match["rest"].strip()
        if word in (BEGIN, END):
            self._generated(word, more, line)
            return
        kind = _marker_kind(word)
        if kind and not more:
            self.drop_marker()
            self.marker, self.marker_line = kind, line
        elif kind not in ("", IGNORE):
            reason = f'marker "rltel: {word}" takes no more words; write <!-- rltel: {word} -->'
            self.problems.append((line, reason))
        elif not kind and not more:
            near = get_close_matches(word, [*MARKERS, IGNORE], 1)
            hint = (
                f'did you mean "{near[0]}"' if near else f"known are {', '.join(MARKERS)}, ignore"
            )
            self.problems.append((line, f'marker "rltel: {word}" is not known; {hint}'))

    def _generated(self, word: str, more: str, line: int) -> None:
        """Reads the markers around a generated table: the opening one types it as well."""
        if word == END:
            self.take_marker()  # an empty part waits for its first table
            return
        self.drop_marker()
        kind = _marker_kind(more.replace(",", " ").partition(" ")[0].lower())
        if kind and kind != IGNORE:
            self.marker, self.marker_line = kind, line
        else:
            reason = f'marker "rltel: begin" needs one of {", ".join(MARKERS)} behind it'
            self.problems.append((line, reason))

    def take_marker(self) -> str:
        """Returns the waiting marker, which is used up by that."""
        marker, self.marker = self.marker, ""
        return marker

    def drop_marker(self) -> None:
        """Says so when a marker waits in vain."""
        marker = self.take_marker()
        if marker and marker != IGNORE:
            reason = "no table, list or text block follows this marker in its section; move it"
            self.problems.append((self.marker_line, reason))

    def section_kind(self, *, nearest: bool = False) -> EntryKind | None:
        """Returns the kind the sections give to a table that does not say it itself.

        Only dotted names take the kind of a section further up: below "Span groups" there
        may be a table of anything.
        """
        if not self.sections:
            return None
        if nearest or self.sections[-1].kind:
            return self.sections[-1].kind
        kind = next((section.kind for section in reversed(self.sections) if section.kind), None)
        return kind if kind in _DOTTED_KINDS else None

    def status(self) -> Status:
        """Returns the status the nearest heading gives."""
        return section_status(self.sections[-1].heading) if self.sections else "active"

    def about_spans(self) -> bool:
        """Whether a heading above speaks of spans."""
        return any(speaks_of(section.heading, "span") for section in self.sections)

    def about_resource(self) -> bool:
        """Whether the attributes of this section are the resource's."""
        for section in reversed(self.sections):
            if speaks_of(section.heading, "resource"):
                return True
            if any(speaks_of(section.heading, word) for word in ("span", "metric", "tag")):
                return False
        return False

    def admits(self, name: str, marker: str) -> bool:
        """Whether a name in a typed place is one of this project's."""
        return bool(marker) or self.telemetry or in_namespace(name, self.namespace)

    def entry(
        self,
        kind: EntryKind,
        name: Name,
        cell: Inline,
        status: Status = "active",
        columns: tuple[tuple[str, tuple[str, ...]], ...] = (),
        table: int = -1,
    ) -> DocumentEntry | None:
        """Makes the entry of a name, or a problem when it is no proper template."""
        place = cell.place(self.path, name.start, name.end)
        try:
            names, total = expand(name.text)
        except TemplateError as error:
            self.problems.append((place.line, str(error)))
            return None
        if total > MAX_NAMES:
            reason = (
                f'"{name.text[:60]}" stands for more than {MAX_NAMES} names and is cut off there;'
                " write a placeholder such as <op>"
            )
            self.problems.append((place.line, reason))
        return DocumentEntry(kind, name.text, names, place, status, columns, table)


def speaks_of_telemetry(text: str, namespace: str) -> bool:
    """Whether a page is about telemetry, or at least names something of the project's."""
    return _TELEMETRY.search(text) is not None or (bool(namespace) and f"`{namespace}" in text)


def _marker_kind(word: str) -> str:
    if word == IGNORE:
        return IGNORE
    if word in ("tag", "tags"):
        return "attribute"
    return MARKERS.get(word, "") or next((k for k in MARKERS.values() if k == word), "")
