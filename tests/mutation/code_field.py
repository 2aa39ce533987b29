"""Drift that users of other projects reported: imports that set up, contexts and work in vain."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.mutation.mutants import Mutant, in_row, in_text, mutator
from tests.mutation.sites import sites
from tests.mutation.tree import Source, Tree

_PROVIDER = {
    "direct": "from opentelemetry import trace\ntrace.set_tracer_provider(None)",
    "alias": "from opentelemetry.trace import set_tracer_provider as spelled\nspelled(None)",
    "branch": "from opentelemetry import metrics\nif True:\n    metrics.set_meter_provider(None)",
    "wrapper": (
        "from opentelemetry import trace\n\n\ndef _spelled():\n"
        "    trace.set_tracer_provider(None)\n\n\n_spelled()"
    ),
}
_COPIES = {
    "call": ("dict(os.environ)", '.get("OTEL_SERVICE_NAME")'),
    "method": ("os.environ.copy()", '["OTEL_SERVICE_NAME"]'),
    "unpacked": ("{**os.environ}", '.get("OTEL_SERVICE_NAME", "")'),
}
_CONTEXTS = {
    "held": "spelled = propagate.extract({})",
    "dropped": "propagate.extract({})",
    "conditional": "spelled = propagate.extract({}) if True else None",
}
_LAZY = {
    "generator": "def _spelled_rows():\n    yield 1",
    "async generator": "async def _spelled_rows():\n    yield 1",
    "coroutine": "async def _spelled_rows():\n    return 1",
}
_OTHERS = {"gauge": "histogram", "histogram": "counter", "counter": "gauge"}


def _imported(tree: Tree) -> Iterator[Source]:
    """The files that others import at their top level, and packages."""
    names = {
        dotted
        for source in tree.users
        for node in source.tree.body
        if isinstance(node, ast.ImportFrom) and node.module and not node.level
        for dotted in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
    }
    for source in tree.users:
        dotted = source.path.removesuffix(".py").replace("/", ".")
        if dotted.endswith("__init__") or any(
            dotted == name or dotted.endswith(f".{name}") for name in names
        ):
            yield source


def _added(source: Source, text: str) -> str:
    return f"{source.text.rstrip()}\n\n\n{text}\n"


@mutator
def at_import(tree: Tree) -> Iterator[Mutant]:
    """An import sets a provider, or keeps what the environment was."""
    for source in _imported(tree):
        for how, text in _PROVIDER.items():
            yield in_text(
                "PAIR", f"provider at import, {how}", "809", source, 1, _added(source, text)
            )
        for how, (copy, taken) in _COPIES.items():
            text = f"import os\n\n_SPELLED = {copy}\n\n\ndef spelled():\n    return _SPELLED{taken}"
            yield in_text(
                "PAIR", f"environment at import, {how}", "810", source, 1, _added(source, text)
            )


@mutator
def contexts(tree: Tree) -> Iterator[Mutant]:
    """The caller's context is read, and nothing is done with it."""
    for source in tree.users:
        for node in source.nodes:
            if isinstance(node, ast.FunctionDef) and len(node.body) > 1:
                for how, text in _CONTEXTS.items():
                    changes = [
                        source.before(node.body[-1], text),
                        source.at_top("from opentelemetry import propagate"),
                    ]
                    yield in_text(
                        "CARRY", f"context in vain, {how}", "308", source, node.lineno,
                        source.edit(*changes),
                    )  # fmt: skip
                break


@mutator
def lazy_work(tree: Tree) -> Iterator[Mutant]:
    """The block of a span only makes a generator or a coroutine."""
    for site in sites(tree):
        block = site.item
        if block is None or site.helper.use != "context" or len(block[0].items) > 1:
            continue
        if site.source.function(site.call) is None or isinstance(block[0], ast.AsyncWith):
            continue
        body = block[0].body
        start, end = site.source.lines(body[0])[0], site.source.lines(body[-1])[1]
        indent = " " * body[0].col_offset
        for how, text in _LAZY.items():
            changes = [
                (start, end, f"{indent}return _spelled_rows()\n"),
                site.source.at_top(f"\n\n{text}\n\n"),
            ]
            yield in_text(
                "NEST", f"work after the span, {how}", "411", site.source, site.line,
                site.source.edit(*changes),
            )  # fmt: skip


@mutator
def kinds_of_metrics(tree: Tree) -> Iterator[Mutant]:
    """A metric's row says another kind."""
    for row in tree.rows:
        kind = row.cell("kind", "type")
        other = _OTHERS.get(kind.lower())
        if other and re.search(r"`[\w.]+`", row.cell("metric")):
            yield in_row("DOCREF", "another kind of metric", "507", tree, row, kind, other)
