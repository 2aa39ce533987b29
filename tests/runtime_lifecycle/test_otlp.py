from __future__ import annotations

import logging
import os
from typing import Any

import pytest

from rl_telemetry import setup
from rl_telemetry.lifecycle.exporters import otlp_protocol
from tests.support.otlp_receiver import grpc_receiver, http_receiver

MASTER = {"telemetry": {"enabled": True, "span_groups": "all"}}


@pytest.mark.parametrize(
    ("receiver", "protocol"), [(http_receiver, "http/protobuf"), (grpc_receiver, "grpc")]
)
def test_spans_metrics_and_logs_arrive(receiver: Any, protocol: str) -> None:
    with receiver() as (received, endpoint):
        os.environ.update(
            OTEL_EXPORTER_OTLP_ENDPOINT=endpoint,
            OTEL_EXPORTER_OTLP_PROTOCOL=protocol,
            OTEL_EXPORTER_OTLP_HEADERS="x-team=rl",
            RL_TELEMETRY_LOGS_ENABLED="1",
        )
        handle = setup.init_telemetry_driver(MASTER, "grpo")
        assert handle is not None
        with handle.tracer.start_as_current_span("rl.grpo.job"):
            handle.meter.create_counter("made").add(3)
            logging.getLogger("train").warning("said")
            logging.getLogger("urllib3").warning("the exporter's own")
        assert setup.flush_telemetry(5000) is True
        assert received.span_names == ["rl.grpo.job"]
        assert received.resources[0]["rl.algorithm"] == "grpo"
        assert received.metrics["made"].sum.data_points[0].as_int == 3
        assert received.log_bodies == ["said"]
        assert {(k.lower(), v) for h in received.headers for k, v in h.items()} >= {
            ("x-team", "rl")
        }
        handle.tracer.start_span("late").end()
        setup.shutdown_telemetry()
        assert received.span_names == ["rl.grpo.job", "late"]
        logging.getLogger("train").warning("after shutdown")
        assert received.log_bodies == ["said"]


def test_a_flush_does_not_claim_what_a_receiver_refused() -> None:
    with http_receiver() as (received, endpoint):
        os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = f"{endpoint}/nowhere"
        os.environ["OTEL_EXPORTER_OTLP_TIMEOUT"] = "1"
        handle = setup.init_telemetry_driver(MASTER, "grpo")
        assert handle is not None
        handle.tracer.start_span("x").end()
        assert setup.flush_telemetry(3000) is False
        assert received.spans == []


@pytest.mark.parametrize(
    ("variables", "protocol"),
    [
        ({}, "http/protobuf"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4317"}, "grpc"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4317"}, "grpc"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}, "http/protobuf"),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "grpc"),
        (
            {
                "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
                "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf",
            },
            "http/protobuf",
        ),
    ],
)
def test_which_transport_the_environment_means(variables: dict[str, str], protocol: str) -> None:
    os.environ.update(variables)
    assert otlp_protocol("TRACES") == protocol
