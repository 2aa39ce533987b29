"""A ``with`` block that yields, made a streaming one: the span is current only within a step.

Statements between two yields run with the span activated; the yields do not, so the consumer of
the generator never sees it.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst
import libcst.matchers as m

from rltel_lint.changes import Edit
from rltel_lint.fixes.edits import NotApplicable, edit
from rltel_lint.fixes.source import Source

_NAME = "activate"


def activate(source: Source, call: cst.Call) -> list[Edit]:
    """Returns the edits that make the ``with`` block of a call a streaming one.

    The callee itself is not renamed here.

    Args:
        source: The file.
        call: The context of the block.

    Raises:
        NotApplicable: The block yields in a way that only a person can take apart.
    """
    item = source.parents.get(call)
    block = source.parents.get(item) if item is not None else None
    if not isinstance(item, cst.WithItem) or not isinstance(block, cst.With):
        raise NotApplicable("the span is not opened by a with statement")
    if len(block.items) != 1 or not isinstance(block.body, cst.IndentedBlock):
        raise NotApplicable("the with statement opens more than the span")
    if item.asname is not None:
        raise NotApplicable("the span is used in the block")
    if m.findall(source.functions_around(call)[0], m.Name(value=_NAME)):
        raise NotApplicable(f"{_NAME} already means something in this function")
    body = block.body.with_changes(body=_steps(block.body.body))
    if body.deep_equals(block.body):
        raise NotApplicable("all that could run under the span is what the loop calls")
    changed = source.module.deep_replace(block.body, body)
    assert isinstance(changed, cst.Module)
    end = source.range(call)[1]
    return [
        edit(source.lines, source.path, end, end, f" as {_NAME}"),
        *_difference(source, changed.code),
    ]


def _steps(statements: Sequence[cst.BaseStatement]) -> list[cst.BaseStatement]:
    """The statements with every run of them that does not yield put under the span."""
    found: list[cst.BaseStatement] = []
    run: list[cst.BaseStatement] = []

    def close() -> None:
        if any(not _is_quiet(one) for one in run):
            found.append(_under_span(run))
        else:
            found.extend(run)
        run.clear()

    for statement in statements:
        if not _yields(statement):
            run.append(statement)
            continue
        close()
        found.append(_opened(statement))
    close()
    return found


def _is_quiet(statement: cst.BaseStatement) -> bool:
    """Whether a statement does nothing under which a span could open."""
    kinds = m.Pass() | m.Break() | m.Continue() | m.Global() | m.Nonlocal()
    return m.matches(statement, m.SimpleStatementLine()) and all(
        m.matches(small, kinds | m.Return(value=None))
        for small in cst.ensure_type(statement, cst.SimpleStatementLine).body
    )


def _opened(statement: cst.BaseStatement) -> cst.BaseStatement:
    """A statement that yields, with the blocks in it taken apart."""
    if isinstance(statement, cst.SimpleStatementLine):
        return statement
    if isinstance(statement, (cst.For, cst.While)):
        if statement.orelse is not None or _yields_in_head(statement):
            raise NotApplicable("the loop yields in its else or its head")
        return statement.with_changes(body=_block(statement.body))
    if isinstance(statement, cst.If):
        orelse = statement.orelse
        if isinstance(orelse, cst.If):
            orelse = cst.ensure_type(_opened(orelse), cst.If)
        elif isinstance(orelse, cst.Else):
            orelse = orelse.with_changes(body=_block(orelse.body))
        return statement.with_changes(body=_block(statement.body), orelse=orelse)
    raise NotApplicable("the block yields within try or another with")


def _block(body: cst.BaseSuite) -> cst.BaseSuite:
    if not isinstance(body, cst.IndentedBlock):
        if m.findall(body, m.Yield()):
            return body
        raise NotApplicable("a block stands on the line of its head")
    return body.with_changes(body=_steps(body.body))


def _yields_in_head(statement: cst.For | cst.While) -> bool:
    head = statement.iter if isinstance(statement, cst.For) else statement.test
    return bool(m.findall(head, m.Yield()))


def _yields(statement: cst.CSTNode) -> bool:
    """Whether a statement yields, functions in it left aside."""
    todo: list[cst.CSTNode] = [statement]
    while todo:
        node = todo.pop()
        if isinstance(node, cst.Yield):
            return True
        if not isinstance(node, (cst.FunctionDef, cst.Lambda, cst.ClassDef)):
            todo.extend(node.children)
    return False


def _under_span(statements: Sequence[cst.BaseStatement]) -> cst.With:
    first = statements[0]
    lines = getattr(first, "leading_lines", ())
    inner = [first.with_changes(leading_lines=()), *statements[1:]]
    return cst.With(
        items=[cst.WithItem(cst.Call(cst.Name(_NAME)))],
        body=cst.IndentedBlock(body=inner),
        leading_lines=lines,
    )


def _difference(source: Source, code: str) -> list[Edit]:
    """The one edit of whole lines between the file and its new code."""
    old, new = source.lines.text.split("\n"), code.split("\n")
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    lines = source.lines
    start = lines.offset(head + 1, 1)
    last = len(old) - tail
    if last <= head:
        added = "".join(f"{line}\n" for line in new[head : len(new) - tail])
        return [edit(lines, source.path, start, start, added)]
    end = lines.offset(last, len(old[last - 1]) + 1)
    return [edit(lines, source.path, start, end, "\n".join(new[head : len(new) - tail]))]
