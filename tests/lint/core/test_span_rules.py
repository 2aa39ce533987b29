"""RLT101 to RLT106: what is said, where, and what stays clean."""

from __future__ import annotations

import pytest

from rltel_lint.findings import Finding
from rltel_lint.rules import spans
from tests.lint.core.support import check, codes, rows
from tests.lint.support import project

TRAIN = """
from rl_telemetry.instrumentation import managed_span
from rl_telemetry.span_groups import RLSpanGroup

def score():
    with managed_span(RLSpanGroup.REWARD, "rl.grpo.reward"):
        ...
"""


def only(files: dict[str, str], *rules: type) -> Finding:
    (finding,) = check(files, *rules)
    return finding


def test_undocumented_span_points_at_the_call() -> None:
    found = only(
        {"pkg/train.py": TRAIN, "docs/spans.md": rows("rl.grpo.job")}, spans.UndocumentedSpan
    )
    assert (found.place.path, found.place.line, found.place.column) == ("pkg/train.py", 5, 10)
    assert (found.place.end_line, found.place.end_column) == (5, 60)
    assert found.message == (
        'span "rl.grpo.reward" is not in the documents; add a row to a span table, or rename the '
        "span"
    )
    assert found.related == ()


def test_renamed_span_is_matched_with_its_stale_row() -> None:
    files = {"train.py": TRAIN, "docs/spans.md": rows("rl.grpo.rewards")}
    emitted, documented = check(files)[::-1]
    assert (emitted.code, documented.code) == ("RLT101", "RLT102")
    assert emitted.message == (
        'span "rl.grpo.reward" is not in the documents; did you mean "rl.grpo.rewards" '
        "(docs/spans.md:3)? Rename one of the two"
    )
    assert documented.message == (
        'documented span "rl.grpo.rewards" is emitted nowhere; did you mean "rl.grpo.reward" '
        "(train.py:5)?"
    )


def test_a_span_opened_by_a_helper_names_the_helper() -> None:
    source = (
        TRAIN
        + """
def phase(name):
    return managed_span(RLSpanGroup.REWARD, f"rl.{name}")

with phase("a"):
    ...
"""
    )
    found = only({"train.py": source, "docs/spans.md": rows("rl.grpo.reward")})
    assert 'span "rl.a" is not' in found.message
    assert found.place.line == 11
    assert [(related.place.line, related.message) for related in found.related] == [
        (8, "opened by phase")
    ]


CLEAN_PAGES = {
    "plain": rows("rl.grpo.reward"),
    "placeholder": rows("rl.<algo>.reward"),
    "alternatives": rows("rl.{grpo,ppo}.reward").replace("{grpo,ppo}", "{grpo,grpo}"),
    "wildcard": rows("rl.grpo.*"),
    "second page": "",
}


@pytest.mark.parametrize("page", CLEAN_PAGES, ids=str)
def test_documented_in_any_form_on_any_page(page: str) -> None:
    files = {"train.py": TRAIN, "docs/a.md": CLEAN_PAGES[page], "README.md": "Hello.\n"}
    if page == "second page":
        files["docs/deep/b.mdx"] = rows("rl.grpo.reward")
    assert codes(files) == []
    assert codes({**files, "train.py": TRAIN.replace("rl.grpo.reward", "rl.sft.x")})[-1] == "RLT101"


def test_rows_of_two_pages_count_together() -> None:
    files = {
        "train.py": TRAIN + 'managed_span(RLSpanGroup.REWARD, "rl.b")\n',
        "docs/a.md": rows("rl.grpo.reward"),
        "docs/b.rst": "Spans\n=====\n\n.. list-table::\n   :header-rows: 1\n\n   * - Span\n"
        "     - What it covers\n   * - ``rl.b``\n     - x\n",
    }
    assert codes(files) == []
    assert codes({path: text for path, text in files.items() if path != "docs/b.rst"}) == ["RLT101"]


NOT_DOCUMENTED = {
    "prose": "We emit `rl.grpo.reward` in every step.\n",
    "an attribute": "| Attribute | Meaning |\n|---|---|\n| `rl.grpo.reward` | x |\n",
    "a metric": "| Metric | Meaning |\n|---|---|\n| `rl.grpo.reward` | x |\n",
    "said to be gone": "`rl.grpo.reward` is no longer emitted.\n",
}


@pytest.mark.parametrize("page", NOT_DOCUMENTED, ids=str)
def test_a_mention_documents_nothing(page: str) -> None:
    files = {"train.py": TRAIN, "docs/a.md": NOT_DOCUMENTED[page], "docs/b.md": rows("rl.<x>.job")}
    assert "RLT101" in codes(files)


