"""Drift of the trace context between processes and threads."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.mutation.mutants import Mutant, in_source, mutator
from tests.mutation.sites import sites
from tests.mutation.spellings import CONDITION
from tests.mutation.tree import Change, Source, Tree, last, text_of


def _named(calls: object) -> set[str]:
    return {call.name for call in calls}  # type: ignore[attr-defined]


def _carried(tree: Tree, node: ast.Call) -> ast.expr | None:
    """Returns the argument of a call that carries the trace context."""
    known = tree.vocabulary.carriers
    for keyword in node.keywords:
        if keyword.arg is None and last(keyword.value) in _named(known.keyword_helpers):
            return keyword.value
        if keyword.arg == known.keyword:
            return keyword.value
    return None


@mutator
def not_sent(tree: Tree) -> Iterator[Mutant]:
    """A dispatch loses its carrier."""
    dispatchers = _named(tree.vocabulary.carriers.dispatchers)
    for source in tree.users:
        for node in source.nodes:
            if not isinstance(node, ast.Call):
                continue
            carrier = _carried(tree, node)
            if carrier is not None:
                for how, changes in _bare(source, node, source.without_argument(node, carrier)):
                    yield in_source(
                        "CARRY",
                        f"carrier not sent, {how}",
                        "301 303 305",
                        source,
                        node.lineno,
                        changes,
                    )
            if last(node) in dispatchers and node.args and isinstance(node.func, ast.Name):
                for how, changes in _undispatched(source, node):
                    yield in_source(
                        "CARRY",
                        f"dispatcher dropped, {how}",
                        "301 303 305",
                        source,
                        node.lineno,
                        changes,
                    )


def _bare(source: Source, node: ast.Call, gone: Change) -> Iterator[tuple[str, list[Change]]]:
    yield "direct", [gone]
    function = node.func
    statement = source.statement(node)
    is_plain = isinstance(statement, (ast.Expr, ast.Assign, ast.Return, ast.AnnAssign))
    inside = _in_own_scope(source, node)
    if isinstance(function, ast.Attribute) and is_plain and not inside:
        bound = source.segment(function)
        held = source.before(statement, f"spelled = {bound}")
        yield "variable", [gone, source.replace(function, "spelled"), held]
    if node.args and text_of(node.args[0]) is not None:
        name = source.segment(node.args[0])
        constant = source.at_top(f"SPELLED = {name}")
        yield "constant", [gone, source.replace(node.args[0], "SPELLED"), constant]
        chosen = f"{name} if {CONDITION} else {name}"
        yield "conditional", [gone, source.replace(node.args[0], chosen)]
        if is_plain and source.function(node) is not None:
            held = source.before(statement, f"spelled = {name}")
            yield "method in a variable", [gone, source.replace(node.args[0], "spelled"), held]
    is_by_attribute = isinstance(function, ast.Attribute) and function.attr == "remote"
    if is_by_attribute and isinstance(function, ast.Attribute):
        sender = "def spelled_send(method, *args, **kwargs):\n"
        sender += "    return method.remote(*args, **kwargs)\n"
        start = source.span(node.func)[1] + 1
        method = source.segment(function.value)
        call = source.replace(function, "spelled_send")
        comma = ", " if len(node.args) + len(node.keywords) > 1 else ""
        yield "wrapper", [gone, call, (start, start, f"{method}{comma}"), source.at_top(sender)]


def _undispatched(source: Source, node: ast.Call) -> Iterator[tuple[str, list[Change]]]:
    method = source.segment(node.args[0])
    rest = ", ".join(source.segment(a) for a in [*node.args[1:], *node.keywords])
    yield "direct", [source.replace(node, f"{method}.remote({rest})")]
    first = node.args[0]
    if isinstance(first, ast.Attribute):
        got = f'getattr({source.segment(first.value)}, "{first.attr}").remote({rest})'
        yield "getattr", [source.replace(node, got)]
    statement = source.statement(node)
    if isinstance(statement, (ast.Expr, ast.Assign)) and not _in_own_scope(source, node):
        held = source.before(statement, f"spelled = {method}")
        yield "variable", [source.replace(node, f"spelled.remote({rest})"), held]
    sender = "def spelled_send(method, *args, **kwargs):\n"
    sender += "    return method.remote(*args, **kwargs)\n"
    given = f"{method}, {rest}" if rest else method
    sent = source.replace(node, f"spelled_send({given})")
    yield "wrapper", [sent, source.at_top(sender)]


def _in_own_scope(source: Source, node: ast.AST) -> bool:
    """Whether an expression stands where names of its own are: a comprehension, a lambda."""
    own = (ast.comprehension, ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.Lambda)
    return any(isinstance(around, own) for around in source.above(node))


@mutator
def not_accepted(tree: Tree) -> Iterator[Mutant]:
    """A method no longer accepts the carrier; or neither half is there."""
    accepting = _named(tree.vocabulary.carriers.accepting)
    for source in tree.users:
        for node in source.nodes:
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            for decorator in node.decorator_list:
                if last(decorator) not in accepting:
                    continue
                line = decorator.lineno
                start, end = source.line_start(line), source.line_start(line + 1)
                gone = (start, end, "")
                yield in_source(
                    "PAIR", "accepting decorator dropped", "302 304", source, line, [gone],
                    detail=f"def {node.name}",
                )  # fmt: skip
                mutant = _both_halves(tree, source, node, gone)
                if mutant is not None:
                    yield mutant


def _both_halves(
    tree: Tree, source: Source, method: ast.FunctionDef | ast.AsyncFunctionDef, gone: Change
) -> Mutant | None:
    if not _opens(tree, source, method):
        return None
    dispatchers = _named(tree.vocabulary.carriers.dispatchers)
    changes: dict[Source, list[Change]] = {source: [gone]}
    sent = 0
    for other in tree.users:
        for node in other.nodes:
            if not isinstance(node, ast.Call) or (not node.args and not node.keywords):
                continue
            carrier = _carried(tree, node)
            first = node.args[0] if node.args else None
            by_name = text_of(first) == method.name
            by_attribute = (
                isinstance(node.func, ast.Attribute) and last(node.func.value) == method.name
            )
            change = None
            if carrier is not None and (by_name or by_attribute):
                change = other.without_argument(node, carrier)
            elif last(node) in dispatchers and _method(first) == method.name:
                change = next(_undispatched(other, node))[1][0]
            if change is not None:
                sent += 1
                changes.setdefault(other, []).append(change)
    if not sent:
        return None
    more = {s.path: s.edit(*edits) for s, edits in changes.items() if s is not source}
    return in_source(
        "CARRY", "neither half", "304", source, method.lineno, changes[source],
        detail=f"def {method.name}, {sent} dispatches", more=more,
    )  # fmt: skip


def _method(node: ast.expr | None) -> str:
    """The method of ``actor.method`` and ``actor.method.options(...)``."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return last(node.func.value)
    return last(node)


