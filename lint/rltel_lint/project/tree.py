"""What lies in the project's folder beside the files that are checked: looked at only on demand."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from rltel_lint.project.disk import Disk


class Tree:
    """The project's folder.

    Args:
        texts: Texts of the files that are known already, by path.
        root: The folder; ``None`` where there is none, as for a text from an editor.
    """

    def __init__(self, texts: Mapping[str, str], root: Path | None = None) -> None:
        self.texts = texts
        self.disk = Disk(root)

    def exists(self, path: str) -> bool:
        """Whether there is a file or a folder at a path relative to the root."""
        if path in self.texts or path in self._folders:
            return True
        return self.disk.exists(path)

    @cached_property
    def _folders(self) -> frozenset[str]:
        """Every folder that holds one of the texts."""
        return frozenset(
            path[:end] for path in self.texts for end in range(len(path)) if path[end] == "/"
        )

    def read(self, path: str) -> str:
        """Returns the text of a file; an empty one where there is none."""
        return self.texts.get(path, "") or self.disk.read(path)

    def is_elsewhere(self, path: str) -> bool:
        """Whether a path lies in another repository: a submodule, or an empty folder for one."""
        if any(path.startswith(f"{module}/") for module in self._submodules):
            return True
        folder = path
        while "/" in folder:
            folder = folder.rpartition("/")[0]
            empty = self.disk.is_empty(folder)
            if empty is not None:
                return empty
        return False

    @cached_property
    def _submodules(self) -> tuple[str, ...]:
        text = self.read(".gitmodules")
        return tuple(re.findall(r"^\s*path\s*=\s*(\S+)", text, re.MULTILINE))
