"""A word to a waiting person; silent in pipes, logs and short runs."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_PATIENCE_SECONDS = 1.0
_ERASE_LINE = "\r\x1b[K"


@contextmanager
def progress(text: str, patience: float = _PATIENCE_SECONDS) -> Iterator[None]:
    """Shows a line on standard error while the block runs, if it is a terminal.

    Args:
        text: The line; it is erased afterwards.
        patience: Seconds before it is shown.
    """
    stream = sys.stderr
    if stream is None or not stream.isatty():
        yield
        return
    shown = threading.Event()

    def show() -> None:
        shown.set()
        stream.write(text)
        stream.flush()

    timer = threading.Timer(patience, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if shown.is_set():
            stream.write(_ERASE_LINE)
            stream.flush()
