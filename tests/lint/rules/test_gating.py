"""RLT805, RLT806 and RLT808: near misses and their faulty twins."""

from __future__ import annotations

import textwrap

import pytest

from rltel_lint.rules.gating import PastOwnHelpers, RegisteredAfterSetup, WorkAheadOfGate
from tests.lint.support import lint, marked, project, reported

_SETUP = """
from rl_telemetry.registry import SpanRegistry
from rl_telemetry.setup import init_telemetry_driver, init_telemetry_worker

def register():
    SpanRegistry.register("app", ["fetch"])
"""

_ORDER = {
    "after": """
        def main(config):
            init_telemetry_driver(config, "grpo")
            SpanRegistry.register("app", ["fetch"])  # <- RLT805
        """,
    "before": """
        def main(config):
            SpanRegistry.register("app", ["fetch"])
            init_telemetry_driver(config, "grpo")
        """,
    "after, through a helper": """
        def main(config):
            init_telemetry_driver(config, "grpo")
            register()  # <- RLT805
        """,
    "before, through a helper": """
        def main(config):
            register()
            init_telemetry_driver(config, "grpo")
        """,
    "in another branch": """
        def main(config, driver):
            if driver:
                init_telemetry_driver(config, "grpo")
            else:
                register()
        """,
    "after a branch": """
        def main(config, driver):
            if driver:
                init_telemetry_driver(config, "grpo")
            register()  # <- RLT805
        """,
    "in another function": """
        def one(config):
            init_telemetry_driver(config, "grpo")

        def two():
            register()
        """,
    "a function that starts by itself": """
        def boot(config):
            register()
            init_telemetry_driver(config, "grpo")

        def main(config):
            init_telemetry_driver(config, "grpo")
            boot(config)
        """,
    "in a worker": """
        class Worker:
            def __init__(self):
                init_telemetry_worker()
                register()  # <- RLT805
        """,
}


@pytest.mark.parametrize("case", _ORDER)
def test_order(case: str) -> None:
    files = {"run.py": _SETUP + textwrap.dedent(_ORDER[case])}
    assert reported(lint(files, RegisteredAfterSetup)) == marked(files)


_WORK = {
    "an item": 'managed_span(REWARD, "rl.a", **{"rl.k": loss.item()})  # <- RLT806',
    "a plain value": 'managed_span(REWARD, "rl.a", **{"rl.k": step})',
    "a call that is cheap": 'managed_span(REWARD, "rl.a", **{"rl.k": len(batch)})',
    "an f-string": 'managed_span(REWARD, f"rl.{kind}")',
    "an f-string with a call": 'managed_span(REWARD, f"rl.{kind.lower()}")  # <- RLT806',
    "an item of a dict": 'managed_span(REWARD, "rl.a", **{"rl.k": batch.item("k")})',
    "no gate": 'tracer.start_as_current_span(f"rl.{kind.lower()}")',
}


@pytest.mark.parametrize("gated", [False, True], ids=["open", "gated"])
@pytest.mark.parametrize("case", _WORK)
def test_work(case: str, gated: bool) -> None:
    indent = "        " if gated else "    "
    gate = "    if is_span_group_enabled(REWARD):\n" if gated else ""
    text = (
        "from opentelemetry import trace\n"
        "from rl_telemetry.instrumentation import is_span_group_enabled, managed_span\n"
        "from rl_telemetry.span_groups import RLSpanGroup\n\n"
        "REWARD = RLSpanGroup.REWARD\ntracer = trace.get_tracer('a')\n\n"
        f"def f(batch, loss, step, kind):\n{gate}{indent}with (\n"
        f"{indent}    {_WORK[case]}\n{indent}):\n{indent}    pass\n"
    )
    files = {"code.py": text}
    assert reported(lint(files, WorkAheadOfGate)) == (set() if gated else marked(files))


