from __future__ import annotations

from collections.abc import Callable

import pytest

from rltel_lint.facts.entries import DocumentFacts

Names = Callable[..., list[tuple[str, str]]]
Read = Callable[..., DocumentFacts]
ROWS = "| Thing | Where |\n|---|---|\n| `{}` | here |\n"


@pytest.mark.parametrize(
    ("word", "kind", "name"),
    [
        ("spans", "span", "rl.a.x"),
        ("groups", "group", "step"),
        ("presets", "preset", "default"),
        ("metrics", "metric", "rl.a.x"),
        ("attributes", "attribute", "rl.a.x"),
        ("resources", "resource", "rl.a.x"),
        ("categories", "category", "idle/x"),
        ("buckets", "bucket", "idle"),
        ("environment", "environment", "RL_X"),
        ("spans", "span", "startup"),
    ],
)
def test_a_marker_types_the_table_after_it(names: Names, word: str, kind: str, name: str) -> None:
    marked = f"<!-- rltel: {word} -->\n{ROWS.format(name)}"
    assert names(marked) == [(kind, name)]
    assert names(marked.replace("rltel", "other")) == []
    assert names(marked + "\ntext\n\n" + ROWS.format(name)) == [(kind, name)]


def test_a_marker_finds_the_column(names: Names) -> None:
    rows = "| What | Why | Name |\n|---|---|---|\n| a step | `because` | `rl.a.step` |\n"
    assert names(f"<!-- rltel: spans -->\n\n{rows}") == [("span", "rl.a.step")]


def test_ignore_silences_a_table_and_nothing_more(read: Read) -> None:
    rows = "| Span |\n|---|\n| `rl.a.x` |\n"
    facts = read(f"<!-- rltel: ignore -->\n{rows}\nText.\n\n{rows}")
    assert [entry.place.line for entry in facts.entries] == [10]
    assert facts.mentions == ()


@pytest.mark.parametrize(
    "comment", ["rltel: ignore RLT102 not there yet", "rltel:ignore-next-line RLT101", "rltel"]
)
def test_a_suppression_is_no_marker(read: Read, comment: str) -> None:
    facts = read(f"<!-- {comment} -->\n| Span |\n|---|\n| `rl.a.x` |\n")
    assert [entry.text for entry in facts.entries] == ["rl.a.x"]
    assert facts.problems == ()


@pytest.mark.parametrize(
    ("comment", "said"),
    [
        ("rltel: span", None),
        ("rltel: spams", 'did you mean "spans"'),
        ("rltel: spans of the driver", "takes no more words"),
    ],
)
def test_a_misspelt_marker_is_told(read: Read, comment: str, said: str | None) -> None:
    facts = read(f"<!-- {comment} -->\n{ROWS.format('rl.a.x')}")
    assert bool(facts.entries) is (said is None)
    assert [problem for problem in facts.problems if said and said in problem[1]] == list(
        facts.problems
    )
    assert len(facts.problems) == (said is not None)


def test_a_marker_that_nothing_follows_is_told(read: Read) -> None:
    facts = read(f"<!-- rltel: spans -->\n\nText.\n\n## Next\n\n{ROWS.format('rl.a.x')}")
    assert facts.entries == ()
    assert [line for line, _ in facts.problems] == [1]


def test_a_marked_list_documents_a_name_per_item(read: Read) -> None:
    page = """
        <!-- rltel: spans -->
        - `rl.a.step`: carries `rl.iteration`
        - The whole run is `rl.a.job`
          - carries `rl.epoch`
          - `rl.a.inner` *(reserved)*
        - rl.a.plain

        Text.

        - `rl.a.other`
        """
    facts = read(page)
    assert [(e.text, e.status, e.place.line) for e in facts.entries] == [
        ("rl.a.step", "active", 2),
        ("rl.a.job", "active", 3),
        ("rl.a.inner", "reserved", 5),
        ("rl.a.plain", "active", 6),
    ]
    assert [m.text for m in facts.mentions] == ["rl.iteration", "rl.epoch", "rl.a.other"]
    assert read(page.replace("spans", "ignore", 1)).entries == ()
