"""A remedy that the machine carries out; what it changes is in :mod:`rltel_lint.changes`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, overload

if TYPE_CHECKING:
    from rltel_lint.changes import Change, Edit


class Fix(NamedTuple):
    """A remedy that can be carried out by the machine.

    Attributes:
        message: What it does, in a few words that begin with a verb.
        changes: What is changed, all of it or nothing.
        safe: Whether it is made without being asked for; otherwise it is a guess.
        edits: The changes as edits of texts, where a report needs them.
    """

    message: str
    changes: Sequence[Change]
    safe: bool = True
    edits: tuple[Edit, ...] = ()


def decode_fix(values: list[Any]) -> Fix:
    """Returns the fix that :func:`rltel_lint.changes.encode_fix` was given.

    Args:
        values: What was kept.

    Raises:
        ValueError, TypeError: The values are not what was kept.
    """
    message, changes, safe = values
    return Fix(message, _KeptChanges(changes), safe)


class _KeptChanges(Sequence["Change"]):
    """Changes as they were kept; decoded, and their kinds imported, when a fix is carried out."""

    def __init__(self, values: list[list[Any]]) -> None:
        self._values = values

    @cached_property
    def _decoded(self) -> tuple[Change, ...]:
        from rltel_lint.changes import decode_change

        return tuple(map(decode_change, self._values))

    @overload
    def __getitem__(self, index: int) -> Change: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Change, ...]: ...

    def __getitem__(self, index: int | slice) -> Change | tuple[Change, ...]:
        return self._decoded[index]

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        return self._decoded == other

    def __hash__(self) -> int:
        return hash(self._decoded)
