from __future__ import annotations

import logging
import os
import sys
from typing import Any

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import TracerProvider

from rl_telemetry import registry, setup
from rl_telemetry.config import TelemetryConfig

MASTER = {
    "telemetry": {"enabled": True, "exporter": "console", "span_groups": "per_step"},
    "policy": {
        "model_name": "org/model",
        "precision": "bfloat16",
        "megatron_cfg": {"tensor_model_parallel_size": 4, "pipeline_model_parallel_size": 2},
        "dtensor_cfg": {"tensor_parallel_size": 8},
    },
}


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "3600000")


def warnings_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]


def test_a_disabled_driver_still_projects_its_settings() -> None:
    assert setup.init_telemetry_driver({"telemetry": {"span_groups": "per_step"}}, "sft") is None
    assert os.environ["RL_TELEMETRY_ENABLED"] == "0"
    assert os.environ["RL_TELEMETRY_SPAN_GROUPS"] == "per_step"
    assert os.environ["RL_TELEMETRY_CAMPAIGN_STAGE"] == "SFT"
    assert setup.get_telemetry_handle() is None
    assert setup.init_telemetry_driver(MASTER, "sft") is None


def test_a_driver_without_a_block_reads_the_environment() -> None:
    os.environ.update({"NEMO_RL_OTEL_ENABLED": "1", "NEMO_RL_OTEL_EXPORTER": "console"})
    handle = setup.init_telemetry_driver({}, "grpo")
    assert handle is not None
    assert handle.is_exporting


def test_the_driver_opens_the_gates_and_describes_the_run() -> None:
    os.environ["RL_TELEMETRY_USER_ID"] = "someone"
    handle = setup.init_telemetry_driver(MASTER, "grpo")
    assert handle is not None
    assert setup.init_telemetry_driver(MASTER, "grpo") is handle
    assert setup.get_telemetry_handle() is handle
    assert registry.is_span_group_enabled("generation")
    assert not registry.is_span_group_enabled("per_prompt")
    found: dict[str, Any] = dict(handle.resource.attributes)
    expected = {
        "service.name": "nemo-rl",
        "nemo.run.id": os.environ["RL_TELEMETRY_RUN_ID"],
        "nemo.user.id": "someone",
        "nv.dl.run.uuid": os.environ["RL_TELEMETRY_RUN_UUID"],
        "nv.dl.campaign.stage": "RL",
        "nv.dl.rank": 0,
        "nv.dl.world_size": 1,
        "rl.algorithm": "grpo",
        "rl.model": "org/model",
        "nemo.precision": "bfloat16",
        "dl.tensor_parallel.size": 4,
        "dl.pipeline_parallel.size": 2,
        "process.pid": os.getpid(),
    }
    assert {key: found.get(key) for key in expected} == expected
    assert len(found["service.instance.id"]) == 36


@pytest.mark.parametrize(
    ("variables", "run_id"),
    [
        ({"SLURM_JOB_ID": "4711"}, "4711"),
        ({"SLURM_JOB_ID": "4711", "NEMO_RL_OTEL_RUN_ID": "mine"}, "mine"),
    ],
)
def test_run_id(variables: dict[str, str], run_id: str) -> None:
    os.environ.update(variables)
    handle = setup.init_telemetry_driver(MASTER, "rm")
    assert handle is not None
    assert handle.resource.attributes["nemo.run.id"] == run_id
    assert handle.resource.attributes["nv.dl.campaign.stage"] == "RM"
    assert os.environ["RL_TELEMETRY_RUN_ID"] == run_id


def test_a_failed_driver_start_can_be_tried_again() -> None:
    os.environ["RL_TELEMETRY_TRACES_ENABLED"] = "perhaps"
    with pytest.raises(ValueError, match="RL_TELEMETRY_TRACES_ENABLED"):
        setup.init_telemetry_driver(MASTER, "grpo")
    os.environ["RL_TELEMETRY_TRACES_ENABLED"] = "1"
    assert setup.init_telemetry_driver(MASTER, "grpo") is not None


