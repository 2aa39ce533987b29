"""Span attributes: what may be put on a span, and what is hidden."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opentelemetry.trace import Span
    from opentelemetry.util.types import AttributeValue

REDACTED = "[redacted]"
#: Keys that name a prompt or a credential; a string under one of them never leaves the process.
REDACT_KEYS = frozenset(
    {"prompt", "input_text", "output_text", "text", "password", "token", "secret", "key"}
)

#: Types that go on a span as they are.
SCALARS = frozenset({bool, int, float, str})


def clean_attributes(
    attributes: Mapping[str, Any], redact_keys: Collection[str] = REDACT_KEYS
) -> dict[str, AttributeValue]:
    """Return what of ``attributes`` can be put on a span.

    Args:
        attributes: Any mapping.
        redact_keys: Exact keys whose strings are replaced by a marker.

    Returns:
        The scalars, and lists and tuples of scalars. ``None`` and everything else is left out: a
        tensor must not be read for the sake of a span.
    """
    cleaned: dict[str, AttributeValue] = {}
    for key, value in attributes.items():
        scalar = value if type(value) in SCALARS else _scalar(value)
        if scalar is None:
            continue
        hidden = key in redact_keys and not isinstance(scalar, (bool, int, float))
        cleaned[key] = REDACTED if hidden else scalar
    return cleaned


def safe_set_span_attributes(
    span: Span | None,
    attributes: Mapping[str, Any],
    redact_keys: Collection[str] = REDACT_KEYS,
) -> None:
    """Set attributes on a span that may be ``None``.

    Args:
        span: What a span helper yielded: ``None`` when its group is off.
        attributes: See :func:`clean_attributes`.
        redact_keys: Exact keys whose string values are replaced by a marker.
    """
    if span is not None and span.is_recording():
        span.set_attributes(clean_attributes(attributes, redact_keys))


def _scalar(value: Any) -> Any:
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)) and all(
        isinstance(v, (bool, int, float, str)) for v in value
    ):
        return list(value)
    return None


__all__ = ["REDACTED", "REDACT_KEYS", "SCALARS", "clean_attributes", "safe_set_span_attributes"]
