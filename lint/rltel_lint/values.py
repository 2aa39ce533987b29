"""The abstract string: literals, patterns with holes, or unknown with a reason.

A :class:`Strings` covers every value that an expression may have: each of them is one of its
literals or fits one of its templates, in which a hole stands for anything. For readers a hole is
written ``**``, as in documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

HOLE = "\0"
"""The character that stands for an unknown piece of a string."""

LIMIT = 64
"""More alternatives than this become one pattern: nobody documents so many by hand."""

LENGTH = 256
"""What is put together to be longer than this is cut, with a hole at its end."""


@dataclass(frozen=True)
class Strings:
    """What a string may be.

    Attributes:
        templates: The alternatives; each may contain :data:`HOLE`. Empty: no value at all.
        reason: Why there are holes, in words for a reader.
    """

    templates: frozenset[str] = frozenset()
    reason: str = field(default="", compare=False)

    @property
    def literals(self) -> tuple[str, ...]:
        """The alternatives without holes, sorted."""
        return tuple(sorted(t for t in self.templates if HOLE not in t))

    @property
    def patterns(self) -> tuple[str, ...]:
        """The alternatives with holes (but some text), in ``*`` notation, sorted."""
        found = (t for t in self.templates if HOLE in t and t.strip(HOLE))
        return tuple(sorted(display(t) for t in found))

    @property
    def exact(self) -> str | None:
        """The value, if it can only be this one."""
        return self.literals[0] if len(self.templates) == len(self.literals) == 1 else None

    @property
    def known(self) -> bool:
        """Whether the value is certainly one of the literals."""
        return bool(self.templates) and not any(HOLE in t for t in self.templates)

    def __or__(self, other: Strings) -> Strings:
        return union((self, other))

    def __add__(self, other: Strings) -> Strings:
        return concat((self, other))

    def map(self, change: Callable[[str], str]) -> Strings:
        """Applies a function to every literal; a template with holes becomes a hole."""
        changed = frozenset(HOLE if HOLE in t else change(t) for t in self.templates)
        return Strings(changed, self.reason)

    def map_text(self, change: Callable[[str], str]) -> Strings:
        """Applies a character-wise function to the text between holes too."""
        changed = frozenset(HOLE.join(map(change, t.split(HOLE))) for t in self.templates)
        return Strings(changed, self.reason)


NEVER = Strings()
"""No value at all: the start of a union."""


def unknown(reason: str) -> Strings:
    """Returns the string of which nothing is known, and why."""
    return Strings(frozenset({HOLE}), reason)


def literal(*values: str) -> Strings:
    """Returns the string that is one of these."""
    return Strings(frozenset(value.replace(HOLE, "?") for value in values))


def union(parts: Iterable[Strings]) -> Strings:
    """Returns the string that is one of these."""
    parts = list(parts)
    templates: set[str] = set()
    for part in parts:
        templates |= part.templates
    reason = min((part.reason for part in parts if part.reason), default="")
    if len(templates) > LIMIT:
        return unknown(f"more than {LIMIT} alternatives")
    return Strings(frozenset(templates), reason)


def concat(parts: Iterable[Strings]) -> Strings:
    """Returns the strings put one after the other, in every combination."""
    templates, reason = frozenset({""}), ""
    for part in parts:
        reason = reason or part.reason
        if len(templates) * len(part.templates) > LIMIT:
            templates = frozenset(_squeeze(left + HOLE) for left in templates)
            reason = reason or f"more than {LIMIT} alternatives"
        else:
            templates = frozenset(
                _squeeze(left + right) for left in templates for right in part.templates
            )
    return Strings(templates, reason)


def _squeeze(template: str) -> str:
    if len(template) > LENGTH:
        template = template[:LENGTH] + HOLE
    while HOLE * 2 in template:
        template = template.replace(HOLE * 2, HOLE)
    return template


def display(template: str) -> str:
    """Returns a template in the notation of documents: a hole is ``**``."""
    return template.replace(HOLE, "**")
