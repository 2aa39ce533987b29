"""A language server that runs flake8: the codes arrive in the editor while one types."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

from tests.lint.flake8.conftest import CLEAN, LINT, Write, drifted

WAIT = 60
"""Seconds until a message must have come."""

SETTINGS = {
    "pylsp": {
        "plugins": {
            "flake8": {"enabled": True},
            "pycodestyle": {"enabled": False},
            "pyflakes": {"enabled": False},
            "mccabe": {"enabled": False},
        }
    }
}


class Server:
    """``pylsp`` on its standard streams.

    Args:
        root: The folder opened in the editor.
    """

    def __init__(self, root: Path) -> None:
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        self._root = root
        self._process = subprocess.Popen(
            [sys.executable, "-m", "pylsp"],
            cwd=root,
            env={**os.environ, "PATH": path, "PYTHONPATH": str(LINT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._messages: Queue[dict[str, Any]] = Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self._next = 0

    def _read(self) -> None:
        assert self._process.stdout is not None
        while True:
            length = 0
            while line := self._process.stdout.readline().strip():
                name, _, value = line.decode().partition(": ")
                length = int(value) if name == "Content-Length" else length
            if not length:
                return
            self._messages.put(json.loads(self._process.stdout.read(length)))

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        self._process.stdin.flush()

    def notify(self, method: str, parameters: dict[str, Any]) -> None:
        """Sends a notification."""
        self._send({"method": method, "params": parameters})

    def request(self, method: str, parameters: dict[str, Any]) -> Any:
        """Sends a request and returns the result."""
        self._next += 1
        self._send({"id": self._next, "method": method, "params": parameters})
        while True:
            message = self._messages.get(timeout=WAIT)
            if message.get("id") == self._next and "method" not in message:
                assert "error" not in message, message
                return message["result"]

    def diagnostics(self, uri: str, version: int) -> list[tuple[int, str]]:
        """Returns line (from 1) and code of what is shown once a version has been linted."""
        while True:
            message = self._messages.get(timeout=WAIT)
            if message.get("method") == "textDocument/publishDiagnostics":
                found = message["params"]
                if found["uri"] == uri and found.get("version") in (None, version):
                    return [
                        (one["range"]["start"]["line"] + 1, one["code"])
                        for one in found["diagnostics"]
                    ]

    def close(self) -> None:
        """Ends the server."""
        self.request("shutdown", {})
        self.notify("exit", {})
        self._process.wait(WAIT)


@pytest.fixture
def server(project: Write) -> Iterator[Server]:
    root = project({})
    server = Server(root)
    server.request(
        "initialize",
        {"processId": os.getpid(), "rootUri": root.as_uri(), "capabilities": {}},
    )
    server.notify("initialized", {})
    server.notify("workspace/didChangeConfiguration", {"settings": SETTINGS})
    yield server
    server.close()


def test_codes_arrive_while_typing(server: Server, project: Write) -> None:
    root = project({})
    uri = (root / "pkg/train.py").as_uri()

    def document(text: str) -> dict[str, Any]:
        return {"uri": uri, "languageId": "python", "version": 1, "text": text}

    server.notify("textDocument/didOpen", {"textDocument": document(drifted())})
    assert (6, "RLT101") in server.diagnostics(uri, 1)
    server.notify(
        "textDocument/didChange",
        {
            "textDocument": {"uri": uri, "version": 2},
            "contentChanges": [{"text": CLEAN["pkg/train.py"]}],
        },
    )
    assert [code for _, code in server.diagnostics(uri, 2) if code.startswith("RLT")] == []
    assert (root / "pkg/train.py").read_text() == CLEAN["pkg/train.py"]
