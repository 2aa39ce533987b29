"""Changed texts back into their files: whole or not at all, and nothing else about them changed."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import tempfile
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rltel_lint.reading import SourceText, read_source

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Written:
    """What came of writing files.

    Attributes:
        paths: The files that were written.
        notes: What was left alone, and why.
    """

    paths: tuple[str, ...]
    notes: tuple[str, ...]


def write_texts(root: Path, before: Mapping[str, str], after: Mapping[str, str]) -> Written:
    """Writes changed texts.

    A file keeps its mode, its encoding and its byte order mark; through a symbolic link its
    target is written. A file that is not as it was read is left alone.

    Args:
        root: The project root.
        before: The texts as they were read, by path.
        after: The changed texts, by path.
    """
    paths, notes = [], []
    for path, text in sorted(after.items()):
        reason = _write(root / path, before[path], text)
        if reason:
            notes.append(f"{path} {reason}; it was left alone")
        else:
            paths.append(path)
    return Written(tuple(paths), tuple(notes))


def _write(path: Path, before: str, after: str) -> str:
    """Writes one file; returns why it could not be done, empty if it was."""
    try:
        path = path.resolve(strict=True)
        now = read_source(path)
        if not isinstance(now, SourceText) or now.text != before:
            return "has changed since it was read"
        if now.problem is not None:
            return "is not UTF-8"
        if not os.access(path, os.W_OK):
            return "is not writable"
        replace_bytes(path, _encode(path, path.read_bytes(), after))
    except UnicodeEncodeError:
        return "cannot hold the new text in its encoding"
    except OSError as error:
        return f"cannot be written ({error.strerror})"
    return ""


def _encode(path: Path, old: bytes, text: str) -> bytes:
    if path.suffix == ".py":
        encoding, _ = tokenize.detect_encoding(io.BytesIO(old).readline)
        return text.encode(encoding)
    return (_BOM if old.startswith(_BOM) else b"") + text.encode()


def byte_order_mark(path: Path) -> str:
    """Returns the byte order mark that a file begins with; empty without one."""
    try:
        with path.open("rb") as stream:
            return "\ufeff" if stream.read(len(_BOM)) == _BOM else ""
    except OSError:
        return ""


def replace_bytes(path: Path, data: bytes) -> None:
    """Replaces the content of a file at once, keeping its mode and, where allowed, its owner.

    Args:
        path: An existing file, no symbolic link.
        data: The new content.

    Raises:
        OSError: It cannot be written; the file is as it was.
    """
    status = path.stat()
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with open(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, stat.S_IMODE(status.st_mode))
        if hasattr(os, "chown"):
            with contextlib.suppress(OSError):
                os.chown(name, status.st_uid, status.st_gid)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
