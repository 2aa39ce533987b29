"""Processes of this machine that extract facts, each over a pipe of its own.

A pipe needs neither a semaphore nor a thread, and a process that dies is seen by the end of its
pipe: the others go on.
"""

from __future__ import annotations

import contextlib
import gc
import marshal
import multiprocessing
import signal
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, cast

from rltel_lint.extraction.chunks import Chunk, Extracted, extract_chunk
from rltel_lint.extraction.workers import ExecutorError
from rltel_lint.forks import can_fork

_MOST = 61
"""Windows waits for no more pipes at once."""


class Processes:
    """Extracts in processes of this machine.

    Args:
        number: How many.
    """

    def __init__(self, number: int) -> None:
        self._number = min(number, _MOST)

    def run(self, chunks: Sequence[Chunk]) -> Iterator[Extracted]:
        """Yields the facts of chunks, in any order.

        Raises:
            ExecutorError: A process could not be started, has failed or died.
        """
        waiting = list(reversed(chunks))
        running: dict[Connection, BaseProcess] = {}
        lost = ""
        try:
            for _ in range(min(self._number, len(chunks))):
                connection, process = _start()
                running[connection] = process
                connection.send(waiting.pop())
        except (OSError, ImportError, ValueError) as error:
            lost = f"cannot start a process: {error}"
        try:
            while running:
                for connection in cast("list[Connection]", wait(list(running))):
                    try:
                        data = connection.recv_bytes()
                    except (EOFError, OSError):
                        lost = lost or "a process that reads files has ended early"
                        data = b""
                    if data and waiting:
                        connection.send(waiting.pop())
                    else:
                        _end(connection, running.pop(connection))
                    facts = marshal.loads(data) if data else {}
                    if isinstance(facts, str):
                        lost = lost or facts
                    elif facts:
                        yield facts
        finally:
            for connection, process in running.items():
                _end(connection, process)
        if lost:
            raise ExecutorError(lost)


def _start() -> tuple[Connection, BaseProcess]:
    # Forking costs milliseconds, and starting Python anew half a second.
    context: Any = multiprocessing.get_context("fork" if can_fork() else "spawn")
    ours, theirs = multiprocessing.Pipe()
    try:
        process: BaseProcess = context.Process(target=_serve, args=(theirs,), daemon=True)
        process.start()
    finally:
        theirs.close()
    return ours, process


def _end(connection: Connection, process: BaseProcess) -> None:
    connection.close()
    process.terminate()
    process.join()


def _serve(connection: Connection) -> None:
    """Extracts chunks until the pipe is closed: what a process does."""
    # Ctrl-C reaches all processes of a terminal; the one that started this one answers it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()
    with contextlib.suppress(EOFError, OSError):
        while True:
            chunk = connection.recv()
            try:
                data = marshal.dumps(extract_chunk(chunk))
            except Exception as error:  # raised anew where the files are read in the end
                data = marshal.dumps(f"a process cannot read its files ({type(error).__name__})")
            connection.send_bytes(data)
