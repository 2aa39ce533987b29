"""Spans and events around the operations of a data-plane client.

The wrapper knows no particular client. What it reports of a call (partition, keys, bytes) it finds
by the names of the parameters, and leaves out when it finds nothing.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from opentelemetry.trace import Span

from rl_telemetry.attributes import safe_set_span_attributes
from rl_telemetry.registry import _gate
from rl_telemetry.scopes import in_per_prompt_scope
from rl_telemetry.span_groups import RLSpanGroup
from rl_telemetry.spans import NO_SPAN, managed_span, umbrella_span
from rl_telemetry.warnings_once import warn_once

RL_DATA_PLANE_OP_ATTR = "rl.data_plane.op"
RL_DATA_PLANE_PARTITION_ATTR = "rl.data_plane.partition"
RL_DATA_PLANE_KEYS_ATTR = "rl.data_plane.keys"
RL_DATA_PLANE_BYTES_ATTR = "rl.data_plane.bytes"
RL_DATA_PLANE_STATUS_ATTR = "rl.data_plane.status"

_SPAN_GROUPS = frozenset({RLSpanGroup.DATA_PLANE, RLSpanGroup.PER_PROMPT})
_PARTITION_PARAMETERS = ("partition_id", "partition")
_KEY_PARAMETERS = ("sample_ids", "keys", "meta", "batch_meta")
_DATA_PARAMETERS = ("fields", "data", "values", "batch")

OnEvent = Callable[[dict[str, Any]], None]
_SpanHelper = Callable[[str, Any], AbstractContextManager["Span | None"]]


def _observed(op: str) -> Callable[..., Any]:
    def call(self: MetricsDataPlaneClient, *args: Any, **kwargs: Any) -> Any:
        method = getattr(self._inner, op)
        if self._on_event is None and _SPAN_GROUPS.isdisjoint(_gate.enabled):
            return method(*args, **kwargs)
        return self._run(op, method, args, kwargs)

    call.__name__ = op
    call.__qualname__ = f"MetricsDataPlaneClient.{op}"
    call.__doc__ = f"Call ``{op}`` of the client."
    return call


class MetricsDataPlaneClient:
    """A data-plane client whose operations are observed.

    Every operation is one span ``rl.data_plane.<op>`` (in group ``per_prompt`` inside a
    :func:`~rl_telemetry.scopes.per_prompt_scope`, else in ``data_plane``) and one event. While
    both groups are off and nobody takes events, calls go straight to the client. Everything that
    is no operation goes to the client as it is.
    """

    def __init__(self, inner: Any, on_event: OnEvent | None = None) -> None:
        """Wrap a client.

        Args:
            inner: Any client; its operations may be functions or coroutine functions.
            on_event: Called after each operation with a mapping of ``op``, ``partition_id``,
                ``n_keys``, ``n_bytes``, ``wall_ms`` (milliseconds) and ``status`` (``ok``,
                ``timeout`` or ``error``). An error of its own is reported once and does not fail
                the operation.
        """
        self._inner = inner
        self._on_event = on_event
        self._stored: dict[Any, dict[Any, int]] = {}

    @property
    def outstanding_bytes(self) -> int:
        """Bytes that were put and not cleared since, as far as the operations were observed."""
        return sum(sum(list(keys.values())) for keys in list(self._stored.values()))

    def __getattr__(self, name: str) -> Any:
        """Return what the client itself has under ``name``."""
        if name == "_inner":  # not set yet: the wrapper is being copied or unpickled
            raise AttributeError(name)
        return getattr(self._inner, name)

    register = _observed("register")
    claim_meta = _observed("claim_meta")
    get_data = _observed("get_data")
    check_consumption_status = _observed("check_consumption_status")
    put = _observed("put")
    get = _observed("get")
    list_sample_ids = _observed("list_sample_ids")
    clear = _observed("clear")
    save_checkpoint = _observed("save_checkpoint")
    load_checkpoint = _observed("load_checkpoint")
    close = _observed("close")

    def _run(self, op: str, method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if inspect.iscoroutinefunction(method):
            return self._run_async(op, method, args, kwargs)
        with _Operation(op, self._finished, method, args, kwargs) as operation:
            return operation.succeeded(method(*args, **kwargs))

    async def _run_async(
        self, op: str, method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        with _Operation(op, self._finished, method, args, kwargs) as operation:
            return operation.succeeded(await method(*args, **kwargs))

    def _finished(self, operation: _Operation) -> None:
        if operation.status == "ok":
            self._account(operation)
        if self._on_event is not None:
            self._on_event(
                {
                    "op": operation.op,
                    "partition_id": operation.partition_id,
                    "n_keys": operation.n_keys,
                    "n_bytes": operation.n_bytes,
                    "wall_ms": operation.wall_ms,
                    "status": operation.status,
                }
            )

    def _account(self, operation: _Operation) -> None:
        if operation.op == "put" and operation.n_bytes:
            stored = self._stored.setdefault(operation.partition_id, {})
            keys = operation.keys or (None,)
            for key in keys:
                stored[key] = stored.get(key, 0) + operation.n_bytes // len(keys)
        elif operation.op == "clear" and operation.keys is None:
            self._stored.pop(operation.partition_id, None)
        elif operation.op == "clear":
            stored = self._stored.get(operation.partition_id, {})
            for key in operation.keys or ():
                stored.pop(key, None)


class _Operation:
    """One observed operation: its span, its clock and what is known of it."""

    def __init__(
        self,
        op: str,
        on_finished: Callable[[_Operation], None],
        method: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        self.op = op
        self.partition_id: Any = None
        self.keys: tuple[Any, ...] | None = None
        self.n_keys: int | None = None
        self.n_bytes: int | None = None
        self.wall_ms = 0.0
        self.status = "ok"
        self._on_finished = on_finished
        self._block: AbstractContextManager[Span | None] = NO_SPAN
        try:
            arguments = {**dict(zip(_parameter_names(method), args, strict=False)), **kwargs}
            self.partition_id = _first(arguments, _PARTITION_PARAMETERS)
            self._read_keys(_first(arguments, _KEY_PARAMETERS))
            self.n_bytes = size_in_bytes(_first(arguments, _DATA_PARAMETERS))
        except Exception:
            warn_once(
                ("data-plane-call", op),
                f"the arguments of data-plane operation {op!r} could not be read",
            )

    def __enter__(self) -> _Operation:
        helper = _span_helper()
        if helper is not None:
            self._block = helper(self.op, self.partition_id)
        self._span = self._block.__enter__()
        self._started = time.perf_counter()
        return self

    def succeeded(self, result: Any) -> Any:
        """Read what the result tells, and return it."""
        self.wall_ms = (time.perf_counter() - self._started) * 1e3
        try:
            if not isinstance(result, (str, list, tuple)):
                n_bytes = size_in_bytes(result)
                self.n_bytes = self.n_bytes if n_bytes is None else n_bytes
            if self.n_keys is None:
                is_keys = self.op == "list_sample_ids" or hasattr(result, "sample_ids")
                self._read_keys(result if is_keys else None)
        except Exception:
            warn_once(
                ("data-plane-result", self.op),
                f"the result of data-plane operation {self.op!r} could not be read",
            )
        return result

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if exc is not None:
            self.wall_ms = (time.perf_counter() - self._started) * 1e3
            # asyncio and concurrent.futures had a TimeoutError of their own before Python 3.11.
            timed_out = isinstance(exc, TimeoutError) or type(exc).__name__ == "TimeoutError"
            self.status = "timeout" if timed_out else "error"
        safe_set_span_attributes(
            self._span,
            {
                RL_DATA_PLANE_KEYS_ATTR: self.n_keys,
                RL_DATA_PLANE_BYTES_ATTR: self.n_bytes,
                RL_DATA_PLANE_STATUS_ATTR: self.status,
            },
        )
        self._block.__exit__(exc_type, exc, traceback)
        try:
            self._on_finished(self)
        except Exception:
            warn_once(
                ("data-plane-event", self.op),
                f"the event of data-plane operation {self.op!r} could not be handled",
            )

    def _read_keys(self, value: Any) -> None:
        value = getattr(value, "sample_ids", value)
        if isinstance(value, str):
            value = (value,)
        if isinstance(value, (list, tuple, set, frozenset)):
            self.keys = tuple(value)
            self.n_keys = len(self.keys)


def size_in_bytes(value: Any) -> int | None:
    """Return the size of tensors, arrays and bytes, also inside mappings and sequences.

    Args:
        value: Anything. Whatever has ``nbytes`` counts as that; nothing is read or copied.

    Returns:
        ``None`` when nothing in ``value`` has a size.
    """
    nbytes = getattr(value, "nbytes", None)
    if isinstance(nbytes, int):
        return nbytes
    if isinstance(value, (bytes, bytearray)):
        return len(value)
    parts: Any = None
    if isinstance(value, Mapping) or (hasattr(value, "keys") and hasattr(value, "values")):
        parts = value.values()  # a TensorDict is no Mapping, but has its methods
    elif isinstance(value, (list, tuple)):
        parts = value
    if parts is None:
        return None
    sizes = [size for size in map(size_in_bytes, parts) if size is not None]
    return sum(sizes) if sizes else None


def _span_helper() -> _SpanHelper | None:
    """Return what opens the span of an operation here, or ``None`` when its group is off."""
    enabled = _gate.enabled
    if _SPAN_GROUPS.isdisjoint(enabled):
        return None
    if in_per_prompt_scope():
        return _per_prompt_span if RLSpanGroup.PER_PROMPT in enabled else None
    return _data_plane_span if RLSpanGroup.DATA_PLANE in enabled else None


def _per_prompt_span(op: str, partition: Any) -> AbstractContextManager[Span | None]:
    return umbrella_span(
        RLSpanGroup.U_PER_PROMPT, f"rl.data_plane.{op}", **_attributes(op, partition)
    )


def _data_plane_span(op: str, partition: Any) -> AbstractContextManager[Span | None]:
    return managed_span(RLSpanGroup.DATA_PLANE, f"rl.data_plane.{op}", **_attributes(op, partition))


def _attributes(op: str, partition: Any) -> dict[str, Any]:
    attributes = {RL_DATA_PLANE_OP_ATTR: op}
    if partition is not None:
        attributes[RL_DATA_PLANE_PARTITION_ATTR] = str(partition)
    return attributes


def _parameter_names(method: Any) -> tuple[str, ...]:
    try:
        return tuple(inspect.signature(method).parameters)
    except (TypeError, ValueError):
        return ()


def _first(arguments: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((arguments[name] for name in names if arguments.get(name) is not None), None)


__all__ = ["MetricsDataPlaneClient", "size_in_bytes"]
