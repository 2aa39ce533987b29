"""What was looked up in the texts of a project, kept between runs with the answers.

The rules ask the same of a text in every run: which of its statements have a name, whether a
pattern matches. While the text stays the same so do the answers, and it need not be read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

_Answer = TypeVar("_Answer")
_Kind = dict[str, Any]


class FileLookups:
    """What was looked up in one text.

    Args:
        key: The key of the text.
        kept: The answers of earlier runs over this text.

    Attributes:
        now: What this run asked, with the answers: by kind, then by question.
    """

    def __init__(self, key: str, kept: Mapping[str, _Kind] | None = None) -> None:
        self.key = key
        self._kept = kept or {}
        self.now: dict[str, _Kind] = {}

    def answer(self, kind: str, question: str, find: Callable[[], _Answer]) -> _Answer:
        """Returns an answer, from an earlier run where there is one.

        Args:
            kind: What is asked, such as ``has``.
            question: What it is asked for.
            find: Finds the answer, made of what JSON knows.
        """
        asked = self.now.get(kind)
        if asked is None:
            asked = self.now[kind] = {}
        try:
            answer: _Answer = asked[question]
        except KeyError:
            kept = self._kept.get(kind)
            answer = find() if kept is None or question not in kept else kept[question]
            asked[question] = answer
        return answer

    def join(self, now: Mapping[str, _Kind]) -> None:
        """Joins what a copy of this process asked."""
        for kind, asked in now.items():
            self.now.setdefault(kind, {}).update(asked)


def pattern_key(pattern: re.Pattern[str]) -> str:
    """Returns what a pattern is known by."""
    return f"{pattern.flags}:{pattern.pattern}"


@dataclass
class Lookups:
    """What was looked up in all texts of a project.

    Attributes:
        files: By path.
        keys: The key of every text when ``names`` was made, by path.
        names: For each name that was looked for, the paths of the texts that have it.
    """

    files: dict[str, tuple[str, dict[str, _Kind]]] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    names: dict[str, list[str]] = field(default_factory=dict)
    _asked: dict[str, FileLookups] = field(default_factory=dict)
    _asked_names: dict[str, list[str]] = field(default_factory=dict)

    def file(self, path: str, key: str) -> FileLookups:
        """Returns what was looked up in the text with this key."""
        asked = self._asked.get(path)
        if asked is None or asked.key != key:
            known, kept = self.files.get(path, ("", {}))
            asked = self._asked[path] = FileLookups(key, kept if known == key else None)
        return asked

    def answers(self, path: str, key: str) -> Mapping[str, _Kind]:
        """Returns what an earlier run asked of the text with this key, and was answered."""
        known, kept = self.files.get(path, ("", {}))
        return kept if known == key else {}

    def note_name(self, name: str, paths: Iterable[str]) -> None:
        """Notes which texts have a name."""
        self._asked_names[name] = list(paths)

    def learned(self) -> dict[str, Any]:
        """Returns all that this run asked, as JSON values."""
        files = {path: [one.key, one.now] for path, one in self._asked.items() if one.now}
        return {"files": files, "names": self._asked_names}

    def join(self, learned: Mapping[str, Any]) -> None:
        """Joins what :meth:`learned` returned in a copy of this process."""
        for path, (key, now) in learned["files"].items():
            self.file(path, key).join(now)
        self._asked_names.update(learned["names"])

    def values(self, keys: Mapping[str, str]) -> dict[str, Any]:
        """Returns all that is worth keeping, as JSON values: what this run asked.

        Args:
            keys: The key of every text of the project, by path.
        """
        place = {path: number for number, path in enumerate(keys)}
        names = {
            name: [place[path] for path in paths if path in place]
            for name, paths in sorted(self._asked_names.items())
        }
        files = {
            path: [one.key, {kind: _sorted(asked) for kind, asked in sorted(one.now.items())}]
            for path, one in sorted(self._asked.items())
            if one.now
        }
        return {"keys": dict(keys), "files": files, "names": names}


def read_lookups(values: Mapping[str, Any]) -> Lookups:
    """Returns the lookups that :meth:`Lookups.values` was taken of.

    Args:
        values: As read from a file.

    Raises:
        ValueError, TypeError, IndexError, AttributeError, KeyError: The values are something else.
    """
    paths = list(values["keys"])
    files = {path: (str(key), _kinds(kinds)) for path, (key, kinds) in values["files"].items()}
    names = {name: [paths[at] for at in places] for name, places in values["names"].items()}
    return Lookups(files, dict(values["keys"]), names)


def _sorted(asked: _Kind) -> _Kind:
    """The same whoever asked first, as processes do at the same time."""
    return dict(sorted(asked.items()))


def _kinds(kinds: Any) -> dict[str, _Kind]:
    if not all(isinstance(asked, dict) for asked in kinds.values()):
        raise TypeError("questions are kept by their text")
    return dict(kinds)
