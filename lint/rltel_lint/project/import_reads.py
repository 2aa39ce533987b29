"""Environment variables that are read when a module is imported, for use at a later time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from rltel_lint.facts import nodes as n
from rltel_lint.findings import Place
from rltel_lint.project.evaluate import Evaluator
from rltel_lint.project.imports import ImportGraph, evaluated_at_once, run_at_import
from rltel_lint.project.leading import EitherLeading
from rltel_lint.project.lifecycle import Lifecycle
from rltel_lint.project.model import Class, Function, Module, Scope
from rltel_lint.project.modules import ModuleTable
from rltel_lint.project.resolve import External, Resolver
from rltel_lint.project.uses import Use, Uses

_ENVIRON, _GETENV = "os.environ", "os.getenv"
_SPELLED = ("environ", "getenv", "putenv")
_COPIES = ("builtins.dict", "copy.copy", "copy.deepcopy")


@dataclass(frozen=True, eq=False)
class EarlyRead:
    """A variable that is read too early.

    Attributes:
        variable: Its name.
        scope: The module or class.
        node: The expression that reads it, or copies the environment.
        held: The name that holds the value; empty for the default of a parameter.
        later: Where the variable is set, or its value used, after the import.
        why: What happens there, in words.
    """

    variable: str
    scope: Scope
    node: n.Node
    held: str
    later: Place
    why: str


@dataclass(frozen=True, eq=False)
class _Read:
    variable: str  # empty for a copy of the whole environment
    scope: Scope
    statement: n.Stmt
    node: n.Node


class ImportReads:
    """Finds variables of telemetry whose value is kept from the import of a module.

    Args:
        prefixes: What names of such variables start with.
        modules: The project's modules.
        resolver: Resolves names.
        evaluator: Evaluates the names of variables.
        uses: Finds where a name is used.
        lifecycle: Knows which functions start telemetry.
        graph: Knows what is imported.
    """

    def __init__(
        self,
        prefixes: tuple[str, ...],
        modules: ModuleTable,
        resolver: Resolver,
        evaluator: Evaluator,
        uses: Uses,
        lifecycle: Lifecycle,
        graph: ImportGraph,
    ) -> None:
        self._prefixes = prefixes
        self._modules = modules
        self._resolver = resolver
        self._evaluator = evaluator
        self._uses = uses
        self._lifecycle = lifecycle
        self._graph = graph

    def find(self) -> Iterator[EarlyRead]:
        """Yields the reads that something later shows to be too early, in order of place."""
        found = []
        for module in self._modules.having(_SPELLED) if self._prefixes else ():
            reads = list(self._reads(module))
            if reads and (module.is_package or self._graph.importer(module) is not None):
                for read in reads:
                    early = self._too_early(read, module)
                    if early is not None:
                        found.append(early)
        yield from sorted(found, key=lambda one: one.scope.place(one.node))

    # -- reads --------------------------------------------------------------------------

    def _reads(self, module: Module) -> Iterator[_Read]:
        for unit in module.facts.units_with_any(_SPELLED):
            if unit.members:
                continue
            scopes = {statement: scope for scope, statement in self._uses.statements(module, unit)}
            for statement in run_at_import(unit.statements):
                if not isinstance(statement, (n.Assign, n.FunctionDef)):
                    continue
                scope = scopes[statement]
                for node in evaluated_at_once(statement):
                    yield from self._read(node, statement, scope)

    def _read(self, node: n.Node, statement: n.Stmt, scope: Scope) -> Iterator[_Read]:
        name = self._variable(node, scope)
        if name is not None and not self._uses.is_target(node, statement):
            variable = self._evaluator.of(name, scope, statement).exact or ""
            if variable.startswith(self._prefixes):
                yield _Read(variable, scope, statement, node)
        elif isinstance(statement, n.Assign) and node is statement.value:
            if self._copies(node, scope):
                yield _Read("", scope, statement, node)

    def _variable(self, node: n.Node, scope: Scope) -> n.Expr | None:
        """The name of the variable that an expression reads from the environment."""
        if isinstance(node, n.Subscript) and self._is(node.base, scope, _ENVIRON):
            return node.index
        if isinstance(node, n.Call) and node.args:
            if self._is(node.func, scope, f"{_ENVIRON}.get", _GETENV):
                return node.positional(0)
        return None

    def _copies(self, node: n.Node, scope: Scope) -> bool:
        """Whether an expression is a copy of the environment, or of some of it."""
        if isinstance(node, n.Call):
            if self._is(node.func, scope, f"{_ENVIRON}.copy"):
                return True
            first = node.positional(0)
            is_copy = n.dotted(node.func) == "dict" or self._is(node.func, scope, *_COPIES)
            return is_copy and first is not None and self._is(first, scope, _ENVIRON)
        if isinstance(node, n.Dict):
            return any(key is None and self._is(v, scope, _ENVIRON) for key, v in node.items)
        if isinstance(node, n.Comprehension) and node.kind == "dict":
            return any(
                isinstance(part, n.Expr) and self._is(part, scope, _ENVIRON)
                for _, iterable in node.loops
                for part in n.walk(iterable)
            )
        return False

    def _is(self, expr: n.Expr, scope: Scope, *names: str) -> bool:
        return any(
            isinstance(entity, External) and entity.name in names
            for entity in self._resolver.of(expr, scope)
        )

    # -- what comes later ---------------------------------------------------------------

    def _too_early(self, read: _Read, module: Module) -> EarlyRead | None:
        held = _held(read.statement)
        if isinstance(read.statement, n.FunctionDef):
            return self._default(read, read.statement)
        if not held:
            return None
        if not read.variable:
            return self._out_of_copy(read, held)
        if isinstance(read.scope, Class):
            return self._set_later(read, held, frozenset())
        uses = [
            use
            for use in self._uses.everywhere(held, module)
            if isinstance(use.scope, Function) and not self._uses.is_target(use.node, use.statement)
        ]
        if not uses:
            return None
        users = frozenset(use.scope for use in uses)
        for use in uses:
            if isinstance(use.scope, Function) and use.scope.module is module:
                if self._lifecycle.starts(use.scope) or self._serves_start(use.scope):
                    return self._early(read, held, use.scope.place(use.node), "set-up uses it here")
        return self._set_later(read, held, users)

    def _serves_start(self, function: Function) -> bool:
        """Whether a function that starts telemetry calls this one, in the same module."""
        here = [start for start in self._lifecycle.starting if start.module is function.module]
        leading = EitherLeading((), [function.name])
        return any(
            target is function
            for start in here
            for _, target in self._lifecycle.flow.steps(start, leading)
        )

    def _default(self, read: _Read, node: n.FunctionDef) -> EarlyRead | None:
        owner = read.scope if isinstance(read.scope, Class) else None
        function = read.scope.module.function(node, owner)
        if self._lifecycle.starts(function):
            place = read.scope.place(n.Name(node.name_at, node.name))
            return self._early(read, "", place, "set-up that takes it")
        return self._set_later(read, "", frozenset())

    def _out_of_copy(self, read: _Read, held: str) -> EarlyRead | None:
        """A variable of telemetry that a function takes out of a copy of the environment."""
        if not isinstance(read.scope, Module):
            return None
        for use in self._uses.everywhere(held, read.scope):
            if isinstance(use.scope, Function):
                variable = self._taken(use)
                if variable:
                    place = use.scope.place(use.node)
                    found = _Read(variable, read.scope, read.statement, read.node)
                    return self._early(found, held, place, "taken from the copy here")
        return None

    def _taken(self, use: Use) -> str:
        holder = self._uses.parent(use.node, use.statement)
        name: n.Expr | None = None
        if isinstance(holder, n.Subscript) and holder.base is use.node:
            name = holder.index
        elif isinstance(holder, n.Attribute) and holder.attr == "get":
            call = self._uses.parent(holder, use.statement)
            name = call.positional(0) if isinstance(call, n.Call) else None
        elif isinstance(holder, n.Compare) and holder.right is use.node:
            name = holder.left
        if name is None or self._uses.is_target(holder, use.statement):
            return ""
        variable = self._evaluator.of(name, use.scope, use.statement).exact or ""
        return variable if variable.startswith(self._prefixes) else ""

    def _set_later(self, read: _Read, held: str, users: frozenset[Scope]) -> EarlyRead | None:
        """A function that sets the variable in a process that has already imported the read."""
        for scope, node in self._sets.get(read.variable, ()):
            if scope in users or not isinstance(scope, Function):
                continue
            if self._graph.loads_in_the_end(scope.module, read.scope.module):
                return self._early(read, held, scope.place(node), "set here, after the import")
        return None

    @cached_property
    def _sets(self) -> dict[str, list[tuple[Scope, n.Node]]]:
        """Where functions set variables of telemetry, by name."""
        found: dict[str, list[tuple[Scope, n.Node]]] = {}
        for module in self._modules.having(_SPELLED):
            for unit in module.facts.units_with_any(_SPELLED):
                if unit.members:
                    continue
                for scope, statement in self._uses.statements(module, unit):
                    if isinstance(scope, Function):
                        for node in n.own_nodes(statement):
                            for name in self._set_by(node, scope, statement):
                                exact = self._evaluator.of(name, scope, statement).exact or ""
                                if exact.startswith(self._prefixes):
                                    found.setdefault(exact, []).append((scope, node))
        return found

    def _set_by(self, node: n.Node, scope: Scope, statement: n.Stmt) -> Iterator[n.Expr]:
        if isinstance(node, n.Subscript) and self._uses.is_target(node, statement):
            if self._is(node.base, scope, _ENVIRON):
                yield node.index
        elif isinstance(node, n.Call) and node.args:
            if self._is(node.func, scope, f"{_ENVIRON}.setdefault", "os.putenv"):
                first = node.positional(0)
                if first is not None:
                    yield first
            elif self._is(node.func, scope, f"{_ENVIRON}.update"):
                shown = node.positional(0)
                for key, _ in shown.items if isinstance(shown, n.Dict) else ():
                    if key is not None:
                        yield key

    @staticmethod
    def _early(read: _Read, held: str, later: Place, why: str) -> EarlyRead:
        return EarlyRead(read.variable, read.scope, read.node, held, later, why)


def _held(statement: n.Stmt) -> str:
    if isinstance(statement, n.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        return target.id if isinstance(target, n.Name) else ""
    return ""
