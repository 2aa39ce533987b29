"""A text that is asked questions, each of which can be asked again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from rltel_lint.facts.lookups import pattern_key

Answer = TypeVar("Answer")


class Asked:
    """A file or a statement whose text is searched."""

    @property
    def text(self) -> str:
        """The text."""
        raise NotImplementedError  # pragma: no cover

    @property
    def known_plain(self) -> str:
        """The text for searching, as long as the text itself, where no outcome depends on it."""
        raise NotImplementedError  # pragma: no cover

    def note(self, kind: str, about: str, find: Callable[[], Answer]) -> Answer:
        """Returns the answer to a question, and notes both.

        Args:
            kind: What is asked, one word.
            about: What it is asked for.
            find: Finds the answer, made of what JSON knows.
        """
        raise NotImplementedError  # pragma: no cover

    def has(self, text: str) -> bool:
        """Whether this stands anywhere in the text."""
        return self.note(
            "has", text, lambda: text in (self.known_plain if text.isascii() else self.text)
        )

    def search(self, pattern: re.Pattern[str]) -> bool:
        """Whether something in the text matches."""
        return self.note(
            "search", pattern_key(pattern), lambda: pattern.search(self._for(pattern)) is not None
        )

    def findall(self, pattern: re.Pattern[str]) -> list[Any]:
        """Returns what ``pattern.findall`` does; lists in place of tuples."""
        return self.note(
            "findall", pattern_key(pattern), lambda: as_lists(pattern.findall(self._for(pattern)))
        )

    def _for(self, pattern: re.Pattern[str]) -> str:
        return self.known_plain if pattern.pattern.isascii() else self.text

    def ask(self, kind: str, about: str) -> Any:
        """Asks again what was noted.

        Args:
            kind: What was asked.
            about: What it was asked for.

        Raises:
            ValueError, re.error: No such question can have been noted.
        """
        if kind == "has":
            return self.has(about)
        flags, _, pattern = about.partition(":")
        compiled = re.compile(pattern, int(flags))
        return self.search(compiled) if kind == "search" else self.findall(compiled)


def as_lists(found: Iterable[Any]) -> list[Any]:
    """Returns what a pattern has found, as JSON knows it."""
    return [list(one) if isinstance(one, tuple) else one for one in found]
