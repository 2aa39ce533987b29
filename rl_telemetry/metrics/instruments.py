"""Groups of metric specifications, and recording by group and key."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, cast, get_args

from opentelemetry.metrics import Meter
from opentelemetry.util.types import Attributes

from rl_telemetry.warnings_once import warn_once

Kind = Literal["gauge", "histogram", "counter", "up_down_counter"]
KINDS: Final[tuple[str, ...]] = get_args(Kind)

Record = Callable[[float, Attributes], None]

_BOUNDARIES_BY_UNIT: Final = {
    "s": tuple(0.01 * 2**power for power in range(18)),
    "{token}": tuple(4.0**power for power in range(14)),
}
"""Histogram buckets. Those of the semantic conventions for generative AI: 10 ms doubling, here up
to 22 minutes for whole batches, and powers of four for tokens. The SDK's own are for milliseconds.
"""


@dataclass(frozen=True)
class MetricSpec:
    """One metric of a group.

    Attributes:
        key: The name it is recorded by.
        name: The OpenTelemetry name.
        kind: ``gauge``, ``histogram``, ``counter`` or ``up_down_counter``.
        unit: Unit in the notation of UCUM, such as ``s``, ``By`` or ``{token}``.
        description: One sentence for people.

    Raises:
        ValueError: If key or name is empty, or the kind is unknown.
    """

    key: str
    name: str
    kind: Kind = "gauge"
    unit: str = ""
    description: str = ""

    def __post_init__(self) -> None:
        if not self.key or not self.name:
            raise ValueError(f"a metric needs a key and a name: {self!r}")
        if self.kind not in KINDS:
            raise ValueError(f"metric {self.name!r}: kind {self.kind!r} is none of {KINDS}")


_groups: dict[str, dict[str, MetricSpec]] = {}
_recorders: weakref.WeakKeyDictionary[Meter, dict[tuple[str, str, str], Record]] = (
    weakref.WeakKeyDictionary()
)
_lock = threading.Lock()


def _renew_lock() -> None:
    global _lock  # noqa: PLW0603 - a thread that is not in the child may have held it
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def register_metric_group(
    group: str, specs: Iterable[MetricSpec], *, allow_override: bool = False
) -> None:
    """Register the metrics of a group.

    Args:
        group: Name of the group.
        specs: Its metrics; keys must differ.
        allow_override: Replace a group of the same name as a whole.

    Raises:
        ValueError: If the name or the specifications are empty, a key occurs twice, or the group
            exists and must not be overridden.
    """
    if not group:
        raise ValueError("a metric group needs a name")
    by_key: dict[str, MetricSpec] = {}
    for spec in specs:
        if spec.key in by_key:
            raise ValueError(f"metric group {group!r}: key {spec.key!r} occurs twice")
        by_key[spec.key] = spec
    if not by_key:
        raise ValueError(f"metric group {group!r} has no metrics")
    with _lock:
        if group in _groups and not allow_override:
            raise ValueError(f"metric group {group!r} is already registered")
        _groups[group] = by_key


def unregister_metric_group(group: str) -> None:
    """Forget a group.

    Raises:
        ValueError: If there is no such group.
    """
    with _lock:
        if _groups.pop(group, None) is None:
            raise ValueError(f"metric group {group!r} is not registered")


def registered_metric_groups() -> tuple[str, ...]:
    """Return the names of the registered groups, sorted."""
    with _lock:
        return tuple(sorted(_groups))


def record_metrics(
    meter: Meter,
    group: str,
    values: Mapping[str, float | None] | None = None,
    /,
    *,
    attributes: Attributes = None,
    **kwargs: float | None,
) -> None:
    """Record values of a group; never raises.

    An unknown group or key, and a value that an instrument refuses, is warned about once and
    skipped, and the others are still recorded.

    Args:
        meter: The meter that makes the instruments, at first use.
        group: A registered group.
        values: Keys to values; ``None`` is skipped.
        attributes: Attributes of every point.
        **kwargs: Further values; they win over ``values``.
    """
    specs = _groups.get(group)
    if specs is None:
        warn_once(("metric-group", group), f"metric group {group!r} is not registered; skipped")
        return
    for key, value in {**(values or {}), **kwargs}.items():
        if value is None:
            continue
        spec = specs.get(key)
        if spec is None:
            warn_once(("metric-key", group, key), f"metric group {group!r} has no key {key!r}")
            continue
        _record(meter, spec, value, attributes)


def _record(meter: Meter, spec: MetricSpec, value: float, attributes: Attributes) -> None:
    try:
        if spec.kind == "counter" and value < 0:
            warn_once(("metric-negative", spec.name), f"{spec.name}: a counter cannot add {value}")
            return
        recorder(meter, spec)(value, attributes)
    except Exception as error:
        warn_once(("metric-record", spec.name), f"{spec.name} could not be recorded: {error}")


def recorder(meter: Meter, spec: MetricSpec) -> Record:
    """Return the recording call of a metric, made once per meter.

    Args:
        meter: The meter.
        spec: The metric.

    Returns:
        A function of value and attributes.
    """
    identity = (spec.name, spec.kind, spec.unit)
    known = _recorders.get(meter)
    if known is not None and identity in known:
        return known[identity]
    with _lock:
        per_meter = _recorders.setdefault(meter, {})
        if identity not in per_meter:
            per_meter[identity] = _make(meter, spec)
        return per_meter[identity]


def _make(meter: Meter, spec: MetricSpec) -> Record:
    options: dict[str, Any] = {"unit": spec.unit, "description": spec.description}
    if spec.kind == "histogram" and spec.unit in _BOUNDARIES_BY_UNIT:
        options["explicit_bucket_boundaries_advisory"] = _BOUNDARIES_BY_UNIT[spec.unit]
    instrument: Any = getattr(meter, f"create_{spec.kind}")(spec.name, **options)
    method = {"gauge": "set", "histogram": "record"}.get(spec.kind, "add")
    return cast(Record, getattr(instrument, method))
