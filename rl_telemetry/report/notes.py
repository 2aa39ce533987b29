"""What was wrong with the data: one line for each kind of problem, however often it occurs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

MAX_NOTES: Final = 100


class Notes:
    """Collects problems."""

    def __init__(self) -> None:
        self._found: dict[tuple[Path | None, str], tuple[str, int]] = {}
        self._left_out = 0

    def at(self, path: Path, line: int, problem: str, *, per_file: bool = True) -> None:
        """Note a problem of a line.

        Args:
            path: The file.
            line: Number of the line, from 1.
            problem: What is wrong and what happens to it.
            per_file: Whether each file gets a line of its own for it.
        """
        key = (path if per_file else None, problem)
        first, times = self._found.get(key, (f"{path}:{line}", 0))
        if not times and len(self._found) >= MAX_NOTES:
            self._left_out += 1
        else:
            self._found[key] = (first, times + 1)

    def of_file(self, path: Path, problem: str) -> None:
        """Note a problem of a whole file."""
        self._found[path, problem] = (str(path), 1)

    def lines(self) -> Iterator[str]:
        """Yield a line for each kind of problem, in the order in which they were met."""
        for (path, problem), (first, times) in self._found.items():
            where = " in this file" if path else ""
            more = f" ({times - 1:,} more like it{where})" if times > 1 else ""
            yield f"{first}: {problem}{more}"
        if self._left_out:
            yield f"and {self._left_out:,} more problems of other kinds"
