"""What a check of a project reports: the rules' findings, kept or computed, less what is silent.

The command and the flake8 plugin both go this way, so that they report the same.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from rltel_lint.facts.store import FactStore
from rltel_lint.findings import Finding
from rltel_lint.results import load_result, result_key, save_result
from rltel_lint.session import Session

if TYPE_CHECKING:
    from rltel_lint.baseline import Baseline
    from rltel_lint.engine import Result
    from rltel_lint.suppression import Inline, Suppressions

Outcome = tuple[Iterable[Finding], Mapping[str, int]]
"""Findings before suppression, and how much of what was looked at."""


class Judged(NamedTuple):
    """The findings of a run, with the baseline taken into account.

    Attributes:
        findings: What is reported, in report order.
        held: What the baseline holds back.
        baseline: The baseline; ``None`` where the project has none.
    """

    findings: list[Finding]
    held: Sequence[Finding] = ()
    baseline: Baseline | None = None


def outcome(
    session: Session, store: FactStore, analyse: Callable[[Session, FactStore], Result]
) -> Outcome:
    """Returns the outcome of a check, from an earlier run if nothing has changed.

    Args:
        session: The project.
        store: Where facts and outcomes are kept.
        analyse: Checks the project; called only where nothing is kept.
    """
    key = result_key(session) if session.cache else ""
    known = load_result(store, key, session.root) if key else None
    if known is not None:
        return known.findings, known.counts
    if session.cache is None:
        return _computed(analyse(session, store))
    from rltel_lint.editing import after_edit
    from rltel_lint.locking import exclusive

    # flake8's workers all come here at once on a tree that is new to them.
    with exclusive(session.cache / "lock"):
        known = load_result(store, key, session.root)
        if known is not None:
            return known.findings, known.counts
        edited = after_edit(session, store)
        if edited is not None:
            found = _with_silence(session, edited.result.findings)
            save_result(store, key, found, edited.result.counts, edited.result.asked, edited.base)
            return found, edited.result.counts
        store.about = key
        result = analyse(session, store)
        found = _with_silence(session, result.findings)
        # A file may have changed after the first look at it and before it was read.
        if result_key(session) == key and not store.is_torn:
            save_result(store, key, found, result.summary.counts, result.asked)
    return _computed(result)


def _computed(result: Result) -> Outcome:
    return result.findings, result.summary.counts


def analyse_session(session: Session, store: FactStore) -> Result:
    """Checks a project; imports the rules and all they need."""
    from rltel_lint.engine import Input, analyse

    texts = session.texts
    source = Input(session.root, texts.sources, texts.documents, texts.problems)
    with _uncollected():
        return analyse(source, session.config, store, session.workers)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Keeps the garbage collector off: it would walk the growing project again and again.

    A quarter of a cold run goes to it otherwise; what it could free is small, since a tree that
    is no longer used goes by its reference count.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            # By way of the permanent generation all that there is comes into the oldest one:
            # the next look at the youngest would take a second otherwise.
            gc.freeze()
            gc.enable()
            gc.unfreeze()


def reported(
    session: Session, findings: Iterable[Finding], inline: Inline = "any line"
) -> list[Finding]:
    """Returns the findings that are selected and that nothing suppresses, in report order.

    Args:
        session: The project.
        findings: Of an outcome.
        inline: Which comments count.

    Raises:
        ConfigError: The project's baseline cannot be used.
    """
    return judge(session, unsuppressed(session, findings, inline)).findings


def unsuppressed(
    session: Session, findings: Iterable[Finding], inline: Inline = "any line"
) -> list[Finding]:
    """Returns what :func:`reported` returns, with those that the baseline accepts.

    Args:
        session: The project.
        findings: Of an outcome.
        inline: Which comments count.
    """
    selected = [one for one in findings if session.config.selects(one.code)]
    if inline != "any line" or any(one.silent is None for one in selected):
        kept = _suppressions(session, inline).keep(selected)
    else:
        kept = tuple(one for one in selected if not one.silent)
    return sorted(kept, key=lambda one: one.sort_key)


def _suppressions(session: Session, inline: Inline = "any line") -> Suppressions:
    from rltel_lint.suppression import Suppressions

    return Suppressions(session.texts.all, session.config.per_file_ignores, inline)


def _with_silence(session: Session, findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings, with what is silent marked: whoever reports them then needs no texts."""
    findings = tuple(findings)
    loud = set(_suppressions(session).keep(findings)) if findings else set()
    return tuple(replace(one, silent=one not in loud) for one in findings)


def judge(session: Session, findings: list[Finding]) -> Judged:
    """Holds back what the project's baseline accepts.

    Args:
        session: The project.
        findings: From :func:`unsuppressed`.

    Raises:
        ConfigError: The baseline cannot be used.
    """
    if session.baseline is None:
        return Judged(findings)
    from rltel_lint.baseline import read_baseline

    baseline = read_baseline(session.baseline, session.shown(session.baseline))
    new, held = baseline.split(findings)
    return Judged(new, held, baseline)
