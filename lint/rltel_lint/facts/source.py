"""One Python file: its statements, each lowered only when asked for, and questions to its text.

Whatever a rule may want to know of a text is asked here, so that an outcome is known to depend on
the answers alone; see :mod:`rltel_lint.facts.comparing`. What begins with ``known`` is for facts,
and not for rules.
"""

from __future__ import annotations

import re
import symtable
import warnings
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from sys import intern
from typing import Any

from rltel_lint.facts.asking import Answer, Asked, as_lists
from rltel_lint.facts.cutting import cut
from rltel_lint.facts.lookups import FileLookups
from rltel_lint.facts.occurrences import words_in
from rltel_lint.facts.problems import SyntaxProblem
from rltel_lint.facts.store import FactStore, text_key
from rltel_lint.facts.units import Unit, unit_of, values_of

_FOREIGN_LETTER = re.compile(r"[^\W\x00-\x7f]")
_BEFORE_AS = re.compile(r"(\w+)\s*$")
_AFTER_AS = re.compile(r"\s*(\w+)")


class SourceFacts(Asked):
    """The index of one Python file.

    Args:
        path: Path relative to the project root, with ``/``.
        text: The decoded source, or what reads it: it is read once it is needed.
        store: Where facts are kept between runs.
        key: The key of the text, if it is known already.
    """

    def __init__(
        self,
        path: str,
        text: str | Callable[[], str],
        store: FactStore | None = None,
        key: str = "",
    ) -> None:
        self.path = path
        self.store = store or FactStore(None)
        self.kept = self.store.file(path)
        self.problems: list[SyntaxProblem] = []
        self._source = text
        self._expected = key

    @cached_property
    def text(self) -> str:
        """The source, with one line feed at the end of each line."""
        text = self._source if isinstance(self._source, str) else self._read(self._source)
        return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text

    def _read(self, source: Callable[[], str]) -> str:
        text = source()
        if self._expected and text_key(text) != self._expected:
            self.store.is_torn = True  # the file has changed since the run began
            self._expected = text_key(text)
            self.__dict__.pop("key", None)
            self.__dict__.pop("_looked", None)
        return text

    @cached_property
    def key(self) -> str:
        """What facts of this very text are kept under."""
        return self._expected or text_key(self.text)

    @cached_property
    def _looked(self) -> FileLookups | None:
        lookups = self.store.lookups
        return None if lookups is None else lookups.file(self.path, self.key)

    def refuse(self, line: int, message: str) -> None:
        """Remembers that something at this line could not be read."""
        problem = SyntaxProblem(line, message)
        if problem not in self.problems:
            self.problems.append(problem)

    @cached_property
    def known_plain(self) -> str:
        """The text for searching, as long as the text itself: no dash, arrow or emoji is in it.

        One of them makes Python store a text, and search it, with two or four bytes a character.
        Letters beyond ASCII stay, so that names do.
        """
        text = self.text
        if text.isascii() or _FOREIGN_LETTER.search(text):
            return text
        return text.encode("ascii", "replace").decode("ascii")

    @cached_property
    def known_words(self) -> frozenset[str]:
        """Every word in the text, those in strings and comments too."""
        return frozenset(words_in(self.known_plain))

    def has_in_any_case(self, text: str) -> bool:
        """Whether this, in ASCII and lower case, stands in the text in any case."""
        return self.note("lower", text, lambda: text in self._lower)

    @cached_property
    def _lower(self) -> str:
        return self.known_plain.lower()

    def note(self, kind: str, about: str, find: Callable[[], Answer]) -> Answer:
        """Returns the answer to a question, and notes both; see :class:`Asked`."""
        return find() if self._looked is None else self._looked.answer(kind, about, find)

    def note_of(self, unit: Unit, question: str, find: Callable[[], Answer]) -> Answer:
        """Returns the answer to what one of the units is asked, and notes both."""
        if self._looked is None:
            return find()
        # Many units are asked the same, so the questions are one object.
        return self._looked.answer(str(self._places[unit]), intern(question), find)

    def ask(self, kind: str, about: str) -> Any:
        """Asks again what was noted of the text."""
        if kind == "renamed":
            return self.renamed
        if kind in {"lower", "word"}:
            return self.has_in_any_case(about) if kind == "lower" else self._has_word(about)
        return super().ask(kind, about)

    def excerpt(self, first: int, last: int) -> list[str]:
        """Returns lines of the text.

        Args:
            first: The first line, from 1.
            last: The last one.
        """
        if self._looked is not None:
            for unit in self._units:
                if unit.first <= last and first <= unit.last:
                    unit.note_as_a_whole("text")
        return self.known_lines[first - 1 : last]

    @cached_property
    def renamed(self) -> list[list[str]]:
        """Every ``name as alias`` in the text."""
        return self.note("renamed", "", lambda: as_lists(_renamed(self.known_plain)))

    @cached_property
    def aliases(self) -> Mapping[str, frozenset[str]]:
        """For every ``name as alias`` in the text, the aliases of each name."""
        found: dict[str, set[str]] = {}
        for name, alias in self.renamed:
            found.setdefault(name, set()).add(alias)
        return {name: frozenset(aliases) for name, aliases in found.items()}

    @cached_property
    def originals(self) -> Mapping[str, str]:
        """For every ``name as alias`` in the text, the name that an alias stands for."""
        return {alias: name for name, alias in self.renamed}

    def mentions(self, words: Iterable[str]) -> bool:
        """Whether all of these stand in the text: names as a whole, anything else anywhere."""
        return all(self._has_word(w) if w.isidentifier() else self.has(w) for w in words)

    def _has_word(self, word: str) -> bool:
        return self.note("word", word, lambda: word in self.known_words)

    def units_with(self, word: str) -> Sequence[Unit]:
        """Returns the units whose text has this name as a whole, in order."""
        if self._looked is None:
            return self._units_by_word.get(word, ())
        places = self._looked.answer("units", word, lambda: self._places_with(word))
        return [self._units[place] for place in places] if places else ()

    def _places_with(self, word: str) -> list[int]:
        return [self._places[unit] for unit in self._units_by_word.get(word, ())]

    @cached_property
    def _units(self) -> list[Unit]:
        return list(self.all_units())

    @cached_property
    def _places(self) -> dict[Unit, int]:
        return {unit: place for place, unit in enumerate(self._units)}

    @cached_property
    def _units_by_word(self) -> dict[str, list[Unit]]:
        found: defaultdict[str, list[Unit]] = defaultdict(list)
        for unit in self.all_units():
            for word in set(words_in(unit.known_plain)):
                found[word].append(unit)
        return found

    def units_with_any(self, words: Iterable[str]) -> list[Unit]:
        """Returns the units whose text has one of these names as a whole, in order."""
        found = {unit: unit.first for word in words for unit in self.units_with(word)}
        # The header of a class comes before the members, which begin further down.
        return sorted(found, key=found.__getitem__)

    @property
    def lines(self) -> list[str]:
        """The source lines, without line ends."""
        self.note("text", "", _yes)
        return self.known_lines

    @cached_property
    def known_lines(self) -> list[str]:
        """The same where nobody asks for the sake of a finding."""
        return self.text.split("\n")

    @cached_property
    def starts(self) -> list[int]:
        """Where every line begins, and after the last one where the text ends."""
        found = [0]
        at = self.text.find("\n")
        while at >= 0:
            found.append(at + 1)
            at = self.text.find("\n", at + 1)
        return [*found, len(self.text)]

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """The top-level statements, in order."""
        self.note("cut", "", _yes)
        index = self.kept.index(self.key)
        if index is not None:
            try:
                return tuple(unit_of(self, values) for values in index)
            except (ValueError, TypeError, IndexError, AttributeError):
                self.store.damaged()
        units = cut(self)
        if self.store.keeps and not self.problems:
            self.kept.keep_index(self.key, [list(values_of(unit)) for unit in units])
        return units

    @cached_property
    def bindings(self) -> dict[str, list[Unit]]:
        """For every name bound at module level, the units that bind it; see :attr:`bound`."""
        found: dict[str, list[Unit]] = {}
        for unit in self.units:
            for name in unit.binds:
                found.setdefault(name, []).append(unit)
        return found

    @property
    def bound(self) -> Collection[str]:
        """Every name that is bound at module level, as to guess which one was meant."""
        self.note("bound", "", _yes)
        return self.bindings.keys()

    def all_units(self) -> Iterator[Unit]:
        """Yields every unit, classes before their members."""
        for unit in self.units:
            yield unit
            yield from unit.members

    @cached_property
    def refused(self) -> SyntaxProblem | None:
        """Why the file cannot be parsed, ``None`` if it can; cheaper than ``units``."""
        if "units" not in self.__dict__ and not self._is_readable():
            _ = self.units
        if self.problems:
            return self.problems[0]
        self.store.keep_parses(self.key)
        return None

    def _is_readable(self) -> bool:
        """Whether the file is surely free of syntax errors, at less than what units cost."""
        if self.store.parses(self.key) or self.kept.knows(self.key):
            return True
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                symtable.symtable(self.text, self.path, "exec")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
        return True


def _renamed(text: str) -> Iterator[tuple[str, str]]:
    """Yields the words on both sides of every `` as ``."""
    at = text.find(" as ")
    while at >= 0:
        name, alias = _BEFORE_AS.search(text, max(at - 100, 0), at), _AFTER_AS.match(text, at + 4)
        if name and alias:
            yield name[1], alias[1]
        at = text.find(" as ", at + 4)


def _yes() -> bool:
    return True
