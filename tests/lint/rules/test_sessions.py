"""RLT811: near misses and their faulty twins."""

from __future__ import annotations

import textwrap

import pytest

from rltel_lint.rules.sessions import SessionBeforeInstrument
from tests.lint.support import lint, marked, reported

_HEAD = """
import aiohttp
from aiohttp import ClientSession
from opentelemetry.instrumentation.aiohttp_client import (
    AioHttpClientInstrumentor, create_trace_config,
)
from rl_telemetry.contrib.aiohttp import instrument_aiohttp_client

def new_session():
    return ClientSession()

async def new_session_later():
    return ClientSession()

async def ask(url):
    async with ClientSession() as session:
        return await session.get(url)

class Client:
    def __init__(self):
        self.session = aiohttp.ClientSession()
"""

_CASES = {
    "before": """
        async def start():
            session = ClientSession()  # <- RLT811
            AioHttpClientInstrumentor().instrument()
            return session
        """,
    "after": """
        async def start():
            AioHttpClientInstrumentor().instrument()
            session = ClientSession()
            return session
        """,
    "with the helper of the runtime": """
        async def start(server):
            server.session = aiohttp.ClientSession(raise_for_status=True)  # <- RLT811
            instrument_aiohttp_client()
        """,
    "instrumented twice": """
        async def start():
            instrument_aiohttp_client()
            session = ClientSession()
            instrument_aiohttp_client()
            return session
        """,
    "over before": """
        async def start(url):
            async with ClientSession() as session:
                await session.get(url)
            instrument_aiohttp_client()
        """,
    "still open": """
        async def start(url):
            async with ClientSession() as session:  # <- RLT811
                instrument_aiohttp_client()
                await session.get(url)
        """,
    "closed before": """
        async def start(url):
            session = ClientSession()
            await session.get(url)
            await session.close()
            instrument_aiohttp_client()
        """,
    "on the other branch": """
        async def start(traced):
            if traced:
                instrument_aiohttp_client()
            else:
                return ClientSession()
            return None
        """,
    "left before": """
        async def start(traced):
            if not traced:
                return ClientSession()
            instrument_aiohttp_client()
            return ClientSession()
        """,
    "with hooks of its own": """
        async def start():
            session = ClientSession(trace_configs=[create_trace_config()])
            instrument_aiohttp_client()
            return session
        """,
    "in a function that makes one": """
        async def start():
            session = new_session()  # <- RLT811
            instrument_aiohttp_client()
            return session
        """,
    "in a coroutine that makes one": """
        async def start():
            session = await new_session_later()  # <- RLT811
            instrument_aiohttp_client()
            return session
        """,
    "in a coroutine that runs later": """
        async def start():
            making = new_session_later()
            instrument_aiohttp_client()
            return await making
        """,
    "in a constructor": """
        async def start():
            client = Client()  # <- RLT811
            instrument_aiohttp_client()
            return client
        """,
    "in a function that closes it": """
        async def start(url):
            await ask(url)
            instrument_aiohttp_client()
        """,
    "made when it is called": """
        async def start(server):
            server.make = lambda: ClientSession()
            instrument_aiohttp_client()
        """,
    "the function is handed on": """
        async def start(server):
            server.on_start(new_session)
            instrument_aiohttp_client()
        """,
    "a session of something else": """
        async def start(database):
            session = database.ClientSession()
            instrument_aiohttp_client()
            return session
        """,
    "another function": """
        async def start():
            return ClientSession()

        def main():
            instrument_aiohttp_client()
        """,
}


@pytest.mark.parametrize("case", _CASES)
def test_sessions_are_instrumented_before_they_are_made(case: str) -> None:
    files = {"client.py": _HEAD + textwrap.dedent(_CASES[case])}
    assert reported(lint(files, SessionBeforeInstrument)) == marked(files)


def test_the_finding_shows_both_places() -> None:
    files = {"client.py": _HEAD + textwrap.dedent(_CASES["in a constructor"])}
    (finding,) = lint(files, SessionBeforeInstrument)
    assert [near.message for near in finding.related] == ["instrumented here", "the session"]
    assert finding.severity == "warning"
