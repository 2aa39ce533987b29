"""How much each family of rules had to look at, so that seeing nothing does not pass for clean."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rltel_lint.project.linked import Project


class _Sites(NamedTuple):
    """One kind of thing that rules inspect.

    Attributes:
        noun: What it is called, in the singular.
        codes: Beginnings of the codes of the rules that inspect it. It is counted only when one
            of them ran, because counting works out what is counted.
        count: Counts them.
    """

    noun: str
    codes: tuple[str, ...]
    count: Callable[[Project], int]


def _spans(project: Project) -> int:
    return len({name for site in project.spans.sites for name in site.name.templates})


def _groups(project: Project) -> int:
    return len(project.groups.names & set(project.group_uses))


def _metric_keys(project: Project) -> int:
    metrics = project.metrics
    fields = sum(len(field.candidates) for field in metrics.fields)
    return len(metrics.teed) + len(metrics.recorded) + fields


def _categories(project: Project) -> int:
    return len({measured.name for measured in project.categories.measured})


def _attributes(project: Project) -> int:
    return len({name for one in project.attributes.set for name in one.name.templates})


_INSPECTED = (
    _Sites("span", ("RLT1", "RLT2", "RLT3", "RLT4", "RLT8"), _spans),
    _Sites("group", ("RLT2", "RLT104"), _groups),
    _Sites("accepting method", ("RLT3",), lambda p: len(p.carriers.accepting)),
    _Sites("dispatch", ("RLT3",), lambda p: len(p.carriers.dispatches)),
    _Sites("metric key", ("RLT5",), _metric_keys),
    _Sites("logger call", ("RLT501", "RLT502"), lambda p: len(p.metrics.logged)),
    _Sites("category", ("RLT601", "RLT602"), _categories),
    _Sites("attribute", ("RLT7",), _attributes),
    _Sites("actor", ("RLT802", "RLT803"), lambda p: len(p.carriers.actors)),
    _Sites("citation", ("RLT9",), lambda p: sum(len(one.mentions) for one in p.documents.facts)),
    _Sites("documented span", ("RLT1",), lambda p: len(p.documents.of_kind("span"))),
    _Sites("documented metric", ("RLT503", "RLT504"), lambda p: len(p.documents.of_kind("metric"))),
)


NOUNS = ("file", *(sites.noun for sites in _INSPECTED))
"""All that is counted, in the order of the report."""


def count_inspected(project: Project, ran: Iterable[str]) -> dict[str, int]:
    """Counts what the rules of a run inspected.

    Args:
        project: The linked project.
        ran: The codes of the rules that ran.

    Returns:
        A noun in the singular and a number, files first.
    """
    ran = tuple(ran)
    counts = {"file": len(project.sources) + len(project.documents.facts)}
    for sites in _INSPECTED:
        if any(code.startswith(sites.codes) for code in ran):
            counts[sites.noun] = sites.count(project)
    return counts


def blindness(counts: Mapping[str, int]) -> str:
    """Returns what to say of a run that recognised no span at all; empty for any other.

    Args:
        counts: From :func:`count_inspected`.
    """
    if counts.get("span", 1) or not counts.get("file"):
        return ""
    return (
        "no span was recognised, so nothing could be compared; check in [tool.rltel-lint] that "
        '"profile" names your helpers\' library, that "vocabulary" lists your own helpers, and '
        'that "source" covers the code that opens spans'
    )
