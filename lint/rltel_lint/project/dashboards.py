"""What dashboards ask for, and the spelling that a name has there.

An exporter to Prometheus turns what is no letter, digit or underscore into underscores and
puts the unit, and what kind of series it is, behind the name. Source:
https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property

from rltel_lint.facts.entries import DocumentFacts
from rltel_lint.facts.queries import Asked, Kind, read_query

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
        return tuple(
            one
            for facts in self._documents
            for value in facts.values
            if value.key.rpartition(".")[2] in _keys(facts.path)
            for one in read_query(value)
        )

    def own(self, kind: Kind) -> list[Asked]:
        """Returns what is asked for of one kind and is the project's own by its prefix."""
        prefixes = self._namespaces + (() if kind.startswith("span") else self._exported)
        return [
            one
            for one in self.asked
            if one.kind == kind and one.text.replace("\\", "").startswith(prefixes)
        ]

    @cached_property
    def names(self) -> frozenset[str]:
        """All names that are asked for, as written."""
        return frozenset(one.text for one in self.asked)


def _keys(path: str) -> frozenset[str]:
    from rltel_lint.facts.data_files import QUERY_KEYS

    # In YAML only the rules of Prometheus: "query" may be anything in a configuration file.
    return QUERY_KEYS if path.endswith(".json") else frozenset({"expr"})
