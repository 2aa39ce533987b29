"""What was looked up in the texts of a project, kept between runs with the answers.

The rules ask the same of a text in every run: which of its statements have a name, whether a
pattern matches. While the text stays the same so do the answers, and it need not be read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from rltel_lint.sealing import seal, unseal

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

    @property
    def is_as_kept(self) -> bool:
        """Whether this run asked just what is kept."""
        return self.now == self._kept

    def join(self, now: Mapping[str, _Kind]) -> None:
        """Joins what a copy of this process asked."""
        for kind, asked in now.items():
            self.now.setdefault(kind, {}).update(asked)


def pattern_key(pattern: re.Pattern[str]) -> str:
    """Returns what a pattern is known by."""
    return f"{pattern.flags}:{pattern.pattern}"


class Names(Mapping[str, list[str]]):
    """For each name that was looked for, the paths of the texts that have it.

    Args:
        paths: The paths of all texts.
        places: For each name, which of the paths.
    """

    def __init__(self, paths: Sequence[str], places: Mapping[str, list[int]]) -> None:
        self._paths = paths
        self._places = places

    def __getitem__(self, name: str) -> list[str]:
        return [self._paths[place] for place in self._places[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def of(self, path: str) -> dict[str, bool]:
        """Returns for each name whether a text has it."""
        own = self._paths.index(path)
        return {name: own in places for name, places in self._places.items()}


class Lookups:
    """What was looked up in all texts of a project.

    Args:
        values: As :meth:`values` returned them; nothing has been looked up without any.

    Attributes:
        about: The key of the outcome for which all this was asked; empty if it was for none.
        keys: The key of every text when ``names`` was made, by path.
        names: Which names were looked for, and where they are.

    Raises:
        ValueError, TypeError, KeyError, AttributeError: The values are something else.
    """

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        nothing: dict[str, Any] = {"about": "", "keys": {}, "names": {}}
        head = unseal(values["head"]) if values else nothing
        self._kept: dict[str, Any] = dict(values["files"]) if values else {}
        self.about = str(head["about"])
        self.keys: dict[str, str] = dict(head["keys"])
        self.names = Names(list(self.keys), dict(head["names"]))
        self._asked: dict[str, FileLookups] = {}
        self._asked_names: dict[str, list[str]] = {}

    def file(self, path: str, key: str) -> FileLookups:
        """Returns what was looked up in the text with this key."""
        asked = self._asked.get(path)
        if asked is None or asked.key != key:
            asked = self._asked[path] = FileLookups(key, self.answers(path, key))
        return asked

    def answers(self, path: str, key: str) -> Mapping[str, _Kind] | None:
        """Returns what an earlier run asked of the text with this key, and was answered.

        ``None`` if that is not known: it was asked of another text, or what is kept is damaged.
        """
        if path not in self._kept:
            return {} if self.keys.get(path) == key else None
        try:
            known, kinds = unseal(self._kept[path])
        except (ValueError, TypeError):
            return None
        return dict(kinds) if known == key else None

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

    def values(self, keys: Mapping[str, str], about: str) -> dict[str, Any]:
        """Returns all that is worth keeping, as JSON values: what this run asked.

        Args:
            keys: The key of every text of the project, by path.
            about: The key of the outcome for which it was asked.
        """
        place = {path: number for number, path in enumerate(keys)}
        names = {
            name: [place[path] for path in paths if path in place]
            for name, paths in sorted(self._asked_names.items())
        }
        # Each file by itself: after an edit only one of them is read.
        files = {
            path: self._sealed(path, one) for path, one in sorted(self._asked.items()) if one.now
        }
        head = {"about": about, "keys": dict(keys), "names": names}
        return {"head": seal(head), "files": files}

    def _sealed(self, path: str, asked: FileLookups) -> Any:
        if asked.is_as_kept:
            return self._kept[path]
        kinds = {kind: _sorted(questions) for kind, questions in sorted(asked.now.items())}
        return seal([asked.key, kinds])


def _sorted(asked: _Kind) -> _Kind:
    """The same whoever asked first, as processes do at the same time."""
    return dict(sorted(asked.items()))
