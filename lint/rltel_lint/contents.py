"""The texts of a project's files; those that are known by their key are read only on demand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rltel_lint.facts.store import text_key

if TYPE_CHECKING:
    from rltel_lint.findings import Finding


class Contents(Mapping[str, str]):
    """Texts by path; each is read when it is first asked for.

    A file that changes between the look at it and the moment when it is read counts as what it
    is then, and so does its key. One that has gone counts as empty.

    Args:
        root: The project root.
        keys: The key of each text by path, in the order to go by.
        texts: Those that have been read already.
    """

    def __init__(self, root: Path, keys: dict[str, str], texts: dict[str, str]) -> None:
        self._root = root
        self._keys = keys
        self._texts = texts

    def __getitem__(self, path: str) -> str:
        text = self._texts.get(path)
        if text is None:
            if path not in self._keys:
                raise KeyError(path)
            text = self._texts[path] = self._read(path)
            self._keys[path] = text_key(text)
        return text

    def __contains__(self, path: object) -> bool:
        return path in self._keys

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def key(self, path: str) -> str:
        """Returns the key of a text without reading it."""
        return self._keys[path]

    def replacing(self, path: str, text: str) -> Contents:
        """Returns these contents with another text at a path, or one more."""
        keys = {**self._keys, path: text_key(text)}
        return Contents(self._root, keys, {**self._texts, path: text})

    def _read(self, path: str) -> str:
        from rltel_lint.reading import ReadProblem, read_source

        read = read_source(self._root / path)
        return "" if isinstance(read, ReadProblem) else read.text


class Texts(NamedTuple):
    """The contents of a project's files.

    Attributes:
        sources: Text of each Python file that could be read, by path.
        documents: Text of each document that could be read, by path.
        problems: A finding for each file that could not.
    """

    sources: Mapping[str, str]
    documents: Mapping[str, str]
    problems: tuple[Finding, ...]

    @property
    def all(self) -> Mapping[str, str]:
        """Sources and documents; none of them is read for it."""
        return _Union(self.sources, self.documents)


class _Union(Mapping[str, str]):
    """Two mappings without a common key, seen as one."""

    def __init__(self, one: Mapping[str, str], other: Mapping[str, str]) -> None:
        self._one = one
        self._other = other

    def __getitem__(self, path: str) -> str:
        return self._one[path] if path in self._one else self._other[path]

    def __contains__(self, path: object) -> bool:
        return path in self._one or path in self._other

    def __iter__(self) -> Iterator[str]:
        yield from self._one
        yield from self._other

    def __len__(self) -> int:
        return len(self._one) + len(self._other)


def replaced(texts: Mapping[str, str], path: str, text: str) -> Mapping[str, str]:
    """Returns texts with another one at a path, or one more; none is read for it."""
    if isinstance(texts, Contents):
        return texts.replacing(path, text)
    return {**texts, path: text}


def keys_of(texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yields the path and the key of each text, sorted."""
    for path in sorted(texts):
        yield path, texts.key(path) if isinstance(texts, Contents) else text_key(texts[path])
