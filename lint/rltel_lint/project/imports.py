"""What runs when a module is imported, and which modules that loads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rltel_lint.facts import nodes as n
from rltel_lint.project.model import Module
from rltel_lint.project.modules import ModuleTable
from rltel_lint.project.resolve import Resolver

_PLAIN = re.compile(r"^\s*import\s+(?P<names>.*)", re.DOTALL)


def run_at_import(statements: Iterable[n.Stmt]) -> Iterator[n.Stmt]:
    """Yields the statements that an import runs.

    What stands under ``if __name__ == "__main__"`` or ``if TYPE_CHECKING`` is not, nor are the
    bodies of functions. The members of an indexed class come with their own units.
    """
    for statement in statements:
        yield statement
        if isinstance(statement, n.ClassDef):
            yield from run_at_import(statement.body)
        elif isinstance(statement, n.If) and _is_guard(statement.test):
            yield from run_at_import(statement.orelse)
        else:
            for block in n.blocks(statement):
                yield from run_at_import(block)


def evaluated_at_once(statement: n.Stmt) -> Iterator[n.Node]:
    """Yields the nodes of a statement that an import evaluates: not those in lambdas."""
    if isinstance(statement, n.FunctionDef):
        parts: list[n.Node] = [*statement.decorators]
        parts += [param.default for param in statement.params.items if param.default is not None]
    elif isinstance(statement, n.ClassDef):
        parts = [*statement.decorators, *statement.bases]
    else:
        parts = [child for child in n.child_nodes(statement) if not isinstance(child, n.Stmt)]
    for part in parts:
        yield from _eager(part)


def _eager(node: n.Node) -> Iterator[n.Node]:
    if isinstance(node, (n.Lambda, n.Stmt)):
        return
    yield node
    for child in n.child_nodes(node):
        yield from _eager(child)


def _is_guard(test: n.Expr) -> bool:
    words = {node.id for node in n.walk(test) if isinstance(node, n.Name)}
    words |= {node.attr for node in n.walk(test) if isinstance(node, n.Attribute)}
    return bool(words & {"__name__", "TYPE_CHECKING"})


class ImportGraph:
    """Which modules importing another one loads. Imports in functions do not count.

    Args:
        modules: The project's modules.
        resolver: Knows which module an import means.
    """

    def __init__(self, modules: ModuleTable, resolver: Resolver) -> None:
        self._modules = modules
        self._resolver = resolver
        self._loads: dict[Module, dict[Module, n.Import]] = {}

    def loads(self, module: Module) -> dict[Module, n.Import]:
        """Returns the modules that a module imports at its top level, and where."""
        known = self._loads.get(module)
        if known is None:
            known = self._loads[module] = {}
            for node in self._imports(module):
                for loaded in self._loaded_by(node, module):
                    if loaded is not module:
                        known.setdefault(loaded, node)
        return known

    def loads_in_the_end(self, module: Module, wanted: Module) -> bool:
        """Whether importing a module also loads another one, through others too."""
        seen, todo = {module}, [module]
        while todo:
            current = todo.pop()
            if current is wanted:
                return True
            new = self.loads(current).keys() - seen
            seen |= new
            todo += new
        return False

    def importer(self, wanted: Module) -> tuple[Module, n.Import] | None:
        """Returns one place where a module is imported, ``None`` if nothing here imports it."""
        last = wanted.name.rpartition(".")[2]
        for module in self._modules.mentioning(last):
            if module is not wanted:
                node = self.loads(module).get(wanted)
                if node is not None:
                    return module, node
        return None

    def _imports(self, module: Module) -> Iterator[n.Import]:
        for unit in module.facts.units:
            if unit.has("import") and not unit.members:
                for statement in run_at_import(unit.statements):
                    if isinstance(statement, n.Import):
                        yield statement

    def _loaded_by(self, node: n.Import, module: Module) -> Iterator[Module]:
        for name in self._dotted(node, module):
            parts = name.split(".")
            for end in range(1, len(parts) + 1):
                loaded = self._resolver.dotted_module(".".join(parts[:end]), module)
                if isinstance(loaded, Module):
                    yield loaded

    def _dotted(self, node: n.Import, module: Module) -> Iterator[str]:
        if node.module is None:
            # Of ``import a.b`` only what it binds is kept, so the text has to tell.
            match = _PLAIN.match("\n".join(module.facts.excerpt(node.at[0], node.at[2])))
            for written in match["names"].split(",") if match else ():
                yield from written.split()[:1]
            return
        source = self._resolver.imported_module(node, module)
        if source is not None:
            yield source.name
            yield from (f"{source.name}.{original}" for original, _ in node.names)
