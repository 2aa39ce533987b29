"""A chunk of files in, their facts as plain JSON values out: all that another process does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rltel_lint.facts.kept_documents import read_document
from rltel_lint.facts.source import SourceFacts
from rltel_lint.facts.store import FactStore, text_key, tool_version

Extracted = dict[str, Any]
"""The facts of a chunk: its ``id``, and what :meth:`FactStore.take_in` takes."""


@dataclass(frozen=True)
class File:
    """A file whose facts are wanted.

    Attributes:
        path: Its path relative to the project root.
        text: Its content.
        python: Whether it is Python; a document otherwise.
        key: The key of its text, if it is known already.
    """

    path: str
    text: str
    python: bool
    key: str = ""


@dataclass(frozen=True)
class Chunk:
    """Files that are read together.

    Attributes:
        files: The files.
        namespace: The prefix of the project's own names.
        seeds: Words; units that mention one are lowered as well.
    """

    files: tuple[File, ...]
    namespace: str
    seeds: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """How many characters there are to read."""
        return sum(len(file.text) for file in self.files)

    @property
    def id(self) -> str:
        """A hash of all that the facts depend on, the version of the tool included.

        Whoever extracts works it out anew (it is not sent along), so that facts of another
        version do not fit.
        """
        parts = [tool_version(), self.namespace, *self.seeds]
        parts += [f"{file.path} {file.python} {text_key(file.text)}" for file in self.files]
        return text_key("\n".join(parts))


def form_chunks(
    files: Iterable[File], number: int, namespace: str, seeds: Iterable[str] = ()
) -> list[Chunk]:
    """Cuts files into chunks of about the same size, the same ones for the same files.

    Args:
        files: In any order.
        number: How many chunks there should be; there may be fewer.
        namespace: The prefix of the project's own names.
        seeds: Words of the units to lower.

    Returns:
        The chunks, the largest first: what is begun last should not take longest.
    """
    ordered = sorted(files, key=lambda file: (file.path, file.python))
    total = max(sum(len(file.text) for file in ordered), 1)
    parts: dict[int, list[File]] = {}
    before = 0
    for file in ordered:
        middle = before + len(file.text) / 2
        parts.setdefault(min(int(middle * number / total), number - 1), []).append(file)
        before += len(file.text)
    words = tuple(sorted(seeds))
    chunks = [Chunk(tuple(part), namespace, words) for part in parts.values()]
    return sorted(chunks, key=lambda chunk: (-chunk.size, chunk.files[0].path))


def extract_chunk(chunk: Chunk) -> Extracted:
    """Reads the files of a chunk.

    Returns:
        What a store that has read them holds: for each Python file its index, for each document
        its facts, the lowered units with a seed, and which files are free of syntax errors.
    """
    store = FactStore(None, remembers=True)
    for file in chunk.files:
        if not file.python:
            read_document(file.path, file.text, chunk.namespace, store)
            continue
        facts = SourceFacts(file.path, file.text, store, file.key)
        _ = facts.units, facts.refused
        for unit in facts.units_with_any(facts.known_words.intersection(chunk.seeds)):
            _ = unit.statements
    return {"id": chunk.id, **store.extracted()}
