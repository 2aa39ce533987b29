"""Where a project, or a member of its workspace, declares what it needs."""

from __future__ import annotations

from collections.abc import Iterator

FILE = "pyproject.toml"


def candidates(document: str) -> Iterator[str]:
    """Yields where the file may be that declares what a document's readers install.

    Args:
        document: Its path, relative to the project root.
    """
    folder = document.rpartition("/")[0]
    while folder:
        yield f"{folder}/{FILE}"
        folder = folder.rpartition("/")[0]
    yield FILE
