"""Drift of how telemetry starts and ends, of single spans, and of what is inside what."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.mutation.mutants import Mutant, in_source, mutator
from tests.mutation.sites import sites
from tests.mutation.tree import Source, Tree, last


def _named(calls: object) -> set[str]:
    return {call.name for call in calls}  # type: ignore[attr-defined]


_KILLER = "import ray\n\n\ndef spelled_kill(actor):\n    ray.kill(actor)\n"


@mutator
def starts(tree: Tree) -> Iterator[Mutant]:
    """A process starts no telemetry."""
    life = tree.vocabulary.lifecycle
    for source in tree.users:
        for node in source.nodes:
            if not isinstance(node, ast.Call) or not isinstance(source.parents.get(node), ast.Expr):
                continue
            gone = [source.replace(node, "pass")]
            if last(node) in _named(life.drivers):
                yield in_source("SET", "driver not initialised", "804", source, node.lineno, gone)
            if last(node) in _named(life.workers):
                yield in_source("PAIR", "worker not initialised", "802", source, node.lineno, gone)


@mutator
def worker_decorators(tree: Tree) -> Iterator[Mutant]:
    """A constructor loses the decorator that starts telemetry and opens its span."""
    names = _named(tree.vocabulary.lifecycle.worker_decorators)
    for source in tree.users:
        for node in source.nodes:
            for decorator in getattr(node, "decorator_list", []):
                if last(decorator) in names:
                    first, after = decorator.lineno, decorator.end_lineno + 1
                    gone = (source.line_start(first), source.line_start(after), "")
                    yield in_source(
                        "PAIR", "worker decorator dropped", "802 302 102", source, first, [gone]
                    )


@mutator
def kills(tree: Tree) -> Iterator[Mutant]:
    """An actor is killed without a flush."""
    for source in tree.users:
        for node in source.nodes:
            is_flush = isinstance(node, ast.Call) and last(node) in _named(
                tree.vocabulary.lifecycle.actor_flushers
            )
            if is_flush and isinstance(node, ast.Call) and node.args:
                actor = source.segment(node.args[0])
                if last(node) == "flush_actor":
                    yield in_source(
                        "PAIR", "flush before a kill removed", "803", source, node.lineno,
                        [source.replace(node, "pass")],
                    )  # fmt: skip
                    continue
                for how, text, top in (
                    ("direct", f"ray.kill({actor})", "import ray"),
                    ("keyword", f"ray.kill({actor}, no_restart=True)", "import ray"),
                    ("alias", f"spelled_kill({actor})", "from ray import kill as spelled_kill"),
                    ("wrapper", f"spelled_kill({actor})", _KILLER),
                ):
                    yield in_source(
                        "PAIR", f"kill without flush, {how}", "803", source, node.lineno,
                        [source.replace(node, text), source.at_top(top)],
                    )  # fmt: skip
                statement = source.statement(node)
                loop = source.parents[statement]
                if isinstance(loop, ast.For) and source.segment(loop.target) == actor:
                    text = f"[ray.kill({actor}) for {actor} in {source.segment(loop.iter)}]"
                    yield in_source(
                        "PAIR", "kill without flush, comprehension", "803", source, node.lineno,
                        [source.replace(loop, text), source.at_top("import ray")],
                    )  # fmt: skip
                if isinstance(statement, ast.Expr):
                    held = source.before(statement, f"spelled = {actor}")
                    kill = source.replace(node, "ray.kill(spelled)")
                    yield in_source(
                        "PAIR", "kill without flush, variable", "803", source, node.lineno,
                        [held, kill, source.at_top("import ray")],
                    )  # fmt: skip


@mutator
def evaluations(tree: Tree) -> Iterator[Mutant]:
    """An evaluation without its overhead scope."""
    life = tree.vocabulary.lifecycle
    for site in sites(tree):
        if site.helper.name in _named(life.evaluate_helpers) and site.call.args:
            group_class = tree.vocabulary.group_classes[0].name
            brought = [tree.importing(site.source, name) for name in ("umbrella_span", group_class)]
            if None in brought:
                continue
            name = site.source.segment(site.call.args[0])
            text = f'umbrella_span({group_class}.U_EVALUATE, "rl." + {name} + ".evaluate")'
            changes = [site.source.replace(site.call, text)]
            changes += [change for more in brought for change in more or ()]
            yield in_source(
                "PAIR", "evaluation without scope", "408", site.source, site.line, changes
            )
    for source in tree.users:
        for node in source.nodes:
            item = source.parents.get(node)
            is_scope = isinstance(node, ast.Call) and last(node) in _named(life.overhead_scopes)
            if is_scope and isinstance(item, ast.withitem) and not item.optional_vars:
                change = source.replace(node, "open(__file__)")
                yield in_source(
                    "PAIR", "overhead scope dropped", "408", source, node.lineno, [change]
                )  # type: ignore[attr-defined]


@mutator
def by_hand(tree: Tree) -> Iterator[Mutant]:
    """A span started by hand is not ended; a span that may be ``None`` is used."""
    for source, name, function in _started(tree):
        for node in ast.walk(function):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            if getattr(node.func.value, "id", "") != name or node.func.attr != "end":
                continue
            yield in_source(
                "PAIR", "span not ended", "407", source, node.lineno, [source.replace(node, "pass")]
            )
            guard = source.statement(source.parents[source.statement(node)])
            if isinstance(guard, ast.If) and len(guard.body) == 1 and not guard.orelse:
                unguarded = source.replace(guard, source.segment(node))
                yield in_source("PAIR", "end unguarded", "801", source, node.lineno, [unguarded])
    setters = _named(tree.vocabulary.attributes.setters)
    for source in tree.users:
        for node in source.nodes:
            if isinstance(node, ast.Call) and last(node) in setters and len(node.args) == 2:
                span, values = (source.segment(a) for a in node.args)
                if _is_optional(tree, source, node, span):
                    text = f"{span}.set_attributes({values})"
                    yield in_source(
                        "PAIR",
                        "setter unguarded",
                        "801",
                        source,
                        node.lineno,
                        [source.replace(node, text)],
                    )


def _started(tree: Tree) -> Iterator[tuple[Source, str, ast.AST]]:
    for site in sites(tree):
        parent, function = site.source.parents.get(site.call), site.source.function(site.call)
        if site.helper.use == "start" and isinstance(parent, ast.Assign) and function is not None:
            yield site.source, getattr(parent.targets[0], "id", ""), function


def _is_optional(tree: Tree, source: Source, node: ast.AST, span: str) -> bool:
    """Whether a name is bound by a helper in the same function, with no guard around its use."""
    function = source.function(node)
    if any(isinstance(n, ast.If) for n in source.above(node)):
        return False
    for site in sites(tree):
        if site.source is not source or source.function(site.call) is not function:
            continue
        parent = source.parents.get(site.call)
        target = parent.optional_vars if isinstance(parent, ast.withitem) else None
        if isinstance(parent, ast.Assign):
            target = parent.targets[0]
        if getattr(target, "id", "") == span:
            return True
    return False


@mutator
def across_yield(tree: Tree) -> Iterator[Mutant]:
    """A span's context stays attached across a yield."""
    helper = next((h for h in tree.vocabulary.helpers if h.use == "context" and h.group), None)
    if helper is None or not tree.vocabulary.group_classes:
        return
    owner = tree.vocabulary.group_classes[0]
    member = next(iter(owner.values))
    for source in tree.users:
        for node in source.nodes:
            function, statement = source.function(node), source.parents.get(node)
            if not isinstance(node, ast.Yield) or function is None:
                continue
            if any("contextmanager" in source.segment(d) for d in function.decorator_list):
                continue
            brought = [tree.importing(source, n) for n in (helper.name, owner.name)]
            if None in brought or not isinstance(statement, ast.Expr):
                continue
            changes = [change for more in brought for change in more or ()]
            header = f'with {helper.name}({owner.name}.{member}, "rl.spelled"):'
            yield in_source(
                "NEST", "attached across a yield", "405", source, node.lineno,
                [source.wrapped(statement, header), *changes],
            )  # fmt: skip
