"""Plants mutants one by one and asks the checker."""

from __future__ import annotations

import ast
import gc
import multiprocessing
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rltel_lint.config import Config
from rltel_lint.engine import Input, Known, analyse
from rltel_lint.findings import Finding
from rltel_lint.rules.catalogue import ALL_RULES
from rltel_lint.suppression import Suppressions
from tests.mutation import (  # noqa: F401
    code_carriers,
    code_field,
    code_lifecycle,
    code_metrics,
    code_spans,
    code_waits,
    controls,
    documents,
    queries,
)
from tests.mutation.mutants import MUTATORS, Mutant
from tests.mutation.tree import Tree

Key = tuple[str, str, str]


@dataclass(frozen=True)
class Outcome:
    """What the checker says of a mutant: the findings that are new."""

    mutant: int
    new: tuple[Finding, ...]


class Checker:
    """Checks variants of one tree; facts of unchanged files are read once, by the first check."""

    def __init__(self, root: Path, texts: Mapping[str, str], config: Config) -> None:
        self.root = root
        self.texts = dict(texts)
        self.config = config
        self._known = Known()
        self.before = Counter(_key(one) for one in self.findings({}))

    def findings(
        self, changed: Mapping[str, str], codes: frozenset[str] | None = None
    ) -> list[Finding]:
        """Returns what is reported on the tree with some files changed.

        Args:
            changed: The changed files.
            codes: The rules to run; ``None`` runs what the configuration selects.
        """
        config = self.config
        if codes is not None:
            defaults = {rule.code: rule.default for rule in ALL_RULES}
            chosen = [code for code in codes if config.selects(code, default=defaults[code])]
            config = replace(config, select=tuple(sorted(chosen)), extend_select=(), ignore=())
        texts = {**self.texts, **changed}
        sources = {path: text for path, text in texts.items() if path.endswith(".py")}
        others = {path: text for path, text in texts.items() if not path.endswith(".py")}
        gc.disable()
        try:
            result = analyse(Input(self.root, sources, others), config, known=self._known)
        finally:
            gc.enable()
        kept = Suppressions(texts, self.config.per_file_ignores, "any line").keep(result.findings)
        return [one for one in kept if config.selects(one.code)]

    def new(self, mutant: Mutant) -> tuple[Finding, ...]:
        """Returns the findings that a mutant adds; only rules that could see it are asked."""
        codes = None if mutant.kind == controls.KIND else mutant.codes
        changed = mutant.texts()
        self._check(mutant, changed)
        left = self.before.copy()
        found = []
        for finding in self.findings(changed, codes):
            key = _key(finding)
            if left[key] > 0:
                left[key] -= 1
            else:
                found.append(finding)
        return tuple(found)

    def _check(self, mutant: Mutant, changed: Mapping[str, str]) -> None:
        """A mutator that changes nothing, or leaves what is no Python, would prove nothing."""
        what = f"{mutant.place} [{mutant.name}]"
        if all(self.texts.get(path) == text for path, text in changed.items()):
            raise AssertionError(f"{what} changes nothing")
        for path, text in changed.items():
            if path.endswith(".py"):
                try:
                    ast.parse(text)
                except SyntaxError as error:
                    raise AssertionError(f"{what} is no Python: {error}") from error


def _key(finding: Finding) -> Key:
    return finding.code, finding.place.path, re.sub(r":\d+|\bline \d+", "", finding.message)


def sample(
    tree: Tree, kinds: Iterable[str], limit: int, seed: int = 0, name: str = ""
) -> list[Mutant]:
    """Returns at most ``limit`` mutants of each kind, spread evenly over what can be done."""
    wanted = set(kinds)
    by_kind: dict[str, dict[str, list[Mutant]]] = defaultdict(lambda: defaultdict(list))
    for mutate in MUTATORS:
        for mutant in mutate(tree):
            if mutant.kind in wanted and name in mutant.name:
                by_kind[mutant.kind][mutant.name].append(mutant)
    chosen: list[Mutant] = []
    for kind in sorted(by_kind):
        rng = random.Random(f"{seed} {kind}")
        piles = [rng.sample(pile, len(pile)) for _, pile in sorted(by_kind[kind].items())]
        rng.shuffle(piles)
        turn: list[Mutant] = []
        while len(turn) < limit and any(piles):
            turn += [pile.pop() for pile in piles if pile]
        chosen += turn[:limit]
    return chosen


