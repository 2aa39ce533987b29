"""One Python file: an index of its statements from :mod:`ast`, each lowered only when asked for.

``ast`` cuts a file into units (a top-level statement, or one member of a top-level class); only
the units that somebody looks at are lowered. Both is done by ``ast``, ten times faster than
libcst. What ``ast`` of the running Python cannot read, newer syntax for example, libcst reads.
"""

from __future__ import annotations

import ast
import re
import symtable
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from rltel_lint.facts import nodes as n
from rltel_lint.facts.calling import Calling, calls_name, names_only, read_calling
from rltel_lint.facts.codec import decode, encode
from rltel_lint.facts.lookups import FileLookups, pattern_key
from rltel_lint.facts.lower_ast import lower
from rltel_lint.facts.occurrences import words_in
from rltel_lint.facts.store import FactStore, text_key

_Answer = TypeVar("_Answer")

_TOO_DEEP = "it is nested too deeply to be read"
_MOST_BRACKETS = 200
"""CPython takes no more; libcst, which takes over from it, would end the process at some point."""

_FOREIGN_LETTER = re.compile(r"[^\W\x00-\x7f]")
_BEFORE_AS = re.compile(r"(\w+)\s*$")
_AFTER_AS = re.compile(r"\s*(\w+)")
_Definition = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class SyntaxProblem:
    """Why a file, or a statement of it, could not be read.

    Attributes:
        line: Where, from 1.
        message: What is wrong, in one sentence without a full stop.
    """

    line: int
    message: str


@dataclass(eq=False)
class Unit:
    """A top-level statement, or one member of a top-level class.

    Attributes:
        source: The file.
        first: First line, decorators included.
        last: Last line.
        binds: The names that the statement binds; ``*`` for a star import.
        members: The members of a class that is cut further; ``()`` otherwise.
        indented: Whether it stands inside a class.
        holder: That class, if it is one that is cut further.
    """

    source: SourceFacts
    first: int
    last: int
    binds: frozenset[str]
    members: tuple[Unit, ...] = ()
    indented: bool = False
    _lowered: tuple[n.Stmt, ...] | None = field(default=None, repr=False)
    _calling: Calling | None = field(default=None, repr=False)
    _key: str = field(default="", repr=False)
    holder: Unit | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        for member in self.members:
            member.holder = self

    @property
    def span(self) -> slice:
        """Where it stands in the text; of a class that is cut further, its header only."""
        last = self.members[0].first - 1 if self.members else self.last
        starts = self.source.starts
        return slice(starts[self.first - 1], starts[last])

    @property
    def text(self) -> str:
        """The source lines of the unit."""
        text = self.source.text[self.span]
        return text if text.endswith("\n") else f"{text}\n"

    @property
    def known_plain(self) -> str:
        """The source lines for searching, where no outcome depends on it."""
        text = self.source.plain[self.span]
        return text if text.endswith("\n") else f"{text}\n"

    def has(self, text: str) -> bool:
        """Whether this stands anywhere in the unit."""
        return self.source.answer_of(self, "has", text, lambda: self._has(text))

    def _has(self, text: str) -> bool:
        return text in (self.known_plain if text.isascii() else self.text)

    def search(self, pattern: re.Pattern[str]) -> bool:
        """Whether something in the unit matches."""
        key = pattern_key(pattern)
        return self.source.answer_of(
            self, "search", key, lambda: pattern.search(self._for(pattern)) is not None
        )

    def findall(self, pattern: re.Pattern[str]) -> list[Any]:
        """Returns what ``pattern.findall`` does; lists in place of tuples."""
        key = pattern_key(pattern)
        return self.source.answer_of(
            self, "findall", key, lambda: _lists(pattern.findall(self._for(pattern)))
        )

    def _for(self, pattern: re.Pattern[str]) -> str:
        return self.known_plain if pattern.pattern.isascii() else self.text

    @property
    def defines(self) -> frozenset[str]:
        """The functions that are defined in the unit, nested ones too."""
        self.source.note_asked(self, "defines")
        return self.known_calling.defines

    @property
    def hands_on(self) -> frozenset[str]:
        """Names that the text of the unit may call, pass on, or decorate with."""
        self.source.note_asked(self, "hands on")
        return self.known_calling.hands_on

    def calls(self, name: str) -> bool:
        """Whether the text of the unit calls something of a name."""
        return self.source.answer_of(
            self, "calls", name, lambda: calls_name(name, self.known_plain)
        )

    def names(self, name: str) -> bool:
        """Whether the text of the unit may import or assign a name under another one."""
        return self.source.answer_of(
            self, "names", name, lambda: names_only(name, self.known_plain)
        )

    def hands_on_any(self, names: Iterable[str]) -> bool:
        """Whether one of the names is in :attr:`hands_on`."""
        return any(self._hands_on(name) for name in names)

    def _hands_on(self, name: str) -> bool:
        return self.source.answer_of(
            self, "hands on", name, lambda: name in self.known_calling.hands_on
        )

    @property
    def known_calling(self) -> Calling:
        """What the text of the unit defines and calls, where no outcome depends on it."""
        if self._calling is None:
            self._calling = read_calling(self.known_plain)
        return self._calling

    @property
    def statements(self) -> tuple[n.Stmt, ...]:
        """The lowered statements; empty (and a problem noted) where libcst cannot read them."""
        if self._lowered is None:
            self._lowered = self._lower()
        return self._lowered

    def mentions(self, text: str) -> bool:
        """Whether the unit has this: a name as a whole, anything else anywhere."""
        if not text.isidentifier():
            return self.has(text)
        return self in self.source.units_with(text)

    @property
    def key(self) -> str:
        """What the lowered statements are kept under: a hash of all they depend on."""
        if not self._key:
            self._key = self._made_key()
        return self._key

    def _made_key(self) -> str:
        kind = "member" if self.indented else "class" if self.members else "statement"
        return text_key(f"{kind}\n{self.text}")

    def _lower(self) -> tuple[n.Stmt, ...]:
        self.source.note_asked(self, "statements")
        kept, key = self.source.kept, self.key
        values = kept.lowered(key)
        if values is not None:
            try:
                return decode(values, self.first)
            except (ValueError, TypeError, IndexError, KeyError, RecursionError):
                self.source.store.damaged()
        lowered = self._parse()
        if lowered and self.source.store.keeps:
            kept.keep_lowered(key, encode(lowered, self.first))
        return lowered

    def _parse(self) -> tuple[n.Stmt, ...]:
        text = self.text
        if self.members:
            text += (
                " " * (_indent(self.source.known_lines[self.members[0].first - 1]) or 1) + "pass\n"
            )
        offset = self.first - 1
        if self.indented:
            text, offset = "class _:\n" + text, offset - 1
        try:
            lowered = lower(text, line_offset=offset)
        except (RecursionError, MemoryError):
            self.source.note(self.first, _TOO_DEEP)
            return ()
        except Exception as error:
            self.source.note(self.first, _reason(error))
            return ()
        if self.indented:
            holder = lowered[0]
            return holder.body if isinstance(holder, n.ClassDef) else ()
        return lowered