def test_an_unsupported_protocol_is_refused_with_the_remedy() -> None:
    os.environ["OTEL_EXPORTER_OTLP_PROTOCOL"] = "http/json"
    with pytest.raises(ValueError, match="'http/json' is not supported; use grpc or http/protobuf"):
        setup.init_telemetry_driver({"telemetry": {"enabled": True}}, "grpo")


def test_a_missing_exporter_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(ImportError, match=r"pip install 'rl-telemetry\[otlp\]'"):
        setup.init_telemetry_driver({"telemetry": {"enabled": True}}, "grpo")


def test_a_worker_takes_rank_and_group_from_its_arguments_first() -> None:
    os.environ.update(
        RL_TELEMETRY_ENABLED="1",
        RL_TELEMETRY_EXPORTER="console",
        RANK="3",
        WORLD_SIZE="8",
        LOCAL_RANK="1",
        NRL_WORKER_GROUP="policy",
        RL_TELEMETRY_CAMPAIGN_STAGE="SFT",
    )
    handle = setup.init_telemetry_worker(
        rank=0, worker_group="nemo_gym", resource_attributes={"a": 1, "nv.dl.rank": 9}
    )
    assert handle is not None
    found = handle.resource.attributes
    assert (found["nv.dl.rank"], found["nv.dl.world_size"], found["nv.dl.local_rank"]) == (0, 8, 1)
    assert (found["rl.worker_group"], found["a"]) == ("nemo_gym", 1)
    assert found["nv.dl.campaign.stage"] == "SFT"
    assert setup.init_telemetry_worker() is handle


def test_a_worker_takes_the_group_of_the_environment() -> None:
    os.environ.update(
        RL_TELEMETRY_ENABLED="1", RL_TELEMETRY_EXPORTER="console", NRL_WORKER_GROUP="policy"
    )
    handle = setup.init_telemetry_worker()
    assert handle is not None
    assert handle.resource.attributes["rl.worker_group"] == "policy"


def test_a_worker_with_a_malformed_rank_warns_once_and_runs_without(
    caplog: pytest.LogCaptureFixture,
) -> None:
    os.environ.update(RL_TELEMETRY_ENABLED="1", RL_TELEMETRY_EXPORTER="console", RANK="three")
    assert setup.init_telemetry_worker() is None
    os.environ["RANK"] = "3"
    assert setup.init_telemetry_worker() is None
    assert len(warnings_in(caplog)) == 1
    assert "RANK='three' is not a whole number" in warnings_in(caplog)[0]


def test_a_disabled_worker_is_silent(caplog: pytest.LogCaptureFixture) -> None:
    os.environ["RANK"] = "three"
    assert setup.init_telemetry_worker() is None
    assert warnings_in(caplog) == []


@pytest.mark.parametrize(
    ("variables", "enabled"),
    [
        ({}, False),
        ({"NEMO_LENS_ENABLED": "on"}, True),
        ({"RL_TELEMETRY_ENABLED": "0", "NEMO_LENS_ENABLED": "1"}, False),
        ({"RL_TELEMETRY_ENABLED": "", "NEMO_RL_OTEL_ENABLED": "1"}, True),
        ({"RL_TELEMETRY_ENABLED": "1", "OTEL_SDK_DISABLED": "true"}, False),
        ({"RL_TELEMETRY_ENABLED": "banana"}, False),
    ],
)
def test_enabled_in_env_agrees_with_the_configuration(
    variables: dict[str, str], enabled: bool
) -> None:
    os.environ.update(variables)
    assert setup.telemetry_enabled_in_env() is enabled


