"""What happens to a span that code holds in a local name: is it ended, is it known to exist?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from rltel_lint.facts import nodes as n
from rltel_lint.project.model import Function

IsGate = Callable[[n.Expr], bool]
Reads = Callable[[n.Call, n.Arg], bool]

_READERS = {"safe_set_span_attributes", "set_span_in_context", "isinstance", "print", "bool", "str"}
_ENDS = {"end", "__exit__"}


@dataclass(frozen=True)
class Leak:
    """One way out of a function on which a span stays open.

    Attributes:
        at: The statement that leaves.
        what: In words for a message.
    """

    at: n.Node
    what: str


@dataclass
class _Exits:
    """How a block is left with the span still open."""

    kinds: set[str] = field(default_factory=set)
    leaks: list[Leak] = field(default_factory=list)

    def take(self, other: _Exits) -> None:
        self.kinds |= other.kinds
        self.leaks += other.leaks


def escapes(name: str, function: Function, only_reads: Reads) -> bool:
    """Whether a local name is handed on, so that something else may end the span.

    Args:
        name: The name; one that is ``global`` or ``nonlocal`` is handed on.
        function: The function that binds it.
        only_reads: Tells whether a call does no more with an argument than to read it.
    """
    if not function.bindings_of(name):
        return True
    for statement in function.paths:
        if isinstance(statement, (n.FunctionDef, n.ClassDef)):
            if any(isinstance(node, n.Name) and node.id == name for node in n.walk(statement)):
                return True
            continue
        held = {id(node) for node in _harmless(statement, only_reads)}
        for node in n.own_nodes(statement):
            if isinstance(node, n.Name) and node.id == name and id(node) not in held:
                return True
    return False


def _harmless(statement: n.Stmt, only_reads: Reads) -> Iterator[n.Node]:
    """The occurrences of a name in a statement that do not hand it on."""
    if isinstance(statement, n.Assign):
        yield from (t for t in statement.targets if isinstance(t, n.Name))
    if isinstance(statement, n.With):
        yield from (i.context for i in statement.items if isinstance(i.context, n.Name))
        yield from (i.target for i in statement.items if isinstance(i.target, n.Name))
    if isinstance(statement, (n.If, n.While)):
        yield from (node for node in n.walk(statement.test) if isinstance(node, n.Name))
    for node in n.own_nodes(statement):
        if isinstance(node, n.Attribute):
            yield node.base
        elif isinstance(node, n.Compare):
            yield node.left
            yield node.right
        elif isinstance(node, n.Conditional):
            yield node.test
        elif isinstance(node, n.Call):
            last = (n.dotted(node.func) or "").rpartition(".")[2]
            if last in _READERS or last == "use_span":
                yield from (arg.value for arg in node.args)
            else:
                yield from (arg.value for arg in node.args if only_reads(node, arg))


def ends(name: str, function: Function) -> bool:
    """Whether a function ends the span that a name holds."""
    return any(_closes(statement, name) for statement in function.paths)


def leaks(name: str, start: n.Stmt, function: Function) -> list[Leak]:
    """Returns the ways out of a function on which a span stays open.

    What an unexpected exception does is not judged unless a handler of the function goes on
    without ending the span.

    Args:
        name: The local name that holds the span.
        start: The statement that starts it.
        function: The function of both.
    """
    path = function.paths[start]
    if not ends(name, function):
        return [Leak(start, "anywhere")]
    guarded = any(
        isinstance(outer := block[index], n.If) and _mentions(outer.test, name)
        for block, index in path[:-1]
    )
    found: list[Leak] = []
    for level in range(len(path) - 1, -1, -1):
        block, index = path[level]
        exits = _walk(block[index + 1 :], name)
        found += exits.leaks
        around = path[level - 1][0][path[level - 1][1]] if level else None
        if isinstance(around, n.Try) and block is around.body:
            if _any_closes(around.finalbody, name):
                return _without_returns(found, around)
            if block[index + 1 :]:
                for handler in around.handlers:
                    exits.take(_handler(handler, name))
                found += [leak for leak in exits.leaks if leak not in found]
        elif isinstance(around, n.Try) and _any_closes(around.finalbody, name):
            return _without_returns(found, around)
        elif isinstance(around, (n.For, n.While)):
            if {"fall", "continue"} & exits.kinds and not guarded:
                before = block[:index] if block is around.body else ()
                if not _any_closes(before, name) and not _any_closes(around.orelse, name):
                    found.append(Leak(start, "when the loop goes on"))
            if "break" not in exits.kinds and not ("fall" in exits.kinds and guarded):
                return found
            continue
        if "fall" not in exits.kinds:
            return found
    found.append(Leak(function.node, "at the end of the function"))
    return found


def _without_returns(found: list[Leak], outer: n.Try) -> list[Leak]:
    inside = set(_inside(outer.body))
    return [leak for leak in found if leak.at not in inside]


def _inside(block: Iterable[n.Stmt]) -> Iterator[n.Stmt]:
    for statement in block:
        yield statement
        for inner in n.blocks(statement):
            yield from _inside(inner)


def _walk(block: Iterable[n.Stmt], name: str) -> _Exits:
    """Follows a block with the span open; ``fall`` means that its end is reached so."""
    found = _Exits()
    for statement in block:
        after = _statement(statement, name, found)
        if not after:
            return found
    found.kinds.add("fall")
    return found


def _statement(statement: n.Stmt, name: str, found: _Exits) -> bool:
    """Follows one statement; returns whether the span may still be open behind it."""
    if _closes(statement, name):
        return False
    if isinstance(statement, n.Return):
        found.leaks.append(Leak(statement, "when it returns here"))
        return False
    if isinstance(statement, n.Raise):
        found.leaks.append(Leak(statement, "when it raises here"))
        return False
    if isinstance(statement, n.Jump):
        if statement.kind != "pass":
            found.kinds.add(statement.kind)
            return False
        return True
    if isinstance(statement, n.If):
        return _branches(statement, name, found)
    if isinstance(statement, (n.For, n.While)):
        if _any_closes(statement.body, name) or _any_closes(statement.orelse, name):
            return False
        inner = _walk(statement.body, name)
        found.leaks += inner.leaks
        endless = isinstance(statement, n.While) and (
            isinstance(statement.test, n.Const) and statement.test.value in {True}
        )
        return not endless or "break" in inner.kinds
    if isinstance(statement, n.With):
        inner = _walk(statement.body, name)
        found.leaks += inner.leaks
        found.kinds |= inner.kinds - {"fall"}
        return "fall" in inner.kinds
    if isinstance(statement, n.Try):
        return _try(statement, name, found)
    if isinstance(statement, n.Match):
        for case in statement.cases:
            inner = _walk(case.body, name)
            found.leaks += inner.leaks
            found.kinds |= inner.kinds - {"fall"}
        return True
    return True


def _branches(statement: n.If, name: str, found: _Exits) -> bool:
    if _mentions(statement.test, name):
        # Otherwise it says what happens when there is no span.
        return not (_any_closes(statement.body, name) or _any_closes(statement.orelse, name))
    falls = False
    for block in (statement.body, statement.orelse):
        inner = _walk(block, name)
        found.leaks += inner.leaks
        found.kinds |= inner.kinds - {"fall"}
        falls = falls or "fall" in inner.kinds
    return falls


def _try(statement: n.Try, name: str, found: _Exits) -> bool:
    if _any_closes(statement.finalbody, name):
        return False
    inner = _walk((*statement.body, *statement.orelse), name)
    for handler in statement.handlers:
        inner.take(_handler(handler, name))
    found.leaks += inner.leaks
    found.kinds |= inner.kinds - {"fall"}
    return "fall" in inner.kinds


def _handler(handler: n.Handler, name: str) -> _Exits:
    exits = _walk(handler.body, name)
    kept = [leak for leak in exits.leaks if not isinstance(leak.at, n.Raise)]
    return _Exits(exits.kinds, [Leak(leak.at, "after an exception") for leak in kept])


def _any_closes(block: Iterable[n.Stmt], name: str) -> bool:
    return any(_closes(statement, name) for statement in _inside(block))


def _closes(statement: n.Stmt, name: str) -> bool:
    """Whether a statement itself ends the span."""
    if isinstance(statement, (n.FunctionDef, n.ClassDef)):
        return False
    if isinstance(statement, n.With):
        for item in statement.items:
            if isinstance(item.context, n.Name) and item.context.id == name:
                return True
            for node in n.walk(item.context):
                if isinstance(node, n.Call) and node.keyword("end_on_exit") is not None:
                    if any(_is(arg.value, name) for arg in node.args):
                        return True
    return any(
        isinstance(node, n.Call)
        and isinstance(node.func, n.Attribute)
        and node.func.attr in _ENDS
        and _is(node.func.base, name)
        for node in n.own_nodes(statement)
    )


def _is(node: n.Node, name: str) -> bool:
    return isinstance(node, n.Name) and node.id == name


def _mentions(node: n.Node, name: str) -> bool:
    return any(_is(inner, name) for inner in n.walk(node))


# -- None -------------------------------------------------------------------------------


def unguarded_use(name: str, block: tuple[n.Stmt, ...], is_gate: IsGate) -> n.Attribute | None:
    """Returns the first use of an attribute of a name that may be ``None``, with no test before.

    Any test that mentions the name, or asks a gate, counts for what stands behind or inside it.

    Args:
        name: The local name.
        block: The statements in which it holds the span.
        is_gate: Tells whether an expression asks if spans are on.
    """
    for statement in block:
        if isinstance(statement, (n.FunctionDef, n.ClassDef)):
            continue
        if _settles(statement, name, is_gate):
            return None
        found = _used_in(statement, name)
        if found is not None:
            return found
        if isinstance(statement, n.Try) and any(map(_catches, statement.handlers)):
            continue
        for inner in n.blocks(statement):
            found = unguarded_use(name, inner, is_gate)
            if found is not None:
                return found
    return None


def _settles(statement: n.Stmt, name: str, is_gate: IsGate) -> bool:
    """Whether what follows a statement, and what is inside it, may rely on the span."""
    if isinstance(statement, (n.If, n.While)):
        test = statement.test
        return _mentions(test, name) or is_gate(test)
    if isinstance(statement, n.Match):
        return _mentions(statement.subject, name)
    if isinstance(statement, n.OtherStmt):
        return any(_mentions(child, name) for child in statement.children)
    if isinstance(statement, n.Assign):
        return any(_is(target, name) for target in statement.targets)
    return False


def _used_in(statement: n.Stmt, name: str) -> n.Attribute | None:
    uses = [
        node
        for node in n.own_nodes(statement)
        if isinstance(node, n.Attribute) and _is(node.base, name)
    ]
    if not uses:
        return None
    for node in n.own_nodes(statement):
        guard = node.test if isinstance(node, n.Conditional) else None
        if isinstance(node, n.BoolOp):
            guard = node.left
        if isinstance(node, n.Comprehension) and any(_mentions(c, name) for c in node.conditions):
            return None
        if guard is not None and _mentions(guard, name):
            return None
    return min(uses, key=lambda node: node.at)


def _catches(handler: n.Handler) -> bool:
    if handler.type is None:
        return True
    words = {node.id for node in n.walk(handler.type) if isinstance(node, n.Name)}
    return bool(words & {"Exception", "BaseException", "AttributeError"})
