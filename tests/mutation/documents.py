"""Drift of documents: rows, cells, examples, citations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from tests.mutation.code_metrics import series
from tests.mutation.code_spans import attribute_keys, documented
from tests.mutation.mutants import Mutant, in_line, in_row, mutator
from tests.mutation.sites import sites
from tests.mutation.tree import Document, Row, Tree, text_of

_TICKED = re.compile(r"`([^`|]+)`")
_NOT_YET = r"\b(reserved|planned|retired|removed)\b"
_PLACEHOLDER = re.compile(r"[<{*].*")


def _ticked(cell: str) -> list[str]:
    return _TICKED.findall(cell)


def _own(tree: Tree, name: str) -> bool:
    return name.startswith(tree.config.namespace) and not re.search(r"[>}*]$", name)


@mutator
def rows(tree: Tree) -> Iterator[Mutant]:
    """The first name in a row is misspelled."""
    columns = (
        ("span row renamed", "102 101", ("span", "span name")),
        ("attribute row renamed", "702 701", ("span attribute", "attribute", "tag")),
        ("metric row renamed", "504 503", ("metric",)),
        ("environment row renamed", "903", ("environment variable", "variable", "env var")),
        ("category row renamed", "601 602 603", ("category",)),
    )
    for row in tree.rows:
        if not row.cells:
            continue
        header, cell = row.cells[0]
        for what, codes, headers in columns:
            if header.rstrip("s") not in headers and header not in headers:
                continue
            kind = "DOCREF" if "903" in codes else "SET"
            for name in _ticked(cell)[:1]:
                is_known = _own(tree, name)
                if kind == "DOCREF":
                    is_known = name in tree.vocabulary.environment
                elif "601" in codes:
                    is_known = name.startswith(tree.vocabulary.categories.families)
                if is_known:
                    new = f"{name}_DRIFTED" if name.isupper() else f"{name}_drifted"
                    yield in_row(kind, what, codes, tree, row, f"`{name}`", f"`{new}`")


@mutator
def cells(tree: Tree) -> Iterator[Mutant]:
    """Group and bucket of a span's row, of a group's row, of a preset's row."""
    values = {v for c in tree.vocabulary.group_classes for v in c.values.values()}
    buckets = {b for c in tree.vocabulary.group_classes for b in c.buckets.values()}
    for row in tree.rows:
        groups = [g for g in _ticked(row.cell("group", "groups")) if g in values]
        header = row.cells[0][0].rstrip("s")
        first = _ticked(row.cells[0][1])
        if header == "span" and len(groups) == 1:
            for other in sorted(values - set(groups))[:2]:
                yield in_row(
                    "SET",
                    "group cell changed",
                    "104 204",
                    tree,
                    row,
                    f"`{groups[0]}`",
                    f"`{other}`",
                )
        if header == "preset" and len(groups) > 1:
            for group in groups:
                yield in_row(
                    "SET", "group dropped from a preset's row", "203 206", tree, row,
                    f"`{group}`, " if group != groups[-1] else f", `{group}`", "",
                )  # fmt: skip
        is_kept = not any(re.search(_NOT_YET, text.lower()) for _, text in row.cells)
        if header == "group" and first and first[0] in values and is_kept:
            yield in_row(
                "SET",
                "group row renamed",
                "204",
                tree,
                row,
                f"`{first[0]}`",
                f"`{first[0]}_drifted`",
            )
        yield from _bucket(tree, row, header, buckets)


def _bucket(tree: Tree, row: Row, header: str, buckets: set[str]) -> Iterator[Mutant]:
    bucket = row.cell("bucket")
    if header in {"span", "group"} and bucket in buckets:
        # Overhead is also what a scope makes of any group, so that a row may say so.
        for other in sorted({"idle", "productive"} - {bucket}):
            name = f"bucket of a {header}'s row changed"
            yield in_row("SET", name, "205", tree, row, f"| {bucket} |", f"| {other} |")
    if header == "category" and bucket in {"idle", "wasted", *buckets}:
        for other in sorted({"idle", "overhead", "productive"} - {bucket}):
            name = "bucket of a category's row changed"
            yield in_row("SET", name, "205", tree, row, f"| {bucket} |", f"| {other} |")


@mutator
def logger_keys(tree: Tree) -> Iterator[Mutant]:
    """The logger key in a metric's row is misspelled."""
    library = tree.vocabulary.metrics.library
    declared = set(library.values()) | {
        text for *_, name in series(tree) if (text := text_of(name))
    }
    for row in tree.rows:
        keys = _ticked(row.cell("logger key"))
        if keys and declared & set(_ticked(row.cell("metric"))):
            yield in_row(
                "SET", "logger key cell misspelled", "504", tree, row, f"`{keys[0]}`",
                f"`{keys[0]}_drifted`",
            )  # fmt: skip


def _listed(tree: Tree) -> Counter[str]:
    """How often a name is listed in rows, first or under spans, and in drawn trees."""
    cells = [
        text
        for row in tree.rows
        for place, (header, text) in enumerate(row.cells)
        if place == 0 or (re.search(r"\bspans?\b", header) and "parent" not in header)
    ]
    drawn = [
        line.split()[-1]
        for document in tree.documents
        for number, line in enumerate(document.lines, 1)
        if document.fenced.get(number) == "text" and line.strip()
    ]
    return Counter(name for text in cells for name in _ticked(text)) + Counter(drawn)


