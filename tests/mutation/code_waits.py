"""Drift of what a span is around: waits that hold work, spans in spans, loops that poll."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.mutation.mutants import Mutant, in_text, mutator
from tests.mutation.planted import in_every_spelling
from tests.mutation.sites import Helper, Site, bucketed_groups, group_of, helper_of, sites
from tests.mutation.tree import Change, Source, Tree, last, text_of


@mutator
def inside_a_span(tree: Tree) -> Iterator[Mutant]:
    """A bucketed span gets into a wait or another bucketed span: the block, or a call of it."""
    openers: dict[str, list[Site]] = {}
    for site in sites(tree):
        function = site.source.function(site.call)
        if _is_bucketed(tree, site) and function is not None and site.item is not None:
            openers.setdefault(function.name, []).append(site)
            yield from _around(tree, site.source, site.item[0], "bucketed span")
    defined = _definitions(tree)
    for source in tree.users:
        for node in source.nodes:
            statement = _plain_statement(source, node)
            if statement is None or not source.function(node):
                continue
            name = last(node)
            opened = openers.get(name) if defined.get(name) == 1 else None
            if opened and _at_once(opened[0], node, source):
                yield from _around(tree, source, statement, "call with a bucketed span")


def _plain_statement(source: Source, node: ast.AST) -> ast.stmt | None:
    """The statement that is nothing but this call, awaited perhaps."""
    statement = source.parents.get(node)
    if isinstance(statement, ast.Await):
        statement = source.parents.get(statement)
    is_plain = isinstance(statement, (ast.Expr, ast.Assign, ast.Return))
    return statement if isinstance(node, ast.Call) and is_plain else None  # type: ignore[return-value]


def _at_once(opener: Site, call: ast.AST, source: Source) -> bool:
    """Whether the called body runs there: a coroutine is awaited."""
    is_async = isinstance(opener.source.function(opener.call), ast.AsyncFunctionDef)
    return isinstance(source.parents.get(call), ast.Await) == is_async


def _around(tree: Tree, source: Source, block: ast.stmt, what: str) -> Iterator[Mutant]:
    """Puts a statement into a wait, and into a bucketed span."""
    wait, category = _wait(tree), _category(tree)
    if wait is not None and category:
        yield from _wrapped(tree, source, block, wait, f'"{category}"', f"{what} in a wait")
    yield from _in_bucket(tree, source, block, f"{what} in another", "NEST", "404")


def _in_bucket(
    tree: Tree, source: Source, block: ast.stmt, name: str, kind: str, codes: str
) -> Iterator[Mutant]:
    """Puts a statement into a bucketed span."""
    leaf = helper_of(tree, "leaf", "context")
    owner = tree.vocabulary.group_classes[0]
    bucketed = next((k for k, v in owner.values.items() if tree.vocabulary.bucket_of(v)), "")
    if leaf is not None and bucketed:
        given = f'{owner.name}.{bucketed}, "rl.spelled.outer"'
        yield from _wrapped(
            tree, source, block, leaf, given, name, owner.name, kind=kind, codes=codes
        )


def _wrapped(
    tree: Tree,
    source: Source,
    block: ast.stmt,
    helper: Helper,
    given: str,
    name: str,
    *needed: str,
    kind: str = "NEST",
    codes: str = "404",
) -> Iterator[Mutant]:
    changes = [source.wrapped(block, f"with {helper.name}({given}):")]
    for word in (helper.name, *needed):
        brought = tree.importing(source, word)
        if brought is None:
            return
        changes += brought
    for way in in_every_spelling(source, changes, source.lines(block)[0], helper):
        yield in_text(
            kind, f"{name}, {way.how}", codes, source, block.lineno, way.text, more=way.more
        )


@mutator
def many_at_once(tree: Tree) -> Iterator[Mutant]:
    """What runs once per prompt, many at once, gets a bucketed span."""
    defined = _definitions(tree)
    names = {name for source in tree.users for node in source.nodes for name in _gathered(node)}
    for source in tree.users:
        for function in source.nodes:
            if not isinstance(function, ast.AsyncFunctionDef) or function.name not in names:
                continue
            for node in ast.walk(function) if defined[function.name] == 1 else ():
                statement = _plain_statement(source, node)
                if statement is not None and isinstance(source.parents.get(node), ast.Await):
                    yield from _in_bucket(
                        tree, source, statement, "bucketed span many at once", "CARD", "413"
                    )


def _gathered(node: ast.AST) -> Iterator[str]:
    """The functions that ``gather(*(f(x) for x in xs))`` runs."""
    if isinstance(node, ast.Call) and last(node) == "gather":
        for arg in node.args:
            value = arg.value if isinstance(arg, ast.Starred) else None
            if isinstance(value, (ast.GeneratorExp, ast.ListComp)):
                yield last(value.elt)


@mutator
def wider_waits(tree: Tree) -> Iterator[Mutant]:
    """A wait goes on around the work that comes behind it or stands before it."""
    openers = {
        function.name
        for site in sites(tree)
        if _is_bucketed(tree, site) and (function := site.source.function(site.call)) is not None
    }
    for site in sites(tree):
        if site.helper.kind != "efficiency" or site.item is None or not _is_in_bucket(tree, site):
            continue
        source, block = site.source, site.item[0]
        siblings = _siblings(source, block)
        place = siblings.index(block)
        if place + 1 < len(siblings) and _works(tree, source, siblings[place + 1], openers):
            start, end = source.lines(siblings[place + 1])
            yield in_text(
                "NEST", "wait goes on around work", "404", source, block.lineno,
                source.edit((start, end, source.indented(siblings[place + 1]))),
            )  # fmt: skip
        if place and _works(tree, source, siblings[place - 1], openers):
            start, end = source.lines(siblings[place - 1])
            body = source.line_start(block.body[0].lineno)
            moved = (body, body, source.indented(siblings[place - 1]))
            yield in_text(
                "NEST", "wait begins before work", "404", source, block.lineno,
                source.edit((start, end, ""), moved),
            )  # fmt: skip


def _works(tree: Tree, source: Source, statement: ast.stmt, openers: set[str]) -> bool:
    """Whether a statement certainly opens a bucketed span."""
    if isinstance(statement, (ast.Return, ast.FunctionDef)):
        return False
    inside = set(ast.walk(statement))
    if any(s.source is source and s.call in inside and _is_bucketed(tree, s) for s in sites(tree)):
        return True
    defined = _definitions(tree)
    return any(
        isinstance(node, ast.Call)
        and last(node) in openers
        and defined.get(last(node)) == 1
        and _plain_statement(source, node) is statement
        for node in inside
    )


@mutator
def in_loops(tree: Tree) -> Iterator[Mutant]:
    """A wait is opened on every pass of a loop that polls."""
    for site in sites(tree):
        if site.helper.kind != "efficiency":
            continue
        source = site.source
        if site.helper.use == "start":
            text = _started_in_loop(source, site)
            if text is not None:
                yield in_text("LOOP", "start moved into the loop", "410", source, site.line, text)
        if site.item is None or len(site.item[0].items) > 2:
            continue
        block = site.item[0]
        yield from _moved(source, site, block)
        yield from _polling(source, site, block)


def _moved(source: Source, site: Site, block: ast.With | ast.AsyncWith) -> Iterator[Mutant]:
    """The loop in a wait becomes a loop around it."""
    loop = block.body[0]
    if len(block.body) > 1 or not isinstance(loop, ast.While) or loop.orelse:
        return
    head = source.between(block.lineno, loop.lineno)
    test = source.between(loop.lineno, loop.body[0].lineno)
    start, end = source.line_start(block.lineno), source.line_start(loop.body[0].lineno)
    change = (start, end, source.shifted(test, -4) + source.shifted(head, 4))
    for way in in_every_spelling(source, [change], start, site.helper):
        yield in_text(
            "LOOP", f"wait moved into its loop, {way.how}", "410", source, block.lineno, way.text,
            more=way.more,
        )  # fmt: skip


def _polling(source: Source, site: Site, block: ast.With | ast.AsyncWith) -> Iterator[Mutant]:
    """A loop that asks somebody is put around a wait, in several forms."""
    leaving = (ast.Return, ast.Yield, ast.Break, ast.Continue)
    if any(isinstance(node, leaving) for node in ast.walk(block)):
        return
    indent = " " * block.col_offset
    start, end = source.lines(block)
    asked = f"{indent}    if spelled_event.is_set():\n{indent}        break\n"
    moved = source.indented(block)
    event = source.at_top("import threading\n\nspelled_event = threading.Event()")
    forms = {
        "a test": f"{indent}while not spelled_event.is_set():\n{moved}",
        "a break": f"{indent}while True:\n{asked}{moved}",
        "a break behind it": f"{indent}while True:\n{moved}{asked}",
        "a continue": (
            f"{indent}while True:\n{moved}{indent}        if not spelled_event.is_set():\n"
            f"{indent}            continue\n{indent}    print(spelled_event)\n{indent}    break\n"
        ),
    }
    for how, text in forms.items():
        changes: list[Change] = [(start, end, text), event]
        for way in in_every_spelling(source, changes, start, site.helper):
            if how == "a test" or way.how == "direct":
                yield in_text(
                    "LOOP", f"wait in a loop with {how}, {way.how}", "410", source, block.lineno,
                    way.text, more=way.more,
                )  # fmt: skip


def _started_in_loop(source: Source, site: Site) -> str | None:
    """``span = start(); try: while ...`` becomes ``while ...: span = start(); try: ...``."""
    statement = source.statement(site.call)
    siblings = _siblings(source, statement)
    place = siblings.index(statement)
    guard = siblings[place + 1] if place + 1 < len(siblings) else None
    loop = guard.body[0] if isinstance(guard, ast.Try) and len(guard.body) == 1 else None
    if not isinstance(loop, ast.While) or not isinstance(guard, ast.Try) or loop.orelse:
        return None
    test = source.between(loop.lineno, loop.body[0].lineno)
    body = source.between(loop.body[0].lineno, (loop.end_lineno or 0) + 1)
    head = source.between(statement.lineno, loop.lineno)
    rest = source.between((loop.end_lineno or 0) + 1, (guard.end_lineno or 0) + 1)
    text = source.shifted(test, -4) + source.shifted(head, 4) + body + source.shifted(rest, 4)
    start, end = source.line_start(statement.lineno), source.line_start((guard.end_lineno or 0) + 1)
    return source.edit((start, end, text))


def _siblings(source: Source, statement: ast.stmt) -> list[ast.stmt]:
    """The block that a statement stands in."""
    outer = source.parents[statement]
    blocks = [getattr(outer, name, []) for name in ("body", "orelse", "finalbody")]
    return next((block for block in blocks if statement in block), [statement])


def _wait(tree: Tree) -> Helper | None:
    return helper_of(tree, "efficiency", "context")


def _category(tree: Tree) -> str:
    used = {
        text
        for site in sites(tree)
        if site.helper.kind == "efficiency" and (text := text_of(site.name))
    }
    bucketed = sorted(used - set(tree.vocabulary.unbucketed_categories))
    return bucketed[0] if bucketed else ""


def _is_in_bucket(tree: Tree, site: Site) -> bool:
    """Whether a wait is of a category that has a bucket."""
    return (text_of(site.name) or "") not in tree.vocabulary.unbucketed_categories


def _is_bucketed(tree: Tree, site: Site) -> bool:
    is_leaf = site.helper.kind in {"leaf", "either"}
    return is_leaf and group_of(tree, site.group) in bucketed_groups(tree)


def _definitions(tree: Tree) -> dict[str, int]:
    count: dict[str, int] = {}
    for source in tree.sources:
        for node in source.nodes:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                count[node.name] = count.get(node.name, 0) + 1
    return count
