"""Runs the rules over a linked project, in this process or shared out to copies of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rltel_lint.extraction.workers import Workers
from rltel_lint.facts.store import FactStore
from rltel_lint.findings import Finding
from rltel_lint.forks import can_fork, run_forked
from rltel_lint.inspected import NOUNS, count_inspected
from rltel_lint.project.disk import join
from rltel_lint.project.linked import Project
from rltel_lint.results import decode_finding, encode_finding
from rltel_lint.rules.base import Rule

_LEAST = 150
"""Files below which a copy of the process would not pay."""

_WEIGHTS = dict(zip("0123456789", (0.3, 1.4, 0.2, 3.3, 4.6, 2.8, 0.9, 0.2, 9.8, 2.9), strict=True))
"""How long the rules of a family take, by the digit behind ``RLT``."""


@dataclass(frozen=True)
class Ran:
    """What came of running rules.

    Attributes:
        findings: In any order.
        counts: How much was inspected: a noun in the singular and a number.
    """

    findings: list[Finding]
    counts: dict[str, int]


def run_rules(
    project: Project, rules: Sequence[type[Rule]], store: FactStore, workers: Workers
) -> Ran:
    """Runs rules.

    Args:
        project: The linked project.
        rules: The rules; their findings do not depend on one another.
        store: Where facts are kept: it learns what the copies have read.
        workers: How many processes may work.
    """
    rules = sorted(rules, key=_turn)
    groups = share_out(rules, workers.number)
    alone = workers.executor == "ray"  # whose library leaves threads behind
    if (
        len(groups) > 1
        and (workers.jobs or len(project.sources) >= _LEAST)
        and not alone
        and can_fork()
    ):
        project.modules.get_ready()
        _ = project.spans  # what nearly every rule starts from
        # This process also gathers the answers, so it takes the group that reads least itself.
        tasks = [partial(_answer, project, group, store) for group in reversed(groups)]
        answers = run_forked(tasks)
        if answers is not None:
            for *_, asked in answers:
                join(project.tree.disk.answers, asked)
            return _joined(answers, store)
    findings = [finding for rule in rules for finding in rule().check(project)]
    return Ran(findings, count_inspected(project, _codes(rules)))


def _answer(project: Project, rules: Sequence[type[Rule]], store: FactStore) -> list[Any]:
    findings = [encode_finding(finding) for rule in rules for finding in rule().check(project)]
    counts = count_inspected(project, _codes(rules))
    return [findings, counts, store.learned(), project.tree.disk.answers]


def _joined(answers: list[Any], store: FactStore) -> Ran:
    findings: list[Finding] = []
    counts: dict[str, int] = {}
    for encoded, counted, learned, _ in answers:
        findings += map(decode_finding, encoded)
        counts.update(counted)
        store.join(learned)
    return Ran(findings, {noun: counts[noun] for noun in NOUNS if noun in counts})


def _turn(rule: type[Rule]) -> tuple[bool, str]:
    """Last comes what asks of each file whether it can be read: most have been by then."""
    return rule.code.startswith("RLT0"), rule.code


def _codes(rules: Iterable[type[Rule]]) -> list[str]:
    return [rule.code for rule in rules]


def share_out(rules: Iterable[type[Rule]], processes: int) -> list[list[type[Rule]]]:
    """Splits rules into groups that take about as long as one another.

    A family, such as RLT3xx, is never split: its rules are pure functions of facts that are
    worked out once in a process, and most of these are the family's own.

    Args:
        rules: The rules.
        processes: How many groups there may be.

    Returns:
        At least one group; none is empty if there are any rules.
    """
    families: dict[str, list[type[Rule]]] = {}
    for rule in rules:
        families.setdefault(rule.code[3], []).append(rule)
    groups: list[list[type[Rule]]] = [[] for _ in range(max(1, min(processes, len(families))))]
    loads = [0.0] * len(groups)
    for family in sorted(families, key=lambda one: (-_WEIGHTS[one], one)):
        lightest = loads.index(min(loads))
        groups[lightest] += families[family]
        loads[lightest] += _WEIGHTS[family]
    return [sorted(group, key=_turn) for group in groups]
