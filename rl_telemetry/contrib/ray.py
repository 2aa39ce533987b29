"""Flush what an actor recorded before it is killed: ``ray.kill`` runs no exit hook."""

from __future__ import annotations

import logging
from typing import Any

from rl_telemetry.setup import flush_telemetry, telemetry_enabled_in_env

_logger = logging.getLogger(__name__)


def flush_actor(actor: Any, timeout_ms: float = 5000) -> bool:
    """Flush the telemetry of an actor.

    The actor needs no method for it. A synchronous actor that is busy answers when its current
    call has ended.

    Args:
        actor: The handle.
        timeout_ms: Budget in milliseconds, the waiting included.

    Returns:
        Whether everything was delivered in time; ``True`` when telemetry is off. Never raises.
    """
    if not telemetry_enabled_in_env():
        return True
    try:
        import ray

        answer = actor.__ray_call__.remote(_flush_here, timeout_ms)
        ready, _ = ray.wait([answer], timeout=timeout_ms / 1000)
        return bool(ready) and bool(ray.get(ready[0]))
    except ImportError:
        _logger.warning("Ray is not installed; run: pip install 'rl-telemetry[ray]'")
    except Exception as error:
        _logger.warning("the actor's telemetry could not be flushed: %s", error)
    return False


def flush_and_kill(actor: Any, timeout_ms: float = 5000, *, no_restart: bool = True) -> bool:
    """Flush an actor and then kill it, whether or not the flush succeeded.

    Args:
        actor: The handle.
        timeout_ms: Budget in milliseconds for the flush.
        no_restart: As in ``ray.kill``.

    Returns:
        Whether everything was delivered; a warning is logged when not.
    """
    import ray

    delivered = flush_actor(actor, timeout_ms)
    if not delivered:
        _logger.warning("an actor is killed before all its telemetry was delivered")
    ray.kill(actor, no_restart=no_restart)
    return delivered


def _flush_here(_: Any, timeout_ms: float) -> bool:
    return flush_telemetry(timeout_ms)
