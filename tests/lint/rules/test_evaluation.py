"""RLT408: near misses and their faulty twins."""

from __future__ import annotations

import textwrap

import pytest

from rltel_lint.rules.evaluation import EvaluationWithoutScope
from tests.lint.support import lint, marked, reported

_HEAD = """
from contextlib import contextmanager
from rl_telemetry.buckets import Bucket
from rl_telemetry.instrumentation import (
    bucket_scope, evaluate_span, managed_span, trace_fn, umbrella_span, umbrella_trace_fn
)
from rl_telemetry.span_groups import RLSpanGroup

def generate(prompts):
    with managed_span(RLSpanGroup.GENERATION, "rl.grpo.generation"):
        return prompts
"""

_CASES = {
    "none": """
        def validate(prompts):
            with umbrella_span(RLSpanGroup.U_EVALUATE, "rl.grpo.evaluate"):  # <- RLT408
                return generate(prompts)
        """,
    "in the same with": """
        def validate(prompts):
            with (
                umbrella_span(RLSpanGroup.U_EVALUATE, "rl.grpo.evaluate"),
                bucket_scope(Bucket.OVERHEAD),
            ):
                return generate(prompts)
        """,
    "around": """
        def validate(prompts):
            with bucket_scope(Bucket.OVERHEAD):
                with umbrella_span(RLSpanGroup.U_EVALUATE, "rl.grpo.evaluate"):
                    return generate(prompts)
        """,
    "around the call": """
        def validate(prompts):
            with umbrella_span(RLSpanGroup.U_EVALUATE, "rl.grpo.evaluate"):
                return generate(prompts)

        def train(prompts):
            with bucket_scope(Bucket.OVERHEAD):
                validate(prompts)
        """,
    "around another call": """
        def validate(prompts):
            with umbrella_span(RLSpanGroup.U_EVALUATE, "rl.grpo.evaluate"):  # <- RLT408
                return generate(prompts)

        def train(prompts):
            with bucket_scope(Bucket.OVERHEAD):
                print("warm-up")
            validate(prompts)
        """,
    "inside, in a helper": """
        def score(prompts):
            with bucket_scope(Bucket.OVERHEAD):
                return generate(prompts)

        def validate(prompts):
            with umbrella_span(RLSpanGroup.U_EVALUATE, "rl.grpo.evaluate"):
                return score(prompts)
        """,
    "the helper": """
        def validate(prompts):
            with evaluate_span("grpo"):
                return generate(prompts)
        """,
    "the project's own helper": """
        @contextmanager
        def evaluation(algorithm):
            with umbrella_span(RLSpanGroup.U_EVALUATE, f"rl.{algorithm}.evaluate") as span:
                with bucket_scope(Bucket.OVERHEAD):
                    yield span

        def validate(prompts):
            with evaluation("grpo"):
                return generate(prompts)
        """,
    "the project's own helper without": """
        @contextmanager
        def evaluation(algorithm):
            with umbrella_span(RLSpanGroup.U_EVALUATE, f"rl.{algorithm}.evaluate") as span:
                yield span

        def validate(prompts):
            with evaluation("grpo"):  # <- RLT408
                return generate(prompts)
        """,
    "decorated": """
        @umbrella_trace_fn(RLSpanGroup.U_EVALUATE, "rl.grpo.evaluate")  # <- RLT408
        def validate(prompts):
            return generate(prompts)
        """,
    "decorated, with the scope in the body": """
        @umbrella_trace_fn(RLSpanGroup.U_EVALUATE, "rl.grpo.evaluate")
        def validate(prompts):
            with bucket_scope(Bucket.OVERHEAD):
                return generate(prompts)
        """,
    "another group": """
        def validate(prompts):
            with umbrella_span(RLSpanGroup.U_ROLLOUT, "rl.grpo.rollout"):
                return generate(prompts)
        """,
}


@pytest.mark.parametrize("case", _CASES)
def test_evaluation(case: str) -> None:
    files = {"validation.py": _HEAD + textwrap.dedent(_CASES[case])}
    assert reported(lint(files, EvaluationWithoutScope)) == marked(files)
