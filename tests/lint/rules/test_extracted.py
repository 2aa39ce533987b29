"""RLT308: near misses and their faulty twins."""

from __future__ import annotations

import textwrap

import pytest

from rltel_lint.rules.extracted import ContextNeverUsed
from tests.lint.support import lint, marked, reported

_HEAD = """
from opentelemetry import context, propagate, trace
from opentelemetry.context import attach
from opentelemetry.propagate import extract
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from rl_telemetry.instrumentation import remote_trace_context, remote_trace_parent

tracer = trace.get_tracer("app")
"""

_CASES = {
    "held and never read": """
        def serve(headers):
            parent = extract(headers)  # <- RLT308
            with tracer.start_as_current_span("rl.serve"):
                return work()
        """,
    "passed to the span": """
        def serve(headers):
            parent = extract(headers)
            with tracer.start_as_current_span("rl.serve", context=parent):
                return work()
        """,
    "attached": """
        def serve(headers):
            parent = propagate.extract(headers)
            token = context.attach(parent)
            work()
            context.detach(token)
        """,
    "attached at once": """
        def serve(headers):
            attach(extract(headers))
            work()
        """,
    "dropped": """
        def serve(headers):
            propagate.extract(headers)  # <- RLT308
            work()
        """,
    "dropped on purpose": """
        def serve(headers):
            _ = propagate.extract(headers)
            work()
        """,
    "returned": """
        def parent_of(headers):
            return extract(headers)

        def serve(headers):
            work(parent_of(headers))
        """,
    "what returns it is dropped": """
        def parent_of(headers):
            return extract(headers) if headers else None

        def serve(headers):
            parent = parent_of(headers)  # <- RLT308
            work()
        """,
    "what returns it is overridden": """
        class Base:
            def parent_of(self, headers):
                return extract(headers)

            def serve(self, headers):
                found = self.parent_of(headers)
                work()

        class Other(Base):
            def parent_of(self, headers):
                self.parent = 1
        """,
    "stored on an object": """
        class Server:
            def serve(self, headers):
                self.parent = extract(headers)
                work()
        """,
    "stored in a container": """
        def serve(headers, parents):
            parents["one"] = extract(headers)
            work()
        """,
    "conditional and never read": """
        def serve(headers):
            parent = extract(headers) if headers else None  # <- RLT308
            work()
        """,
    "read in a nested function": """
        def serve(headers, pool):
            parent = extract(headers)

            def run():
                with tracer.start_as_current_span("rl.serve", context=parent):
                    work()

            pool.submit(run)
        """,
    "read in one branch": """
        def serve(headers, wants):
            parent = extract(headers)
            if wants:
                attach(parent)
            work()
        """,
    "global": """
        def serve(headers):
            global parent
            parent = extract(headers)
            work()
        """,
    "of the module": """
        parent = extract({})
        """,
    "local names are all handed on": """
        def serve(headers):
            parent = extract(headers)
            return render(**locals())
        """,
    "a propagator of its own": """
        def serve(headers):
            parent = TraceContextTextMapPropagator().extract(headers)  # <- RLT308
            work()
        """,
    "a propagator of its own, used": """
        def serve(headers):
            parent = TraceContextTextMapPropagator().extract(headers)
            work(parent)
        """,
    "the global propagator": """
        def serve(headers):
            parent = propagate.get_global_textmap().extract(headers)  # <- RLT308
            work()
        """,
    "the global propagator, returned": """
        def parent_of(headers):
            return propagate.get_global_textmap().extract(headers)
        """,
    "another extract": """
        def serve(archive, folder):
            archive.extract("member", folder)
            done = archive.extract("other", folder)
        """,
    "a context manager that is not entered": """
        def serve(carrier):
            remote_trace_context(carrier)  # <- RLT308
            work()
        """,
    "a context manager that is entered": """
        def serve(carrier):
            with remote_trace_context(carrier):
                work()
        """,
    "a context manager that is entered later": """
        def serve(carrier, stack):
            scope = remote_trace_context(carrier)
            stack.enter_context(scope)
            work()
        """,
    "the parent of this project's runtime": """
        def serve(carrier):
            parent = remote_trace_parent(carrier)  # <- RLT308
            work()
        """,
    "bound in passing": """
        def serve(headers):
            if (parent := extract(headers)):
                attach(parent)
            work()
        """,
}


@pytest.mark.parametrize("case", _CASES)
def test_a_context_that_is_extracted_is_used(case: str) -> None:
    files = {"server.py": f"{_HEAD}\n{textwrap.dedent(_CASES[case])}"}
    assert reported(lint(files, ContextNeverUsed)) == marked(files)


def test_the_profile_knows_the_extractors_of_lens() -> None:
    files = {
        "worker.py": """
            from nemo.lens.contrib.ray import extract_ray_context

            def held(carrier):
                parent = extract_ray_context(carrier)  # <- RLT308
                work()

            def used(carrier, tracer):
                parent = extract_ray_context(carrier)
                with tracer.start_as_current_span("rl.a", context=parent):
                    work()
            """
    }
    assert reported(lint(files, ContextNeverUsed, profile="nemo_lens")) == marked(files)


def test_the_message_names_the_function_and_the_name() -> None:
    files = {"server.py": f"{_HEAD}\n{textwrap.dedent(_CASES['held and never read'])}"}
    (finding,) = lint(files, ContextNeverUsed)
    assert finding.message == (
        'the caller\'s context that extract returns is held in "parent" and never used, so spans '
        "here start traces of their own; attach it, or pass it as context="
    )
