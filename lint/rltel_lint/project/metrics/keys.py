"""The keys of a mapping: what was written into it, and what may be in it besides."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, TypeVar

from rltel_lint.facts import nodes as n
from rltel_lint.findings import Place
from rltel_lint.values import HOLE, Strings


@dataclass(frozen=True)
class Key:
    """One key, written at one place.

    Attributes:
        value: What the key may be; never a hole alone.
        place: Where it is written.
    """

    value: Strings
    place: Place


@dataclass(frozen=True)
class Keys:
    """The keys that a mapping may have.

    Attributes:
        found: Keys that are written into it.
        gaps: Why it may hold further keys that the project writes somewhere, in words; empty
            when all writers are known.
        outside: Functions of libraries that may have put in keys of their own.
    """

    found: frozenset[Key] = frozenset()
    gaps: frozenset[str] = frozenset()
    outside: frozenset[str] = frozenset()

    def __or__(self, other: Keys) -> Keys:
        return Keys(self.found | other.found, self.gaps | other.gaps, self.outside | other.outside)

    @property
    def closed(self) -> bool:
        """Whether every key is known."""
        return not self.gaps and not self.outside

    def holding(self, key: str) -> list[Key]:
        """Returns where a key may be written, sorted by place."""
        found = [one for one in self.found if fits(one.value, key)]
        return sorted(found, key=lambda one: one.place)


NO_KEYS = Keys()


def gap(reason: str) -> Keys:
    """Returns the mapping of which nothing is known."""
    return Keys(gaps=frozenset({reason}))


def from_outside(name: str) -> Keys:
    """Returns the mapping that a library makes."""
    return Keys(outside=frozenset({name}))


def union(parts: Iterable[Keys]) -> Keys:
    """Returns the mapping that may be one of these, or holds all of them."""
    found: set[Key] = set()
    gaps: set[str] = set()
    outside: set[str] = set()
    for part in parts:
        found |= part.found
        gaps |= part.gaps
        outside |= part.outside
    return Keys(frozenset(found), frozenset(gaps), frozenset(outside))


def key_at(value: Strings, place: Place) -> Keys:
    """Returns the mapping with this one key; a gap for a key of which nothing is known."""
    known = frozenset(t for t in value.templates if t.strip(HOLE))
    found = frozenset({Key(Strings(known, value.reason), place)}) if known else frozenset()
    unknown = known != value.templates
    return Keys(found, frozenset({value.reason or "a key is not known"} if unknown else ()))


def fits(value: Strings, key: str) -> bool:
    """Whether a string may be this key."""
    return any(
        template == key if HOLE not in template else _regex(template).fullmatch(key) is not None
        for template in value.templates
    )


@cache
def _regex(template: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, template.split(HOLE))), re.DOTALL)


_Node = TypeVar("_Node", bound=n.Node)


def substitute(node: _Node, names: dict[str, n.Expr]) -> _Node:
    """Returns a copy of a tree in which names are replaced by expressions."""
    if isinstance(node, n.Name):
        return names.get(node.id, node)  # type: ignore[return-value]
    changed: dict[str, Any] = {}
    for field in fields(node):
        value = getattr(node, field.name)
        new = _substituted(value, names)
        if new is not value:
            changed[field.name] = new
    return replace(node, **changed) if changed else node


def _substituted(value: object, names: dict[str, n.Expr]) -> object:
    if isinstance(value, n.Node):
        return substitute(value, names)
    if isinstance(value, tuple) and value and not isinstance(value[0], int):
        parts = tuple(_substituted(part, names) for part in value)
        return parts if any(a is not b for a, b in zip(parts, value, strict=True)) else value
    return value


def names_in(expr: n.Expr) -> set[str]:
    """Returns the bare names that an expression reads."""
    return {node.id for node in n.walk(expr) if isinstance(node, n.Name)}
