from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from collections.abc import Iterator

import aiohttp
import pytest
from aiohttp import web
from opentelemetry.instrumentation.aiohttp_client import AioHttpClientInstrumentor

from rl_telemetry.contrib import aiohttp as contrib
from rl_telemetry.registry import set_span_group_spec
from rl_telemetry.testing import CapturedTelemetry


@pytest.fixture(autouse=True)
def _unpatched() -> Iterator[None]:
    contrib._State.is_patched = False
    yield
    if contrib._State.is_patched:
        AioHttpClientInstrumentor().uninstrument()
        contrib._State.is_patched = False


async def request_twice(*, instrument_late: bool = False) -> list[str | None]:
    """Return the trace headers that a server got.

    Args:
        instrument_late: Whether both requests use one session that is made before aiohttp is
            instrumented; otherwise each has one of its own.
    """
    seen: list[str | None] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append(request.headers.get("traceparent"))
        return web.Response()

    app = web.Application()
    app.router.add_get("/", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    early = aiohttp.ClientSession() if instrument_late else None
    if instrument_late:
        assert contrib.instrument_aiohttp_client() is True
    for _ in range(2):
        async with contextlib.AsyncExitStack() as stack:
            session = early or await stack.enter_async_context(aiohttp.ClientSession())
            await stack.enter_async_context(session.get(f"http://{host}:{port}/"))
    if early is not None:
        await early.close()
    await runner.cleanup()
    return seen


def test_each_request_is_one_span_and_carries_the_trace(
    rl_telemetry_capture: CapturedTelemetry,
) -> None:
    assert contrib.instrument_aiohttp_client() is True
    assert contrib.instrument_aiohttp_client() is True
    headers = asyncio.run(request_twice())
    spans = rl_telemetry_capture.spans
    assert len(spans) == 2
    ids = [format(span.get_span_context().span_id, "016x") for span in spans]
    assert [header.split("-")[2] for header in headers if header] == ids


def test_a_session_made_before_stays_as_it_is(rl_telemetry_capture: CapturedTelemetry) -> None:
    assert asyncio.run(request_twice(instrument_late=True)) == [None, None]
    assert rl_telemetry_capture.spans == []
    assert None not in asyncio.run(request_twice())


def test_a_coarser_preset_leaves_aiohttp_alone(rl_telemetry_capture: CapturedTelemetry) -> None:
    set_span_group_spec("per_step")
    assert contrib.instrument_aiohttp_client() is False
    assert asyncio.run(request_twice()) == [None, None]
    assert rl_telemetry_capture.spans == []


def test_without_telemetry_nothing_is_patched() -> None:
    assert contrib.instrument_aiohttp_client() is False


def test_a_missing_library_says_what_to_install(
    rl_telemetry_capture: CapturedTelemetry,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.instrumentation.aiohttp_client", None)
    assert contrib.instrument_aiohttp_client() is False
    assert contrib.instrument_aiohttp_client() is False
    said = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert len(said) == 1
    assert "pip install 'rl-telemetry[aiohttp]'" in said[0]
