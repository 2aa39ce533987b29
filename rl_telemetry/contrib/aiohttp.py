"""Client spans and trace headers for :mod:`aiohttp`, for environments that call over HTTP."""

from __future__ import annotations

import logging

from rl_telemetry.registry import is_span_group_enabled
from rl_telemetry.setup import get_telemetry_handle
from rl_telemetry.span_groups import RLSpanGroup
from rl_telemetry.warnings_once import warn_once

_logger = logging.getLogger(__name__)


class _State:
    is_patched = False


def instrument_aiohttp_client() -> bool:
    """Make aiohttp sessions that are created from now on trace their requests.

    Call it before any session exists: sessions made earlier stay as they are. It acts only when
    the group ``per_prompt`` is on, for there is a span per prompt, turn and tool call.

    Returns:
        Whether aiohttp is instrumented; ``False`` without telemetry, with the group off, or when
        the library is missing or refuses (both are warned about). Never raises.
    """
    if get_telemetry_handle() is None or not is_span_group_enabled(RLSpanGroup.PER_PROMPT):
        return False
    if _State.is_patched:
        return True
    try:
        from opentelemetry.instrumentation.aiohttp_client import AioHttpClientInstrumentor

        AioHttpClientInstrumentor().instrument()
    except ImportError as error:
        warn_once(
            "aiohttp-missing",
            f"aiohttp requests are not traced ({error}); run: pip install 'rl-telemetry[aiohttp]'",
            logger=_logger,
        )
        return False
    except Exception as error:
        warn_once("aiohttp-failed", f"aiohttp requests are not traced: {error}", logger=_logger)
        return False
    _State.is_patched = True
    return True
