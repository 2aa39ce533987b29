"""Memory of the host, as ``rl.host.memory.*``."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from rl_telemetry.metrics.standard import HOST_MEMORY_TOTAL, HOST_MEMORY_USED
from rl_telemetry.metrics.tee import record_rl_metrics
from rl_telemetry.warnings_once import warn_once

HOST_NAME_ATTR: Final = "host.name"
WORKER_GROUPS_ATTR: Final = "rl.worker_groups"
_MEMINFO: Final = Path("/proc/meminfo")


def record_host_memory(worker_groups: Iterable[str] = ()) -> None:
    """Record used and total memory of this host (Linux); never raises.

    Args:
        worker_groups: The worker groups on this host, for the ``rl.worker_groups`` attribute.
    """
    try:
        sizes = _read_kibibytes(_MEMINFO.read_text())
        total, available = sizes["MemTotal"] * 1024, sizes["MemAvailable"] * 1024
    except (OSError, KeyError, ValueError) as error:
        warn_once("host-memory", f"host memory is not recorded: {error}")
        return
    record_rl_metrics(
        {HOST_MEMORY_USED: total - available, HOST_MEMORY_TOTAL: total},
        {HOST_NAME_ATTR: socket.gethostname(), WORKER_GROUPS_ATTR: tuple(sorted(worker_groups))},
    )


def _read_kibibytes(text: str) -> dict[str, int]:
    rows = (line.partition(":") for line in text.splitlines())
    return {name: int(rest.split()[0]) for name, _, rest in rows if rest.split()}
