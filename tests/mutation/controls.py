"""Changes of spelling that change nothing: no finding may come of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.mutation.mutants import Mutant, in_line, in_source, mutator
from tests.mutation.sites import sites
from tests.mutation.spellings import spelled
from tests.mutation.tree import Tree, text_of

KIND = "CONTROL"


@mutator
def respelled(tree: Tree) -> Iterator[Mutant]:
    """Names and groups of spans in every spelling."""
    for site in sites(tree):
        for what, node in (("name", site.name), ("group", site.group)):
            if node is None or not isinstance(node, (ast.Constant, ast.JoinedStr, ast.Attribute)):
                continue
            text = site.source.segment(node)
            for way in spelled(site.source, node, text, site.call, site.helper.params):
                if way.how != "direct":
                    yield in_source(
                        KIND,
                        f"{what} as {way.how}",
                        "",
                        site.source,
                        site.line,
                        way.changes,
                        more=way.more,
                    )


@mutator
def keys(tree: Tree) -> Iterator[Mutant]:
    """Keys of mappings in every spelling."""
    for source in tree.users:
        for node in source.nodes:
            for key in node.keys if isinstance(node, ast.Dict) else []:
                if key is not None and text_of(key) is not None:
                    for way in spelled(source, key, source.segment(key)):
                        if way.how != "direct":
                            # A constant makes other places that type the key retyped ones.
                            codes = "703" if way.how in {"constant", "other module"} else ""
                            yield in_source(
                                KIND,
                                f"key as {way.how}",
                                codes,
                                source,
                                key.lineno,
                                way.changes,
                                more=way.more,
                            )


@mutator
def keywords(tree: Tree) -> Iterator[Mutant]:
    """Keyword arguments in another order."""
    for source in tree.users:
        for node in source.nodes:
            if isinstance(node, ast.Call) and len(node.keywords) > 1:
                if all(keyword.arg for keyword in node.keywords):
                    parts = [source.segment(k) for k in reversed(node.keywords)]
                    changes = [
                        source.replace(k, text)
                        for k, text in zip(node.keywords, parts, strict=True)
                    ]
                    yield in_source(KIND, "keywords reordered", "", source, node.lineno, changes)


@mutator
def layout(tree: Tree) -> Iterator[Mutant]:
    """Files as another formatter would write them; comments; wider tables."""
    for source in tree.users:
        if not any("# noqa" in line or "rltel" in line for line in source.text.splitlines()):
            plain = f"{ast.unparse(source.tree)}\n"

            def texts(path: str = source.path, plain: str = plain) -> dict[str, str]:
                return {path: plain}

            if plain != source.text:
                yield Mutant(KIND, "reformatted", frozenset(), f"{source.path}:1", "all", texts)
        for node in source.nodes:
            if isinstance(node, (ast.With, ast.AsyncWith, ast.FunctionDef, ast.AsyncFunctionDef)):
                note = source.before(node.body[0], "# What follows is as it was.")
                if node.body[0].lineno > node.lineno:
                    yield in_source(KIND, "comment added", "", source, node.lineno, [note])
    for document in tree.documents:
        for row in document.rows[::3]:
            line = document.lines[row.line - 1]
            padded = line.replace(" | ", "   |  ")
            if padded != line:
                yield in_line(KIND, "row padded", "", document, row.line, padded)
        if document.lines:
            said = f"{document.lines[-1]}\nNothing else is said here.\n"
            yield in_line(KIND, "sentence added", "", document, len(document.lines), said)
