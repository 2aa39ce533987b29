"""Bytes of one file in, text or a problem out."""

from __future__ import annotations

import io
import os
import stat
import tokenize
from dataclasses import dataclass
from pathlib import Path

MAX_BYTES = 4_000_000
"""Larger files are generated; reading them would cost more than all the rest."""


@dataclass(frozen=True)
class ReadProblem:
    """Why a file, or a part of it, could not be read as meant.

    Attributes:
        message: One sentence with the remedy.
        line: Where, counted from 1.
    """

    message: str
    line: int = 1


@dataclass(frozen=True)
class SourceText:
    """The text of a file.

    Attributes:
        text: Decoded, without a byte order mark, line ends as they are.
        problem: What went wrong although there is a text.
    """

    text: str
    problem: ReadProblem | None = None


def read_source(path: Path) -> SourceText | ReadProblem:
    """Reads a file once and decodes it.

    Python files are decoded as PEP 263 says. Documents are UTF-8; one that is not is read as
    Latin-1 with a problem besides, because names are ASCII and without its rows everything
    it documents would be reported as undocumented.

    Args:
        path: A file; ``.py`` is Python, anything else a document.
    """
    data = _read(path)
    if isinstance(data, ReadProblem):
        return data
    decoded = _decode_python(data) if path.suffix == ".py" else _decode_document(data)
    if isinstance(decoded, SourceText) and "\0" in decoded.text:
        line = decoded.text[: decoded.text.index("\0")].count("\n") + 1
        return ReadProblem("contains a NUL character; save it as UTF-8 text or exclude it", line)
    return decoded


def _read(path: Path) -> bytes | ReadProblem:
    try:
        status = path.stat()
        # Asked before opening: to open a named pipe would wait for a writer.
        if not stat.S_ISREG(status.st_mode):
            return ReadProblem("is not a regular file; remove or exclude it")
        if status.st_size > MAX_BYTES:
            size, limit = status.st_size / 1e6, MAX_BYTES / 1e6
            return ReadProblem(
                f"is {size:.1f} MB, above the limit of {limit:.0f} MB; split or exclude it"
            )
        return path.read_bytes()
    except OSError as error:
        reason = error.strerror or os.strerror(error.errno or 0)
        return ReadProblem(f"cannot be read: {reason}; mend that or exclude it")


def _decode_python(data: bytes) -> SourceText | ReadProblem:
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError as error:
        reason = (error.msg or "no usable encoding").partition(" for <")[0]
        return ReadProblem(f"cannot be decoded: {reason}; mend its coding line or save it as UTF-8")
    try:
        return SourceText(data.decode(encoding))
    except UnicodeDecodeError as error:
        return ReadProblem(
            f"is not valid {encoding}; save it as UTF-8 or declare its encoding (PEP 263)",
            _line_of(data, error.start),
        )
    except (LookupError, ValueError):
        # A codec that is no text encoding (hex, rot13), or one that refuses everything.
        return ReadProblem(f"cannot be decoded: {encoding} is no encoding of text; use UTF-8")


def _decode_document(data: bytes) -> SourceText:
    try:
        return SourceText(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        problem = ReadProblem(
            "is not UTF-8 and was read as Latin-1; save it as UTF-8", _line_of(data, error.start)
        )
        return SourceText(data.decode("latin-1"), problem)


def _line_of(data: bytes, offset: int) -> int:
    return data[:offset].count(b"\n") + 1
