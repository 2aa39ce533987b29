"""Commands that take turns, so that a change of the machine's load meets all of them alike."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

MEGABYTE = 1024  # ru_maxrss counts kilobytes on Linux


@dataclass
class Case:
    """One thing that is measured.

    Attributes:
        name: What the table calls it.
        command: The command; it may end with any exit code.
        before: Done before each turn, not measured.
        stdin: What the command reads; nothing without it.
        beside: The case that this one is compared with.
        seconds: Wall times of the turns.
        megabytes: Peak memory of the largest process of the turns.
        codes: Exit codes of the turns.
    """

    name: str
    command: list[str]
    before: Callable[[], None] = lambda: None
    stdin: Path | None = None
    beside: Case | None = None
    seconds: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)

    def run(self, folder: Path, patience: float | None = None) -> bool:
        """Takes one turn.

        Args:
            folder: Where the command is started.
            patience: Seconds after which it is ended; ``None`` waits.

        Returns:
            Whether it came to its end by itself.
        """
        self.before()
        with open(self.stdin or os.devnull, "rb") as stdin:
            started = time.perf_counter()
            process = subprocess.Popen(
                self.command,
                cwd=folder,
                env=_environment(),
                stdin=stdin,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            ended, status, usage = _wait(process.pid, patience)
        self.seconds.append(time.perf_counter() - started)
        self.megabytes.append(usage.ru_maxrss / MEGABYTE)
        self.codes.append(os.waitstatus_to_exitcode(status))
        process.returncode = self.codes[-1]
        return ended

    def forget(self) -> None:
        """Drops the turns so far."""
        for taken in (self.seconds, self.megabytes, self.codes):
            taken.clear()

    @property
    def median(self) -> float:
        """The median of the turns, in seconds."""
        return statistics.median(self.seconds)


def _environment() -> dict[str, str]:
    """As users have it: what is installed is compiled once and not at each start."""
    left_out = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED")
    return {name: value for name, value in os.environ.items() if name not in left_out}


def _wait(process: int, patience: float | None) -> tuple[bool, int, os.struct_rusage]:
    if patience is None:
        return True, *os.wait4(process, 0)[1:]
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        found, status, usage = os.wait4(process, os.WNOHANG)
        if found:
            return True, status, usage
        time.sleep(0.005)
    os.kill(process, 9)
    return False, *os.wait4(process, 0)[1:]


def take_turns(cases: Sequence[Case], folder: Path, repeats: int) -> None:
    """Lets every case run in turn, as often as asked for."""
    for _ in range(repeats):
        for case in cases:
            case.run(folder)
