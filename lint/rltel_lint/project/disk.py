"""What the project's folder holds beside the checked files, and what rules have asked of it.

The answers are part of what an outcome depends on: an outcome that is kept holds as long as the
folder would answer the same again.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rltel_lint.facts.store import text_key
from rltel_lint.listing import status
from rltel_lint.manifest import is_settled

_SKIPPED = frozenset({"__pycache__", "node_modules", "build", "dist"})
_MOST_FILES = 20_000
TEST = r"^\s*(?:async\s+)?(?:def\s+(test\w*)|class\s+(Test\w*))"
"""The head of a test function or class, at any depth; of a text with several lines."""

Answers = dict[str, dict[str, Any]]
"""By the kind of the question and what it is about; JSON values."""


class Disk:
    """The project's folder; answers are remembered.

    Args:
        root: The folder; ``None`` where there is none, as for a text from an editor.
    """

    def __init__(self, root: Path | None) -> None:
        self._root = root
        self._below = "" if root is None else os.path.join(root, "")
        self.answers: Answers = {}

    def exists(self, path: str) -> bool:
        """Whether there is a file or a folder at a path relative to the root."""
        answer = self._root is not None and os.path.exists(self._full(path))
        return bool(self._answered("exists", path, answer))

    def read(self, path: str) -> str:
        """Returns the text of a file; an empty one where there is none."""
        text = _text(self._full(path)) if self._root is not None else ""
        self._answered("text", path, text_key(text))
        return text

    def is_empty(self, path: str) -> bool | None:
        """Whether a folder is empty; ``None`` where there is no folder."""
        empty = None
        if self._root is not None:
            # A name with a NUL character is no OSError.
            with contextlib.suppress(OSError, ValueError), os.scandir(self._full(path)) as entries:
                empty = next(entries, None) is None
        self._answered("empty", path, empty)
        return empty

    def tests(self) -> frozenset[str]:
        """The names of all test functions and classes in files named like tests."""
        looked, clock = {}, time.time_ns()
        names: set[str] = set()
        for path, is_folder in self._walk():
            looked[path] = self.status(path)
            if not is_settled(looked[path], clock):
                looked[path] = "just changed"
            if not is_folder:
                names |= test_names(_text(self._full(path)))
        self._answered("tests", text_key("\n".join(sorted(names))), looked)
        return frozenset(names)

    def status(self, path: str) -> str:
        """What changes when a file is written, or an entry of a folder comes or goes."""
        try:
            seen = os.stat(self._full(path))
        except OSError:
            return ""
        return status(seen) or f"0 {seen.st_mtime_ns} {seen.st_ctime_ns} {seen.st_ino}"

    def _answered(self, kind: str, about: str, answer: Any) -> Any:
        self.answers.setdefault(kind, {})[about] = answer
        return answer

    def _full(self, path: str) -> str:
        return path if os.path.isabs(path) else f"{self._below}{path}"

    def _walk(self) -> Iterator[tuple[str, bool]]:
        """Yields folders, and files that are named like tests."""
        if self._root is None:
            return
        number = 0
        for folder, folders, names in os.walk(self._root):
            folders[:] = [n for n in folders if n not in _SKIPPED and not n.startswith(".")]
            below = os.path.relpath(folder, self._root)
            yield below, True
            for name in filter(is_test, names):
                number += 1
                if number > _MOST_FILES:
                    return
                yield os.path.join(below, name), False


def ask_again(root: Path, answers: Answers) -> Answers | None:
    """Returns the answers that a folder gives today; ``None`` if one of them is another.

    They may differ from the old ones in when tests were changed last.

    Args:
        root: The folder.
        answers: Those of an earlier day.
    """
    disk = Disk(root)
    again = {"exists": disk.exists, "text": disk.read, "empty": disk.is_empty}
    for kind, ask in again.items():
        for path in answers.get(kind, ()):
            ask(path)
        if disk.answers.get(kind) != answers.get(kind):
            return None
    tests = answers.get("tests", {})
    for names, looked in tests.items():
        if all(disk.status(path) == known for path, known in looked.items()):
            disk.answers["tests"] = {names: looked}
        else:
            disk.tests()
    return disk.answers if disk.answers.get("tests", {}).keys() == tests.keys() else None


def join(answers: Answers, others: Answers) -> None:
    """Adds answers that another process was given."""
    for kind, asked in others.items():
        answers.setdefault(kind, {}).update(asked)


def test_names(text: str) -> set[str]:
    """Returns the names of test functions and classes in a text."""
    matches = re.finditer(TEST, text, re.MULTILINE)  # not compiled where nobody looks
    return {name for match in matches for name in match.groups() if name}


def is_test(name: str) -> bool:
    """Whether a file is named like a test."""
    return name.endswith(".py") and (name.startswith("test") or name.endswith("_test.py"))


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except (OSError, ValueError):
        return ""
