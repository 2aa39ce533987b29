"""Which goodput bucket each span group counts in, as the project's own tables say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rltel_lint.facts import nodes as n
from rltel_lint.findings import Place
from rltel_lint.project.evaluate import Evaluator
from rltel_lint.project.model import Module, Scope
from rltel_lint.project.modules import ModuleTable
from rltel_lint.project.spans import SpanFinder
from rltel_lint.vocabulary.model import Vocabulary


@dataclass(frozen=True)
class BucketEntry:
    """One row of a bucket table.

    Attributes:
        group: The group.
        bucket: Its bucket; empty if that is not known.
        place: Where the group is written.
    """

    group: str
    bucket: str
    place: Place


@dataclass(frozen=True)
class BucketTable:
    """A mapping from group to bucket.

    Attributes:
        name: The name that holds it.
        entries: Its rows.
        complete: Whether all of its groups are known.
        place: Where it is bound.
        library: Whether it is the library's own, found in the checked tree.
    """

    name: str
    entries: tuple[BucketEntry, ...]
    complete: bool
    place: Place
    library: bool


def bucket_tables(
    vocabulary: Vocabulary, modules: ModuleTable, evaluator: Evaluator, span_finder: SpanFinder
) -> list[BucketTable]:
    """Returns the tables that the vocabulary names, in order of the files."""
    return [
        table
        for name in vocabulary.bucket_tables
        for module in modules.binding(name)
        for table in _tables(name, module, evaluator, span_finder)
    ]


def _tables(
    name: str, module: Module, evaluator: Evaluator, span_finder: SpanFinder
) -> Iterator[BucketTable]:
    for binding in module.bindings_of(name):
        if not isinstance(binding.value, (n.Dict, n.Call)):
            continue
        displays = evaluator.displays(n.Name((1, 0, 1, 0), name), module)
        entries: list[BucketEntry] = []
        complete = displays is not None
        for display, where in displays or ():
            if not isinstance(display, n.Dict):
                complete = False
                continue
            for key, value in display.items:
                group = evaluator.of(key, where).exact if key is not None else None
                if key is None or group is None:
                    complete = False
                    continue
                entries.append(
                    BucketEntry(group, _bucket(value, where, evaluator), where.place(key))
                )
        library = span_finder.implements(f"{module.name}.")
        yield BucketTable(name, tuple(entries), complete, module.place(binding.node), library)


def _bucket(value: n.Expr, scope: Scope, evaluator: Evaluator) -> str:
    """The bucket's value: a string, an enum's member or its ``value``."""
    exact = evaluator.of(value, scope).exact
    if exact is not None:
        return exact
    if isinstance(value, n.Attribute) and value.attr == "value":
        return _bucket(value.base, scope, evaluator)
    if isinstance(value, n.Attribute) and value.attr.isupper():
        return value.attr.lower()  # a member of an enum from outside
    return ""
