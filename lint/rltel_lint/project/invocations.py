"""The calls of a function, found without lowering what merely mentions its name."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from rltel_lint.facts import nodes as n
from rltel_lint.facts.units import Unit
from rltel_lint.project.calls import CallFinder, CallSite
from rltel_lint.project.model import Class, Function, Module
from rltel_lint.project.modules import ModuleTable
from rltel_lint.project.resolve import External, Instance, Resolver


class Invocations:
    """Finds calls by what a call looks like: the name, then a parenthesis or ``.remote``.

    Args:
        modules: The project's modules.
        finder: Finds the calls in a unit.
        resolver: Resolves what is called.
    """

    def __init__(self, modules: ModuleTable, finder: CallFinder, resolver: Resolver) -> None:
        self._modules = modules
        self._finder = finder
        self._resolver = resolver
        self._known: dict[tuple[Function | Class, bool], list[CallSite]] = {}
        self._definitions: dict[str, int] = {}
        self._units: dict[str, list[tuple[Module, Unit]]] = {}
        self._named: dict[str, list[CallSite]] = {}
        self._called: dict[CallSite, Collection[Function | Class]] = {}

    def of(self, target: Function | Class, *, loose: bool = False) -> list[CallSite]:
        """Returns the calls that run a function or construct a class, through Ray too.

        Args:
            target: What is called.
            loose: Whether calls on objects of unknown class count, if the project defines only
                one function of this name.
        """
        if isinstance(target, Function) and target.name == "__init__" and target.owner:
            target = target.owner
        known = self._known.get((target, loose))
        if known is None:
            self._known[(target, loose)] = []
            known = self._known[(target, loose)] = list(self._find(target, loose))
        return known

    def _find(self, target: Function | Class, loose: bool) -> Iterator[CallSite]:
        loose = loose and self._definitions_of(target.name) == 1
        return (site for site in self._sites(target.name) if self._calls(site, target, loose))

    def _sites(self, name: str) -> list[CallSite]:
        """The calls of anything of this name: one list for all that are called so."""
        known = self._named.get(name)
        if known is None:
            known = self._named[name] = [
                site
                for module, unit in self.units(name)
                for site in self._finder.sites(module, unit)
                if _last_name(site.call.func) in _words(module, name)
            ]
        return known

    def units(self, name: str) -> list[tuple[Module, Unit]]:
        """Returns the units whose text calls something of this name."""
        known = self._units.get(name)
        if known is None:
            known = self._units[name] = list(self._units_calling(name))
        return known

    def _units_calling(self, name: str) -> Iterator[tuple[Module, Unit]]:
        for module in self._modules.mentioning(name):
            words = _words(module, name)
            for unit in module.facts.units_with_any(words):
                if unit.hands_on_any(words) and any(unit.calls(word) for word in words):
                    yield module, unit

    def _calls(self, site: CallSite, target: Function | Class, loose: bool) -> bool:
        called = self._called.get(site)
        if called is None:
            called = self._called[site] = self._finder.called(site)
        if target in called:
            return True
        func = site.call.func
        return (
            loose
            and isinstance(func, n.Attribute)
            and func.attr == target.name
            and all(
                isinstance(entity, Instance)
                and isinstance(entity.cls, External)
                and entity.cls.name.startswith(("typing.", "builtins."))
                for entity in self._resolver.of(func.base, site.scope)
            )
        )

    def _definitions_of(self, name: str) -> int:
        known = self._definitions.get(name)
        if known is None:
            pattern = re.compile(rf"\bdef\s+{re.escape(name)}\b")
            known = self._definitions[name] = sum(
                len(module.facts.findall(pattern)) for module in self._modules.mentioning(name)
            )
        return known


def _words(module: Module, name: str) -> frozenset[str]:
    """A name and what the module's imports call it instead."""
    return module.facts.aliases.get(name, frozenset()) | {name}


def _last_name(func: n.Expr) -> str:
    """The name that is called, without ``.options(...)`` and ``.remote``."""
    while isinstance(func, n.Attribute) and func.attr in {"remote", "options"}:
        func = func.base.func if isinstance(func.base, n.Call) else func.base
    if isinstance(func, n.Attribute):
        return func.attr
    return func.id if isinstance(func, n.Name) else ""
