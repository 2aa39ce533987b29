"""vLLM: its own request tracing, and what its counters did during one step."""

from __future__ import annotations

import inspect
import logging
import os
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from typing import Any, Final

from rl_telemetry.setup import telemetry_enabled_in_env, vllm_native_tracing_requested
from rl_telemetry.warnings_once import warn_once

_logger = logging.getLogger(__name__)

ENDPOINT_ARGUMENT: Final = "otlp_traces_endpoint"

PROMPT_TOKENS: Final = "vllm:prompt_tokens"
GENERATION_TOKENS: Final = "vllm:generation_tokens"
REQUEST_PROMPT_TOKENS: Final = "vllm:request_prompt_tokens"
REQUEST_GENERATION_TOKENS: Final = "vllm:request_generation_tokens"
REQUEST_SUCCESS: Final = "vllm:request_success"
KEPT_FAMILIES: Final = frozenset(
    {
        PROMPT_TOKENS,
        GENERATION_TOKENS,
        REQUEST_PROMPT_TOKENS,
        REQUEST_GENERATION_TOKENS,
        REQUEST_SUCCESS,
    }
)
SPEC_DECODE: Final = "spec_decode"

_GOOD_REASONS: Final = frozenset({"stop", "length"})
_FINISHED_REASON: Final = "finished_reason"
_SUM: Final = "|sum"
_COUNT: Final = "|count"
_SUMMED_LABELS: Final = ("engine=", "model_name=")

Counters = dict[str, float]
"""Series to cumulative values. A series is the family name, its labels as ``|name=value`` and,
of a histogram, ``|sum`` or ``|count``."""


def enable_native_tracing(
    engine_arguments: MutableMapping[str, Any], engine_arguments_type: Callable[..., Any]
) -> bool:
    """Let vLLM export its own request spans, when telemetry is on and the run asked for it.

    Args:
        engine_arguments: The keyword arguments of the engine; ``otlp_traces_endpoint`` is set
            unless it is there.
        engine_arguments_type: What takes them, such as ``vllm.EngineArgs``; it is asked whether
            it knows the argument.

    Returns:
        Whether the engine will trace. What stands in the way is warned about; never raises.
    """
    if not (telemetry_enabled_in_env() and vllm_native_tracing_requested()):
        return False
    endpoint = (
        os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "").strip()
        or os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "").strip()
    )
    if not endpoint:
        return _skip("set OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or OTEL_EXPORTER_OTLP_ENDPOINT")
    try:
        parameters = inspect.signature(engine_arguments_type).parameters
    except (TypeError, ValueError) as error:
        return _skip(f"the engine's arguments cannot be read ({error})")
    if ENDPOINT_ARGUMENT not in parameters:
        return _skip(f"this vLLM has no engine argument {ENDPOINT_ARGUMENT}")
    engine_arguments.setdefault(ENDPOINT_ARGUMENT, endpoint)
    return True


def _skip(reason: str) -> bool:
    warn_once(("vllm-native", reason), f"no native vLLM tracing: {reason}", logger=_logger)
    return False


def read_counters(metrics: Iterable[Any]) -> Counters:
    """Read the kept families from what ``LLM.get_metrics()`` returns.

    Args:
        metrics: Objects with ``name`` and ``labels``, and ``value`` (counter) or ``sum`` and
            ``count`` (histogram).

    Returns:
        Cumulative values by series.
    """
    counters: Counters = {}
    for metric in metrics:
        name = str(metric.name).removesuffix("_total")
        if name not in KEPT_FAMILIES and SPEC_DECODE not in name:
            continue
        labels = getattr(metric, "labels", None) or {}
        series = "|".join([name, *(f"{label}={labels[label]}" for label in sorted(labels))])
        for part, attribute in (("", "value"), (_SUM, "sum"), (_COUNT, "count")):
            value = getattr(metric, attribute, None)
            if isinstance(value, (int, float)):
                counters[series + part] = float(value)
    return counters


