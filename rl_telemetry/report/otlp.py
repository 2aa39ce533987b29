"""Decodes lines of OTLP JSON into the few things that a report needs of a span.

Format: the OpenTelemetry "OTLP File Exporter" specification. Whole numbers of 64 bits may be
strings or numbers, and fields with their default value are left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from rl_telemetry.buckets import RL_BUCKET_ATTR, RL_EFFICIENCY_CATEGORY_ATTR
from rl_telemetry.report.text import printable

RL_ITERATION: Final = "rl.iteration"
TRUNCATED: Final = "nemo.span.truncated"
_SIGNALS: Final = ("resourceSpans", "resourceMetrics", "resourceLogs")
_ERROR_STATUS: Final = 2
_MAX_TIME: Final = 2**64 - 1
_MAX_STEP: Final = 2**63 - 1

Complain = Callable[[str], None]


class LineError(Exception):
    """A line that is no OTLP JSON; the text says why."""


class Process(NamedTuple):
    """Where spans come from.

    Attributes:
        run: ``nemo.run.id``, or ``None``.
        key: Tells processes apart.
        group: ``rl.worker_group``; ``None`` for a driver.
        label: Its name for people.
    """

    run: str | None
    key: str
    group: str | None
    label: str


class Span(NamedTuple):
    """What a report needs of a span; times in nanoseconds since 1970."""

    name: str
    start: int
    end: int
    iteration: int | None
    bucket: str | None
    category: str | None
    is_truncated: bool
    is_failed: bool


def decode(data: bytes, complain: Complain) -> Iterator[tuple[Process, Span]]:
    """Decode a line.

    Args:
        data: The line.
        complain: Called with what is wrong with a span that is left out.

    Yields:
        Its spans; none for metrics and logs.

    Raises:
        LineError: If the line is no OTLP JSON.
    """
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        raise LineError("not JSON") from None
    if not isinstance(content, dict) or not any(signal in content for signal in _SIGNALS):
        raise LineError("JSON, but not OTLP: it has no resourceSpans, resourceMetrics or -Logs")
    for resource_spans in _dicts(content.get("resourceSpans"), complain):
        process = _process(resource_spans.get("resource"))
        for scope_spans in _dicts(resource_spans.get("scopeSpans"), complain):
            for raw in _dicts(scope_spans.get("spans"), complain):
                span = _span(raw, complain)
                if span:
                    yield process, span


def _dicts(value: Any, complain: Complain) -> Iterator[dict[str, Any]]:
    if value is None:
        return
    if not isinstance(value, list):
        complain("not as OTLP has it: a list is something else; skipped")
        return
    for item in value:
        if isinstance(item, dict):
            yield item
        else:
            complain("not as OTLP has it: an object is something else; skipped")


def _span(raw: dict[str, Any], complain: Complain) -> Span | None:
    try:
        start, end = int(raw["startTimeUnixNano"]), int(raw["endTimeUnixNano"])
        name = raw["name"]
        tags = _tags(raw.get("attributes"))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        complain("a span without name, begin or end, or with odd attributes; skipped")
        return None
    if not isinstance(name, str) or not 0 < start <= end <= _MAX_TIME:
        complain("a span that has no name or ends before it begins; skipped")
        return None
    status = raw.get("status")
    return Span(
        printable(name),
        start,
        end,
        _whole_number(tags.get(RL_ITERATION), complain),
        _text(tags.get(RL_BUCKET_ATTR)),
        _text(tags.get(RL_EFFICIENCY_CATEGORY_ATTR)),
        bool(tags.get(TRUNCATED)),
        isinstance(status, dict) and status.get("code") == _ERROR_STATUS,
    )


def _tags(attributes: Any) -> dict[str, Any]:
    """Return attributes as a dictionary; raises what a wrong shape raises."""
    tags: dict[str, Any] = {}
    for attribute in attributes or ():
        for value in attribute["value"].values():
            tags[attribute["key"]] = value
    return tags


def _whole_number(value: Any, complain: Complain) -> int | None:
    if value is None:
        return None
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        number = -1
    if 0 <= number <= _MAX_STEP:
        return number
    complain(f"{RL_ITERATION} is no whole number from 0; counted outside steps")
    return None


def _text(value: Any) -> str | None:
    return None if value is None else printable(str(value))


def _process(resource: Any) -> Process:
    try:
        tags = _tags(resource["attributes"])
    except (KeyError, TypeError, AttributeError):
        tags = {}
    group = _text(tags.get("rl.worker_group"))
    place = f"{tags.get('host.name', '?')} pid {tags.get('process.pid', '?')}"
    label = f"{group} {tags.get('nv.dl.rank', '')}".strip() if group else place
    return Process(
        _text(tags.get("nemo.run.id")),
        str(tags.get("service.instance.id") or place),
        group,
        printable(label),
    )