class SourceFacts:
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

    def note(self, line: int, message: str) -> None:
        """Remembers that something at this line could not be read."""
        problem = SyntaxProblem(line, message)
        if problem not in self.problems:
            self.problems.append(problem)

    @cached_property
    def plain(self) -> str:
        """The text for searching, as long as the text itself: no dash, arrow or emoji is in it.

        One of them makes Python store a text, and search it, with two or four bytes a character.
        Letters beyond ASCII stay, so that names do.
        """
        text = self.text
        if text.isascii() or _FOREIGN_LETTER.search(text):
            return text
        return text.encode("ascii", "replace").decode("ascii")

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word in the text, those in strings and comments too."""
        return frozenset(words_in(self.plain))

    def has(self, text: str) -> bool:
        """Whether this stands anywhere in the text."""
        return self._answer("has", text, lambda: self._has(text))

    def _has(self, text: str) -> bool:
        return text in (self.plain if text.isascii() else self.text)

    def has_in_any_case(self, text: str) -> bool:
        """Whether this, in ASCII and lower case, stands in the text in any case."""
        return self._answer("lower", text, lambda: text in self._lower)

    @cached_property
    def _lower(self) -> str:
        return self.plain.lower()

    def search(self, pattern: re.Pattern[str]) -> bool:
        """Whether something in the text matches."""
        key = pattern_key(pattern)
        return self._answer("search", key, lambda: pattern.search(self._for(pattern)) is not None)

    def findall(self, pattern: re.Pattern[str]) -> list[Any]:
        """Returns what ``pattern.findall`` does; lists in place of tuples."""
        key = pattern_key(pattern)
        return self._answer("findall", key, lambda: _lists(pattern.findall(self._for(pattern))))

    def _for(self, pattern: re.Pattern[str]) -> str:
        return self.plain if pattern.pattern.isascii() else self.text

    def answer_of(
        self, unit: Unit, kind: str, question: str, find: Callable[[], _Answer]
    ) -> _Answer:
        """Returns an answer that one of the units gives; see :class:`FileLookups`."""
        if self._looked is None:
            return find()
        return self._looked.answer(str(self._places[unit]), f"{kind} {question}", find)

    def note_asked(self, unit: Unit, what: str) -> None:
        """Notes that an outcome depends on something of a unit as a whole."""
        if self._looked is not None:
            self._looked.answer(str(self._places[unit]), what, _yes)

    def excerpt(self, first: int, last: int) -> list[str]:
        """Returns lines of the text.

        Args:
            first: The first line, from 1.
            last: The last one.
        """
        if self._looked is not None:
            for unit in self._units:
                if unit.first <= last and first <= unit.last:
                    self.note_asked(unit, "text")
        return self.known_lines[first - 1 : last]

    def _answer(self, kind: str, question: str, find: Callable[[], _Answer]) -> _Answer:
        return find() if self._looked is None else self._looked.answer(kind, question, find)

    @cached_property
    def renamed(self) -> list[list[str]]:
        """Every ``name as alias`` in the text."""
        return self._answer("renamed", "", lambda: _lists(_renamed(self.plain)))

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
        return self._answer("word", word, lambda: word in self.words)

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
        self._answer("text", "", _yes)
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
        index = self.kept.index(self.key)
        if index is not None:
            try:
                return tuple(self._unit(values) for values in index)
            except (ValueError, TypeError, IndexError, AttributeError):
                self.store.damaged()
        units = self._cut()
        if self.store.keeps and not self.problems:
            self.kept.keep_index(self.key, [_index_values(unit) for unit in units])
        return units

    def _unit(self, values: list[Any]) -> Unit:
        first, last, binds, members, indented, statements, defines, hands_on, key = values
        if not (isinstance(first, int) and isinstance(last, int)):
            raise TypeError("a line is a number")
        inner = tuple(self._unit(member) for member in members)
        lowered = None if statements is None else decode(statements, first)
        calling = Calling(frozenset(defines.split()), frozenset(hands_on.split()))
        bound = frozenset(binds.split())
        return Unit(self, first, last, bound, inner, indented is True, lowered, calling, key)

    def _cut(self) -> tuple[Unit, ...]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(self.text)
        except (RecursionError, MemoryError):
            self.note(1, _TOO_DEEP)
            return ()
        except (SyntaxError, ValueError) as error:
            return self._units_by_libcst(error)
        return tuple(self._index(tree.body))

    @cached_property
    def bindings(self) -> dict[str, list[Unit]]:
        """For every name bound at module level, the units that bind it."""
        found: dict[str, list[Unit]] = {}
        for unit in self.units:
            for name in unit.binds:
                found.setdefault(name, []).append(unit)
        return found

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

    def _index(self, body: Sequence[ast.stmt]) -> Iterator[Unit]:
        for first, last, statements in _merged(body):
            head = statements[0]
            if all(isinstance(node, (ast.Import, ast.ImportFrom)) for node in statements):
                imports = tuple(self._import(node) for node in statements)
                yield Unit(self, first, last, frozenset(_binds(statements)), _lowered=imports)
                continue
            members: tuple[Unit, ...] = ()
            if len(statements) == 1 and isinstance(head, ast.ClassDef):
                members = self._members(head)
            yield Unit(self, first, last, frozenset(_binds(statements)), members)

    def _import(self, node: ast.stmt) -> n.Import:
        """An import, straight from ``ast``: imports are what resolving names needs most."""
        at = (
            node.lineno,
            self._characters(node.lineno, node.col_offset),
            node.end_lineno or node.lineno,
            self._characters(node.end_lineno or node.lineno, node.end_col_offset or 0),
        )
        if isinstance(node, ast.ImportFrom):
            names = tuple((alias.name, alias.asname or alias.name) for alias in node.names)
            return n.Import(at, node.module or "", node.level, names)
        pairs = [
            (alias.name, alias.asname) if alias.asname else (alias.name.split(".", 1)[0],) * 2
            for alias in (node.names if isinstance(node, ast.Import) else ())
        ]
        return n.Import(at, None, 0, tuple(pairs))

    def _characters(self, line: int, offset: int) -> int:
        """Turns an offset in UTF-8 bytes, as ``ast`` gives it, into one in characters."""
        text = self.known_lines[line - 1]
        return offset if text.isascii() else len(text.encode()[:offset].decode(errors="replace"))

    def _members(self, node: ast.ClassDef) -> tuple[Unit, ...]:
        merged = list(_merged(node.body))
        if merged[0][0] <= node.lineno:
            return ()  # the body stands on the line of ``class``: not worth cutting
        return tuple(
            Unit(self, first, last, frozenset(_binds(statements)), indented=True)
            for first, last, statements in merged
        )

    def _units_by_libcst(self, refused: BaseException) -> tuple[Unit, ...]:
        from rltel_lint.facts.lower import lower as lower_by_libcst

        if _depth(self.text) > _MOST_BRACKETS:
            self.note(1, _TOO_DEEP)
            return ()
        try:
            lowered = lower_by_libcst(self.text)
        except RecursionError:
            self.note(1, _TOO_DEEP)
            return ()
        except Exception:
            line = refused.lineno if isinstance(refused, SyntaxError) else None
            self.note(line or 1, _reason(refused))
            return ()
        return tuple(
            Unit(
                self,
                _first_line_of_node(statement),
                statement.at[2],
                frozenset(_binds_of_nodes((statement,))),
                _lowered=(statement,),
            )
            for statement in lowered
        )


def _yes() -> bool:
    return True


def _lists(found: Iterable[Any]) -> list[Any]:
    """Found texts as JSON knows them."""
    return [list(one) if isinstance(one, tuple) else one for one in found]


def _renamed(text: str) -> Iterator[tuple[str, str]]:
    """Yields the words on both sides of every `` as ``."""
    at = text.find(" as ")
    while at >= 0:
        name, alias = _BEFORE_AS.search(text, max(at - 100, 0), at), _AFTER_AS.match(text, at + 4)
        if name and alias:
            yield name[1], alias[1]
        at = text.find(" as ", at + 4)


def _depth(text: str) -> int:
    """How deeply brackets are nested, those in strings and comments included."""
    depth = deepest = 0
    for bracket in re.findall(r"[()\[\]{}]", text):
        depth = depth + 1 if bracket in "([{" else max(depth - 1, 0)
        deepest = max(deepest, depth)
    return deepest


def _index_values(unit: Unit) -> list[Any]:
    members = [_index_values(member) for member in unit.members]
    # Lowered already are imports, and what only libcst can read.
    lowered = encode(unit._lowered, unit.first) if unit._lowered else None
    binds, defines, hands_on = (
        " ".join(sorted(names))
        for names in (unit.binds, unit.known_calling.defines, unit.known_calling.hands_on)
    )
    place = [unit.first, unit.last, binds, members, unit.indented]
    return [*place, lowered, defines, hands_on, unit.key]


def _reason(error: BaseException) -> str:
    message = getattr(error, "msg", None) or getattr(error, "message", None) or str(error)
    return " ".join(message.split()).rstrip(".")[:200] or type(error).__name__


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _first_line(node: ast.stmt) -> int:
    if isinstance(node, _Definition) and node.decorator_list:
        return min(node.lineno, node.decorator_list[0].lineno)
    return node.lineno


def _first_line_of_node(node: n.Stmt) -> int:
    decorators = node.decorators if isinstance(node, (n.FunctionDef, n.ClassDef)) else ()
    return min([node.at[0], *(decorator.at[0] for decorator in decorators)])


def _merged(body: Sequence[ast.stmt]) -> Iterator[tuple[int, int, list[ast.stmt]]]:
    """Yields runs of statements that share no line with their neighbours."""
    run: list[ast.stmt] = []
    first = last = 0
    for node in body:
        start, end = _first_line(node), node.end_lineno or node.lineno
        if run and start <= last:
            run.append(node)
            last = max(last, end)
            continue
        if run:
            yield first, last, run
        run, first, last = [node], start, end
    if run:
        yield first, last, run


def _binds(body: Iterable[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, _Definition):
            yield node.name
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                plain = isinstance(node, ast.Import) and alias.asname is None
                yield alias.name.split(".", 1)[0] if plain else alias.asname or alias.name
        else:
            for inner in ast.walk(node):
                if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                    yield inner.id
                elif inner is not node and isinstance(
                    inner, (*_Definition, ast.Import, ast.ImportFrom)
                ):
                    yield from _binds([inner])


def _binds_of_nodes(body: Iterable[n.Stmt]) -> Iterator[str]:
    for statement in body:
        if isinstance(statement, (n.FunctionDef, n.ClassDef)):
            yield statement.name
        elif isinstance(statement, n.Import):
            yield from (bound for _, bound in statement.names)
        elif isinstance(statement, n.Assign):
            for target in statement.targets:
                yield from (node.id for node in n.walk(target) if isinstance(node, n.Name))
        for block in n.blocks(statement):
            yield from _binds_of_nodes(block)
