"""The groups and presets that the project declares, and what else is known of groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from rltel_lint.facts import nodes as n
from rltel_lint.findings import Place
from rltel_lint.project.binding import bind
from rltel_lint.project.calls import CallFinder
from rltel_lint.project.evaluate import Evaluator
from rltel_lint.project.model import Class, Scope
from rltel_lint.project.modules import ModuleTable
from rltel_lint.project.resolve import Resolver
from rltel_lint.project.spans import call_means
from rltel_lint.vocabulary.model import GroupClass, Vocabulary, means


@dataclass(frozen=True)
class Group:
    """One group that the project declares.

    Attributes:
        name: The group.
        constant: The constant that holds it, with its class; empty for a bare string.
        place: Where it is declared.
    """

    name: str
    constant: str
    place: Place


@dataclass(frozen=True)
class Preset:
    """A preset that the project declares.

    Attributes:
        name: Its name.
        groups: The groups it names, with where each is named.
        complete: Whether all of its groups are known.
        place: Where the preset is declared.
    """

    name: str
    groups: tuple[tuple[str, Place], ...]
    complete: bool
    place: Place


@dataclass
class Groups:
    """All that is known of groups.

    Attributes:
        declared: Groups that the project declares, sorted by place.
        presets: Presets that the project declares, sorted by place.
        library: Groups that a library outside the project registers.
        umbrellas: The groups that only enclose others.
        aliases: Class constants that spell an umbrella, by ``Class.CONSTANT``, with the group.
        closed: Whether every group that exists is known: declarations were all understood.
        classes: The project's group classes.
    """

    declared: list[Group] = field(default_factory=list)
    presets: list[Preset] = field(default_factory=list)
    library: set[str] = field(default_factory=set)
    umbrellas: set[str] = field(default_factory=set)
    aliases: dict[str, str] = field(default_factory=dict)
    closed: bool = True
    classes: list[Class] = field(default_factory=list)

    @property
    def names(self) -> frozenset[str]:
        """Every group that exists, as far as is known."""
        return frozenset(group.name for group in self.declared) | self.library

    def alias_of(self, group: str) -> str:
        """Returns how a group's umbrella constant is spelled; empty without one."""
        return next((alias for alias, name in sorted(self.aliases.items()) if name == group), "")


