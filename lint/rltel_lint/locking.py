"""One process computes, the others wait for what it writes."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

WAIT = 60.0
"""Seconds to wait for another process before doing the work alone."""

_POLL = 0.02


@contextlib.contextmanager
def exclusive(path: Path, seconds: float = WAIT) -> Iterator[bool]:
    """Holds a lock between processes for the time of a ``with`` block.

    The operating system frees the lock of a process that has died. Where a lock cannot be had
    (a folder that cannot be written to, a file system without locks, a holder that takes longer
    than one is ready to wait) the block runs all the same: the lock saves work, no more.

    Args:
        path: The lock's file; it is made, with its folder, and left there.
        seconds: How long to wait for another holder.

    Yields:
        Whether the lock is held.
    """
    with contextlib.ExitStack() as stack:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = stack.enter_context(path.open("ab"))
            held = _wait(file, time.monotonic() + seconds)
        except OSError:
            held = False
        yield held
        if held:
            _release(file)


def _wait(file: IO[bytes], deadline: float) -> bool:
    while not _take(file):
        if time.monotonic() >= deadline:
            return False
        time.sleep(_POLL)
    return True


if sys.platform == "win32":
    import msvcrt

    def _take(file: IO[bytes]) -> bool:
        try:
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

    def _release(file: IO[bytes]) -> None:
        with contextlib.suppress(OSError):
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _take(file: IO[bytes]) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _release(file: IO[bytes]) -> None:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_UN)
