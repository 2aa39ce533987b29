"""Efficiency categories: declared, measured, and restated the same everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rltel_lint.facts import nodes as n
from rltel_lint.findings import Finding, Place
from rltel_lint.project.categories import Categories, Entry
from rltel_lint.project.linked import Project
from rltel_lint.project.literals import Literal
from rltel_lint.rules.base import Rule
from rltel_lint.rules.offers import take_out
from rltel_lint.rules.wording import listed, nearest, quoted

_CHOSEN = re.compile(
    r"\b(?:except|without|exclud\w*|omit\w*|skip\w*|not|only|but|subset|leav\w*|left)\b",
    re.IGNORECASE,
)
"""What a comment says of a list that leaves something out on purpose."""
_SHARED = 0.6
"""So much of two lists must be the same for one to be a copy of the other."""


class UndeclaredCategory(Rule):
    """The summary, the buckets and the metrics go through the declared categories. A wait that
    is timed under another name is in none of them: its time is counted as productive.

    Declare the category, or use the declared name. The category may be given to an efficiency
    helper or to a timer (`time`, `record`, `reduce`, `start`, `stop`).
    """

    code = "RLT601"
    name = "undeclared-category"
    summary = "an efficiency category is measured, but not declared"
    bad = """
        --- categories.py
        WALL_CLOCK_EFFICIENCY_CATEGORIES = ["idle/refit_bubble"]
        --- train.py
        def refit(timer):
            with timer.time("idle/refit_buble"):  # <- RLT601
                ...
            with timer.time("idle/refit_bubble"):
                ...
    """
    good = """
        --- categories.py
        WALL_CLOCK_EFFICIENCY_CATEGORIES = ["idle/refit_bubble"]
        --- train.py
        def refit(timer):
            with timer.time("idle/refit_bubble"):
                ...
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each measured category that no table declares."""
        categories = project.categories
        declared = categories.declared
        if declared is None:
            return
        families = project.vocabulary.categories.families
        helpers = {helper.name for helper in project.vocabulary.helpers}
        for measured in categories.measured:
            name = measured.name
            if name in declared or "/" not in name:
                continue
            near = nearest(name, declared)
            # A timer may have keys of its own under a word that one category starts with.
            if not name.startswith(families) and measured.by not in helpers and not near:
                continue
            tables = listed(dict.fromkeys(table.name for table in categories.declaring))
            where = f"in {tables}" if tables else "as a category of the project"
            remedy = f'did you mean "{near}"?' if near else f"declare it {where}"
            yield self.finding(
                measured.place,
                f'category "{name}" is measured by {measured.by}, but declared nowhere; {remedy}',
                _declared_at(categories),
            )
        yield from self._misspelt(project, categories, declared)

    def _misspelt(
        self, project: Project, categories: Categories, declared: frozenset[str]
    ) -> Iterator[Finding]:
        """Keys of mappings that seconds are summed up in, as ``seconds["idle/x"] += s``."""
        reported = {measured.place for measured in categories.measured}
        for literal in categories.literals:
            name = literal.value
            if literal.inert or name in declared or literal.place in reported:
                continue
            near = nearest(name, declared, 0.9)
            if near is None or not isinstance(literal.around[0], (n.Subscript, n.Dict)):
                continue
            yield self.finding(
                literal.place,
                f'category "{name}" is added up here, but declared nowhere; did you mean "{near}"?',
                _declared_at(categories),
            )


class UnmeasuredCategory(Rule):
    """A category that nothing measures is a row of zeros in every summary: it reads as if that
    wait never happened.

    Measure it, or take it out of the list.
    """

    code = "RLT602"
    name = "unmeasured-category"
    summary = "an efficiency category is declared, but nothing measures it"
    bad = """
        --- categories.py
        WALL_CLOCK_EFFICIENCY_CATEGORIES = [
            "idle/refit_bubble",
            "idle/validation",  # <- RLT602
        ]
        --- train.py
        def refit(timer):
            with timer.time("idle/refit_bubble"):
                ...
    """
    good = """
        --- categories.py
        WALL_CLOCK_EFFICIENCY_CATEGORIES = [
            "idle/refit_bubble",
            "idle/validation",
        ]
        --- train.py
        def refit(timer):
            with timer.time("idle/refit_bubble"):
                ...
            with timer.time("idle/validation"):
                ...
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each declared category without a measurement."""
        categories = project.categories
        seen: set[str] = set()
        for table in categories.declaring:
            for entry in () if table.library else table.entries:
                if entry.name in seen or categories.may_be_measured(entry.name):
                    continue
                if project.documents.is_reserved(entry.name) or not categories.measured:
                    continue
                seen.add(entry.name)
                undeclared = {one.name for one in categories.measured} - set(
                    categories.declared or ()
                )
                near = nearest(entry.name, undeclared)
                remedy = (
                    f'did you mean "{near}"?' if near else "measure it or take it out of the list"
                )
                yield self.finding(
                    entry.place,
                    f'category "{entry.name}" is declared in {table.name}, but nothing measures '
                    f"it; {remedy}",
                    fix=take_out(entry.place, f'"{entry.name}"', safe=False),
                )


class CategoriesRestated(Rule):
    """Where a list is written down a second time, the copies drift apart: a category added to one
    is missing from the other, and no error says so.

    Derive one from the other, or make them the same again. Looked at are a second definition
    under the same name (of a list of umbrella groups too), the mapping from category to bucket,
    sets that pick some categories, literal copies of a list, and what the documents list.
    """

    code = "RLT603"
    name = "categories-restated"
    summary = "a list of categories is restated elsewhere and differs"
    bad = """
        --- categories.py
        WALL_CLOCK_EFFICIENCY_CATEGORIES = ["idle/refit_bubble", "idle/validation"]
        EFFICIENCY_CATEGORY_BUCKET = {  # <- RLT603
            "idle/refit_bubble": "idle",
        }
    """
    good = """
        --- categories.py
        WALL_CLOCK_EFFICIENCY_CATEGORIES = ["idle/refit_bubble", "idle/validation"]
        EFFICIENCY_CATEGORY_BUCKET = {
            "idle/refit_bubble": "idle",
            "idle/validation": "idle",
        }
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each copy that differs from what it restates."""
        categories = project.categories
        yield from self._same_name(categories)
        yield from self._maps(project, categories)
        declared = categories.declared
        if declared is None:
            return
        for table in categories.of(project.vocabulary.categories.subsets):
            for entry in table.entries if table.literal else ():
                if entry.name not in declared:
                    near = nearest(entry.name, declared)
                    hint = f'did you mean "{near}"?' if near else "declare it or take it out"
                    yield self.finding(
                        entry.place,
                        f'{table.name} names category "{entry.name}", which is declared nowhere; '
                        f"{hint}",
                        _declared_at(categories),
                    )
        yield from self._copies(project, categories, declared)
        yield from self._documented(project, categories, declared)

    def _same_name(self, categories: Categories) -> Iterator[Finding]:
        for tables in (*categories.tables.values(), *categories.umbrella_sets.values()):
            written = [table for table in tables if table.complete and table.entries]
            for table in written[1:]:
                first = written[0]
                if table.names != first.names and not (first.library or table.library):
                    yield self.finding(
                        table.place,
                        f"{table.name} differs from {first.name} in {first.place.path}"
                        f"{_difference(table.names, first.names)}; derive one from the other",
                        [(first.place, f"{first.name} is defined here")],
                    )

    def _maps(self, project: Project, categories: Categories) -> Iterator[Finding]:
        lists = [t for t in categories.of(project.vocabulary.categories.lists) if not t.library]
        if not lists or not all(table.complete for table in lists):
            return
        names = frozenset(name for table in lists for name in table.names)
        joined = listed(dict.fromkeys(table.name for table in lists))
        for table in categories.of(project.vocabulary.categories.maps):
            if not table.complete or table.library:
                continue
            extra = [entry for entry in table.entries if entry.name not in names]
            for entry in extra:
                near = nearest(entry.name, names - table.names)
                hint = f'did you mean "{near}"?' if near else "add it there or take it out"
                yield self.finding(
                    entry.place,
                    f'{table.name} has category "{entry.name}", which is not in {joined}; {hint}',
                    [(one.place, f"{one.name} is defined here") for one in lists],
                )
            missing = sorted(names - table.names)
            explained = {nearest(entry.name, names - table.names) for entry in extra}
            missing = [name for name in missing if name not in explained]
            if missing:
                yield self.finding(
                    table.place,
                    f"{table.name} lacks {quoted(missing)}, which {joined} declares; "
                    f"add {'it' if len(missing) == 1 else 'them'}",
                    [(one.place, f"{one.name} is defined here") for one in lists],
                )

    def _copies(
        self, project: Project, categories: Categories, declared: frozenset[str]
    ) -> Iterator[Finding]:
        """Literal copies of a list under other names: at least three of its categories."""
        seen: set[n.Node] = set()
        for literal in categories.literals:
            holder = literal.around[0]
            if not isinstance(holder, (n.Sequence, n.Dict)) or holder in seen:
                continue
            seen.add(holder)
            parts = (
                holder.elements
                if isinstance(holder, n.Sequence)
                else tuple(key for key, _ in holder.items if key is not None)
            )
            values = [(p, p.value) for p in parts if isinstance(p, n.Const)]
            names = [value for _, value in values if isinstance(value, str)]
            if len(names) != len(parts) or len(set(names) & declared) < 3:
                continue
            unknown = [(p, v) for p, v in values if isinstance(v, str) and v not in declared]
            if not unknown:
                yield from self._shortened(project, categories, literal, holder, names)
                continue
            if len(unknown) / len(names) > 1 - _SHARED:
                continue
            for part, value in unknown:
                near = nearest(value, declared - set(names))
                hint = f'did you mean "{near}"?' if near else "declare it or take it out"
                yield self.finding(
                    literal.scope.place(part),
                    f'this list restates the declared categories, but "{value}" is none of them; '
                    f"{hint}",
                    _declared_at(categories),
                )

    def _shortened(
        self,
        project: Project,
        categories: Categories,
        literal: Literal,
        holder: n.Expr,
        names: list[str],
    ) -> Iterator[Finding]:
        """A copy that lacks just one of four or more, in the same order: that is no choice."""
        tables = [table for found in categories.tables.values() for table in found]
        if any(table.names == set(names) for table in tables):
            return
        for table in tables:
            every = list(dict.fromkeys(entry.name for entry in table.entries))
            left = [name for name in every if name in names]
            if len(every) < 4 or len(left) != len(every) - 1 or left != names:
                continue
            lines = literal.module.facts.lines
            near = lines[max(0, holder.at[0] - 4) : holder.at[2]]
            if any(_CHOSEN.search(line.partition("#")[2]) for line in near):
                continue
            (lost,) = set(every) - set(names)
            yield self.finding(
                literal.scope.place(holder),
                f'this list restates {table.name}, but lacks "{lost}"; use the list, or say in a '
                "comment why it is left out",
                [(table.place, f"{table.name} is defined here")],
            )
            return

    def _documented(
        self, project: Project, categories: Categories, declared: frozenset[str]
    ) -> Iterator[Finding]:
        families = tuple({f"{name.partition('/')[0]}/" for name in declared})
        rows = project.documents.of_kind("category")
        for row in rows:
            for name in row.names:
                if "*" in name or row.status != "active" or not name.startswith(families):
                    continue
                if name not in declared:
                    near = nearest(name, declared)
                    hint = f'did you mean "{near}"?' if near else "declare it or take the row out"
                    yield self.finding(
                        row.place,
                        f'category "{name}" is documented, but declared nowhere; {hint}',
                        _declared_at(categories),
                    )
        listed_names = {name for row in rows for name in row.names}
        own = [
            entry for table in categories.declaring if not table.library for entry in table.entries
        ]
        names = {entry.name for entry in own}
        if len(listed_names & names) < 2 or any("*" in name for name in listed_names):
            return
        told: set[str] = set()
        for entry in own:
            if entry.name not in listed_names | told and not _near_row(
                entry, listed_names, declared
            ):
                told.add(entry.name)
                yield self.finding(
                    entry.place,
                    f'category "{entry.name}" is declared, but the documents that list the others '
                    "do not list it; add a row",
                    [(rows[0].place, "categories are listed here")],
                )


def _near_row(entry: Entry, listed_names: set[str], declared: frozenset[str]) -> bool:
    """Whether a misspelt row is meant for the category, which is reported there."""
    return nearest(entry.name, listed_names - declared) is not None


def _declared_at(categories: Categories) -> list[tuple[Place, str]]:
    return [(table.place, f"{table.name} is defined here") for table in categories.declaring]


def _difference(here: frozenset[str], there: frozenset[str]) -> str:
    parts = []
    if there - here:
        parts.append(f"lacks {quoted(sorted(there - here))}")
    if here - there:
        parts.append(f"adds {quoted(sorted(here - there))}")
    return f": it {listed(parts)}"
