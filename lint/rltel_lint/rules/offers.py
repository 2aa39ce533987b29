"""The fixes that rules offer: from linked facts to requests.

A request is only made where the facts say that it can be carried out and that it helps: a name
that the module of the old one has as well, a row whose document can be written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from rltel_lint.changes import (
    ActivateStream,
    AddArgument,
    AddDecorator,
    AddRow,
    Change,
    Fix,
    GuardNone,
    RemoveElement,
    RemoveRow,
    RenameCall,
    ReplaceCall,
    ReplaceText,
)
from rltel_lint.facts import nodes as n
from rltel_lint.facts.entries import DocumentEntry, EntryKind
from rltel_lint.findings import Place
from rltel_lint.project.accepting import Method
from rltel_lint.project.calls import CallSite
from rltel_lint.project.helper_imports import dotted_name
from rltel_lint.project.linked import Project
from rltel_lint.project.model import Function, Module
from rltel_lint.project.resolve import Entity
from rltel_lint.project.spans import SpanSite
from rltel_lint.rules.wording import all_near, nearest
from rltel_lint.vocabulary.model import KnownCall, SpanHelper, means

_MARKDOWN = frozenset({".md", ".markdown", ".mdx"})
_PLAIN_ITERATION = frozenset(
    {"range", "enumerate", "zip", "sorted", "list", "tuple", "reversed", "items", "keys", "values"}
)

# -- spelling ---------------------------------------------------------------------------


def use_helper(project: Project, site: SpanSite, *, alias: str = "") -> Fix | None:
    """Offers to call the helper that a group is for, and to spell the group with its alias.

    Args:
        project: The project.
        site: A site of a helper of the vocabulary.
        alias: The umbrella constant of the group; empty to leave the group as it is.
    """
    helper = _helper(project, site, site.helper.remedy)
    if helper is None or helper.use != site.helper.use:
        return None
    changes: list[Change] = [RenameCall(site.place, site.helper.name, helper.name)]
    message = f"call {helper.name}"
    spelled = spell_group(project, site, alias) if alias else None
    if spelled is not None:
        changes += spelled.changes
        message += f" with {alias}"
    return Fix(message, tuple(changes))


def spell_group(project: Project, site: SpanSite, alias: str) -> Fix | None:
    """Offers to spell a group with its umbrella constant."""
    argument, constant = site.group_argument, alias.rpartition(".")[2]
    prefix = project.vocabulary.alias_prefix
    if not isinstance(argument, n.Attribute) or argument.attr.startswith(prefix):
        return None
    scope = site.at.scope
    other = n.Attribute(argument.at, argument.base, constant)
    group = site.group.exact if site.group is not None else None
    if group is None or project.evaluator.of(other, scope).exact != group:
        return None
    change = ReplaceText(scope.place(argument), argument.attr, constant)
    return Fix(f"spell the group {constant}", (change,))


def activate_stream(project: Project, site: SpanSite) -> Fix | None:
    """Offers the streaming helper for a block that yields."""
    block, helper = site.at.with_, site.helper
    if block is None or site.via or helper.kind != "umbrella":
        return None
    streaming = next(
        (
            other
            for other in project.vocabulary.helpers
            if other.use == "stream" and _helper(project, site, other.name) is other
        ),
        None,
    )
    if streaming is None:
        return None
    loops = [node for inner in block.body for node in n.walk(inner) if isinstance(node, n.For)]
    # What a loop calls for its next item would run outside the span from now on.
    safe = all(not loop.is_async and _is_plain(loop.iterable) for loop in loops)
    change = ActivateStream(site.place, helper.name, streaming.name)
    return Fix(f"use {streaming.name} and activate it in each step", (change,), safe)


def guard_none(function: Function, use: n.Attribute) -> Fix | None:
    """Offers a test for ``None`` around a call of a span's method that stands alone."""
    statement = function.statement_of.get(use)
    if not isinstance(statement, n.ExprStmt) or not isinstance(use.base, n.Name):
        return None
    if not isinstance(statement.value, n.Call) or statement.value.func is not use:
        return None
    name = use.base.id
    return Fix(f"test that {name} is not None", (GuardNone(function.place(use), name),))


