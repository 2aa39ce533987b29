"""Where spans are opened: sites of known helpers, and of helpers that the code defines itself.

A function that forwards a parameter into a span's name or group is a span helper too: its sites
are its calls, to any depth. It may hand the span to its caller (a context manager, a function
that returns the span's context, a decorator factory) or open and end it on its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from rltel_lint.facts import nodes as n
from rltel_lint.findings import Place
from rltel_lint.project.binding import EMPTY, Frame, Passed
from rltel_lint.project.calls import CallFinder, CallSite, choices
from rltel_lint.project.evaluate import Evaluator
from rltel_lint.project.model import Function, Scope
from rltel_lint.project.resolve import External, Instance, Partial, Resolver
from rltel_lint.values import Strings, concat, literal, unknown
from rltel_lint.vocabulary.model import KnownCall, SpanHelper, Use, Vocabulary, means

_DEPTH = 6

_MOST = 20_000
"""So many calls of helpers are looked into; only mutual recursion could ask for more."""

Path = tuple[n.Call, ...]
"""The calls from the vocabulary's helper outwards."""


@dataclass(eq=False)
class SpanSite:
    """One place that opens spans.

    Attributes:
        at: The call.
        helper: The vocabulary's helper at the bottom.
        use: How the span lives, as seen from this call; ``None`` if within the call.
        via: The project's own helpers between this call and the vocabulary's, nearest first.
        names: Evaluates the span's names, for arguments of the functions around.
        groups: Evaluates the span's group; ``None`` for a helper without one.
        group_argument: The group as written at this call, where it is an argument of it.
    """

    at: CallSite
    helper: SpanHelper
    use: Use | None
    via: tuple[Function, ...]
    evaluate_name: Callable[[Frame], Strings]
    evaluate_group: Callable[[Frame], Strings] | None
    group_argument: n.Expr | None = None

    @cached_property
    def name(self) -> Strings:
        """What the span may be called."""
        return self.evaluate_name(EMPTY)

    @cached_property
    def group(self) -> Strings | None:
        """The group that gates the span; ``None`` for a helper without groups."""
        return self.evaluate_group(EMPTY) if self.evaluate_group else None

    @property
    def place(self) -> Place:
        """Where the call stands."""
        return self.at.place

    @property
    def function(self) -> Function | None:
        """The function around the call."""
        return self.at.function

    def attribute_keys(self) -> Iterator[str]:
        """Yields the attributes given at the call under literal keys, dotted ones too."""
        taken = {param.name for param in self.helper.params.items}
        for function in self.via:
            taken |= {param.name for param in function.node.params.items}
        for arg in self.at.call.args:
            if arg.keyword is not None and arg.keyword not in taken:
                yield arg.keyword
            if arg.star == "**" and isinstance(arg.value, n.Dict):
                for key, _ in arg.value.items:
                    if isinstance(key, n.Const) and isinstance(key.value, str):
                        yield key.value


@dataclass(eq=False)
class Spans:
    """All span sites of a project.

    Attributes:
        sites: The sites, sorted by place.
        inner: The calls inside the project's own span helpers.
        unseen: The same calls as they are when a helper is called where no call is seen, so that
            any name may come out.
        helpers: The project's own span helpers and how each hands on its span; ``None`` for one
            that opens and ends the span on its own.
    """

    sites: list[SpanSite] = field(default_factory=list)
    inner: list[SpanSite] = field(default_factory=list)
    unseen: list[SpanSite] = field(default_factory=list)
    helpers: dict[Function, Use | None] = field(default_factory=dict)

    def opening(self) -> Iterator[SpanSite]:
        """Yields the sites at which a span really opens, in the function that they stand in."""
        yield from (site for site in self.sites if site.use is not None)
        for site in self.inner:
            if site.function is not None and self.helpers.get(site.function, "") is None:
                yield site


