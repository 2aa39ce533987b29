"""A document's facts, from the store if its text is known there."""

from __future__ import annotations

from rltel_lint.facts.documents_codec import decode_document, encode_document
from rltel_lint.facts.entries import DocumentFacts
from rltel_lint.facts.store import FactStore, text_key


def document_key(text: str, namespace: str) -> str:
    """Returns what the facts of a document are kept under: a hash of all they depend on."""
    return text_key(f"{namespace}\n{text}")


def read_document(path: str, text: str, namespace: str, store: FactStore) -> DocumentFacts:
    """Reads a document, and keeps its facts.

    Args:
        path: Its path relative to the project root.
        text: Its content.
        namespace: The prefix of the project's own names.
        store: Where facts are kept.
    """
    kept, key = store.file(path), document_key(text, namespace)
    values = kept.index(key)
    if values is not None:
        try:
            return decode_document(path, values)
        except (ValueError, TypeError, IndexError):
            store.damaged()
    from rltel_lint.facts.documents import extract_document

    facts = extract_document(path, text, namespace=namespace)
    kept.keep_index(key, encode_document(facts))
    return facts
