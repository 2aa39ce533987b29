"""RLT805, RLT806 and RLT808: groups before set-up, work behind the gate, the project's helpers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rltel_lint.facts import nodes as n
from rltel_lint.findings import Finding, Place
from rltel_lint.project.calls import CallSite
from rltel_lint.project.model import Function, Module, Scope
from rltel_lint.project.resolve import External
from rltel_lint.project.spans import call_means
from rltel_lint.rules.base import Rule
from rltel_lint.rules.wording import shown

if TYPE_CHECKING:
    from rltel_lint.project.linked import Project
    from rltel_lint.project.spans import SpanSite

_FETCHES = {"item", "tolist", "cpu", "numpy"}
_MANY, _SHARE = 3, 5


def _name(site: SpanSite) -> str:
    return shown(sorted(site.name.templates)[0]) if site.name.templates else "…"


class RegisteredAfterSetup(Rule):
    """Set-up decides which groups are on, from the groups that are registered by then. A group
    that is registered later was unknown when the configuration was read: it is reported as
    pending, presets such as `all` do not have it, and spans that open in between are lost.

    Register before telemetry is started: call `register_span_groups()` first, or register when
    the module that declares the groups is imported.
    """

    code = "RLT805"
    name = "registered-after-setup"
    summary = "span groups are registered after telemetry is started"
    bad = """
        --- run.py
        from rl_telemetry.registry import SpanRegistry
        from rl_telemetry.setup import init_telemetry_driver

        def main(config):
            init_telemetry_driver(config, "grpo")
            SpanRegistry.register("app", ["fetch"])  # <- RLT805
        --- app.py
        from rl_telemetry.instrumentation import managed_span

        def fetch():
            with managed_span("fetch", "rl.app.fetch"):
                return None
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.app.fetch` | fetching |
    """
    good = """
        --- run.py
        from rl_telemetry.registry import SpanRegistry
        from rl_telemetry.setup import init_telemetry_driver

        def main(config):
            SpanRegistry.register("app", ["fetch"], {"app": ["fetch"]})
            init_telemetry_driver(config, "grpo")
        --- app.py
        from rl_telemetry.instrumentation import managed_span

        def fetch():
            with managed_span("fetch", "rl.app.fetch"):
                return None
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.app.fetch` | fetching |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each registration that comes too late in its function."""
        facts = project.lifecycle
        known = project.vocabulary.registrations
        if not known or not facts.is_started_somewhere:
            return
        uses = facts.flow.uses(known)
        registering = frozenset(scope for scope, _, _ in uses if isinstance(scope, Function))
        leading = facts.flow.leading(registering)
        starts = [
            (scope, statement, node)
            for scope, statement, node in facts.start_calls
            if isinstance(scope, Function)
        ]
        for scope, start, node in starts:
            path = scope.paths.get(start, ())
            later = {statement for block, index in path for statement in _below(block[index + 1 :])}
            reported = False
            for where, statement, used in uses:
                if where is scope and statement in later and not reported:
                    reported = True
                    yield self._finding(scope, used, node)
            for statement in sorted(later, key=lambda one: one.at):
                if reported:
                    break
                for written, target in facts.flow.steps_in(statement, scope, leading):
                    way = facts.flow.path(target, registering, leading, 2)
                    if way is not None and not facts.starts(target):
                        reported = True
                        yield self._finding(scope, written, node)
                        break

    def _finding(self, scope: Function, late: n.Node, start: n.Node) -> Finding:
        return self.finding(
            scope.place(late),
            f"span groups are registered in {scope.label} after telemetry is started there, so "
            "the configuration did not know them; register them first",
            [(scope.place(start), "telemetry is started here")],
        )


def _below(block: tuple[n.Stmt, ...]) -> Iterator[n.Stmt]:
    for statement in block:
        if isinstance(statement, (n.FunctionDef, n.ClassDef)):
            continue
        yield statement
        for inner in n.blocks(statement):
            yield from _below(inner)


class WorkAheadOfGate(Rule):
    """Arguments are worked out before the helper can look whether the span's group is on. An
    f-string with a call in it, or `tensor.item()`, which waits for the device, is then paid at
    every step of a run without telemetry.

    Set such attributes inside, under `if span is not None`, or test `is_span_group_enabled`
    first. A helper of the project that imports something above its own test of the gate is
    reported too: the import system is asked at every call. Off by default, since what is cheap
    enough is for the project to say.
    """

    code = "RLT806"
    name = "work-ahead-of-gate"
    summary = "work is done for a span before its group is known to be on"
    default = False
    severity = "warning"
    bad = """
        --- train.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def reward(batch):
            with managed_span(
                RLSpanGroup.REWARD,
                "rl.grpo.reward",
                **{"rl.epoch": batch.epoch.item()},  # <- RLT806
            ):
                return batch
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.reward` | scoring |

        | Attribute | Meaning |
        |---|---|
        | `rl.epoch` | the epoch |
    """
    good = """
        --- train.py
        from rl_telemetry.instrumentation import managed_span, safe_set_span_attributes
        from rl_telemetry.span_groups import RLSpanGroup

        def reward(batch):
            with managed_span(RLSpanGroup.REWARD, "rl.grpo.reward") as span:
                if span is not None:
                    safe_set_span_attributes(span, {"rl.epoch": batch.epoch.item()})
                return batch
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.reward` | scoring |

        | Attribute | Meaning |
        |---|---|
        | `rl.epoch` | the epoch |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for the first costly argument of each gated span."""
        yield from self._imports(project)
        gates = {gate.name for gate in project.vocabulary.gates}
        for site in project.spans.sites:
            function = site.function
            if not site.helper.optional or function is None or site.at.decorates is not None:
                continue
            if _under_gate(site, function, gates):
                continue
            for arg in site.at.call.args:
                costly = _costly(arg.value)
                if costly is not None:
                    yield self.finding(
                        function.place(costly),
                        f'work is done for span "{_name(site)}" before its group is known to be '
                        "on; set it inside, or test the gate first",
                        [(site.place, "the span")],
                    )
                    break

    def _imports(self, project: Project) -> Iterator[Finding]:
        gates = project.vocabulary.gates
        for site in project.finder.named([gate.words for gate in gates]):
            function = site.function
            if function is None or call_means(site, gates, project.resolver) is None:
                continue
            if project.span_finder.implements(f"{function.module.name}."):
                continue
            early = _imported_above(site, function)
            if early is not None:
                yield self.finding(
                    function.place(early),
                    f"{function.label} imports this before it asks whether the group is on; "
                    "import it behind the gate, or at the top of the module",
                    [(site.place, "the gate")],
                )


def _imported_above(gate: CallSite, function: Function) -> n.Import | None:
    """The first import that runs before a gate is asked, and that asking it does not need."""
    if not isinstance(gate.statement, n.If) or gate.call not in set(n.walk(gate.statement.test)):
        return None
    needed = {node.id for node in n.walk(gate.statement.test) if isinstance(node, n.Name)}
    for block, index in function.paths.get(gate.statement, ()):
        for statement in block[:index]:
            if isinstance(statement, n.Import):
                if not needed & {bound for _, bound in statement.names}:
                    return statement
    return None


def _costly(expr: n.Expr) -> n.Node | None:
    for node in n.walk(expr, into_functions=False):
        if isinstance(node, n.FString):
            if any(isinstance(p, n.Expr) and _has_call(p) for p in node.parts):
                return node
        elif isinstance(node, n.Call) and isinstance(node.func, n.Attribute):
            if node.func.attr in _FETCHES and not node.args:
                return node
    return None


def _has_call(expr: n.Expr) -> bool:
    return any(isinstance(node, n.Call) for node in n.walk(expr))


def _under_gate(site: SpanSite, function: Function, gates: set[str]) -> bool:
    path = function.paths.get(site.at.statement, ())
    return any(
        isinstance(outer := block[index], n.If)
        and any(
            (node.attr if isinstance(node, n.Attribute) else getattr(node, "id", "")) in gates
            for node in n.walk(outer.test)
        )
        for block, index in path[:-1]
    )


class PastOwnHelpers(Rule):
    """A project that wraps the tracing library in helpers of its own does so to add something:
    a bucket, an iteration, a gate. A module that imports the library's helper instead opens
    spans that lack it, and nothing shows at the call.

    Import the project's helper. Reported is a helper of the library that the project wraps
    under the same name, and a raw OpenTelemetry span in a project that opens nearly all of its
    spans through its own helper. The helper's own package may use the library.
    """

    code = "RLT808"
    name = "past-own-helpers"
    summary = "a span is opened through the tracing library, past the project's own helper"
    bad = """
        --- app/__init__.py
        --- app/tracing.py
        from contextlib import contextmanager
        from opentelemetry import trace

        _tracer = trace.get_tracer("app")

        @contextmanager
        def traced(name):
            with _tracer.start_as_current_span(name, attributes={"rl.bucket": "idle"}) as span:
                yield span
        --- a.py
        from app.tracing import traced

        def a():
            with traced("rl.app.a"):
                return None

        def b():
            with traced("rl.app.b"):
                return None

        def c():
            with traced("rl.app.c"):
                return None

        def d():
            with traced("rl.app.d"):
                return None

        def e():
            with traced("rl.app.e"):
                return None
        --- b.py
        from opentelemetry import trace

        tracer = trace.get_tracer("app")

        def f():
            with tracer.start_as_current_span("rl.app.f"):  # <- RLT808
                return None
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.app.{a,b,c,d,e,f}` | the parts |
    """
    good = """
        --- app/__init__.py
        --- app/tracing.py
        from contextlib import contextmanager
        from opentelemetry import trace

        _tracer = trace.get_tracer("app")

        @contextmanager
        def traced(name):
            with _tracer.start_as_current_span(name) as span:
                yield span
        --- a.py
        from app.tracing import traced

        def a():
            with traced("rl.app.a"):
                return None
        --- b.py
        from app.tracing import traced

        def b():
            with traced("rl.app.b"):
                return None
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.app.{a,b}` | the parts |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each span that is opened past a helper."""
        own = _own_helpers(project)
        if not own:
            return
        raw = [site for site in project.spans.sites if site.helper.receiver and not site.via]
        reported: dict[Place, list[SpanSite]] = {}
        for site in project.spans.sites:
            helper = own.get(site.helper.name) if not site.via else None
            if helper is None or _same_package(site.at.scope.module, helper.module):
                continue
            if site.helper.receiver:
                outside = [o for o in raw if not _same_package(o.at.scope.module, helper.module)]
                if _through(project, helper) >= max(_MANY, _SHARE * len(outside)):
                    reported[site.place] = [site]
                continue
            imported = _imported_at(project, site)
            if imported is not None:
                reported.setdefault(imported, []).append(site)
        for place, sites in sorted(reported.items()):
            helper = own[sites[0].helper.name]
            at = n.Name(helper.node.name_at, helper.name)
            yield self.finding(
                place,
                f'span "{_name(sites[0])}" is opened through {sites[0].helper.name} of the '
                f"tracing library, past the project's own {helper.name} of {helper.module.name}; "
                "use that",
                [
                    (helper.place(at), "the project's helper"),
                    *((site.place, "opened here") for site in sites if site.place != place),
                ],
            )


def _own_helpers(project: Project) -> dict[str, Function]:
    """The project's helpers at module level, by the library's helper that they wrap."""
    found: dict[str, Function] = {}
    for site in project.spans.inner:
        function = site.function
        while function is not None and function.outer is not None:
            function = function.outer
        if function is None or function.owner is not None or site.via:
            continue
        if site.helper.receiver or function.name == site.helper.name:
            if function in project.spans.helpers:
                found.setdefault(site.helper.name, function)
    return found


def _through(project: Project, helper: Function) -> int:
    return sum(
        helper in site.via and not _same_package(site.at.scope.module, helper.module)
        for site in project.spans.sites
    )


def _same_package(one: Module, two: Module) -> bool:
    if one is two:
        return True
    folder = two.path.rpartition("/")[0]
    return bool(folder) and one.path.startswith(f"{folder}/")


def _imported_at(project: Project, site: SpanSite) -> Place | None:
    """Where a site's module imports the helper from the library itself, ``None`` if nowhere."""
    func = site.at.call.func
    while isinstance(func, n.Attribute):
        func = func.base
    if not isinstance(func, n.Name):
        return None
    bindings, where = project.resolver.lookup(func.id, site.at.scope)
    for binding in bindings if where is not None else ():
        if where is not None and isinstance(binding.node, n.Import):
            for module in _sources(project, binding.node, where):
                if any(f"{module}.".startswith(f"{known}.") for known in site.helper.modules):
                    return where.place(binding.node)
    return None


def _sources(project: Project, node: n.Import, where: Scope) -> Iterator[str]:
    """The outside modules that an import names."""
    if node.module is None:
        yield from (original for original, _ in node.names)
        return
    source = project.resolver.imported_module(node, where.module)
    if isinstance(source, External):
        yield source.name
        yield from (f"{source.name}.{original}" for original, _ in node.names)
