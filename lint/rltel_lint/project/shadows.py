"""Names that a comprehension or a lambda binds for itself, inside a statement."""

from __future__ import annotations

from collections.abc import Mapping

from rltel_lint.facts import nodes as n
from rltel_lint.project.model import Binding, loop_targets


class Shadows:
    """Finds the names of a statement that do not mean what they mean around it."""

    def __init__(self) -> None:
        self._known: dict[n.Stmt, dict[n.Name, Binding]] = {}

    def binding(self, name: n.Name, statement: n.Stmt) -> Binding | None:
        """Returns what an inner scope binds a name to, ``None`` for a name of the statement's own.

        Args:
            name: A use of a name.
            statement: The statement that holds it.
        """
        known = self._known.get(statement)
        if known is None:
            known = self._known[statement] = {}
            _note(statement, {}, known)
        return known.get(name)


def _note(node: n.Node, bound: Mapping[str, Binding], found: dict[n.Name, Binding]) -> None:
    if isinstance(node, n.Name):
        if node.id in bound:
            found[node] = bound[node.id]
    elif isinstance(node, n.Lambda):
        for param in node.params.items:
            if param.default is not None:
                _note(param.default, bound, found)
        own = {param.name: Binding(param) for param in node.params.items}
        _note(node.body, {**bound, **own}, found)
    elif isinstance(node, n.Comprehension):
        _note_comprehension(node, bound, found)
    else:
        for child in n.child_nodes(node):
            if not isinstance(child, n.Stmt):
                _note(child, bound, found)


def _note_comprehension(
    node: n.Comprehension, outer: Mapping[str, Binding], found: dict[n.Name, Binding]
) -> None:
    bound = dict(outer)
    for target, iterable in node.loops:
        _note(iterable, bound, found)
        bound.update(loop_targets(target, iterable, node))
    for part in (node.key, node.element, *node.conditions):
        if part is not None:
            _note(part, bound, found)
