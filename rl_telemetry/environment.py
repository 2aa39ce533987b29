"""Environment variables of the package: their names, fallbacks and parsing.

Every setting is read live from ``os.environ`` (an import-time copy would miss what a launcher
sets afterwards). This module imports nothing heavy, so that a disabled process can ask
"is telemetry on?" for the price of one look-up.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

PREFIX: Final = "RL_TELEMETRY_"
FALLBACK_PREFIXES: Final = ("NEMO_RL_OTEL_", "NEMO_LENS_")
"""Older prefixes, read (never written) when the ``RL_TELEMETRY_`` variable is unset or empty."""

ENV_BY_FIELD: Final[Mapping[str, str]] = {
    "enabled": "RL_TELEMETRY_ENABLED",
    "span_groups": "RL_TELEMETRY_SPAN_GROUPS",
    "traces_enabled": "RL_TELEMETRY_TRACES_ENABLED",
    "metrics_enabled": "RL_TELEMETRY_METRICS_ENABLED",
    "logs_enabled": "RL_TELEMETRY_LOGS_ENABLED",
    "exporter": "RL_TELEMETRY_EXPORTER",
    "vllm_native_tracing": "RL_TELEMETRY_VLLM_NATIVE_TRACING",
}
"""``TelemetryConfig`` field to environment variable; ``service_name`` has the standard one."""

SERVICE_NAME: Final = "OTEL_SERVICE_NAME"
RUN_ID: Final = "RL_TELEMETRY_RUN_ID"
RUN_UUID: Final = "RL_TELEMETRY_RUN_UUID"
USER_ID: Final = "RL_TELEMETRY_USER_ID"
CAMPAIGN_STAGE: Final = "RL_TELEMETRY_CAMPAIGN_STAGE"
WORKER_GROUP: Final = "RL_TELEMETRY_WORKER_GROUP"
WORKER_GROUP_FALLBACK: Final = "NRL_WORKER_GROUP"

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})


def parse_bool(text: str, name: str) -> bool:
    """Parse a boolean setting.

    Args:
        text: The value, in any letter case: 1/0, true/false, yes/no, on/off.
        name: The variable it came from, for the message.

    Returns:
        The boolean.

    Raises:
        ValueError: For any other text.
    """
    word = text.strip().lower()
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise ValueError(f"{name}={text!r} is not a boolean; use 1/0, true/false, yes/no or on/off")


def lookup(variable: str) -> tuple[str, str] | None:
    """Find a setting under its own name or an older prefix.

    Args:
        variable: A variable of this package, such as ``RL_TELEMETRY_ENABLED``.

    Returns:
        The name it was found under and its value, or ``None``; an empty value counts as unset.
    """
    suffix = variable[len(PREFIX) :]
    for name in (variable, *(prefix + suffix for prefix in FALLBACK_PREFIXES)):
        value = os.environ.get(name, "").strip()
        if value:
            return name, value
    return None


def read(variable: str, default: str = "") -> str:
    """Return the value of a setting, or ``default`` (see :func:`lookup`)."""
    found = lookup(variable)
    return found[1] if found else default


def is_truthy(variable: str) -> bool:
    """Say whether a boolean setting is on; a malformed value reads as off and never raises."""
    found = lookup(variable)
    return found is not None and found[1].lower() in _TRUE


def worker_group(explicit: str | None = None) -> str | None:
    """Return the worker group: the argument, else the environment, else ``None``."""
    return (
        explicit or read(WORKER_GROUP) or os.environ.get(WORKER_GROUP_FALLBACK, "").strip() or None
    )
