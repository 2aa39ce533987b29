"""Which file an import means."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property

from rltel_lint.facts.lookups import Lookups
from rltel_lint.facts.source import SourceFacts
from rltel_lint.facts.units import Unit
from rltel_lint.project.model import Module

_WHOLE = re.compile(r"(?<=\W)[^\W\d]\w*(?=\W)")
"""Names that are whole within a text, whatever stands around the text."""
_FEW = 20
"""How many files may have changed before all of their names are read anew."""
_SOURCE_FOLDERS = ("src/", "lib/", "python/", "lint/")


class ModuleTable:
    """The project's modules by the dotted names under which others import them.

    A file in a package goes by the name that starts at its outermost package, by its path from
    the project root, and by that path without a leading source folder (``src/`` and the like).
    A script in a plain folder can be imported by its neighbours only.

    Args:
        sources: Indexed files by path relative to the project root.
        lookups: Which names earlier runs looked for, and where they are.
    """

    def __init__(self, sources: Mapping[str, SourceFacts], lookups: Lookups | None = None) -> None:
        self._lookups = lookups
        self.modules: dict[str, Module] = {}
        self._by_name: dict[str, Module] = {}
        self._having: dict[str, list[Module]] = {}
        self._mentioning: dict[str, frozenset[Module]] = {}
        for path in sorted(sources):
            self._add(path, sources)

    def __iter__(self) -> Iterator[Module]:
        return iter(self.modules.values())

    def get_ready(self) -> None:
        """Does now what nearly every question would have to do first."""
        if self._is_known is None:
            _ = self._by_word

    @cached_property
    def _by_word(self) -> dict[str, list[Module]]:
        """For every name in the texts, the modules that have it."""
        found: defaultdict[str, list[Module]] = defaultdict(list)
        for module in self.modules.values():
            for word in module.facts.known_words:
                found[word].append(module)
        return found

    def mentioning(self, text: str) -> list[Module]:
        """Returns the modules whose text has this: a name as a whole, anything else anywhere."""
        found = self._having.get(text)
        if found is None:
            if text.isidentifier():
                found = self._with_name(text)
            else:
                found = [one for one in self._candidates(text) if one.facts.has(text)]
            self._having[text] = found
        return found

    def mentions(self, module: Module, name: str) -> bool:
        """Whether a module's text has this name as a whole."""
        known = self._mentioning.get(name)
        if known is None:
            known = self._mentioning[name] = frozenset(self.mentioning(name))
        return module in known

    def having(self, names: Iterable[str]) -> dict[Module, set[str]]:
        """Returns the modules whose text has some of the names, and which, in order."""
        found: dict[Module, set[str]] = {}
        for name in names:
            for module in self.mentioning(name):
                found.setdefault(module, set()).add(name)
        return {module: found[module] for module in self if module in found}

    def _with_name(self, name: str) -> list[Module]:
        lookups, is_known = self._lookups, self._is_known
        if lookups is None or is_known is None:
            found = self._by_word.get(name, [])
        elif name in lookups.names:
            kept = set(lookups.names[name])
            found = [
                module
                for path, module in self.modules.items()
                if (path in kept if is_known[path] else name in module.facts.known_words)
            ]
        else:
            found = [
                module
                for module in self.modules.values()
                if name in module.facts.known_plain and name in module.facts.known_words
            ]
        if lookups is not None:
            lookups.note_name(name, [module.path for module in found])
        return found

    @cached_property
    def _is_known(self) -> dict[str, bool] | None:
        """For every path, whether it is known from an earlier run which names its text has.

        ``None`` where it is better to read all texts anew.
        """
        if self._lookups is None:
            return None
        keys = self._lookups.keys
        found = {path: keys.get(path) == one.facts.key for path, one in self.modules.items()}
        return found if sum(not known for known in found.values()) <= _FEW else None

    def _candidates(self, text: str) -> Collection[Module]:
        """Modules of which some may have a text: those with one of the names in it."""
        whole = [self.mentioning(word) for word in _WHOLE.findall(text)]
        return min(whole, key=len) if whole else self.modules.values()

    def binding(self, name: str) -> list[Module]:
        """Returns the modules that bind a name at their top level."""
        return [module for module in self.mentioning(name) if name in module.facts.bindings]

    def units_mentioning(self, text: str) -> Iterator[tuple[Module, Unit]]:
        """Yields the units whose text has this, as :meth:`mentioning` does."""
        for module in self.mentioning(text):
            if text.isidentifier():
                yield from ((module, unit) for unit in module.facts.units_with(text))
            else:
                yield from (
                    (module, unit) for unit in module.facts.all_units() if unit.mentions(text)
                )

    def _add(self, path: str, sources: Mapping[str, SourceFacts]) -> None:
        folder, _, file = path.rpartition("/")
        is_package = file == "__init__.py"
        stem = file[: -len(".py")] if file.endswith(".py") else file
        tail = [] if is_package else [stem]
        parts = folder.split("/") if folder else []
        start = len(parts)
        while start > 0 and "/".join([*parts[:start], "__init__.py"]) in sources:
            start -= 1
        packaged = parts[start:]
        names = [".".join([*parts, *tail])]
        if packaged:
            names.insert(0, ".".join([*packaged, *tail]))
        for prefix in _SOURCE_FOLDERS:
            if path.startswith(prefix):
                rest = path[len(prefix) :].split("/")[:-1]
                names.append(".".join([*rest, *tail]))
        module = Module(sources[path], names[0] or stem, is_package=is_package)
        self.modules[path] = module
        for name in names:
            if name and name not in sys.stdlib_module_names:
                self._by_name.setdefault(name, module)

    @cached_property
    def _by_last_two(self) -> dict[str, list[Module]]:
        found: dict[str, list[Module]] = {}
        for module in self.modules.values():
            parts = module.path[: -len(".py")].split("/")
            if module.is_package:
                parts = parts[:-1]
            if len(parts) > 1:
                found.setdefault(".".join(parts[-2:]), []).append(module)
        return found

    def find(self, name: str, importer: Module) -> Module | None:
        """Returns the module that an absolute import means.

        Args:
            name: The dotted name as imported.
            importer: The importing module: a script also finds its neighbours.

        Returns:
            The project's module, or ``None`` for one from outside.
        """
        known = self._by_name.get(name)
        if known is not None:
            return known
        folder = importer.path.rpartition("/")[0]
        base = f"{folder}/" if folder else ""
        inner = name.replace(".", "/")
        if name.split(".", 1)[0] not in sys.stdlib_module_names:
            for candidate in (f"{base}{inner}.py", f"{base}{inner}/__init__.py"):
                if candidate in self.modules:
                    return self.modules[candidate]
        return self._by_suffix(name)

    def _by_suffix(self, name: str) -> Module | None:
        """A namespace package that is not at the root: the one file whose path ends so."""
        parts = name.split(".")
        if len(parts) < 2 or parts[0] in sys.stdlib_module_names:
            return None
        tail = "/" + "/".join(parts)
        found = [
            module
            for module in self._by_last_two.get(".".join(parts[-2:]), ())
            if module.path.endswith((f"{tail}.py", f"{tail}/__init__.py"))
        ]
        return found[0] if len(found) == 1 else None

    def named(self, name: str) -> Module | None:
        """Returns the module of exactly this dotted name."""
        return self._by_name.get(name)
