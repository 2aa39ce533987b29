"""What becomes of a string: where it ends up as a key of a mapping, if it ever does.

Goes forwards from where a text stands in the source. A text that is compared with, looked up, shown
or named in an annotation becomes no key. Whatever cannot be followed may become one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from rltel_lint.facts import nodes as n
from rltel_lint.project.binding import init_of
from rltel_lint.project.callers import CallerFinder
from rltel_lint.project.calls import CallFinder, CallSite
from rltel_lint.project.evaluate import Evaluator
from rltel_lint.project.metrics.keys import names_in
from rltel_lint.project.model import Class, Function, Scope
from rltel_lint.project.modules import ModuleTable
from rltel_lint.project.resolve import External, Resolver
from rltel_lint.project.uses import Use, Uses

_LIMIT = 300
LANDED_SOMEWHERE = None
"""A key of a mapping that is not known."""

Landing = Use | None
Step = Iterator[Use | tuple[Landing]]
"""Where a value goes next, or (in a tuple) the mapping that it is a key of."""

_ASKING = frozenset(
    {
        *("get", "pop", "startswith", "endswith", "index", "count", "remove", "discard", "split"),
        *("__contains__", "__getitem__", "removeprefix", "removesuffix", "replace", "join"),
        *("info", "debug", "warning", "error", "exception", "critical", "log", "print", "write"),
        *("add_argument", "getLogger", "startswith", "isin", "match", "search", "partition"),
    }
)
_SAME = frozenset(
    {
        *("items", "keys", "values", "copy", "union", "get", "pop", "lower", "upper", "strip"),
        *("format", "title", "popitem", "difference", "intersection", "__iter__", "__getitem__"),
    }
)
_COLLECTING = frozenset({"append", "add", "insert", "extend", "appendleft", "put"})
_PASSING = frozenset(
    {
        *("zip", "enumerate", "list", "tuple", "set", "frozenset", "sorted", "reversed", "iter"),
        *("str", "next", "filter", "map"),
    }
)
_MAPPINGS = frozenset({"dict", "OrderedDict", "defaultdict", "Counter", "MappingProxyType"})
_WRITING = frozenset({"update", "fromkeys", "setdefault", "__setitem__"})
_DUMPING = ("asdict(", "._asdict(", "vars(", ".__dict__", ".model_dump(", ".dict(", "to_dict(")


class KeyFlow:
    """Follows strings to the mappings they become keys of.

    Args:
        modules: The project's modules.
        resolver: Resolves what is called.
        finder: Finds the project's functions that a call runs.
        callers: Finds where a returned value goes.
        evaluator: Binds arguments to parameters.
        uses: Finds the uses of names.
        ignored: Whether a call declares metrics, so that its arguments are no emission.
    """

    def __init__(
        self,
        modules: ModuleTable,
        resolver: Resolver,
        finder: CallFinder,
        callers: CallerFinder,
        evaluator: Evaluator,
        uses: Uses,
        ignored: Callable[[CallSite], bool],
    ) -> None:
        self._modules = modules
        self._resolver = resolver
        self._finder = finder
        self._callers = callers
        self._evaluator = evaluator
        self._uses = uses
        self._ignored = ignored
        self._dumps: bool | None = None

    def landings(self, start: Iterable[Use]) -> list[Landing]:
        """Returns the mappings that a string at some places becomes a key of.

        Args:
            start: Where the string stands.

        Returns:
            The mappings, ``None`` for one that is not known; empty when it becomes no key.
        """
        todo, seen = list(start), set()
        found: list[Landing] = []
        while todo:
            use = todo.pop()
            if use.node in seen:
                continue
            seen.add(use.node)
            if len(seen) > _LIMIT:
                return [*found, LANDED_SOMEWHERE]
            for step in self._step(use):
                if isinstance(step, Use):
                    todo.append(step)
                else:
                    found.append(step[0])
        return found

    # -- one step -----------------------------------------------------------------------

    def _step(self, use: Use) -> Step:
        node, statement = use.node, use.statement
        if isinstance(node, n.Arg):
            yield from self._keyword(node, use)
            return
        parent = self._uses.parent(node, statement)
        if self._uses.is_target(node, statement) or self._in_annotation(node, parent):
            return
        if isinstance(parent, n.Dict):
            is_key = any(key is node for key, _ in parent.items)
            yield (self._at(parent, use),) if is_key else self._at(parent, use)
        elif isinstance(parent, n.Subscript):
            yield from self._subscript(parent, use)
        elif isinstance(parent, n.Attribute):
            yield from self._member(parent, use)
        elif isinstance(parent, n.Arg):
            yield from self._argument(parent, use)
        elif isinstance(parent, (n.Sequence, n.Starred, n.BoolOp, n.Await, n.Conditional)):
            if not (isinstance(parent, n.Conditional) and parent.test is node):
                yield self._at(parent, use)
        elif isinstance(parent, n.Binary):
            if parent.op in {"+", "|"} and not isinstance(node, (n.Const, n.FString)):
                yield self._at(parent, use)
        elif isinstance(parent, n.Comprehension):
            yield from self._comprehension(parent, use)
        elif isinstance(parent, (n.Assign, n.AugAssign)):
            targets = parent.targets if isinstance(parent, n.Assign) else (parent.target,)
            for target in targets:
                yield from self.stored_in(target, use.scope)
        elif isinstance(parent, n.NamedExpr):
            yield self._at(parent, use)
            yield from self.stored_in(parent.target, use.scope)
        elif isinstance(parent, n.For) and parent.iterable is node:
            yield from self.stored_in(parent.target, use.scope)
        elif isinstance(parent, n.Parameter):
            yield from self._default(parent, use)
        elif isinstance(parent, (n.Return, n.Yield)):
            yield from self._returned(use)
        elif isinstance(parent, n.Lambda):
            yield (LANDED_SOMEWHERE,)

    @staticmethod
    def _at(node: n.Node, use: Use) -> Use:
        return Use(node, use.scope, use.statement)

    @staticmethod
    def _in_annotation(node: n.Node, parent: n.Node) -> bool:
        return isinstance(parent, (n.Assign, n.Parameter)) and parent.annotation is node

    def _subscript(self, parent: n.Subscript, use: Use) -> Step:
        stored = self._uses.is_target(parent, use.statement)
        if parent.index is use.node:
            if stored:
                yield (self._at(parent.base, use),)
        elif not stored:
            yield self._at(parent, use)

    def _member(self, parent: n.Attribute, use: Use) -> Step:
        call = self._uses.parent(parent, use.statement)
        if isinstance(call, n.Call) and call.func is parent:
            if parent.attr in _SAME:
                yield self._at(call, use)
        elif parent.attr in {"value", "_value_"}:
            yield self._at(parent, use)

    def _comprehension(self, parent: n.Comprehension, use: Use) -> Step:
        node = use.node
        if node is parent.key:
            yield (self._at(parent, use),)
            return
        if node is parent.element:
            yield self._at(parent, use)
            return
        for target, iterable in parent.loops:
            if iterable is node:
                names = names_in(target)
                if parent.key is not None and names & names_in(parent.key):
                    yield (self._at(parent, use),)
                if names & names_in(parent.element):
                    yield self._at(parent, use)

    def stored_in(self, target: n.Expr, scope: Scope) -> Step:
        """Yields where a value goes that is stored into a target."""
        if isinstance(target, n.Name):
            yield from self._of_name(target.id, scope)
        elif isinstance(target, n.Attribute):
            yield from self._uses.of_attribute(target.attr)
        elif isinstance(target, n.Sequence):
            for element in target.elements:
                yield from self.stored_in(element, scope)
        elif isinstance(target, n.Starred):
            yield from self.stored_in(target.value, scope)
        elif isinstance(target, n.Subscript):
            yield from self.stored_in(target.base, scope)
        else:
            yield (LANDED_SOMEWHERE,)

    def _of_name(self, name: str, scope: Scope) -> Step:
        where = self._resolver.lookup(name, scope)[1]
        if where is not None:
            yield from self._uses.everywhere(name, where)
        if isinstance(where, Class) and self._is_iterated(where):
            yield (LANDED_SOMEWHERE,)

    def _is_iterated(self, cls: Class) -> bool:
        loop = re.compile(rf"\bin (?:list\()?(?:\w+\.)*{re.escape(cls.name)}\b")
        near = self._modules.mentioning(cls.name)
        return any(module.facts.search(loop) for module in near)

    def _default(self, parent: n.Parameter, use: Use) -> Step:
        statement = use.statement
        if isinstance(statement, n.FunctionDef):
            owner = use.scope if isinstance(use.scope, Class) else None
            outer = use.scope if isinstance(use.scope, Function) else None
            function = use.scope.module.function(statement, owner, outer)
            yield from self._uses.of_name(parent.name, function)
        else:
            yield (LANDED_SOMEWHERE,)

    def _returned(self, use: Use) -> Step:
        if not isinstance(use.scope, Function):
            return
        callers = self._callers.of(use.scope)
        for site in callers.sites:
            yield Use(site.call, site.scope, site.statement)
        if not callers.complete:
            yield (LANDED_SOMEWHERE,)

    # -- arguments ----------------------------------------------------------------------

    def _argument(self, arg: n.Arg, use: Use) -> Step:
        call = self._uses.parent(arg, use.statement)
        if not isinstance(call, n.Call):
            return  # a base of a class
        site = CallSite(call, use.scope, use.statement)
        if self._ignored(site):
            return
        func = call.func
        name = func.attr if isinstance(func, n.Attribute) else n.dotted(func) or ""
        if isinstance(func, n.Attribute):
            if name in {"setdefault", "__setitem__"} and call.positional(0) is use.node:
                yield (self._at(func.base, use),)
                return
            if name in _COLLECTING and not self._finder.called(site):
                yield from self.stored_in(func.base, use.scope)
                return
        names = {name, *self._outside_names(site)}
        if names & _WRITING:
            yield (LANDED_SOMEWHERE,)
        if names & _MAPPINGS:
            yield (self._at(call, use),)
        if names & (_MAPPINGS | _PASSING):
            yield self._at(call, use)
            return
        yield from self._passed(site, arg, name)

    def _outside_names(self, site: CallSite) -> set[str]:
        """The last parts of the names of what a call runs outside the project."""
        return {one.rpartition(".")[2] for one in _outside(site, self._resolver)}

    def _passed(self, site: CallSite, arg: n.Arg, name: str) -> Step:
        called = self._finder.called(site)
        for target in called:
            function = (
                init_of(target, self._resolver.mro(target)) if isinstance(target, Class) else target
            )
            if function is None:
                yield from self._field(arg)
                continue
            bound = self._evaluator.bound(site, function)
            names = [name for name, passed in bound.items() if passed.expr is arg.value]
            for parameter in names:
                yield from self._uses.of_name(parameter, function)
            if not names:
                yield (LANDED_SOMEWHERE,)
        known = bool(called) or name in _ASKING or bool(_outside(site, self._resolver))
        if not known or name.endswith("partial"):
            yield (LANDED_SOMEWHERE,)

    def _field(self, arg: n.Arg) -> Step:
        if arg.keyword is not None:
            yield from self._uses.of_attribute(arg.keyword)
        else:
            yield (LANDED_SOMEWHERE,)

    def _keyword(self, arg: n.Arg, use: Use) -> Step:
        """A keyword that has the key's name."""
        call = self._uses.parent(arg, use.statement)
        if not isinstance(call, n.Call):
            return
        site = CallSite(call, use.scope, use.statement)
        if self._ignored(site):
            return
        name = call.func.attr if isinstance(call.func, n.Attribute) else n.dotted(call.func) or ""
        names = {name, *self._outside_names(site)}
        if names & _MAPPINGS:
            yield (self._at(call, use),)
            return
        if names & _WRITING:
            yield (LANDED_SOMEWHERE,)
            return
        called = self._finder.called(site)
        for target in called:
            if isinstance(target, Class):
                if self.dumps:
                    yield (LANDED_SOMEWHERE,)
            elif target.node.params.named(arg.keyword or "") is None:
                yield (LANDED_SOMEWHERE,)
        if not called and not _outside(site, self._resolver):
            yield (LANDED_SOMEWHERE,)

    @property
    def dumps(self) -> bool:
        """Whether the project turns objects into mappings somewhere."""
        if self._dumps is None:
            self._dumps = any(map(self._modules.mentioning, (*_DUMPING, "TypedDict")))
        return self._dumps


def _outside(site: CallSite, resolver: Resolver) -> list[str]:
    found = resolver.of(site.call.func, site.scope)
    return [entity.name for entity in found if isinstance(entity, External)]
