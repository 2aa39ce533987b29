"""Which names lead to others by calls, as far as the text alone tells; nothing is lowered."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

from rltel_lint.facts.units import Unit
from rltel_lint.project.model import Module
from rltel_lint.project.modules import ModuleTable

_FEW = 800
"""How many names are looked for in the texts of the project, at a third of a millisecond each."""


class CallText:
    """Reads off the text which functions call, or pass on, which names.

    Args:
        modules: The project's modules.
        is_library: Whether a module implements the vocabulary; what it calls does not count.
    """

    def __init__(self, modules: ModuleTable, is_library: Callable[[Module], bool]) -> None:
        self._modules = modules
        self._is_library = is_library
        self._callers: dict[str, frozenset[str]] = {}
        self._called_by: dict[str, frozenset[str]] = {}
        self._called_in: dict[Unit, frozenset[str]] = {}
        self._defined_in: dict[Unit, frozenset[str]] = {}

    def callers(self, name: str) -> frozenset[str]:
        """Returns the names of the functions whose text calls a name, or passes it on."""
        known = self._callers.get(name)
        if known is None:
            found: set[str] = set()
            for module in self._modules.mentioning(name):
                if not self._is_library(module):
                    here = module.facts.aliases.get(name, frozenset()) | {name}
                    for unit in module.facts.units_with_any(here):
                        if unit.hands_on_any(here):
                            found |= self._defined(unit)
            known = self._callers[name] = frozenset(found)
        return known

    def within(self, names: Iterable[str], calls: int) -> frozenset[str]:
        """Returns the names, and those of the functions that lead to one in so many calls."""
        found = frozenset(names)
        for _ in range(calls):
            found = found.union(*map(self.callers, found))
        return found

    def called_by(self, name: str) -> frozenset[str]:
        """Returns the functions of the project that functions of a name call or pass on."""
        known = self._called_by.get(name)
        if known is None:
            units = self._defining.get(name, ())
            known = frozenset().union(*(self._called(module, unit) for module, unit in units))
            self._called_by[name] = known
        return known

    @cached_property
    def _defining(self) -> dict[str, list[tuple[Module, Unit]]]:
        found: dict[str, list[tuple[Module, Unit]]] = {}
        for module in self._modules:
            if not self._is_library(module):
                for unit in module.facts.all_units():
                    for name in self._defined(unit):
                        found.setdefault(name, []).append((module, unit))
        return found

    def _defined(self, unit: Unit) -> frozenset[str]:
        """The functions in a unit; a class's name stands for its constructor, which it runs."""
        known = self._defined_in.get(unit)
        if known is None:
            known = unit.binds | unit.defines
            if unit.holder is not None and "__init__" in known:
                known |= unit.holder.binds
            self._defined_in[unit] = known
        return known

    def _called(self, module: Module, unit: Unit) -> frozenset[str]:
        known = self._called_in.get(unit)
        if known is None:
            words = unit.hands_on
            originals = module.facts.originals
            words = words.union(originals[word] for word in words & originals.keys())
            known = self._called_in[unit] = frozenset(words & self._defining.keys())
        return known


class Leading:
    """How many calls it may take from a name to a goal, worked out when it is asked.

    The last calls are known from where the goals are called, the first from what is called
    where: either way alone would soon have gone through the whole project.

    Args:
        text: Knows which names call which.
        goals: Names to get to.
        words: More names to get to, which are not taken for names of functions.
        depth: How many calls to follow at most.
    """

    def __init__(
        self, text: CallText, goals: Iterable[str], words: Iterable[str], depth: int
    ) -> None:
        self._text = text
        self._depth = depth
        self._near = dict.fromkeys(goals, 0)
        self._known = 0
        self._reached: dict[tuple[str, int], bool] = {}
        self._go_back({*self._near, *words})

    def _go_back(self, level: set[str]) -> None:
        """Finds who calls the goals, and who calls those, as long as they are few."""
        asked = 0
        while level and self._known < self._depth and (asked := asked + len(level)) <= _FEW:
            self._known += 1
            above = {caller for name in level - {"__init__"} for caller in self._text.callers(name)}
            level = above - self._near.keys()
            self._near.update(dict.fromkeys(level, self._known))
        if not level:
            self._known = self._depth

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.reaches(name, self._depth)

    def reaches(self, name: str, calls: int) -> bool:
        """Whether a goal may be so many calls from a name, or fewer."""
        near = self._near.get(name)
        if near is not None or calls <= self._known:
            return near is not None and near <= calls
        known = self._reached.get((name, calls))
        if known is None:
            self._reached[name, calls] = False
            known = self._reached[name, calls] = self.reaches(name, calls - 1) or any(
                self.reaches(called, calls - 1)
                for called in self._text.called_by(name)
                if called != "__init__"  # a constructor is called by the name of its class
            )
        return known


class EitherLeading:
    """Leads to the goals of one of several, or is one of some names.

    Args:
        several: What leads to goals.
        names: Names that count as goals themselves.
    """

    def __init__(self, several: Iterable[Leading], names: Iterable[str] = ()) -> None:
        self._several = tuple(several)
        self._names = frozenset(names)

    def __contains__(self, name: object) -> bool:
        return name in self._names or any(name in one for one in self._several)

    def reaches(self, name: str, calls: int) -> bool:
        """Whether a goal may be so many calls from a name, or fewer."""
        return name in self._names or any(one.reaches(name, calls) for one in self._several)


Leads = Leading | EitherLeading
