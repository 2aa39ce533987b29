"""Work that may block for ever, waited for with a deadline."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue

_logger = logging.getLogger(__name__)


class Deadline:
    """A moment on the monotonic clock, so that several waits share one budget."""

    def __init__(self, timeout_ms: float) -> None:
        self._at = time.monotonic() + max(0.0, timeout_ms) / 1000.0

    def remaining(self) -> float:
        """Return the seconds that are left, zero when none."""
        return max(0.0, self._at - time.monotonic())


class Job:
    """A call handed to a :class:`DeadlineWorker`."""

    def __init__(self, call: Callable[[], object]) -> None:
        self._call = call
        self._done = threading.Event()

    def run(self) -> None:
        """Run the call; what it raises is logged, for telemetry never fails a run."""
        try:
            self._call()
        except Exception as error:
            _logger.warning("telemetry export failed: %s", error)
        finally:
            self._done.set()

    def wait(self, deadline: Deadline) -> bool:
        """Wait until the call has returned; ``False`` when the deadline came first."""
        return self._done.wait(deadline.remaining())


class DeadlineWorker:
    """One daemon thread that runs calls in order.

    The thread starts with the object, not with the first call: from Python 3.12 on no thread
    can be started once the interpreter is exiting, and that is when shutdown needs one.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self.restart()

    def restart(self) -> None:
        """Start a fresh thread and queue; a forked child has neither."""
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        threading.Thread(
            target=_serve, args=(self._queue,), name=f"rl-telemetry-{self._name}", daemon=True
        ).start()

    def submit(self, call: Callable[[], object]) -> Job:
        """Queue a call and return at once."""
        job = Job(call)
        self._queue.put(job)
        return job

    def stop(self) -> None:
        """Let the thread end after the calls that are queued."""
        self._queue.put(None)


def _serve(queue: SimpleQueue[Job | None]) -> None:
    while (job := queue.get()) is not None:
        job.run()
