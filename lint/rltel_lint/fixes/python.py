"""Requests for Python files as edits: the codemods, each found by libcst and made as text.

Only what is asked for is written anew; all the rest of the file, comments and formatting, is not
even looked at.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import libcst as cst

from rltel_lint.changes import (
    ActivateStream,
    AddArgument,
    AddDecorator,
    Change,
    Edit,
    GuardNone,
    RemoveElement,
    RenameCall,
    ReplaceCall,
    ReplaceText,
)
from rltel_lint.findings import Place
from rltel_lint.fixes.edits import NotApplicable, edit
from rltel_lint.fixes.imports import rename, spell
from rltel_lint.fixes.sequences import add_last, remove
from rltel_lint.fixes.source import Source
from rltel_lint.fixes.streams import activate

# What must stay outside a decorator that changes what a method takes.
_OUTERMOST = frozenset({"remote", "staticmethod", "classmethod", "property", "overload"})


def python_edits(source: Source, change: Change) -> list[Edit]:
    """Returns the edits of one request.

    Args:
        source: The file.
        change: The request.

    Raises:
        NotApplicable: The code is not as the request takes it to be.
    """
    handler = _HANDLERS.get(type(change))
    if handler is None:
        raise NotApplicable("this cannot be changed in a Python file")
    return handler(source, change)


def replace_text(source: Source, change: ReplaceText) -> list[Edit]:
    """Replaces text that stands at the end of a place."""
    place, lines = change.place, source.lines
    end = lines.offset(place.end_line, place.end_column)
    start = end - len(change.old)
    if start < 0 or lines.text[start:end] != change.old:
        raise NotApplicable("the code is not there any more")
    return [edit(lines, source.path, start, end, change.new)]


def rename_call(source: Source, change: RenameCall) -> list[Edit]:
    """Calls another function, and imports it."""
    return _renamed(source, source.at(change.place, cst.Call), change.old, change.new)


def _renamed(source: Source, call: cst.Call, old: str, new: str) -> list[Edit]:
    callee = call.func
    if isinstance(callee, cst.Attribute) and callee.attr.value == old:
        start, end = source.range(callee.attr)
        return [edit(source.lines, source.path, start, end, new)]
    if not isinstance(callee, cst.Name):
        raise NotApplicable(f"{old} is not called by its name")
    spelled, edits = rename(source, old, new, callee)
    start, end = source.range(callee)
    return [edit(source.lines, source.path, start, end, spelled), *edits]


def add_argument(source: Source, change: AddArgument) -> list[Edit]:
    """Adds a last argument to a call."""
    call = source.at(change.place, cst.Call)
    spelled, edits = spell(source, change.module, change.name, call)
    argument = change.template.format(spelled)
    items = [source.range(arg) for arg in call.args]
    if len(call.args) == 1 and isinstance(call.args[0].value, cst.GeneratorExp):
        if not call.args[0].value.lpar:
            raise NotApplicable("the call's only argument is a bare generator")
    close = source.range(call)[1] - 1
    if not argument.startswith("**") and any(arg.star == "**" for arg in call.args):
        first = next(source.range(arg)[0] for arg in call.args if arg.star == "**")
        added = [edit(source.lines, source.path, first, first, f"{argument}, ")]
    else:
        added = add_last(source.lines, source.path, items, close, argument)
    return [*added, *edits]


def add_decorator(source: Source, change: AddDecorator) -> list[Edit]:
    """Decorates a function, below what has to stay outside."""
    function = _function(source, change.place)
    spelled, edits = spell(source, change.module, change.name, function)
    above: cst.CSTNode | None = None
    for decorator in function.decorators:
        target = decorator.decorator
        target = target.func if isinstance(target, cst.Call) else target
        last = target.attr if isinstance(target, cst.Attribute) else target
        if isinstance(last, cst.Name) and last.value in _OUTERMOST:
            above = decorator
    lines = source.lines
    head = source.range(function)[0]
    if above is not None:
        line = lines.at(source.range(above)[1])[0] + 1
    elif function.decorators:
        line = lines.at(source.range(function.decorators[0])[0])[0]
    else:
        line = lines.at(head)[0]
    column = lines.at(head)[1]
    indent = lines.line(lines.at(head)[0])[: column - 1]
    if indent.strip():
        raise NotApplicable("the function does not begin its line")
    at = lines.offset(line, 1)
    return [edit(lines, source.path, at, at, f"{indent}@{spelled}\n"), *edits]


def _function(source: Source, place: Place) -> cst.FunctionDef:
    name = source.at(place, cst.Name)
    function = source.parents.get(name)
    if not isinstance(function, cst.FunctionDef) or function.name is not name:
        raise NotApplicable("the function is not there any more")
    return function


def remove_element(source: Source, change: RemoveElement) -> list[Edit]:
    """Removes an element of a display or an argument of a call."""
    place, lines = change.place, source.lines
    wanted = (
        lines.offset(place.line, place.column),
        lines.offset(place.end_line, place.end_column),
    )
    for node in source.parents:
        elements = _elements(node)
        for index, element in enumerate(elements):
            if wanted in (source.range(part) for part in _parts(element)):
                return _removed(source, node, elements, index)
    raise NotApplicable("the element is not there any more")


def _removed(
    source: Source, node: cst.CSTNode, elements: list[cst.CSTNode], index: int
) -> list[Edit]:
    if isinstance(node, cst.Set) and len(elements) == 1:
        raise NotApplicable("an empty set has no display")
    if isinstance(node, cst.Tuple) and not node.lpar:
        raise NotApplicable("a tuple without parentheses is left alone")
    items = [source.range(element) for element in elements]
    close = source.range(node)[1] - 1
    text = source.lines.text
    if isinstance(node, cst.Tuple):
        close = items[-1][1]
        while text[close] != ")" or _in_comment(text, close):
            close += 1
    return remove(
        source.lines,
        source.path,
        items,
        index,
        close,
        keep_comma=isinstance(node, cst.Tuple),
    )


def _in_comment(text: str, at: int) -> bool:
    return "#" in text[text.rfind("\n", 0, at) + 1 : at].rpartition('"')[2].rpartition("'")[2]


def _elements(node: cst.CSTNode) -> list[cst.CSTNode]:
    if isinstance(node, (cst.List, cst.Tuple, cst.Set, cst.Dict)):
        return list(node.elements)
    return list(node.args) if isinstance(node, cst.Call) else []


def _parts(element: cst.CSTNode) -> list[cst.CSTNode]:
    """What a place may mean by an element: all of it, or its key, or its value."""
    parts = [element]
    for name in ("key", "value"):
        part = getattr(element, name, None)
        if isinstance(part, cst.CSTNode):
            parts.append(part)
    return parts


def activate_stream(source: Source, change: ActivateStream) -> list[Edit]:
    """Makes a block around yields a streaming one."""
    call = source.at(change.place, cst.Call)
    return [*_renamed(source, call, change.old, change.new), *activate(source, call)]


def replace_call(source: Source, change: ReplaceCall) -> list[Edit]:
    """Calls another function with other positional arguments."""
    call = source.at(change.place, cst.Call)
    given = call.args[: change.count]
    if len(given) < change.count or any(arg.keyword or arg.star for arg in given):
        raise NotApplicable("the arguments are not given by position")
    start, end = source.range(given[0])[0], source.range(given[-1])[1]
    if "#" in source.lines.text[start:end]:
        raise NotApplicable("a comment stands between the arguments")
    arguments = edit(source.lines, source.path, start, end, change.arguments)
    return [*_renamed(source, call, change.old, change.new), arguments]


def guard_none(source: Source, change: GuardNone) -> list[Edit]:
    """Puts a statement, and those behind it that are of its kind, under a test."""
    use = source.at(change.place, cst.Attribute)
    statement = next(
        (one for one in source.around(use) if isinstance(one, cst.SimpleStatementLine)), None
    )
    block = source.parents.get(statement) if statement is not None else None
    if statement is None or not isinstance(block, (cst.IndentedBlock, cst.Module)):
        raise NotApplicable("the statement does not stand in a block of its own")
    following = list(block.body[list(block.body).index(statement) :])
    run = list(itertools.takewhile(lambda one: _uses(one, change.name), following))
    if not run:
        raise NotApplicable("the value is used for more than a call of its method")
    lines = source.lines
    first = lines.at(source.range(run[0])[0])[0]
    last = lines.at(source.range(run[-1])[1])[0]
    text = [lines.line(number) for number in range(first, last + 1)]
    if any(_has_long_string(one) for one in run):
        raise NotApplicable("a string of several lines cannot be indented")
    indent = text[0][: len(text[0]) - len(text[0].lstrip())]
    step = source.module.default_indent
    new = [f"{indent}if {change.name} is not None:"]
    new += [f"{step}{line}" if line.strip() else line for line in text]
    start, end = lines.offset(first, 1), lines.offset(last, len(text[-1]) + 1)
    return [edit(lines, source.path, start, end, "\n".join(new))]


def _uses(statement: cst.CSTNode, name: str) -> bool:
    """Whether a statement is nothing but a call of a method of a name."""
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return False
    small = statement.body[0]
    call = small.value if isinstance(small, cst.Expr) else None
    method = call.func if isinstance(call, cst.Call) else None
    return (
        isinstance(method, cst.Attribute)
        and isinstance(method.value, cst.Name)
        and method.value.value == name
    )


def _has_long_string(statement: cst.CSTNode) -> bool:
    todo = [statement]
    while todo:
        node = todo.pop()
        if isinstance(node, cst.SimpleString) and "\n" in node.value:
            return True
        if isinstance(node, cst.FormattedString) and len(node.start) > 3:
            return True
        todo += node.children
    return False


_HANDLERS: dict[type[Any], Callable[[Source, Any], list[Edit]]] = {
    ReplaceText: replace_text,
    RenameCall: rename_call,
    AddArgument: add_argument,
    AddDecorator: add_decorator,
    RemoveElement: remove_element,
    ActivateStream: activate_stream,
    ReplaceCall: replace_call,
    GuardNone: guard_none,
}
