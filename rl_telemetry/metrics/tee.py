"""From the dictionaries of the training logger to OpenTelemetry."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.util.types import Attributes

from rl_telemetry import setup
from rl_telemetry.metrics import declarations, standard
from rl_telemetry.metrics.declarations import TeedMetric, registry_key
from rl_telemetry.metrics.efficiency import efficiency_points
from rl_telemetry.metrics.instruments import (
    MetricSpec,
    record_metrics,
    register_metric_group,
)
from rl_telemetry.warnings_once import warn_once

if TYPE_CHECKING:
    from opentelemetry.metrics import Meter

RL_METRIC_GROUP: Final = "rl"
SETUP_PREFIX: Final = "timing/setup"
TEED_PREFIXES: Final = frozenset({"train", "", SETUP_PREFIX})
SETUP_PHASE_ATTR: Final = "rl.setup.phase"

_SETUP_SUFFIXES: Final = ("_time_s", "_s")  # longest first


class _Group:
    """The registration of the ``rl`` group; tried once per process."""

    is_registered: bool | None = None
    teed: Mapping[str, TeedMetric] = {}


def ensure_metric_group_registered() -> bool:
    """Register the ``rl`` group with every declared row, once, and close the declarations.

    Returns:
        Whether the group is there. A failure is warned about and not tried again.
    """
    if _Group.is_registered is None:
        try:
            _Group.teed, specs = _all_rows()
            register_metric_group(RL_METRIC_GROUP, specs)
        except ValueError as error:
            warn_once("rl-metric-group", f"no rl.* metrics, a declaration is wrong: {error}")
            _Group.is_registered = False
        else:
            declarations.freeze_metrics()
            _Group.is_registered = True
    return _Group.is_registered


def reset_metric_group() -> None:
    """Forget that the group was registered. For tests."""
    _Group.is_registered, _Group.teed = None, {}


def _all_rows() -> tuple[Mapping[str, TeedMetric], list[MetricSpec]]:
    """Combine declared and standard rows; a standard row yields to a declared one."""
    teed = declarations.declared_teed()
    specs = {row.name: row.spec() for row in teed.values()}
    specs |= {name: row.spec() for name, row in declarations.declared_recorded().items()}
    for row in standard.TEED_METRICS:
        if row.logger_key not in teed and row.name not in specs:
            teed[row.logger_key] = row
            specs[row.name] = row.spec()
    for recorded in standard.RECORDED_METRICS:
        specs.setdefault(recorded.name, recorded.spec())
    return teed, list(specs.values())


def as_scalar(value: object) -> float | None:
    """Return a number that can be recorded without computing anything.

    Args:
        value: A logged value.

    Returns:
        The number for a Python or NumPy integer or float. ``None`` for everything else: a
        boolean is no measurement, and reading a tensor would make the training loop wait for
        its device.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return None
    return int(value) if isinstance(value, numbers.Integral) else float(value)


def tee_rl_metrics_to_otel(metrics: Mapping[str, Any], prefix: str) -> None:
    """Record what the logger just wrote; call it at the end of ``Logger.log_metrics``.

    It acts for the prefixes ``train``, ``""`` and ``timing/setup``, when this process exports.
    Each family fails alone, with one warning; it never raises.

    Args:
        metrics: Logger keys, without the prefix, to values.
        prefix: The logger's prefix.
    """
    if prefix not in TEED_PREFIXES:
        return
    meter = _exporting_meter()
    if meter is None:
        return
    families = (
        {"setup": _tee_setup}
        if prefix == SETUP_PREFIX
        else {"efficiency": _tee_efficiency, "scalar": _tee_scalars}
    )
    for name, record in families.items():
        try:
            record(meter, metrics)
        except Exception as error:
            warn_once(("tee", name), f"{name} metrics could not be recorded: {error}")


def record_rl_metrics(values: Mapping[str, float | None], attributes: Attributes = None) -> None:
    """Record values of the ``rl`` group that do not pass the logger; never raises.

    Args:
        values: Series (``rl.host.memory.used``) or registry keys (``host_memory_used``) to
            values; ``None`` is skipped.
        attributes: Attributes of every point.
    """
    meter = _exporting_meter()
    if meter is not None:
        keyed = {registry_key(name): value for name, value in values.items()}
        record_metrics(meter, RL_METRIC_GROUP, keyed, attributes=attributes)


def _exporting_meter() -> Meter | None:
    handle = setup.get_telemetry_handle()
    if handle is None or not handle.is_exporting or not ensure_metric_group_registered():
        return None
    try:
        return handle.meter
    except Exception as error:  # a forked child makes its exporter here
        warn_once("rl-meter", f"no metrics in this process: {error}")
        return None


def _tee_scalars(meter: Meter, metrics: Mapping[str, Any]) -> None:
    values = {
        registry_key(row.name): as_scalar(metrics[key])
        for key, row in _Group.teed.items()
        if key in metrics
    }
    record_metrics(meter, RL_METRIC_GROUP, values)


def _tee_efficiency(meter: Meter, metrics: Mapping[str, Any]) -> None:
    for series, logged, attributes in efficiency_points(metrics):
        value = as_scalar(logged)
        record_metrics(meter, RL_METRIC_GROUP, {registry_key(series): value}, attributes=attributes)


def _tee_setup(meter: Meter, metrics: Mapping[str, Any]) -> None:
    key = registry_key(standard.SETUP_DURATION)
    for name, logged in metrics.items():
        if phase := setup_phase(name):
            record_metrics(
                meter,
                RL_METRIC_GROUP,
                {key: as_scalar(logged)},
                attributes={SETUP_PHASE_ATTR: phase},
            )


def setup_phase(logger_key: str) -> str | None:
    """Return the set-up phase that a logger key times.

    Args:
        logger_key: Such as ``generation_init_time_s``.

    Returns:
        The key without ``_time_s`` or ``_s`` (``generation_init``); ``None`` when it has no such
        ending or nothing before it.
    """
    for suffix in _SETUP_SUFFIXES:
        if logger_key.endswith(suffix):
            return logger_key[: -len(suffix)] or None
    return None