def test_a_second_set_up_is_refused_and_positional_arguments_too() -> None:
    config = TelemetryConfig(enabled=True, exporter="console")
    setup.setup_telemetry(config)
    with pytest.raises(RuntimeError, match="already set up"):
        setup.setup_telemetry(config)
    with pytest.raises(TypeError):
        setup.setup_telemetry(config, 0, 1)  # type: ignore[misc]


def test_a_disabled_set_up_records_nothing_and_pins_the_groups_shut() -> None:
    handle = setup.setup_telemetry(TelemetryConfig(enabled=False, span_groups="all"))
    assert not handle.is_exporting
    assert not handle.tracer.start_span("x").is_recording()
    assert registry.enabled_span_groups() == frozenset()


def test_without_traces_no_group_is_on_and_metrics_still_flow(rl_telemetry_capture: Any) -> None:
    assert registry.is_span_group_enabled("step")
    setup.shutdown_telemetry()
    handle = setup.setup_telemetry(
        TelemetryConfig(enabled=True, exporter="console", traces_enabled=False), _allow_reinit=True
    )
    assert handle.is_exporting
    assert registry.enabled_span_groups() == frozenset()
    assert not handle.tracer.start_span("x").is_recording()


def test_a_foreign_provider_is_said_loudly_and_ours_still_exports(
    caplog: pytest.LogCaptureFixture,
) -> None:
    trace.set_tracer_provider(TracerProvider(shutdown_on_exit=False))
    metrics.set_meter_provider(MeterProvider(shutdown_on_exit=False))
    handle = setup.init_telemetry_driver(MASTER, "grpo")
    assert handle is not None
    said = warnings_in(caplog)
    assert ["tracer provider" in said[0], "meter provider" in said[1]] == [True, True]
    assert all("another library installed the global OpenTelemetry" in m for m in said)
    span = handle.tracer.start_span("x")
    assert span.resource.attributes["nemo.run.id"]
    span.end()


def test_our_own_provider_is_not_called_foreign(caplog: pytest.LogCaptureFixture) -> None:
    handle = setup.init_telemetry_driver(MASTER, "grpo")
    assert handle is not None
    assert trace.get_tracer("any").start_span("x").resource is handle.resource
    assert warnings_in(caplog) == []


def test_a_resource_without_a_rank_is_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    setup.setup_telemetry(TelemetryConfig(enabled=True, exporter="console"))
    assert any("no nv.dl.rank" in message for message in warnings_in(caplog))


def test_resource_precedence_and_values_that_are_dropped(caplog: pytest.LogCaptureFixture) -> None:
    os.environ["OTEL_RESOURCE_ATTRIBUTES"] = "a=env,b=env,service.instance.id=shared"
    handle = setup.setup_telemetry(
        TelemetryConfig(enabled=True, exporter="console"),
        resource_attributes={"nv.dl.rank": 0, "b": "given", "c": object(), "d": None, "e": [1]},
        resource_attribute_defaults={"a": "default", "host.name": "default", "f": "default"},
        local_rank=2,
    )
    found = handle.resource.attributes
    assert (found["a"], found["b"], found["f"]) == ("env", "given", "default")
    assert found["host.name"] != "default"
    assert found["service.instance.id"] != "shared"
    assert found["nv.dl.local_rank"] == 2
    assert tuple(found["e"]) == (1,)
    assert "c" not in found
    assert "d" not in found
    assert [m for m in warnings_in(caplog) if "'c' dropped: a object" in m]


def test_published_attributes_reach_children_and_do_not_overrule_the_user() -> None:
    os.environ["OTEL_RESOURCE_ATTRIBUTES"] = "a=user"
    setup.setup_telemetry(
        TelemetryConfig(enabled=True, exporter="console"),
        resource_attributes={"nv.dl.rank": 0, "a": "ours", "b": "x y"},
        publish_resource_attributes=True,
    )
    from opentelemetry.sdk.resources import Resource

    found = Resource.create({}).attributes
    assert (found["a"], found["b"]) == ("user", "x y")
