"""Fixes made in rounds over texts in memory: each round is checked again before it counts.

Fixes that overlap wait for the next round. A fix is kept only if its finding is gone afterwards
and no file has more findings of any code than before; otherwise it is taken back and named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from rltel_lint.changes import ActivateStream, Edit, Fix, RenameCall, ReplaceCall
from rltel_lint.findings import Finding
from rltel_lint.fixes.edits import NotApplicable, apply_edits
from rltel_lint.fixes.plan import Plan, Planner

ROUNDS = 10
"""More rounds than this are not made: fixes that still offer others would go in circles."""

FOLLOW_UPS = 3
"""So often what a fix brings to light is fixed along with it, such as the other half of a wire."""

Check = Callable[[Mapping[str, str]], Sequence[Finding]]
_Key = tuple[str, str, str, str]


@dataclass
class Mended:
    """What came of fixing a project in memory.

    Attributes:
        texts: The changed texts, by path.
        fixed: The findings that were mended, in the order of the rounds.
        left: The findings that remain.
        refused: Findings whose fix could not be made, with the reason.
    """

    texts: dict[str, str] = field(default_factory=dict)
    fixed: list[Finding] = field(default_factory=list)
    left: Sequence[Finding] = ()
    refused: list[tuple[Finding, str]] = field(default_factory=list)


def mend(
    texts: Mapping[str, str],
    check: Check,
    wanted: Callable[[Finding], bool],
    *,
    unsafe: bool = False,
) -> Mended:
    """Makes all fixes that can be made.

    Args:
        texts: The texts of source files and documents, by path.
        check: Returns what is reported for texts.
        wanted: Whether a finding is to be fixed.
        unsafe: Whether guesses are made too.
    """
    return _Mending(texts, check, wanted, unsafe).run()


class _Mending:
    def __init__(
        self,
        texts: Mapping[str, str],
        check: Check,
        wanted: Callable[[Finding], bool],
        unsafe: bool,
    ) -> None:
        self._first = texts
        self._texts = dict(texts)
        self._check = check
        self._wanted = wanted
        self._unsafe = unsafe
        self._refused: set[_Key] = set()
        self._mended = Mended()

    def run(self) -> Mended:
        mended = self._mended
        findings = self._check(self._texts)
        for _ in range(ROUNDS):
            offered = self._offered(findings)
            if not offered:
                break
            findings = self._attempt(offered, findings)
        mended.left = findings
        mended.texts = {
            path: text for path, text in self._texts.items() if text != self._first[path]
        }
        return mended

    def _offered(self, findings: Iterable[Finding]) -> list[Finding]:
        """The findings with a fix that is worth trying."""
        return [
            finding
            for finding in findings
            if finding.fix is not None
            and (finding.fix.safe or self._unsafe)
            and self._wanted(finding)
            and self._key(finding) not in self._refused
        ]

    def _key(self, finding: Finding) -> _Key:
        """What stays of a finding when lines move."""
        assert finding.fix is not None
        lines = self._texts.get(finding.place.path, "").splitlines()
        number = finding.place.line - 1
        line = lines[number].strip() if number < len(lines) else ""
        return finding.code, finding.place.path, finding.fix.message, line

    def _attempt(self, offered: list[Finding], before: Sequence[Finding]) -> Sequence[Finding]:
        """Makes as many of the fixes as go together; halves them until none does harm."""
        plan, chosen = self._plan(self._texts, offered)
        if not chosen:
            return before
        texts, after, reason = self._tried(plan, chosen, before)
        if reason:
            return self._halved(chosen, before, reason)
        self._texts = texts
        self._mended.fixed += chosen
        return after

    def _tried(
        self, plan: Plan, chosen: list[Finding], before: Sequence[Finding]
    ) -> tuple[dict[str, str], Sequence[Finding], str]:
        """Makes the fixes of a plan, and those of what comes to light by them."""
        texts, after, reason = self._texts, before, ""
        for _ in range(FOLLOW_UPS):
            try:
                texts = {**texts, **self._applied(plan, texts)}
            except NotApplicable as error:
                return texts, after, str(error)
            after = self._check(texts)
            reason = _harm(before, after, chosen)
            new = _grown(before, after)
            plan, more = self._plan(texts, [one for one in self._offered(after) if _at(one) in new])
            if not reason or not more:
                break
        return texts, after, reason

    def _halved(
        self, chosen: list[Finding], before: Sequence[Finding], reason: str
    ) -> Sequence[Finding]:
        fixes = list(dict.fromkeys(one.fix for one in chosen))
        if len(fixes) == 1:
            for finding in chosen:
                self._refuse(finding, reason)
            return before
        half = set(fixes[: len(fixes) // 2])
        # Only the first half is tried here: what it changes may move the second, whose fixes
        # are offered again, at their new places, in the next round.
        after = self._attempt([one for one in chosen if one.fix in half], before)
        if after is before:
            return self._attempt([one for one in chosen if one.fix not in half], before)
        return after

    def _plan(self, texts: Mapping[str, str], offered: list[Finding]) -> tuple[Plan, list[Finding]]:
        planner, plan = Planner(texts), Plan()
        known: dict[Fix, bool] = {}
        chosen = []
        for finding in offered:
            fix = finding.fix
            assert fix is not None
            if fix not in known:
                try:
                    known[fix] = plan.admit(fix, planner.edits(fix))
                except NotApplicable as error:
                    known[fix] = False
                    self._refuse(finding, str(error))
            if known[fix]:
                chosen.append(finding)
        return plan, chosen

    def _applied(self, plan: Plan, texts: Mapping[str, str]) -> dict[str, str]:
        changed = plan.applied(texts)
        for path, old in _renamed_away(plan):
            if not _is_exported(path, old, texts):
                edits = _unused(path, changed[path], old)
                changed[path] = apply_edits(changed[path], edits)
        return changed

    def _refuse(self, finding: Finding, reason: str) -> None:
        key = self._key(finding)
        if key not in self._refused:
            self._refused.add(key)
            self._mended.refused.append((finding, reason))


def _renamed_away(plan: Plan) -> list[tuple[str, str]]:
    """The functions that calls no longer use, by path."""
    found = [
        (change.place.path, change.old)
        for fix in plan.fixes
        for change in fix.changes
        if isinstance(change, (RenameCall, ActivateStream, ReplaceCall))
    ]
    return list(dict.fromkeys(found))


def _is_exported(path: str, name: str, texts: Mapping[str, str]) -> bool:
    """Whether another file may take a name from this one, where it is only imported."""
    stem = PurePosixPath(path).stem
    if stem == "__init__":
        return True
    return any(
        name in text and f"{stem} import" in text for other, text in texts.items() if other != path
    )


def _unused(path: str, text: str, name: str) -> list[Edit]:
    from rltel_lint.fixes.imports import drop_unused
    from rltel_lint.fixes.source import Source

    return drop_unused(Source(path, text), name)


def _at(finding: Finding) -> tuple[str, str]:
    return finding.place.path, finding.code


def _grown(before: Iterable[Finding], after: Iterable[Finding]) -> list[tuple[str, str]]:
    """The files and codes with more findings than before.

    Findings are counted by file and code: their messages speak of lines, which move.
    """
    return sorted(Counter(map(_at, after)) - Counter(map(_at, before)))


def _harm(before: Sequence[Finding], after: Sequence[Finding], chosen: Sequence[Finding]) -> str:
    """What speaks against a round; empty if nothing does."""
    for path, code in _grown(before, after):
        return f"it would bring {code} to {path}"
    old, new = Counter(map(_at, before)), Counter(map(_at, after))
    for (path, code), number in Counter(map(_at, chosen)).items():
        if new[path, code] > old[path, code] - number:
            return f"{code} would still be reported"
    return ""
