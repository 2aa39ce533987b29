"""Words that messages share."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from rltel_lint.values import HOLE, display


def quoted(names: Iterable[str]) -> str:
    """Returns names in quotes, with commas and a final ``and``."""
    return listed(f'"{name}"' for name in names)


def listed(words: Iterable[str]) -> str:
    """Returns words with commas and a final ``and``."""
    items = list(words)
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


def shown(template: str) -> str:
    """Returns a name for a reader: an unknown piece as an ellipsis."""
    return display(template).replace("**", "…") if HOLE in template else template


def nearest(name: str, candidates: Iterable[str], cutoff: float = 0.65) -> str | None:
    """Returns the candidate most like a name, ``None`` if none is near.

    Names are alike when their letters are, when they are made of the same words in another
    order, or when they end in the same words; what all names start with does not count.

    Args:
        name: The name that matches nothing.
        candidates: Names that it may have been meant to be.
        cutoff: How alike they must be, from 0 to 1.
    """
    best, score = None, cutoff
    for candidate in sorted(set(candidates) - {name}):
        likeness = _likeness(name, candidate, score)
        if likeness > score:
            best, score = candidate, likeness
    return best


def all_near(name: str, candidates: Iterable[str], cutoff: float = 0.65) -> list[str]:
    """Returns every candidate that :func:`nearest` would take if there were no better one."""
    others = sorted(set(candidates) - {name})
    return [other for other in others if _likeness(name, other, cutoff) > cutoff]


def _likeness(one: str, two: str, least: float) -> float:
    """How alike two names are, from 0 to 1; a lower bound where that is not above ``least``."""
    head_one, dot_one, rest_one = one.partition(".")
    head_two, dot_two, rest_two = two.partition(".")
    if dot_one and dot_two and head_one == head_two:
        one, two = rest_one, rest_two
    words_one, words_two = set(re.split(r"[._/-]", one)), set(re.split(r"[._/-]", two))
    shared = len(words_one & words_two) / len(words_one | words_two)
    tails = [re.split(r"[./]", text)[-1] for text in (one, two)]
    ending = 0.7 if tails[0] == tails[1] and len(tails[0]) > 3 else 0.0
    letters = difflib.SequenceMatcher(None, one, two)
    if letters.real_quick_ratio() <= least or letters.quick_ratio() <= least:
        return max(shared, ending)
    return max(letters.ratio(), shared, ending)
