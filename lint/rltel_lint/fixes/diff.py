"""Changes as a unified diff that ``patch`` and ``git apply`` take."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping

_LINES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")


def unified_diff(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """Returns the difference between texts.

    Args:
        before: The texts as they are, by path.
        after: The changed texts, by path.
    """
    return "".join(
        line for path in sorted(after) for line in _file(path, before[path], after[path])
    )


def _file(path: str, before: str, after: str) -> Iterator[str]:
    old, new = _LINES.findall(before), _LINES.findall(after)
    for line in difflib.unified_diff(old, new, f"a/{path}", f"b/{path}"):
        if line.endswith(("\n", "\r")):
            yield line
        else:
            yield f"{line}\n\\ No newline at end of file\n"
