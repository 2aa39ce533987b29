"""Which modules the files of a project import helpers from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property

from rltel_lint.facts import nodes as n
from rltel_lint.project.calls import CallFinder
from rltel_lint.project.model import Function, Module
from rltel_lint.project.resolve import Entity, External, Resolver
from rltel_lint.vocabulary.model import KnownCall, Vocabulary, means


class HelperImports:
    """The imports of helpers.

    Args:
        vocabulary: What the helpers are called.
        finder: Finds the files that mention one.
        resolver: Resolves imports.
    """

    def __init__(self, vocabulary: Vocabulary, finder: CallFinder, resolver: Resolver) -> None:
        self._finder = finder
        self._resolver = resolver
        self._words = {helper.name for helper in vocabulary.helpers if helper.modules}
        carriers = vocabulary.carriers
        for calls in (carriers.keyword_helpers, carriers.makers, carriers.openers):
            self._words |= {call.name for call in calls}
        self._words |= {call.name for call in carriers.accepting}
        self._usual: dict[KnownCall, str] = {}

    def module_of(self, user: Module, known: KnownCall) -> str:
        """Returns what a file imports a name from: as it does already, or as the others do.

        Where they differ, most decide, then the project's own module over the library.

        Args:
            user: The module of the file.
            known: What is imported.

        Returns:
            A module's name, with dots before it where the file writes it so; empty if nobody
            imports it.
        """
        for node, module in self._imports(user):
            if self._has(module, known):
                return "." * node.level + (node.module or "")
        usual = self._usual.get(known)
        if usual is None:
            usual = self._usual[known] = self._most_used(known)
        return usual

    def _most_used(self, known: KnownCall) -> str:
        found = {one: uses for one, uses in self._uses.items() if self._has(one, known)}
        first = min(
            found, key=lambda one: (-found[one], isinstance(one, External), one.name), default=None
        )
        return "" if first is None else first.name

    @cached_property
    def _uses(self) -> Counter[Module | External]:
        """How many imports of helpers there are from each module."""
        users = {module.path: module for module, _ in self._finder.mentioning(self._words)}
        return Counter(module for user in users.values() for _, module in self._imports(user))

    def _imports(self, user: Module) -> Iterator[tuple[n.Import, Module | External]]:
        for unit in user.facts.units:
            if not unit.has("import"):
                continue
            for node in unit.statements:
                if isinstance(node, n.Import) and node.module is not None:
                    if any(original in self._words for original, _ in node.names):
                        module = self._resolver.imported_module(node, user)
                        if module is not None:
                            yield node, module

    def _has(self, module: Module | External, known: KnownCall) -> bool:
        return any(
            means(dotted_name(entity), known.name, known.modules)
            for entity in self._resolver.member(module, known.name)
        )


def dotted_name(entity: Entity) -> str:
    """Returns the dotted name of a function or of what lies outside; empty for anything else."""
    if isinstance(entity, External):
        return entity.name
    return entity.qualified if isinstance(entity, Function) else ""
