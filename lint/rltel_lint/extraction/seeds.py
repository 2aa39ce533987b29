"""The words that decide which units are worth lowering before anybody asks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from rltel_lint.vocabulary import Vocabulary

_WORD = re.compile(r"[^\W\d]\w*")


def seed_words(vocabulary: Vocabulary) -> frozenset[str]:
    """Returns every name-like word of a vocabulary.

    Linking asks for the units that call what a vocabulary names, then for those that these lead
    to: callers, constants, loggers. The words of parameters, groups and metrics find most of
    the latter, names of helpers alone a third.
    """
    return frozenset(word for text in _texts(vocabulary) for word in _WORD.findall(text))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(key)
            yield from _texts(item)
    elif isinstance(value, (tuple, frozenset)):
        for item in value:
            yield from _texts(item)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _texts(getattr(value, field.name))
