"""Strings that come from data, made fit to be shown."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

MAX_LENGTH: Final = 160


@lru_cache(maxsize=4096)
def printable(text: str) -> str:
    """Return ``text`` without what could move a cursor or break a file.

    Args:
        text: Any string.

    Returns:
        At most ``MAX_LENGTH`` characters; each that does not print, as an escape sequence would
        need, is replaced by its Python escape.
    """
    shown = "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[:MAX_LENGTH]
    )
    return shown if len(shown) <= MAX_LENGTH and len(text) <= MAX_LENGTH else shown[:159] + "…"


def seconds(nanoseconds: int) -> str:
    """Return a duration in seconds with the digits that matter."""
    value = nanoseconds / 1e9
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


def share(part: int, whole: int) -> str:
    """Return ``part`` of ``whole`` as a percentage, a dash when there is no whole."""
    return f"{part / whole:.0%}" if whole > 0 else "-"


def counted(number: int, noun: str) -> str:
    """Return ``1 span`` or ``2 spans``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
