"""Drift of spans in code: names, groups, helpers, attributes, categories."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

from tests.mutation.mutants import Mutant, in_source, mutator
from tests.mutation.sites import Site, sites
from tests.mutation.spellings import spelled
from tests.mutation.tree import Change, Row, Source, Tree, last, text_of, words


def drifted(segment: str) -> str:
    """Returns a literal with another last word."""
    return f"{segment[:-1]}_drifted{segment[-1]}"


def documented(tree: Tree, tail: str) -> list[Row]:
    """Returns the rows of span tables for a name that ends so."""
    tail = tail.replace("/", ".").strip(".")
    end = re.compile(rf"(^|\.){re.escape(tail)}$")
    return [
        row
        for row in tree.rows
        if tail
        and row.cell("span", "span name")
        and any(
            end.search(name) for name in re.findall(r"`([^`]+)`", row.cell("span", "span name"))
        )
    ]


@mutator
def names(tree: Tree) -> Iterator[Mutant]:
    """A span is renamed, and no document follows."""
    for site in sites(tree):
        if not site.tail or not documented(tree, site.tail):
            continue
        assert site.name is not None
        text = drifted(site.source.segment(site.name))
        for way in spelled(site.source, site.name, text, site.call, site.helper.params):
            yield in_source(
                "SET", f"span renamed, {way.how}", "101 102 601", site.source, site.line,
                way.changes, detail=f"{site.helper.name}: {text}", more=way.more,
            )  # fmt: skip


@mutator
def removed(tree: Tree) -> Iterator[Mutant]:
    """A span is no longer opened; its row stays."""
    count = Counter(_identity(site) for site in sites(tree))
    for site in sites(tree):
        if not documented(tree, site.tail) or count[_identity(site)] > 1:
            continue
        change = _without(site)
        if change is not None:
            yield in_source(
                "SET", "span removed", "102 602", site.source, site.line, [change],
                detail=f"{site.helper.name} {site.tail}",
            )  # fmt: skip


def _identity(site: Site) -> str:
    return site.tail.replace("/", ".").rpartition(".")[2]


def _without(site: Site) -> tuple[int, int, str] | None:
    source = site.source
    if site.item is not None:
        _, item = site.item
        return None if item.optional_vars else source.replace(site.call, "open(__file__)")
    parent = source.parents.get(site.call)
    if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
        start, end = (
            source.line_start(site.call.lineno),
            source.line_start(site.call.end_lineno + 1),
        )  # type: ignore[operator]
        return (start, end, "")
    return None


def _classes(tree: Tree) -> dict[str, tuple[dict[str, str], frozenset[str]]]:
    return {c.name: (dict(c.values), c.umbrellas) for c in tree.vocabulary.group_classes}


def _member(tree: Tree, node: ast.expr | None) -> tuple[str, str, str] | None:
    """Returns class text, member and group of ``Class.MEMBER``."""
    if not isinstance(node, ast.Attribute):
        return None
    values, _ = _classes(tree).get(last(node.value), ({}, frozenset()))
    return (words(node.value), node.attr, values[node.attr]) if node.attr in values else None


def _others(tree: Tree, owner: str, group: str, *, umbrella: bool) -> Iterator[str]:
    """Yields two members of another group: leaves, or umbrellas by their alias."""
    values, umbrellas = _classes(tree)[owner.rpartition(".")[2]]
    prefix = tree.vocabulary.alias_prefix
    found = [
        name
        for name, value in sorted(values.items())
        if value != group
        and (value in umbrellas) == umbrella
        and value != tree.vocabulary.efficiency_group
        and (not prefix or name.startswith(prefix) == umbrella)
    ]
    yield from found[:1]
    yield from found[-1:]


@mutator
def groups(tree: Tree) -> Iterator[Mutant]:
    """A span is opened under another group than its row says."""
    for site in sites(tree):
        member = _member(tree, site.group)
        if member is None or site.group is None:
            continue
        owner, _, group = member
        if not any(f"`{group}`" in row.cell("group") for row in documented(tree, site.tail)):
            continue
        umbrella = group in _classes(tree)[owner.rpartition(".")[2]][1]
        for target, kind, codes in (
            (umbrella, "SET", "104 205"),
            (not umbrella, "CARD" if umbrella else "PAIR", "104 401 402"),
        ):
            for other in _others(tree, owner, group, umbrella=target):
                text = f"{owner}.{other}"
                for way in spelled(site.source, site.group, text, site.call, site.helper.params):
                    yield in_source(
                        kind, f"group changed to {'umbrella' if target else 'leaf'}, {way.how}",
                        codes, site.source, site.line, way.changes,
                        detail=f"{site.helper.name}: {member[1]} -> {other}", more=way.more,
                    )  # fmt: skip


@mutator
def helpers(tree: Tree) -> Iterator[Mutant]:
    """The helper of the other kind; an umbrella without its alias."""
    prefix = tree.vocabulary.alias_prefix
    for site in sites(tree):
        member = _member(tree, site.group)
        if member is None or site.group is None:
            continue
        owner, name, _ = member
        if prefix and name.startswith(prefix):
            text = f"{owner}.{name[len(prefix) :]}"
            for way in spelled(site.source, site.group, text, site.call, site.helper.params):
                if way.how in {"direct", "keyword", "alias", "wrapper"}:
                    yield in_source(
                        "PAIR", f"umbrella without alias, {way.how}", "403", site.source,
                        site.line, way.changes, more=way.more,
                    )  # fmt: skip
        remedy = site.helper.remedy
        brought = tree.importing(site.source, remedy) if remedy.isidentifier() else None
        if brought is not None and isinstance(site.call.func, ast.Name):
            swap = [site.source.replace(site.call.func, remedy), *brought]
            yield in_source(
                "PAIR", "helper of the other kind", "401 402", site.source, site.line, swap,
                detail=f"{site.helper.name} -> {remedy}",
            )  # fmt: skip


def _algorithms(tree: Tree) -> list[str]:
    known = ("grpo", "ppo", "sft", "dpo", "distillation")
    words_used = {text_of(n) for source in tree.users for n in source.nodes}
    return [name for name in known if name in words_used]


@mutator
def algorithms(tree: Tree) -> Iterator[Mutant]:
    """One algorithm's name in code that several run.

    Spans of a run or a step are left as they are: that an algorithm opens one is how it is known.
    """
    if len(_algorithms(tree)) < 2:
        return
    runs = {site.name for site in sites(tree) if _opens_run(tree, site)}
    for source in tree.users:
        for node in source.nodes:
            if not isinstance(node, ast.JoinedStr) or len(node.values) < 2 or node in runs:
                continue
            head, value = text_of(node.values[0]), node.values[1]
            if head in tree.config.namespace and isinstance(value, ast.FormattedValue):
                text = source.segment(node)
                start = text.index("{")
                end = text.index("}", start)
                for name in _algorithms(tree):
                    new = text[:start] + name + text[end + 1 :]
                    new = new if "{" in new else new.lstrip("f")
                    for way in spelled(source, node, new):
                        if way.how != "conditional":
                            yield in_source(
                                "SET", f"algorithm hard-coded, {way.how}", "107 102", source,
                                node.lineno, way.changes, detail=new, more=way.more,
                            )  # fmt: skip


def _opens_run(tree: Tree, site: Site) -> bool:
    member = _member(tree, site.group)
    return member is not None and member[2] in tree.vocabulary.lifecycle.run_groups


@mutator
def attributes(tree: Tree) -> Iterator[Mutant]:
    """A span attribute is renamed in code."""
    rows = {
        name
        for row in tree.rows
        for name in re.findall(r"`([^`]+)`", row.cell("span attribute", "attribute", "tag"))
    }
    for source, key in attribute_keys(tree):
        if text_of(key) in rows:
            text = drifted(source.segment(key))
            for way in spelled(source, key, text):
                yield in_source(
                    "SET", f"attribute renamed, {way.how}", "701 702", source,
                    key.lineno, way.changes, detail=text, more=way.more,
                )  # fmt: skip
            held = _held(source, key, text)
            if held is not None:
                yield in_source(
                    "SET", "attribute renamed, mapping in a variable", "701 702", source,
                    key.lineno, held, detail=text,
                )  # fmt: skip


def _held(source: Source, key: ast.expr, text: str) -> list[Change] | None:
    """The mapping around a key, renamed, in a variable of its own."""
    mapping, statement = source.parents[key], source.statement(key)
    if source.function(key) is None or not isinstance(statement, (ast.With, ast.Expr)):
        return None
    planted = source.segment(mapping).replace(source.segment(key), text, 1)
    flat = " ".join(planted.split())
    return [source.before(statement, f"spelled = {flat}"), source.replace(mapping, "spelled")]


@mutator
def retyped(tree: Tree) -> Iterator[Mutant]:
    """The constant of an attribute's key is typed again; with the rule that is off by default."""
    if not tree.config.selects("RLT703", default=False):
        return
    for source, key in attribute_keys(tree):
        dotted = source.imports.get(words(key), "")
        value = tree.vocabulary.constant(dotted) if dotted else None
        if value is not None:
            for way in spelled(source, key, f'"{value}"'):
                if way.how == "direct":
                    yield in_source(
                        "DUP", "constant retyped", "703", source, key.lineno, way.changes,
                        detail=value,
                    )  # fmt: skip


