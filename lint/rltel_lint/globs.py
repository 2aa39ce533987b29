"""Path patterns, read the way ``.gitignore`` reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pathspec import GitIgnoreSpec

from rltel_lint.errors import ConfigError


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
        self._spec = GitIgnoreSpec([])
        for pattern in self.patterns:
            try:
                self._spec += GitIgnoreSpec.from_lines([pattern])
            except (ValueError, re.error) as error:
                raise ConfigError(
                    f"the glob {pattern!r} is not valid; write it as in a .gitignore file"
                ) from error

    def match(self, path: str) -> bool:
        """Says whether a path is matched.

        Args:
            path: Relative to the project root, with ``/``; a folder ends in ``/``.
        """
        return bool(self._spec.match_file(path))

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
