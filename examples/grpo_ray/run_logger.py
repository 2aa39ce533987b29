"""The logger of the run: JSON lines in a file, and from there to OpenTelemetry."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from rl_telemetry.metrics import TeedMetric, register_teed_metrics, tee_rl_metrics_to_otel

register_teed_metrics(
    [
        TeedMetric("clip_fraction", "rl.policy.clip_fraction", "gauge", "", "Clipped tokens."),
        TeedMetric(
            "weight_lag",
            "rl.weight.lag",
            "gauge",
            "{update}",
            "Updates between the weights that made the samples and those that learn from them.",
        ),
    ]
)


class RunLogger:
    """Writes ``metrics.jsonl``.

    Args:
        folder: Where the file goes.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = (folder / "metrics.jsonl").open("w")

    def log_metrics(self, metrics: Mapping[str, float], step: int, prefix: str = "") -> None:
        """Write metrics, and record those that have a series.

        Args:
            metrics: Keys to values.
            step: Number of the step.
            prefix: ``train``, ``validation``, ``timing/train``, ``timing/setup`` or nothing.
        """
        line = {"step": step, "prefix": prefix, **metrics}
        self._file.write(json.dumps(line) + "\n")
        tee_rl_metrics_to_otel(metrics, prefix)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