def open_evaluation(project: Project, site: SpanSite, name: str) -> Fix | None:
    """Offers the evaluation helper for a span that is named as the helper would name it."""
    helper = _helper(project, site, name)
    if helper is None or helper.use != site.helper.use or site.use != "context":
        return None
    head, _, rest = helper.span.partition("{")
    _, _, tail = rest.partition("}")
    exact = site.name.exact or ""
    middle = exact.removeprefix(head).removesuffix(tail)
    same = exact == f"{head}{middle}{tail}" and middle and "." not in middle
    given = [arg for arg in site.at.call.args if arg.keyword is None and not arg.star]
    if not same or len(given) != 2 or "{" in tail:
        return None
    change = ReplaceCall(site.place, site.helper.name, helper.name, 2, f'"{middle}"')
    return Fix(f'call {helper.name}("{middle}")', (change,))


def _is_plain(iterable: n.Expr) -> bool:
    if isinstance(iterable, n.Call):
        name = n.dotted(iterable.func) or ""
        last = iterable.func.attr if isinstance(iterable.func, n.Attribute) else name
        inner = all(_is_plain(arg.value) for arg in iterable.args)
        return last.rpartition(".")[2] in _PLAIN_ITERATION and inner
    return not any(isinstance(node, (n.Call, n.Await)) for node in n.walk(iterable))


def _helper(project: Project, site: SpanSite, name: str) -> SpanHelper | None:
    """Another helper of the vocabulary that the site's file can call in the same way."""
    if site.via:
        return None
    helper = next(
        (one for one in project.vocabulary.helpers if one.name == name and one.modules), None
    )
    if helper is None:
        return None
    for entity in _beside(project, site.at, name):
        if means(dotted_name(entity), name, helper.modules):
            return helper
    return None


def _beside(project: Project, site: CallSite, name: str) -> Iterator[Entity]:
    """What a name refers to in the module that the callee of a call comes from."""
    func, scope, resolver = site.call.func, site.scope, project.resolver
    if isinstance(func, n.Attribute):
        yield from resolver.of(n.Attribute(func.at, func.base, name), scope)
        return
    if not isinstance(func, n.Name):
        return
    bindings, _ = resolver.lookup(func.id, scope)
    for binding in bindings:
        if isinstance(binding.node, n.Import) and binding.node.module is not None:
            source = resolver.imported_module(binding.node, scope.module)
            if source is not None:
                yield from resolver.member(source, name)


# -- carriers ---------------------------------------------------------------------------


def send_carrier(project: Project, site: CallSite, keyword: str = "") -> Fix | None:
    """Offers to pass a carrier in a call.

    Args:
        project: The project.
        site: The call: ``handle.method.remote(...)``, or one that names the method.
        keyword: The parameter that takes the carrier itself; empty for the keyword dict.
    """
    func = site.call.func
    carriers = project.vocabulary.carriers
    known = carriers.makers if keyword else carriers.keyword_helpers
    by_name = {call.name for call in carriers.by_name} if not keyword else set()
    if not known or not isinstance(func, n.Attribute) or func.attr not in {"remote", *by_name}:
        return None
    module = _module_of(project, site.scope.module, known[0])
    if not module:
        return None
    template = f"{keyword}={{}}()" if keyword else "**{}()"
    change = AddArgument(site.place, template, module, known[0].name)
    # Which span the carrier of an actor is to be taken from, only a person can tell; and what a
    # worker group does with keywords (one for all, or one for each), only its code.
    safe = not keyword and func.attr == "remote"
    return Fix(f"add {template.format(known[0].name)}", (change,), safe)


def accept_carrier(project: Project, method: Method) -> Fix | None:
    """Offers to decorate a method so that it accepts a carrier."""
    accepting = project.vocabulary.carriers.accepting
    function = method.function
    if not accepting or function is None:
        return None
    module = _module_of(project, function.module, accepting[0])
    if not module:
        return None
    name = n.Name(function.node.name_at, function.name)
    change = AddDecorator(function.place(name), module, accepting[0].name)
    return Fix(f"decorate {method.label} with @{accepting[0].name}", (change,))


def _module_of(project: Project, user: Module, known: KnownCall) -> str:
    """The module that a file imports a name from: as it does already, or as the others do."""
    found = project.helper_imports.module_of(user, known)
    if found:
        return found
    # What the shipped runtime promises to export there.
    return "rl_telemetry.instrumentation" if "rl_telemetry" in known.modules[:1] else ""


# -- lists in code ----------------------------------------------------------------------


def take_out(place: Place, what: str, *, safe: bool = True) -> Fix:
    """Offers to take an element out of a list, a map or a call.

    Args:
        place: The element.
        what: What it is, for the reader.
        safe: Whether nothing but dead weight is lost.
    """
    return Fix(f"take {what} out", (RemoveElement(place),), safe)


