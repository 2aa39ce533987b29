"""Starting and stopping telemetry in the driver and in each worker.

The driver calls :func:`init_telemetry_driver` before ``ray.init()``, for Ray copies the
environment; every actor calls :func:`init_telemetry_worker` in its constructor; both call
:func:`shutdown_telemetry` in a ``finally``. Telemetry never fails a run: only the driver's
initialisation may raise, at the start, when a setting is wrong.
"""

from __future__ import annotations

import functools
import logging
import os
import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from rl_telemetry import environment
from rl_telemetry.warnings_once import warn_once

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import MetricReader
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace.export import SpanExporter

    from rl_telemetry.config import TelemetryConfig
    from rl_telemetry.lifecycle.handle import TelemetryHandle

__all__ = [
    "TelemetryHandle",
    "flush_telemetry",
    "get_telemetry_handle",
    "init_telemetry_driver",
    "init_telemetry_worker",
    "setup_telemetry",
    "shutdown_telemetry",
    "telemetry_enabled_in_env",
    "vllm_native_tracing_requested",
]

_logger = logging.getLogger(__name__)


class _State:
    """What this process has started."""

    handle: TelemetryHandle | None = None
    """What flush and shutdown act on."""
    is_initialised = False
    """Whether the driver or worker initialisation ran, also when telemetry is off."""
    is_shut_down = False
    is_set_up = False
    """Whether an enabled :func:`setup_telemetry` succeeded."""


def init_telemetry_driver(master_config: Any, algorithm: str) -> TelemetryHandle | None:
    """Start telemetry in the driver; call it once, before ``ray.init()``.

    Args:
        master_config: The run's configuration; its ``telemetry`` block (a key or an attribute)
            is projected into the environment, where nothing is set yet.
        algorithm: Name of the algorithm, such as ``grpo``.

    Returns:
        The handle, or ``None`` when telemetry is disabled. A second call returns the same.

    Raises:
        ValueError: If a setting is not understood.
        RuntimeError: If :func:`setup_telemetry` was already called in this process.
        ImportError: If the exporter is not installed; the message says what to install.
    """
    if _State.is_initialised:
        if _State.is_shut_down:
            _logger.warning("telemetry was shut down in this process and does not start again")
        return _State.handle
    from rl_telemetry import span_groups  # noqa: F401 - importing registers the groups
    from rl_telemetry.config import TelemetryConfig, project_config_to_env
    from rl_telemetry.lifecycle import resource

    project_config_to_env(resource.dig(master_config, "telemetry"))
    if not environment.read(environment.CAMPAIGN_STAGE):
        os.environ[environment.CAMPAIGN_STAGE] = resource.campaign_stage(algorithm)
    config = TelemetryConfig.from_env()
    if not config.enabled:
        _State.is_initialised = True
        return None
    os.environ[environment.SERVICE_NAME] = config.service_name
    run_id = _publish_run_id()
    handle = setup_telemetry(
        config,
        resource_attributes=resource.driver_attributes(master_config, algorithm),
        local_rank=_local_rank(),
    )
    _State.is_initialised = True
    _logger.info(
        "telemetry on: service=%s run=%s groups=%s traces=%s metrics=%s logs=%s exporter=%s",
        config.service_name,
        run_id,
        config.span_groups,
        config.traces_enabled,
        config.metrics_enabled,
        config.logs_enabled,
        config.exporter,
    )
    return handle


def init_telemetry_worker(
    rank: int | None = None,
    world_size: int | None = None,
    worker_group: str | None = None,
    resource_attributes: Mapping[str, Any] | None = None,
) -> TelemetryHandle | None:
    """Start telemetry in a worker process; call it first in each actor's constructor.

    It never raises: a failure is one warning, and the worker runs without telemetry.

    Args:
        rank: Rank within the worker group; ``RANK`` of the environment by default, else 0.
            An actor that is alone passes 0 of 1, whatever it inherited.
        world_size: Size of the group; ``WORLD_SIZE`` by default, else 1.
        worker_group: Name of the group; ``RL_TELEMETRY_WORKER_GROUP`` or ``NRL_WORKER_GROUP``
            by default.
        resource_attributes: Further resource attributes.

    Returns:
        The handle, or ``None`` when telemetry is off or could not start. A second call returns
        the same.
    """
    if _State.is_initialised:
        return _State.handle
    _State.is_initialised = True
    try:
        if telemetry_enabled_in_env():
            _start_worker(rank, world_size, worker_group, resource_attributes or {})
    except Exception as error:
        warn_once(
            "init_telemetry_worker",
            f"telemetry is off in this worker, it could not start: {error}",
            logger=_logger,
        )
    return _State.handle


