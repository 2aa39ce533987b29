"""Writes the report to standard output and everything else to standard error."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from pathlib import Path
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


def write_whole(path: Path, data: bytes) -> None:
    """Writes a file at once: whoever reads it meanwhile sees the old content or the new one.

    An existing file keeps its mode; through a symbolic link its target is written. What is no
    regular file, such as a pipe, is written as it is.

    Args:
        path: The file; its folder must exist.
        data: Its content.

    Raises:
        UserError: It cannot be written.
    """
    try:
        if path.is_dir():
            raise UserError(f"{path} is a folder; name a file")
        if path.exists() and not path.is_file():
            path.write_bytes(data)
        else:
            _replace(path.resolve(), data)
    except (OSError, RuntimeError) as error:  # a loop of links
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{path} cannot be written: {reason}") from error


def _replace(target: Path, data: bytes) -> None:
    import tempfile

    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~_umask()
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with open(descriptor, "wb") as stream:
            stream.write(data)
        os.chmod(name, mode)
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _umask() -> int:
    """The bits that new files do not get; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


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
