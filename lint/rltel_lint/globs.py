"""Path patterns, read the way ``.gitignore`` reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from rltel_lint.errors import ConfigError

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.+/*?")
"""Characters of patterns that are turned into an expression here; what has another one, such as a
class, an escape or ``!``, goes to pathspec, which takes longer to import than a run may take."""


class Globs:
    """A list of patterns as in a ``.gitignore`` file; the last one that matches decides.

    A pattern without a slash matches at any depth, one with a slash is anchored at the
    project root, a trailing slash means a folder, and ``!`` takes back what an earlier
    pattern matched. See https://git-scm.com/docs/gitignore, "PATTERN FORMAT".

    Args:
        patterns: The patterns, in order.

    Raises:
        ConfigError: A pattern is not valid; the message quotes it.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        self.patterns = tuple(patterns)
        self._simple = [found for one in self.patterns if (found := _simple(one)) is not None]
        self._spec = None if len(self._simple) == len(self.patterns) else _spec(self.patterns)

    def match(self, path: str) -> bool:
        """Says whether a path is matched.

        Args:
            path: Relative to the project root, with ``/``; a folder ends in ``/``.
        """
        if self._spec is not None:
            return bool(self._spec.match_file(path))
        return self._expression.match(path) is not None

    @cached_property
    def _expression(self) -> re.Pattern[str]:
        return re.compile(_joined(self._simple))

    @property
    def takes_back(self) -> bool:
        """Whether any pattern starts with ``!``, so that a matched folder may hold exceptions."""
        return any(pattern.startswith("!") for pattern in self.patterns)

    def unmatched(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Returns the patterns that match none of the paths, in order."""
        left = dict.fromkeys(self.patterns)
        for path in paths:
            for pattern in [one for one in left if Globs([one]).match(path)]:
                del left[pattern]
        return tuple(left)


def _spec(patterns: tuple[str, ...]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    spec = GitIgnoreSpec([])
    for pattern in patterns:
        try:
            spec += GitIgnoreSpec.from_lines([pattern])
        except (ValueError, re.error) as error:
            raise ConfigError(
                f"the glob {pattern!r} is not valid; write it as in a .gitignore file"
            ) from error
    return spec


def _simple(pattern: str) -> tuple[bool, str] | None:
    """An expression for a pattern of plain characters, ``None`` where pathspec has to read it.

    Returns:
        Whether it may begin at any depth, and what follows there.
    """
    if not _PLAIN.issuperset(pattern):
        return None
    parts = pattern.removesuffix("/").removeprefix("/").split("/")
    anchored = "/" in pattern[:-1]
    if any(part == "" or ("**" in part and part != "**") for part in parts):
        return None
    floating = not anchored or parts[0] == "**"
    end = "/" if pattern.endswith("/") or parts[-1] == "**" else "(?:/|$)"
    text = "".join(" " if part == "**" else f"/{_part(part)}" for part in parts).strip(" ")
    if not text:
        return None
    return floating, re.sub(" +", "(?:/.+)?", text)[1:] + end


def _part(part: str) -> str:
    if part == "*":
        return "[^/]+"
    wild = {"*": "[^/]*", "?": "[^/]"}
    return "".join(wild.get(one) or re.escape(one) for one in part)


def _joined(simple: Iterable[tuple[bool, str]]) -> str:
    """One expression for all: those that begin at any depth share the way down to it."""
    floating: list[str] = []
    anchored = ["(?!)"]
    for anywhere, text in simple:
        (floating if anywhere else anchored).append(text)
    return "|".join([*anchored, f"(?:.+/)?(?:{'|'.join(floating)})" if floating else "(?!)"])
