"""The page of faults: its codes exist, its tests exist and plant what they are cited for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rltel_lint.facts.documents import extract_document
from rltel_lint.rules.catalogue import ALL_RULES
from tests.lint.rules.test_field_faults import _FAULTS
from tests.lint.rules.test_field_faults_of_lists import FAULTS

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs/linter/faults.md"
NUMBERS = {
    *(1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 13, 14, 15, 17, 19, 20, 21, 22, 23, 24, 27, 28, 29, 30),
    *(32, 33, 34, 35, 37, 38, 39, 40, 42, 43, 44, 49, 52, 56),
}
"""The faults that the rules were written for."""


def _rows() -> dict[int, list[str]]:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {int(row[0]): row for row in cells if row[0].isdigit()}


ROWS = _rows()


def _planted() -> dict[int, set[str]]:
    """For each number, the codes of the rules that are tested on a fault of it."""
    found: dict[int, set[str]] = {}
    for title, fault in [*_FAULTS.items(), *FAULTS.items()]:
        for number in re.findall(r"\d+", title.partition(":")[0]):
            found.setdefault(int(number), set()).update(rule.code for rule in fault[0])
    return found


def test_every_fault_has_a_row_and_a_line_of_its_own() -> None:
    assert set(ROWS) == NUMBERS
    listed = [line for line in PAGE.read_text().splitlines() if re.match(r"\| \d", line)]
    assert len(listed) == len(ROWS)


@pytest.mark.parametrize("number", sorted(ROWS))
def test_a_row_cites_what_exists(number: int) -> None:
    _, report, wrong, caught, proof, unseen = ROWS[number]
    assert re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", report)
    assert wrong
    codes = set(re.findall(r"RLT\d+", caught))
    assert codes <= {rule.code for rule in ALL_RULES}
    paths = re.findall(r"`([^`]+)`", proof)
    assert [path for path in paths if not (ROOT / path).is_file()] == []
    if "by the runtime" in caught:
        assert any(path.startswith("tests/runtime") for path in paths)
    if codes:
        assert any(path.startswith("tests/lint/") for path in paths)
    if not codes and "by the runtime" not in caught:
        assert f"**{number}, " in PAGE.read_text()
    assert (unseen != "-") or paths


@pytest.mark.parametrize("number", sorted(ROWS))
def test_a_fault_is_planted_for_the_codes_of_its_row(number: int) -> None:
    caught, proof = ROWS[number][3], ROWS[number][4]
    codes = set(re.findall(r"RLT\d+", caught))
    files = [ROOT / path for path in re.findall(r"`(tests/lint/[^`]+)`", proof)]
    texts = [path.read_text(encoding="utf-8") for path in files]
    named = {rule.code for rule in ALL_RULES if any(rule.__name__ in text for text in texts)}
    assert codes <= named
    if "test_field_faults" in proof and number != 14:
        assert codes & _planted()[number]


def test_what_the_page_refers_to_below_is_there() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for number, row in ROWS.items():
        if "see [below]" in row[5]:
            assert f"**{number}, " in text
    explained = {int(number) for number in re.findall(r"^\*\*(\d+), ", text, re.MULTILINE)}
    assert explained == {number for number, row in ROWS.items() if "see [below]" in row[5]}


def test_a_path_that_is_gone_would_be_a_finding() -> None:
    from rltel_lint.rules.citations import CitedThingMissing
    from tests.lint.support import lint

    text = PAGE.read_text(encoding="utf-8")
    facts = extract_document("docs/linter/faults.md", text)
    cited = {mention.text for mention in facts.mentions if mention.text.startswith("tests/")}
    assert cited == {path for row in ROWS.values() for path in re.findall(r"`([^`]+)`", row[4])}
    tree = {path: "" for path in cited if path != "tests/runtime/test_ray.py"}
    found = lint({"docs/linter/faults.md": text, **tree}, CitedThingMissing)
    assert {one.message.split('"')[1] for one in found} == {"tests/runtime/test_ray.py"}
