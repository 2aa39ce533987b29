"""The lock that lets one process compute while the others wait."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rltel_lint.locking import exclusive
from tests.lint.flake8.conftest import LINT, Write, drifted, run_flake8

_HOLD = """
import sys
from pathlib import Path
from rltel_lint.locking import exclusive
with exclusive(Path(sys.argv[1])) as held:
    print(held, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "project" / ".rltel-cache" / "lock"


@pytest.fixture
def holder(lock: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lock until its standard input is closed."""
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(lock)],
        env={**os.environ, "PYTHONPATH": str(LINT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "True\n"
    with process:
        yield process
        process.kill()


def test_nobody_gets_the_lock_while_it_is_held(lock: Path, holder: subprocess.Popen[str]) -> None:
    with exclusive(lock, 0.1) as held:
        assert not held


def test_the_lock_is_free_again_when_its_holder_is_done(
    lock: Path, holder: subprocess.Popen[str]
) -> None:
    holder.communicate("")
    with exclusive(lock, 0.1) as held:
        assert held
    with exclusive(lock, 0.1) as held:
        assert held, "the first block has ended"


def test_flake8_does_not_wait_for_a_holder_that_was_killed(
    project: Write, lock: Path, holder: subprocess.Popen[str]
) -> None:
    root = project({"pkg/train.py": drifted()})
    holder.send_signal(signal.SIGKILL)
    holder.wait(10)
    started = time.monotonic()
    run = run_flake8(root, "--select", "RLT", ".")
    assert run.lines == [("pkg/train.py", 6, "RLT101")]
    assert time.monotonic() - started < 30


def test_flake8_does_the_work_alone_when_a_holder_takes_too_long(
    project: Write, holder: subprocess.Popen[str]
) -> None:
    root = project({"pkg/train.py": drifted()})
    impatient = "import rltel_lint.locking as l; l.exclusive.__wrapped__.__defaults__ = (0.2,)"
    run = run_flake8(root, "--select", "RLT", ".", prelude=impatient)
    assert run.lines == [("pkg/train.py", 6, "RLT101")]


def test_a_lock_that_cannot_be_had_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with exclusive(tmp_path / "file" / "lock") as held:
        assert not held
