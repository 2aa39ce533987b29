"""What lies in the project's folder beside the files that are checked: looked at only on demand."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

_SKIPPED = frozenset({"__pycache__", "node_modules", "build", "dist"})
_MOST_FILES = 20_000
_TEST = re.compile(r"^\s*(?:async\s+)?(?:def\s+(test\w*)|class\s+(Test\w*))", re.MULTILINE)


class Tree:
    """The project's folder.

    Args:
        texts: Texts of the files that are known already, by path.
        root: The folder; ``None`` where there is none, as for a text from an editor.
    """

    def __init__(self, texts: Mapping[str, str], root: Path | None = None) -> None:
        self.texts = texts
        self._root = root

    def exists(self, path: str) -> bool:
        """Whether there is a file or a folder at a path relative to the root."""
        if path in self.texts or any(known.startswith(f"{path}/") for known in self.texts):
            return True
        return self._root is not None and (self._root / path).exists()

    def read(self, path: str) -> str:
        """Returns the text of a file; an empty one where there is none."""
        text = self.texts.get(path, "")
        if not text and self._root is not None:
            with contextlib.suppress(OSError):
                text = (self._root / path).read_text(encoding="utf-8", errors="replace")
        return text

    def is_elsewhere(self, path: str) -> bool:
        """Whether a path lies in another repository: a submodule, or an empty folder for one."""
        if any(path.startswith(f"{module}/") for module in self._submodules):
            return True
        folder = path
        while "/" in folder and self._root is not None:
            folder = folder.rpartition("/")[0]
            if (self._root / folder).is_dir():
                return next((self._root / folder).iterdir(), None) is None
        return False

    @cached_property
    def _submodules(self) -> tuple[str, ...]:
        text = self.read(".gitmodules")
        return tuple(re.findall(r"^\s*path\s*=\s*(\S+)", text, re.MULTILINE))

    @cached_property
    def tests(self) -> frozenset[str]:
        """The names of all test functions and classes in files named like tests."""
        return frozenset(
            name
            for text in self._test_texts()
            for match in _TEST.finditer(text)
            for name in match.groups()
            if name
        )

    def _test_texts(self) -> Iterator[str]:
        for path, text in self.texts.items():
            if _is_test(path.rpartition("/")[2]):
                yield text
        for number, file in enumerate(self._walk()):
            if number > _MOST_FILES:
                return
            try:
                yield file.read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue

    def _walk(self) -> Iterator[Path]:
        if self._root is None:
            return
        for folder, folders, names in os.walk(self._root):
            folders[:] = [n for n in folders if n not in _SKIPPED and not n.startswith(".")]
            yield from (Path(folder, name) for name in names if _is_test(name))


def _is_test(name: str) -> bool:
    return name.endswith(".py") and (name.startswith("test") or name.endswith("_test.py"))
