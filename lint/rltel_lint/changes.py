"""What a finding offers to change: typed requests, plain data that rules make.

A rule knows *what* is to be changed, from linked facts; how the text of a file is edited for it is
known in :mod:`rltel_lint.fixes` alone. A request names places, never offsets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

from rltel_lint.findings import Place
from rltel_lint.remedies import Fix

__all__ = [
    "ActivateStream",
    "AddArgument",
    "AddDecorator",
    "AddRow",
    "Change",
    "Edit",
    "Fix",
    "GuardNone",
    "RemoveElement",
    "RemoveRow",
    "RenameCall",
    "ReplaceCall",
    "ReplaceText",
    "decode_change",
    "encode_fix",
]


@dataclass(frozen=True)
class ReplaceText:
    """Puts ``new`` in place of ``old``, which must stand at the end of the place.

    Attributes:
        place: A range on one line that ends with ``old``.
        old: The text that is there.
        new: The text that is to be there.
    """

    place: Place
    old: str
    new: str


@dataclass(frozen=True)
class RenameCall:
    """Calls another function of the same module; the import follows.

    Attributes:
        place: The call.
        old: The function that is called, by its own name.
        new: The function to call instead.
    """

    place: Place
    old: str
    new: str


@dataclass(frozen=True)
class AddArgument:
    """Adds a last argument to a call, and the import that it needs.

    Attributes:
        place: The call.
        template: The argument, with ``{}`` for the name.
        module: The module that has the name.
        name: What is imported.
    """

    place: Place
    template: str
    module: str
    name: str


@dataclass(frozen=True)
class AddDecorator:
    """Decorates a function, and adds the import that it needs.

    Attributes:
        place: The function's name behind ``def``.
        module: The module that has the decorator.
        name: The decorator.
    """

    place: Place
    module: str
    name: str


@dataclass(frozen=True)
class RemoveElement:
    """Takes one element out of a list, tuple, set, dict or call.

    Attributes:
        place: The element; of a dict its key or its value.
    """

    place: Place


@dataclass(frozen=True)
class ActivateStream:
    """Makes a ``with`` block around yields a streaming one: the span is current in each step.

    Attributes:
        place: The call in the ``with`` statement.
        old: The helper that is called.
        new: The streaming helper.
    """

    place: Place
    old: str
    new: str


@dataclass(frozen=True)
class GuardNone:
    """Puts statements that use a value that may be ``None`` under a test.

    Attributes:
        place: The first use, ``name.attribute``; the statements are calls of methods of the name.
        name: The name that holds the value.
    """

    place: Place
    name: str


@dataclass(frozen=True)
class ReplaceCall:
    """Calls another function of the same module, with other positional arguments.

    Attributes:
        place: The call; it has at least as many positional arguments as are replaced.
        old: The function that is called.
        new: The function to call instead.
        count: How many positional arguments are replaced.
        arguments: The code that stands in their place.
    """

    place: Place
    old: str
    new: str
    count: int
    arguments: str


@dataclass(frozen=True)
class AddRow:
    """Adds a row to a table of a Markdown document.

    Attributes:
        place: The name in the row beside which it belongs.
        name: What the row documents.
        cells: What is known for typed columns: the kind of the column and its names.
    """

    place: Place
    name: str
    cells: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True)
class RemoveRow:
    """Removes a row of a table of a Markdown document.

    Attributes:
        place: The name in the row.
    """

    place: Place


Change: TypeAlias = (
    ReplaceText
    | RenameCall
    | AddArgument
    | AddDecorator
    | RemoveElement
    | ActivateStream
    | GuardNone
    | ReplaceCall
    | AddRow
    | RemoveRow
)


@dataclass(frozen=True)
class Edit:
    """A range of a file and the text that is to stand there instead.

    Attributes:
        place: The range; it is empty where text is only added.
        text: The new text, its lines ended by line feeds.
    """

    place: Place
    text: str


_CHANGES: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        ReplaceText,
        RenameCall,
        AddArgument,
        AddDecorator,
        RemoveElement,
        ActivateStream,
        GuardNone,
        ReplaceCall,
        AddRow,
        RemoveRow,
    )
}


def encode_fix(fix: Fix) -> list[Any]:
    """Returns a fix, without its edits, as JSON values."""
    changes = [
        [type(change).__name__, *(_plain(getattr(change, one.name)) for one in fields(change))]
        for change in fix.changes
    ]
    return [fix.message, changes, fix.safe]


def decode_change(values: Sequence[Any]) -> Change:
    """Returns a change that was kept.

    Args:
        values: One of the changes in what :func:`encode_fix` returned.

    Raises:
        ValueError, TypeError, KeyError: The values are not what was kept.
    """
    kind, place, *rest = values
    change: Change = _CHANGES[kind](Place(*place), *(_frozen(value) for value in rest))
    return change


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, Place) else value


def _frozen(value: Any) -> Any:
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value
