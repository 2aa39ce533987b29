"""Metrics: declarations, recording, and the tee from the training logger.

A producer declares its rows at import (:func:`register_teed_metrics` for values that pass the
logger, :func:`register_recorded_metrics` for those that do not); the logger calls
:func:`tee_rl_metrics_to_otel` after it wrote. A wrong declaration raises at import; recording
never raises.
"""

from rl_telemetry.metrics.declarations import (
    RecordedMetric,
    TeedMetric,
    freeze_metrics,
    register_recorded_metrics,
    register_teed_metrics,
)
from rl_telemetry.metrics.efficiency import print_efficiency_summary
from rl_telemetry.metrics.genai import record_inference_metrics
from rl_telemetry.metrics.host import record_host_memory
from rl_telemetry.metrics.instruments import (
    MetricSpec,
    record_metrics,
    register_metric_group,
    registered_metric_groups,
    unregister_metric_group,
)
from rl_telemetry.metrics.tee import (
    RL_METRIC_GROUP,
    as_scalar,
    ensure_metric_group_registered,
    record_rl_metrics,
    tee_rl_metrics_to_otel,
)
from rl_telemetry.warnings_once import warn_once

__all__ = [
    "RL_METRIC_GROUP",
    "MetricSpec",
    "RecordedMetric",
    "TeedMetric",
    "as_scalar",
    "ensure_metric_group_registered",
    "freeze_metrics",
    "print_efficiency_summary",
    "record_host_memory",
    "record_inference_metrics",
    "record_metrics",
    "record_rl_metrics",
    "register_metric_group",
    "register_recorded_metrics",
    "register_teed_metrics",
    "registered_metric_groups",
    "tee_rl_metrics_to_otel",
    "unregister_metric_group",
    "warn_once",
]
