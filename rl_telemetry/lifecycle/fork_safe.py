"""Exporters that survive a fork.

A child must not use its parent's connections, so an exporter is remade in it. gRPC asks for more:
it can be forked only while no call runs. Otherwise the child may crash, or hang with the
interpreter's lock held, so that no deadline helps. So a fork waits a moment for running gRPC
exports. Then it cancels them: the parent exports the same batch again over a new channel, and
the child leaves gRPC alone, exports nothing and says so. Telemetry that is missing beats a worker
that hangs.
"""

from __future__ import annotations

import importlib
import logging
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from rl_telemetry.lifecycle.bounded import Deadline

_logger = logging.getLogger(__name__)

Exporter = TypeVar("Exporter")
Result = TypeVar("Result")

WAIT_MS: Final = 200
"""How long a fork waits for running exports; a healthy one takes a few milliseconds."""
CANCEL_MS: Final = 500
"""How long a fork waits for cancelled exports to end."""


class ForkSafe(Generic[Exporter]):
    """Holds the exporter of this process.

    Args:
        factory: Makes the exporter; called now, and again where it must be remade.
        can_remake: Whether the factory makes a new one each time; an exporter that cannot be
            remade is never cancelled.
    """

    def __init__(self, factory: Callable[[], Exporter], *, can_remake: bool = True) -> None:
        self._factory = factory
        self._exporter = factory()
        self._pid = os.getpid()
        self._inherited: list[Exporter] = []
        self._is_grpc = can_remake and ".grpc." in f"{type(self._exporter).__module__}."
        self._is_cancelled = False
        self.renew()
        if self._is_grpc:
            _grpc_exporters.add(self)

    @property
    def first(self) -> Exporter:
        """The exporter, to ask for its preferences."""
        return self._exporter

    def run(self, export: Callable[[Exporter], Result], refused: Result) -> Result:
        """Export with the exporter of this process.

        Args:
            export: The call.
            refused: Returned when this process must not export.

        Returns:
            What the call returned.
        """
        if not self._is_grpc:
            return export(self._current())
        result = refused
        for _ in range(2):  # a second time after a fork cancelled the first
            with self._turnstile:
                self._running.acquire()
            try:
                if _Process.was_forked_during_export:
                    return refused
                result = self._try(export, refused)
            finally:
                self._running.release()
            if not self._is_cancelled:
                break
        return result

    def _try(self, export: Callable[[Exporter], Result], refused: Result) -> Result:
        try:
            return export(self._current())
        except Exception:
            if not self._is_cancelled:
                raise
            return refused

    def _current(self) -> Exporter:
        if self._pid != os.getpid() or self._is_cancelled:
            # Kept: dropping it would close a channel whose threads are in the parent.
            self._inherited.append(self._exporter)
            self._exporter = self._factory()
            self._pid = os.getpid()
            self._is_cancelled = False
        return self._exporter

    def shutdown(self, close: Callable[[Exporter], object]) -> None:
        """Close the exporter, unless it is the copy of the parent's.

        Args:
            close: The call.
        """
        if self._pid == os.getpid() and not self._is_cancelled:
            close(self._exporter)

    def hold(self, deadline: Deadline) -> bool:
        """Let no export begin from now on; ``False`` when not possible by the deadline."""
        return self._turnstile.acquire(timeout=deadline.remaining())

    def wait(self, deadline: Deadline) -> bool:
        """Wait for the running export; ``False`` when it still runs at the deadline."""
        ended = self._running.acquire(timeout=deadline.remaining())
        if ended:
            self._running.release()
        return ended

    def release(self) -> None:
        """Let exports begin again."""
        self._turnstile.release()

    def renew(self) -> None:
        """Start with free locks; in a child, whoever held them is gone."""
        self._turnstile = threading.Lock()
        self._running = threading.Lock()

    def cancel(self) -> None:
        """Cancel the running export by closing its channel."""
        mixin: Any = importlib.import_module("opentelemetry.exporter.otlp.proto.grpc.exporter")
        self._is_cancelled = True
        try:
            # Of the base class, which takes the time to wait for the running call: none.
            mixin.OTLPExporterMixin.shutdown(self._exporter, timeout_millis=0)
        except Exception as error:
            _logger.debug("a running export could not be cancelled: %s", error)


class _Process:
    was_forked_during_export = False


_grpc_exporters: weakref.WeakSet[ForkSafe[Any]] = weakref.WeakSet()
_forking = threading.local()  # two threads may fork at once


def _before() -> None:
    exporters = list(_grpc_exporters)
    deadline = Deadline(WAIT_MS)
    _forking.held = [exporter for exporter in exporters if exporter.hold(deadline)]
    running = [exporter for exporter in exporters if not exporter.wait(deadline)]
    for exporter in running:
        exporter.cancel()
    deadline = Deadline(CANCEL_MS)
    for exporter in running:
        exporter.wait(deadline)
    _forking.was_running = bool(running)


def _after_in_parent() -> None:
    for exporter in _forking.held:
        exporter.release()


def _after_in_child() -> None:
    if _forking.was_running:
        _Process.was_forked_during_export = True
        _logger.warning(
            "process %d was forked while a gRPC export was running; it exports no telemetry. "
            "Is the collector answering? Forks are always safe with http/protobuf",
            os.getpid(),
        )
    for exporter in list(_grpc_exporters):
        exporter.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child
    )
