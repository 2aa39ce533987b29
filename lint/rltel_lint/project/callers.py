"""Who calls a function, including who may: on objects of unknown class, by name, as a callback."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rltel_lint.facts import nodes as n
from rltel_lint.project.calls import CallFinder, CallSite
from rltel_lint.project.model import Function
from rltel_lint.project.modules import ModuleTable
from rltel_lint.project.resolve import Resolver
from rltel_lint.project.uses import Use, Uses


@dataclass(frozen=True)
class Callers:
    """The calls that may run a function.

    Attributes:
        sites: The calls.
        complete: Whether there can be no others in the project.
    """

    sites: tuple[CallSite, ...]
    complete: bool


class CallerFinder:
    """Finds all calls that may run a function.

    Args:
        modules: The project's modules.
        resolver: Resolves receivers.
        finder: Finds the calls that are sure.
        uses: Finds the uses of names and attributes.
    """

    def __init__(
        self, modules: ModuleTable, resolver: Resolver, finder: CallFinder, uses: Uses
    ) -> None:
        self._modules = modules
        self._resolver = resolver
        self._finder = finder
        self._uses = uses
        self._known: dict[Function, Callers] = {}

    def of(self, function: Function) -> Callers:
        """Returns the calls of a function."""
        known = self._known.get(function)
        if known is None:
            self._known[function] = Callers((), False)
            known = self._known[function] = self._of(function)
        return known

    def _of(self, function: Function) -> Callers:
        sites = {site.call: site for site in self._finder.callers(function)}
        complete = not self._named_in_a_string(function.name)
        for use in self._references(function):
            site = self._call_of(use)
            if site is None:
                complete = complete and self._is_definition(use, function)
            elif site.call not in sites and self._may_run(use, function):
                sites[site.call] = site
        return Callers(tuple(sites.values()), complete)

    def _references(self, function: Function) -> Iterator[Use]:
        if function.name.startswith("__"):
            return
        if function.owner is not None:
            yield from self._uses.of_attribute(function.name)
            return
        yield from self._uses.everywhere(function.name, function.outer or function.module)

    def _call_of(self, use: Use) -> CallSite | None:
        """The call whose function a reference is, also through ``.remote``."""
        parent = self._uses.parent(use.node, use.statement)
        node = use.node
        if isinstance(parent, n.Attribute) and parent.attr == "remote":
            node, parent = parent, self._uses.parent(parent, use.statement)
        if isinstance(parent, n.Call) and parent.func is node:
            return CallSite(parent, use.scope, use.statement)
        return None

    def _may_run(self, use: Use, function: Function) -> bool:
        """Whether an attribute of this name may be this method: if nothing else is known."""
        found = self._resolver.of(use.node, use.scope) if isinstance(use.node, n.Expr) else ()
        owner = function.owner
        if not found or owner is None:
            return not found
        mro = self._resolver.mro(owner)
        return any(
            isinstance(entity, Function) and entity.owner is not None and entity.owner in mro
            for entity in found
        )

    def _is_definition(self, use: Use, function: Function) -> bool:
        """Whether a reference that is no call does not hand the function on either."""
        if self._uses.is_target(use.node, use.statement):
            return True
        found = self._resolver.of(use.node, use.scope) if isinstance(use.node, n.Expr) else ()
        return bool(found) and function not in found

    def _named_in_a_string(self, name: str) -> bool:
        """Whether a string names it, as ``getattr`` and dispatch by name do."""
        return bool(self._modules.mentioning(f'"{name}"') or self._modules.mentioning(f"'{name}'"))
