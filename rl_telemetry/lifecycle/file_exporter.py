"""OTLP JSON lines in files, for runs without a collector.

Format: the OpenTelemetry "OTLP File Exporter" specification. Each line is one JSON object with
``resourceSpans``, ``resourceMetrics`` or ``resourceLogs``; ids are hexadecimal.

Every process writes its own file: appends of several hosts to one file on a network file system
are not atomic. A line is written in one call and flushed, so a killed process leaves whole lines.
"""

from __future__ import annotations

import base64
import importlib
import json
import os
import socket
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from opentelemetry.sdk.metrics.export import MetricExporter, MetricExportResult, MetricsData
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from rl_telemetry import environment
from rl_telemetry.lifecycle.exporters import MissingExtraError

FILE: Final = "RL_TELEMETRY_FILE"
FILE_MAX_BYTES: Final = "RL_TELEMETRY_FILE_MAX_BYTES"
FILE_BACKUPS: Final = "RL_TELEMETRY_FILE_BACKUPS"
DEFAULT_FILE: Final = "rl-telemetry/telemetry.jsonl"
DEFAULT_MAX_BYTES: Final = 100 * 1024 * 1024
DEFAULT_BACKUPS: Final = 5

_HEX_IDS: Final = frozenset({"traceId", "spanId", "parentSpanId"})


class JsonLinesFile:
    """Appends lines to the file of this process and rotates it by size.

    Args:
        path: The file; ``x.jsonl`` is followed by ``x.jsonl.1`` (newest) and so on.
        max_bytes: Size in bytes at which a new file is begun; 0 never rotates.
        backups: How many full files are kept.

    Raises:
        ValueError: If the folder cannot be made.
    """

    def __init__(self, path: Path, max_bytes: int, backups: int) -> None:
        self.path = path
        self._max_bytes = max_bytes
        self._backups = backups
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(f"{FILE}: cannot make the folder {path.parent}: {error}") from None

    def write(self, line: str) -> None:
        """Append one line.

        Args:
            line: JSON without line breaks.

        Raises:
            OSError: If the file cannot be written.
        """
        data = line.encode() + b"\n"
        with self._lock:
            self._rotate(len(data))
            with self.path.open("ab", buffering=0) as file:
                size = file.tell()
                try:
                    written = 0
                    while written < len(data):  # a disk that fills up takes a part
                        written += file.write(data[written:]) or 0
                except OSError:
                    file.truncate(size)  # leave no half line
                    raise

    def _rotate(self, coming: int) -> None:
        try:
            size = self.path.stat().st_size
        except FileNotFoundError:
            return
        if not self._max_bytes or size == 0 or size + coming <= self._max_bytes:
            return
        if self._backups == 0:
            self.path.unlink()
            return
        for number in range(self._backups - 1, 0, -1):
            older = self._numbered(number)
            if older.exists():
                older.replace(self._numbered(number + 1))
        self.path.replace(self._numbered(1))

    def _numbered(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")


_files: dict[Path, JsonLinesFile] = {}


def process_file() -> JsonLinesFile:
    """Return the file of this process, shared by its signals.

    Returns:
        A file named after ``RL_TELEMETRY_FILE`` (a file, or a directory when it exists as one or
        ends in ``/``) with the host and the process id before the suffix.

    Raises:
        ValueError: If a size or count in the environment is no whole number of at least 0.
    """
    path = file_path()
    # A forked child has another id and therefore its own entry and lock.
    return _files.setdefault(
        path,
        JsonLinesFile(
            path,
            _whole_number(FILE_MAX_BYTES, DEFAULT_MAX_BYTES),
            _whole_number(FILE_BACKUPS, DEFAULT_BACKUPS),
        ),
    )


def file_path() -> Path:
    """Return the path of this process's file; see :func:`process_file`."""
    text = environment.read(FILE, DEFAULT_FILE)
    base = Path(text)
    if text.endswith(("/", os.sep)) or base.is_dir():
        base = base / "telemetry.jsonl"
    suffix = base.suffix or ".jsonl"
    return base.with_name(f"{base.stem}.{socket.gethostname()}.{os.getpid()}{suffix}").absolute()


def _whole_number(name: str, default: int) -> int:
    text = environment.read(name)
    if not text:
        return default
    if not text.isdigit():
        raise ValueError(f"{name}={text!r} is not a whole number of at least 0")
    return int(text)


def _encoder(module: str, function: str) -> Any:
    try:
        return getattr(
            importlib.import_module(f"opentelemetry.exporter.otlp.proto.common.{module}"), function
        )
    except ImportError as error:
        raise MissingExtraError(
            f"the file exporter needs the OTLP encoder ({error}); "
            "run: pip install 'rl-telemetry[otlp]'"
        ) from None


def to_json_line(message: Any) -> str:
    """Render an OTLP protobuf message as one line of OTLP JSON.

    Args:
        message: A traces, metrics or logs message.

    Returns:
        JSON in the encoding of the OTLP specification: the protobuf mapping, with enumerations
        as numbers and trace and span ids in hexadecimal.
    """
    json_format = importlib.import_module("google.protobuf.json_format")
    content = json_format.MessageToDict(message, use_integers_for_enums=True)
    return json.dumps(_hex_ids(content), separators=(",", ":"), allow_nan=False)


def _hex_ids(value: Any) -> Any:
    if isinstance(value, list):
        return [_hex_ids(item) for item in value]
    if isinstance(value, dict):
        return {
            key: base64.b64decode(item).hex()
            if key in _HEX_IDS and isinstance(item, str)
            else _hex_ids(item)
            for key, item in value.items()
        }
    return value


class FileSpanExporter(SpanExporter):
    """Writes spans to :func:`process_file`."""

    def __init__(self) -> None:
        self._encode = _encoder("trace_encoder", "encode_spans")
        self._file = process_file()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Append one line for the batch."""
        self._file.write(to_json_line(self._encode(spans)))
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """Do nothing: every line is already written."""

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Do nothing: every line is already written."""
        return True


class FileMetricExporter(MetricExporter):
    """Writes metrics to :func:`process_file`."""

    def __init__(self) -> None:
        super().__init__()
        self._encode = _encoder("metrics_encoder", "encode_metrics")
        self._file = process_file()

    def export(
        self, metrics_data: MetricsData, timeout_millis: float = 10_000, **kwargs: Any
    ) -> MetricExportResult:
        """Append one line for the collection, unless it is empty."""
        if metrics_data.resource_metrics:
            self._file.write(to_json_line(self._encode(metrics_data)))
        return MetricExportResult.SUCCESS

    def shutdown(self, timeout_millis: float = 30_000, **kwargs: Any) -> None:
        """Do nothing: every line is already written."""

    def force_flush(self, timeout_millis: float = 10_000) -> bool:
        """Do nothing: every line is already written."""
        return True


class FileLogExporter:
    """Writes log records to :func:`process_file`."""

    def __init__(self) -> None:
        self._encode = _encoder("_log_encoder", "encode_logs")
        self._file = process_file()

    def export(self, batch: Sequence[Any]) -> Any:
        """Append one line for the batch."""
        module = importlib.import_module("opentelemetry.sdk._logs.export")
        self._file.write(to_json_line(self._encode(batch)))
        # Renamed in the SDK 1.39.
        result = getattr(module, "LogRecordExportResult", getattr(module, "LogExportResult", None))
        return getattr(result, "SUCCESS", None)

    def shutdown(self) -> None:
        """Do nothing: every line is already written."""
