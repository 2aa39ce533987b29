"""What a rule reports: a code, a place, one sentence, related places, perhaps a cause."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from rltel_lint.remedies import Fix

Severity = Literal["error", "warning"]


class Place(NamedTuple):
    """A range in a file of the project.

    Attributes:
        path: Path relative to the project root, with ``/``.
        line: First line, counted from 1.
        column: First column, counted from 1.
        end_line: Last line; 0 where only the start is known.
        end_column: Column after the last character; 0 where only the start is known.
    """

    path: str
    line: int = 1
    column: int = 1
    end_line: int = 0
    end_column: int = 0

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


class Related(NamedTuple):
    """Another place that a finding speaks of, and what is there."""

    place: Place
    message: str


@dataclass(frozen=True)
class Finding:
    """One disagreement, at the place where it is best mended.

    Attributes:
        place: Where it is shown.
        code: ``RLT`` and three digits.
        name: The rule's name in words, such as ``undocumented-span``.
        message: One sentence that names both sides and the remedy.
        severity: How bad it is; every finding counts for the exit code.
        related: Places that the message refers to, sorted as given.
        fix: How the machine can mend it; ``None`` where only a person can.
        silent: Whether a comment or a per-file ignore silences it; ``None`` where nobody looked.
    """

    place: Place
    code: str
    name: str
    message: str
    severity: Severity = "error"
    related: tuple[Related, ...] = field(default=(), compare=False)
    fix: Fix | None = field(default=None, compare=False)
    silent: bool | None = field(default=None, compare=False)

    @property
    def sort_key(self) -> tuple[str, int, int, str, str]:
        """The order of every report: by path, line, column and code."""
        return (self.place.path, self.place.line, self.place.column, self.code, self.message)