def snapshot_step_metrics(read: Callable[[], Iterable[Any]]) -> Counters | None:
    """Read the counters before a step; never raises.

    Args:
        read: Such as ``llm.get_metrics``.

    Returns:
        The counters, or ``None`` when they cannot be read (warned about once).
    """
    try:
        return read_counters(read())
    except Exception as error:
        warn_once("vllm-snapshot", f"vLLM's counters cannot be read: {error}", logger=_logger)
        return None


def get_step_metrics(
    before: Counters | None, read: Callable[[], Iterable[Any]]
) -> dict[str, float]:
    """Say what the engine did since the snapshot; never raises.

    Args:
        before: What :func:`snapshot_step_metrics` returned.
        read: Such as ``llm.get_metrics``.

    Returns:
        Logger keys (``vllm/...``) to values; empty when either reading failed.
    """
    if before is None:
        return {}
    after = snapshot_step_metrics(read)
    return {} if after is None else step_metrics(counter_deltas(before, after))


def counter_deltas(before: Mapping[str, float], after: Mapping[str, float]) -> Counters:
    """Subtract two readings.

    Args:
        before: The earlier reading.
        after: The later one.

    Returns:
        The series of both readings that did not go backwards. One that did restarted with its
        engine, and one that is in a single reading has no difference: both are left out, for a
        zero would be a claim. A histogram is left out when its sum or its count is.
    """
    deltas = {
        series: value - before[series]
        for series, value in after.items()
        if series in before and value >= before[series]
    }
    return {series: value for series, value in deltas.items() if _twin(series) in deltas}


def _twin(series: str) -> str:
    """Return the other part of a histogram; of a counter itself."""
    if series.endswith(_SUM):
        return series.removesuffix(_SUM) + _COUNT
    return series.removesuffix(_COUNT) + _SUM if series.endswith(_COUNT) else series


def step_metrics(deltas: Mapping[str, float]) -> dict[str, float]:
    """Turn differences of counters into the values to log.

    Args:
        deltas: From :func:`counter_deltas`; engines and models are summed over.

    Returns:
        Logger keys to values, without those that cannot be told. A mean is left out when no
        request finished. ``stop`` and ``length`` are good ends, every other reason a failure.
    """
    deltas = _over_engines(deltas)
    logged = {
        "vllm/prompt_tokens": deltas.get(PROMPT_TOKENS),
        "vllm/generation_tokens": deltas.get(GENERATION_TOKENS),
        "vllm/prompt_length_mean": _mean(deltas, REQUEST_PROMPT_TOKENS),
        "vllm/generation_length_mean": _mean(deltas, REQUEST_GENERATION_TOKENS),
        "vllm/generations_ok": _finished(deltas, good=True),
        "vllm/generations_failed": _finished(deltas, good=False),
    }
    speculative = {
        "vllm/" + series.removeprefix("vllm:"): value
        for series, value in deltas.items()
        if SPEC_DECODE in series
    }
    return {key: value for key, value in logged.items() if value is not None} | speculative


def _over_engines(deltas: Mapping[str, float]) -> Counters:
    """Sum the series that differ in engine or model only."""
    summed: Counters = {}
    for series, value in deltas.items():
        parts = [part for part in series.split("|") if not part.startswith(_SUMMED_LABELS)]
        key = "|".join(parts)
        summed[key] = summed.get(key, 0.0) + value
    return summed


def _mean(deltas: Mapping[str, float], family: str) -> float | None:
    total, count = deltas.get(family + _SUM), deltas.get(family + _COUNT, 0.0)
    return None if total is None or count <= 0 else total / count


def _finished(deltas: Mapping[str, float], *, good: bool) -> float | None:
    prefix = f"{REQUEST_SUCCESS}|{_FINISHED_REASON}="
    counts = [
        value
        for series, value in deltas.items()
        if series.startswith(prefix) and (series[len(prefix) :] in _GOOD_REASONS) is good
    ]
    return sum(counts) if counts else None
