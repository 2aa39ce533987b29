"""Processes that read files: when they are started, and what happens when they end early."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rltel_lint.extraction import ahead, workers
from rltel_lint.extraction.workers import Workers, usable_cpus
from rltel_lint.facts.store import FactStore
from rltel_lint.outcome import analyse_session
from rltel_lint.per_file import FileChecks
from rltel_lint.session import Options, Session, open_session
from tests.lint.extraction.projects import run_with, synthetic
from tests.lint.processes import LINT, Tree

_COUNT = """
import os, rltel_lint.extraction.processes as processes
extract = processes.extract_chunk
def counted(chunk):
    with open({log!r}, "a") as file:
        print(os.getpid(), file=file)
    return extract(chunk)
processes.extract_chunk = counted
"""
_CUTS = """
from rltel_lint.facts import source
cut = source.cut
def logged(facts):
    with open({log!r}, "a") as file:
        print(os.getpid(), facts.path, file=file)
    return cut(facts)
source.cut = logged
"""
_KILL = """
import os, signal, rltel_lint.extraction.processes as processes
extract = processes.extract_chunk
def killed(chunk):
    if any(file.path == {path!r} for file in chunk.files):
        os.kill(os.getpid(), signal.SIGKILL)
    return extract(chunk)
processes.extract_chunk = killed
"""
_KILL_ALL = """
import os, signal, rltel_lint.extraction.processes as processes
processes.extract_chunk = lambda chunk: os.kill(os.getpid(), signal.SIGKILL)
"""
_INTERRUPTED = """
import os, signal, rltel_lint.extraction.processes as processes
extract = processes.extract_chunk
def interrupted(chunk):
    os.kill(os.getpid(), signal.SIGINT)
    return extract(chunk)
processes.extract_chunk = interrupted
"""
_FAIL = """
import rltel_lint.extraction.processes as processes
def fail(chunk):
    raise RuntimeError("no more")
processes.extract_chunk = fail
"""
_NO_PROCESS = """
import multiprocessing.process
def start(self):
    raise OSError(11, "Resource temporarily unavailable")
multiprocessing.process.BaseProcess.start = start
"""
_NO_PIPE = """
import multiprocessing
def pipe(duplex=True):
    raise OSError(24, "Too many open files")
multiprocessing.Pipe = pipe
"""
_NO_SEMAPHORE = """
import multiprocessing.synchronize
def refused(*arguments, **options):
    raise OSError(38, "Function not implemented")
