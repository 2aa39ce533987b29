"""Where a tree opens spans: calls of the vocabulary's helpers and of the tree's own ones."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from tests.mutation.tree import Source, Tree, last, text_of, words


@dataclass(frozen=True)
class Helper:
    """A way to open a span: which parameters hold group and name."""

    name: str
    params: tuple[str, ...]
    kind: str
    use: str
    group: str
    span: str
    remedy: str = ""


@dataclass(frozen=True)
class Site:
    """A call of a helper."""

    source: Source
    call: ast.Call
    helper: Helper

    def argument(self, param: str) -> ast.expr | None:
        if param and param in self.helper.params:
            index = self.helper.params.index(param)
            if index < len(self.call.args):
                return self.call.args[index]
        return next((k.value for k in self.call.keywords if k.arg == param), None)

    @property
    def group(self) -> ast.expr | None:
        return self.argument(self.helper.group)

    @property
    def name(self) -> ast.expr | None:
        return self.argument(self.helper.span)

    @property
    def tail(self) -> str:
        """The literal end of the name."""
        node = self.name
        if isinstance(node, ast.JoinedStr):
            node = node.values[-1] if node.values else None
        return text_of(node) or ""

    @property
    def line(self) -> int:
        return self.call.lineno

    @property
    def item(self) -> tuple[ast.With | ast.AsyncWith, ast.withitem] | None:
        """The ``with`` and its item that open the span."""
        item = self.source.parents.get(self.call)
        block = self.source.parents.get(item) if isinstance(item, ast.withitem) else None
        if isinstance(item, ast.withitem) and isinstance(block, (ast.With, ast.AsyncWith)):
            return block, item
        return None


@lru_cache(maxsize=4)
def sites(tree: Tree) -> tuple[Site, ...]:
    """Returns the sites of the users' files, without those inside of the tree's own helpers."""
    known = {h.name: h for h in _vocabulary_helpers(tree)}
    direct = [s for source in tree.users for s in _calls(source, known)]
    own, inner = {}, set()
    for site in direct:
        helper = _own(tree, site)
        if helper is not None or _hands_on(site):
            inner.add(site.source.function(site.call))
        if helper is not None and helper.name not in known:
            own[helper.name] = helper
    found = [*direct, *(s for source in tree.users for s in _calls(source, own))]
    return tuple(s for s in found if s.source.function(s.call) not in inner or s.item is None)


@lru_cache(maxsize=4)
def members(tree: Tree) -> dict[str, dict[str, str]]:
    """Returns the groups of each class: the vocabulary's, and the tree's that derive from them."""
    found = {c.name: dict(c.values) for c in tree.vocabulary.group_classes}
    for source in tree.users:
        for node in source.nodes:
            base = node.bases[0] if isinstance(node, ast.ClassDef) and node.bases else None
            if isinstance(node, ast.ClassDef) and last(base) in found and node.name not in found:
                own = {
                    statement.targets[0].id: value
                    for statement in node.body
                    if isinstance(statement, ast.Assign)
                    and isinstance(statement.targets[0], ast.Name)
                    and (value := text_of(statement.value)) is not None
                }
                found[node.name] = {**found[last(base)], **own}
    return found


def group_of(tree: Tree, node: ast.expr | None) -> str:
    """Returns the group that ``Class.MEMBER`` is; empty for anything else."""
    if not isinstance(node, ast.Attribute):
        return ""
    return members(tree).get(last(node.value), {}).get(node.attr, "")


@lru_cache(maxsize=4)
def bucketed_groups(tree: Tree) -> frozenset[str]:
    """Returns the groups whose spans carry a bucket, by the vocabulary and the tree's tables."""
    found = {g for c in tree.vocabulary.group_classes for g in c.buckets}
    for source in tree.users:
        for node in source.nodes:
            target = node.targets[0] if isinstance(node, ast.Assign) else None
            target = node.target if isinstance(node, ast.AnnAssign) else target
            value = getattr(node, "value", None)
            is_table = getattr(target, "id", "") in tree.vocabulary.bucket_tables
            if is_table and isinstance(value, ast.Dict):
                found |= {text_of(key) or group_of(tree, key) for key in value.keys}
    return frozenset(found - {""})


def _vocabulary_helpers(tree: Tree) -> Iterator[Helper]:
    for helper in tree.vocabulary.helpers:
        params = tuple(item.name for item in helper.params.items)
        span = re.search(r"\{(\w+)", helper.span)
        group = re.fullmatch(r"\{(\w+)\}", helper.group or "")
        if helper.modules:
            yield Helper(
                helper.name,
                params,
                helper.kind,
                helper.use,
                group[1] if group else "",
                span[1] if span else "",
                helper.remedy,
            )


def helper_of(tree: Tree, kind: str, use: str) -> Helper | None:
    """Returns the first helper of a kind: the vocabulary's, or else the tree's own."""
    known = [*_vocabulary_helpers(tree), *(site.helper for site in sites(tree))]
    return next((h for h in known if (h.kind, h.use) == (kind, use)), None)


def _calls(source: Source, known: dict[str, Helper]) -> Iterator[Site]:
    for node in source.nodes:
        if isinstance(node, ast.Call):
            name = words(node.func)
            dotted = source.imports.get(name, name)
            helper = known.get(dotted.rpartition(".")[2] or last(node))
            if helper is not None:
                yield Site(source, node, helper)


def _own(tree: Tree, site: Site) -> Helper | None:
    """A function of the tree that passes its own parameters on as group or name."""
    function = site.source.function(site.call)
    if function is None or function.name.startswith("__"):
        return None
    params = tuple(a.arg for a in function.args.args if a.arg not in {"self", "cls"})
    group = getattr(site.group, "id", "")
    names = [n.id for n in ast.walk(site.name) if isinstance(n, ast.Name)] if site.name else []
    label = next((p for p in params if p in _resolved(function, names)), "")
    efficiency = tree.vocabulary.efficiency_group
    if label and efficiency and group_of(tree, site.group) == efficiency:
        return Helper(function.name, params, "efficiency", site.helper.use, "", label)
    if group not in params:
        return None
    return Helper(function.name, params, site.helper.kind, site.helper.use, group, label)


def _hands_on(site: Site) -> bool:
    """Whether the group is a parameter of a function around, as of a decorator's maker."""
    group = getattr(site.group, "id", "")
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return any(
        isinstance(node, functions) and any(arg.arg == group for arg in node.args.args)
        for node in site.source.above(site.call)
    )


def _resolved(function: ast.AST, names: list[str]) -> set[str]:
    """Names, and those in what they were assigned from."""
    found = set(names)
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and any(
            getattr(t, "id", "") in names for t in node.targets
        ):
            found |= {n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)}
    return found
