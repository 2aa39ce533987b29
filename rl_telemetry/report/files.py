"""Finds the files of a run and reads them line by line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from rl_telemetry.report.notes import Notes

#: Longer lines are skipped, so that a file without line breaks cannot fill the memory. A batch of
#: the exporter has a few hundred kilobytes.
MAX_LINE_BYTES: Final = 64 * 1024 * 1024

_NAME = re.compile(r".+\.jsonl(\.\d+)?")


class PathError(Exception):
    """A path that cannot be read as a run; the text says why."""


class Line(NamedTuple):
    """A line of a file.

    Attributes:
        number: From 1.
        offset: Bytes before it.
        data: The line.
        is_whole: Whether a line break ends it.
    """

    number: int
    offset: int
    data: bytes
    is_whole: bool


def find(paths: Iterable[Path]) -> list[Path]:
    """Return the files to read.

    Args:
        paths: Files, and folders whose ``*.jsonl`` and rotated ``*.jsonl.N`` are meant.

    Returns:
        Each file once.

    Raises:
        PathError: If a path is no file and no folder with such files.
    """
    found: dict[Path, Path] = {}
    for path in paths:
        for file in _files_of(path):
            found.setdefault(file.resolve(), file)
    return list(found.values())


def _files_of(path: Path) -> list[Path]:
    try:
        if path.is_dir():
            files = sorted(p for p in path.iterdir() if _NAME.fullmatch(p.name) and p.is_file())
            if not files:
                raise PathError(
                    f"no *.jsonl in {path}; give the folder that the exporter `file` wrote to"
                )
            return files
        if path.is_file():
            return [path]
        exists = path.exists()
    except OSError as error:
        raise PathError(f"cannot read {path}: {error.strerror}") from None
    if exists:
        raise PathError(f"{path} is no regular file; write it to one first, for it is read twice")
    raise PathError(f"no such file or folder: {path}")


def read(path: Path, notes: Notes, after: Line | None = None) -> Iterator[Line]:
    """Read the lines of a file, one at a time.

    Args:
        path: The file.
        notes: Where to say that a line is too long or the file cannot be read.
        after: Where to go on, as an earlier call yielded it: this line is the first.

    Yields:
        The lines that are not blank.
    """
    number, offset = (after.number - 1, after.offset) if after else (0, 0)
    try:
        with path.open("rb") as file:
            file.seek(offset)
            while data := file.readline(MAX_LINE_BYTES):
                number += 1
                begin, offset = offset, offset + len(data)
                if len(data) == MAX_LINE_BYTES and not data.endswith(b"\n"):
                    notes.at(path, number, "line of more than 64 MiB; skipped")
                    while rest := file.readline(MAX_LINE_BYTES):
                        offset += len(rest)
                        if rest.endswith(b"\n"):
                            break
                elif not data.isspace():
                    yield Line(number, begin, data, data.endswith(b"\n"))
    except OSError as error:
        notes.of_file(path, f"cannot be read: {error.strerror}; what is missing is not counted")