@mutator
def removed_rows(tree: Tree) -> Iterator[Mutant]:
    """A row is gone, and the code still has what it was about."""
    count = _listed(tree)
    spans = {id(found[0]) for site in sites(tree) if len(found := documented(tree, site.tail)) == 1}
    metrics = {text for *_, name in series(tree) if (text := text_of(name))}
    keys = {text_of(key) for *_, key in attribute_keys(tree)}
    for row in tree.rows:
        names = _ticked(row.cells[0][1]) if row.cells else []
        if len(names) != 1 or count[names[0]] > 1:
            continue
        for what, codes, is_lost in (
            ("span", "101", id(row) in spans and row.cells[0][0].rstrip("s") == "span"),
            ("metric", "503", names[0] in metrics),
            ("attribute", "701", names[0] in keys),
        ):
            if is_lost:
                document = next(d for d in tree.documents if d.path == row.path)
                yield in_line("SET", f"{what} row removed", codes, document, row.line, "")


@mutator
def parents(tree: Tree) -> Iterator[Mutant]:
    """The parent that a span's row names is misspelled."""
    for row in tree.rows:
        for name in _ticked(row.cell("parent", "parent span"))[:1]:
            if _own(tree, name):
                yield in_row(
                    "SET", "parent cell misspelled", "102", tree, row, f"`{name}`",
                    f"`{name}_drifted`",
                )  # fmt: skip


@mutator
def mentions(tree: Tree) -> Iterator[Mutant]:
    """A span is misspelled in a tree drawn in a section on spans; prose claims nothing."""
    known = {
        name
        for row in tree.rows
        for name in _ticked(row.cell("span", "span name"))
        if _own(tree, name)
    }
    for document in tree.documents:
        for number, line in enumerate(document.lines, 1):
            if document.fenced.get(number) != "text" or "span" not in document.headings[number]:
                continue
            for name in sorted(known):
                if f" {name}\n" in line:
                    text = line.replace(f" {name}\n", f" {name}_drifted\n")
                    yield in_line("SET", "span misspelled in a tree", "102", document, number, text)


@mutator
def reserved(tree: Tree) -> Iterator[Mutant]:
    """A document says that an emitted span is reserved, and none lists it as active."""
    listed = _listed(tree)
    for row in tree.rows:
        if row.cells[0][0].rstrip("s") == "span" and len(row.cells) > 2:
            names = _ticked(row.cells[0][1])
            last = row.cells[-1][1]
            if names and _own(tree, names[0]) and last and listed[names[0]] == 1:
                yield in_row(
                    "DOCREF",
                    "span called reserved",
                    "103",
                    tree,
                    row,
                    f"| {last} |",
                    "| reserved |",
                )


@mutator
def examples(tree: Tree) -> Iterator[Mutant]:
    """A fenced example that disagrees with the code."""
    members = {n for c in tree.vocabulary.group_classes for n in c.values}
    tops = {source.path.partition("/")[0] for source in tree.sources}
    leaves = sorted(n for n in members if f"U_{n}" not in members and not n.startswith("U_"))
    for document in tree.documents:
        for number, line in enumerate(document.lines, 1):
            if document.fenced.get(number) not in {"python", "py"}:
                continue
            for match in re.finditer(r"\b(\w*SpanGroup)\.(\w+)", line):
                others = [n for n in leaves if n != match[2]] if match[2] in leaves else ["U_JOB"]
                others = [n for n in others if n != match[2]][:1]
                for other in [*others, "DRIFTED"]:
                    text = line.replace(match[0], f"{match[1]}.{other}", 1)
                    yield in_line(
                        "DOCREF",
                        "group of an example changed",
                        "901 902 104 401 402",
                        document,
                        number,
                        text,
                    )
            for match in re.finditer(r"from (\w[\w.]*) import (\w+)", line):
                if match[1].partition(".")[0] not in tops:
                    continue
                text = line.replace(match[0], f"from {match[1]} import {match[2]}_drifted", 1)
                yield in_line(
                    "DOCREF", "import of an example misspelled", "901 902", document, number, text
                )


@mutator
def citations(tree: Tree) -> Iterator[Mutant]:
    """A cited file or symbol does not exist."""
    paths = set(tree.texts)
    tops = {source.path.partition("/")[0].removesuffix(".py") for source in tree.sources}
    for document in tree.documents:
        for number, line in enumerate(document.lines, 1):
            if number in document.fenced:
                continue
            for name in _ticked(line):
                if name in paths:
                    new = re.sub(r"(\w+)(\.\w+)$", r"\1_drifted\2", name)
                    yield _cited(document, number, line, name, new, "file")
                elif re.fullmatch(r"\w+(\.\w+)+", name) and name.partition(".")[0] in tops:
                    yield _cited(document, number, line, name, f"{name}_drifted", "symbol")


def _cited(d: Document, number: int, line: str, old: str, new: str, what: str) -> Mutant:
    text = line.replace(f"`{old}`", f"`{new}`", 1)
    return in_line("DOCREF", f"cited {what} misspelled", "902 101 102 903", d, number, text)
