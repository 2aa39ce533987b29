"""Metrics that are recorded without a row: instruments, and functions that record arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from rltel_lint.facts import nodes as n
from rltel_lint.findings import Place
from rltel_lint.project.binding import Passed
from rltel_lint.project.calls import CallFinder, CallSite
from rltel_lint.project.evaluate import Evaluator
from rltel_lint.project.model import Function, Module
from rltel_lint.project.modules import ModuleTable
from rltel_lint.project.resolve import External, Resolver
from rltel_lint.project.uses import Uses
from rltel_lint.values import Strings
from rltel_lint.vocabulary.model import Recorder, Vocabulary, means

_MAKERS = tuple(
    f"create_{kind}"
    for kind in (
        *("gauge", "histogram", "counter", "up_down_counter", "observable_gauge"),
        *("observable_counter", "observable_up_down_counter"),
    )
)
_RECORDS = frozenset({"set", "record", "add"})
_DEPTH = 3


@dataclass(eq=False)
class Instrument:
    """A call that makes an instrument.

    Attributes:
        name: What the metric may be called.
        site: The call.
        key: The key under which a dict display holds it; empty without one.
    """

    name: Strings
    site: CallSite
    key: str


@dataclass(eq=False)
class Recording:
    """A call of a function that records its arguments.

    Attributes:
        site: The call.
        recorder: What is called: a library's function, or one of the project.
        given: The argument of each parameter that gets one.
        function: The project's function; ``None`` for a library's.
    """

    site: CallSite
    recorder: Recorder
    given: Mapping[str, Passed]
    function: Function | None = None


class Series:
    """The instruments and recordings of a project.

    Args:
        vocabulary: What the names mean.
        modules: The project's modules.
        resolver: Resolves what is called.
        finder: Finds calls.
        evaluator: Evaluates names.
        uses: Finds what stands around a call.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        modules: ModuleTable,
        resolver: Resolver,
        finder: CallFinder,
        evaluator: Evaluator,
        uses: Uses,
    ) -> None:
        self._vocabulary = vocabulary
        self._modules = modules
        self._resolver = resolver
        self._finder = finder
        self._evaluator = evaluator
        self._uses = uses

    @cached_property
    def instruments(self) -> list[Instrument]:
        """Every instrument that the code makes, in order of the files."""
        found = []
        for site in self._finder.named(_MAKERS):
            func = site.call.func
            if not isinstance(func, n.Attribute) or func.attr not in _MAKERS:
                continue
            name = site.call.keyword("name") or site.call.positional(0)
            if name is None:
                continue
            value = self._evaluator.of(name, site.scope, site.statement)
            found.append(Instrument(value, site, self._key_of(site)))
        return sorted(found, key=lambda one: one.site.place)

    def _key_of(self, site: CallSite) -> str:
        holder = self._uses.parent(site.call, site.statement)
        if isinstance(holder, n.Dict):
            for key, value in holder.items:
                if value is site.call and isinstance(key, n.Const) and isinstance(key.value, str):
                    return key.value
        return ""

    # -- recorders ----------------------------------------------------------------------

    @cached_property
    def recordings(self) -> list[Recording]:
        """Every call of a function that records its arguments, sorted by place."""
        found = [*self._of_library(), *self._of_project()]
        return sorted(found, key=lambda one: one.site.place)

    def _of_library(self) -> Iterator[Recording]:
        recorders = self._vocabulary.recorders
        for site in self._finder.named([recorder.name for recorder in recorders]):
            for entity in self._resolver.of(site.call.func, site.scope):
                dotted = entity.name if isinstance(entity, External) else ""
                if isinstance(entity, Function):
                    dotted = entity.qualified
                for recorder in recorders:
                    if means(dotted, recorder.name, recorder.modules):
                        given = self._finder.arguments(site, recorder.params)
                        yield Recording(site, recorder, given)

    def _of_project(self) -> Iterator[Recording]:
        for function, recorder in self._own_recorders:
            if self._finder.escapes(function):
                continue
            for site in self._finder.callers(function):
                given = self._evaluator.bound(site, function)
                yield Recording(site, recorder, given, function)

    @cached_property
    def _own_recorders(self) -> list[tuple[Function, Recorder]]:
        """Functions that put a parameter into an instrument that a dict of the module holds."""
        by_module: dict[Module, dict[str, Instrument]] = {}
        for instrument in self.instruments:
            if instrument.key and instrument.name.exact:
                module = instrument.site.scope.module
                by_module.setdefault(module, {})[instrument.key] = instrument
        found = []
        for module, keyed in by_module.items():
            for function, series in self._recording_in(module, keyed):
                recorder = Recorder(function.name, (), function.node.params, series)
                found.append((function, recorder))
        return found

    def _recording_in(
        self, module: Module, keyed: Mapping[str, Instrument]
    ) -> Iterator[tuple[Function, dict[str, tuple[str, ...]]]]:
        sure: dict[Function, dict[str, set[str]]] = {}
        open_keys: set[str] = set()  # used in a way that is not understood
        for unit in module.facts.all_units():
            if not any(unit.has(key) for key in keyed):
                continue
            for scope, statement in self._uses.statements(module, unit):
                for node in n.own_nodes(statement):
                    if not isinstance(node, n.Subscript) or not isinstance(node.index, n.Const):
                        continue
                    key = node.index.value
                    if key not in keyed or not isinstance(key, str):
                        continue
                    params = self._recorded(node, scope, statement)
                    if params and isinstance(scope, Function):
                        sure.setdefault(scope, {}).setdefault(key, set()).update(params)
                    else:
                        open_keys.add(key)
        for function, keys in sure.items():
            series = {
                keyed[key].name.exact or "": tuple(sorted(params))
                for key, params in keys.items()
                if key not in open_keys
            }
            if series:
                yield function, series

    def _recorded(self, node: n.Subscript, scope: object, statement: n.Stmt) -> set[str]:
        """The optional parameters whose value ``instruments[key].set(value)`` records."""
        method = self._uses.parent(node, statement)
        if not isinstance(method, n.Attribute) or method.attr not in _RECORDS:
            return set()
        call = self._uses.parent(method, statement)
        if not isinstance(call, n.Call) or not call.args or not isinstance(scope, Function):
            return set()
        found = set()
        for part in n.walk(call.args[0].value):
            if isinstance(part, n.Name):
                param = scope.node.params.named(part.id)
                default = param.default if param is not None else None
                if not isinstance(default, n.Const) or default.value is not None:
                    continue
                if len(scope.bindings_of(part.id)) == 1:
                    found.add(part.id)
        return found

    # -- what is recorded ---------------------------------------------------------------

    def recordings_of(self, metric: str) -> list[tuple[Recording, tuple[str, ...]]]:
        """Returns the calls that could record a metric, with the parameters that do."""
        return [
            (recording, recording.recorder.series[metric])
            for recording in self.recordings
            if metric in recording.recorder.series
        ]

    def passes(self, recording: Recording, params: tuple[str, ...]) -> bool:
        """Whether a call may pass something else than ``None`` for one of the parameters."""
        if any(arg.star == "*" for arg in recording.site.call.args):
            return True
        return any(
            name in recording.given and self._may_be_set(recording.given[name], _DEPTH)
            for name in params
        )

    def _may_be_set(self, passed: Passed, depth: int) -> bool:
        expr = passed.expr
        if expr is None:
            return True
        if isinstance(expr, n.Const):
            return expr.value is not None
        if not isinstance(expr, n.Name) or depth == 0:
            return True
        bindings, where = self._resolver.lookup(expr.id, passed.scope)
        if not isinstance(where, Function) or len(bindings) != 1:
            return True
        param = bindings[0].node
        if not isinstance(param, n.Parameter) or param.kind in {"*", "**"}:
            return True
        default = param.default
        if not isinstance(default, n.Const) or default.value is not None:
            return True
        callers = self._finder.callers(where)
        if not callers or self._finder.escapes(where):
            return True
        for site in callers:
            given = self._evaluator.bound(site, where)
            if param.name in given and self._may_be_set(given[param.name], depth - 1):
                return True
        return False

    def written_elsewhere(self, text: str, declared: set[tuple[str, int]]) -> bool:
        """Whether a quoted text or a keyword stands in the code beside its declarations.

        Args:
            text: The name.
            declared: Path and line of the declarations.
        """
        word = re.compile(rf"[\"']{re.escape(text)}[\"']|\b{re.escape(text)}\s*=(?!=)")
        for module in self._modules:
            if module.facts.has(text):
                for number, line in enumerate(module.facts.lines, 1):
                    if (module.path, number) not in declared and word.search(line):
                        return True
        return False

    def fields(self, recorder: Recorder) -> Iterator[tuple[str, Place]]:
        """Yields the keys of the mappings whose keys a recorder gets as keywords."""
        for name in recorder.fields:
            for module in self._modules.binding(name):
                for binding in module.bindings_of(name):
                    if isinstance(binding.value, n.Dict):
                        for key, _ in binding.value.items:
                            exact = self._evaluator.of(key, module).exact if key else None
                            if key is not None and exact is not None:
                                yield exact, module.place(key)
