from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rltel_lint.facts.documents import extract_document
from rltel_lint.facts.entries import DocumentFacts

Read = Callable[..., DocumentFacts]
GOOD = "\n| Span | Group |\n|---|---|\n| `rl.good.x` | `step` |\n"

BROKEN = {
    "| Span | Group |\n|---|---|\n| `rl.a` | `x` | `y` |\n": (
        3,
        "write a bar inside a cell as \\|",
    ),
    "| Span | Group |\n| `rl.a` | `x` |\n": (1, "add |---|"),
    "| Span | Group |\n|---|\n| `rl.a` | `x` |\n": (1, "2 cells and the row of dashes below it 1"),
    "| Span |\n|---|\n| `rl.{a,b.c` |\n": (3, 'add the "}"'),
    "| Span |\n|---|\n| `rl.a}.c` |\n": (3, "nothing opens"),
    "| Span |\n|---|\n| `rl" + ".{a,b,c,d}" * 5 + "` |\n": (3, "more than 256 names"),
}


@pytest.mark.parametrize(("broken", "problem"), BROKEN.items())
def test_a_malformed_table_is_one_problem_and_the_rest_is_read(
    read: Read, broken: str, problem: tuple[int, str]
) -> None:
    facts = read(broken + GOOD)
    assert [line for line, _ in facts.problems] == [problem[0]]
    assert problem[1] in facts.problems[0][1]
    assert "\n" not in facts.problems[0][1]
    assert "rl.good.x" in [entry.text for entry in facts.entries]
    assert read(GOOD).problems == ()


def test_a_malformed_table_about_something_else_is_nobodys_problem(read: Read) -> None:
    assert read("| A | B |\n| `a` | `b` |\n\n| C |\n|---|\n| `d` | `e` |\n").problems == ()


def test_a_malformed_rest_table_is_a_problem(read: Read) -> None:
    good = "======  =====\nSpan    Group\n======  =====\n``rl.b``  x\n======  =====\n"
    good = "========  =====\nSpan      Group\n========  =====\n``rl.b``  x\n========  =====\n"
    bad = "+------+\n| Span |\n+======+\n| ``rl.a.too.wide`` |\n+------+\n"
    facts = read(f"{bad}\n{good}", path="a.rst")
    assert [line for line, _ in facts.problems] == [4]
    assert [entry.text for entry in facts.entries] == ["rl.b"]


def test_a_marker_over_a_table_without_names_is_a_problem(read: Read) -> None:
    facts = read("<!-- rltel: spans -->\n| A |\n|---|\n| some words |\n")
    assert [line for line, _ in facts.problems] == [2]


def test_markup_nested_beyond_reason_is_a_problem() -> None:
    text = "".join("  " * depth + "- ``x``\n\n" for depth in range(sys.getrecursionlimit() // 4))
    assert len(extract_document("a.rst", text).problems) == 1


WORDS = (
    "| `rl.a.b` |---|:-: \\| `` ` {a,b} < > {/* */} <!-- rltel: spans -->"
    " # - > * + = ~~~ ``` .. :: "
    "Span Group rl.x no\tlonger reserved \0 \r \r\n \n \ufeff \x0b \u2028 \xe9 +--+ ==== "
    ".. list-table:: .. csv-table:: :header: .. code:: <Tag --- import"
)
PIECES = st.sampled_from(WORDS.split(" "))
TEXTS = st.lists(PIECES, max_size=40).map(" ".join) | st.lists(PIECES, max_size=40).map("\n".join)


@pytest.mark.parametrize("path", ["a.md", "a.mdx", "a.rst"])
@settings(max_examples=120, deadline=None)
@given(text=TEXTS | st.text(max_size=200))
def test_any_text_is_read(path: str, text: str) -> None:
    facts = extract_document(path, text)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1
    places = [item.place for item in (*facts.entries, *facts.mentions, *facts.fences)]
    assert all(1 <= place.line <= lines + 1 and place.column >= 1 for place in places)
    assert not any("\n" in reason or "cannot be read (" in reason for _, reason in facts.problems)


@pytest.mark.parametrize("path", ["a.md", "a.mdx", "a.rst"])
def test_a_large_page_of_noise_is_read(path: str) -> None:
    noise = bytes(range(256)).decode("latin-1") + "`" + "|" * 40 + "<!-- {/* " + "a.b" * 9
    assert extract_document(path, noise * 600).path == path
