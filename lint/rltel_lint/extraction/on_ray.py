"""Extraction on the nodes of a Ray cluster that runs already.

A node needs the same version of this package, with what the ``lint`` extra brings, and the same
Python. Nothing is shipped but texts and facts; no node needs the project's files.
"""

from __future__ import annotations

import json
import logging
import os
import socket
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rltel_lint.errors import UserError
from rltel_lint.extraction.chunks import Chunk, Extracted, extract_chunk
from rltel_lint.extraction.workers import ExecutorError

_PATIENCE = 60.0
"""Seconds without a single result after which a cluster is taken for busy or broken."""

_KNOCK = 5.0
"""Seconds in which the head of a cluster must answer."""

_AHEAD = 4
"""Chunks that are handed out for each CPU of the cluster: more would only fill its memory."""


class OnRay:
    """Extracts on a Ray cluster.

    Args:
        address: Where the cluster is, as ``ray.init`` takes it; empty means ``RAY_ADDRESS``, or
            else the cluster of this machine.
        patience: Seconds to wait for a result.

    Attributes:
        nodes: How many chunks each node has read, by its id.
    """

    def __init__(self, address: str = "", patience: float = _PATIENCE) -> None:
        self._address = address or os.environ.get("RAY_ADDRESS", "") or "auto"
        self._patience = patience
        self.nodes: Counter[str] = Counter()

    def run(self, chunks: Sequence[Chunk]) -> Iterator[Extracted]:
        """Yields the facts of chunks, in any order.

        Raises:
            ExecutorError: The cluster does not deliver.
            UserError: Ray is missing, or there is no cluster.
        """
        ray = _ray()
        with _connected(ray, self._address):
            try:
                yield from self._results(ray, chunks)
            except (ray.exceptions.RayError, ImportError, OSError, ValueError) as error:
                raise ExecutorError(_reason(error)) from error

    def _results(self, ray: Any, chunks: Sequence[Chunk]) -> Iterator[Extracted]:
        # Without "SPREAD" the first node would take all that it has room for.
        extract = ray.remote(_extract).options(num_cpus=1, scheduling_strategy="SPREAD")
        waiting = list(reversed(chunks))
        running: list[Any] = []
        most = _AHEAD * max(int(ray.cluster_resources().get("CPU", 1)), 1)
        while waiting or running:
            while waiting and len(running) < most:
                running.append(extract.remote(waiting.pop()))
            done, running = ray.wait(running, timeout=self._patience)
            if not done:
                for task in running:
                    ray.cancel(task)
                raise ExecutorError(f"the Ray cluster gave nothing for {self._patience:g} s")
            node, facts = ray.get(done[0])
            self.nodes[node] += 1
            yield json.loads(facts)


def _extract(chunk: Chunk) -> tuple[str, str]:
    """What a node does: its id, and the facts as JSON, which no version of Python reads wrong."""
    facts = json.dumps(extract_chunk(chunk), separators=(",", ":"))
    return _ray().get_runtime_context().get_node_id(), facts


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise UserError(
            "--executor ray needs Ray, which is missing; pip install 'rl-telemetry[lint,ray]'"
        ) from error
    return ray


@contextmanager
def _connected(ray: Any, address: str) -> Iterator[None]:
    """Connects to a cluster; one that this process is connected to already stays so."""
    if ray.is_initialized():
        yield
        return
    if address == "local":
        raise UserError(
            '--executor ray starts no cluster, so "local" is no address of one; give '
            "--ray-address HOST:PORT, or leave --executor out"
        )
    try:
        _knock(address)
        ray.init(
            address=address,
            namespace="rltel_lint",
            log_to_driver=False,
            configure_logging=True,
            logging_level=logging.ERROR,
        )
    except (OSError, RuntimeError, ValueError) as error:  # ConnectionError is an OSError
        raise UserError(
            f"no Ray cluster at {address} ({_first_line(error)}); give --ray-address HOST:PORT or "
            "RAY_ADDRESS, or leave --executor out"
        ) from error
    try:
        yield
    finally:
        ray.shutdown()  # of this connection: the cluster goes on


def _knock(address: str) -> None:
    """Asks whether anything listens at an address: Ray itself would wait for minutes.

    Raises:
        OSError: Nothing does.
    """
    host, colon, port = address.rpartition("://")[2].rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_KNOCK).close()


def _reason(error: Exception) -> str:
    if "No module named" in str(error):
        return (
            "a node of the Ray cluster lacks this package; pip install 'rl-telemetry[lint]' on all"
        )
    return f"the Ray cluster could not read files ({type(error).__name__})"


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
