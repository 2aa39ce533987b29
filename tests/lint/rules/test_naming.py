"""RLT105 and RLT604: names that cannot be told, and names that differ from a timer's."""

from __future__ import annotations

import pytest

from rltel_lint.rules.naming import SpanNameUnknown, SpanUnlikeTimer
from tests.lint.support import lint

HEAD = """\
from rl_telemetry.instrumentation import efficiency_span, evaluate_span, managed_span
from rl_telemetry.span_groups import RLSpanGroup as G

NAMES = {"a": "rl.a", "b": "rl.b"}
KEY = "reward"

def f(timer, x):
    {code}
"""

NAMED = {
    "a literal": ('"rl.a"', 0),
    "a look-up": ('NAMES["a"]', 0),
    "any of a table": ("NAMES[x]", 0),
    "a choice": ('"rl.a" if x else "rl.b"', 0),
    "computed": ("x.name()", 1),
    "an argument that nobody passes": ("x", 1),
    "half of it": ('f"rl.{x}.step"', 1),
}


@pytest.mark.parametrize("how", NAMED)
def test_names_that_cannot_be_told(how: str) -> None:
    name, expected = NAMED[how]
    found = lint(
        {"t.py": HEAD.replace("{code}", f"managed_span(G.REWARD, {name})")}, SpanNameUnknown
    )
    assert len(found) == expected
    assert all("cannot be worked out: " in one.message for one in found)


def test_the_reason_is_said() -> None:
    (finding,) = lint(
        {"t.py": HEAD.replace("{code}", 'managed_span(G.REWARD, f"rl.{x.y}.step")')},
        SpanNameUnknown,
    )
    assert finding.message.startswith('span name "rl.….step" cannot be worked out: ')


#: Items of a ``with``, and whether they agree.
BLOCKS = {
    "the same": ('timer.time("reward"), managed_span(G.REWARD, "rl.grpo.reward")', 0),
    "the other way round": ('managed_span(G.REWARD, "rl.grpo.reward"), timer.time("reward")', 0),
    "a constant": ('timer.time(KEY), managed_span(G.REWARD, "rl.grpo.reward")', 0),
    "a category": ('timer.time("idle/refit_bubble"), efficiency_span("idle/refit_bubble")', 0),
    "no timer": ('managed_span(G.REWARD, "rl.grpo.reward")', 0),
    "an unknown key": ('timer.time(x), managed_span(G.REWARD, "rl.grpo.reward")', 0),
    "an unknown name": ('timer.time("reward"), managed_span(G.REWARD, x)', 0),
    "an exception": ('timer.time("total_step_time"), managed_span(G.STEP, "rl.grpo.step")', 0),
    "another exception": ('timer.time("validation"), evaluate_span("grpo")', 0),
    "something else": ('x.lock("y"), managed_span(G.REWARD, "rl.grpo.reward")', 0),
    "another word": ('timer.time("rewards"), managed_span(G.REWARD, "rl.grpo.reward")', 1),
    "only the end of a word": ('timer.time("ward"), managed_span(G.REWARD, "rl.grpo.reward")', 1),
    "another category": ('timer.time("idle/validation"), efficiency_span("idle/refit_bubble")', 1),
    "a choice": (
        'timer.time("reward" if x else "rl/grpo/reward"), managed_span(G.REWARD, "rl.grpo.reward")',
        0,
    ),
    "a choice with another word": (
        'timer.time("reward" if x else "rewards"), managed_span(G.REWARD, "rl.grpo.reward")',
        1,
    ),
    "a choice of both": (
        'timer.time("a" if x else "b"), managed_span(G.REWARD, "rl.a" if x else "rl.b")',
        0,
    ),
    "through a constant": ('timer.time(KEY), managed_span(G.REWARD, "rl.grpo.score")', 1),
}


@pytest.mark.parametrize("case", BLOCKS)
def test_spans_are_named_like_the_timer_beside_them(case: str) -> None:
    items, expected = BLOCKS[case]
    files = {"t.py": HEAD.replace("{code}", f"with {items}:\n        ...")}
    assert len(lint(files, SpanUnlikeTimer)) == expected


def test_a_project_lists_its_own_exceptions() -> None:
    files = {
        "t.py": HEAD.replace(
            "{code}",
            'with timer.time("total"), managed_span(G.REWARD, "rl.grpo.reward"):\n        ...',
        )
    }
    assert len(lint(files, SpanUnlikeTimer)) == 1
    table = '[tool.rltel-lint.vocabulary]\ntimer_exceptions = ["reward"]\n'
    assert lint({**files, "pyproject.toml": table}, SpanUnlikeTimer) == []


def test_both_are_asked_for() -> None:
    assert not SpanNameUnknown.default
    assert not SpanUnlikeTimer.default