_state: tuple[Checker, Sequence[Mutant]]


def _one(index: int) -> Outcome:
    checker, mutants = _state
    return Outcome(index, checker.new(mutants[index]))


def run(
    root: Path,
    texts: Mapping[str, str],
    config: Config,
    mutants: Sequence[Mutant],
    workers: int = 2,
) -> list[Outcome]:
    """Checks the mutants in a few processes."""
    global _state  # noqa: PLW0603 - what the forked workers start with
    _state = (Checker(root, texts, config), mutants)
    if workers < 2 or "fork" not in multiprocessing.get_all_start_methods():
        return [_one(index) for index in range(len(mutants))]
    gc.freeze()  # the facts are shared with the workers: the collector need not touch them
    try:
        with multiprocessing.get_context("fork").Pool(workers) as pool:
            return list(pool.imap(_one, range(len(mutants)), chunksize=2))
    finally:
        gc.unfreeze()


@dataclass
class Share:
    """How many mutants of a kind were caught."""

    mutants: int = 0
    caught: int = 0
    missed: tuple[Mutant, ...] = ()

    @property
    def percent(self) -> float:
        return 100 * self.caught / self.mutants if self.mutants else 100.0


@dataclass
class Report:
    """Shares by kind, and what controls added."""

    shares: dict[str, Share]
    controls: int
    alarms: list[tuple[Mutant, Finding]]
    seconds: float = 0.0


def judge(mutants: Sequence[Mutant], outcomes: Iterable[Outcome]) -> Report:
    """Sorts outcomes into caught, missed and false alarms."""
    report = Report({}, 0, [])
    for outcome in outcomes:
        mutant = mutants[outcome.mutant]
        if mutant.kind == controls.KIND:
            report.controls += 1
            report.alarms += [(mutant, one) for one in outcome.new if one.code not in mutant.codes]
            continue
        share = report.shares.setdefault(mutant.kind, Share())
        share.mutants += 1
        if any(finding.code in mutant.codes for finding in outcome.new):
            share.caught += 1
        else:
            share.missed += (mutant,)
    return report


def measure(
    root: Path,
    texts: Mapping[str, str],
    config: Config,
    kinds: Iterable[str],
    limit: int,
    workers: int = 2,
    name: str = "",
) -> Report:
    """Samples, plants and judges."""
    started = time.perf_counter()
    mutants = sample(Tree(texts, config), kinds, limit, name=name)
    report = judge(mutants, run(root, texts, config, mutants, workers))
    report.seconds = time.perf_counter() - started
    return report


def table(report: Report) -> str:
    """Returns the report as text."""
    lines = [f"{'kind':8} {'mutants':>8} {'caught':>7} {'share':>7}"]
    for kind, share in sorted(report.shares.items()):
        lines.append(f"{kind:8} {share.mutants:8} {share.caught:7} {share.percent:6.1f}%")
    total = sum(s.mutants for s in report.shares.values())
    caught = sum(s.caught for s in report.shares.values())
    if total:
        lines.append(f"{'all':8} {total:8} {caught:7} {100 * caught / total:6.1f}%")
    alarming = len({id(mutant) for mutant, _ in report.alarms})
    lines.append(
        f"controls {report.controls:8}, false alarms on {alarming}; {report.seconds:.0f} s"
    )
    for kind, share in sorted(report.shares.items()):
        lines += [f"missed {kind} {m.place} [{m.name}] {m.detail}" for m in share.missed]
    lines += [
        f"false alarm {m.place} [{m.name}] {m.detail}: {f.place} {f.code} {f.message}"
        for m, f in report.alarms
    ]
    return "\n".join(lines)
