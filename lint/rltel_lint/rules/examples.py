"""Python in documents: it must agree with the code that it shows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property

from rltel_lint.facts import nodes as n
from rltel_lint.findings import Finding, Place
from rltel_lint.project.binding import Passed, bind
from rltel_lint.project.calls import CallSite
from rltel_lint.project.citations import is_generated
from rltel_lint.project.fences import Page
from rltel_lint.project.linked import Project
from rltel_lint.project.model import Class, Function, Module
from rltel_lint.project.resolve import External
from rltel_lint.project.spans import SpanSite, fill
from rltel_lint.rules.base import Rule
from rltel_lint.rules.wording import nearest, quoted, shown
from rltel_lint.values import HOLE, Strings
from rltel_lint.vocabulary.model import SpanHelper, means

_INVENTED = re.compile(
    r"(?:^|[._])(?:my|your|foo|bar|baz|some|new|xxx|example)(?:[._]|$)|^(?:my|your)", re.IGNORECASE
)
_Found = tuple[Place, str, list[tuple[Place, str]]]
_TAIL = 5
_KINDS = {"umbrella": "umbrella groups", "leaf": "leaf groups"}


class ExampleDisagrees(Rule):
    """People copy examples. One that opens a span under another group than the code does, calls a
    function with arguments that it does not take, or imports what is not there any more, spreads
    the mistake, or fails on the first try.

    Correct the example. Only fenced Python that parses is read; names made up for the example
    (`my_...`, `your_...`), calls with `...` in them, and blocks that are said to be wrong or old
    are left alone.
    """

    code = "RLT901"
    name = "example-disagrees"
    summary = "a fenced example disagrees with the code"
    bad = """
        --- train.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def score():
            with managed_span(RLSpanGroup.REWARD, "rl.grpo.reward"):
                ...
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.reward` | scoring |

        ```python
        with managed_span(RLSpanGroup.GENERATION, "rl.grpo.reward"):  # <- RLT901
            ...
        ```
    """
    good = """
        --- train.py
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def score():
            with managed_span(RLSpanGroup.REWARD, "rl.grpo.reward"):
                ...
        --- docs/spans.md
        | Span | What it covers |
        |---|---|
        | `rl.grpo.reward` | scoring |

        ```python
        with managed_span(RLSpanGroup.REWARD, "rl.grpo.reward"):
            ...
        ```
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each import, call or span that the code contradicts."""
        reader = _Reader(project)
        for page in project.fences.pages:
            found = [*self._imports(project, page), *self._calls(project, page, reader)]
            seen: set[tuple[Place, str]] = set()
            for place, message, related in found:
                at = page.place(place)
                if (at, message) not in seen:
                    seen.add((at, message))
                    yield self.finding(at, message, related)

    # -- imports ------------------------------------------------------------------------

    def _imports(self, project: Project, page: Page) -> Iterator[_Found]:
        for unit in page.module.facts.units_with("import"):
            for statement in unit.statements:
                for node in n.walk(statement):
                    if isinstance(node, n.Import) and node.module and not node.level:
                        yield from self._import(project, page, node)

    def _import(self, project: Project, page: Page, node: n.Import) -> Iterator[_Found]:
        name = node.module or ""
        source = project.resolver.imported_module(node, page.module)
        place = page.module.place(node)
        if isinstance(source, Module):
            for original, _ in node.names:
                if original == "*" or _INVENTED.search(original):
                    continue
                inside = f"{source.name}.{original}"
                if project.citations.has(source, original) or project.modules.named(inside):
                    continue
                near = nearest(original, source.facts.bound)
                hint = f'did you mean "{near}"?' if near else "correct the example"
                yield (
                    place,
                    f'the example imports "{original}", which {name} does not have; {hint}',
                    [(Place(source.path), f"{name} is this file")],
                )
            return
        if name.partition(".")[0] not in project.citations.packages or _INVENTED.search(name):
            return
        missing = project.citations.missing(name)
        if missing is None or name.replace(".", "/") in page.text:
            return  # a file that the page says to create
        near = nearest(missing.part, missing.candidates)
        if missing.found == name.partition(".")[0] and not near:
            return  # another distribution may have a part of the same package
        hint = f'did you mean "{near}"?' if near else "correct the example"
        said = f'the example imports {name}, but {missing.found} has no "{missing.part}"; {hint}'
        yield place, said, []

    # -- calls --------------------------------------------------------------------------

    def _calls(self, project: Project, page: Page, reader: _Reader) -> Iterator[_Found]:
        for site in project.fences.calls(page):
            if any(_is_open(arg.value) for arg in site.call.args):
                continue
            yield from self._arguments(project, page, site)
            yield from self._span(project, site, reader)

    def _arguments(self, project: Project, page: Page, site: CallSite) -> Iterator[_Found]:
        targets = list(project.resolver.of(site.call.func, site.scope))
        if len(targets) != 1 or any(arg.star for arg in site.call.args):
            return
        target = targets[0]
        skip = 0
        if isinstance(target, Class):
            init = target.methods_named("__init__")
            if len(init) != 1 or target.node.decorators or any(target.node.bases):
                return
            target, skip = init[0], 1
        elif not isinstance(target, Function) or target.owner is not None:
            return
        if target.module is page.module or is_generated(target):
            return
        params = target.node.params.items[skip:]
        kinds = {param.kind for param in params}
        where = [(target.place(target.node), f"{target.label} is defined here")]
        names = {param.name for param in params if param.kind in {"either", "keyword"}}
        for arg in site.call.args:
            if arg.keyword and arg.keyword not in names and "**" not in kinds:
                near = nearest(arg.keyword, names)
                hint = f'did you mean "{near}"?' if near else "correct the example"
                yield (
                    site.scope.place(arg),
                    f'the example passes "{arg.keyword}" to {target.label}, which takes no such '
                    f"argument; {hint}",
                    where,
                )
        given = sum(arg.keyword is None for arg in site.call.args)
        taken = sum(param.kind in {"positional", "either"} for param in params)
        if given > taken and "*" not in kinds:
            yield (
                site.place,
                f"the example passes {given} arguments by position to {target.label}, which takes "
                f"{taken}; correct the example",
                where,
            )

    def _span(self, project: Project, site: CallSite, reader: _Reader) -> Iterator[_Found]:
        opened = reader.span(site)
        if opened is None:
            return
        name, group, kind = opened
        unknown = reader.unknown_constant(site)
        if unknown is not None:
            constant, near = unknown
            hint = f"did you mean {near}?" if near else "correct the example"
            yield site.place, f"the example uses {constant}, which is no group; {hint}", []
        groups = project.groups
        if kind == "umbrella" and group in groups.names - groups.umbrellas:
            yield (
                site.place,
                f'the example opens leaf group "{group}" with a helper for {_KINDS[kind]}; '
                "use the leaf helper",
                [],
            )
        elif kind == "leaf" and group in groups.umbrellas:
            yield (
                site.place,
                f'the example opens umbrella group "{group}" with a helper for {_KINDS[kind]}; '
                "use the umbrella helper",
                [],
            )
        real = reader.opening(name)
        known = {one.group.exact for one in real if one.group is not None}
        if group and real and None not in known and group not in known:
            yield (
                site.place,
                f'the example opens "{shown(name)}" under group "{group}", but the code opens it '
                f"under {quoted(sorted(filter(None, known)))}; correct the example",
                [(one.place, f'"{shown(name)}" is opened here') for one in real[:3]],
            )


class _Reader:
    """Reads the spans of examples, also where the example leaves its imports out."""

    def __init__(self, project: Project) -> None:
        self._project = project

    @cached_property
    def sites(self) -> dict[str, list[SpanSite]]:
        """The code's span sites by exact name."""
        found: dict[str, list[SpanSite]] = {}
        for site in self._project.spans.sites:
            for name in site.name.literals:
                found.setdefault(name, []).append(site)
        return found

    def opening(self, name: str) -> list[SpanSite]:
        """The code's sites that open a name, or surely what a name with holes stands for."""
        if HOLE not in name:
            return self.sites.get(name, [])
        tail = name.rpartition(HOLE)[2]
        if name.count(HOLE) != 1 or len(tail.strip(".")) < _TAIL:
            return []
        head = name.partition(HOLE)[0]
        return [
            site
            for site in self._project.spans.sites
            if site.name.templates
            and all(t.startswith(head) and t.endswith(tail) for t in site.name.templates)
        ]

    def unknown_constant(self, site: CallSite) -> tuple[str, str] | None:
        """A constant of a group class that does not exist, with one that is like it."""
        for arg in site.call.args:
            value = arg.value
            if not isinstance(value, n.Attribute) or not value.attr.isupper():
                continue
            owner = (n.dotted(value.base) or "").rpartition(".")[2]
            values: set[str] = set()
            for cls in self._project.groups.classes:
                if cls.name == owner:
                    if self._project.citations.may_have(cls, value.attr):
                        return None
                    values |= set(cls.member_names)
            for known in self._project.vocabulary.group_classes:
                if known.name == owner:
                    values |= set(known.values)
            if values and value.attr not in values and not _INVENTED.search(value.attr):
                near = nearest(value.attr, {v for v in values if v.isupper()})
                return (f"{owner}.{value.attr}", f"{owner}.{near}" if near else "")
        return None

    @cached_property
    def _kinds(self) -> dict[Function, str]:
        """What the project's own helpers are for."""
        spans = self._project.spans
        return {function: site.helper.kind for site in spans.sites for function in site.via}

    def span(self, site: CallSite) -> tuple[str, str, str] | None:
        """Returns name, group and kind of helper of the span that a call opens."""
        helper = self._helper(site)
        if helper is not None:
            given = bind(site.call, helper.params, site.scope, site.statement)
            evaluator = self._project.evaluator
            name = _only(fill(helper.span, helper.params, given, evaluator))
            group = self._group(helper.group or "", helper.params, given)
            return (name, group, helper.kind)
        function = self._own(site)
        if function is None:
            return None
        given = bind(site.call, function.node.params, site.scope, site.statement)
        passed = given.get("name") or given.get("span_name")
        known = passed is not None and passed.expr is not None
        name = _only(self._project.evaluator.passed(passed)) if known and passed else ""
        return (name, self._of_group(given.get("group")), self._kinds.get(function, ""))

    def _helper(self, site: CallSite) -> SpanHelper | None:
        known = self._project.vocabulary.helpers
        func = site.call.func
        entities = list(self._project.resolver.of(func, site.scope))
        if isinstance(func, n.Name) and self._is_free(func, site):
            if self._by_name(func.id) is not None:
                return None
            return next((one for one in known if one.name == func.id and one.modules), None)
        for entity in entities:
            dotted = entity.name if isinstance(entity, External) else ""
            if isinstance(entity, Function):
                dotted = entity.qualified
            for helper in known:
                if helper.modules and means(dotted, helper.name, helper.modules):
                    return helper
        return None

    def _own(self, site: CallSite) -> Function | None:
        func = site.call.func
        found = [
            entity
            for entity in self._project.resolver.of(func, site.scope)
            if isinstance(entity, Function)
        ]
        if not found and isinstance(func, n.Name) and self._is_free(func, site):
            one = self._by_name(func.id)
            found = [one] if one is not None else []
        return next((one for one in found if one in self._project.spans.helpers), None)

    def _is_free(self, name: n.Name, site: CallSite) -> bool:
        return self._project.resolver.lookup(name.id, site.scope)[1] is None

    def _by_name(self, name: str) -> Function | None:
        """The project's only span helper of a name."""
        found = [one for one in self._project.spans.helpers if one.name == name]
        return found[0] if len(found) == 1 else None

    def _group(self, template: str, params: n.Parameters, given: Mapping[str, Passed]) -> str:
        if template.startswith("{"):
            return self._of_group(given.get(template[1:-1]))
        return template

    def _of_group(self, passed: Passed | None) -> str:
        text = self._text(passed)
        expr = passed.expr if passed is not None else None
        if text or not isinstance(expr, n.Attribute):
            return text
        owner = (n.dotted(expr.base) or "").rpartition(".")[2]
        for cls in self._project.groups.classes:
            if cls.name == owner:
                return self._project.evaluator.attribute_of(cls, expr.attr).exact or ""
        for known in self._project.vocabulary.group_classes:
            if known.name == owner and expr.attr in known.values:
                return known.values[expr.attr]
        return ""

    def _text(self, passed: Passed | None) -> str:
        if passed is None or passed.expr is None:
            return ""
        return self._project.evaluator.passed(passed).exact or ""


def _only(value: Strings) -> str:
    """The one template of a name; empty for several, or for one of which nothing is known."""
    (first,) = value.templates if len(value.templates) == 1 else ("",)
    return first if first.strip(HOLE) else ""


def _is_open(expr: n.Expr) -> bool:
    """Whether an argument is ``...``: the example leaves something out."""
    return isinstance(expr, n.Other) and not expr.children
