"""The fields that an object turns into keys: dataclasses, named tuples, models, attributes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rltel_lint.facts import nodes as n
from rltel_lint.project.metrics.keys import Keys, gap, key_at, union
from rltel_lint.project.model import Class
from rltel_lint.project.resolve import Resolver
from rltel_lint.values import literal

_STORE = re.compile(r"\bself\.([A-Za-z_]\w*)\s*(?::[^=\n]+)?(?<![=!<>])=(?!=)")


class Records:
    """Reads the fields of classes.

    Args:
        resolver: Knows the bases of a class.
    """

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver

    def fields(self, cls: Class) -> Keys:
        """Returns the keys that ``asdict``, ``vars`` or a model's dump give for an object."""
        found = union(key for holder in self._resolver.mro(cls) for key in self._own(holder))
        known = {"object", "BaseModel", "NamedTuple", "TypedDict", "ABC", "Protocol", "Generic"}
        bases = {name.rpartition(".")[2] for name in self._resolver.external_bases(cls)}
        return found | gap(f"{cls.name} has bases from elsewhere") if bases - known else found

    def _own(self, cls: Class) -> Iterator[Keys]:
        for name in cls.member_names:
            for binding in cls.bindings_of(name):
                if isinstance(binding.node, n.Assign) and binding.node.annotation is not None:
                    yield key_at(literal(name), cls.place(binding.node.targets[0]))
        place = cls.place(cls.node)
        for unit in cls.unit.members if cls.unit is not None else ():
            for name in unit.findall(_STORE):
                yield key_at(literal(name), place)
        if cls.unit is None and cls.node.body:
            if any(isinstance(statement, n.FunctionDef) for statement in cls.node.body):
                yield gap(f"{cls.name} may set attributes of its own")
