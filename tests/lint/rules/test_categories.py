"""RLT601 to RLT603: which waits are declared, measured, restated."""

from __future__ import annotations

import pytest

from rltel_lint.rules.categories import CategoriesRestated, UndeclaredCategory, UnmeasuredCategory
from tests.lint.support import lint, marked, project, reported

CATEGORIES = """
--- categories.py
WALL_CLOCK_EFFICIENCY_CATEGORIES = ["init/total", "idle/refit_bubble", "idle/validation"]
"""

#: Ways to measure a category: what a user may write, with the category as a hole.
MEASURED = {
    "timer block": 'def f(timer):\n    with timer.time("{c}"):  # <-\n        ...',
    "keyword": 'def f(timer):\n    with timer.time(label="{c}"):  # <-\n        ...',
    "record": 'def f(timer):\n    timer.record("{c}", 3.0)  # <-',
    "start and stop": 'def f(timer):\n    timer.start("{c}")  # <-\n    work()\n    timer.stop(L)'
    "\nL = 'init/total'",
    "attribute": 'class A:\n    def f(self):\n        self._timer.start("{c}")  # <-',
    "efficiency span": "from rl_telemetry.instrumentation import efficiency_span\n"
    'def f():\n    with efficiency_span("{c}"):  # <-\n        ...',
    "alias": "from rl_telemetry import instrumentation as tel\n"
    'def f():\n    with tel.efficiency_span(category="{c}"):  # <-\n        ...',
    "constant": 'WAIT = "{c}"  # <-\ndef f(timer):\n    with timer.time(WAIT):\n        ...',
    "annotated constant": 'WAIT: str = "{c}"  # <-\ndef f(timer):\n    timer.start(WAIT)',
    "local variable": 'def f(timer):\n    wait = "{c}"  # <-\n    timer.start(wait)',
    "dict": 'WAITS = {{"a": "{c}"}}  # <-\ndef f(timer, k):\n    timer.start(WAITS["a"])',
    "loop": 'def f(timer):\n    for wait in ["{c}"]:  # <-\n        timer.start(wait)',
    "wrapper": "def timed(timer, key):\n    return timer.time(key)\n"
    'def f(timer):\n    with timed(timer, "{c}"):  # <-\n        ...',
    "f-string with the family": "FAMILY = '{head}'\n"
    'def f(timer):\n    timer.start(f"{{FAMILY}}/{tail}")  # <-',
    "f-string": 'def f(timer):\n    wait = "{tail}"\n    timer.start(f"{head}/{{wait}}")  # <-',
}


@pytest.mark.parametrize("how", MEASURED)
@pytest.mark.parametrize("category", ["idle/refit_bubble", "idle/refit_bubbles", "idle/queue"])
def test_undeclared_category(how: str, category: str) -> None:
    head, _, tail = category.partition("/")
    mark = "" if category == "idle/refit_bubble" else "<- RLT601"
    code = MEASURED[how].format(c=category, head=head, tail=tail).replace("<-", mark)
    rest = "\ndef g(timer):\n    timer.start('init/total')\n    timer.start('idle/validation')\n"
    files = {**project(CATEGORIES), "pkg/train.py": f"{code}\n{rest}"}
    found = lint(files, UndeclaredCategory)
    assert reported(found) == marked(files)


@pytest.mark.parametrize("how", MEASURED)
def test_measured_in_every_way(how: str) -> None:
    code = MEASURED[how].format(c="idle/refit_bubble", head="idle", tail="refit_bubble")
    rest = "\ndef g(timer):\n    timer.start('init/total')\n    timer.start('idle/validation')\n"
    files = {**project(CATEGORIES), "pkg/train.py": f"{code}\n{rest}"}
    assert lint(files, UnmeasuredCategory) == []
    gone = {**project(CATEGORIES), "pkg/train.py": rest}
    (finding,) = lint(gone, UnmeasuredCategory)
    assert '"idle/refit_bubble" is declared in WALL_CLOCK' in finding.message


#: What a timer is also used for, or looks like it; the second is the fault next to it.
NEAR_MISSES = {
    "other keys of a timer": ('timer.start("policy_training")', 'timer.start("idle/queue")'),
    "a key under init/ that is no category": (
        'timer.start("init/tokenizer")',
        'timer.start("init/totals")',
    ),
    "a path": ('open("idle/queue")', 'timer.time("idle/queue")'),
    "asking": ('seconds.get("idle/queue", 0.0)', 'timer.record("idle/queue", 0.0)'),
    "unknown": ("timer.start(name())", 'timer.start("idle/" + "queue")'),
    "a key of its own": (
        'seconds["idle/queue"] += 1.0',
        'seconds["idle/refit_buble"] += 1.0',
    ),
    "a key of a dict": (
        'seconds.update({"idle/refit_bubble": 1.0})',
        'seconds.update({"idle/refit_bubbles": 1.0})',
    ),
    "a sentence": ('print("idle/queue")', 'timer.stop("idle/queue")'),
}


@pytest.mark.parametrize("case", NEAR_MISSES)
def test_near_misses(case: str) -> None:
    clean, faulty = NEAR_MISSES[case]
    for code, expected in ((clean, 0), (faulty, 1)):
        files = {**project(CATEGORIES), "t.py": f"def f(timer, seconds, name):\n    {code}\n"}
        assert len(lint(files, UndeclaredCategory)) == expected


def test_categories_of_the_library_need_no_list() -> None:
    code = """
    from rl_telemetry.instrumentation import efficiency_span

    def f():
        with efficiency_span("idle/refit_bubble"):
            ...
        with efficiency_span("idle/refit_buble"):  # <- RLT601
            ...
    """
    files = {"t.py": code}
    assert reported(lint(files, UndeclaredCategory)) == marked(files)
    assert lint(files, UnmeasuredCategory) == []


