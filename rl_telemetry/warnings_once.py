"""Warnings that are said once per process.

Telemetry runs inside training loops, where one broken thing would otherwise be reported at every
step. The first report of a key is a warning; later ones are debug records, so a debug log still
shows how often it happened.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Hashable

_LOGGER = logging.getLogger("rl_telemetry")

# ``dict.setdefault`` is atomic, so no lock is needed, and none can be held across a fork.
_seen: dict[Hashable, object] = {}


def warn_once(
    key: Hashable,
    message: str,
    *,
    logger: logging.Logger = _LOGGER,
    exc_info: bool = True,
    stack_info: bool = False,
) -> bool:
    """Log ``message`` as a warning the first time ``key`` is seen, and at debug level afterwards.

    The message is logged as it is: it is no
    format string.

    Args:
        key: Identifies the warning in this process.
        message: The complete text.
        logger: Where to log; the ``rl_telemetry`` logger by default.
        exc_info: Whether to attach the error that is being handled, if one is. ``False`` for
            warnings about the caller, who may be handling an error of its own.
        stack_info: Whether to attach the stack, for warnings about the caller's own line.

    Returns:
        Whether this call was the first for ``key``.
    """
    mark = object()
    first = _seen.setdefault(key, mark) is mark
    logger.log(
        logging.WARNING if first else logging.DEBUG,
        "%s",
        message,
        exc_info=exc_info and sys.exc_info()[0] is not None,
        stack_info=stack_info and first,
        stacklevel=2,
    )
    return first


def reset_warnings() -> None:
    """Forget what was already said. For tests."""
    _seen.clear()


__all__ = ["reset_warnings", "warn_once"]