# -- documents --------------------------------------------------------------------------


def rename_rows(project: Project, kind: EntryKind, pair: Pair) -> Fix | None:
    """Offers to rename what documents call a thing: the documents follow the code.

    Args:
        project: The project.
        kind: What the name is.
        pair: The name in the documents and the one in the code.
    """
    old, new = pair.documented, pair.emitted
    rows = [row for row in project.documents.of_kind(kind) if old in row.names]
    if not rows or any(row.text != old or not _is_exact(row) for row in rows) or "*" in new:
        return None
    changes = tuple(ReplaceText(row.place, old, new) for row in rows)
    return Fix(f'rename "{old}" to "{new}" in the documents', changes, pair.sure)


def add_row(
    project: Project,
    kind: EntryKind,
    name: str,
    cells: Iterable[tuple[str, Sequence[str]]] = (),
) -> Fix | None:
    """Offers to add a row to the table whose rows are most like a name.

    Args:
        project: The project.
        kind: What the name is.
        name: The name; ``**`` stands for an unknown piece.
        cells: What is known for typed columns.
    """
    written = name.replace("**", "<name>")
    rows = [row for row in project.documents.of_kind(kind) if _has_table(project, row)]
    if not rows:
        return None
    like = max(_shared(row.text, written) for row in rows)
    near = sorted(
        (row for row in rows if _shared(row.text, written) == like), key=lambda row: row.text
    )
    best = next((row for row in reversed(near) if row.text < written), near[0])
    known = tuple((key, tuple(values)) for key, values in cells)
    change = AddRow(best.place, written, known)
    # A name with an unknown piece would document more than is emitted.
    return Fix(f'add a row "{written}" to {best.place.path}', (change,), safe="**" not in name)


def remove_row(project: Project, row: DocumentEntry) -> Fix | None:
    """Offers, as a guess, to remove a row that documents nothing else."""
    others = [other for other in _entries_of(project, row.place.path) if other is not row]
    if not _is_written(row) or len(row.names) > 1:
        return None
    if any(other.place.line == row.place.line for other in others):
        return None
    if not any(other.table == row.table for other in others):
        return None  # a table without rows is nobody's wish
    return Fix(f'remove the row "{row.text}"', (RemoveRow(row.place),), safe=False)


def _is_exact(row: DocumentEntry) -> bool:
    """Whether the place of a row is that of its text, neither escaped nor wrapped."""
    place = row.place
    return place.line == place.end_line and place.end_column - place.column == len(row.text)


def _is_written(row: DocumentEntry) -> bool:
    """Whether a row stands in a table that can be written."""
    suffix = PurePosixPath(row.place.path).suffix.lower()
    return row.table >= 0 and suffix in _MARKDOWN and row.place.line == row.place.end_line


def _has_table(project: Project, row: DocumentEntry) -> bool:
    """Whether a row stands in a writable table of live rows that is about its kind alone."""
    if not _is_written(row) or row.status != "active":
        return False
    return not any(
        other.kind != row.kind and other.place.line == row.place.line
        for other in _entries_of(project, row.place.path)
    )


def _entries_of(project: Project, path: str) -> Sequence[DocumentEntry]:
    return next((facts.entries for facts in project.documents.facts if facts.path == path), ())


def _shared(one: str, two: str) -> int:
    """How many words two names share at their start."""
    count = 0
    for left, right in zip(one.split("."), two.split("."), strict=False):
        if left != right:
            break
        count += 1
    return count


@dataclass(frozen=True)
class Pair:
    """A documented name and a name in the code that are probably the same thing.

    Attributes:
        documented: The name in the documents.
        emitted: The name in the code.
        sure: Whether no other name on either side can be meant.
    """

    documented: str
    emitted: str
    sure: bool


def pair_of(name: str, stale: Iterable[str], free: Iterable[str]) -> Pair | None:
    """Returns the pair that a name on either side belongs to, ``None`` if it is alone.

    Args:
        name: One of the names.
        stale: Documented names that the code does not have.
        free: Names in the code that no document has.
    """
    stale, free = set(stale), set(free)
    documented = name if name in stale else nearest(name, stale)
    if documented is None:
        return None
    emitted = nearest(documented, free)
    if emitted is None or nearest(emitted, stale) != documented:
        return None
    if name not in (documented, emitted):
        return None
    sure = len(all_near(documented, free)) == len(all_near(emitted, stale)) == 1
    return Pair(documented, emitted, sure)