def test_a_name_said_not_to_be_emitted_is_no_claim() -> None:
    files = {
        "train.py": TRAIN,
        "docs/a.md": rows("rl.grpo.reward") + "\nThe span `rl.grpo.old` is no longer emitted.\n",
    }
    assert codes(files) == []
    assert codes({**files, "docs/a.md": rows("rl.grpo.reward", "rl.grpo.old")}) == ["RLT102"]


UNKNOWN = {
    "parameter without callers": "def f(n):\n    managed_span(RLSpanGroup.REWARD, n)",
    "prefix only": "def f(n):\n    managed_span(RLSpanGroup.REWARD, f'rl.{n}')",
    "read from outside": "managed_span(RLSpanGroup.REWARD, os.environ['X'])",
    "another namespace": "from opentelemetry import trace\n"
    "trace.get_tracer('x').start_span('http.get')",
}


@pytest.mark.parametrize("case", UNKNOWN, ids=str)
def test_what_is_not_known_is_not_reported(case: str) -> None:
    files = {"train.py": TRAIN + UNKNOWN[case] + "\n", "docs/a.md": rows("rl.grpo.reward")}
    assert codes(files) == []
    files["train.py"] += 'managed_span(RLSpanGroup.REWARD, "rl.planted")\n'
    assert codes(files) == ["RLT101"]


def test_a_pattern_is_shown_with_an_ellipsis() -> None:
    source = TRAIN + "def f(n):\n    managed_span(RLSpanGroup.REWARD, f'rl.grpo.{n}.end')\n"
    found = only({"train.py": source, "docs/a.md": rows("rl.grpo.reward")})
    assert 'span "rl.grpo.….end" is not in the documents' in found.message
    assert codes({"train.py": source, "docs/a.md": rows("rl.grpo.reward", "rl.grpo.<x>.end")}) == []


def test_stale_row_says_which_names_are_not_known() -> None:
    source = TRAIN + "def f(n):\n    managed_span(RLSpanGroup.REWARD, n)\n"
    found = only({"train.py": source, "docs/a.md": rows("rl.grpo.reward", "rl.zzz")})
    assert found.code == "RLT102"
    assert found.message == (
        'documented span "rl.zzz" is emitted nowhere; remove the row or mark it as reserved'
    )
    assert [related.message for related in found.related] == [
        "a span whose name is not known (f has no caller that passes n)"
    ]


STALE = {
    "plain": "rl.grpo.rewardz",
    "template": "rl.<algo>.update",
    "wildcard": "rl.ppo.*",
}


@pytest.mark.parametrize("row", STALE, ids=str)
def test_stale_rows_are_reported_in_every_form(row: str) -> None:
    page = rows("rl.grpo.reward", STALE[row])
    found = only({"train.py": TRAIN, "docs/a.md": page})
    assert (found.code, found.place.line, found.place.column) == ("RLT102", 4, 4)


def test_each_stale_name_of_an_alternative_is_reported() -> None:
    found = check({"train.py": TRAIN, "docs/a.md": rows("rl.{grpo,ppo}.reward")})
    assert [f.message.split('"')[1] for f in found] == ["rl.ppo.reward"]


RESERVED = "| Span | What it covers |\n|---|---|\n| `rl.grpo.reward` | *reserved* |\n"


def test_reserved_rows_need_no_emitter_and_must_have_none() -> None:
    emitted = only({"train.py": TRAIN, "docs/a.md": RESERVED})
    assert (emitted.code, emitted.place.path, emitted.place.line) == ("RLT103", "docs/a.md", 3)
    assert emitted.message == (
        'span "rl.grpo.reward" is documented as reserved, yet emitted; describe it, or remove the '
        "span"
    )
    assert [(r.place.path, r.place.line) for r in emitted.related] == [("train.py", 5)]
    assert codes({"train.py": "X = 1\n", "docs/a.md": RESERVED}) == []
    assert codes({"train.py": "X = 1\n", "docs/a.md": RESERVED.replace("*reserved*", "x")}) == [
        "RLT102"
    ]


def test_reserved_in_the_configuration() -> None:
    files = {
        "pyproject.toml": '[tool.rltel-lint]\nreserved = ["rl.grpo.later"]\n',
        "train.py": TRAIN,
        "docs/a.md": rows("rl.grpo.reward", "rl.grpo.later"),
    }
    assert codes(files) == []
    assert codes({**files, "pyproject.toml": "[tool.rltel-lint]\n"}) == ["RLT102"]


GROUPED = "| Span | Group |\n|---|---|\n| `rl.grpo.reward` | `{}` |\n"


def test_group_of_the_row_and_group_of_the_code() -> None:
    assert codes({"train.py": TRAIN, "docs/a.md": GROUPED.format("reward")}) == []
    found = only({"train.py": TRAIN, "docs/a.md": GROUPED.format("advantage")})
    assert found.code == "RLT104"
    assert found.message == (
        'span "rl.grpo.reward" is opened under group "reward", but documented under "advantage"; '
        "correct one of the two"
    )
    assert [(r.place.path, r.place.line) for r in found.related] == [("docs/a.md", 3)]