def _start_worker(
    rank: int | None, world_size: int | None, group: str | None, extra: Mapping[str, Any]
) -> None:
    from rl_telemetry import span_groups  # noqa: F401 - importing registers the groups
    from rl_telemetry.config import TelemetryConfig
    from rl_telemetry.lifecycle.resource import worker_attributes

    rank = _whole_number("RANK", 0) if rank is None else rank
    world_size = _whole_number("WORLD_SIZE", 1) if world_size is None else world_size
    group = environment.worker_group(group)
    setup_telemetry(
        TelemetryConfig.from_env(),
        resource_attributes=worker_attributes(rank, world_size, group, extra),
        local_rank=_local_rank(),
    )
    _logger.info("telemetry on: rank %s of %s in worker group %s", rank, world_size, group)


def setup_telemetry(
    config: TelemetryConfig,
    *,
    resource_attributes: Mapping[str, Any] | None = None,
    resource_attribute_defaults: Mapping[str, Any] | None = None,
    local_rank: int | None = None,
    publish_resource_attributes: bool = False,
    span_exporter: SpanExporter | None = None,
    metric_reader: MetricReader | None = None,
    _allow_reinit: bool = False,
) -> TelemetryHandle:
    """Build the providers of this process and open the gates of the span groups.

    Driver and worker initialisation call it; call it yourself in a program that is neither.

    Args:
        config: The settings.
        resource_attributes: Resource attributes that win over all others.
        resource_attribute_defaults: Resource attributes that lose to all others.
        local_rank: Rank on this host.
        publish_resource_attributes: Also write ``resource_attributes`` to
            ``OTEL_RESOURCE_ATTRIBUTES``, for child processes that run another SDK. What that
            variable holds already stays.
        span_exporter: Use this exporter for spans.
        metric_reader: Use this reader for metrics.

    Returns:
        The handle; it records nothing when the configuration is disabled.

    Raises:
        RuntimeError: On a second enabled call in one process.
        ValueError: If an exporter setting is not understood.
        ImportError: If the exporter is not installed; the message says what to install.
    """
    from rl_telemetry import span_groups  # noqa: F401 - importing registers the groups
    from rl_telemetry.lifecycle import process_exit
    from rl_telemetry.lifecycle.handle import TelemetryHandle
    from rl_telemetry.lifecycle.resource import RANK, build_resource
    from rl_telemetry.registry import set_enabled_span_groups

    if not config.enabled or _sdk_disabled():
        set_enabled_span_groups(frozenset())
        return TelemetryHandle()
    if _State.is_set_up and not _allow_reinit:
        raise RuntimeError("telemetry is already set up in this process; set it up once")
    attributes = resource_attributes or {}
    resource = build_resource(
        config.service_name, attributes, resource_attribute_defaults or {}, local_rank
    )
    if RANK not in resource.attributes:
        _logger.warning("no %s among the resource attributes: ranks look alike", RANK)
    handle = _build(config, resource, span_exporter, metric_reader)
    if publish_resource_attributes:
        _publish_resource_attributes(attributes)
    process_exit.call_at_exit(shutdown_telemetry)
    _State.handle = handle
    _State.is_set_up = True
    return handle


def _build(
    config: TelemetryConfig,
    resource: Resource,
    span_exporter: SpanExporter | None,
    metric_reader: MetricReader | None,
) -> TelemetryHandle:
    from rl_telemetry.lifecycle import exporters, global_providers, pipelines
    from rl_telemetry.lifecycle.handle import TelemetryHandle
    from rl_telemetry.registry import set_enabled_span_groups, set_span_group_spec
    from rl_telemetry.tracing import set_tracer

    kind = config.exporter
    span_factory = functools.partial(exporters.make_span_exporter, kind)
    metric_factory = functools.partial(exporters.make_metric_exporter, kind)
    log_factory = functools.partial(exporters.make_log_exporter, kind)
    traces = (
        pipelines.TracePipeline(resource, span_factory, span_exporter)
        if config.traces_enabled
        else None
    )
    metrics = (
        pipelines.MetricPipeline(resource, metric_factory, metric_reader)
        if config.metrics_enabled
        else None
    )
    logs = (
        _log_pipeline(pipelines.LogPipeline, resource, log_factory) if config.logs_enabled else []
    )
    if traces is not None:
        global_providers.install_tracer_provider(traces.provider)
        set_tracer(traces.tracer)
        set_span_group_spec(config.span_groups)
    else:
        set_enabled_span_groups(frozenset())
    if metrics is not None:
        global_providers.install_meter_provider(metrics.provider)
    return TelemetryHandle(resource, traces, metrics, logs)


