"""Every rule's page is run: the bad example reports at its marks, the good one reports nothing."""

from __future__ import annotations

import pytest

from rltel_lint.rules.base import Rule, example_files
from rltel_lint.rules.catalogue import ALL_RULES, rule_by_code
from tests.lint.support import lint, marked, reported


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.code)
def test_bad_example_reports_exactly_at_its_marks(rule: type[Rule]) -> None:
    files = example_files(rule.bad)
    marks = marked(files)
    assert marks, f"the bad example of {rule.code} has no mark"
    assert {code for _, _, code in marks} == {rule.code}
    assert reported(lint(files, rule)) == marks


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.code)
def test_good_example_is_clean_under_every_rule(rule: type[Rule]) -> None:
    assert lint(example_files(rule.good)) == []


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.code)
def test_page_says_what_to_do(rule: type[Rule]) -> None:
    page = rule.page()
    assert page.startswith(f"# {rule.code} {rule.name}\n")
    assert "## Bad" in page
    assert "## Good" in page
    assert rule.summary[0].islower()
    assert not rule.summary.endswith(".")
    assert len(rule.summary) < 100


def test_codes_and_names_are_unique_and_in_order() -> None:
    codes = [rule.code for rule in ALL_RULES]
    assert codes == sorted(set(codes))
    assert len({rule.name for rule in ALL_RULES}) == len(ALL_RULES)


def test_a_rule_is_found_by_its_code() -> None:
    assert rule_by_code("RLT101") is not None
    assert rule_by_code("RLT999") is None
