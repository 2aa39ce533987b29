"""Collectors on loopback: one that takes OTLP over HTTP and gRPC, and two kinds of dead ones."""

from __future__ import annotations

import contextlib
import gzip
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2, logs_service_pb2_grpc
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2, metrics_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc

_REQUESTS: dict[str, Any] = {
    "/v1/traces": trace_service_pb2.ExportTraceServiceRequest,
    "/v1/metrics": metrics_service_pb2.ExportMetricsServiceRequest,
    "/v1/logs": logs_service_pb2.ExportLogsServiceRequest,
}


class OtlpReceiver:
    """What arrived, over either transport.

    Args:
        delay_s: Seconds each answer takes.
    """

    def __init__(self, delay_s: float = 0.0) -> None:
        self.delay_s = delay_s
        self.headers: list[dict[str, str]] = []
        self._requests: list[tuple[str, Any]] = []
        self._lock = threading.Lock()

    def take(self, path: str, request: Any, headers: dict[str, str]) -> None:
        if self.delay_s:
            time.sleep(self.delay_s)
        with self._lock:
            self._requests.append((path, request))
            self.headers.append(headers)

    def _of(self, path: str) -> list[Any]:
        with self._lock:
            return [request for name, request in self._requests if name == path]

    @property
    def trace_requests(self) -> list[Any]:
        """The requests that brought spans, in the order of their arrival."""
        return self._of("/v1/traces")

    @property
    def spans(self) -> list[Any]:
        return [
            span
            for request in self._of("/v1/traces")
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    @property
    def span_names(self) -> list[str]:
        return [span.name for span in self.spans]

    @property
    def resources(self) -> list[dict[str, Any]]:
        """Attributes of the resource of each batch of spans."""
        return [
            {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in attributes}
            for request in self._of("/v1/traces")
            for attributes in (r.resource.attributes for r in request.resource_spans)
        ]

    @property
    def metrics(self) -> dict[str, Any]:
        """The newest data of each metric, by name."""
        return {
            metric.name: metric
            for request in self._of("/v1/metrics")
            for resource in request.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }

    @property
    def log_bodies(self) -> list[str]:
        return [
            record.body.string_value
            for request in self._of("/v1/logs")
            for resource in request.resource_logs
            for scope in resource.scope_logs
            for record in scope.log_records
        ]


@contextlib.contextmanager
def http_receiver(delay_s: float = 0.0) -> Iterator[tuple[OtlpReceiver, str]]:
    """Run a receiver over HTTP; yields it and its endpoint."""
    receiver = OtlpReceiver(delay_s)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            receiver.take(self.path, _REQUESTS[self.path].FromString(body), {**dict(self.headers)})
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

        def handle(self) -> None:
            with contextlib.suppress(ConnectionError):  # a client that gave up
                super().handle()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
    )
    thread.start()
    try:
        yield receiver, f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def grpc_receiver(delay_s: float = 0.0) -> Iterator[tuple[OtlpReceiver, str]]:
    """Run a receiver over gRPC; yields it and its endpoint."""
    receiver = OtlpReceiver(delay_s)
    server = grpc.server(futures.ThreadPoolExecutor(4))
    for path, base, add, response in (
        (
            "/v1/traces",
            trace_service_pb2_grpc.TraceServiceServicer,
            trace_service_pb2_grpc.add_TraceServiceServicer_to_server,
            trace_service_pb2.ExportTraceServiceResponse,
        ),
        (
            "/v1/metrics",
            metrics_service_pb2_grpc.MetricsServiceServicer,
            metrics_service_pb2_grpc.add_MetricsServiceServicer_to_server,
            metrics_service_pb2.ExportMetricsServiceResponse,
        ),
        (
            "/v1/logs",
            logs_service_pb2_grpc.LogsServiceServicer,
            logs_service_pb2_grpc.add_LogsServiceServicer_to_server,
            logs_service_pb2.ExportLogsServiceResponse,
        ),
    ):
        add(_servicer(base, path, response, receiver), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield receiver, f"http://127.0.0.1:{port}"
    finally:
        server.stop(None).wait(2)


def _servicer(base: type, path: str, response: Callable[[], Any], receiver: OtlpReceiver) -> Any:
    def export(_self: Any, request: Any, context: Any) -> Any:
        receiver.take(path, request, dict(context.invocation_metadata()))
        return response()

    return type("Servicer", (base,), {"Export": export})()


@contextlib.contextmanager
def closed_port() -> Iterator[str]:
    """Yield an endpoint that refuses connections: bound, so nobody else gets it, not listening."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}"


@contextlib.contextmanager
def silent_socket() -> Iterator[str]:
    """Yield an endpoint that accepts connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(128)
        connections: list[socket.socket] = []

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connections.append(listener.accept()[0])

        threading.Thread(target=accept, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            for connection in connections:
                connection.close()
