"""``TelemetryConfig``: the ``telemetry:`` block of a run's configuration, and its environment.

The driver projects the block into ``RL_TELEMETRY_*`` before Ray copies the environment, so that
every worker reads the same settings. Precedence, highest first: ``RL_TELEMETRY_*``,
``NEMO_RL_OTEL_*``, the block, ``NEMO_LENS_*``, the default.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from rl_telemetry import environment

__all__ = ["TelemetryConfig", "load_config", "project_config_to_env"]


class TelemetryConfig(BaseModel):
    """Settings of the telemetry of one run; extra keys are kept and ignored.

    Attributes:
        enabled: Master switch.
        service_name: ``service.name`` of every process (``OTEL_SERVICE_NAME``).
        span_groups: Comma-separated presets and groups, such as ``per_step,per_prompt``.
        traces_enabled: Export spans.
        metrics_enabled: Export metrics.
        logs_enabled: Export records of the ``logging`` module as OpenTelemetry logs.
        exporter: Where to: a collector (``otlp``), the terminal (``console``) or OTLP JSON
            lines in files (``file``).
        vllm_native_tracing: Let vLLM emit its own request spans.
    """

    model_config = ConfigDict(extra="allow")

    enabled: bool = False
    service_name: str = "nemo-rl"
    span_groups: str = "default"
    traces_enabled: bool = True
    metrics_enabled: bool = True
    logs_enabled: bool = False
    exporter: Literal["otlp", "console", "file"] = "otlp"
    vllm_native_tracing: bool = False

    @classmethod
    def from_env(cls) -> TelemetryConfig:
        """Read the settings from the environment, with the fallbacks of the older prefixes.

        Returns:
            The configuration; what is unset or empty has its default.

        Raises:
            ValueError: For a boolean or an exporter that is not understood.
        """
        values: dict[str, Any] = {}
        for field, variable in environment.ENV_BY_FIELD.items():
            found = environment.lookup(variable)
            if found is None:
                continue
            name, text = found
            is_bool = cls.model_fields[field].annotation is bool
            values[field] = environment.parse_bool(text, name) if is_bool else text
        if service_name := os.environ.get(environment.SERVICE_NAME, "").strip():
            values["service_name"] = service_name
        return load_config(values)


def load_config(block: Mapping[str, Any]) -> TelemetryConfig:
    """Validate a mapping of settings.

    Args:
        block: Field names to values; ``None`` values mean "not given".

    Returns:
        The configuration.

    Raises:
        ValueError: One line that names the field and what is wrong with it.
    """
    try:
        return TelemetryConfig(**{k: v for k, v in block.items() if v is not None})
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"telemetry.{field}={first['input']!r}: {first['msg']}") from None


def _as_mapping(block: Any) -> Mapping[str, Any]:
    """Read a block given as a mapping, a pydantic model, a dataclass or a plain object."""
    if isinstance(block, Mapping):
        return block
    if isinstance(block, BaseModel):
        return block.model_dump()
    if dataclasses.is_dataclass(block) and not isinstance(block, type):
        return {f.name: getattr(block, f.name) for f in dataclasses.fields(block)}
    if hasattr(block, "items"):  # OmegaConf's DictConfig is no Mapping
        return dict(block.items())
    return dict(vars(block))


def project_config_to_env(block: Any) -> None:
    """Write a ``telemetry:`` block into the environment, where nothing is set yet.

    A variable that is set under its own name or under ``NEMO_RL_OTEL_`` wins over the block, so
    a job script keeps its say; an empty one counts as unset. A key that is ``None`` is skipped.

    Args:
        block: The block (mapping, model, dataclass, object), or ``None`` when there is none.

    Raises:
        ValueError: If a value is not understood.
    """
    if block is None:
        return
    values = _as_mapping(block)
    config = load_config(values)
    skipped = {key for key, value in values.items() if value is None}
    for field, variable in environment.ENV_BY_FIELD.items():
        older = environment.FALLBACK_PREFIXES[0] + variable[len(environment.PREFIX) :]
        if field not in skipped and not _is_set(variable) and not _is_set(older):
            value = getattr(config, field)
            os.environ[variable] = str(int(value)) if isinstance(value, bool) else str(value)
    if "service_name" not in skipped and not _is_set(environment.SERVICE_NAME):
        os.environ[environment.SERVICE_NAME] = config.service_name


def _is_set(name: str) -> bool:
    return bool(os.environ.get(name, "").strip())
