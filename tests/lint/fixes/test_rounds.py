"""Rounds: what goes together, what waits, what is taken back, and that it ends."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from rltel_lint.changes import Fix, RemoveRow, ReplaceText
from rltel_lint.findings import Finding, Place
from rltel_lint.fixes.rounds import ROUNDS, Mended, mend
from rltel_lint.rules.base import Rule, example_files
from rltel_lint.rules.catalogue import ALL_RULES
from tests.lint.fixes.support import check, codes, mended


def word(
    path: str, line: int, old: str, new: str, *, code: str = "RLT101", start: int = 1
) -> Finding:
    """A finding at a word of a document, with the fix that replaces it."""
    place = Place(path, line, start, line, start + len(old))
    return Finding(place, code, "a-rule", f"{old} is wrong", fix=_fix(place, old, new))


def _fix(place: Place, old: str, new: str, *, safe: bool = True) -> Fix:
    return Fix(f"write {new}", (ReplaceText(place, old, new),), safe)


def words(texts: Mapping[str, str], wrong: Mapping[str, str]) -> list[Finding]:
    """A finding for every wrong word, each with its fix."""
    return [
        word(path, number, old, wrong[old], start=line.index(old) + 1)
        for path, text in texts.items()
        for number, line in enumerate(text.split("\n"), 1)
        for old in line.split(" ")
        if old in wrong
    ]


def run(texts: Mapping[str, str], wrong: Mapping[str, str]) -> Mended:
    return mend(texts, lambda now: words(now, wrong), lambda finding: True)


def test_all_that_does_not_overlap_is_made_in_one_round() -> None:
    checks = 0

    def counting(texts: Mapping[str, str]) -> list[Finding]:
        nonlocal checks
        checks += 1
        return words(texts, {"a": "x", "b": "y"})

    done = mend({"d.md": "a\nb a\n", "e.md": "b\n"}, counting, lambda finding: True)
    assert done.texts == {"d.md": "x\ny x\n", "e.md": "y\n"}
    assert len(done.fixed) == 4
    assert checks == 2


def test_overlapping_fixes_are_made_one_per_round() -> None:
    text = "ab\n"

    def checked(texts: Mapping[str, str]) -> list[Finding]:
        found = []
        if "a" in texts["d.md"]:
            found.append(word("d.md", 1, texts["d.md"].strip(), texts["d.md"].strip()[1:]))
        if "b" in texts["d.md"]:
            found.append(word("d.md", 1, texts["d.md"].strip(), texts["d.md"].strip()[:-1] + "c"))
        return found

    done = mend({"d.md": text}, checked, lambda finding: True)
    assert done.texts == {"d.md": "c\n"}
    assert len(done.fixed) == 2


def test_a_fix_that_leaves_its_finding_is_taken_back() -> None:
    def stubborn(texts: Mapping[str, str]) -> list[Finding]:
        old = texts["d.md"].strip()
        return [word("d.md", 1, old, "bad")]

    done = mend({"d.md": "good\n"}, stubborn, lambda finding: True)
    assert done.texts == {}
    assert not done.fixed
    assert [reason for _, reason in done.refused] == ["RLT101 would still be reported"]


def test_a_fix_that_adds_a_finding_is_taken_back_and_the_others_stay() -> None:
    def checked(texts: Mapping[str, str]) -> list[Finding]:
        found = words(texts, {"a": "x", "b": "harm", "c": "z", "e": "w"})
        if "harm" in texts["d.md"]:
            found.append(Finding(Place("other.py"), "RLT201", "a-rule", "broken"))
        return found

    done = mend({"d.md": "a\nb\nc\ne\n"}, checked, lambda finding: True)
    assert done.texts == {"d.md": "x\nb\nz\nw\n"}
    assert len(done.fixed) == 3
    reasons = [(finding.message, reason) for finding, reason in done.refused]
    assert reasons == [("b is wrong", "it would bring RLT201 to other.py")]


def test_fixes_that_go_in_circles_end() -> None:
    tried: list[str] = []

    def circling(texts: Mapping[str, str]) -> list[Finding]:
        tried.append(texts["d.md"])
        other = {"a": "b", "b": "a"}[texts["d.md"].strip()]
        code = "RLT101" if other == "b" else "RLT102"
        return [word("d.md", 1, texts["d.md"].strip(), other, code=code)]

    done = mend({"d.md": "a\n"}, circling, lambda finding: True)
    assert len(tried) < 4 * ROUNDS
    assert done.texts == {}


def test_endless_work_stops_after_some_rounds() -> None:
    def counting(texts: Mapping[str, str]) -> list[Finding]:
        lines = texts["d.md"].splitlines()
        left = 1000 - max(map(int, lines))
        return [
            word("d.md", 1, lines[0], str(int(lines[0]) + 1), code="RLT101") for _ in range(left)
        ][:1] + [Finding(Place("d.md", 2, n), "RLT101", "a-rule", "filler") for n in range(left)]

    done = mend({"d.md": "1\n"}, counting, lambda finding: True)
    assert done.texts == {"d.md": f"{ROUNDS + 1}\n"}


def test_only_what_is_wanted_is_fixed() -> None:
    wrong = {"a": "x"}
    done = mend(
        {"d.md": "a\n", "e.md": "a\n"},
        lambda texts: words(texts, wrong),
        lambda finding: finding.place.path == "e.md",
    )
    assert done.texts == {"e.md": "x\n"}
    assert [finding.place.path for finding in done.left] == ["d.md"]


def test_a_guess_is_made_only_when_asked_for() -> None:
    place = Place("d.md", 1, 1, 1, 2)

    def checked(texts: Mapping[str, str]) -> list[Finding]:
        fix = _fix(place, "a", "x", safe=False)
        return [Finding(place, "RLT101", "r", "m", fix=fix)] if "a" in texts["d.md"] else []

    texts = {"d.md": "a\n"}
    assert mend(texts, checked, lambda finding: True).texts == {}
    assert mend(texts, checked, lambda finding: True, unsafe=True).texts == {"d.md": "x\n"}


def test_a_document_that_is_not_as_the_finding_says_is_left() -> None:
    done = run({"d.md": "a\n"}, {"a": "x"})
    assert done.texts
    place = Place("d.md", 1, 1, 1, 2)
    wrong = Finding(place, "RLT101", "r", "m", fix=_fix(place, "b", "x"))
    done = mend({"d.md": "a\n"}, lambda texts: [wrong], lambda finding: True)
    assert done.texts == {}
    assert [reason for _, reason in done.refused] == ["the document has changed"]


def test_the_only_row_of_a_table_is_not_removed() -> None:
    place = Place("d.md", 3, 4, 3, 8)
    fix = Fix("remove it", (RemoveRow(place),))
    page = "| Span |\n|---|\n| `rl.a` |\n"
    found = [Finding(place, "RLT102", "r", "m", fix=fix)]
    done = mend({"d.md": page}, lambda texts: found, lambda finding: True)
    assert [reason for _, reason in done.refused] == ["it is the only row of its table"]


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.code)
def test_every_fix_of_a_rules_bad_example_holds(rule: type[Rule]) -> None:
    files = example_files(rule.bad)
    before = check(files)
    offered = [finding for finding in before if finding.fix is not None]
    changed, done = mended(files, unsafe=True)
    refused = {(finding.code, finding.place) for finding, _ in done.refused}
    for finding in offered:
        assert (finding.code, finding.place) not in refused
    if offered:
        assert done.fixed
        assert not codes(check(changed)) - codes(before)
    for path, text in changed.items():
        if path.endswith(".py") and text != files[path]:
            compile(text, path, "exec")
    assert mended(changed, unsafe=True)[0] == changed


def test_the_rules_that_promise_a_fix_have_one() -> None:
    promised = {"RLT101", "RLT102", "RLT203", "RLT204", "RLT301", "RLT302", "RLT305"}
    promised |= {"RLT205", "RLT401", "RLT402", "RLT403", "RLT408", "RLT503", "RLT602", "RLT701"}
    promised |= {"RLT801"}
    found = {
        finding.code
        for rule in ALL_RULES
        if rule.code in promised
        for finding in check(example_files(rule.bad))
        if finding.code == rule.code and finding.fix is not None
    }
    assert found == promised
