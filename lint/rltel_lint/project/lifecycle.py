"""Where telemetry is started and ended: entry points, actors, and what kills them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from rltel_lint.facts import nodes as n
from rltel_lint.project.binding import init_of
from rltel_lint.project.calls import CallFinder
from rltel_lint.project.carriers import CarrierFacts
from rltel_lint.project.flow import Flow
from rltel_lint.project.leading import EitherLeading, Leading, Leads
from rltel_lint.project.model import Class, Function, Module, Scope
from rltel_lint.project.modules import ModuleTable
from rltel_lint.project.resolve import Resolver
from rltel_lint.project.spans import Spans, SpanSite
from rltel_lint.vocabulary.model import Vocabulary

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_HOPS = 3


@dataclass(frozen=True, eq=False)
class Entry:
    """Where a process of the project starts.

    Attributes:
        scope: The module.
        call: The call that starts the work; ``None`` for a console script.
        function: The function that it runs.
        guard: The statements under ``if __name__ == "__main__"``.
    """

    scope: Module
    call: n.Call | None
    function: Function
    guard: tuple[n.Stmt, ...] = ()


class Lifecycle:
    """All that is known of processes; each part is worked out when first asked for.

    Args:
        vocabulary: What the names mean.
        modules: The project's modules.
        resolver: Resolves names.
        finder: Finds calls.
        spans: All span sites.
        carriers: Knows the actors and what is library.
        scripts: The text of ``pyproject.toml``, for console scripts.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        modules: ModuleTable,
        resolver: Resolver,
        finder: CallFinder,
        spans: Spans,
        carriers: CarrierFacts,
        scripts: str = "",
    ) -> None:
        self._known = vocabulary.lifecycle
        self._modules = modules
        self._resolver = resolver
        self._finder = finder
        self._spans = spans
        self._carriers = carriers
        self._scripts = scripts
        self.flow = Flow(modules, resolver, finder, carriers.invocations, carriers.is_library)

    # -- who starts and who ends telemetry ----------------------------------------------

    @cached_property
    def _starts(self) -> list[tuple[Scope, n.Stmt, n.Expr]]:
        return self.flow.uses((*self._known.drivers, *self._known.workers))

    @property
    def start_calls(self) -> list[tuple[Scope, n.Stmt, n.Expr]]:
        """Where telemetry is started."""
        return self._starts

    @cached_property
    def starting(self) -> frozenset[Function]:
        """Functions that start telemetry themselves."""
        return _functions(self._starts)

    @property
    def starts_on_import(self) -> bool:
        """Whether a module starts telemetry when it is imported."""
        return any(not isinstance(scope, Function) for scope, _, _ in self._starts)

    @cached_property
    def driver_name(self) -> str:
        """The function that starts telemetry in a launcher: the project's own, if it has one."""
        entries = {entry.function for entry in self.entries}
        return self._own_start(lambda caller: caller in entries) or self._known.drivers[0].name

    @cached_property
    def worker_name(self) -> str:
        """The function that starts telemetry in an actor, likewise; empty without one."""
        own = self._own_start(lambda caller: caller.name == "__init__")
        return own or (self._known.workers[0].name if self._known.workers else "")

    def _own_start(self, is_user: Callable[[Function], bool]) -> str:
        for function in sorted(self.starting, key=lambda function: function.qualified):
            if function.owner is None and function.outer is None and not is_user(function):
                for call in self._carriers.invocations.of(function):
                    if call.function is not None and is_user(call.function):
                        return function.name
        return ""

    @property
    def is_started_somewhere(self) -> bool:
        """Whether anything in the project starts telemetry."""
        return bool(self._starts)

    @cached_property
    def _to_start(self) -> Leading:
        return self.flow.leading(self.starting)

    def starts(self, function: Function) -> bool:
        """Whether a function starts telemetry, by itself or in what it calls."""
        return self.flow.path(function, self.starting, self._to_start) is not None

    # -- actors -------------------------------------------------------------------------

    def methods_leading(self, cls: Class, leading: Leads) -> Iterator[Function]:
        """Yields the methods of a class and its bases whose names are among those."""
        for holder in self._resolver.mro(cls):
            for name in holder.member_names:
                if name in leading:
                    yield from holder.methods_named(name)

    def class_starts(self, cls: Class) -> bool:
        """Whether an actor class starts telemetry, in any of its methods or by a decorator."""
        if not self.starting and not self._known.worker_decorators:
            return False
        leading = EitherLeading([self._to_start], ["__init__"])
        return any(self._is_started_by(method) for method in self.methods_leading(cls, leading))

    def _is_started_by(self, method: Function) -> bool:
        for decorator in method.node.decorators:
            func = decorator.func if isinstance(decorator, n.Call) else decorator
            if self.flow.means(func, method.parent or method.module, self._known.worker_decorators):
                return True
            for entity in self._resolver.of(func, method.parent or method.module):
                if isinstance(entity, Function) and self._wraps_a_start(entity):
                    return True
                if entity in self._starter_makers:
                    return True
        return self.starts(method)

    @cached_property
    def _starter_makers(self) -> frozenset[object]:
        """Functions of the project that use a worker decorator, to make one of their own."""
        used = self.flow.uses(self._known.worker_decorators)
        return frozenset(scope for scope, _, _ in used if isinstance(scope, Function))

    def _wraps_a_start(self, decorator: Function) -> bool:
        return any(
            function is decorator or _is_inside(function, decorator) for function in self.starting
        )

    @cached_property
    def uninitialised(self) -> tuple[tuple[Class, SpanSite], ...]:
        """The actor classes that open spans and never start telemetry, and one such span."""
        if self.starts_on_import or self._has_setup_hook:
            return ()
        found = []
        seen: set[object] = set()
        for cls in self._carriers.classes.classes:
            if self._carriers.is_library(cls.module) or self._has_unknown_base(cls):
                continue
            site = self._span_in(cls)
            if site is None or self.class_starts(cls):
                continue
            if site.helper.receiver and not self.is_started_somewhere:
                continue  # raw spans may be set up from outside
            constructor = init_of(cls, self._resolver.mro(cls))
            cause = (site, constructor or cls)
            if cause not in seen:  # classes with one constructor have one cause
                seen.add(cause)
                found.append((cls, site))
        return tuple(sorted(found, key=lambda pair: pair[1].place))

    @property
    def _has_setup_hook(self) -> bool:
        return bool(self._modules.mentioning("worker_process_setup_hook"))

    def _has_unknown_base(self, cls: Class) -> bool:
        plain = ("builtins.", "abc.", "typing.", "typing_extensions.")
        if any(not name.startswith(plain) for name in self._resolver.external_bases(cls)):
            return True
        for holder in self._resolver.mro(cls):
            for base in holder.bases_args():
                plain_base = base.base if isinstance(base, n.Subscript) else base
                if not self._resolver.of(plain_base, holder.parent or holder.module):
                    return True
        return False

    @cached_property
    def _opening(self) -> dict[Function, SpanSite]:
        found: dict[Function, SpanSite] = {}
        for site in self._spans.opening():
            function = site.at.decorates or site.function
            if function is not None:
                found.setdefault(function, site)
        return found

    @cached_property
    def _to_span(self) -> Leading:
        return self.flow.leading(self._opening, depth=_HOPS)

    def _span_in(self, cls: Class) -> SpanSite | None:
        goals = frozenset(self._opening)
        for method in self.methods_leading(cls, self._to_span):
            if method in goals:
                return self._opening[method]
        for method in self.methods_leading(cls, self._to_span):
            way = self.flow.path(method, goals, self._to_span, _HOPS)
            if way is not None:
                return self._opening[way.goal]
        return None

    # -- entry points -------------------------------------------------------------------

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """The scripts and console commands of the project, in order of their modules."""
        found: dict[Function, Entry] = {}
        for module in self._modules:
            runs = module.facts.has("__name__") or module.path.endswith("__main__.py")
            if runs and not self._carriers.is_library(module):
                for entry in self._guarded(module):
                    found.setdefault(entry.function, entry)
        for entry in self._commands():
            found.setdefault(entry.function, entry)
        return tuple(found.values())

    @cached_property
    def _of_interest(self) -> EitherLeading:
        return EitherLeading([self._to_loop, self._to_start])

    def _guarded(self, module: Module) -> Iterator[Entry]:
        body = tuple(self._run_statements(module))
        for statement in body:
            for written, target in self.flow.steps_in(statement, module, self._of_interest):
                call = written if isinstance(written, n.Call) else None
                yield Entry(module, call, target, body)

    @staticmethod
    def _run_statements(module: Module) -> Iterator[n.Stmt]:
        """The statements that run when a module is the program."""
        is_main = module.path.rpartition("/")[2] == "__main__.py"
        for unit in module.facts.units:
            if not is_main and not (unit.has("__name__") and unit.has("__main__")):
                continue
            for statement in unit.statements:
                if isinstance(statement, n.If) and _is_guard(statement.test):
                    yield from _statements(statement.body)
                elif is_main and not isinstance(statement, (n.FunctionDef, n.ClassDef)):
                    yield from _statements((statement,))

    def _commands(self) -> Iterator[Entry]:
        if "scripts" not in self._scripts:
            return
        try:
            table = tomllib.loads(self._scripts).get("project", {})
        except tomllib.TOMLDecodeError:
            return
        for key in ("scripts", "gui-scripts"):
            scripts = table.get(key, {}) if isinstance(table, dict) else {}
            for target in scripts.values() if isinstance(scripts, dict) else ():
                name, _, attr = str(target).partition(":")
                module = self._modules.named(name)
                if module is not None and not self._carriers.is_library(module):
                    for entity in self._resolver.module_member(module, attr):
                        if isinstance(entity, Function):
                            yield Entry(entity.module, None, entity)

    def starts_in(self, entry: Entry) -> bool:
        """Whether telemetry is started in the process of an entry point."""
        inside = set(entry.guard)
        if any(statement in inside for _, statement, _ in self._starts):
            return True
        functions = {
            target
            for inner in entry.guard
            for _, target in self.flow.steps_in(inner, entry.scope, self._of_interest)
        }
        return any(self.starts(function) for function in {entry.function, *functions})

    @cached_property
    def loops(self) -> dict[Function, SpanSite]:
        """Functions that run an instrumented loop, and a span of it."""
        found: dict[Function, SpanSite] = {}
        for site in self._spans.opening():
            function = site.at.decorates or site.function
            if function is not None and (self._is_run(site) or _in_loop(site)):
                found.setdefault(function, site)
        return found

    def _is_run(self, site: SpanSite) -> bool:
        groups = site.group
        return (
            groups is not None
            and groups.known
            and set(groups.literals) <= set(self._known.run_groups)
        )

    @cached_property
    def _to_loop(self) -> Leading:
        return self.flow.leading(self.loops)

    def loop_of(self, entry: Entry) -> SpanSite | None:
        """Returns a span of the instrumented loop that an entry point runs."""
        way = self.flow.path(entry.function, frozenset(self.loops), self._to_loop)
        return self.loops[way.goal] if way is not None else None


def _functions(uses: Iterable[tuple[Scope, n.Stmt, n.Expr]]) -> frozenset[Function]:
    return frozenset(scope for scope, _, _ in uses if isinstance(scope, Function))


def _is_inside(function: Function, outer: Function) -> bool:
    scope: Function | None = function
    while scope is not None:
        if scope is outer:
            return True
        scope = scope.outer
    return False


def _is_guard(test: n.Expr) -> bool:
    return any(isinstance(node, n.Name) and node.id == "__name__" for node in n.walk(test))


def _statements(block: Iterable[n.Stmt]) -> Iterator[n.Stmt]:
    for statement in block:
        yield statement
        for inner in n.blocks(statement):
            yield from _statements(inner)


def _in_loop(site: SpanSite) -> bool:
    function = site.function
    if site.at.decorates is not None or function is None:
        return False
    path = function.paths.get(site.at.statement, ())
    return any(isinstance(block[index], (n.For, n.While)) for block, index in path[:-1])