def test_one_name_under_two_groups() -> None:
    again = '\nmanaged_span(RLSpanGroup.ADVANTAGE, "rl.grpo.reward")\n'
    found = only({"train.py": TRAIN + again, "docs/a.md": rows("rl.grpo.reward")})
    assert (found.code, found.place.line) == ("RLT104", 8)
    assert found.related[0].place.line == 5
    same = again.replace("ADVANTAGE", "REWARD")
    assert codes({"train.py": TRAIN + same, "docs/a.md": rows("rl.grpo.reward")}) == []


def test_a_group_chosen_at_run_time_is_no_second_group() -> None:
    again = (
        "\nimport sys\ngroup = RLSpanGroup.REWARD if sys.argv else RLSpanGroup.ADVANTAGE\n"
        'managed_span(group, "rl.grpo.reward")\n'
    )
    assert codes({"train.py": TRAIN + again, "docs/a.md": rows("rl.grpo.reward")}) == []


def test_a_reserved_row_with_a_placeholder() -> None:
    source = TRAIN + (
        '\ndef job(config):\n    managed_span(RLSpanGroup.REWARD, f"rl.{config.name}.job")\n'
    )
    page = rows("rl.grpo.reward") + "\n| Span | Means |\n|---|---|\n| `rl.<algo>.job` | {} |\n"
    found = check(
        {"train.py": source, "docs/a.md": page.format("*reserved*")}, spans.ReservedSpanEmitted
    )
    assert [one.code for one in found] == ["RLT103"]
    assert not check(
        {"train.py": source, "docs/a.md": page.format("it")}, spans.ReservedSpanEmitted
    )


@pytest.mark.parametrize(("group", "expected"), [("REWARD", []), ("ADVANTAGE", ["RLT104"])])
def test_the_group_of_a_row_with_a_placeholder(group: str, expected: list[str]) -> None:
    source = TRAIN.replace('"rl.grpo.reward"', 'f"rl.{config.name}.reward"')
    source = source.replace("score()", "score(config)").replace("Group.REWARD", f"Group.{group}")
    page = "| Span | Group |\n|---|---|\n| `rl.<algo>.reward` | `reward` |\n"
    found = check({"train.py": source, "docs/a.md": page}, spans.SpanUnderTwoGroups)
    assert [one.code for one in found] == expected


def test_a_choice_of_groups_against_the_row() -> None:
    choice = TRAIN.replace(
        "managed_span(RLSpanGroup.REWARD,",
        "managed_span(RLSpanGroup.REWARD if __name__ else RLSpanGroup.ADVANTAGE,",
    )
    assert choice != TRAIN
    found = only({"train.py": choice, "docs/a.md": GROUPED.format("reward")})
    assert found.code == "RLT104"
    both = GROUPED.format("reward`, `advantage")
    assert codes({"train.py": choice, "docs/a.md": both}) == []


def test_outside_the_namespace() -> None:
    files = {"train.py": TRAIN.replace('"rl.grpo', '"grpo'), "docs/a.md": rows("rl.<x>.step")}
    found = next(f for f in check(files) if f.code == "RLT106")
    assert found.message == (
        'span "grpo.reward" is outside the namespace "rl."; rename it, or add its prefix to '
        '"namespace" in the configuration'
    )
    config = '[tool.rltel-lint]\nnamespace = ["rl.", "grpo."]\n'
    assert "RLT106" not in codes({**files, "pyproject.toml": config})


@pytest.mark.parametrize(
    "name", ['f"{algo}.reward"', '"rl.a"', 'algo + ".x"', 'f"r{algo}"', "algo"]
)
def test_what_may_be_inside_the_namespace_is_clean(name: str) -> None:
    source = TRAIN + f"def f(algo):\n    managed_span(RLSpanGroup.REWARD, {name})\n"
    files = {"train.py": source, "docs/a.md": rows("rl.grpo.reward", "rl.a")}
    assert "RLT106" not in codes(files)
    assert "RLT106" in codes({**files, "train.py": source.replace(f", {name})", ', f"x.{algo}")')})


def test_raw_spans_and_documented_names_are_left_alone() -> None:
    raw = "from opentelemetry import trace\ntrace.get_tracer('x').start_span('http.get')\n"
    assert codes({"train.py": raw}) == []
    own = TRAIN.replace('"rl.grpo.reward"', '"vllm.request"')
    assert codes({"train.py": own, "docs/a.md": rows("vllm.request")}) == []


