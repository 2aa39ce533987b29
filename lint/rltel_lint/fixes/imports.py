"""Imports: how a name can be spelled at a place, and what has to be added for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from rltel_lint.changes import Edit
from rltel_lint.fixes.edits import NotApplicable, edit
from rltel_lint.fixes.sequences import add_last, insert_before, remove
from rltel_lint.fixes.source import Source

_WIDTH = 100
"""A line that an added name makes longer than this is broken into one name a line."""


@dataclass(frozen=True)
class _Bound:
    """A name that an import binds."""

    statement: cst.ImportFrom
    alias: cst.ImportAlias
    name: str
    original: str


def spell(source: Source, module: str, name: str, user: cst.CSTNode) -> tuple[str, list[Edit]]:
    """Returns how a name of a module is spelled at a node, and the edits that this needs.

    Args:
        source: The file.
        module: The module that has the name, as an import would write it.
        name: The name.
        user: Where it is going to be used.

    Raises:
        NotApplicable: The name means something else in the file.
    """
    seen = [one for one in _bound(source) if _visible(source, one.statement, user)]
    for one in seen:
        if one.original == name and _top(_module(one.statement)) == _top(module):
            return one.name, []
    through = _through_module(source, module, user)
    if through:
        return f"{through}.{name}", []
    if _means_other(source, name, module):
        raise NotApplicable(f"{name} already means something else in this file")
    for statement in source.nodes(cst.ImportFrom):
        if (
            _module(statement) == module
            and not isinstance(statement.names, cst.ImportStar)
            and _visible(source, statement, user)
            and not _guarded(source, statement)
        ):
            return name, add_name(source, statement, name)
    return name, [_new_statement(source, module, name)]


def rename(source: Source, old: str, new: str, callee: cst.Name) -> tuple[str, list[Edit]]:
    """Returns how another function of the module that a callee comes from is spelled.

    Args:
        source: The file.
        old: The function's own name in that module.
        new: The other function.
        callee: The name in the call.

    Raises:
        NotApplicable: The import is not plain.
    """
    visible = [
        one
        for one in _bound(source)
        if one.name == callee.value
        and one.original == old
        and _visible(source, one.statement, callee)
    ]
    if not visible:
        raise NotApplicable(f"the import of {callee.value} was not found")
    visible.sort(key=lambda one: len(source.functions_around(one.statement)), reverse=True)
    statement = visible[0].statement
    for one in _bound(source):
        if one.original == new and _module(one.statement) == _module(statement):
            if _visible(source, one.statement, callee):
                return one.name, []
    if len(visible) > 1 or _guarded(source, statement):
        raise NotApplicable(f"{callee.value} is imported in more than one way")
    if _means_other(source, new, _module(statement)):
        raise NotApplicable(f"{new} already means something else in this file")
    return new, add_name(source, statement, new)


def add_name(source: Source, statement: cst.ImportFrom, name: str) -> list[Edit]:
    """Adds a name to a ``from`` import, in order where the names are sorted."""
    assert not isinstance(statement.names, cst.ImportStar)
    aliases = list(statement.names)
    items = [source.range(alias) for alias in aliases]
    names = [alias.evaluated_name for alias in aliases]
    start, end = source.range(statement)
    text = source.lines.text
    many = "\n" in text[start:end]
    if not many:
        broken = _broken(source, statement, [text[a:b] for a, b in items], name)
        if broken is not None:
            return [edit(source.lines, source.path, start, end, broken)]
    if names == sorted(names) and name < names[-1]:
        later = next(index for index, other in enumerate(names) if other > name)
        return insert_before(source.lines, source.path, items[later], name)
    close = end - 1 if statement.rpar is not None else end
    return add_last(source.lines, source.path, items, close, name)


def drop_unused(source: Source, name: str) -> list[Edit]:
    """Removes the import of a name that nothing in the file names any more."""
    if len(re.findall(rf"\b{re.escape(name)}\b", source.lines.text)) != 1:
        return []
    for one in _bound(source):
        if one.name != name or one.original != name:
            continue
        assert not isinstance(one.statement.names, cst.ImportStar)
        aliases = list(one.statement.names)
        _, end = source.range(one.statement)
        if _guarded(source, one.statement):
            return []
        if len(aliases) == 1:
            return _without_line(source, one.statement)
        close = end - 1 if one.statement.rpar is not None else end
        items = [source.range(alias) for alias in aliases]
        return remove(
            source.lines, source.path, items, aliases.index(one.alias), close, keep_comma=False
        )
    return []


def _without_line(source: Source, statement: cst.ImportFrom) -> list[Edit]:
    """Removes an import of one name, if it has a line of the module to itself."""
    line = source.parents[statement]
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) > 1:
        return []
    if source.parents[line] is not source.module:
        return []
    lines = source.lines
    start, end = (lines.at(offset)[0] for offset in source.range(line))
    if end == len(lines.lines):
        return []
    return [edit(lines, source.path, lines.offset(start, 1), lines.offset(end + 1, 1), "")]


def _broken(source: Source, statement: cst.ImportFrom, written: list[str], name: str) -> str | None:
    """The statement with one name a line, if it would be too long for one line."""
    start, end = source.range(statement)
    indent = source.lines.at(start)[1] - 1
    if indent + end - start + len(name) + 2 <= _WIDTH:
        return None
    names = sorted([*written, name]) if written == sorted(written) else [*written, name]
    head = source.lines.text[start:end].partition(" import ")[0]
    blanks = " " * indent
    inner = "".join(f"{blanks}    {one},\n" for one in names)
    return f"{head} import (\n{inner}{blanks})"


def _new_statement(source: Source, module: str, name: str) -> Edit:
    """A new import, behind the last one of the same package, else behind the last of all."""
    code = f"from {module} import {name}"
    top = _top(module)
    last: cst.CSTNode | None = None
    near: cst.CSTNode | None = None
    for statement in source.module.body:
        if not isinstance(statement, cst.SimpleStatementLine):
            if isinstance(statement, (cst.FunctionDef, cst.ClassDef)):
                break
            continue
        for small in statement.body:
            if isinstance(small, (cst.Import, cst.ImportFrom)):
                last = statement
                if isinstance(small, cst.ImportFrom) and _top(_module(small)) == top:
                    near = statement
    behind = near or last
    if behind is not None:
        _, end = source.range(behind)
        line = source.lines.at(end)[0]
        at = source.lines.offset(line, len(source.lines.line(line)) + 1)
        return edit(source.lines, source.path, at, at, f"\n{code}")
    body = source.module.body
    if body and _is_docstring(body[0]):
        _, end = source.range(body[0])
        line = source.lines.at(end)[0]
        at = source.lines.offset(line, len(source.lines.line(line)) + 1)
        return edit(source.lines, source.path, at, at, f"\n\n{code}")
    at = source.range(body[0])[0] if body else len(source.lines.text)
    at = source.lines.offset(source.lines.at(at)[0], 1)
    first = body[0] if body else None
    if isinstance(first, (cst.FunctionDef, cst.ClassDef)) and first.decorators:
        at = source.range(first.decorators[0])[0]
    return edit(source.lines, source.path, at, at, f"{code}\n\n")


def _is_docstring(statement: cst.CSTNode) -> bool:
    return (
        isinstance(statement, cst.SimpleStatementLine)
        and isinstance(statement.body[0], cst.Expr)
        and isinstance(statement.body[0].value, (cst.SimpleString, cst.ConcatenatedString))
    )


def _bound(source: Source) -> Iterator[_Bound]:
    for statement in source.nodes(cst.ImportFrom):
        if not isinstance(statement.names, cst.ImportStar):
            for alias in statement.names:
                name = alias.evaluated_alias or alias.evaluated_name
                yield _Bound(statement, alias, name, alias.evaluated_name)


def _module(statement: cst.ImportFrom) -> str:
    dots = "." * len(statement.relative)
    name = cst.Module([]).code_for_node(statement.module) if statement.module else ""
    return dots + name.replace(" ", "")


def _top(module: str) -> str:
    return module.partition(".")[0] if not module.startswith(".") else module


def _visible(source: Source, statement: cst.CSTNode, user: cst.CSTNode) -> bool:
    """Whether what a statement binds can be seen at a node, and is there at run time."""
    if any(_is_type_checking(one) for one in source.around(statement)):
        return False
    if any(isinstance(one, cst.ClassDef) for one in source.around(statement)):
        return False
    functions = source.functions_around(statement)
    return not functions or functions[0] in source.functions_around(user)


def _is_type_checking(node: cst.CSTNode) -> bool:
    if not isinstance(node, cst.If):
        return False
    test = node.test
    name = test.attr if isinstance(test, cst.Attribute) else test
    return isinstance(name, cst.Name) and name.value == "TYPE_CHECKING"


def _guarded(source: Source, statement: cst.CSTNode) -> bool:
    """Whether an import stands under a condition or has a fallback."""
    return any(
        isinstance(one, (cst.Try, cst.If, cst.For, cst.While)) for one in source.around(statement)
    )


def _through_module(source: Source, module: str, user: cst.CSTNode) -> str:
    """The name under which the whole module is imported; empty without one."""
    package, _, last = module.rpartition(".")
    for statement in source.nodes(cst.Import):
        if _visible(source, statement, user):
            for alias in statement.names:
                if alias.evaluated_name == module and alias.evaluated_alias:
                    return alias.evaluated_alias
    for one in _bound(source):
        if one.original == last and package and _module(one.statement) == package:
            if _visible(source, one.statement, user):
                return one.name
    return ""


def _means_other(source: Source, name: str, module: str) -> bool:
    """Whether the file gives the name another meaning than that of the module, anywhere."""
    for function in source.nodes(cst.FunctionDef):
        if function.name.value == name:
            return True
    for holder in source.nodes(cst.ClassDef):
        if holder.name.value == name:
            return True
    for param in source.nodes(cst.Param):
        if param.name.value == name:
            return True
    for target in source.nodes(cst.AssignTarget):
        if isinstance(target.target, cst.Name) and target.target.value == name:
            return True
    return any(
        one.name == name and (one.original != name or _top(_module(one.statement)) != _top(module))
        for one in _bound(source)
    ) or any(
        (alias.evaluated_alias or alias.evaluated_name.partition(".")[0]) == name
        for statement in source.nodes(cst.Import)
        for alias in statement.names
    )
