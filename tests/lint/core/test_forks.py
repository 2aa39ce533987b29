"""Rules that run in copies of the process report what they report in one."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltel_lint import forks, running
from rltel_lint.config import Config
from rltel_lint.engine import Input, Result, analyse
from rltel_lint.extraction.workers import Workers
from rltel_lint.facts.store import FactStore
from rltel_lint.forks import can_fork, run_apart, run_forked
from rltel_lint.results import encode_finding
from rltel_lint.rules.catalogue import ALL_RULES
from rltel_lint.running import share_out
from tests.lint.support import project

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

EXAMPLES = [rule for rule in ALL_RULES if rule.default]
"""Every bad example that the default profile reads."""


def test_answers_come_in_the_order_of_the_tasks() -> None:
    large = "x" * 2_000_000  # more than a pipe holds
    tasks = [os.getpid, lambda: [os.getpid(), large], lambda: {"third": [1, None]}]
    answers = run_forked(tasks)
    assert answers is not None
    here, (there, text), third = answers
    assert here == os.getpid() != there
    assert text == large
    assert third == {"third": [1, None]}


def test_what_a_child_changes_is_its_own() -> None:
    seen: list[int] = []
    answers = run_forked([lambda: 0, lambda: seen.append(1) or len(seen)])
    assert answers == [0, 1]
    assert seen == []


def test_a_task_apart_leaves_nothing_here(children: list[int]) -> None:
    seen: list[int] = []
    assert run_apart(lambda: [seen.append(1) or len(seen), os.getpid()]) == [1, *children]
    assert seen == []
    assert_ended(children)


@pytest.mark.parametrize(
    "ends",
    [
        lambda: 1 // 0,
        lambda: os.kill(os.getpid(), signal.SIGKILL),
        lambda: os._exit(3),
        object,  # nothing that can be told
    ],
    ids=["raises", "killed", "exits", "cannot be written"],
)
def test_a_child_that_fails_is_no_answer(ends: object, children: list[int]) -> None:
    assert run_forked([lambda: 1, ends, lambda: 2]) is None  # type: ignore[list-item]
    assert run_apart(ends) is None  # type: ignore[arg-type]
    assert len(children) == 3
    assert_ended(children)


def test_an_error_of_the_first_task_is_the_callers(children: list[int]) -> None:
    with pytest.raises(ZeroDivisionError):
        run_forked([lambda: 1 // 0, lambda: 2])
    assert len(children) == 1
    assert_ended(children)


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The processes that are forked."""
    fork, found = os.fork, []

    def forked() -> int:
        process = fork()
        found.append(process)
        return process

    monkeypatch.setattr(os, "fork", forked)
    return found


def assert_ended(children: list[int]) -> None:
    for child in children:
        with pytest.raises(ChildProcessError):
            os.waitpid(child, os.WNOHANG)


def test_no_copy_is_made_beside_another_thread() -> None:
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    alone = can_fork()
    thread.start()
    try:
        assert not can_fork()
    finally:
        done.set()
        thread.join()
    assert can_fork() == alone


@given(st.sets(st.sampled_from(ALL_RULES)), st.integers(1, 12))
def test_every_rule_runs_once_and_families_stay_together(rules: set, processes: int) -> None:
    groups = share_out(rules, processes)
    assert sorted(rule.code for group in groups for rule in group) == sorted(
        rule.code for rule in rules
    )
    assert 1 <= len(groups) <= processes
    homes = [{rule.code[3] for rule in group} for group in groups]
    assert sum(map(len, homes)) == len(set().union(*homes))
    assert all(groups) or not rules


def example(tmp_path: Path) -> Input:
    """All bad examples in one project, each in a folder of its own."""
    sources, documents = {}, {}
    for rule in EXAMPLES:
        for path, text in project(rule.bad).items():
            into = sources if path.endswith(".py") else documents
            if path.endswith((".py", ".md")):
                into[f"{rule.code.lower()}/{path}"] = text
    return Input(tmp_path, sources, documents)


def check(source: Input, jobs: int, store: FactStore | None = None) -> Result:
    return analyse(source, Config(), store, Workers(jobs))


def told(result: Result) -> list[object]:
    return [encode_finding(finding) for finding in result.findings]


@pytest.mark.parametrize("jobs", [2, 3, 8])
def test_findings_and_counts_are_the_same(jobs: int, tmp_path: Path) -> None:
    source = example(tmp_path)
    alone, shared = check(source, 1), check(source, jobs)
    assert len({finding.code for finding in alone.findings}) > 30
    assert told(shared) == told(alone)
    assert list(shared.summary.counts.items()) == list(alone.summary.counts.items())


def test_a_process_that_cannot_be_started_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = example(tmp_path)
    alone = check(source, 1)

    def refuses() -> int:
        raise OSError("no more processes")

    monkeypatch.setattr(os, "fork", refuses)
    assert run_apart(lambda: 1) is None
    assert told(check(source, 2)) == told(alone)


def test_a_copy_that_dies_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, parent, answer = example(tmp_path), os.getpid(), running._answer
    alone = check(source, 1)

    def dies(*args: object) -> list[object]:
        if os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(running, "_answer", dies)
    assert told(check(source, 2)) == told(alone)


def test_what_copies_read_is_kept(tmp_path: Path) -> None:
    source, cache = example(tmp_path), tmp_path / "cache"
    first = check(source, 3, FactStore(cache))
    again = FactStore(cache)
    assert told(check(source, 3, again)) == told(first)
    assert first.findings
    assert not again.learned()["changed"]


def _never(*_: object, **__: object) -> None:
    raise AssertionError("a copy of the process was made")


def test_small_projects_are_not_shared_out_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forks, "_start", _never)
    check(example(tmp_path), 0)
