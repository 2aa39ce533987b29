"""Writes the report to standard output and everything else to standard error."""

from __future__ import annotations

import os
import sys
from typing import Literal, TextIO

from rltel_lint.errors import UserError

Colour = Literal["auto", "always", "never"]


def write_report(text: str) -> None:
    """Writes to standard output, whatever its encoding, and even if the reader has gone.

    Args:
        text: The report; characters that the encoding lacks are written as escapes.

    Raises:
        UserError: The report cannot be written, such as on a full disk.
    """
    stream = sys.stdout
    if stream is None:  # closed by the caller
        return
    _escape_unencodable(stream)
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        _silence(stream)
    except OSError as error:
        _silence(stream)
        raise UserError(f"cannot write the report: {error.strerror}") from error


def note(text: str) -> None:
    """Writes one line to standard error, if anyone can read it."""
    if sys.stderr is None:
        return
    try:
        _escape_unencodable(sys.stderr)
        print(f"rltel-lint: {text}", file=sys.stderr)
    except OSError:
        _silence(sys.stderr)


def use_colour(wanted: Colour) -> bool:
    """Says whether the report gets colours.

    Args:
        wanted: ``auto`` means on a terminal, unless ``NO_COLOR`` is set (https://no-color.org)
            or ``TERM`` is ``dumb``.
    """
    if wanted != "auto":
        return wanted == "always"
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return not plain and _is_terminal()


def terminal_width() -> int | None:
    """Returns the characters of a line on a terminal, ``None`` when writing elsewhere."""
    if not _is_terminal():
        return None
    return os.get_terminal_size(sys.stdout.fileno()).columns or None


def _is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def _escape_unencodable(stream: TextIO) -> None:
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def _silence(stream: TextIO) -> None:
    """Points a broken stream at nothing, or the interpreter's last flush would fail as well."""
    try:
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, stream.fileno())
        os.close(descriptor)
    except (OSError, ValueError):
        pass