def _log_pipeline(kind: Callable[..., Any], resource: Any, factory: Callable[[], Any]) -> list[Any]:
    """Build the log bridge; the log API of OpenTelemetry moves, and no run must fail for it."""
    try:
        return [kind(resource, factory)]
    except (ImportError, AttributeError, TypeError) as error:
        _logger.warning("logs are not exported, this SDK's log bridge does not fit: %s", error)
        return []


def get_telemetry_handle() -> TelemetryHandle | None:
    """Return the handle of this process, or ``None`` before start, when off, after shutdown."""
    return _State.handle


def flush_telemetry(timeout_ms: float = 5000) -> bool:
    """Export what was recorded so far; call it before a process may be killed.

    Args:
        timeout_ms: Budget in milliseconds for all signals together.

    Returns:
        Whether everything was delivered in time; ``True`` when telemetry is off. Never raises.
    """
    handle = _State.handle
    try:
        return handle is None or handle.flush(timeout_ms)
    except Exception as error:
        warn_once("flush_telemetry", f"telemetry flush failed: {error}", logger=_logger)
        return False


def shutdown_telemetry(timeout_ms: float = 5000) -> None:
    """Stop telemetry in this process; call it in a ``finally``.

    Spans that are still open are ended and marked ``nemo.span.truncated``. The call returns
    within the budget even when the collector is gone, and a warning says what was lost.
    Afterwards every span group is off. It never raises, and later calls do nothing.

    Args:
        timeout_ms: Budget in milliseconds for all signals together.
    """
    handle, _State.handle = _State.handle, None
    if handle is None:
        return
    _State.is_shut_down = True
    from rl_telemetry.registry import set_enabled_span_groups
    from rl_telemetry.tracing import set_tracer

    try:
        handle.shutdown(timeout_ms)
    except Exception as error:
        _logger.warning("telemetry shutdown failed: %s", error)
    finally:
        set_enabled_span_groups(frozenset())
        set_tracer(None)


def telemetry_enabled_in_env() -> bool:
    """Say whether the environment turns telemetry on; a malformed value reads as off."""
    return environment.is_truthy(environment.ENV_BY_FIELD["enabled"]) and not _sdk_disabled()


def vllm_native_tracing_requested() -> bool:
    """Say whether the environment asks for vLLM's own request spans."""
    return environment.is_truthy(environment.ENV_BY_FIELD["vllm_native_tracing"])


def __getattr__(name: str) -> Any:
    # The class is importable from here without every process paying for the SDK at import.
    if name == "TelemetryHandle":
        from rl_telemetry.lifecycle.handle import TelemetryHandle

        return TelemetryHandle
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _sdk_disabled() -> bool:
    """Say whether the standard switch ``OTEL_SDK_DISABLED`` is on."""
    return os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"


def _publish_run_id() -> str:
    """Settle the run id and the run's UUID and leave them to the workers."""
    run_id = (
        environment.read(environment.RUN_ID)
        or os.environ.get("SLURM_JOB_ID", "").strip()
        or uuid.uuid4().hex[:12]
    )
    os.environ[environment.RUN_ID] = run_id
    if not environment.read(environment.RUN_UUID):
        os.environ[environment.RUN_UUID] = str(uuid.uuid4())
    return run_id


def _publish_resource_attributes(attributes: Mapping[str, Any]) -> None:
    from urllib.parse import quote

    from rl_telemetry.lifecycle.resource import clean

    pairs = [f"{key}={quote(str(value))}" for key, value in clean(attributes).items()]
    present = os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    # Of a key given twice the last counts, and what the user set must win.
    os.environ["OTEL_RESOURCE_ATTRIBUTES"] = ",".join([*pairs, *filter(None, [present])])


def _whole_number(name: str, default: int) -> int:
    text = os.environ.get(name, "").strip()
    try:
        return int(text) if text else default
    except ValueError:
        raise ValueError(f"{name}={text!r} is not a whole number") from None


def _local_rank() -> int | None:
    try:
        return int(os.environ["LOCAL_RANK"])
    except (KeyError, ValueError):
        return None


def reset_telemetry() -> None:
    """Forget that telemetry was set up in this process, without stopping it. For tests."""
    _State.handle = None
    _State.is_initialised = _State.is_shut_down = _State.is_set_up = False
