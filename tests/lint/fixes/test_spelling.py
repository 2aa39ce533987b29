"""Helpers and aliases (RLT401 to RLT403): the call, its import, and nothing else."""

from __future__ import annotations

import pytest

from tests.lint.fixes.support import check, codes, mended, text

DOCS = text(
    """
    | Span | What it covers |
    |---|---|
    | `rl.a.b` | it |
    """
)

CASES = {
    "leaf helper, umbrella group": (
        """
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def step():
            with managed_span( RLSpanGroup.STEP , "rl.a.b",n=1 ):  # odd   spacing
                ...
        """,
        """
        from rl_telemetry.instrumentation import umbrella_span
        from rl_telemetry.span_groups import RLSpanGroup

        def step():
            with umbrella_span( RLSpanGroup.U_STEP , "rl.a.b",n=1 ):  # odd   spacing
                ...
        """,
        "RLT402",
    ),
    "group as a string keeps its spelling": (
        """
        from rl_telemetry.instrumentation import managed_span

        def step():
            with managed_span('step', 'rl.a.b'):
                ...
        """,
        """
        from rl_telemetry.instrumentation import umbrella_span

        def step():
            with umbrella_span('step', 'rl.a.b'):
                ...
        """,
        "RLT402",
    ),
    "umbrella helper, leaf group, other uses of the helper": (
        """
        from rl_telemetry.instrumentation import umbrella_span  # spans
        from rl_telemetry.span_groups import RLSpanGroup

        def step():
            with umbrella_span(RLSpanGroup.U_STEP, "rl.a.b"):
                with umbrella_span(
                    RLSpanGroup.REWARD,  # not an umbrella
                    "rl.a.b",
                ):
                    ...
        """,
        """
        from rl_telemetry.instrumentation import managed_span, umbrella_span  # spans
        from rl_telemetry.span_groups import RLSpanGroup

        def step():
            with umbrella_span(RLSpanGroup.U_STEP, "rl.a.b"):
                with managed_span(
                    RLSpanGroup.REWARD,  # not an umbrella
                    "rl.a.b",
                ):
                    ...
        """,
        "RLT401",
    ),
    "an import of one name a line, in order, with comments": (
        """
        from rl_telemetry.instrumentation import (
            current_trace_carrier,
            managed_span,  # leaves
        )
        from rl_telemetry.span_groups import RLSpanGroup as Groups

        carrier = current_trace_carrier()
        with managed_span(Groups.JOB, "rl.a.b"):
            with managed_span(Groups.REWARD, "rl.a.c"):
                ...
        """,
        """
        from rl_telemetry.instrumentation import (
            current_trace_carrier,
            managed_span,  # leaves
            umbrella_span,
        )
        from rl_telemetry.span_groups import RLSpanGroup as Groups

        carrier = current_trace_carrier()
        with umbrella_span(Groups.U_JOB, "rl.a.b"):
            with managed_span(Groups.REWARD, "rl.a.c"):
                ...
        """,
        "RLT402",
    ),
    "through the module": (
        """
        from rl_telemetry import instrumentation as inst
        from rl_telemetry.span_groups import RLSpanGroup

        with inst.managed_span(RLSpanGroup.JOB, "rl.a.b"):
            ...
        """,
        """
        from rl_telemetry import instrumentation as inst
        from rl_telemetry.span_groups import RLSpanGroup

        with inst.umbrella_span(RLSpanGroup.U_JOB, "rl.a.b"):
            ...
        """,
        "RLT402",
    ),
    "import under another name": (
        """
        from rl_telemetry.instrumentation import managed_span as span, umbrella_span as outer
        from rl_telemetry.span_groups import RLSpanGroup

        with span(RLSpanGroup.JOB, "rl.a.b"):
            ...
        """,
        """
        from rl_telemetry.instrumentation import managed_span as span, umbrella_span as outer
        from rl_telemetry.span_groups import RLSpanGroup

        with outer(RLSpanGroup.U_JOB, "rl.a.b"):
            ...
        """,
        "RLT402",
    ),
    "import within the function": (
        """
        def run():
            from rl_telemetry.instrumentation import managed_span

            with managed_span("job", "rl.a.b"):
                with managed_span("reward", "rl.a.c"):
                    ...
        """,
        """
        def run():
            from rl_telemetry.instrumentation import managed_span, umbrella_span

            with umbrella_span("job", "rl.a.b"):
                with managed_span("reward", "rl.a.c"):
                    ...
        """,
        "RLT402",
    ),
    "decorators": (
        """
        from rl_telemetry.instrumentation import trace_fn

        @trace_fn("job", "rl.a.b")
        def run(): ...
        """,
        """
        from rl_telemetry.instrumentation import umbrella_trace_fn

        @umbrella_trace_fn("job", "rl.a.b")
        def run(): ...
        """,
        "RLT402",
    ),
    "a long import becomes one name a line": (
        """
        from rl_telemetry.instrumentation import current_trace_carrier, managed_span, trace_fn

        trace_fn(current_trace_carrier)
        with managed_span("job", "rl.a.b"):
            with managed_span("reward", "rl.a.c"):
                ...
        """,
        """
        from rl_telemetry.instrumentation import (
            current_trace_carrier,
            managed_span,
            trace_fn,
            umbrella_span,
        )

        trace_fn(current_trace_carrier)
        with umbrella_span("job", "rl.a.b"):
            with managed_span("reward", "rl.a.c"):
                ...
        """,
        "RLT402",
    ),
    "alias": (
        """
        from rl_telemetry.instrumentation import umbrella_span
        from rl_telemetry.span_groups import RLSpanGroup

        with umbrella_span(group=RLSpanGroup.JOB, name="rl.a.b"):
            ...
        """,
        """
        from rl_telemetry.instrumentation import umbrella_span
        from rl_telemetry.span_groups import RLSpanGroup

        with umbrella_span(group=RLSpanGroup.U_JOB, name="rl.a.b"):
            ...
        """,
        "RLT403",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_call_and_import_are_respelled(name: str) -> None:
    before, after, code = CASES[name]
    files = {"train.py": text(before), "docs/spans.md": DOCS}
    found = codes(check(files))
    assert found["train.py", code]
    changed, done = mended(files, code)
    assert changed["train.py"] == text(after)
    assert not done.refused
    compile(changed["train.py"], "train.py", "exec")
    left = codes(check(changed))
    assert not left["train.py", code]
    assert not left - found
    again, more = mended(changed, code)
    assert again == changed
    assert not more.fixed


CASES["an import of its own, no longer used"] = (
    """
    from rl_telemetry.instrumentation import managed_span  # leaves
    from rl_telemetry.instrumentation import umbrella_span

    with managed_span("job", "rl.a.b"):
        ...
    """,
    """
    from rl_telemetry.instrumentation import umbrella_span

    with umbrella_span("job", "rl.a.b"):
        ...
    """,
    "RLT402",
)

REFUSED = {
    "the import may fail": """
        try:
            from rl_telemetry.instrumentation import managed_span
        except ImportError:
            print("no telemetry")

        with managed_span("job", "rl.a.b"):
            ...
        """,
    "the name means something else": """
        from rl_telemetry.instrumentation import managed_span

        def umbrella_span(*names): ...

        with managed_span("job", "rl.a.b"):
            ...
        """,
    "the import has a fallback": """
        try:
            from rl_telemetry.instrumentation import managed_span
        except ImportError:
            from fallback import managed_span

        with managed_span("job", "rl.a.b"):
            ...
        """,
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_respelled_safely_is_left_and_named(name: str) -> None:
    files = {"train.py": text(REFUSED[name]), "docs/spans.md": DOCS}
    assert codes(check(files))["train.py", "RLT402"]
    changed, done = mended(files)
    assert changed == files
    assert [finding.code for finding, _ in done.refused] == ["RLT402"]


def test_a_wrapper_module_without_the_other_helper_gets_no_fix() -> None:
    wrapper = "from rl_telemetry.instrumentation import managed_span\n"
    train = 'from tracing import managed_span\n\nwith managed_span("job", "rl.a.b"):\n    ...\n'
    files = {"tracing.py": wrapper, "train.py": train, "docs/spans.md": DOCS}
    finding = next(one for one in check(files) if one.code == "RLT402")
    assert finding.fix is None
    both = wrapper.replace("\n", ", umbrella_span\n")
    changed, _ = mended({**files, "tracing.py": both})
    assert changed["train.py"] == train.replace("managed_span", "umbrella_span")


def test_a_name_that_another_file_takes_from_here_stays_imported() -> None:
    files = {
        "train.py": text(CASES["decorators"][0]),
        "other.py": "from train import trace_fn\n",
        "docs/spans.md": DOCS,
    }
    changed, _ = mended(files)
    assert "import trace_fn, umbrella_trace_fn\n" in changed["train.py"]
