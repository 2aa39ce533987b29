"""RLT809 and RLT810: telemetry that importing a module starts or configures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rltel_lint.findings import Finding
from rltel_lint.project.import_reads import ImportReads
from rltel_lint.project.import_time import StartsAtImport
from rltel_lint.project.imports import ImportGraph
from rltel_lint.rules.base import Rule

if TYPE_CHECKING:
    from rltel_lint.project.linked import Project


class StartedAtImport(Rule):
    """Whoever imports the module starts telemetry with it: a test, a tool that only wants a
    constant, each worker that Ray starts. A provider can be set once in a process, so an
    application that sets its own afterwards is refused with a warning and exports nothing. What is
    made before a `fork` is copied into the child, with its threads gone; and what the launcher
    sets after its imports (the rank, the resource attributes) comes too late.

    Put it into a function that the program calls. Reported is only a module that others import at
    their top level, or a package. A script that nobody imports may do it, and so may anything
    under `if __name__ == "__main__":`.
    """

    code = "RLT809"
    name = "started-at-import"
    summary = "importing a module starts telemetry or sets a provider for the whole process"
    bad = """
        --- tracing.py
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider

        trace.set_tracer_provider(TracerProvider())  # <- RLT809
        tracer = trace.get_tracer("app")
        --- app.py
        from tracing import tracer

        def fetch():
            with tracer.start_as_current_span("rl.app.fetch"):
                return None
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.app.fetch` | fetching |
    """
    good = """
        --- tracing.py
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider

        tracer = trace.get_tracer("app")

        def start():
            trace.set_tracer_provider(TracerProvider())
        --- app.py
        from tracing import start, tracer

        def fetch():
            with tracer.start_as_current_span("rl.app.fetch"):
                return None

        if __name__ == "__main__":
            start()
            fetch()
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.app.fetch` | fetching |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each such call."""
        graph = ImportGraph(project.modules, project.resolver)
        words = project.vocabulary.lifecycle
        facts = StartsAtImport(words, project.modules, project.lifecycle, graph)
        for started, importer in facts.find():
            module = started.scope.module
            what = (
                f"{started.callee}() decides for the whole process"
                if started.is_provider
                else f"{started.callee}() starts telemetry"
            )
            related = [] if importer.path == module.path else [(importer, "imported here")]
            if started.inner is not None:
                related.append((started.inner, "it is started here"))
            yield self.finding(
                started.scope.place(started.call),
                f"{what} as soon as {module.name} is imported; call it in a function that the "
                "program runs",
                related,
            )


class ReadAtImport(Rule):
    """A variable that is read while a module is imported keeps the value of that moment. What is
    set later is not seen: what `init_telemetry_driver` derives from the configuration, what a
    launcher sets after its imports. With `fork` nothing shows; in a spawned process the value is
    another one.

    Read it where it is used, in a function. Reported is a value that a function sets after the
    import, one that set-up in the same module relies on, and a copy of the whole environment that
    a variable is taken from. A script that nobody imports is not, nor is a value that only the
    module itself uses.
    """

    code = "RLT810"
    name = "read-at-import"
    summary = "a variable that configures telemetry is read when its module is imported"
    severity = "warning"
    bad = """
        --- identity.py
        import os

        _ENV = dict(os.environ)  # <- RLT810

        def attributes():
            return _ENV.get("OTEL_RESOURCE_ATTRIBUTES", "").split(",")
        --- run.py
        from identity import attributes

        print(attributes())
    """
    good = """
        --- identity.py
        import os

        def attributes():
            return os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "").split(",")
        --- run.py
        from identity import attributes

        print(attributes())
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each read that something later shows to be too early."""
        facts = ImportReads(
            project.vocabulary.environment_prefixes,
            project.modules,
            project.resolver,
            project.evaluator,
            project.uses,
            project.lifecycle,
            ImportGraph(project.modules, project.resolver),
        )
        for early in facts.find():
            kept = f', and kept in "{early.held}"' if early.held else ", as a default"
            yield self.finding(
                early.scope.place(early.node),
                f'"{early.variable}" is read when {early.scope.module.name} is imported{kept}, so '
                "what is set later is not seen; read it in the function that needs it",
                [(early.later, early.why)],
            )
