"""Which metrics the project declares: rows, and mappings from a field to logger keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from rltel_lint.facts import nodes as n
from rltel_lint.findings import Place
from rltel_lint.project.binding import EMPTY, Frame, Passed, bind
from rltel_lint.project.calls import CallFinder, CallSite
from rltel_lint.project.evaluate import Evaluator
from rltel_lint.project.metrics.keys import names_in, substitute
from rltel_lint.project.model import Class, Function, Module, Scope
from rltel_lint.project.modules import ModuleTable
from rltel_lint.project.resolve import Resolver
from rltel_lint.project.spans import fill
from rltel_lint.project.uses import Uses
from rltel_lint.vocabulary.model import KnownCall, Metrics, means

_KEY_NAMES = ("logger_key", "key")
_EMPTY_CHOICE: dict[str, tuple[n.Expr, Scope]] = {}


@dataclass(frozen=True)
class MetricRow:
    """One declared metric.

    Attributes:
        key: The logger key, or the key it is recorded by; empty for a row without one.
        name: The series; the field of a mapping.
        kind: The instrument, such as ``gauge``; empty where it is not known.
        unit: The unit.
        place: Where the key stands.
        module: The module that declares it.
        library: Whether the class of the row is known to belong to a library.
    """

    key: str
    name: str
    kind: str
    unit: str
    place: Place
    module: Module
    library: bool = False


@dataclass(frozen=True)
class MetricField:
    """A field of a mapping that is fed by the first of several logger keys that is there.

    Attributes:
        name: The field.
        candidates: Its logger keys.
        prefixes: The prefixes under which they are looked for.
        complete: Whether all candidates are known.
        place: Where the field stands.
    """

    name: str
    candidates: tuple[MetricRow, ...]
    prefixes: tuple[str, ...]
    complete: bool
    place: Place


@dataclass
class Declared:
    """All declarations of a project.

    Attributes:
        teed: Rows whose key must pass the logger, sorted by place.
        recorded: Rows that are recorded by hand, sorted by place.
        fields: Fields of mappings, sorted by place.
        nodes: The expressions that spell declared keys: they are no emission.
        unread: Where rows are made whose key is not known.
    """

    teed: list[MetricRow] = field(default_factory=list)
    recorded: list[MetricRow] = field(default_factory=list)
    fields: list[MetricField] = field(default_factory=list)
    nodes: set[n.Node] = field(default_factory=set)
    unread: list[Place] = field(default_factory=list)


class DeclarationFinder:
    """Finds declared metrics.

    Args:
        metrics: The vocabulary.
        modules: The project's modules.
        resolver: Resolves constructors.
        finder: Finds calls.
        evaluator: Evaluates keys.
        uses: Finds what stands around a row.
    """

    def __init__(
        self,
        metrics: Metrics,
        modules: ModuleTable,
        resolver: Resolver,
        finder: CallFinder,
        evaluator: Evaluator,
        uses: Uses,
    ) -> None:
        self._metrics = metrics
        self._modules = modules
        self._resolver = resolver
        self._finder = finder
        self._evaluator = evaluator
        self._uses = uses
        self._known = (*metrics.teed, *metrics.recorded)

    def find(self) -> Declared:
        """Returns all declarations."""
        declared = Declared()
        seen: set[n.Node] = set()
        for module, unit in self._finder.mentioning(self._words()):
            for site in self._finder.sites(module, unit):
                known = self.row_of(site)
                if known is not None and known.params is not None and site.call not in seen:
                    seen.add(site.call)
                    self._read(site, known, declared)
        for name, prefixes in self._metrics.maps.items():
            declared.fields += self._maps(name, prefixes, declared)
        for rows in (declared.teed, declared.recorded):
            rows.sort(key=lambda row: row.place)
        declared.fields.sort(key=lambda one: one.place)
        return declared

    # -- rows ---------------------------------------------------------------------------

    def row_of(self, site: CallSite) -> KnownCall | None:
        """Returns the constructor of a row that a call is of, ``None`` if it makes none."""
        return self._constructor(site.call.func, site.scope)

    def _constructor(self, func: n.Expr, scope: Scope) -> KnownCall | None:
        last = func.attr if isinstance(func, n.Attribute) else n.dotted(func)
        for known in self._known:
            if not known.modules and known.name == last:
                return known
        for entity in self._resolver.of(func, scope):
            names = [getattr(entity, "name", "")]
            if isinstance(entity, Class):
                names = [cls.qualified for cls in self._resolver.mro(entity)]
                names += self._resolver.external_bases(entity)
            for known in self._known:
                if any(
                    means(name, known.name, known.modules)
                    or (not known.modules and name.rpartition(".")[2] == known.name)
                    for name in names
                ):
                    return known
        partial = self._partial(func, scope)
        first = partial.positional(0) if partial is not None else None
        return self._constructor(first, scope) if first is not None else None

    def _partial(self, func: n.Expr, scope: Scope) -> n.Call | None:
        """The ``partial(Row, ...)`` that a name stands for."""
        if isinstance(func, n.Name):
            for binding in self._resolver.lookup(func.id, scope)[0]:
                value = binding.value
                if isinstance(value, n.Call) and (n.dotted(value.func) or "").endswith("partial"):
                    return value
        return None

    def _words(self) -> set[str]:
        """The constructors, and the classes that the project derives from them."""
        words = {known.name for known in self._known}
        for module, unit in list(self._finder.mentioning(words)):
            for statement in unit.statements:
                if isinstance(statement, n.ClassDef):
                    cls = module.cls(statement, module.unit_of_class(statement))
                    bases = [arg.value for arg in statement.bases]
                    if any(self._constructor(base, module) for base in bases):
                        words.add(cls.name)
        return words

    def _read(self, site: CallSite, known: KnownCall, declared: Declared) -> None:
        teed = known in self._metrics.teed
        for call, scopes, frame, at in self._expanded(site, known, 0):
            for row, node in self._row(call, scopes, frame, at, known, teed):
                declared.nodes.add(node)
                if row is None:
                    declared.unread.append(at.place)
                else:
                    (declared.teed if teed else declared.recorded).append(row)

    def _row(
        self,
        call: n.Call,
        scopes: Mapping[n.Node, Scope],
        frame: Frame,
        at: CallSite,
        known: KnownCall,
        teed: bool,
    ) -> Iterator[tuple[MetricRow | None, n.Node]]:
        params = known.params
        assert params is not None
        given = bind(call, params, at.scope, at.statement, frame=frame)

        def value(*names: str) -> str:
            for name in names:
                if params.named(name) is not None:
                    return fill(f"{{{name}}}", params, given, self._evaluator).exact or ""
            return ""

        rest = (value("name", "series"), value("kind"), value("unit"))
        first = next((name for name in _KEY_NAMES if params.named(name)), "")
        first = first or (params.items[0].name if teed else "")
        if not first:
            if rest[0]:
                yield self._made("", *rest, at.place, at), call
            return
        passed = given.get(first)
        node: n.Node = passed.expr if passed is not None and passed.expr is not None else call
        keys = self._evaluator.passed(passed).literals if passed is not None else ()
        place = self._place(node, passed, scopes, at)
        if not keys:
            yield None, node
        for key in keys:
            yield self._made(key, *rest, place, at), node

    def _made(
        self, key: str, name: str, kind: str, unit: str, place: Place, at: CallSite
    ) -> MetricRow:
        module = at.scope.module
        prefixes = tuple(f"{one}." for known in self._known for one in known.modules)
        library = f"{module.name}.".startswith(prefixes)
        return MetricRow(key, name or key, kind, unit, place, module, library)

    @staticmethod
    def _place(
        node: n.Node, passed: Passed | None, scopes: Mapping[n.Node, Scope], at: CallSite
    ) -> Place:
        if node in scopes:
            return scopes[node].place(node)
        while passed is not None and isinstance(passed.expr, n.Name):
            given = passed.frame.of(passed.scope) if isinstance(passed.scope, Function) else None
            inner = (given or {}).get(passed.expr.id)
            if inner is None or inner.expr is None:
                break
            passed, node = inner, inner.expr
        scope = passed.scope if passed is not None else at.scope
        return scope.place(node)

    # -- rows made in a loop or by a helper ---------------------------------------------

    def _expanded(
        self, site: CallSite, known: KnownCall, depth: int
    ) -> Iterator[tuple[n.Call, Mapping[n.Node, Scope], Frame, CallSite]]:
        partial = self._partial(site.call.func, site.scope)
        call = site.call
        if partial is not None:
            args = (*partial.args[1:], *call.args)
            ordered = sorted(args, key=lambda arg: arg.keyword is not None)
            call = n.Call(call.at, call.func, tuple(ordered))
        for choice in self._choices(call, site):
            names = {name: expr for name, (expr, _) in choice.items()}
            scopes: dict[n.Node, Scope] = {}
            for expr, where in choice.values():
                scopes.update(dict.fromkeys(n.walk(expr), where))
            chosen = _flattened(substitute(call, names)) if names else call
            for frame in self._frames(chosen, site):
                yield chosen, scopes, frame, site

    def _frames(self, call: n.Call, site: CallSite) -> list[Frame]:
        """One frame for each caller of a helper that makes rows from its parameters."""
        function = site.function
        if function is None:
            return [EMPTY]
        names = {param.name for param in function.node.params.items}
        if not any(names_in(arg.value) & names for arg in call.args):
            return [EMPTY]
        frames = [
            EMPTY.entering(function, self._evaluator.bound(caller, function))
            for caller in self._evaluator.callers(function)
        ]
        return frames or [EMPTY]

    def _choices(self, call: n.Call, site: CallSite) -> list[dict[str, tuple[n.Expr, Scope]]]:
        """What the loop variables in a call stand for, row by row."""
        choices = [_EMPTY_CHOICE]
        for target, iterable, where in self._loops(call, site):
            rows = self._rows(iterable, where, site.statement)
            matched = [_matched(target, row, holder) for row, holder in rows or ()]
            if not matched or None in matched:
                return [_EMPTY_CHOICE]
            choices = [{**one, **row} for one in choices for row in matched if row is not None]
        return choices

    def _loops(self, call: n.Call, site: CallSite) -> Iterator[tuple[n.Expr, n.Expr, Scope]]:
        names = {name for arg in call.args for name in names_in(arg.value)}
        for around in self._uses.around(site.call, site.statement):
            if isinstance(around, n.Comprehension):
                for target, iterable in around.loops:
                    names -= names_in(target)
                    yield target, iterable, site.scope
        loops: dict[n.For, Scope] = {}
        for name in sorted(names):
            bindings, where = self._resolver.lookup(name, site.scope)
            for binding in bindings:
                if isinstance(binding.node, n.For) and where is not None:
                    loops[binding.node] = where
        for loop, where in loops.items():
            yield loop.target, loop.iterable, where

    def _rows(
        self, iterable: n.Expr, scope: Scope, at: n.Stmt
    ) -> list[tuple[n.Expr, Scope]] | None:
        pairs = False
        if isinstance(iterable, n.Call) and isinstance(iterable.func, n.Attribute):
            if iterable.func.attr == "items":
                iterable, pairs = iterable.func.base, True
        displays = self._evaluator.displays(iterable, scope, at)
        if displays is None:
            return None
        found: list[tuple[n.Expr, Scope]] = []
        for display, where in displays:
            if isinstance(display, n.Dict):
                for key, value in display.items:
                    if key is None:
                        return None
                    row = n.Sequence(key.at, "tuple", (key, value)) if pairs else key
                    found.append((row, where))
            elif isinstance(display, n.Sequence):
                found += [(element, where) for element in display.elements]
        return found

    # -- mappings -----------------------------------------------------------------------

    def _maps(
        self, name: str, prefixes: tuple[str, ...], declared: Declared
    ) -> Iterator[MetricField]:
        for module in self._modules.mentioning(name):
            holders: list[Scope] = [module] if name in module.facts.bindings else []
            for unit in module.facts.units:
                if any(name in member.binds for member in unit.members):
                    holders += [
                        module.cls(statement, unit)
                        for statement in unit.statements
                        if isinstance(statement, n.ClassDef)
                    ]
            for holder in holders:
                for binding in holder.bindings_of(name):
                    if binding.value is not None:
                        displays = self._evaluator.displays(binding.value, holder)
                        for display, where in displays or ():
                            yield from self._fields(display, where, prefixes, declared)

    def _fields(
        self, display: n.Expr, scope: Scope, prefixes: tuple[str, ...], declared: Declared
    ) -> Iterator[MetricField]:
        for key, value in display.items if isinstance(display, n.Dict) else ():
            if key is None:
                for inner, where in self._evaluator.displays(value, scope) or ():
                    yield from self._fields(inner, where, prefixes, declared)
                continue
            declared.nodes.update(n.walk(key))
            name = self._evaluator.of(key, scope).exact or ""
            parts: list[tuple[n.Expr, Scope]] = [(value, scope)]
            for inner, where in self._evaluator.displays(value, scope) or ():
                if isinstance(inner, n.Sequence):
                    parts = [(element, where) for element in inner.elements]
            rows: list[MetricRow] = []
            for part, where in parts:
                declared.nodes.update(n.walk(part))
                found = self._evaluator.of(part, where).literals
                place = where.place(part)
                rows += [MetricRow(k, name or k, "", "", place, where.module) for k in found]
            complete = len(rows) == len(parts)
            yield MetricField(name, tuple(rows), prefixes, complete, scope.place(key))


def _matched(target: n.Expr, row: n.Expr, scope: Scope) -> dict[str, tuple[n.Expr, Scope]] | None:
    if isinstance(target, n.Name):
        return {target.id: (row, scope)}
    if isinstance(target, n.Sequence) and isinstance(row, n.Sequence):
        if len(target.elements) == len(row.elements):
            found: dict[str, tuple[n.Expr, Scope]] = {}
            for inner, part in zip(target.elements, row.elements, strict=True):
                matched = _matched(inner, part, scope)
                if matched is None:
                    return None
                found.update(matched)
            return found
    return None


def _flattened(call: n.Call) -> n.Call:
    """The call with ``*(a, b)`` written out."""
    args: list[n.Arg] = []
    for arg in call.args:
        if arg.star == "*" and isinstance(arg.value, n.Sequence):
            args += [n.Arg(element.at, element) for element in arg.value.elements]
        else:
            args.append(arg)
    return n.Call(call.at, call.func, tuple(args))
