"""Where the source spells a key: whole, as a keyword or field, or built from pieces."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rltel_lint.facts import nodes as n
from rltel_lint.facts.occurrences import beginning
from rltel_lint.facts.units import Unit
from rltel_lint.project.evaluate import Evaluator
from rltel_lint.project.metrics.keys import fits
from rltel_lint.project.model import Class, Module, Scope
from rltel_lint.project.modules import ModuleTable
from rltel_lint.project.uses import Use, Uses
from rltel_lint.values import HOLE

_SEPARATORS = "/_.-:"
_QUOTE = "[\"']"


class Mentions:
    """Finds where a key is spelled; only units whose text has it are looked into.

    Args:
        modules: The project's modules.
        evaluator: Evaluates keys that are built.
        uses: Walks through units.
    """

    def __init__(self, modules: ModuleTable, evaluator: Evaluator, uses: Uses) -> None:
        self._modules = modules
        self._evaluator = evaluator
        self._uses = uses

    def exact(self, key: str) -> Iterator[Use]:
        """Yields where a key stands as it is: a literal, a keyword, a field of a class."""
        word = re.escape(key)
        pattern = rf"{_QUOTE}{word}{_QUOTE}"
        if key.isidentifier():
            pattern += rf"|\b{word}\s*(?:=(?!=)|:)"
        for scope, statement in self._statements(re.compile(pattern), key):
            for node in n.own_nodes(statement):
                spelled = isinstance(node, n.Const) and node.value == key
                if spelled or (isinstance(node, n.Arg) and node.keyword == key):
                    yield Use(node, scope, statement)

    def fields(self, key: str) -> Iterator[Use]:
        """Yields where a class annotates a field of the key's name."""
        if not key.isidentifier():
            return
        pattern = re.compile(rf"{beginning(key)}\s*:")
        for scope, statement in self._statements(pattern, key):
            if isinstance(scope, Class) and isinstance(statement, n.Assign):
                target = statement.targets[0]
                if statement.annotation and isinstance(target, n.Name) and target.id == key:
                    yield Use(target, scope, statement)

    def built(self, key: str) -> Iterator[Use]:
        """Yields the expressions that may build a key out of pieces."""
        cuts = [at for at, char in enumerate(key) if char in _SEPARATORS and 0 < at < len(key) - 1]
        words = [rf"{_QUOTE}{re.escape(key[: at + 1])}" for at in cuts]
        words += [rf"{re.escape(key[at:])}{_QUOTE}" for at in cuts]
        if any(self._is_spelled(key[:at]) and self._is_spelled(key[at + 1 :]) for at in cuts):
            words += [rf"\}}{re.escape(char)}\{{" for char in {key[at] for at in cuts}]
        if not words:
            return
        for scope, statement in self._statements(re.compile("|".join(words)), ""):
            for node in n.own_nodes(statement):
                if isinstance(node, n.Expr) and _is_built(node, self._uses.parent(node, statement)):
                    value = self._evaluator.of(node, scope, statement)
                    if fits(value, key) and any(t.strip(HOLE) for t in value.templates):
                        yield Use(node, scope, statement)

    def _is_spelled(self, piece: str) -> bool:
        return bool(
            self._modules.mentioning(f'"{piece}"') or self._modules.mentioning(f"'{piece}'")
        )

    def _statements(self, pattern: re.Pattern[str], word: str) -> Iterator[tuple[Scope, n.Stmt]]:
        for module, unit in self._units(pattern, word):
            yield from self._uses.statements(module, unit)

    def _units(self, pattern: re.Pattern[str], word: str) -> Iterator[tuple[Module, Unit]]:
        for module in self._modules.mentioning(word) if word else self._modules:
            if module.facts.search(pattern):
                for unit in module.facts.all_units():
                    if unit.has(word) and unit.search(pattern):
                        yield module, unit


def _is_built(node: n.Node, parent: n.Node) -> bool:
    """Whether an expression builds a string, and is no part of another that does."""
    if isinstance(node, n.FString):
        return not isinstance(parent, n.FString)
    if isinstance(node, n.Binary):
        return node.op in {"+", "%"} and not isinstance(parent, n.Binary)
    if isinstance(node, n.Call) and isinstance(node.func, n.Attribute):
        return node.func.attr in {"format", "join", "replace"}
    return False