class GroupFinder:
    """Finds group classes, registrations and presets.

    Args:
        vocabulary: What the names mean.
        modules: The project's modules.
        resolver: Resolves names.
        finder: Finds calls.
        evaluator: Evaluates constants.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        modules: ModuleTable,
        resolver: Resolver,
        finder: CallFinder,
        evaluator: Evaluator,
    ) -> None:
        self._vocabulary = vocabulary
        self._modules = modules
        self._resolver = resolver
        self._finder = finder
        self._evaluator = evaluator
        self._groups = Groups()

    def find(self) -> Groups:
        """Returns all that is known of groups."""
        for known in self._vocabulary.group_classes:
            self._groups.library |= set(known.values.values())
            self._groups.umbrellas |= known.umbrellas
            self._aliases(known.name, known.values)
        for cls in self._group_classes():
            self._read_class(cls)
        self._registrations()
        for name in self._vocabulary.umbrella_sets:
            self._umbrella_set(name)
        groups = self._groups
        unique = {(group.name, group.place): group for group in groups.declared}
        groups.declared = sorted(unique.values(), key=lambda group: group.place)
        groups.presets.sort(key=lambda preset: preset.place)
        return groups

    def _aliases(self, owner: str, values: object) -> None:
        prefix = self._vocabulary.alias_prefix
        if prefix and isinstance(values, dict):
            for constant, group in values.items():
                if constant.startswith(prefix):
                    self._groups.aliases[f"{owner}.{constant}"] = group

    # -- classes ------------------------------------------------------------------------

    def _group_classes(self) -> Iterator[Class]:
        known = self._vocabulary.group_classes
        seen: set[Class] = set()
        words = [group_class.name for group_class in known]
        for module, unit in self._finder.mentioning(words):
            for statement in unit.statements:
                if isinstance(statement, n.ClassDef):
                    cls = module.cls(statement, module.unit_of_class(statement))
                    if cls not in seen and self._is_group_class(cls):
                        seen.add(cls)
                        yield cls

    def _is_group_class(self, cls: Class) -> bool:
        names = [holder.qualified for holder in self._resolver.mro(cls)]
        names += self._resolver.external_bases(cls)
        return any(
            means(dotted, known.name, known.modules)
            for known in self._vocabulary.group_classes
            for dotted in names
        )

    def _read_class(self, cls: Class) -> None:
        groups = self._groups
        groups.classes.append(cls)
        prefix = self._vocabulary.alias_prefix
        library = self._of_library(cls)
        for constant in cls.member_names:
            if not constant.isupper() or constant.startswith("_"):
                continue
            value = self._evaluator.attribute_of(cls, constant).exact
            if value is None:
                continue
            if prefix and constant.startswith(prefix):
                groups.aliases[f"{cls.name}.{constant}"] = value
                groups.umbrellas.add(value)
            elif library:
                groups.library.add(value)
            else:
                place = cls.place(cls.bindings_of(constant)[0].node)
                groups.declared.append(Group(value, f"{cls.name}.{constant}", place))
        for attribute in self._vocabulary.preset_attributes:
            for binding in cls.bindings_of(attribute):
                if isinstance(binding.value, n.Dict):
                    self._presets(binding.value, cls)

    def _of_library(self, cls: Class) -> bool:
        """Whether the class is the library's own, found in the checked tree."""
        return any(
            bool(known.values) and means(cls.qualified, known.name, known.modules)
            for known in self._vocabulary.group_classes
        ) and not self._derives(cls)

    def _derives(self, cls: Class) -> bool:
        return bool(self._resolver.bases(cls) or self._resolver.external_bases(cls))

    # -- registrations ------------------------------------------------------------------

    def _registrations(self) -> None:
        known = self._vocabulary.registrations
        for site in self._finder.named([call.words for call in known]):
            registered = call_means(site, known, self._resolver)
            if registered is None or registered.params is None:
                continue
            given = bind(site.call, registered.params, site.scope, site.statement)
            groups, presets = given.get("groups"), given.get("presets")
            if groups is not None and groups.expr is not None:
                self._register(groups.expr, site.scope, site.statement)
            if presets is not None and isinstance(presets.expr, n.Dict):
                self._presets(presets.expr, site.scope)
            elif presets is not None and presets.expr is not None:
                for display, where in self._evaluator.displays(presets.expr, site.scope) or ():
                    if isinstance(display, n.Dict):
                        self._presets(display, where)

    def _register(self, expr: n.Expr, scope: Scope, statement: n.Stmt) -> None:
        if scope.module.name.startswith(self._library_prefixes()):
            return
        values = self._evaluator.elements(expr, scope, statement)
        if values is None:
            self._groups.closed = False
            return
        known = {group.name for group in self._groups.declared}
        parts = self._parts(expr, scope)
        for index, value in enumerate(values):
            if value.exact is None:
                self._groups.closed = False
            elif value.exact.lower() not in known | self._groups.library:
                at = parts[index] if len(parts) == len(values) else (expr, scope)
                place = at[1].place(at[0])
                self._groups.declared.append(Group(value.exact.strip().lower(), "", place))

    def _library_prefixes(self) -> tuple[str, ...]:
        return tuple(
            f"{module}."
            for known in self._vocabulary.group_classes
            if known.values
            for module in known.modules
        )

    def _parts(self, expr: n.Expr, scope: Scope) -> list[tuple[n.Expr, Scope]]:
        displays = self._evaluator.displays(expr, scope) or []
        return [
            (part, where)
            for display, where in displays
            if isinstance(display, n.Sequence)
            for part in display.elements
        ]

    # -- presets and umbrellas ----------------------------------------------------------

    def _presets(self, display: n.Dict, scope: Scope) -> None:
        for key, value in display.items:
            if key is None:
                continue
            name = self._evaluator.of(key, scope).exact
            if name is None:
                continue
            groups: list[tuple[str, Place]] = []
            values = self._evaluator.elements(value, scope)
            parts = self._parts(value, scope)
            for index, found in enumerate(values or ()):
                if found.exact is not None:
                    same = values is not None and len(parts) == len(values)
                    at, where = parts[index] if same else (value, scope)
                    groups.append((found.exact, where.place(at)))
            complete = values is not None and all(found.exact is not None for found in values)
            self._groups.presets.append(Preset(name, tuple(groups), complete, scope.place(key)))

    def _umbrella_set(self, name: str) -> None:
        for module in self._modules.binding(name):
            at = n.Name((1, 0, 1, 0), name)
            for value in self._evaluator.elements(at, module) or ():
                if value.exact is not None:
                    self._groups.umbrellas.add(value.exact)


__all__ = ["Group", "GroupClass", "GroupFinder", "Groups", "Preset"]
