"""Shorthands: what a page documents, as a reader of the page would list it."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

from rltel_lint.facts.documents import extract_document
from rltel_lint.facts.entries import DocumentFacts

Read = Callable[..., DocumentFacts]


@pytest.fixture
def read() -> Read:
    """Reads a page; its indentation is taken off first."""

    def read(text: str, path: str = "docs/page.md", namespace: str = "rl.") -> DocumentFacts:
        return extract_document(path, dedent(text).lstrip("\n"), namespace=namespace)

    return read


@pytest.fixture
def names(read: Read) -> Callable[..., list[tuple[str, str]]]:
    """Returns kind and text of every entry of a page, in order."""

    def names(text: str, **options: str) -> list[tuple[str, str]]:
        return [(entry.kind, entry.text) for entry in read(text, **options).entries]

    return names
