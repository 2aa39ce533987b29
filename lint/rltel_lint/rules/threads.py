"""RLT306 and RLT307: the context in threads, and keywords that Ray cannot see."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rltel_lint.facts import nodes as n
from rltel_lint.findings import Finding
from rltel_lint.project.model import Function
from rltel_lint.project.threads import Threads
from rltel_lint.rules.base import Rule
from rltel_lint.rules.wording import shown

if TYPE_CHECKING:
    from rltel_lint.project.linked import Project


class ThreadWithoutContext(Rule):
    """A thread starts with an empty context: spans that it opens are not children of the span
    that was current where the thread was started, but roots of traces of their own. The scopes
    of `rl_telemetry` (iteration, bucket) are lost with it.

    Wrap the function in `bind_trace_context(function)`, or use `TracedThread` and
    `TracedThreadPoolExecutor`; or attach a carrier inside it with `remote_trace_context`.
    `asyncio.to_thread` copies the context and is fine. A thread that is started while no span is
    open is not reported.
    """

    code = "RLT306"
    name = "thread-without-context"
    summary = "a thread opens spans without the context of its starter"
    bad = """
        --- pool.py
        from concurrent.futures import ThreadPoolExecutor
        from rl_telemetry.instrumentation import managed_span, umbrella_span
        from rl_telemetry.span_groups import RLSpanGroup

        def score(batch):
            with managed_span(RLSpanGroup.REWARD, "rl.grpo.reward"):
                return batch

        def step(batches):
            with umbrella_span(RLSpanGroup.U_STEP, "rl.grpo.step"):
                with ThreadPoolExecutor() as pool:
                    return [pool.submit(score, batch) for batch in batches]  # <- RLT306
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.step` | one step |
        | `rl.grpo.reward` | scoring |
    """
    good = """
        --- pool.py
        from concurrent.futures import ThreadPoolExecutor
        from rl_telemetry.instrumentation import managed_span, umbrella_span
        from rl_telemetry.span_groups import RLSpanGroup
        from rl_telemetry.threads import bind_trace_context

        def score(batch):
            with managed_span(RLSpanGroup.REWARD, "rl.grpo.reward"):
                return batch

        def step(batches):
            with umbrella_span(RLSpanGroup.U_STEP, "rl.grpo.step"):
                with ThreadPoolExecutor() as pool:
                    return [pool.submit(bind_trace_context(score), batch) for batch in batches]
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.step` | one step |
        | `rl.grpo.reward` | scoring |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each such hand-over."""
        binders = project.vocabulary.lifecycle.binders
        facts = Threads(
            project.vocabulary,
            project.spans,
            project.resolver,
            project.finder,
            project.carriers,
            project.lifecycle.flow,
        )
        remedy = (
            f"wrap it in {binders[0].name}()" if binders else "attach the context of its starter"
        )
        for spawn in facts.spawns():
            names = spawn.site.name.templates
            name = shown(sorted(names)[0]) if names else "…"
            yield self.finding(
                spawn.at.place,
                f"{spawn.function.label} runs in a thread, which does not inherit the trace "
                f'context, so span "{name}" starts a new trace; {remedy}',
                [(spawn.site.place, "the span")],
            )


class KeywordHiddenFromRay(Rule):
    """Ray checks the arguments of a remote call against the signature of the method, and looks
    for it below every `functools.wraps`. A decorator whose wrapper takes one more keyword is not
    seen: the call fails with a `TypeError` as soon as somebody sends it.

    Set `wrapper.__signature__` with the keyword in it (or delete `wrapper.__wrapped__`), or use
    `@accepts_trace_context`, which does.
    """

    code = "RLT307"
    name = "keyword-hidden-from-ray"
    summary = "a wrapper of remote methods adds a keyword that Ray's signature check cannot see"
    bad = """
        --- workers.py
        import functools
        import ray

        def traced(method):
            @functools.wraps(method)
            def wrapper(*args, _otel_carrier=None, **kwargs):  # <- RLT307
                return method(*args, **kwargs)
            return wrapper

        @ray.remote
        class Policy:
            @traced
            def train(self, batch):
                return batch
    """
    good = """
        --- workers.py
        import functools
        import inspect
        import ray

        def traced(method):
            @functools.wraps(method)
            def wrapper(*args, span_name=None, **kwargs):
                return method(*args, **kwargs)
            extra = inspect.Parameter("span_name", inspect.Parameter.KEYWORD_ONLY, default=None)
            known = inspect.signature(method)
            wrapper.__signature__ = known.replace(parameters=[*known.parameters.values(), extra])
            return wrapper

        @ray.remote
        class Policy:
            @traced
            def train(self, batch):
                return batch
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each wrapper, with the methods that it decorates."""
        keyword = project.vocabulary.carriers.keyword
        for decorator, methods in _own_decorators(project).items():
            wrapper = _wrapper(decorator)
            if wrapper is None or _advertises(project, decorator):
                continue
            for added, at in _added(wrapper):
                hidden = [method for method in methods if not _takes(method, added)]
                if not hidden or (added != keyword and not _is_sent(project, added)):
                    continue
                yield self.finding(
                    decorator.place(at),
                    f'{decorator.name} adds the keyword "{added}", which Ray does not see below '
                    f"functools.wraps and refuses; set __signature__ on the wrapper",
                    [
                        (m.place(n.Name(m.node.name_at, m.name)), f"decorates {m.label}")
                        for m in hidden[:3]
                    ],
                )
                break


def _own_decorators(project: Project) -> dict[Function, list[Function]]:
    """The project's own decorators of remote methods and tasks, plain or called."""
    found: dict[Function, list[Function]] = {}
    wrapping = {
        name
        for module, unit in project.modules.units_mentioning("wraps")
        if not project.carriers.is_library(module)
        for name in unit.binds
    }
    if not wrapping:
        return found
    pattern = re.compile(rf"@(?:\w+\.)*(?:{'|'.join(map(re.escape, sorted(wrapping)))})\b")
    for module, names in project.modules.having(wrapping).items():
        for unit in module.facts.units_with_any(names):
            if not unit.search(pattern):
                continue
            for function in project.carriers.classes.functions_in(module, unit):
                if not _is_remote(project, function):
                    continue
                for used in function.node.decorators:
                    func = used.func if isinstance(used, n.Call) else used
                    for entity in project.resolver.of(func, function.parent or module):
                        if isinstance(entity, Function):
                            found.setdefault(entity, []).append(function)
    return found


