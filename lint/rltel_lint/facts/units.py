"""A statement of a file, lowered only when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from rltel_lint.facts import nodes as n
from rltel_lint.facts.asking import Answer, Asked
from rltel_lint.facts.calling import Calling, calls_name, names_only, read_calling
from rltel_lint.facts.codec import decode, encode
from rltel_lint.facts.lower_ast import lower
from rltel_lint.facts.problems import TOO_DEEP, reason
from rltel_lint.facts.store import text_key

if TYPE_CHECKING:
    from rltel_lint.facts.source import SourceFacts


@dataclass(eq=False)
class Unit(Asked):
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
        text = self.source.known_plain[self.span]
        return text if text.endswith("\n") else f"{text}\n"

    def note(self, kind: str, about: str, find: Callable[[], Answer]) -> Answer:
        """Returns the answer to a question, and notes both; see :class:`Asked`."""
        return self.source.note_of(self, f"{kind} {about}", find)

    def note_as_a_whole(self, what: str) -> None:
        """Notes that an outcome depends on something of the unit as a whole."""
        self.source.note_of(self, what, _yes)

    def ask(self, kind: str, about: str) -> Any:
        """Asks again what was noted."""
        if kind == "hands-on":
            return self.hands_on_any([about])
        if kind in {"calls", "names"}:
            return self.calls(about) if kind == "calls" else self.names(about)
        return super().ask(kind, about)

    @property
    def defines(self) -> frozenset[str]:
        """The functions that are defined in the unit, nested ones too."""
        self.note_as_a_whole("defines")
        return self.known_calling.defines

    @property
    def hands_on(self) -> frozenset[str]:
        """Names that the text of the unit may call, pass on, or decorate with."""
        self.note_as_a_whole("hands-on")
        return self.known_calling.hands_on

    # Ask these for a name only where ``units_with`` has said that the unit has it, or an alias.

    def calls(self, name: str) -> bool:
        """Whether the text of the unit calls something of a name."""
        return self.note("calls", name, lambda: calls_name(name, self.known_plain))

    def names(self, name: str) -> bool:
        """Whether the text of the unit may import or assign a name under another one."""
        return self.note("names", name, lambda: names_only(name, self.known_plain))

    def hands_on_any(self, names: Iterable[str]) -> bool:
        """Whether one of the names is in :attr:`hands_on`."""
        return any(self._hands_on(name) for name in names)

    def _hands_on(self, name: str) -> bool:
        return self.note("hands-on", name, lambda: name in self.known_calling.hands_on)

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
        self.note_as_a_whole("statements")
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
            self.source.refuse(self.first, TOO_DEEP)
            return ()
        except Exception as error:
            self.source.refuse(self.first, reason(error))
            return ()
        if self.indented:
            holder = lowered[0]
            return holder.body if isinstance(holder, n.ClassDef) else ()
        return lowered


class UnitValues(NamedTuple):
    """A unit as JSON values, for the index of a file.

    Attributes:
        first: First line, decorators included.
        last: Last line.
        binds: The names that it binds, with blanks between.
        members: The values of its members.
        indented: Whether it stands inside a class.
        lowered: Its encoded statements, if they come with the index: imports, and what only libcst
            can read.
        defines: The functions that are defined in it, with blanks between.
        hands_on: Names that it may call or pass on, likewise.
        key: What its statements are kept under.
    """

    first: int
    last: int
    binds: str
    members: list[list[Any]]
    indented: bool
    lowered: list[Any] | None
    defines: str
    hands_on: str
    key: str

    @property
    def calling(self) -> Calling:
        """What its text defines and calls."""
        return Calling(frozenset(self.defines.split()), frozenset(self.hands_on.split()))


def values_of(unit: Unit) -> UnitValues:
    """Returns a unit as JSON values."""
    calling = unit.known_calling
    return UnitValues(
        unit.first,
        unit.last,
        _joined(unit.binds),
        [list(values_of(member)) for member in unit.members],
        unit.indented,
        encode(unit._lowered, unit.first) if unit._lowered else None,
        _joined(calling.defines),
        _joined(calling.hands_on),
        unit.key,
    )


def unit_of(source: SourceFacts, values: list[Any]) -> Unit:
    """Returns the unit that :func:`values_of` was given.

    Args:
        source: Its file.
        values: The values.

    Raises:
        ValueError, TypeError, IndexError, AttributeError: They are something else.
    """
    kept = UnitValues(*values)
    if not (isinstance(kept.first, int) and isinstance(kept.last, int)):
        raise TypeError("a line is a number")
    return Unit(
        source,
        kept.first,
        kept.last,
        frozenset(kept.binds.split()),
        tuple(unit_of(source, member) for member in kept.members),
        kept.indented is True,
        None if kept.lowered is None else decode(kept.lowered, kept.first),
        kept.calling,
        kept.key,
    )


def _yes() -> bool:
    return True


def _joined(names: Iterable[str]) -> str:
    return " ".join(sorted(names))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
