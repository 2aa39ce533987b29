"""Rows of the ``rl`` metric group, declared beside whoever produces the values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rl_telemetry.metrics.instruments import Kind, MetricSpec

_NAME_PREFIX = "rl."


@dataclass(frozen=True)
class TeedMetric:
    """A value that passes the training logger.

    Attributes:
        logger_key: The key it is logged under, such as ``critic/loss``.
        name: The OpenTelemetry name.
        kind: See :class:`~rl_telemetry.metrics.MetricSpec`.
        unit: Unit in the notation of UCUM.
        description: One sentence for people.

    Raises:
        ValueError: If the logger key or the name is empty, or the kind is unknown.
    """

    logger_key: str
    name: str
    kind: Kind = "gauge"
    unit: str = ""
    description: str = ""

    def __post_init__(self) -> None:
        if not self.logger_key:
            raise ValueError(f"teed metric {self.name!r} needs a logger key")
        self.spec()

    def spec(self) -> MetricSpec:
        """Return the specification in the ``rl`` group."""
        return MetricSpec(
            registry_key(self.name), self.name, self.kind, self.unit, self.description
        )


@dataclass(frozen=True)
class RecordedMetric:
    """A value that is recorded directly; attributes as in :class:`TeedMetric`.

    Raises:
        ValueError: If the name is empty or the kind unknown.
    """

    name: str
    kind: Kind = "gauge"
    unit: str = ""
    description: str = ""

    def __post_init__(self) -> None:
        self.spec()

    def spec(self) -> MetricSpec:
        """Return the specification in the ``rl`` group."""
        return MetricSpec(
            registry_key(self.name), self.name, self.kind, self.unit, self.description
        )


def registry_key(name: str) -> str:
    """Return the key of a series: its name without ``rl.``, dots as underscores."""
    return name.removeprefix(_NAME_PREFIX).replace(".", "_")


class _Declared:
    """What was declared in this process."""

    teed: dict[str, TeedMetric] = {}  # noqa: RUF012 - one per process on purpose
    recorded: dict[str, RecordedMetric] = {}  # noqa: RUF012
    is_frozen = False


def register_teed_metrics(rows: Iterable[TeedMetric]) -> None:
    """Declare values that pass the logger; call it at import, next to their producer.

    All rows are taken or none.

    Args:
        rows: The rows.

    Raises:
        ValueError: If a logger key or a series is claimed twice.
        RuntimeError: After the declarations were frozen by the first recording.
    """
    _check_open()
    teed = dict(_Declared.teed)
    keys = {registry_key(name): name for name in _series(teed)}
    for row in rows:
        if row.logger_key in teed:
            other = teed[row.logger_key].name
            raise ValueError(f"logger key {row.logger_key!r} is claimed by {other!r} already")
        if (taken := keys.get(registry_key(row.name))) is not None:
            raise ValueError(f"series {row.name!r} is claimed twice (by {taken!r} already)")
        teed[row.logger_key] = row
        keys[registry_key(row.name)] = row.name
    _Declared.teed = teed


def register_recorded_metrics(rows: Iterable[RecordedMetric]) -> None:
    """Declare values that are recorded directly; declaring the same row again is fine.

    Args:
        rows: The rows.

    Raises:
        ValueError: If a series is declared differently already.
        RuntimeError: After the declarations were frozen by the first recording.
    """
    _check_open()
    recorded = dict(_Declared.recorded)
    teed = {row.name for row in _Declared.teed.values()}
    for row in rows:
        if row.name in teed or recorded.get(row.name, row) != row:
            raise ValueError(f"series {row.name!r} is declared differently already")
        recorded[row.name] = row
    _Declared.recorded = recorded


def freeze_metrics() -> None:
    """Close the declarations; later ones raise, for they would silently record nothing."""
    _Declared.is_frozen = True


def declared_teed() -> dict[str, TeedMetric]:
    """Return the teed rows by logger key."""
    return dict(_Declared.teed)


def declared_recorded() -> dict[str, RecordedMetric]:
    """Return the recorded rows by series."""
    return dict(_Declared.recorded)


def reset_declarations() -> None:
    """Forget everything that was declared. For tests."""
    _Declared.teed, _Declared.recorded, _Declared.is_frozen = {}, {}, False


def restore_declarations(
    teed: dict[str, TeedMetric], recorded: dict[str, RecordedMetric], is_frozen: bool
) -> None:
    """Put back what :func:`declared_teed` and :func:`declared_recorded` gave. For tests."""
    _Declared.teed, _Declared.recorded = dict(teed), dict(recorded)
    _Declared.is_frozen = is_frozen


def is_frozen() -> bool:
    """Return whether the declarations are closed."""
    return _Declared.is_frozen


def _series(teed: dict[str, TeedMetric]) -> set[str]:
    return {row.name for row in teed.values()} | set(_Declared.recorded)


def _check_open() -> None:
    if _Declared.is_frozen:
        raise RuntimeError(
            "metrics were already recorded in this process; declare metrics at import"
        )