def _is_remote(project: Project, function: Function) -> bool:
    classes = project.carriers.classes
    if function.owner is not None:
        return classes.is_remote(function.owner)
    return classes.is_task(function)


def _wrapper(decorator: Function) -> Function | None:
    """The innermost function of a decorator that ``functools.wraps`` decorates."""
    for statement in decorator.paths:
        if isinstance(statement, n.FunctionDef):
            inner = decorator.module.function(statement, None, decorator)
            for used in statement.decorators:
                func = used.func if isinstance(used, n.Call) else used
                if (n.dotted(func) or "").rpartition(".")[2] == "wraps":
                    return inner
            below = _wrapper(inner)
            if below is not None:
                return below
    return None


def _advertises(project: Project, decorator: Function) -> bool:
    """Whether a decorator, or a function that it calls, sets the signature; unknown ones may."""
    if _says_signature(decorator):
        return True
    scopes = [decorator, *_nested(decorator)]
    for scope in scopes:
        for statement in scope.paths:
            if isinstance(statement, (n.FunctionDef, n.ClassDef)):
                continue
            for node in n.own_nodes(statement):
                if isinstance(node, n.Call) and node.args:
                    passed = {a.value.id for a in node.args if isinstance(a.value, n.Name)}
                    if not passed & {inner.name for inner in scopes[1:]}:
                        continue
                    targets = [
                        e for e in project.resolver.of(node.func, scope) if isinstance(e, Function)
                    ]
                    if not targets or any(map(_says_signature, targets)):
                        return True
    return False


def _nested(function: Function) -> Iterator[Function]:
    for statement in function.paths:
        if isinstance(statement, n.FunctionDef):
            inner = function.module.function(statement, None, function)
            yield inner
            yield from _nested(inner)


def _says_signature(function: Function) -> bool:
    lines = function.module.facts.excerpt(function.node.at[0], function.node.at[2])
    return any("__signature__" in line or "__wrapped__" in line for line in lines)


def _added(wrapper: Function) -> Iterator[tuple[str, n.Node]]:
    """The keywords that a wrapper takes beyond those of what it wraps."""
    items = wrapper.node.params.items
    for param in items[1:] if items and items[0].kind in {"positional", "either"} else items:
        if param.kind in {"keyword", "either"} and param.default is not None:
            yield param.name, param
    rest = next((param.name for param in items if param.kind == "**"), None)
    for statement in wrapper.paths:
        for node in n.own_nodes(statement):
            if (
                isinstance(node, n.Call)
                and isinstance(node.func, n.Attribute)
                and node.func.attr == "pop"
                and isinstance(node.func.base, n.Name)
                and node.func.base.id == rest
                and node.args
                and isinstance(node.args[0].value, n.Const)
                and isinstance(node.args[0].value.value, str)
            ):
                yield node.args[0].value.value, node


def _takes(method: Function, keyword: str) -> bool:
    params = method.node.params
    return params.named(keyword) is not None or any(p.kind == "**" for p in params.items)


def _is_sent(project: Project, keyword: str) -> bool:
    """Whether some remote call sends the keyword."""
    pattern = re.compile(rf"\.remote\((?:[^()]|\([^()]*\))*\b{re.escape(keyword)}\s*=")
    return any(
        module.facts.has(keyword) and module.facts.search(pattern) for module in project.modules
    )
