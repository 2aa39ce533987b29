"""All documents of the project as one set of typed entries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from rltel_lint.facts.entries import DocumentEntry, DocumentFacts, EntryKind
from rltel_lint.facts.templates import overlap
from rltel_lint.values import display


class Documents:
    """What the project's documents say.

    Args:
        facts: The documents, in order of their paths.
        reserved: Names that the configuration reserves.
    """

    def __init__(self, facts: Iterable[DocumentFacts], reserved: Iterable[str] = ()) -> None:
        self.facts = tuple(facts)
        self.reserved = tuple(reserved)

    @cached_property
    def entries(self) -> tuple[DocumentEntry, ...]:
        """Every typed entry, in order."""
        return tuple(entry for facts in self.facts for entry in facts.entries)

    @cached_property
    def _by_kind(self) -> dict[str, list[DocumentEntry]]:
        found: dict[str, list[DocumentEntry]] = {}
        for entry in self.entries:
            found.setdefault(entry.kind, []).append(entry)
        return found

    @cached_property
    def _exact(self) -> dict[tuple[str, str], list[DocumentEntry]]:
        found: dict[tuple[str, str], list[DocumentEntry]] = {}
        for entry in self.entries:
            for name in entry.names:
                if "*" not in name:
                    found.setdefault((entry.kind, name), []).append(entry)
        return found

    @cached_property
    def _templates(self) -> dict[str, list[tuple[str, DocumentEntry]]]:
        found: dict[str, list[tuple[str, DocumentEntry]]] = {}
        for entry in self.entries:
            for name in entry.names:
                if "*" in name:
                    found.setdefault(entry.kind, []).append((name, entry))
        return found

    def of_kind(self, kind: EntryKind) -> list[DocumentEntry]:
        """Returns the entries of one kind, in order."""
        return self._by_kind.get(kind, [])

    def naming(self, kind: EntryKind, template: str) -> Iterator[DocumentEntry]:
        """Yields the entries of a kind that document a name or overlap a template.

        Args:
            kind: What the name is.
            template: A name; holes as in :mod:`rltel_lint.values`.
        """
        name = display(template)
        if "*" not in name:
            yield from self._exact.get((kind, name), ())
            candidates = self._templates.get(kind, [])
        else:
            candidates = [(n, e) for e in self.of_kind(kind) for n in e.names]
        seen: set[int] = set()
        for other, entry in candidates:
            if id(entry) not in seen and overlap(other, name):
                seen.add(id(entry))
                yield entry

    def names(self, kind: EntryKind) -> list[str]:
        """Returns the plain names documented for a kind, sorted."""
        return sorted({name for found, name in self._exact if found == kind})

    def is_reserved(self, name: str) -> bool:
        """Whether the configuration reserves this name."""
        return any(overlap(reserved, name) for reserved in self.reserved)
