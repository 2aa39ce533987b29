"""Calling shutdown when a process ends, in whatever way Python lets it end."""

from __future__ import annotations

import atexit
import multiprocessing
import multiprocessing.util
from collections.abc import Callable


class _Hooked:
    """What is called at exit; also what ``multiprocessing`` holds the after-fork hook by."""

    def __init__(self) -> None:
        self.calls: list[Callable[[], object]] = []


_hooked = _Hooked()


def call_at_exit(shutdown: Callable[[], object]) -> None:
    """Call a function when this process ends, and when a multiprocessing child of it does.

    Args:
        shutdown: The function; given again, it is still called once.
    """
    if shutdown in _hooked.calls:
        return
    _hooked.calls.append(shutdown)
    atexit.register(shutdown)
    # A multiprocessing child may end without atexit, and clears the finalizers it was forked with.
    if multiprocessing.parent_process() is not None:
        _finalize(shutdown)
    if len(_hooked.calls) == 1:
        multiprocessing.util.register_after_fork(_hooked, _hook_child)


def _hook_child(hooked: _Hooked) -> None:
    for shutdown in hooked.calls:
        _finalize(shutdown)


def _finalize(shutdown: Callable[[], object]) -> None:
    # Below 0: after the finalizers of pools and queues, which may still trace.
    multiprocessing.util.Finalize(None, shutdown, exitpriority=-100)
