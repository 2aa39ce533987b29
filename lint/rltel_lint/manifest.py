"""What each file was when it was last read, so that one that has not changed is not read again."""

from __future__ import annotations

import time
from pathlib import Path

from rltel_lint.facts.store import FactStore, text_key
from rltel_lint.listing import last_change

_SETTLED = 2_000_000_000
"""How long before it is read a file must have been changed last, in nanoseconds. One that is
written twice in a shorter time may have the same times after both: file systems count in steps of
up to two seconds. Git calls such files racily clean: https://git-scm.com/docs/racy-git."""


class Manifest:
    """The keys of the texts of a project's files by what the system says of the files.

    It is data like all of the cache: a wrong key finds nothing, or what is kept for another text.

    Args:
        root: The project root; several projects may share a cache.
        store: The cache.
    """

    def __init__(self, root: Path, store: FactStore) -> None:
        self._store = store
        self._name = f"files-{text_key(str(root))}.json"
        kept = store.read(self._name).get("files")
        self._kept: dict[str, str] = kept if isinstance(kept, dict) else {}
        self._now: dict[str, str] = {}
        self._clock = 0

    def key(self, path: str, status: str) -> str:
        """Returns the key of a file's text; an empty one if it has to be read.

        Args:
            path: The file.
            status: What the system says of it.
        """
        entry = self._kept.get(path)
        if not status or not isinstance(entry, str):
            return ""
        key, _, known = entry.partition(" ")
        if known != status:
            return ""
        self._now[path] = entry
        return key

    def begin(self) -> None:
        """Must be called before files are read whose keys are noted."""
        self._clock = self._clock or min(time.time_ns(), self._store.clock())

    def note(self, path: str, status: str, key: str) -> None:
        """Notes the key of a text that was read, unless the file changed just before.

        Args:
            path: The file.
            status: What the system said of it before it was read.
            key: The key of its text.
        """
        if is_settled(status, self._clock):
            self._now[path] = f"{key} {status}"

    def save(self) -> None:
        """Keeps what is known of the files that were asked for, and of no others."""
        if self._now != self._kept:
            self._store.write({self._name: {"files": self._now}})


def is_settled(status: str, clock: int) -> bool:
    """Whether a file, or a folder, was changed last so long ago that the next change will show.

    Args:
        status: What the system said of it before it was read; empty for what is neither.
        clock: The time before it was read, in nanoseconds since the epoch.
    """
    return bool(status) and last_change(status) < clock - _SETTLED
