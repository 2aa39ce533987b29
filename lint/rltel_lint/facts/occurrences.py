"""Where a name stands in a text, without a regular expression for each name."""

from __future__ import annotations

from collections.abc import Iterator


def occurrences(name: str, text: str) -> Iterator[tuple[int, int]]:
    """Yields where a name begins and ends, as a whole word.

    Args:
        name: An identifier.
        text: Any text.
    """
    start = text.find(name)
    while start >= 0:
        end = start + len(name)
        if not (_in_word(text[start - 1 : start]) or _in_word(text[end : end + 1])):
            yield start, end
        start = text.find(name, end)


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_"
