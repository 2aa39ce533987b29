"""Who writes into one mapping: through its name, other names for it, attributes, helpers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rltel_lint.facts import nodes as n
from rltel_lint.project.binding import EMPTY, Frame, init_of
from rltel_lint.project.calls import CallFinder, CallSite
from rltel_lint.project.evaluate import Evaluator
from rltel_lint.project.metrics.keys import Keys, gap, union
from rltel_lint.project.model import Class, Function, Module, Scope
from rltel_lint.project.reaching import reaching
from rltel_lint.project.resolve import External, Instance, Resolver
from rltel_lint.project.uses import Use, Uses

if TYPE_CHECKING:
    from rltel_lint.project.metrics.mappings import Mappings

_LIMIT = 60
"""More names than this for one mapping, and we stop counting."""

READING = frozenset(
    {
        *("get", "items", "keys", "values", "copy", "pop", "popitem", "clear", "fromkeys"),
        *("__contains__", "__len__", "__iter__", "__getitem__", "__eq__", "__or__"),
        *("move_to_end", "most_common", "elements", "total", "model_dump", "to_dict", "_asdict"),
    }
)
KEEPING = frozenset(
    {"append", "add", "put", "put_nowait", "insert", "extend", "appendleft", "submit", "send"}
)
"""Methods that keep what they are given, for others to find."""


@dataclass(frozen=True)
class _Alias:
    """A name or attribute under which the mapping is known."""

    name: str
    scope: Scope | None
    frame: Frame
    cls: Class | None = None
    via: tuple[n.Call, ...] = ()
    given: tuple[Use, _Alias] | None = None
    """The call that passes the mapping into this function, and its name there."""


class Writers:
    """Collects what is written into a mapping.

    Args:
        mappings: Reads keys and other mappings.
        resolver: Resolves names.
        finder: Finds what a call runs.
        evaluator: Binds arguments to parameters.
        uses: Finds the uses of names.
        is_logger: Whether a call logs a mapping.
    """

    def __init__(
        self,
        mappings: Mappings,
        resolver: Resolver,
        finder: CallFinder,
        evaluator: Evaluator,
        uses: Uses,
        is_logger: Callable[[CallSite], bool],
    ) -> None:
        self._mappings = mappings
        self._resolver = resolver
        self._finder = finder
        self._evaluator = evaluator
        self._uses = uses
        self._is_logger = is_logger

    def of_name(
        self, name: str, scope: Scope, frame: Frame, bindings: frozenset[n.Node] | None
    ) -> Keys:
        """Returns the keys that are written into the mapping that a name stands for.

        Args:
            name: The name.
            scope: The scope that binds it.
            frame: Arguments of the functions around.
            bindings: The bindings that count: a write that only others reach is about another
                mapping. ``None`` for all of them.
        """
        return self._collect(_Alias(name, scope, frame), bindings)

    def of_attribute(self, attr: str, cls: Class) -> Keys:
        """Returns the keys that a mapping in an attribute of a class may have."""
        stored = union(self._stored(attr, cls))
        return stored | self._collect(_Alias(attr, None, EMPTY, cls), None)

    # -- all names of one mapping -------------------------------------------------------

    def _collect(self, start: _Alias, bindings: frozenset[n.Node] | None) -> Keys:
        todo, seen = [start], {self._identity(start)}
        found: list[Keys] = []
        while todo:
            alias = todo.pop()
            for use in self._uses_of(alias):
                if alias is start and not self._same(use, start, bindings):
                    continue
                for effect in self._effects(use.node, use, alias):
                    if isinstance(effect, Keys):
                        found.append(effect)
                    elif self._identity(effect) not in seen:
                        seen.add(self._identity(effect))
                        todo.append(effect)
            if len(seen) > _LIMIT:
                return union([*found, gap("it goes by too many names")])
        return union(found)

    @staticmethod
    def _identity(alias: _Alias) -> tuple[object, ...]:
        return (alias.name, alias.scope, alias.cls, alias.via)

    def _uses_of(self, alias: _Alias) -> Iterator[Use]:
        if alias.scope is None:
            for use in self._uses.of_attribute(alias.name):
                if self._may_be(use, alias.cls):
                    yield use
            return
        yield from self._uses.everywhere(alias.name, alias.scope)

    def _may_be(self, use: Use, cls: Class | None) -> bool:
        """Whether ``x.attr`` may be the attribute of this class."""
        if not isinstance(use.node, n.Attribute) or cls is None:
            return True
        entities = self._resolver.of(use.node.base, use.scope)
        classes = [e.cls if isinstance(e, Instance) else e for e in entities]
        own = set(self._resolver.mro(cls))
        return not classes or any(
            not isinstance(other, Class) or own & set(self._resolver.mro(other))
            for other in classes
            if not isinstance(other, (External, Module))
        )

    def _same(self, use: Use, start: _Alias, bindings: frozenset[n.Node] | None) -> bool:
        if bindings is None or use.scope is not start.scope:
            return True
        if not isinstance(use.scope, Function):
            return True
        reached = {b.node for b in reaching(use.scope, start.name, use.statement)}
        return bool(reached & bindings)

    def _stored(self, attr: str, cls: Class) -> Iterator[Keys]:
        for use in self._uses.of_attribute(attr):
            statement = use.statement
            if not isinstance(statement, n.Assign) or not self._may_be(use, cls):
                continue
            if use.node in statement.targets and statement.value is not None:
                yield self._mappings.of(statement.value, use.scope, statement)
            elif self._uses.is_target(use.node, statement):
                yield gap(f".{attr} is unpacked")
        for holder in self._resolver.mro(cls):
            for binding in holder.bindings_of(attr):
                if binding.value is not None:
                    yield self._mappings.of(binding.value, holder)
                if isinstance(binding.node, n.Assign) and binding.node.annotation is not None:
                    yield from (self._given(one, attr) for one in self._built(cls))

    def _built(self, cls: Class) -> list[Class]:
        """The class and its relatives whose constructor takes the fields one by one."""
        related = [*self._resolver.mro(cls), *self._resolver.subclasses(cls)]
        return [one for one in related if init_of(one, self._resolver.mro(one)) is None]

    def _given(self, cls: Class, attr: str) -> Keys:
        """What constructors pass for a field of a dataclass."""
        found: list[Keys] = []
        for site in self._finder.callers(cls):
            value = site.call.keyword(attr)
            if value is not None:
                found.append(self._mappings.of(value, site.scope, site.statement))
            if any(arg.keyword is None for arg in site.call.args):
                found.append(gap(f"{cls.name} is built from positions"))
        return union(found)

    # -- one use ------------------------------------------------------------------------

    def _effects(self, node: n.Node, use: Use, alias: _Alias) -> Iterator[Keys | _Alias]:
        """Yields what one use may write, and the further names that it gives."""
        statement = use.statement
        if self._uses.is_target(node, statement):
            if isinstance(statement, n.AugAssign) and statement.op in {"|", "?"}:
                yield self._mappings.of(statement.value, use.scope, statement, alias.frame)
            return
        parent = self._uses.parent(node, statement)
        if isinstance(parent, n.Subscript):
            if parent.base is node and self._uses.is_target(parent, statement):
                yield self._mappings.key(parent.index, use.scope, statement, alias.frame)
        elif isinstance(parent, n.Attribute):
            yield from self._method(parent, use, alias)
        elif isinstance(parent, n.Arg):
            yield from self._argument(parent, use, alias)
        elif isinstance(parent, n.Assign):
            yield from self._assigned(parent, use, alias)
        elif isinstance(parent, (n.Conditional, n.BoolOp, n.NamedExpr, n.Await)):
            if not (isinstance(parent, n.Conditional) and parent.test is node):
                yield from self._effects(parent, use, alias)
            if isinstance(parent, n.NamedExpr) and isinstance(parent.target, n.Name):
                yield from self._named(parent.target, use, alias)
        elif isinstance(parent, n.Return):
            if alias.scope is None:
                yield gap(f".{alias.name} is handed out")
            elif alias.given is not None:
                yield from self._effects(alias.given[0].node, *alias.given)
        elif _keeps(parent, node):
            yield gap(f"{alias.name} is kept in a container")

    def _method(self, func: n.Attribute, use: Use, alias: _Alias) -> Iterator[Keys]:
        call = self._uses.parent(func, use.statement)
        if not isinstance(call, n.Call) or call.func is not func:
            if func.attr in {"update", "setdefault", "__setitem__"}:
                yield gap(f".{func.attr} is handed on")
            return
        if func.attr == "update":
            yield self._mappings.merging.merged(call, use.scope, use.statement, alias.frame)
        elif func.attr in {"setdefault", "__setitem__"}:
            key = call.positional(0)
            if key is not None:
                yield self._mappings.key(key, use.scope, use.statement, alias.frame)
            else:
                yield gap("a key is not known")
        elif func.attr == "__ior__" and call.args:
            value = call.args[0].value
            yield self._mappings.of(value, use.scope, use.statement, alias.frame)
        elif func.attr not in READING:
            yield gap(f".{func.attr} may write into it")

    def _assigned(self, assign: n.Assign, use: Use, alias: _Alias) -> Iterator[Keys | _Alias]:
        for target in assign.targets:
            if isinstance(target, n.Name):
                yield from self._named(target, use, alias)
            elif isinstance(target, n.Attribute):
                classes = [
                    entity.cls
                    for entity in self._resolver.of(target.base, use.scope)
                    if isinstance(entity, Instance) and isinstance(entity.cls, Class)
                ]
                yield _Alias(target.attr, None, EMPTY, classes[0] if len(classes) == 1 else None)
            elif isinstance(target, n.Subscript):
                yield gap(f"{alias.name} is kept in a container")

    def _named(self, target: n.Name, use: Use, alias: _Alias) -> Iterator[_Alias]:
        where = self._resolver.lookup(target.id, use.scope)[1]
        if where is not None:
            yield replace(alias, name=target.id, scope=where, cls=None)

    def _argument(self, arg: n.Arg, use: Use, alias: _Alias) -> Iterator[Keys | _Alias]:
        call = self._uses.parent(arg, use.statement)
        if arg.star or not isinstance(call, n.Call):
            return
        site = CallSite(call, use.scope, use.statement)
        if self._is_logger(site):
            return
        called = self._finder.called(site)
        for target in called:
            yield from self._parameter(target, site, arg, alias)
        if called:
            return
        func = call.func
        name = func.attr if isinstance(func, n.Attribute) else ""
        if name in KEEPING or (n.dotted(func) or "").endswith("partial"):
            yield gap(f"{alias.name} is kept in a container")
        elif not self._resolver.of(func, use.scope) and not _harmless(name):
            yield gap(f"{name or 'a function'} may write into it")

    def _parameter(
        self, target: Function | Class, site: CallSite, arg: n.Arg, alias: _Alias
    ) -> Iterator[Keys | _Alias]:
        function: Function | None
        if isinstance(target, Class):
            function = init_of(target, self._resolver.mro(target))
            if function is None:
                yield gap(f"{alias.name} is kept in a {target.name}")
                return
        else:
            function = target
        if alias.frame.of(function) is not None:
            yield gap(f"{function.label} calls itself with it")
            return
        bound = self._evaluator.bound(site, function, alias.frame)
        for name, passed in bound.items():
            if passed.expr is arg.value:
                frame = alias.frame.entering(function, bound)
                given = (Use(site.call, site.scope, site.statement), alias)
                yield _Alias(name, function, frame, None, (*alias.via, site.call), given)
        if not any(passed.expr is arg.value for passed in bound.values()):
            yield gap(f"{function.label} takes it among other arguments")


def _keeps(parent: n.Node, node: n.Node) -> bool:
    """Whether an expression keeps the object itself."""
    if isinstance(parent, n.Dict):
        return any(key is not None and value is node for key, value in parent.items)
    if isinstance(parent, n.Comprehension):
        return parent.element is node
    return isinstance(parent, (n.Sequence, n.Starred, n.Lambda, n.Yield, n.WithItem))


def _harmless(method: str) -> bool:
    return method in READING or method in {"update", "join", "format", "write", "info", "debug"}
