"""Whether what a text cites is there: dotted names, files, tests."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from rltel_lint.facts import nodes as n
from rltel_lint.project.model import Class, Function, Module
from rltel_lint.project.modules import ModuleTable
from rltel_lint.project.resolve import Resolver

_PLAIN_BASES = frozenset(
    {
        *("object", "builtins.object", "abc.ABC", "typing.Protocol", "typing.Generic"),
        *("enum.Enum", "str", "builtins.str", "int", "builtins.int"),
    }
)
_DYNAMIC_TEXTS = ("def __getattr__", "globals()", "sys.modules[")
_DYNAMIC = re.compile(r"^def __getattr__\b|\bglobals\(\)|\bsys\.modules\[", re.MULTILINE)


@dataclass(frozen=True)
class Missing:
    """A dotted name that leads nowhere.

    Attributes:
        found: The part that exists.
        part: The first part that does not.
        candidates: What stands there instead.
    """

    found: str
    part: str
    candidates: tuple[str, ...]


class Citations:
    """Looks up dotted names in the project.

    Args:
        modules: The project's modules.
        resolver: Resolves members.
    """

    def __init__(self, modules: ModuleTable, resolver: Resolver) -> None:
        self._modules = modules
        self._resolver = resolver

    @cached_property
    def packages(self) -> dict[str, set[str]]:
        """Every package with the names of what is directly in it."""
        found: dict[str, set[str]] = {}
        for module in self._modules:
            parts = module.name.split(".")
            for end in range(1, len(parts)):
                found.setdefault(".".join(parts[:end]), set()).add(parts[end])
            if module.is_package:
                found.setdefault(module.name, set())
        return found

    def missing(self, dotted: str) -> Missing | None:
        """Returns what is missing of a dotted name; ``None`` if it leads somewhere or is not ours.

        Args:
            dotted: A dotted name that starts with a package of the project.
        """
        parts = dotted.split(".")
        if parts[0] not in self.packages:
            return None
        end = len(parts)
        while end > 1 and not self._is_module(".".join(parts[:end])):
            end -= 1
        name = ".".join(parts[:end])
        if end == len(parts):
            return None
        module = self._modules.named(name)
        part = parts[end]
        if module is None:
            return Missing(name, part, tuple(sorted(self.packages.get(name, ()))))
        if not self.has(module, part):
            inside = {*module.facts.bound, *self.packages.get(name, ())}
            return Missing(name, part, tuple(sorted(inside)))
        for entity in self._resolver.module_member(module, part):
            if isinstance(entity, Class):
                return self._member(entity, f"{name}.{part}", parts[end + 1 :])
        return None

    def _is_module(self, name: str) -> bool:
        return name in self.packages or self._modules.named(name) is not None

    def has(self, module: Module, name: str) -> bool:
        """Whether a module may have a member of this name."""
        if name in self.packages.get(module.name, ()) or name.startswith("__"):
            return True
        if module.facts.refused is not None:
            return True
        if any(map(module.facts.has, _DYNAMIC_TEXTS)) and module.facts.search(_DYNAMIC):
            # What is made on demand is listed, where there is a list.
            listed = "__all__" in module.facts.bindings
            return not listed or module.facts.search(re.compile(rf"\b{re.escape(name)}\b"))
        if module.bindings_of(name):
            return True
        for star in module.star_imports():
            source = self._resolver.imported_module(star, module)
            if not isinstance(source, Module) or source is module or self.has(source, name):
                return True
        # Bound in some way that the index does not see, such as ``global``.
        return module.facts.search(re.compile(rf"\bglobal\b.*\b{re.escape(name)}\b"))

    def _member(self, cls: Class, name: str, rest: Iterable[str]) -> Missing | None:
        part = next(iter(rest), None)
        if part is None or part.startswith("__") or self.may_have(cls, part):
            return None
        candidates = {m for holder in self._resolver.mro(cls) for m in holder.member_names}
        return Missing(name, part, tuple(sorted(candidates)))

    def may_have(self, cls: Class, name: str) -> bool:
        """Whether a class, or its instances, may have a member of this name."""
        if any(base not in _PLAIN_BASES for base in self._resolver.external_bases(cls)):
            return True
        mro = self._resolver.mro(cls)
        if any(holder.bindings_of(name) or holder.bindings_of("__getattr__") for holder in mro):
            return True
        if any(holder.node.decorators or len(list(holder.bases_args())) for holder in mro):
            known = all(
                isinstance(entity, Class)
                for holder in mro
                for base in holder.bases_args()
                for entity in self._resolver.of(base, holder.parent or holder.module)
            )
            if not known:
                return True
        if self._resolver.stored(cls, name):
            return True
        return any(
            holder.module.facts.search(re.compile(rf"\bsetattr\(|\.{re.escape(name)}\b\s*[:=]"))
            for holder in mro
        )


def is_generated(function: Function) -> bool:
    """Whether decorators may change what a function takes."""
    kept = {"contextmanager", "asynccontextmanager", "staticmethod", "classmethod", "override"}
    return any((n.dotted(d) or "").rpartition(".")[2] not in kept for d in function.node.decorators)