multiprocessing.synchronize.SemLock.__init__ = refused
"""
_SPAWN = """
import threading
threading.Thread(target=threading.Event().wait, daemon=True).start()
"""


def test_both_processes_read_and_a_second_run_starts_none(
    synthetic_tree: Tree, expected: str, tmp_path: Path
) -> None:
    log, cuts = tmp_path / "log", tmp_path / "cuts"
    options = ("--cache-dir", str(tmp_path / "cache"), "--jobs", "2")
    prelude = _COUNT.format(log=str(log)) + _CUTS.format(log=str(cuts))
    assert run_with(synthetic_tree, prelude, *options).out == expected
    said = log.read_text().split()
    assert len(set(said)) == 2
    assert len(said) == 8
    cut = [line.split() for line in cuts.read_text().splitlines()]
    assert len(cut) > 45
    assert [path for process, path in cut if process not in said] == ["pkg/broken.py"]
    (tmp_path / "cache" / "results.json").unlink()
    assert run_with(synthetic_tree, prelude, *options).out == expected
    assert log.read_text().split() == said


@pytest.mark.parametrize(
    ("prelude", "note"),
    [
        (_KILL.format(path="pkg/part7/phase7.py"), "has ended early"),
        (_KILL_ALL, "has ended early"),
        (_NO_PROCESS, "cannot start a process"),
        (_NO_PIPE, "cannot start a process"),
        (_FAIL, "cannot read its files (RuntimeError)"),
        (_INTERRUPTED, ""),
        (_NO_SEMAPHORE, ""),
    ],
    ids=["one killed", "all killed", "no process", "no pipe", "failing", "ctrl-c", "no semaphore"],
)
def test_no_finding_is_lost(synthetic_tree: Tree, expected: str, prelude: str, note: str) -> None:
    done = run_with(synthetic_tree, prelude, "--no-cache", "--jobs", "3")
    assert done.out == expected
    assert done.err.count("\n") == (1 if note else 0), done.err
    assert note in done.err


def test_where_other_threads_run_processes_begin_anew(synthetic_tree: Tree, expected: str) -> None:
    done = run_with(synthetic_tree, _SPAWN, "--no-cache", "--jobs", "2")
    assert (done.out, done.err) == (expected, "")


def test_the_module_as_a_program_runs_once(
    synthetic_tree: Tree, expected: str, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(_SPAWN, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "rltel_lint", "--no-cache", "--format=json", "--jobs=2"],
        cwd=synthetic_tree.root,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{LINT}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, expected, "")


def test_ctrl_c_ends_it_without_a_word(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "project", synthetic(10))
    log = tmp_path / "log"
    script = _COUNT.format(log=str(log)) + (
        "import time, sys\n"
        "def slow(chunk):\n    counted(chunk)\n    time.sleep(60)\n"
        "processes.extract_chunk = slow\n"
        "from rltel_lint.cli import main\nsys.exit(main(sys.argv[1:]))"
    )
    running = subprocess.Popen(
        [sys.executable, "-c", script, "check", "--no-cache", "--jobs", "2"],
        cwd=tree.root,
        env={**os.environ, "PYTHONPATH": str(LINT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 30
    while not (log.exists() and len(log.read_text().split()) == 2):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=20)
    assert (running.returncode, out, err.strip()) == (130, "", "")
    for process in map(int, log.read_text().split()):
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return open_session(Options(root=Tree(tmp_path / "small", synthetic(10)).root, no_cache=True))


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many chunks were handed to processes, which this keeps from starting."""
    numbers: list[int] = []

    class Counting:
        def run(self, chunks: list[object]) -> Iterator[object]:
            numbers.append(len(chunks))
            return iter(())

    monkeypatch.setattr(ahead, "_executor", lambda _: Counting())
    return numbers


def check(session: Session, jobs: int) -> None:
    sources = session.texts.sources
    changed = Session(session.root, session.config, session.texts, workers=Workers(jobs))
    assert analyse_session(changed, FactStore(None)).project.sources.keys() == sources.keys()


def test_auto_starts_processes_for_much_that_is_new(
    session: Session, started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "usable_cpus", lambda: 2)
    monkeypatch.setattr(ahead, "can_fork", lambda: True)
    check(session, 0)
    assert started == []
    monkeypatch.setattr(ahead, "_LEAST", 5_000)
    check(session, 0)
    assert started == [8]
    monkeypatch.setattr(workers, "usable_cpus", lambda: 1)
    check(session, 0)
    check(session, 1)
    assert started == [8]
    check(session, 2)
    assert started == [8, 8]


def test_auto_counts_the_cpus_that_this_process_may_use() -> None:
    allowed = os.sched_getaffinity(0)
    assert usable_cpus() == len(allowed)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert usable_cpus() == 1
        assert Workers(0).number == 1
    finally:
        os.sched_setaffinity(0, allowed)


def test_what_linters_of_files_ask_starts_no_process(
    session: Session, started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ahead, "_LEAST", 1)
    assert FileChecks().findings(session.root / "pkg/part1/phase1.py")
    assert started == []


@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5"])
def test_a_wrong_number_is_refused(synthetic_tree: Tree, value: str) -> None:
    done = synthetic_tree.run("check", f"--jobs={value}")
    assert done.code == 2
    assert "'--jobs'" in done.err
    assert 'a number from 1 nor "auto"' in done.err
    assert len(done.err.splitlines()) == 1
