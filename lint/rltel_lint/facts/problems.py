"""Why a file, or a statement of it, cannot be read."""

from __future__ import annotations

from dataclasses import dataclass

TOO_DEEP = "it is nested too deeply to be read"


@dataclass(frozen=True)
class SyntaxProblem:
    """Why a file, or a statement of it, could not be read.

    Attributes:
        line: Where, from 1.
        message: What is wrong, in one sentence without a full stop.
    """

    line: int
    message: str


def reason(error: BaseException) -> str:
    """Returns why something could not be parsed, in one sentence without a full stop."""
    message = getattr(error, "msg", None) or getattr(error, "message", None) or str(error)
    return " ".join(message.split()).rstrip(".")[:200] or type(error).__name__