@mutator
def unlike_timers(tree: Tree) -> Iterator[Mutant]:
    """A timer is not called like the span beside it; with the rule that is off by default."""
    if not tree.config.selects("RLT604", default=False):
        return
    for site in sites(tree):
        for item in site.item[0].items if site.item is not None else []:
            timer = item.context_expr
            is_timer = isinstance(timer, ast.Call) and isinstance(timer.func, ast.Attribute)
            if not is_timer or last(timer) not in tree.vocabulary.categories.timers:
                continue
            label = timer.args[0] if isinstance(timer, ast.Call) and timer.args else None
            if label is None or text_of(label) != site.tail.rpartition(".")[2]:
                continue
            for way in spelled(site.source, label, drifted(site.source.segment(label))):
                yield in_source(
                    "SET", f"timer renamed beside its span, {way.how}", "604", site.source,
                    site.line, way.changes, more=way.more,
                )  # fmt: skip


def attribute_keys(tree: Tree) -> Iterator[tuple[Source, ast.expr]]:
    """Yields the keys of attributes that code sets on spans."""
    for source in tree.users:
        for node in source.nodes:
            for key in _attribute_keys(tree, source, node):
                yield source, key


def _attribute_keys(tree: Tree, source: Source, node: ast.AST) -> Iterator[ast.expr]:
    if not isinstance(node, ast.Call):
        return
    known = tree.vocabulary.attributes
    names = {h.name for h in tree.vocabulary.helpers} | {c.name for c in known.setters}
    if last(node) in known.set_one and node.args:
        yield node.args[0]
    if last(node) in names | set(known.set_many):
        holders = [*node.args, *(k.value for k in node.keywords if k.arg is None)]
        for holder in holders:
            if isinstance(holder, ast.Dict):
                yield from (key for key in holder.keys if key is not None)
