"""Who extracts facts: what the command line says of it, and what an executor is."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

if TYPE_CHECKING:  # a run with nothing new imports no reader of files
    from rltel_lint.extraction.chunks import Chunk, Extracted

Place = Literal["local", "ray"]


class Workers(NamedTuple):
    """What the options say of extraction in parallel.

    Attributes:
        jobs: How many processes of this machine work; 0 means as many as there are CPUs that
            this process may use, and only where enough is new.
        executor: Where they are: on this machine, or on a Ray cluster.
        ray_address: The cluster; empty means what the environment says.
    """

    jobs: int = 1
    executor: Place = "local"
    ray_address: str = ""

    @property
    def number(self) -> int:
        """How many processes of this machine may work."""
        return self.jobs or usable_cpus()


class Executor(Protocol):
    """Extracts chunks somewhere else.

    What it does not deliver is extracted by the process itself when it is needed.
    """

    def run(self, chunks: Sequence[Chunk]) -> Iterator[Extracted]:
        """Yields the facts of chunks, in any order.

        Raises:
            ExecutorError: It cannot go on; what has been delivered is good.
            UserError: It cannot be used as the user asked.
        """


class ExecutorError(Exception):
    """Why an executor does not deliver; one line."""


def usable_cpus() -> int:
    """Returns how many CPUs this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1
