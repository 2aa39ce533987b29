from __future__ import annotations

from collections.abc import Callable

import pytest

from rltel_lint.facts.entries import DocumentFacts

Read = Callable[..., DocumentFacts]

SAYINGS = {
    "no longer emitted; use `rl.a.y`": "retired",
    "Removed in 0.3": "retired",
    "renamed to `rl.a.y`": "retired",
    "*retired*": "retired",
    "**Deprecated**, kept for dashboards": "deprecated",
    "deprecated since 0.3; use `rl.a.y`": "deprecated",
    "Deprecated in 0.3, removed in 0.5": "deprecated",
    "no longer emitted, deprecated since 0.3": "retired",
    "kept for dashboards, no longer emitted": "retired",
    "*reserved \u2014 bucketed, but no site emits it yet*": "reserved",
    "(reserved for future use)": "reserved",
    "not yet emitted": "reserved",
    "planned": "reserved",
    "currently not emitted": "reserved",
    # Said of something else, or under a condition: the row is a claim like any other.
    "one step": "active",
    "the old `rl.flag` is no longer emitted inside": "active",
    "time after the duplicates were removed": "active",
    "reserved memory in bytes": "active",
    "not emitted on rank 0": "active",
    "removed rows per batch": "active",
    "plan of the next step": "active",
}


@pytest.mark.parametrize(("saying", "status"), SAYINGS.items())
def test_what_a_row_says_of_its_subject(read: Read, saying: str, status: str) -> None:
    (entry,) = read(f"| Span | Note |\n|---|---|\n| `rl.a.x` | {saying} |\n").entries
    assert entry.status == status


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("`rl.a.x`, `rl.a.y` (no longer emitted)", {"rl.a.x": "active", "rl.a.y": "retired"}),
        ("`rl.a.y` (formerly `rl.a.x`)", {"rl.a.y": "active", "rl.a.x": "retired"}),
        ("~~`rl.a.x`~~ `rl.a.y`", {"rl.a.x": "retired", "rl.a.y": "active"}),
        ("Deprecated: `rl.a.x`", {"rl.a.x": "deprecated"}),
        ("`rl.a.x` *reserved*", {"rl.a.x": "reserved"}),
    ],
)
def test_what_the_cell_of_names_says(read: Read, cell: str, expected: dict[str, str]) -> None:
    facts = read(f"| Span |\n|---|\n| {cell} |\n")
    assert {entry.text: entry.status for entry in facts.entries} == expected


def test_a_section_may_say_it_for_all(read: Read) -> None:
    page = "## {} spans\n\n| Span |\n|---|\n| `rl.a.x` |\n"
    assert [e.status for e in read(page.format("Retired")).entries] == ["retired"]
    assert [e.status for e in read(page.format("Reserved")).entries] == ["reserved"]
    assert [e.status for e in read(page.format("Deprecated")).entries] == ["deprecated"]
    assert [e.status for e in read(page.format("Fast")).entries] == ["active"]
