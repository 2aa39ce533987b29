"""Kinds of instruments, as the code makes them and as documents call them."""

from __future__ import annotations

import re

_WORDS = {
    "gauge": "gauge",
    "counter": "counter",
    "histogram": "histogram",
    "distribution": "histogram",
    "updowncounter": "up-down counter",
}
_WORD = re.compile(r"up[-_ ]?down[-_ ]?counter|[a-z]+")


def kind_made(method: str) -> str:
    """Returns the kind that ``create_observable_gauge`` and the like make; empty if unknown."""
    return kind_named(method.removeprefix("create_").removeprefix("observable_"))


def kind_named(text: str) -> str:
    """Returns the one kind that a text names; empty if it names none, or several."""
    words = {re.sub(r"[-_ ]", "", word) for word in _WORD.findall(text.lower())}
    kinds = {_WORDS[word.removesuffix("s")] for word in words if word.removesuffix("s") in _WORDS}
    return kinds.pop() if len(kinds) == 1 else ""


def agree(documented: str, made: str) -> bool:
    """Whether a documented kind may stand for what the code makes.

    An up-down counter is a gauge for Prometheus, and many call it a counter.
    """
    return documented == made or (made == "up-down counter" and documented != "histogram")
