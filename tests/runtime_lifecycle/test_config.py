from __future__ import annotations

import dataclasses
import os
import types

import pytest

from rl_telemetry import environment
from rl_telemetry.config import TelemetryConfig, project_config_to_env


def test_every_field_has_one_environment_variable_and_the_other_way_round() -> None:
    assert set(TelemetryConfig.model_fields) - {"service_name"} == set(environment.ENV_BY_FIELD)


def test_defaults() -> None:
    assert TelemetryConfig.from_env().model_dump() == {
        "enabled": False,
        "service_name": "nemo-rl",
        "span_groups": "default",
        "traces_enabled": True,
        "metrics_enabled": True,
        "logs_enabled": False,
        "exporter": "otlp",
        "vllm_native_tracing": False,
    }


@pytest.mark.parametrize(
    ("variables", "block", "expected"),
    [
        ({}, None, "default"),
        ({"NEMO_LENS_SPAN_GROUPS": "lens"}, None, "lens"),
        ({"NEMO_LENS_SPAN_GROUPS": "lens"}, {}, "default"),  # the block fills every field
        ({"NEMO_LENS_SPAN_GROUPS": "lens"}, {"span_groups": None}, "lens"),
        ({"NEMO_LENS_SPAN_GROUPS": "lens"}, {"span_groups": "yaml"}, "yaml"),
        ({"NEMO_RL_OTEL_SPAN_GROUPS": "old"}, {"span_groups": "yaml"}, "old"),
        ({"RL_TELEMETRY_SPAN_GROUPS": ""}, {"span_groups": "yaml"}, "yaml"),
        (
            {"RL_TELEMETRY_SPAN_GROUPS": "new", "NEMO_RL_OTEL_SPAN_GROUPS": "old"},
            {"span_groups": "yaml"},
            "new",
        ),
    ],
)
def test_precedence(
    variables: dict[str, str], block: dict[str, object] | None, expected: str
) -> None:
    os.environ.update(variables)
    project_config_to_env(block)
    assert TelemetryConfig.from_env().span_groups == expected


@pytest.mark.parametrize("text", ["1", "true", "YES", "On"])
def test_words_for_true(text: str) -> None:
    os.environ["RL_TELEMETRY_ENABLED"] = text
    assert TelemetryConfig.from_env().enabled is True


@pytest.mark.parametrize("text", ["0", "false", "No", "OFF"])
def test_words_for_false(text: str) -> None:
    os.environ["RL_TELEMETRY_METRICS_ENABLED"] = text
    assert TelemetryConfig.from_env().metrics_enabled is False


def test_a_word_that_is_no_boolean_names_the_variable_it_stands_in() -> None:
    os.environ["NEMO_RL_OTEL_ENABLED"] = "maybe"
    with pytest.raises(ValueError, match=r"NEMO_RL_OTEL_ENABLED='maybe' is not a boolean; use 1/0"):
        TelemetryConfig.from_env()


def test_an_unknown_exporter_is_one_line() -> None:
    os.environ["RL_TELEMETRY_EXPORTER"] = "zipkin"
    with pytest.raises(ValueError, match=r"telemetry\.exporter='zipkin'.*'file'") as caught:
        TelemetryConfig.from_env()
    assert "\n" not in str(caught.value)


@dataclasses.dataclass
class _Block:
    enabled: bool = True
    exporter: str = "console"


@pytest.mark.parametrize(
    "block",
    [
        {"enabled": True, "exporter": "console", "unknown": 1},
        TelemetryConfig(enabled=True, exporter="console"),
        _Block(),
        types.SimpleNamespace(enabled="yes", exporter="console"),
    ],
)
def test_a_block_of_any_make_is_projected(block: object) -> None:
    project_config_to_env(block)
    assert os.environ["RL_TELEMETRY_ENABLED"] == "1"
    assert os.environ["RL_TELEMETRY_LOGS_ENABLED"] == "0"
    assert os.environ["RL_TELEMETRY_EXPORTER"] == "console"
    assert os.environ["OTEL_SERVICE_NAME"] == "nemo-rl"
    assert "RL_TELEMETRY_UNKNOWN" not in os.environ


@pytest.mark.parametrize(
    ("statement", "loaded"),
    [
        ("import rl_telemetry.instrumentation, rl_telemetry.setup, rl_telemetry.pytest_plugin", []),
        ("import rl_telemetry.config", ["pydantic"]),
        ("import rl_telemetry.metrics", []),
    ],
)
def test_what_an_import_loads(run_python, statement: str, loaded: list[str]) -> None:
    result = run_python(
        f"""
        import sys
        {statement}
        heavy = ("pydantic", "opentelemetry.sdk", "grpc", "ray")
        print([name for name in heavy if name in sys.modules])
        """
    )
    assert result.stdout.strip() == repr(loaded), result.stderr