def test_lists_that_are_not_fully_known_say_nothing() -> None:
    grown = 'WALL_CLOCK_EFFICIENCY_CATEGORIES = ["init/total"]{more}\n'
    timed = 'def f(timer):\n    timer.start("idle/queue")\n'
    known = {"c.py": grown.format(more=""), "t.py": timed}
    more = {"c.py": "from plugins import extra\n" + grown.format(more=" + extra()"), "t.py": timed}
    assert len(lint(known, UndeclaredCategory)) == 1
    assert lint(more, UndeclaredCategory) == []


def test_a_reserved_category_may_wait_for_its_measurement() -> None:
    files = {
        **project(CATEGORIES),
        "t.py": "def f(t):\n    t.start('init/total')\n    t.start('idle/validation')\n",
    }
    assert len(lint(files, UnmeasuredCategory)) == 1
    reserved = '[tool.rltel-lint]\nreserved = ["idle/refit_bubble"]\n'
    assert lint({**files, "pyproject.toml": reserved}, UnmeasuredCategory) == []


RESTATED = {
    "the same set again": (
        "_RUN_WINDOW_WALL_CLOCK_CATEGORIES = frozenset({'init/total'})",
        "_RUN_WINDOW_WALL_CLOCK_CATEGORIES = frozenset({'init/totals'})",
    ),
    "some of them on purpose": (
        "COLLECTOR_LOOP_CATEGORIES = {'idle/validation'}",
        "COLLECTOR_LOOP_CATEGORIES = {'idle/validaton'}",
    ),
    "a copy under another name": (
        "SHOWN = ['init/total', 'idle/refit_bubble', 'idle/validation']",
        "SHOWN = ['init/total', 'idle/refit_bubble', 'idle/validation', 'idle/queue']",
    ),
    "two of many words": (
        "WORDS = ['idle/a', 'idle/b', 'idle/validation']",
        "WORDS = ['init/total', 'idle/refit_bubble', 'idle/validation', 'idle/b']",
    ),
    "derived": (
        "from categories import WALL_CLOCK_EFFICIENCY_CATEGORIES\n"
        "EFFICIENCY_CATEGORY_BUCKET = {c: 'idle' for c in WALL_CLOCK_EFFICIENCY_CATEGORIES}",
        "EFFICIENCY_CATEGORY_BUCKET = {'init/total': 1, 'idle/refit_bubble': 2}",
    ),
    "a mapping with all of them": (
        "EFFICIENCY_CATEGORY_BUCKET = {'init/total': 1, 'idle/refit_bubble': 2,"
        " 'idle/validation': 3}",
        "EFFICIENCY_CATEGORY_BUCKET = {'init/total': 1, 'idle/refit_bubble': 2,"
        " 'idle/validaton': 3}",
    ),
}


@pytest.mark.parametrize("case", RESTATED)
def test_restated(case: str) -> None:
    for code, expected in zip(RESTATED[case], (0, 1), strict=True):
        files = {
            **project(CATEGORIES),
            "own.py": "RUN_WINDOW_WALL_CLOCK_CATEGORIES = frozenset({'init/total'})",
            "t.py": code,
        }
        assert len(lint(files, CategoriesRestated)) >= expected
        assert bool(lint(files, CategoriesRestated)) == bool(expected)


def test_documents_list_the_declared_categories() -> None:
    table = """See `rl.idle.x`.

| Category | Bucket |
|---|---|
| `init/total` | `idle` |
| `idle/refit_bubble` | `idle` |
"""
    row = "| `idle/validation` | c |\n"
    assert lint({**project(CATEGORIES), "docs/m.md": table + row}, CategoriesRestated) == []
    (missing,) = lint({**project(CATEGORIES), "docs/m.md": table}, CategoriesRestated)
    assert '"idle/validation" is declared, but the documents' in missing.message
    wrong = row.replace("validation", "validations")
    (stale,) = lint({**project(CATEGORIES), "docs/m.md": table + wrong}, CategoriesRestated)
    assert 'did you mean "idle/validation"' in stale.message
    assert stale.place.path == "docs/m.md"


FOUR = """
--- categories.py
WALL_CLOCK_EFFICIENCY_CATEGORIES = ["init/total", "idle/a", "idle/b", "idle/c"]
"""


@pytest.mark.parametrize(
    ("copy", "expected"),
    [
        ('["init/total", "idle/a", "idle/b", "idle/c"]', 0),
        ('["init/total", "idle/a", "idle/b"]', 1),
        ('["init/total", "idle/a", "idle/b"]  # without the last', 0),
        ('["idle/b", "idle/a", "init/total"]', 0),
        ('["idle/a", "idle/b"]', 0),
    ],
)
def test_a_copy_that_lost_one(copy: str, expected: int) -> None:
    files = {**project(FOUR), "t.py": f"SHOWN = {copy}\n"}
    found = lint(files, CategoriesRestated)
    assert len(found) == expected
    assert all('lacks "idle/c"' in one.message for one in found)


@pytest.mark.parametrize(("copy", "expected"), [("'step', 'job'", 0), ("'job'", 1)])
def test_a_list_of_umbrella_groups_that_is_defined_twice(copy: str, expected: int) -> None:
    files = {
        "a.py": "UMBRELLA_GROUPS = frozenset({'job', 'step'})\n",
        "b.py": f"_UMBRELLA_GROUPS = frozenset([{copy}])\n",
        "c.py": "from a import UMBRELLA_GROUPS\n",
    }
    assert len(lint(files, CategoriesRestated)) == expected
