"""Inference metrics after the OpenTelemetry semantic conventions for generative AI."""

from __future__ import annotations

from typing import Final

from opentelemetry.metrics import Meter

from rl_telemetry.metrics.instruments import MetricSpec, recorder
from rl_telemetry.warnings_once import warn_once

TOKEN_USAGE: Final = MetricSpec(
    "gen_ai_client_token_usage",
    "gen_ai.client.token.usage",
    "histogram",
    "{token}",
    "Tokens used by a batch of requests.",
)
REQUEST_DURATION: Final = MetricSpec(
    "gen_ai_server_request_duration",
    "gen_ai.server.request.duration",
    "histogram",
    "s",
    "Duration of one request.",
)


def record_inference_metrics(
    meter: Meter,
    request_duration_s: float | None = None,
    model: str | None = None,
    input_tokens: int | None = None,
    output_tokens: int | None = None,
    provider_name: str = "vllm",
    operation_name: str = "text_completion",
) -> None:
    """Record tokens and duration of generation; never raises.

    Args:
        meter: The meter, such as that of the telemetry handle.
        request_duration_s: Seconds of one request. Leave it out for a batch, whose time belongs
            to ``rl.vllm.batch.duration``: the convention defines this metric per request.
        model: ``gen_ai.request.model``.
        input_tokens: Prompt tokens, summed over the batch.
        output_tokens: Generated tokens, summed over the batch.
        provider_name: ``gen_ai.provider.name``.
        operation_name: ``gen_ai.operation.name``.
    """
    attributes = {"gen_ai.operation.name": operation_name, "gen_ai.provider.name": provider_name}
    if model is not None:
        attributes["gen_ai.request.model"] = model
    try:
        for token_type, count in (("input", input_tokens), ("output", output_tokens)):
            if count is not None:
                recorder(meter, TOKEN_USAGE)(count, {**attributes, "gen_ai.token.type": token_type})
        if request_duration_s is not None:
            recorder(meter, REQUEST_DURATION)(request_duration_s, attributes)
    except Exception as error:
        warn_once("gen_ai", f"gen_ai metrics could not be recorded: {error}")
