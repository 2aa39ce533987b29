"""What dashboards and queries in documents ask for, and the spelling that a name has there.

An exporter to Prometheus turns what is no letter, digit or underscore into underscores and
puts the unit, and what kind of series it is, behind the name. Source:
https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from rltel_lint.facts.entries import CodeFence, DataValue, DocumentFacts, Mention
from rltel_lint.facts.queries import Asked, At, Kind, read_query
from rltel_lint.findings import Place

_UNITS = (
    *("seconds", "milliseconds", "microseconds", "nanoseconds", "minutes", "hours", "days"),
    *("bytes", "kilobytes", "megabytes", "gigabytes", "terabytes", "bits"),
    *("kibibytes", "mebibytes", "gibibytes", "tebibytes"),
    *("ratio", "percent", "celsius", "hertz", "joules", "watts", "volts", "amperes", "meters"),
)
_KINDS = re.compile(r"_(?:bucket|sum|count|created|info|min|max)$")
_TOTAL = re.compile(r"_total$")
_RATE = re.compile(r"_per_[a-z]+$")
_UNIT = re.compile(rf"_(?:{'|'.join(_UNITS)})$")
_ENDINGS = (_KINDS, _TOTAL, _RATE, _UNIT)
_QUERY = re.compile(r"\{[^{}]*(?:[!=]=?|[=!]~)\s*[\"'`\d\w][^{}]*\}")
"""What in running text is surely a query: a selection with a comparison."""
_LANGUAGES = frozenset({"promql", "traceql"})
_OTHER = re.compile(r"[^A-Za-z0-9_:*]+|__+")


def exported(name: str) -> str:
    """Returns a name as Prometheus has it, without what is put behind it.

    Args:
        name: A name or a pattern.
    """
    return _OTHER.sub("_", name)


def stems(name: str) -> tuple[str, ...]:
    """Returns what the metric behind a series may be called: the name, then without endings.

    Args:
        name: A series, as exported.
    """
    found = [name]
    for ending in _ENDINGS:
        found += [ending.sub("", one) for one in found if ending.search(one)]
    return tuple(dict.fromkeys(found))


class Dashboards:
    """What the dashboards of a project ask for.

    Args:
        documents: The documents' facts.
        namespaces: Prefixes of the project's own names.
    """

    def __init__(self, documents: Iterable[DocumentFacts], namespaces: tuple[str, ...]) -> None:
        self._documents = documents
        self._namespaces = namespaces
        self._exported = tuple(exported(prefix) for prefix in namespaces)

    @cached_property
    def asked(self) -> tuple[Asked, ...]:
        """Everything that queries ask for, in order of the files."""
        return tuple(one for facts in self._documents for one in _asked(facts))

    def own(self, kind: Kind) -> list[Asked]:
        """Returns what is asked for of one kind and is the project's own by its prefix."""
        prefixes = self._namespaces + (() if kind.startswith("span") else self._exported)
        return [
            one
            for one in self.asked
            if one.kind == kind and one.text.replace("\\", "").startswith(prefixes)
        ]

    @cached_property
    def recorded(self) -> dict[str, Place]:
        """The series that recording rules make, with where."""
        return {
            value.text: value.place
            for facts in self._documents
            for value in facts.values
            if value.key.rpartition(".")[2] == "record"
        }

    @cached_property
    def names(self) -> frozenset[str]:
        """All names that are asked for, as written."""
        return frozenset(one.text for one in self.asked)


def _asked(facts: DocumentFacts) -> Iterator[Asked]:
    """Yields what a dashboard, a rule file or a page asks for."""
    keys = _keys(facts.path) if facts.values else ()
    for value in facts.values:
        key = value.key.rpartition(".")[2]
        if key in keys:
            yield from read_query(value.text, value.at, sql=key == "rawSql")
    for mention in facts.mentions:
        if not mention.negated and _QUERY.search(mention.text):
            yield from read_query(mention.text, _in_span(mention))
    for fence in facts.fences:
        if fence.language in _LANGUAGES:
            yield from read_query(fence.text, _in_fence(fence))


def _in_span(mention: Mention) -> At:
    place = mention.place
    if place.end_column - place.column == len(mention.text):
        return DataValue("", mention.text, place).at
    return lambda start, end: place  # with escapes: the whole of it


def _in_fence(fence: CodeFence) -> At:
    def at(start: int, end: int) -> Place:
        before = fence.text[:start]
        line = fence.place.line + before.count("\n")
        column = fence.place.column + start - before.rfind("\n") - 1
        return Place(fence.place.path, line, column, line, column + end - start)

    return at


def _keys(path: str) -> frozenset[str]:
    from rltel_lint.facts.data_files import QUERY_KEYS

    # In YAML only the rules of Prometheus: "query" may be anything in a configuration file.
    return QUERY_KEYS if path.endswith(".json") else frozenset({"expr"})
