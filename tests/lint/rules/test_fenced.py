"""RLT901: Python in documents agrees with the code."""

from __future__ import annotations

import pytest

from rltel_lint.rules.examples import ExampleDisagrees
from tests.lint.support import lint, project

CODE = """
--- pkg/__init__.py
--- pkg/train.py
from contextlib import contextmanager
import functools

from rl_telemetry.instrumentation import managed_span, umbrella_span
from rl_telemetry.span_groups import RLSpanGroup

class Pool:
    def __init__(self, size, *, name=""):
        ...

def score(prompts, *, limit=3):
    with managed_span(RLSpanGroup.REWARD, "rl.grpo.reward"):
        ...

def step():
    with umbrella_span(RLSpanGroup.U_STEP, "rl.grpo.step"):
        ...

def anything(*args, **kwargs):
    ...

@functools.lru_cache
def cached(size):
    ...

def opened(group, name):
    return managed_span(group, name)

def twice():
    with opened("reward", "rl.twice"):
        ...
    with opened("logprob", "rl.twice"):
        ...
--- pkg/lazy.py
def __getattr__(name):
    ...
"""
IMPORTS = """
from pkg.train import Pool, anything, cached, opened, score
from rl_telemetry.instrumentation import managed_span, umbrella_span
from rl_telemetry.span_groups import RLSpanGroup as G
"""

#: What an example may say, and what is wrong next to it.
EXAMPLES = {
    "group": (
        "managed_span(G.REWARD, 'rl.grpo.reward')",
        "managed_span(G.LOGPROB, 'rl.grpo.reward')",
    ),
    "group as text": (
        "managed_span('reward', 'rl.grpo.reward')",
        "managed_span('rewards', 'rl.grpo.reward')",
    ),
    "group by keyword": (
        "managed_span(name='rl.grpo.reward', group='reward')",
        "managed_span(name='rl.grpo.reward', group='logprob')",
    ),
    "a constant": ("managed_span(G.REWARD, 'rl.n')", "managed_span(RLSpanGroup.REWARDS, 'rl.n')"),
    "a name with a hole": (
        "managed_span(G.REWARD, f'rl.{algorithm}.reward')",
        "managed_span(G.LOGPROB, f'rl.{algorithm}.reward')",
    ),
    "own helper": ("opened('reward', 'rl.twice')", "opened('advantage', 'rl.twice')"),
    "umbrella": ("umbrella_span(G.U_STEP, 'rl.grpo.step')", "managed_span(G.STEP, 'rl.grpo.step')"),
    "leaf": ("managed_span(G.REWARD, 'rl.new')", "umbrella_span(G.REWARD, 'rl.new')"),
    "an argument": ("score(data, limit=3)", "score(data, limits=3)"),
    "a position": ("score(data)", "score(data, 3)"),
    "a constructor": ("Pool(3, name='x')", "Pool(3, title='x')"),
    "an import": ("from pkg.train import step", "from pkg.train import stepp"),
    "a module": ("import pkg.train", "from pkg.trian import step"),
}


def _page(code: str, head: str = IMPORTS, before: str = "Like this:") -> str:
    return f"# Spans of `rl.*`\n\n{before}\n\n```python\n{head}\n{code}\n```\n"


@pytest.mark.parametrize("what", EXAMPLES)
def test_examples(what: str) -> None:
    for code, expected in zip(EXAMPLES[what], (0, 1), strict=True):
        files = {**project(CODE), "docs/d.md": _page(code)}
        found = lint(files, ExampleDisagrees)
        assert len(found) == expected, code
        lines = files["docs/d.md"].splitlines()
        assert all(lines[f.place.line - 1] == code for f in found)


@pytest.mark.parametrize("what", ["group", "umbrella", "leaf"])
def test_examples_that_leave_their_imports_out(what: str) -> None:
    for code, expected in zip(EXAMPLES[what], (0, 1), strict=True):
        page = _page(code.replace("G.", "RLSpanGroup."), head="")
        assert len(lint({**project(CODE), "docs/d.md": page}, ExampleDisagrees)) == expected


def test_a_name_of_an_earlier_fence_is_known() -> None:
    page = _page("pool = Pool(3)") + "\nThen:\n\n```python\nscore(pool{more})\n```\n"
    for more, expected in (("", 0), (", limits=1", 1)):
        files = {**project(CODE), "docs/d.md": page.replace("{more}", more)}
        assert len(lint(files, ExampleDisagrees)) == expected


def test_an_indented_fence_is_reported_where_it_stands() -> None:
    code = "  ```python\n  import os\n  from pkg.train import stepp\n  ```\n"
    page = f"# `rl.*`\n\n- Like this:\n\n{code}"
    (finding,) = lint({**project(CODE), "docs/d.md": page}, ExampleDisagrees)
    assert (finding.place.line, finding.place.column) == (7, 3)


LEFT_ALONE = {
    "something left out": "score(..., limits=3)",
    "unpacked": "score(data, **options)",
    "takes anything": "anything(1, 2, x=3)",
    "decorated": "cached(1, 2, 3)",
    "made up": "from pkg.train import my_step",
    "a made-up module": "from pkg.my_module import step",
    "a lazy module": "from pkg.lazy import step",
    "another package": "from torch.train import stepp",
    "one of several groups": "opened('logprob', 'rl.twice')",
    "a group that is not known": "managed_span(group, 'rl.grpo.reward')",
    "a new span": "managed_span(G.LOGPROB, 'rl.mine.score')",
    "an unknown receiver": "thing.score(data, 3)",
    "its own function": "def score(a, b):\n    ...\nscore(1, 2)",
}


@pytest.mark.parametrize("case", LEFT_ALONE)
def test_left_alone(case: str) -> None:
    page = _page(LEFT_ALONE[case])
    assert lint({**project(CODE), "docs/d.md": page}, ExampleDisagrees) == []
    faulty = _page(LEFT_ALONE[case] + "\nfrom pkg.train import stepp")
    assert len(lint({**project(CODE), "docs/d.md": faulty}, ExampleDisagrees)) == 1


WRONG = "score(data, 3)"


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (_page(WRONG), 1),
        (_page(WRONG, before="Do not write this:"), 0),
        (_page(WRONG, before="For data that you do not own, and before a step:"), 1),
        (_page(WRONG, before="Before 2.0:"), 0),
        (_page(f"{WRONG}  # wrong"), 0),
        (_page(f"{WRONG}\nthis is no Python"), 0),
        (_page(WRONG).replace("```python", "```text"), 0),
        (_page(WRONG).replace("```python", "```py"), 1),
    ],
)
def test_blocks_that_are_not_to_be_copied(page: str, expected: int) -> None:
    assert len(lint({**project(CODE), "docs/d.md": page}, ExampleDisagrees)) == expected


def test_a_module_that_the_page_says_to_create() -> None:
    page = _page("from pkg.trains import step", before="Create `pkg/trains.py`, then:")
    assert lint({**project(CODE), "docs/d.md": page}, ExampleDisagrees) == []
    other = page.replace("pkg/trains.py", "it")
    assert len(lint({**project(CODE), "docs/d.md": other}, ExampleDisagrees)) == 1
