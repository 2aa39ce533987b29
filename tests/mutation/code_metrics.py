"""Drift of metrics, logger keys, efficiency categories, and declared groups and buckets."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from rltel_lint.vocabulary.model import KnownCall
from tests.mutation.code_spans import drifted
from tests.mutation.mutants import Mutant, in_source, mutator
from tests.mutation.spellings import spelled
from tests.mutation.tree import Change, Source, Tree, last, text_of


def _named(calls: object) -> set[str]:
    return {call.name for call in calls}  # type: ignore[attr-defined]


def _argument(call: ast.Call, params: tuple[str, ...], name: str) -> ast.expr | None:
    index = params.index(name) if name in params else len(call.args)
    if index < len(call.args):
        return call.args[index]
    return next((k.value for k in call.keywords if k.arg == name), None)


def _params(known: object) -> tuple[str, ...]:
    params = known.params  # type: ignore[attr-defined]
    return tuple(item.name for item in params.items) if params else ()


def _known_rows(tree: Tree) -> dict[str, KnownCall]:
    rows = (*tree.vocabulary.metrics.teed, *tree.vocabulary.metrics.recorded)
    return {call.name: call for call in rows}


def series(tree: Tree) -> Iterator[tuple[Source, ast.Call, ast.expr | None, ast.expr | None]]:
    """Yields each declared series in code: the call, its logger key, its name."""
    known = _known_rows(tree)
    for source in tree.users:
        for node in source.nodes:
            if isinstance(node, ast.Call) and last(node) in known:
                params = _params(known[last(node)])
                key = _argument(node, params, params[0]) if params[0] != "name" else None
                yield source, node, key, _argument(node, params, "name")


@mutator
def declared(tree: Tree) -> Iterator[Mutant]:
    """A declared series or its logger key is renamed, or declared twice."""
    for source, call, key, name in series(tree):
        for node, what, codes in (
            (key, "logger key in the row", "501 504"),
            (name, "series", "503 504"),
        ):
            if node is None or text_of(node) is None:
                continue
            text = drifted(source.segment(node))
            for way in spelled(source, node, text, call, _params(_known_rows(tree)[last(call)])):
                if way.how == "conditional":
                    continue
                yield in_source(
                    "SET", f"{what} renamed, {way.how}", codes, source, node.lineno, way.changes,
                    detail=text, more=way.more,
                )  # fmt: skip
        holder = source.parents.get(call)
        if isinstance(holder, (ast.List, ast.Tuple)) and key is not None:
            end = source.span(call)[1]
            twice = (end, end, f", {source.segment(call)}")
            yield in_source("DUP", "series declared twice", "505", source, call.lineno, [twice])
            for node, what in ((key, "series under another key"), (name, "key for another series")):
                if node is not None and text_of(node) is not None:
                    text = source.segment(call).replace(
                        source.segment(node), drifted(source.segment(node)), 1
                    )
                    yield in_source(
                        "DUP", what, "505", source, call.lineno, [(end, end, f", {text}")]
                    )


def _declared_keys(tree: Tree) -> set[str]:
    keys = {text for *_, key, _ in series(tree) if (text := text_of(key))}
    for row in tree.rows:
        cell = row.cell("logger key").strip("`")
        if cell and "<" not in cell:
            keys.add(cell)
    return keys


@mutator
def logged(tree: Tree) -> Iterator[Mutant]:
    """A logged key is renamed where it is put into the mapping."""
    keys = _declared_keys(tree)
    found = [
        (source, key)
        for source in tree.users
        for node in source.nodes
        for key in _written(node)
        if text_of(key) in keys
    ]
    count = Counter(text_of(key) for _, key in found)
    for source, key in found:
        if count[text_of(key)] == 1:
            text = drifted(source.segment(key))
            for way in spelled(source, key, text):
                if way.how != "conditional":
                    yield in_source(
                        "SET", f"logged key renamed, {way.how}", "501 502 504", source, key.lineno,
                        way.changes, detail=text, more=way.more,
                    )  # fmt: skip


def _written(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.Dict):
        yield from (key for key in node.keys if key is not None)
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        yield node.slice


@mutator
def prefixes(tree: Tree) -> Iterator[Mutant]:
    """Metrics are logged under a prefix that is not exported."""
    known = {c.name: c for c in tree.vocabulary.metrics.loggers}
    teed = [prefix for prefix in tree.vocabulary.metrics.prefixes if prefix]
    found = [
        (source, node, prefix)
        for source in tree.users
        for node in source.nodes
        if isinstance(node, ast.Call) and last(node) in known
        for prefix in [_argument(node, _params(known[last(node)]), "prefix")]
        if prefix is not None and text_of(prefix) in teed
    ]
    count = Counter(text_of(prefix) for _, _, prefix in found)
    for source, node, prefix in found:
        if count[text_of(prefix)] > 1:
            continue  # the others may log the same keys
        params = _params(known[last(node)])
        for way in spelled(source, prefix, drifted(source.segment(prefix)), node, params):
            if way.how != "conditional":
                yield in_source(
                    "SET", f"prefix changed, {way.how}", "501 502 504", source, node.lineno,
                    way.changes, more=way.more,
                )  # fmt: skip


@mutator
def recorders(tree: Tree) -> Iterator[Mutant]:
    """A recorder is not given what it records, or records a series that nobody declared."""
    known = {r.name: r for r in tree.vocabulary.recorders}
    calls = [
        (source, node)
        for source in tree.users
        for node in source.nodes
        if isinstance(node, ast.Call) and last(node) in known
    ]
    count = Counter(last(node) for _, node in calls)
    for source, node in calls:
        fields = {p for params in known[last(node)].series.values() for p in params}
        keywords = [k for k in node.keywords if k.arg in fields]
        if not keywords:
            continue
        if count[last(node)] == 1 and len(keywords) == len(node.keywords):
            gone = source.replace(node, f"{last(node)}()")
            yield in_source("SET", "nothing recorded", "504 506", source, node.lineno, [gone])
        for keyword in keywords if count[last(node)] == 1 else []:
            metrics = [m for m, p in known[last(node)].series.items() if keyword.arg in p]
            others = {k.arg for k in keywords} - {keyword.arg}
            feeds = known[last(node)].series
            if any(f"`{m}`" in row.cell("metric") and others.isdisjoint(feeds[m])
                   for m in metrics for row in tree.rows):  # fmt: skip
                lost = source.without_argument(node, keyword.value)
                yield in_source(
                    "SET", "argument not passed", "504 506", source, node.lineno, [lost]
                )
    by_name = _named(tree.vocabulary.recorded_by_name)
    named = {text for *_, name in series(tree) if (text := text_of(name))}
    for source in tree.users:
        for node in source.nodes:
            if isinstance(node, ast.Call) and last(node) in by_name and node.args:
                keys = node.args[0].keys if isinstance(node.args[0], ast.Dict) else []
                for key in keys:
                    if key is not None and text_of(key) in named:
                        for way in spelled(source, key, drifted(source.segment(key))):
                            if way.how == "conditional":
                                continue
                            yield in_source(
                                "SET", f"recorded series renamed, {way.how}", "504 503 506",
                                source, node.lineno, way.changes, more=way.more,
                            )  # fmt: skip


@mutator
def timers(tree: Tree) -> Iterator[Mutant]:
    """An efficiency category that is measured is not a declared one."""
    known = tree.vocabulary.categories
    for source in tree.users:
        for node in source.nodes:
            if not isinstance(node, ast.Call) or not node.args or last(node) not in known.timers:
                continue
            category = text_of(node.args[0]) or ""
            if category.startswith(known.families):
                text = drifted(source.segment(node.args[0]))
                for way in spelled(source, node.args[0], text):
                    yield in_source(
                        "SET", f"timer's category renamed, {way.how}", "601", source, node.lineno,
                        way.changes, detail=text, more=way.more,
                    )  # fmt: skip


def _tables(tree: Tree, names: tuple[str, ...]) -> Iterator[tuple[Source, str, ast.expr]]:
    """Yields the values of module-level or class-level assignments to these names."""
    for source in tree.users:
        for node in source.nodes:
            targets = node.targets if isinstance(node, ast.Assign) else []
            if isinstance(node, ast.AnnAssign):
                targets = [node.target]
            value = getattr(node, "value", None)
            for target in targets:
                if getattr(target, "id", "") in names and value is not None:
                    yield source, target.id, value  # type: ignore[attr-defined]


def _elements(value: ast.expr) -> tuple[list[ast.expr], list[ast.expr]]:
    """Returns starts and ends of the elements of the first display in an expression."""
    for node in ast.walk(value):
        if isinstance(node, ast.Dict) and None not in node.keys:
            return [k for k in node.keys if k is not None], node.values
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            return node.elts, node.elts
    return [], []


def _dropped(source: Source, value: ast.expr) -> Iterator[tuple[ast.expr, Change]]:
    firsts, lasts = _elements(value)
    for index, first in enumerate(firsts):
        start, end = source.span(first)[0], source.span(lasts[index])[1]
        if index + 1 < len(firsts):
            yield first, (start, source.span(firsts[index + 1])[0], "")
        elif index:
            yield first, (source.span(lasts[index - 1])[1], end, "")


@mutator
def categories(tree: Tree) -> Iterator[Mutant]:
    """A category leaves the declared ones, joins them unmeasured, or is listed elsewhere too."""
    known = tree.vocabulary.categories
    for source, name, value in _tables(tree, (*known.lists, *known.maps)):
        for element, change in _dropped(source, value):
            if text_of(element) in known.library:
                continue
            yield in_source(
                "SET", "category dropped from its declaration", "601 603", source,
                element.lineno, [change], detail=f"{name}: {source.segment(element)}",
            )  # fmt: skip
        if name not in known.lists:
            continue
        firsts, _ = _elements(value)
        if len(firsts) > 2 and all(text_of(f) for f in firsts):
            start = source.span(firsts[0])[0]
            new = (start, start, f'"{known.families[0]}drifted", ')
            yield in_source(
                "SET", "category declared, never measured", "602 603", source, value.lineno, [new]
            )
            for user in tree.users[:3]:
                listed = ", ".join(source.segment(f) for f in firsts[1:])
                copy = user.at_top(f"WAITS_AGAIN = ({listed},)")
                yield in_source("DUP", "categories restated", "603", user, 1, [copy], detail=listed)


@mutator
def declared_groups(tree: Tree) -> Iterator[Mutant]:
    """Groups, presets and buckets as declared in code."""
    known = tree.vocabulary
    for source in tree.sources:
        for node in source.nodes:
            classes = {c.name for c in known.group_classes}
            if isinstance(node, ast.ClassDef) and (
                node.name in classes or any(last(base) in classes for base in node.bases)
            ):
                first = next((s for s in node.body if isinstance(s, ast.Assign)), None)
                if first is not None:
                    add = source.before(first, 'DRIFTED = "drifted"')
                    yield in_source(
                        "SET",
                        "group declared, never emitted",
                        "201 204 206",
                        source,
                        node.lineno,
                        [add],
                    )
    for source, name, value in _tables(tree, known.bucket_tables):
        for element, change in _dropped(source, value):
            yield in_source(
                "SET", "group dropped from the bucket table", "205", source, element.lineno,
                [change], detail=f"{name}: {source.segment(element)}",
            )  # fmt: skip
        firsts, lasts = _elements(value)
        if firsts and firsts[0] is not lasts[0]:
            start = source.span(firsts[0])[0]
            dead = (start, start, f'"drifted": {source.segment(lasts[0])}, ')
            yield in_source("SET", "bucket of a dead group", "205", source, value.lineno, [dead])
        for key, bucket in zip(firsts, lasts, strict=True):
            other = next((v for v in lasts if source.segment(v) != source.segment(bucket)), None)
            if key is not bucket and other is not None:
                yield in_source(
                    "SET", "bucket of a group changed", "205", source, key.lineno,
                    [source.replace(bucket, source.segment(other))],
                    detail=f"{source.segment(key)}: {source.segment(other)}",
                )  # fmt: skip
    yield from _presets(tree)


def _presets(tree: Tree) -> Iterator[Mutant]:
    for source, _, value in _tables(tree, tree.vocabulary.preset_attributes):
        for node in ast.walk(value):
            for part in node.values if isinstance(node, ast.Dict) else []:
                held = part
                if isinstance(part, ast.Name):
                    named = list(_tables(tree, (part.id,)))
                    if len(named) != 1 or named[0][0] is not source:
                        continue
                    held = named[0][2]
                for element, change in _dropped(source, held):
                    yield in_source(
                        "SET", "group dropped from a preset", "203 206", source, element.lineno,
                        [change], detail=source.segment(element),
                    )  # fmt: skip