class SpanFinder:
    """Finds the span sites of a project.

    Args:
        vocabulary: What the names mean.
        resolver: Resolves names.
        finder: Finds calls.
        evaluator: Evaluates names and groups.
    """

    def __init__(
        self, vocabulary: Vocabulary, resolver: Resolver, finder: CallFinder, evaluator: Evaluator
    ) -> None:
        self._vocabulary = vocabulary
        self._resolver = resolver
        self._finder = finder
        self._evaluator = evaluator
        self._by_name: dict[str, list[SpanHelper]] = {}
        for helper in vocabulary.helpers:
            self._by_name.setdefault(helper.name, []).append(helper)

    def find(self) -> Spans:
        """Returns all span sites."""
        spans = Spans()
        todo: list[tuple[SpanSite, Path]] = [(site, ()) for site in self._known_sites()]
        while todo:
            site, inside = todo.pop()
            if site.at.call in inside:  # a helper that calls itself
                spans.unseen.append(site)
                continue
            path = (*inside, site.at.call)
            deep = len(path) > _DEPTH or len(spans.inner) > _MOST
            forwarding = None if deep else self._forwarding(site)
            callers = self._finder.callers(forwarding[0]) if forwarding else []
            if forwarding and callers:
                function, use = forwarding
                spans.helpers[function] = use
                spans.inner.append(site)
                todo += [(self._through(site, function, use, call), path) for call in callers]
                if self._finder.escapes(function):
                    spans.unseen.append(_called_unseen(site, function))
            else:
                spans.sites.append(site)
        spans.sites.sort(key=lambda site: site.place)
        return spans

    # -- known helpers ------------------------------------------------------------------

    def _known_sites(self) -> Iterator[SpanSite]:
        for site in self._finder.named(self._by_name):
            if not self.implements(f"{site.scope.module.name}."):
                helper = self.helper_of(site)
                if helper is not None:
                    yield self._site(site, helper)

    def implements(self, dotted: str) -> bool:
        """Whether a module of the project is part of the library that the vocabulary knows."""
        return any(
            dotted.startswith(f"{prefix}.")
            for helper in self._vocabulary.helpers
            for prefix in helper.modules
        )

    def helper_of(self, site: CallSite) -> SpanHelper | None:
        """Returns the vocabulary's helper that a call uses, ``None`` if it uses none."""
        func = site.call.func
        entities = self._resolver.of(func, site.scope)
        found = {
            helper.name: helper for entity in entities for helper in self._helpers_named(entity)
        }
        if not found and isinstance(func, n.Attribute):
            if not any(isinstance(entity, Function) for entity in entities):
                for helper in self._by_name.get(func.attr, ()):
                    if helper.receiver and self._receives(func.base, site, helper.receiver):
                        return helper
        if not found:
            return None
        helper = found[min(found)]
        if len({one.kind for one in found.values()}) > 1:
            helper = replace(helper, kind="either")  # which one runs is decided at run time
        return helper

    def _helpers_named(self, entity: object) -> Iterator[SpanHelper]:
        dotted = _dotted(entity.target if isinstance(entity, Partial) else entity)
        for helper in self._by_name.get(dotted.rpartition(".")[2], ()):
            if means(dotted, helper.name, helper.modules):
                yield helper

    def _receives(self, base: n.Expr, site: CallSite, word: str) -> bool:
        """Whether an object is of a class, comes from a function or is spelled with the word."""
        for entity in self._resolver.of(base, site.scope):
            made = entity.cls if isinstance(entity, Instance) else entity
            if isinstance(made, External) and word in made.name.lower():
                return True
        if isinstance(base, n.Call):
            base = base.func
        last = base.attr if isinstance(base, n.Attribute) else n.dotted(base) or ""
        return word in last.lower()

    def _site(self, at: CallSite, helper: SpanHelper) -> SpanSite:
        def template(text: str) -> Callable[[Frame], Strings]:
            return lambda frame: self._fill(text, at, helper, frame)

        group = helper.group
        argument = None
        if group is not None and group.startswith("{"):
            given = self._finder.arguments(at, helper.params).get(group[1:-1])
            argument = given.expr if given else None
        return SpanSite(
            at,
            helper,
            helper.use,
            (),
            template(helper.span),
            template(group) if group is not None else None,
            argument,
        )

    def _fill(self, template: str, at: CallSite, helper: SpanHelper, frame: Frame) -> Strings:
        given = self._finder.arguments(at, helper.params, frame=frame)
        return fill(template, helper.params, given, self._evaluator)

    # -- the project's own helpers ------------------------------------------------------

    def _forwarding(self, site: SpanSite) -> tuple[Function, Use | None] | None:
        """The function that hands a site's span on, if a parameter of it decides the span."""
        for function, use in _handed_on(site):
            if _depends(site, function):
                return function, use
        if site.function is not None and _depends(site, site.function):
            return site.function, None
        return None

    def _through(
        self, inner: SpanSite, function: Function, use: Use | None, call: CallSite
    ) -> SpanSite:
        """The site of a call of a helper that the project defines."""
        evaluator = self._evaluator

        def entered(frame: Frame) -> Frame:
            return frame.entering(function, evaluator.bound(call, function, frame))

        group = inner.evaluate_group
        return SpanSite(
            call,
            inner.helper,
            use,
            (function, *inner.via),
            lambda frame: inner.evaluate_name(entered(frame)),
            (lambda frame: group(entered(frame))) if group is not None else None,
            self._forwarded_argument(inner, function, call),
        )

    def _forwarded_argument(
        self, inner: SpanSite, function: Function, call: CallSite
    ) -> n.Expr | None:
        argument = inner.group_argument
        if isinstance(argument, n.Name):
            given: Mapping[str, Passed] = self._evaluator.bound(call, function)
            passed = given.get(argument.id)
            if passed is not None and function.node.params.named(argument.id):
                return passed.expr
        return None