_ABOVE = {
    "above the gate": """
        def leaf(group, name):
            from heavy import sdk  # <- RLT806
            if not is_span_group_enabled(group):
                return None
            return sdk.start(name)
        """,
    "behind the gate": """
        def leaf(group, name):
            if not is_span_group_enabled(group):
                return None
            from heavy import sdk
            return sdk.start(name)
        """,
    "inside the gate": """
        def leaf(group, name):
            if is_span_group_enabled(group):
                from heavy import sdk
                return sdk.start(name)
        """,
    "the gate itself": """
        def leaf(group, name):
            from rl_telemetry.instrumentation import is_span_group_enabled
            if is_span_group_enabled(group):
                return start(name)
        """,
    "what the gate is asked with": """
        def leaf(name):
            from rl_telemetry.span_groups import RLSpanGroup
            if is_span_group_enabled(RLSpanGroup.REWARD):
                return start(name)
        """,
    "further out": """
        def leaf(group, names):
            import heavy  # <- RLT806
            for name in names:
                if is_span_group_enabled(group):
                    heavy.start(name)
        """,
    "on another branch": """
        def leaf(group, name, other):
            if other:
                import heavy
                return heavy.start(name)
            if is_span_group_enabled(group):
                return start(name)
        """,
    "no gate": """
        def leaf(group, name):
            from heavy import sdk
            if not is_wanted(group):
                return None
            return sdk.start(name)
        """,
}


@pytest.mark.parametrize("case", _ABOVE)
def test_an_import_above_the_gate(case: str) -> None:
    head = "from rl_telemetry.instrumentation import is_span_group_enabled\n"
    files = {"code.py": head + textwrap.dedent(_ABOVE[case])}
    assert reported(lint(files, WorkAheadOfGate)) == marked(files)


_LENS = """
--- app/__init__.py
--- app/telemetry/__init__.py
from nemo.lens import span_cm
from app.telemetry.spans import managed_span
--- app/telemetry/spans.py
from contextlib import contextmanager
from nemo.lens import managed_span as _managed_span

@contextmanager
def managed_span(group, name, tracer=None, **attributes):
    with _managed_span(group, name, tracer=tracer, **{"rl.bucket": "idle"}) as span:
        yield span
--- app/loop.py
from app.telemetry.spans import managed_span

def step():
    with managed_span("step", "rl.step"):
        return None
--- app/telemetry/extra.py
from nemo.lens import managed_span

def inside():
    with managed_span("a", "rl.inside"):
        return None
"""

_IMPORTS = {
    "the project's": """
        from app.telemetry.spans import managed_span

        def f():
            with managed_span("a", "rl.f"):
                return None
        """,
    "re-exported": """
        from app.telemetry import managed_span

        def f():
            with managed_span("a", "rl.f"):
                return None
        """,
    "the library's": """
        from nemo.lens import managed_span  # <- RLT808

        def f():
            with managed_span("a", "rl.f"):
                return None

        def g():
            with managed_span("a", "rl.g"):
                return None
        """,
    "the library's, by its module": """
        import nemo.lens.helpers as lens  # <- RLT808

        def f():
            with lens.managed_span("a", "rl.f"):
                return None
        """,
    "a helper that is not wrapped": """
        from nemo.lens import span_cm

        def f():
            with span_cm("rl.f"):
                return None
        """,
    "re-exported, not wrapped": """
        from app.telemetry import span_cm

        def f():
            with span_cm("rl.f"):
                return None
        """,
    "one raw span among few": """
        from opentelemetry import trace

        tracer = trace.get_tracer("app")

        def f():
            with tracer.start_as_current_span("rl.f"):
                return None
        """,
}


@pytest.mark.parametrize("case", _IMPORTS)
def test_import(case: str) -> None:
    files = project(_LENS)
    files["work.py"] = textwrap.dedent(_IMPORTS[case])
    found = lint(files, PastOwnHelpers, profile="nemo_lens")
    assert reported(found) == marked(files)
