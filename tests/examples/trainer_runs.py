"""Runs the example as a user does, and keeps what a real collector received of it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.otlp_receiver import OtlpReceiver, http_receiver

REPO = Path(__file__).parents[2]
DOCS = REPO / "docs" / "observability"
STEPS = 6
TIMEOUT_S = 110

_CLUSTER = """
import ray, sys
context = ray.init(
    num_cpus=2, include_dashboard=False, log_to_driver=False, _node_ip_address="127.0.0.1"
)
print(context.address_info["gcs_address"], flush=True)
sys.stdin.read()
"""


@dataclass(frozen=True)
class Span:
    """A span as the collector got it."""

    name: str
    trace_id: bytes
    span_id: bytes
    parent_id: bytes
    start_ns: int
    end_ns: int
    attributes: dict[str, Any]
    resource: dict[str, Any]

    @property
    def worker_group(self) -> str | None:
        return self.resource.get("rl.worker_group")

    @property
    def process(self) -> str:
        return str(self.resource["service.instance.id"])

    @property
    def seconds(self) -> float:
        return (self.end_ns - self.start_ns) / 1e9


@dataclass(frozen=True)
class Metric:
    """A metric as the collector got it."""

    kind: str
    unit: str
    attributes: frozenset[str]


@dataclass(frozen=True)
class TracedRun:
    """One run of the trainer."""

    algorithm: str
    output: str
    spans: list[Span]
    metrics: dict[str, Metric]
    rewards: list[float]
    logged: set[tuple[str, str]]

    def by_id(self) -> dict[bytes, Span]:
        return {span.span_id: span for span in self.spans}

    def named(self, name: str) -> list[Span]:
        return [span for span in self.spans if span.name == name]

    def parent(self, span: Span) -> Span | None:
        return self.by_id().get(span.parent_id)


def plain(pairs: Any) -> dict[str, Any]:
    """Return OTLP attributes as a dictionary."""
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}


def received_spans(receiver: OtlpReceiver) -> list[Span]:
    return [
        Span(
            span.name,
            span.trace_id,
            span.span_id,
            span.parent_span_id,
            span.start_time_unix_nano,
            span.end_time_unix_nano,
            plain(span.attributes),
            plain(resource.resource.attributes),
        )
        for request in receiver.trace_requests
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


# A cluster that Ray starts asks for a token; this one is known to our processes alone.
_RAY_ENVIRONMENT = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}


def clean_environment() -> dict[str, str]:
    """Return the environment without settings of telemetry."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("RL_TELEMETRY_", "NEMO_RL_OTEL_", "NEMO_LENS_", "OTEL_"))
    }


def received_metrics(receiver: OtlpReceiver) -> dict[str, Metric]:
    found = {}
    for name, metric in receiver.metrics.items():
        field = metric.WhichOneof("data")
        points = getattr(metric, field).data_points
        keys = frozenset(pair.key for point in points for pair in point.attributes)
        found[name] = Metric({"sum": "counter"}.get(field, field), metric.unit, keys)
    return found


@contextlib.contextmanager
def ray_cluster() -> Iterator[dict[str, str]]:
    """Run a cluster in a process of its own; yields the environment in which others attach."""
    with subprocess.Popen(
        [sys.executable, "-c", _CLUSTER],
        env={**os.environ, **_RAY_ENVIRONMENT},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            yield {**_RAY_ENVIRONMENT, "RAY_ADDRESS": process.stdout.readline().strip()}
        finally:
            process.stdin.close()


@contextlib.contextmanager
def trainer(
    cluster: dict[str, str], out: Path, *options: str
) -> Iterator[tuple[Any, OtlpReceiver]]:
    """Start a trainer that exports to a collector of its own; yields both."""
    with http_receiver() as (receiver, endpoint):
        command = [sys.executable, "-m", "examples.grpo_ray", "--steps", str(STEPS)]
        command += ["--prompts", "16", "--span-groups", "all", "--exporter", "otlp"]
        with subprocess.Popen(
            [*command, "--out", str(out), *options],
            cwd=REPO,
            env={**clean_environment(), **cluster, "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            try:
                yield process, receiver
            finally:
                process.kill()


def finished(process: Any, receiver: OtlpReceiver, out: Path, algorithm: str) -> TracedRun:
    """Wait for a trainer, and return what it did."""
    output, _ = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0, output
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    logged = {(line["prefix"], key) for line in lines for key in line.keys() - {"prefix", "step"}}
    rewards = [float(text) for text in re.findall(r"^step .*reward (\S+)", output, re.M)]
    return TracedRun(
        algorithm, output, received_spans(receiver), received_metrics(receiver), rewards, logged
    )


def inventory() -> dict[str, Any]:
    """Return what the checker predicts of this project."""
    result = subprocess.run(
        [sys.executable, "-m", "rltel_lint", "inventory", "--format", "json", "--root", str(REPO)],
        env={**os.environ, "PYTHONPATH": str(REPO / "lint")},
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
    )
    assert result.returncode == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)["inventory"]
    return found


def rows(page: str, column: str) -> list[dict[str, str]]:
    """Return the rows of the tables of a page whose first column has this header."""
    found: list[dict[str, str]] = []
    header: list[str] = []
    for line in (DOCS / f"{page}.md").read_text().splitlines():
        if not line.startswith("|"):
            header = []
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not header:
            header = cells
        elif header[0] == column and not set(line) <= set("|- "):
            found.append(dict(zip(header, cells, strict=True)))
    return found


def names(cell: str) -> list[str]:
    """Return the names in a cell."""
    return re.findall(r"`([^`]+)`", cell)


def matches(template: str, name: str, algorithm: str) -> bool:
    """Say whether a documented name stands for ``name`` in a run of ``algorithm``."""
    escaped = re.escape(template.replace("<algo>", algorithm)).replace("<op>", "[a-z_]+")
    return re.fullmatch(escaped, name) is not None


def predicts(pattern: str, name: str) -> bool:
    """Say whether a name of the inventory, ``**`` for what is not known, covers ``name``."""
    return re.fullmatch(re.escape(pattern).replace(r"\*\*", ".+"), name) is not None
