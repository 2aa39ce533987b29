"""What a mutant is, and the register of mutators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tests.mutation.tree import Change, Document, Row, Source, Tree

KINDS = ("SET", "PAIR", "NEST", "LOOP", "CARD", "CARRY", "DOCREF", "DUP")
"""Kinds of drift; ``CONTROL`` besides, which is none."""


@dataclass(frozen=True)
class Mutant:
    """One drift, planted.

    Attributes:
        kind: Of the drift, or ``CONTROL``.
        name: What was done, and in which spelling.
        codes: Codes of the rules that see it, any of which counts.
        place: File and line.
        detail: What was changed.
        texts: The changed files.
    """

    kind: str
    name: str
    codes: frozenset[str]
    place: str
    detail: str
    texts: Callable[[], Mapping[str, str]]


Mutator = Callable[[Tree], Iterator[Mutant]]
MUTATORS: list[Mutator] = []


def mutator(function: Mutator) -> Mutator:
    """Registers a mutator."""
    MUTATORS.append(function)
    return function


def in_source(
    kind: str,
    name: str,
    codes: str,
    source: Source,
    line: int,
    changes: list[Change],
    *,
    detail: str = "",
    more: Mapping[str, str] | None = None,
) -> Mutant:
    """Makes a mutant of a Python file; ``more`` are other files."""

    def texts() -> Mapping[str, str]:
        return {source.path: source.edit(*changes), **(more or {})}

    where = f"{source.path}:{line}"
    return Mutant(kind, name, _codes(codes), where, detail or _shown(source, line), texts)


def in_text(
    kind: str,
    name: str,
    codes: str,
    source: Source,
    line: int,
    text: str,
    *,
    more: Mapping[str, str] | None = None,
) -> Mutant:
    """Makes a mutant of a Python file: another text; ``more`` are other files."""
    changed = {source.path: text, **(more or {})}
    where = f"{source.path}:{line}"
    return Mutant(kind, name, _codes(codes), where, _shown(source, line), lambda: changed)


def in_line(kind: str, name: str, codes: str, document: Document, number: int, text: str) -> Mutant:
    """Makes a mutant of a document: another text for one line."""

    def texts() -> Mapping[str, str]:
        return {document.path: document.with_line(number, text)}

    return Mutant(kind, name, _codes(codes), f"{document.path}:{number}", text.strip()[:110], texts)


def in_row(kind: str, name: str, codes: str, tree: Tree, row: Row, old: str, new: str) -> Mutant:
    """Makes a mutant of a row: the first ``old`` in its line becomes ``new``."""
    document = next(d for d in tree.documents if d.path == row.path)
    text = document.lines[row.line - 1].replace(old, new, 1)
    return in_line(kind, name, codes, document, row.line, text)


def _codes(text: str) -> frozenset[str]:
    return frozenset(f"RLT{code}" for code in text.split())


def _shown(source: Source, line: int) -> str:
    lines = source.text.splitlines()
    return lines[line - 1].strip()[:110] if line <= len(lines) else ""
