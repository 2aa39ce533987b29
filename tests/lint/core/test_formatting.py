"""What is found does not depend on how the code is laid out."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings

from tests.lint.core.programs import programs
from tests.lint.core.support import check, rows

PAGE = rows("rl.documented", "rl.a", "rl.built", "rl.<x>.t", "rl.derived.d")
HAND_WRITTEN = """
from contextlib import contextmanager
from rl_telemetry.instrumentation import managed_span, span_cm, trace_fn, umbrella_span
from rl_telemetry.registry import SpanRegistry
from rl_telemetry.span_groups import RLSpanGroup

SpanRegistry.register("tree", ["search", "prune"], presets={"deep": ["search", "serach"]})

NAMES = {"a": "rl.tree." + "a", "b": f"rl.{'tree'}.b"}
CHANGED = {"x": "rl.never"}
CHANGED["x"] = str(input())

@contextmanager
def phase(name, *, group=RLSpanGroup.REWARD):
    with managed_span(group, f"rl.{name}"):
        yield

class Trainer:
    algorithm = "grpo"

    @trace_fn(RLSpanGroup.U_STEP, "rl.step")
    def step(self, tail="t"):
        with umbrella_span(RLSpanGroup.GENERATION, name=f"rl.{self.algorithm}.{tail}"), phase("b"):
            yield self.inner(1)

    def inner(self, x):
        for key, name in NAMES.items():
            with managed_span("search", name) if x else managed_span("prunes", "grpo." + key):
                span_cm(CHANGED["x"])
                span_cm("%s.%s" % ("rl", "".join(["c", key])))

def run():
    Trainer().step(tail="u" if run else "v")
    with phase("outer", group=RLSpanGroup.ADVANTAGE):
        Trainer().inner(2)
"""


def findings(source: str) -> Counter[tuple[str, str]]:
    """Codes and messages without line numbers, each as often as it is reported."""
    found = check({"train.py": source, "docs/a.md": PAGE})
    return Counter((f.code, re.sub(r"\.py:\d+", ".py", f.message)) for f in found)


def unparsed(source: str) -> str:
    return ast.unparse(ast.parse(source))


def ruffed(source: str, *options: str) -> str:
    command = [sys.executable, "-m", "ruff", "format", "--isolated", *options, "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=True)
    return done.stdout


def narrow(source: str) -> str:
    return ruffed(source, "--line-length", "20")


def wide(source: str) -> str:
    return ruffed(source, "--line-length", "300")


def other_quotes(source: str) -> str:
    return ruffed(source, "--config", 'format.quote-style = "single"')


def commented(source: str) -> str:
    """A comment behind every line that ends a statement or opens a block, and blank lines."""
    ends = {node.end_lineno for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)}
    lines = source.splitlines()
    return "".join(
        f"{line}  # managed_span(1, 'rl.no')\n\n" if number in ends else f"{line}\n"
        for number, line in enumerate(lines, 1)
    )


def parenthesised(source: str) -> str:
    """Parentheses around every right-hand side, argument and context that takes them."""
    return re.sub(r"(?m)^(\s*(?:\w+|\w+\[.*\]) = )([^#\n]+[^,({\[\n])$", r"\1((\2))", source)


LAYOUTS = (unparsed, narrow, wide, other_quotes, commented, parenthesised)


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__)
def test_layout_of_a_hand_written_file(layout) -> None:
    other = layout(HAND_WRITTEN)
    assert ast.dump(ast.parse(other)) == ast.dump(ast.parse(HAND_WRITTEN))
    assert other != HAND_WRITTEN
    expected = findings(HAND_WRITTEN)
    assert len({code for code, _ in expected}) >= 6
    assert findings(other) == expected


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs())
def test_layout_of_generated_programs(source: str) -> None:
    expected = findings(source)
    for layout in (unparsed, narrow):
        assert findings(layout(source)) == expected


def test_a_change_of_meaning_changes_what_is_found() -> None:
    assert findings(HAND_WRITTEN.replace('"grpo"', '"ppo"')) != findings(HAND_WRITTEN)
