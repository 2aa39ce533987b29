"""Where metrics are logged: calls of known loggers, seen from whoever decides what is logged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from rltel_lint.facts import nodes as n
from rltel_lint.facts.units import Unit
from rltel_lint.findings import Place
from rltel_lint.project.binding import EMPTY, Frame, Passed, bind
from rltel_lint.project.callers import CallerFinder, Callers
from rltel_lint.project.calls import CallFinder, CallSite
from rltel_lint.project.evaluate import Evaluator
from rltel_lint.project.metrics.keys import fits, names_in
from rltel_lint.project.model import Function, Module, Scope
from rltel_lint.project.resolve import External, Resolver
from rltel_lint.project.uses import Use, Uses
from rltel_lint.values import Strings, literal, unknown
from rltel_lint.vocabulary.model import KnownCall, Vocabulary

_DEPTH = 5
_BACKENDS = frozenset({"mlflow", "wandb", "comet_ml", "neptune", "swanlab", "aim", "trackio"})
"""Libraries with a function of the same name, through which nothing is teed."""

Chain = tuple[tuple[CallSite, Function], ...]
"""Calls of wrappers with what each runs, the outermost first."""


@dataclass(frozen=True, eq=False)
class LoggedMapping:
    """One mapping that is logged.

    Attributes:
        at: The call that decides the prefix: of the logger, or of a wrapper around it.
        logger: The logger's own call.
        prefix: The prefix it is logged under.
        mapping: The mapping, evaluated in ``scope`` with ``frame``; ``None`` when it comes out
            of an unpacking.
        scope: Where the mapping's names are looked up.
        statement: The statement that holds the logger's call.
        frame: Arguments of the wrappers.
    """

    at: CallSite
    logger: CallSite
    prefix: Strings
    mapping: n.Expr | None
    scope: Scope
    statement: n.Stmt
    frame: Frame = EMPTY

    @property
    def place(self) -> Place:
        """Where the call stands that decides the prefix."""
        return self.at.place

    def may_be_under(self, prefixes: Iterable[str]) -> bool:
        """Whether the prefix may be one of these."""
        return any(fits(self.prefix, prefix) for prefix in prefixes)


class LoggerFinder:
    """Finds logger calls.

    Args:
        vocabulary: What the names mean.
        resolver: Resolves names.
        finder: Finds calls.
        callers: Finds the callers of wrappers.
        evaluator: Evaluates prefixes.
        uses: Finds the uses of names.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        resolver: Resolver,
        finder: CallFinder,
        callers: CallerFinder,
        evaluator: Evaluator,
        uses: Uses,
    ) -> None:
        self._known = {known.name: known for known in vocabulary.metrics.loggers}
        self._resolver = resolver
        self._finder = finder
        self._callers = callers
        self._evaluator = evaluator
        self._uses = uses
        self.handed_on: list[Place] = []

    def find(self) -> list[LoggedMapping]:
        """Returns all mappings that are logged, sorted by place.

        ``handed_on`` then says where a logger is passed around instead of called: what is
        logged through it is not seen.
        """
        found: list[LoggedMapping] = []
        seen: set[n.Node] = set()
        for module, unit in self._finder.mentioning(self._known):
            for site in self._finder.sites(module, unit):
                if site.call in seen:
                    continue
                seen.add(site.call)
                known = self.logger_of(site)
                if known is not None:
                    found += self._logged(site, known)
            self._look_for_references(module, unit)
        return sorted(found, key=lambda logged: logged.place)

    def is_logger(self, site: CallSite) -> bool:
        """Whether a call logs a mapping."""
        return self.logger_of(site) is not None

    def logger_of(self, site: CallSite) -> KnownCall | None:
        """Returns the known logger that a call is of, ``None`` if it is of none."""
        func = site.call.func
        if isinstance(func, n.Attribute) and func.attr == "remote":
            func = func.base
        if isinstance(func, n.Attribute):
            known = self._known.get(func.attr)
        elif isinstance(func, n.Name):
            known = self._known.get(func.id)
            if known is None:
                known = next((alias for alias, _ in self._aliased(func, site.scope)), None)
        else:
            known = None
        return known if known is not None and not self._is_backend(func, site.scope) else None

    def _is_backend(self, func: n.Expr, scope: Scope) -> bool:
        return any(
            isinstance(entity, External) and entity.name.partition(".")[0] in _BACKENDS
            for entity in self._resolver.of(func, scope)
        )

    def _aliased(self, func: n.Name, scope: Scope) -> Iterator[tuple[KnownCall, n.Call | None]]:
        """The logger that a local name stands for, with the ``partial`` around it."""
        for binding in self._resolver.lookup(func.id, scope)[0]:
            value = binding.value
            around: n.Call | None = None
            if isinstance(value, n.Call) and (n.dotted(value.func) or "").endswith("partial"):
                around, value = value, value.positional(0)
            if isinstance(value, n.Attribute) and value.attr in self._known:
                yield self._known[value.attr], around

    def _implements(self, site: CallSite) -> Function | None:
        """The logger's own method around a call that only hands on what it was given."""
        function = site.function
        while function is not None:
            if function.name in self._known and function.owner is not None:
                taken = {param.name for param in function.node.params.items[1:]}
                handed_on = any(names_in(arg.value) & taken for arg in site.call.args)
                return function if handed_on else None
            function = function.outer
        return None

    # -- what is logged -----------------------------------------------------------------

    def _logged(self, site: CallSite, known: KnownCall) -> Iterator[LoggedMapping]:
        if known.params is None or not known.params.items:
            return
        metrics = known.params.items[0].name
        params = self._parameters(site, known.params, metrics)
        call = self._complete(site)

        def given(frame: Frame) -> Mapping[str, Passed]:
            return bind(call, params, site.scope, site.statement, frame=frame)

        mapping = given(EMPTY).get(metrics)
        if mapping is None:
            return
        seen = self._seen_by(site, lambda frame: self._prefix(given(frame), params), ())
        method = self._implements(site)
        if method is not None:
            # Its callers are logger calls themselves: only what it adds is of interest here.
            nothing = Passed(n.Dict(site.call.at, ()), method)
            names = {param.name: nothing for param in method.node.params.items[1:]}
            seen = iter([(site, EMPTY.entering(method, names))])
        for at, frame in seen:
            prefix = self._prefix(given(frame), params)
            yield LoggedMapping(at, site, prefix, mapping.expr, site.scope, site.statement, frame)

    def _parameters(self, site: CallSite, known: n.Parameters, metrics: str) -> n.Parameters:
        """The parameters of what is called: the project's own definition knows them best."""
        for target in self._finder.called(site):
            if isinstance(target, Function) and target.node.params.named(metrics):
                items = target.node.params.items
                own = items[1 if target.owner is not None else 0 :]
                if target.node.params.named("prefix") is None:
                    # It chooses the prefix itself, in a way that is not looked into.
                    own = (*own, n.Parameter(site.call.at, "prefix", "keyword"))
                return n.Parameters(target.node.params.at, own)
        return known

    def _complete(self, site: CallSite) -> n.Call:
        """The call with the arguments of a ``partial`` around its function."""
        func = site.call.func
        if isinstance(func, n.Name):
            for _, around in self._aliased(func, site.scope):
                if around is not None:
                    args = (*around.args[1:], *site.call.args)
                    ordered = sorted(args, key=lambda arg: arg.keyword is not None)
                    return n.Call(site.call.at, func, tuple(ordered))
        return site.call

    def _prefix(self, given: Mapping[str, Passed], params: n.Parameters) -> Strings:
        passed = given.get("prefix")
        if passed is not None:
            value = self._evaluator.passed(passed)
            return value if value.templates else unknown("the prefix is None")
        param = params.named("prefix")
        if param is None:
            return literal("")
        if isinstance(param.default, n.Const) and isinstance(param.default.value, str):
            return literal(param.default.value)
        return unknown("the prefix is not given")

    # -- wrappers -----------------------------------------------------------------------

    def _seen_by(
        self, site: CallSite, prefix: Callable[[Frame], Strings], chain: Chain
    ) -> Iterator[tuple[CallSite, Frame]]:
        """Yields the calls that decide the prefix: the logger's own, or those of a wrapper."""
        function = site.function
        callers = Callers((), complete=False)
        if function is not None and len(chain) < _DEPTH:
            if function not in {inner for _, inner in chain}:
                if self._decides(function, prefix, chain):
                    callers = self._callers.of(function)
        if function is None or not callers.sites:
            yield site, self._frame(chain, EMPTY)
            return
        if not callers.complete:
            anything = {p.name: Passed(None, function) for p in function.node.params.items}
            yield site, self._frame(chain, EMPTY.entering(function, anything))
        for caller in callers.sites:
            yield from self._seen_by(caller, prefix, ((caller, function), *chain))

    def _frame(self, chain: Chain, frame: Frame) -> Frame:
        for site, function in chain:
            frame = frame.entering(function, self._evaluator.bound(site, function, frame))
        return frame

    def _decides(
        self, function: Function, prefix: Callable[[Frame], Strings], chain: Chain
    ) -> bool:
        """Whether a parameter of a function decides the prefix."""
        used: list[bool] = []
        probe = Passed(None, function, on_use=lambda: used.append(True))
        params = {param.name: probe for param in function.node.params.items}
        prefix(self._frame(chain, EMPTY.entering(function, params)))
        return bool(used)

    # -- loggers that are not called ----------------------------------------------------

    def _look_for_references(self, module: Module, unit: Unit) -> None:
        """Notes where a logger's method is handed on, as a callback for example."""
        for scope, statement in self._uses.statements(module, unit):
            for name in self._known:
                for use in _references(name, scope, statement):
                    parent = self._uses.parent(use.node, statement)
                    if isinstance(parent, n.Call) and parent.func is use.node:
                        continue
                    if isinstance(parent, n.Attribute):  # log.remote(...), log.__doc__
                        continue
                    if self._is_alias(use, parent):
                        continue
                    self.handed_on.append(scope.place(use.node))

    def _is_alias(self, use: Use, parent: n.Node) -> bool:
        """``log = logger.log_metrics``, also in ``partial``: its calls are looked at."""
        if isinstance(parent, n.Arg):
            parent = self._uses.parent(parent, use.statement)
            func = n.dotted(parent.func) if isinstance(parent, n.Call) else ""
            if func == "hasattr":
                return True
            if not (func or "").endswith("partial"):
                return False
            parent = self._uses.parent(parent, use.statement)
        return isinstance(parent, n.Assign) and all(
            isinstance(target, n.Name) for target in parent.targets
        )


def _references(name: str, scope: Scope, statement: n.Stmt) -> Iterator[Use]:
    if isinstance(statement, n.ClassDef):
        return
    for node in n.own_nodes(statement):
        named = isinstance(node, n.Const) and node.value == name
        if named or (isinstance(node, n.Attribute) and node.attr == name):
            yield Use(node, scope, statement)
