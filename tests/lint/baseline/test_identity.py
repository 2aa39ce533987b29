"""What stays of a finding when lines move."""

from __future__ import annotations

import pytest

from rltel_lint.findings import Finding, Place
from rltel_lint.identity import fingerprints, identify


def finding(message: str, line: int = 1, path: str = "pkg/a.py", code: str = "RLT101") -> Finding:
    return Finding(Place(path, line), code, "name", message)


@pytest.mark.parametrize(
    ("message", "claim"),
    [
        ('span "rl.a" is not in the documents; add a row', 'span "rl.a" is not in the documents'),
        ('span "a; b" differs; rename it', 'span "a; b" differs'),
        ("opened in pkg/b.py:12, which ppo runs too", "opened in, which ppo runs too"),
        ("differs from its row (docs/spans.md:4:2) here", "differs from its row here"),
        ("cannot be parsed: bad token on line 14", "cannot be parsed: bad token on line"),
        ('documented as "pkg/b.py:12"', 'documented as "pkg/b.py:12"'),
    ],
)
def test_a_claim_is_the_message_without_places_and_remedy(message, claim):
    assert identify(finding(message)).claim == claim


def test_moving_a_line_changes_nothing_while_another_name_does():
    before = finding('span "rl.a" is new; did you mean "rl.b" (pkg/b.py:7)?', 3)
    moved = finding('span "rl.a" is new; did you mean "rl.b" (pkg/b.py:99)?', 80)
    other = finding('span "rl.c" is new; did you mean "rl.b" (pkg/b.py:7)?', 3)
    assert identify(before) == identify(moved) != identify(other)
    assert fingerprints([before]) == fingerprints([moved]) != fingerprints([other])


def test_the_same_twice_in_a_file_has_two_fingerprints():
    first, second = fingerprints([finding("x", 1), finding("x", 9)])
    assert first != second
    assert fingerprints([finding("x", 4)]) == [first]


def test_code_and_file_belong_to_it():
    marks = fingerprints([finding("x"), finding("x", path="b.py"), finding("x", code="RLT102")])
    assert len(set(marks)) == 3


def test_a_file_name_that_is_no_text():
    assert fingerprints([finding("x", path="caf\udce9.py")])
