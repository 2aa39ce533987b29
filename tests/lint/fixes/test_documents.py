"""Rows of documents (RLT101, RLT102, RLT204): added, renamed, and as a guess removed."""

from __future__ import annotations

import pytest

from tests.lint.fixes.support import check, codes, mended, text

CODE = """
from rl_telemetry.instrumentation import managed_span, umbrella_span
from rl_telemetry.span_groups import RLSpanGroup

with umbrella_span(RLSpanGroup.U_STEP, "rl.grpo.step"):
    with managed_span(RLSpanGroup.REWARD, "rl.grpo.reward"):
        ...
"""

CASES = {
    "a row is added where its like stand": (
        """
        | Span | Group | Bucket | What it covers |
        |---|---|:-:|---|
        | `rl.ppo.<phase>` | `step` | | *reserved* |
        | `rl.grpo.step` | `step` | | a step \\| two |

        Nothing below.
        """,
        """
        | Span | Group | Bucket | What it covers |
        |---|---|:-:|---|
        | `rl.ppo.<phase>` | `step` | | *reserved* |
        | `rl.grpo.reward` | `reward` | `productive` | |
        | `rl.grpo.step` | `step` | | a step \\| two |

        Nothing below.
        """,
        "RLT101",
        True,
    ),
    "an aligned table stays aligned": (
        """
        What it covers | Span              | Span group
        ---------------|-------------------|-----------
        a step         | `rl.grpo.reward`  | `reward`
        """,
        """
        What it covers | Span              | Span group
        ---------------|-------------------|-----------
        a step         | `rl.grpo.reward`  | `reward`
        |               | `rl.grpo.step`    | `step`  |
        """,
        "RLT101",
        True,
    ),
    "the row of a renamed span follows the code": (
        """
        | Span               | What it covers |
        |--------------------|----------------|
        | `rl.grpo.rewards_` | scoring        |
        | `rl.grpo.step`     | a step         |
        """,
        """
        | Span               | What it covers |
        |--------------------|----------------|
        | `rl.grpo.reward`   | scoring        |
        | `rl.grpo.step`     | a step         |
        """,
        "RLT102",
        True,
    ),
    "of two near names one is a guess": (
        """
        | Span | What it covers |
        |---|---|
        | `rl.grpo.reward_one` | scoring |
        | `rl.grpo.reward_two` | scoring |
        | `rl.grpo.step` | a step |
        """,
        """
        | Span | What it covers |
        |---|---|
        | `rl.grpo.reward` | scoring |
        | `rl.grpo.step` | a step |
        """,
        "RLT102",
        False,
    ),
    "a row that nothing is like": (
        """
        > | Span | What it covers |
        > |---|---|
        > | `rl.grpo.reward` | scoring |
        > | `rl.grpo.quux` | odd |
        > | `rl.grpo.step` | a step |
        """,
        """
        > | Span | What it covers |
        > |---|---|
        > | `rl.grpo.reward` | scoring |
        > | `rl.grpo.step` | a step |
        """,
        "RLT102",
        False,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_document_follows_the_code(name: str) -> None:
    before, after, code, safe = CASES[name]
    files = {"train.py": CODE, "docs/spans.md": text(before)}
    found = codes(check(files))
    assert sum(number for (_, one), number in found.items() if one == code)
    if not safe:
        assert mended(files, code)[0] == files
    changed, done = mended(files, code, unsafe=not safe)
    assert changed == {**files, "docs/spans.md": text(after)}
    assert not done.refused
    left = codes(check(changed))
    assert not any(one == code for _, one in left)
    assert not left - found
    assert mended(changed, code, unsafe=not safe)[0] == changed


GROUPS = """
from rl_telemetry.instrumentation import managed_span
from rl_telemetry.registry import SpanRegistry

SpanRegistry.register("search", ["search", "rank"])
with managed_span("search", "rl.grpo.search"):
    ...
with managed_span("rank", "rl.grpo.rank"):
    ...
"""
SPANS = "| Span |\n|---|\n| `rl.grpo.search` |\n| `rl.grpo.rank` |\n\n"


def test_a_group_without_a_row_gets_one() -> None:
    page = SPANS + "| Group | What it covers |\n|---|---|\n| `search` | the search |\n"
    files = {"train.py": GROUPS, "docs/spans.md": page}
    changed, done = mended(files)
    assert [finding.code for finding in done.fixed] == ["RLT204"]
    row = "| `search` | the search |"
    assert changed["docs/spans.md"] == page.replace(row, f"| `rank` | |\n{row}")
    assert not check(changed)


def test_the_row_of_a_renamed_group_follows_the_code() -> None:
    page = SPANS + "| Group |\n|---|\n| `searching` |\n| `rank` |\n"
    files = {"train.py": GROUPS, "docs/spans.md": page}
    changed, _ = mended(files)
    assert changed["docs/spans.md"] == page.replace("`searching`", "`search`")
    assert not check(changed)


@pytest.mark.parametrize(
    "row",
    [
        "| `rl.grpo.{quux,step}` | two |",
        "| `rl.grpo.quux` and `rl.grpo.step` | two |",
        "| `rl.quux.*` | many |",
    ],
)
def test_a_row_that_says_more_is_never_removed_for_one_name(row: str) -> None:
    table = "| Span | What it covers |\n|---|---|\n| `rl.grpo.step` | |\n| `rl.grpo.reward` | |\n"
    files = {"train.py": CODE, "docs/spans.md": f"{table}{row}\n"}
    assert codes(check(files))["docs/spans.md", "RLT102"]
    changed, _ = mended(files, unsafe=True)
    kept = row if "*" not in row else ""
    assert kept in changed["docs/spans.md"]


def test_many_rows_are_added_at_once() -> None:
    names = [f"rl.grpo.phase{number:02}" for number in range(30)]
    code = CODE + "".join(f'with managed_span("reward", "{name}"):\n    ...\n' for name in names)
    page = "| Span |\n|---|\n| `rl.grpo.reward` |\n| `rl.grpo.step` |\n"
    changed, done = mended({"train.py": code, "docs/spans.md": page})
    assert len(done.fixed) == len(names)
    rows = "".join(f"| `{name}` |\n" for name in names)
    assert changed["docs/spans.md"] == page.replace(
        "| `rl.grpo.reward`", rows + "| `rl.grpo.reward`"
    )
    assert not check(changed)


def test_a_name_with_an_unknown_piece_is_a_guess() -> None:
    code = CODE.replace('"rl.grpo.reward"', 'f"rl.grpo.{input()}.reward"')
    page = "| Span |\n|---|\n| `rl.grpo.step` |\n"
    files = {"train.py": code, "docs/spans.md": page}
    assert mended(files)[0] == files
    changed, _ = mended(files, unsafe=True)
    assert "| `rl.grpo.<name>.reward` |\n" in changed["docs/spans.md"]
    assert not check(changed)


def test_a_table_of_another_markup_is_left_to_the_person() -> None:
    rule = "==================  ======\n"
    page = f"{rule}Span                Covers\n{rule}``rl.grpo.step``    a step\n{rule}"
    files = {"train.py": CODE, "docs/spans.rst": page}
    assert codes(check(files)) == {("train.py", "RLT101"): 1}
    assert mended(files, unsafe=True)[0] == files

    renamed = CODE.replace('"rl.grpo.reward"', '"rl.grpo.stop"').replace(
        '"rl.grpo.step"', "input()"
    )
    changed, _ = mended({"train.py": renamed, "docs/spans.rst": page})
    assert changed["docs/spans.rst"] == page.replace("rl.grpo.step", "rl.grpo.stop")


def test_without_a_table_there_is_nothing_to_add_to() -> None:
    files = {"train.py": CODE, "docs/spans.md": "No table.\n"}
    found = check(files)
    assert codes(found) == {("train.py", "RLT101"): 2}
    assert all(finding.fix is None for finding in found)
