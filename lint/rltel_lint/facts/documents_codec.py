"""Document facts to plain JSON values and back."""

from __future__ import annotations

from typing import Any

from rltel_lint.facts.entries import CodeFence, DataValue, DocumentEntry, DocumentFacts, Mention
from rltel_lint.findings import Place


def encode_document(facts: DocumentFacts) -> list[Any]:
    """Returns a document's facts, without its path, as JSON values."""
    return [
        [
            [
                *(entry.kind, entry.text, entry.names, _at(entry.place)),
                *(entry.status, entry.columns, entry.table),
            ]
            for entry in facts.entries
        ],
        [[fence.language, fence.text, _at(fence.place)] for fence in facts.fences],
        [[mention.text, _at(mention.place), mention.negated] for mention in facts.mentions],
        [list(problem) for problem in facts.problems],
        [[value.key, value.text, _at(value.place), value.kind] for value in facts.values],
    ]


def decode_document(path: str, values: list[Any]) -> DocumentFacts:
    """Returns the facts that :func:`encode_document` was given.

    Args:
        path: The document's path.
        values: What was kept.

    Raises:
        ValueError, TypeError, IndexError: The values are not what was kept.
    """
    entries, fences, mentions, problems, data = values
    return DocumentFacts(
        path,
        tuple(
            DocumentEntry(
                kind,
                text,
                tuple(names),
                Place(path, *at),
                status,
                tuple((name, tuple(items)) for name, items in columns),
                table,
            )
            for kind, text, names, at, status, columns, table in entries
        ),
        tuple(CodeFence(language, text, Place(path, *at)) for language, text, at in fences),
        tuple(Mention(text, Place(path, *at), negated) for text, at, negated in mentions),
        tuple((line, message) for line, message in problems),
        tuple(DataValue(key, text, Place(path, *at), kind) for key, text, at, kind in data),
    )


def _at(place: Place) -> tuple[Any, ...]:
    return place[1:]
