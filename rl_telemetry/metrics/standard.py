"""The standard rows: what every training loop of this kind logs.

They apply where nobody declared another row for the same logger key or series, so a producer may
own a row without telling this module.
"""

from __future__ import annotations

from typing import Final

from rl_telemetry.metrics.declarations import RecordedMetric, TeedMetric

EFFICIENCY_SECONDS: Final = "rl.efficiency.seconds"
EFFICIENCY_PCT: Final = "rl.efficiency.pct"
SETUP_DURATION: Final = "rl.setup.duration"
VLLM_BATCH_DURATION: Final = "rl.vllm.batch.duration"
HOST_MEMORY_USED: Final = "rl.host.memory.used"
HOST_MEMORY_TOTAL: Final = "rl.host.memory.total"

TRAINING_METRICS: Final = (
    TeedMetric("reward", "rl.reward.mean", "gauge", "", "Mean reward of the step."),
    TeedMetric("kl_penalty", "rl.kl.divergence", "gauge", "", "KL divergence to the reference."),
    TeedMetric("loss", "rl.policy.loss", "gauge", "", "Loss of the policy."),
    TeedMetric("critic/loss", "rl.value.loss", "gauge", "", "Loss of the value model."),
    TeedMetric("approx_entropy", "rl.entropy", "gauge", "", "Approximate entropy of the policy."),
    TeedMetric(
        "mean_gen_tokens_per_sample",
        "rl.response.length.mean",
        "gauge",
        "{token}",
        "Mean length of the generated responses.",
    ),
    TeedMetric("grad_norm", "rl.grad_norm", "gauge", "", "Norm of the gradient."),
    TeedMetric("lr", "rl.learning_rate", "gauge", "", "Learning rate."),
)

ENGINE_METRICS: Final = (
    TeedMetric(
        "vllm/prompt_tokens",
        "rl.vllm.prompt_tokens",
        "counter",
        "{token}",
        "Prompt tokens the engine processed.",
    ),
    TeedMetric(
        "vllm/generation_tokens",
        "rl.vllm.generation_tokens",
        "counter",
        "{token}",
        "Tokens the engine generated.",
    ),
    TeedMetric(
        "vllm/prompt_length_mean",
        "rl.vllm.prompt_length.mean",
        "gauge",
        "{token}",
        "Mean prompt length of the step's requests.",
    ),
    TeedMetric(
        "vllm/generation_length_mean",
        "rl.vllm.generation_length.mean",
        "gauge",
        "{token}",
        "Mean response length of the step's requests.",
    ),
    TeedMetric(
        "vllm/generations_ok",
        "rl.vllm.generations.ok",
        "counter",
        "{generation}",
        "Generations that stopped or reached their length.",
    ),
    TeedMetric(
        "vllm/generations_failed",
        "rl.vllm.generations.failed",
        "counter",
        "{generation}",
        "Generations that finished for another reason.",
    ),
)

TEED_METRICS: Final = TRAINING_METRICS + ENGINE_METRICS

RECORDED_METRICS: Final = (
    RecordedMetric(EFFICIENCY_SECONDS, "gauge", "s", "Seconds of an efficiency category."),
    RecordedMetric(EFFICIENCY_PCT, "gauge", "%", "Share of wall-clock time that was productive."),
    RecordedMetric(SETUP_DURATION, "gauge", "s", "Duration of a set-up phase; phases overlap."),
    RecordedMetric(VLLM_BATCH_DURATION, "histogram", "s", "Duration of a generation batch."),
    RecordedMetric(HOST_MEMORY_USED, "gauge", "By", "Memory in use on the host."),
    RecordedMetric(HOST_MEMORY_TOTAL, "gauge", "By", "Memory of the host."),
)
