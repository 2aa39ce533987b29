"""A real browser, without a window."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--window-size=1240,1400",
)


def browse(page: Path, *options: str) -> str:
    """Open a page, and return what the browser prints."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    assert found, "no browser: install the package `chromium` (scripts/test does, as root)"
    profile = page.with_suffix(".profile")
    result = subprocess.run(
        [found, *_OPTIONS, f"--user-data-dir={profile}", *options, page.as_uri()],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def dom(page: Path) -> str:
    """Return the tree that the browser made of a page."""
    return browse(page, "--dump-dom")


def screenshot(page: Path, *options: str) -> bytes:
    """Return a picture of a page, as PNG."""
    picture = page.with_suffix(".png")
    browse(page, f"--screenshot={picture}", *options)
    return picture.read_bytes()


def measured(page: Path, script: str) -> Any:
    """Return what a script returns in the page, once it is laid out.

    The page forbids scripts, so this opens a copy that does not.
    """
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text())
    copy = page.with_name("measured.html")
    run = f"document.body.textContent = JSON.stringify((() => {{ {script} }})());"
    copy.write_text(text.replace("</body>", f"<script>{run}</script></body>"))
    found = re.search(r"<body>(.*)</body>", dom(copy), re.DOTALL)
    assert found
    return json.loads(unescape(found[1]))
