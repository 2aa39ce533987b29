"""Keeps a fork from happening in the middle of a gRPC export.

gRPC survives a fork only while no call is running; otherwise the child may crash at its next
call. So a fork waits a moment for running exports. When one does not end (the collector is
silent), the child exports nothing and says so: telemetry that is missing beats a worker that
crashed.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from types import TracebackType
from typing import Final

_logger = logging.getLogger(__name__)

MAX_WAIT_S: Final = 0.05
"""How long a fork may be held up; a healthy export takes a few milliseconds."""


class ForkGate:
    """A context manager to export in; forks wait outside.

    Args:
        exporter: What exports. Only gRPC needs the gate; for others it stays open.
    """

    def __init__(self, exporter: object) -> None:
        self.lock = threading.Lock()
        self._is_needed = ".grpc." in f"{type(exporter).__module__}."
        if self._is_needed:
            _gates.add(self)

    @property
    def is_safe(self) -> bool:
        """Whether this process may export here."""
        return not (self._is_needed and _Process.was_forked_during_export)

    def __enter__(self) -> None:
        if self._is_needed:
            self.lock.acquire()

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._is_needed:
            self.lock.release()


class _Process:
    was_forked_during_export = False


_gates: weakref.WeakSet[ForkGate] = weakref.WeakSet()
_forking = threading.local()


def _before() -> None:
    deadline = time.monotonic() + MAX_WAIT_S
    _forking.held, _forking.running = [], False
    for gate in list(_gates):
        if gate.lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
            _forking.held.append(gate)
        else:
            _forking.running = True


def _after_in_parent() -> None:
    for gate in _forking.held:
        gate.lock.release()


def _after_in_child() -> None:
    if _forking.running and not _Process.was_forked_during_export:
        _Process.was_forked_during_export = True
        _logger.warning(
            "process %d was forked while a gRPC export was running; it exports no telemetry. "
            "Is the collector answering? Forks are always safe with http/protobuf",
            os.getpid(),
        )
    for gate in list(_gates):
        gate.lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child
    )