def _dotted(entity: object) -> str:
    if isinstance(entity, External):
        return entity.name
    return entity.qualified if isinstance(entity, Function) else ""


def _called_unseen(site: SpanSite, function: Function) -> SpanSite:
    reason = f"{function.label} may also be called where no call is seen"
    params = {p.name: Passed(None, function, reason=reason) for p in function.node.params.items}
    group = site.evaluate_group
    return replace(
        site,
        evaluate_name=lambda frame: site.evaluate_name(frame.entering(function, params)),
        evaluate_group=(lambda frame: group(frame.entering(function, params))) if group else None,
    )


def fill(
    template: str, params: n.Parameters, given: Mapping[str, Passed], evaluator: Evaluator
) -> Strings:
    """Fills a vocabulary template (``rl.setup.{phase}``) with the arguments of a call."""
    parts: list[Strings] = []
    for place, text in enumerate(template.split("{")):
        head, closed, tail = text.partition("}")
        if place == 0 or not closed:
            parts.append(literal(text))
            continue
        name, _, change = head.partition("|")
        value = _argument(name, params, given, evaluator)
        if change == "dots":
            value = value.map_text(lambda part: part.replace("/", "."))
        parts += [value, literal(tail)]
    return concat(parts)


def _argument(
    name: str, params: n.Parameters, given: Mapping[str, Passed], evaluator: Evaluator
) -> Strings:
    passed = given.get(name)
    if passed is not None:
        return evaluator.passed(passed)
    param = params.named(name)
    default = param.default if param is not None else None
    if isinstance(default, n.Const) and isinstance(default.value, str):
        return literal(default.value)
    return unknown(f"{name} is not passed")


def _depends(site: SpanSite, function: Function) -> bool:
    """Whether a parameter of the function decides a site's name or group."""
    used: list[bool] = []
    probe = Passed(None, function, on_use=lambda: used.append(True))
    params = {param.name: probe for param in function.node.params.items}
    frame = EMPTY.entering(function, params)
    site.evaluate_name(frame)
    if site.evaluate_group is not None:
        site.evaluate_group(frame)
    return bool(used)


def _handed_on(site: SpanSite) -> Iterator[tuple[Function, Use]]:
    """Yields the functions around a site that hand its span to their caller."""
    function = site.function
    if function is None:
        return
    if is_context_manager(function) and site.use in {"context", "start", "stream"}:
        yield function, "context"
    elif site.use is not None and _returns(function, site):
        yield function, site.use
    outer, inner = function.outer, function
    while outer is not None:
        if _returns_function(outer, inner):
            yield outer, "decorator"
        inner, outer = outer, outer.outer


def is_context_manager(function: Function) -> bool:
    """Whether a generator function is made a context manager by its decorator."""
    return any(
        (n.dotted(decorator) or "").rpartition(".")[2] in {"contextmanager", "asynccontextmanager"}
        for decorator in function.node.decorators
    )


def _returns(function: Function, site: SpanSite) -> bool:
    for statement in function.paths:
        if isinstance(statement, n.Return) and statement.value is not None:
            for value in choices(statement.value):
                if value is site.at.call:
                    return True
                if isinstance(value, n.Name) and any(
                    binding.value is not None and site.at.call in set(choices(binding.value))
                    for binding in function.bindings_of(value.id)
                ):
                    return True
    return False


def _returns_function(outer: Function, inner: Function) -> bool:
    return any(
        isinstance(statement, n.Return)
        and statement.value is not None
        and any(
            isinstance(node, n.Name) and node.id == inner.name for node in n.walk(statement.value)
        )
        for statement in outer.paths
    )


def written_groups(site: SpanSite) -> tuple[str, ...]:
    """Returns the group of a site; both where the argument itself is a choice between two.

    A choice made elsewhere, in a variable or by callers, may go with other choices at the call.
    """
    if site.group is None or not site.group.known:
        return ()
    is_choice = isinstance(site.group_argument, n.Conditional)
    return site.group.literals if is_choice or site.group.exact is not None else ()


def call_means(site: CallSite, known: Iterable[KnownCall], resolver: Resolver) -> KnownCall | None:
    """Returns the known call that a call is, by resolved name, or by bare method name."""
    func = site.call.func
    last = func.attr if isinstance(func, n.Attribute) else n.dotted(func)
    for candidate in known:
        if not candidate.modules and candidate.name == last:
            return candidate
    return expr_means(func, site.scope, known, resolver)


def expr_means(
    expr: n.Expr, scope: Scope, known: Iterable[KnownCall], resolver: Resolver
) -> KnownCall | None:
    """Returns the known function that an expression refers to."""
    for entity in resolver.of(expr, scope):
        dotted = entity.name if isinstance(entity, External) else getattr(entity, "qualified", "")
        for candidate in known:
            if candidate.modules and means(dotted, candidate.name, candidate.modules):
                return candidate
    return None