def test_examples_of_docstrings_and_strings_are_no_code() -> None:
    source = '"""Use ``managed_span(RLSpanGroup.REWARD, "rl.nowhere")``."""\n' + TRAIN
    assert codes({"train.py": source, "docs/a.md": rows("rl.grpo.reward")}) == []


def test_spans_that_the_library_opens_itself_need_no_site() -> None:
    files = project(
        """
        --- train.py
        from rl_telemetry.contrib import data_plane
        --- docs/a.md
        | Span | What it covers |
        |---|---|
        | `rl.data_plane.clear` | x |
        """
    )
    assert codes(files) == []
    files["docs/a.md"] = files["docs/a.md"].replace("data_plane", "data_lane")
    assert codes(files) == ["RLT102"]


LIBRARY_ROWS = "\n".join(["| Span |", "|---|", "| `rl.data_plane.<op>` |", "{more}", ""])
HELPER = """
from rl_telemetry.instrumentation import managed_span
from rl_telemetry.span_groups import RLSpanGroup

def phase(config):
    return managed_span(RLSpanGroup.REWARD, f"rl.{config.algorithm}.{name}")
"""


@pytest.mark.parametrize(
    ("name", "row", "missing"),
    [
        ("reward", "| `rl.<algo>.reward` |", False),
        ("reward", "| `rl.<algo>.rewards` |", True),
        ("reward", "| `rl.grpo.<phase>` |", False),
        ("{config.phase}", "| `rl.<algo>.rewards` |", False),
        ("{config.phase}", "", False),
    ],
)
def test_a_row_of_the_librarys_spans_documents_no_other(name: str, row: str, missing: bool) -> None:
    files = {"train.py": HELPER.replace("{name}", name)}
    files["docs/spans.md"] = LIBRARY_ROWS.replace("{more}", row)
    assert bool(check(files, spans.UndocumentedSpan)) == missing


BESIDE = """
| Span | Parent |
|---|---|
| `rl.grpo.reward` | {parent} |

| Span attribute | Set on |
|---|---|
| `rl.size` | {carrier} |
"""


@pytest.mark.parametrize(
    ("parent", "carrier", "wrong"),
    [
        ("`rl.grpo.reward`", "`rl.grpo.reward`", []),
        ("`rl.<algo>.reward`", "`rl.grpo.*`", []),
        ("the step", "all of them", []),
        ("-", "every span", []),
        ("`other.step`", "`other.step`", []),
        ("`rl.planned`", "`rl.planned`", []),
        ("`rl.grpo.step`", "`rl.grpo.reward`", ["rl.grpo.reward"]),
        ("`rl.<algo>.step`", "`rl.grpo.reward`", ["rl.grpo.reward"]),
        ("`rl.grpo.reward`, `rl.grpo.step`", "`rl.grpo.reward`", ["rl.grpo.reward"]),
        ("`rl.grpo.reward`", "`rl.grpo.rewards`", ["rl.size"]),
    ],
)
def test_spans_that_a_row_names_beside_its_own(parent: str, carrier: str, wrong: list[str]) -> None:
    page = BESIDE.replace("{parent}", parent).replace("{carrier}", carrier)
    reserved = "[tool.rltel-lint]\nreserved = ['rl.planned']\nnamespace = ['rl.']\n"
    files = {"train.py": TRAIN, "docs/spans.md": page, "pyproject.toml": reserved}
    found = check(files, spans.UnemittedSpan)
    for one, name in zip(found, wrong, strict=True):
        assert f'the row of "{name}" names span' in one.message


CHOSEN = """
from rl_telemetry.instrumentation import managed_span
from rl_telemetry.span_groups import RLSpanGroup

def work(is_ppo):
    name = "rl.ppo.reward" if is_ppo else "rl.grpo.reward"
    with managed_span(RLSpanGroup.{one} if is_ppo else RLSpanGroup.{two}, name):
        ...
"""
CHOICES = (
    "| Span | Group |\n|---|---|\n| `rl.ppo.reward` | `reward` |\n| `rl.grpo.reward` | `{g}` |\n"
)


@pytest.mark.parametrize(
    ("one", "two", "documented", "wrong"),
    [
        ("REWARD", "ADVANTAGE", "advantage", 0),  # one choice goes with the other
        ("REWARD", "ADVANTAGE", "reward", 1),  # no name goes with it
        ("REWARD", "REWARD", "reward", 0),
        ("LOGPROB", "ADVANTAGE", "reward", 2),
    ],
)
def test_a_choice_of_names_and_of_groups(one: str, two: str, documented: str, wrong: int) -> None:
    files = {
        "train.py": CHOSEN.replace("{one}", one).replace("{two}", two),
        "docs/spans.md": CHOICES.replace("{g}", documented),
    }
    assert len(check(files, spans.SpanUnderTwoGroups)) == wrong
