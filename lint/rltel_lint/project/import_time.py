"""Telemetry that is set up when a module is imported."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rltel_lint.facts import nodes as n
from rltel_lint.facts.units import Unit
from rltel_lint.findings import Place
from rltel_lint.project.imports import ImportGraph, evaluated_at_once, run_at_import
from rltel_lint.project.leading import Leading
from rltel_lint.project.lifecycle import Lifecycle
from rltel_lint.project.model import Function, Module, Scope
from rltel_lint.project.modules import ModuleTable
from rltel_lint.vocabulary.model import KnownCall
from rltel_lint.vocabulary.model import Lifecycle as Words

_HOPS = 2
_DEFINITION = re.compile(r"\A\s*(?:def |async def |@|from |import )")


@dataclass(frozen=True, eq=False)
class Started:
    """A call that sets telemetry up while its module is imported.

    Attributes:
        scope: The module or class.
        call: The call.
        callee: What is called, in words.
        is_provider: Whether it sets what the whole process records with.
        inner: Where the set-up really is, for a function of the project.
    """

    scope: Scope
    call: n.Call
    callee: str
    is_provider: bool
    inner: Place | None = None


class StartsAtImport:
    """Finds the calls that set telemetry up while a module is imported.

    Args:
        words: What starts telemetry.
        modules: The project's modules.
        lifecycle: Knows which functions start telemetry.
        graph: Knows what is imported.
    """

    def __init__(
        self, words: Words, modules: ModuleTable, lifecycle: Lifecycle, graph: ImportGraph
    ) -> None:
        self._words = words
        self._modules = modules
        self._flow = lifecycle.flow
        self._graph = graph

    def find(self) -> Iterator[tuple[Started, Place]]:
        """Yields each such call, with a place that imports its module."""
        found: dict[n.Call, Started] = {}
        uses = self._flow.uses(self._known())
        inside: dict[Function, Place] = {}
        for scope, statement, node in uses:
            if isinstance(scope, Function):
                inside.setdefault(scope, scope.place(node))
                continue
            call = _call_of(node, statement)
            known = self._flow.means(node, scope, self._known())
            if call is not None and known is not None and _is_run(statement, scope.module):
                is_provider = known in self._words.providers
                found[call] = Started(scope, call, known.name, is_provider)
        for started in self._through(inside):
            found.setdefault(started.call, started)
        for started in found.values():
            importer = self._imported_at(started.scope.module)
            if importer is not None:
                yield started, importer

    def _known(self) -> tuple[KnownCall, ...]:
        words = self._words
        known = dict.fromkeys((*words.providers, *words.drivers, *words.workers))
        # An object of a class, such as a provider, sets nothing up by being made.
        return tuple(one for one in known if not one.name.rpartition(".")[2][:1].isupper())

    def _through(self, inside: dict[Function, Place]) -> Iterator[Started]:
        """Statements that do no more than to call a function of the project which starts it."""
        leading = self._flow.leading(inside, depth=_HOPS)
        near = self._flow.text.within((function.name for function in inside), _HOPS)
        for module, names in self._modules.having(near).items():
            for unit in module.facts.units_with_any(names):
                if _defines(unit) or not unit.hands_on_any(names):
                    continue
                for statement in run_at_import(unit.statements):
                    if isinstance(statement, n.ExprStmt) and isinstance(statement.value, n.Call):
                        yield from self._steps(statement, statement.value, module, inside, leading)

    def _steps(
        self,
        statement: n.ExprStmt,
        call: n.Call,
        module: Module,
        inside: Mapping[Function, Place],
        leading: Leading,
    ) -> Iterator[Started]:
        for written, target in self._flow.steps_in(statement, module, leading):
            way = (
                self._flow.path(target, frozenset(inside), leading, _HOPS)
                if written is call
                else None
            )
            if way is None or not all(isinstance(step, n.Call) for _, step in way.calls):
                continue
            place = way.calls[0][0].place(way.calls[0][1]) if way.calls else inside[target]
            yield Started(module, call, target.label, False, place)
            return

    def _imported_at(self, module: Module) -> Place | None:
        if module.path.endswith("__main__.py"):
            return None
        if module.is_package:
            return Place(module.path)
        found = self._graph.importer(module)
        return found[0].place(found[1]) if found is not None else None


def _call_of(node: n.Expr, statement: n.Stmt) -> n.Call | None:
    """The call that an import makes of what a node names."""
    for other in evaluated_at_once(statement):
        if isinstance(other, n.Call) and other.func is node:
            return other
    return None


def _is_run(statement: n.Stmt, module: Module) -> bool:
    for unit in module.facts.all_units():
        if unit.first <= statement.at[0] <= unit.last and not unit.members:
            if any(one is statement for one in run_at_import(unit.statements)):
                return True
    return False


def _defines(unit: Unit) -> bool:
    return bool(unit.members) or unit.search(_DEFINITION)
