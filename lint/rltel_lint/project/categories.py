"""Efficiency categories: which are declared, and which a timer or a span measures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from rltel_lint.facts import nodes as n
from rltel_lint.findings import Place
from rltel_lint.project.binding import EMPTY, Frame
from rltel_lint.project.calls import CallFinder, CallSite
from rltel_lint.project.evaluate import Evaluator
from rltel_lint.project.literals import Literal, literals
from rltel_lint.project.model import Function, Module
from rltel_lint.project.modules import ModuleTable
from rltel_lint.project.spans import SpanFinder, Spans
from rltel_lint.project.uses import Uses
from rltel_lint.values import HOLE, Strings
from rltel_lint.vocabulary.model import Vocabulary

_DEPTH = 4


@dataclass(frozen=True)
class Entry:
    """One category in a table.

    Attributes:
        name: The category.
        place: Where it is written.
        node: The expression.
        value: What a mapping gives it, such as its bucket; empty where that is not known.
    """

    name: str
    place: Place
    node: n.Expr
    value: str = ""


@dataclass(frozen=True)
class Table:
    """A module-level list, set or mapping of categories.

    Attributes:
        name: The name that holds it.
        module: Its module.
        entries: Its categories; keys, for a mapping.
        complete: Whether all of its categories are known.
        literal: Whether they are all written in this very place.
        place: Where the table is bound.
        library: Whether it is the library's own, found in the checked tree.
    """

    name: str
    module: Module
    entries: tuple[Entry, ...]
    complete: bool
    literal: bool
    place: Place
    library: bool = False

    @property
    def names(self) -> frozenset[str]:
        """Its categories."""
        return frozenset(entry.name for entry in self.entries)


@dataclass(frozen=True)
class Measured:
    """A category that something measures.

    Attributes:
        name: The category.
        place: Where it is written, or the call that measures it.
        by: The helper or the timer's method.
    """

    name: str
    place: Place
    by: str


class Categories:
    """The efficiency categories of a project.

    Args:
        vocabulary: What the names mean.
        modules: The project's modules.
        finder: Finds calls.
        evaluator: Evaluates categories.
        span_finder: Knows which modules are the library's.
        spans: The span sites.
        uses: Finds what stands around a literal.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        modules: ModuleTable,
        finder: CallFinder,
        evaluator: Evaluator,
        span_finder: SpanFinder,
        spans: Spans,
        uses: Uses,
    ) -> None:
        self._vocabulary = vocabulary.categories
        self._umbrella_sets = vocabulary.umbrella_sets
        self._modules = modules
        self._finder = finder
        self._evaluator = evaluator
        self._span_finder = span_finder
        self._spans = spans
        self._uses = uses

    # -- declared -----------------------------------------------------------------------

    @cached_property
    def tables(self) -> dict[str, list[Table]]:
        """The tables that the vocabulary names, by name without leading underscores."""
        return self._named(self._vocabulary.tables)

    @cached_property
    def umbrella_sets(self) -> dict[str, list[Table]]:
        """The lists of umbrella groups that the vocabulary names, likewise."""
        return self._named(self._umbrella_sets)

    def _named(self, names: tuple[str, ...]) -> dict[str, list[Table]]:
        return {
            name: [
                table
                for spelled in (name, f"_{name}")
                for module in self._modules.binding(spelled)
                for table in self._table(spelled, module)
            ]
            for name in names
        }

    def _table(self, name: str, module: Module) -> Iterator[Table]:
        values = [b for b in module.bindings_of(name) if b.value is not None]
        if not values:
            return  # imported
        place = module.place(values[0].node)
        library = self._span_finder.implements(f"{module.name}.")
        at = n.Name((1, 0, 1, 0), name)
        entries: list[Entry] = []
        displays = self._evaluator.displays(at, module)
        for shown, where in displays or ():
            parts: list[tuple[n.Expr | None, n.Expr | None]] = []
            if isinstance(shown, n.Dict):
                parts = list(shown.items)
            elif isinstance(shown, n.Sequence):
                parts = [(element, None) for element in shown.elements]
            for part, given in parts:
                exact = self._evaluator.of(part, where).exact if part is not None else None
                if part is not None and exact is not None:
                    value = self._evaluator.of(given, where).exact if given is not None else None
                    entries.append(Entry(exact, where.place(part), part, value or ""))
        elements = self._evaluator.elements(at, module)
        complete = elements is not None and all(value.exact is not None for value in elements)
        literal = displays is not None and all(entry.place.path == module.path for entry in entries)
        if elements is not None and not displays:
            here = values[0].value or at
            entries = [
                Entry(value.exact, module.place(here), here)
                for value in elements
                if value.exact is not None
            ]
        yield Table(name, module, tuple(entries), complete, literal, place, library)

    def of(self, names: tuple[str, ...]) -> list[Table]:
        """Returns the tables with these names, in order."""
        return [table for name in names for table in self.tables.get(name, ())]

    @cached_property
    def declaring(self) -> list[Table]:
        """The tables that declare categories: the lists, without any the mappings."""
        return self.of(self._vocabulary.lists) or self.of(self._vocabulary.maps)

    @cached_property
    def buckets(self) -> dict[str, tuple[str, Place | None]]:
        """The bucket of each category of which it is known, and where it is given."""
        library = self._vocabulary.buckets
        found: dict[str, tuple[str, Place | None]] = {c: (b, None) for c, b in library.items()}
        for table in self.of(self._vocabulary.maps):
            for entry in table.entries:
                if entry.value:
                    found[entry.name] = (entry.value, entry.place)
        return found

    @cached_property
    def declared(self) -> frozenset[str] | None:
        """All categories that exist; ``None`` if that is not known or there are none."""
        if not all(table.complete for table in self.declaring):
            return None
        names = frozenset(name for table in self.declaring for name in table.names)
        return (names | frozenset(self._vocabulary.library)) or None

    # -- measured -----------------------------------------------------------------------

    @cached_property
    def _prefixes(self) -> tuple[str, ...]:
        heads = {f"{name.partition('/')[0]}/" for name in self.declared or () if "/" in name}
        return tuple(sorted({*heads, *self._vocabulary.families}))

    @cached_property
    def literals(self) -> list[Literal]:
        """The literals that look like a category, outside the tables."""
        inside = {e.node for tables in self.tables.values() for t in tables for e in t.entries}
        return [
            found
            for found in literals(self._modules, self._uses, self._prefixes)
            if found.node not in inside
        ]

    @cached_property
    def measured(self) -> list[Measured]:
        """Each category that a helper or a timer measures, sorted by place."""
        found: set[tuple[str, Place, str]] = set()
        for value, place, by in (*self._by_helpers(), *self._by_timers()):
            for name in value.literals:
                found.add((name, self._written(name, place), by))
        for literal in self.literals:
            by = self._reaches_timer(literal)
            if by:
                found.add((literal.value, literal.place, by))
        by_place: dict[tuple[str, Place], Measured] = {}
        for name, place, by in sorted(found, key=lambda one: (one[1], one[0], one[2])):
            by_place.setdefault((name, place), Measured(name, place, by))
        return list(by_place.values())

    def _written(self, name: str, place: Place) -> Place:
        """Where the category is written, if that is one place; else the call."""
        at = [one for one in self.literals if one.value == name and not one.inert]
        near = [one for one in at if one.place.path == place.path and _inside(one.place, place)]
        if near:
            return near[0].place
        return at[0].place if len(at) == 1 else place

    def _by_helpers(self) -> Iterator[tuple[Strings, Place, str]]:
        for site in self._spans.sites:
            helper = site.helper
            if helper.kind != "efficiency" or helper.params.named("category") is None:
                continue
            value = self._category_of(site.at, helper.params, EMPTY) if not site.via else None
            if value is None:
                value = site.name.map(_from_span)
            yield value, site.place, helper.name

    def _category_of(self, at: CallSite, params: n.Parameters, frame: Frame) -> Strings | None:
        given = self._finder.arguments(at, params, frame=frame).get("category")
        return self._evaluator.passed(given) if given is not None else None

    def _by_timers(self) -> Iterator[tuple[Strings, Place, str]]:
        timers = self._vocabulary.timers
        words = [(head, timer) for head in self._prefixes for timer in timers]
        # ``f"{IDLE}/refit"`` has its family in quotes somewhere.
        words += [
            (head.rstrip("/"), timer) for head in self._vocabulary.families for timer in timers
        ]
        words += [(name, timer) for name in self._constants for timer in timers]
        seen: set[n.Call] = set()
        for site in self._finder.named(words):
            func = site.call.func
            if not isinstance(func, n.Attribute) or func.attr not in timers:
                continue
            argument = site.call.positional(0)
            if argument is None and site.call.args and site.call.args[0].keyword:
                argument = site.call.args[0].value
            if argument is None or site.call in seen:
                continue
            seen.add(site.call)
            value = self._evaluator.of(argument, site.scope, site.statement)
            kept = frozenset(t for t in value.templates if t.startswith(self._prefixes))
            if kept:
                yield Strings(kept), site.place, f"{func.attr}()"

    @cached_property
    def _constants(self) -> frozenset[str]:
        """Names that a module or a class gives to a category."""
        found: set[str] = set()
        for literal in self.literals:
            statement = literal.statement
            if not isinstance(literal.scope, Function) and isinstance(statement, n.Assign):
                for target in statement.targets:
                    name = (n.dotted(target) or "").rpartition(".")[2]
                    if name:
                        found.add(name)
        return frozenset(found)

    def _reaches_timer(self, literal: Literal) -> str:
        """The timer's method that a literal argument gets to; empty if none is known."""
        around = literal.around
        if len(around) < 2 or not isinstance(around[0], n.Arg) or not isinstance(around[1], n.Call):
            return ""
        site = CallSite(around[1], literal.scope, literal.statement)
        return self._timed(site, literal.node, _DEPTH)

    def _timed(self, site: CallSite, argument: n.Expr, depth: int) -> str:
        func = site.call.func
        if isinstance(func, n.Attribute) and func.attr in self._vocabulary.timers:
            return f"{func.attr}()"
        targets = [t for t in self._finder.called(site) if isinstance(t, Function)]
        if depth == 0 or len(targets) != 1:
            return ""
        target = targets[0]
        for name, passed in self._evaluator.bound(site, target).items():
            if passed.expr is not argument:
                continue
            for inner in self._calls_with(target, name):
                by = self._timed(inner[0], inner[1], depth - 1)
                if by:
                    return by
        return ""

    def _calls_with(self, function: Function, name: str) -> Iterator[tuple[CallSite, n.Expr]]:
        for statement in function.paths:
            for node in n.walk(statement):
                if isinstance(node, n.Call):
                    for arg in node.args:
                        if isinstance(arg.value, n.Name) and arg.value.id == name:
                            yield CallSite(node, function, statement), arg.value

    def may_be_measured(self, name: str) -> bool:
        """Whether a category is measured, or might be as far as can be seen."""
        if any(one.name == name for one in self.measured):
            return True
        if any(one.value == name and not one.inert for one in self.literals):
            return True
        for value, _, _ in (*self._by_helpers(), *self._by_timers()):
            if any(HOLE in t and _fits(t, name) for t in value.templates):
                return True
        return self._built(name)

    def _built(self, name: str) -> bool:
        """Whether the code has the category's second half as a string of its own."""
        head, _, tail = name.partition("/")
        quoted = tuple(f"{quote}{tail}{quote}" for quote in "\"'")
        opened = tuple(f"{quote}{head}/" for quote in "\"'")
        opened = tuple(f"{before}{end}" for before in opened for end in ("{", '"', "'"))
        return self._is_spelled(quoted) and self._is_spelled(opened)

    def _is_spelled(self, texts: Iterable[str]) -> bool:
        return any(module.facts.has(text) for text in texts for module in self._modules)


def _inside(inner: Place, outer: Place) -> bool:
    start = (outer.line, outer.column) <= (inner.line, inner.column)
    return start and (inner.end_line, inner.end_column) <= (outer.end_line, outer.end_column)


def _fits(template: str, name: str) -> bool:
    pattern = ".*".join(map(re.escape, template.split(HOLE)))
    return re.fullmatch(pattern, name) is not None


def _from_span(name: str) -> str:
    return name.removeprefix("rl.").replace(".", "/", 1)