def _opens(tree: Tree, source: Source, method: ast.AST) -> bool:
    return any(
        site.source is source and any(n is method for n in source.above(site.call))
        for site in sites(tree)
    )


@mutator
def sent_to_deaf(tree: Tree) -> Iterator[Mutant]:
    """A carrier is sent to a method that does not take one."""
    helpers = sorted(_named(tree.vocabulary.carriers.keyword_helpers))
    methods = _remote_methods(tree)
    for source in tree.users:
        for node in source.nodes:
            if not isinstance(node, ast.Call) or last(node) != "remote" or not helpers:
                continue
            target = node.func.value if isinstance(node.func, ast.Attribute) else None
            if not isinstance(target, ast.Attribute) or methods.get(target.attr) != 1:
                continue
            brought = tree.importing(source, helpers[0])
            if brought is None or _carried(tree, node) is not None:
                continue
            end = source.span(node)[1] - 1
            comma = ", " if node.args or node.keywords else ""
            add = (end, end, f"{comma}**{helpers[0]}()")
            yield in_source(
                "PAIR", "carrier to a method that takes none", "302", source, node.lineno,
                [add, *brought],
            )  # fmt: skip


def _remote_methods(tree: Tree) -> dict[str, int]:
    """How many classes define a method, for those of plain remote classes."""
    accepting = _named(tree.vocabulary.carriers.accepting)
    count: dict[str, int] = {}
    good = set()
    for source in tree.users:
        for node in source.nodes:
            if not isinstance(node, ast.ClassDef):
                continue
            is_remote = any(source.segment(d).startswith("ray.remote") for d in node.decorator_list)
            for method in node.body:
                if not isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    continue
                decorated = any(last(d) in accepting for d in method.decorator_list)
                if is_remote:
                    count[method.name] = count.get(method.name, 0) + 1
                    if not decorated and not method.args.kwarg:
                        good.add(method.name)
    return {name: number for name, number in count.items() if name in good}


@mutator
def threads(tree: Tree) -> Iterator[Mutant]:
    """A thread that binds the context becomes a plain one."""
    for source in tree.users:
        for node in source.nodes:
            name = getattr(getattr(node, "func", None), "id", "")
            if isinstance(node, ast.Call) and name in _named(tree.vocabulary.lifecycle.binders):
                if name != "bind_trace_context":
                    plain = "threading.Thread" if name.endswith("Thread") else "ThreadPoolExecutor"
                    line = "import threading" if name.endswith("Thread") else (
                        "from concurrent.futures import ThreadPoolExecutor")  # fmt: skip
                    yield in_source(
                        "CARRY", "thread without context", "306", source, node.lineno,
                        [source.replace(node.func, plain), source.at_top(line)],
                    )  # fmt: skip


@mutator
def hidden(tree: Tree) -> Iterator[Mutant]:
    """A wrapper that adds a keyword no longer shows it in its signature."""
    for source in tree.users:
        for node in source.nodes:
            targets = node.targets if isinstance(node, ast.Assign) else []
            if any(isinstance(t, ast.Attribute) and t.attr == "__signature__" for t in targets):
                gone = source.replace(node, "pass")
                yield in_source(
                    "PAIR", "keyword hidden from Ray", "307", source, node.lineno, [gone]
                )
