"""Work shared out to forked copies of this process, which see all that it has read so far."""

from __future__ import annotations

import marshal
import os
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any

Task = Callable[[], Any]
"""Work whose answer is made of what JSON knows."""


def can_fork() -> bool:
    """Whether a copy of this process is safe: no other thread may hold a lock just now.

    Away from Linux libraries of the system start threads that nobody sees. A timer only waits.
    """
    own = threading.current_thread()
    others = (thread for thread in threading.enumerate() if thread is not own)
    return sys.platform.startswith("linux") and all(isinstance(t, threading.Timer) for t in others)


def run_forked(tasks: Sequence[Task]) -> list[Any] | None:
    """Runs the first task here and each other one in a child process, at the same time.

    Args:
        tasks: At least one. They may read what this process knows; what the others change is
            lost but for their answers.

    Returns:
        The answers in order, or ``None`` if a child could not be started or failed. The first
        task has run then or not; all of them can be run here.
    """
    children: list[tuple[int, int]] = []
    try:
        for task in tasks[1:]:
            children.append(_start(task))
        first = tasks[0]()
    except OSError:
        first = None
    finally:
        answers = [_finish(*child) for child in children]
    if first is None or len(answers) < len(tasks) - 1 or None in answers:
        return None
    return [first, *(marshal.loads(answer) for answer in answers if answer is not None)]


def run_apart(task: Task) -> Any | None:
    """Runs a task in a child process, so that nothing that it builds stays in this one.

    Args:
        task: May read what this process knows; what it changes is lost but for its answer.

    Returns:
        The answer, or ``None`` if a child could not be started or failed: the task can be run
        here then.
    """
    try:
        answer = _finish(*_start(task))
    except OSError:
        return None
    return None if answer is None else marshal.loads(answer)


def _start(task: Task) -> tuple[int, int]:
    """Returns the child's process id and where to read its answer."""
    reading, writing = os.pipe()
    try:
        with warnings.catch_warnings():
            # Python warns of any other thread; see can_fork.
            warnings.simplefilter("ignore", DeprecationWarning)
            process = os.fork()
    except OSError:
        os.close(reading)
        os.close(writing)
        raise
    if process == 0:
        _be_child(task, reading, writing)
    os.close(writing)
    return process, reading


def _be_child(task: Task, reading: int, writing: int) -> None:
    code = 1
    try:
        os.close(reading)
        with os.fdopen(writing, "wb") as file:
            file.write(marshal.dumps(task()))
        code = 0
    except BaseException:  # told by the exit code; the parent does the work itself then
        code = 1
    finally:
        os._exit(code)  # neither handlers at exit nor buffers of the parent are ours


def _finish(process: int, reading: int) -> bytes | None:
    """Returns what a child wrote, ``None`` if it did not get to its end."""
    with os.fdopen(reading, "rb") as file:
        answer = file.read()
    _, status = os.waitpid(process, 0)
    return answer if status == 0 else None
