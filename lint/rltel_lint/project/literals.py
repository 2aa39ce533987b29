"""Where string literals with a prefix stand, and whether they are only read with there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rltel_lint.facts import nodes as n
from rltel_lint.findings import Place
from rltel_lint.project.model import Module, Scope
from rltel_lint.project.modules import ModuleTable
from rltel_lint.project.uses import Uses

_READERS = frozenset({"get", "pop", "startswith", "endswith", "removeprefix", "count", "index"})


@dataclass(eq=False)
class Literal:
    """One string literal in the code.

    Attributes:
        value: The string.
        node: The literal.
        scope: Where it stands.
        statement: The statement that holds it.
        around: What stands around it, innermost first, up to the statement.
    """

    value: str
    node: n.Const
    scope: Scope
    statement: n.Stmt
    around: tuple[n.Node, ...]

    @property
    def module(self) -> Module:
        """The file's module."""
        return self.scope.module

    @property
    def place(self) -> Place:
        """Where it stands."""
        return self.scope.place(self.node)

    @property
    def inert(self) -> bool:
        """Whether it is a docstring, is compared with, or only looks something up."""
        parent = self.around[0]
        if isinstance(parent, (n.ExprStmt, n.Compare)):
            return True
        if isinstance(parent, n.Subscript):
            return parent.index is self.node and not self._stored_into(parent)
        if isinstance(parent, n.Arg) and len(self.around) > 1:
            call = self.around[1]
            if isinstance(call, n.Call) and isinstance(call.func, n.Attribute):
                return call.func.attr in _READERS and call.positional(0) is self.node
        return False

    def _stored_into(self, subscript: n.Subscript) -> bool:
        statement = self.statement
        if isinstance(statement, n.Assign):
            return any(subscript in set(n.walk(target)) for target in statement.targets)
        return isinstance(statement, n.AugAssign) and subscript in set(n.walk(statement.target))


def literals(modules: ModuleTable, uses: Uses, prefixes: tuple[str, ...]) -> Iterator[Literal]:
    """Yields the string literals that start with one of the prefixes, in order of the files.

    Args:
        modules: The project's modules.
        uses: Finds statements and what stands around an expression.
        prefixes: What the literals start with.
    """
    quoted = tuple(quote + prefix for prefix in prefixes for quote in "\"'")
    for module in modules:
        if not any(module.facts.has(text) for text in quoted):
            continue
        for unit in module.facts.all_units():
            if not any(unit.has(text) for text in quoted):
                continue
            for scope, statement in uses.statements(module, unit):
                for node in n.own_nodes(statement):
                    if isinstance(node, n.Const) and isinstance(node.value, str):
                        if node.value.startswith(prefixes):
                            around = tuple(uses.around(node, statement))
                            yield Literal(
                                node.value, node, scope, statement, around or (statement,)
                            )
