"""What a column header, a heading or a marker says about the names below it.

A header is read by its head noun: "Span name" is about spans, "Span group extension" about
extensions. What is not plainly one of the kinds is none, for a table that is wrongly taken
as documentation hides drift.
"""

from __future__ import annotations

import re
from typing import NamedTuple, cast

from rltel_lint.facts.entries import EntryKind, Status
from rltel_lint.facts.pages import Inline

MARKERS: dict[str, EntryKind] = {
    "spans": "span",
    "groups": "group",
    "presets": "preset",
    "metrics": "metric",
    "attributes": "attribute",
    "resources": "resource",
    "categories": "category",
    "buckets": "bucket",
    "environment": "environment",
}
"""The words of ``<!-- rltel: WORD -->``, beside ``ignore``."""

_NOUNS: dict[str, str] = {
    **dict.fromkeys(("span", "spans"), "span"),
    **dict.fromkeys(("group", "groups"), "group"),
    **dict.fromkeys(("preset", "presets"), "preset"),
    **dict.fromkeys(("tag", "tags", "attribute", "attributes", "attrs"), "attribute"),
    **dict.fromkeys(("metric", "metrics", "instrument", "instruments", "series"), "metric"),
    **dict.fromkeys(("gauge", "gauges", "histogram", "histograms", "counters"), "metric"),
    **dict.fromkeys(("bucket", "buckets"), "bucket"),
    **dict.fromkeys(("category", "categories"), "category"),
    **dict.fromkeys(("variable", "variables", "var", "vars", "envvar"), "environment"),
    **dict.fromkeys(("type", "types", "kind", "kinds"), "type"),
    **dict.fromkeys(("unit", "units"), "unit"),
    **dict.fromkeys(("parent", "parents"), "parent"),
    **dict.fromkeys(("name", "names", "key", "keys", "otel", "opentelemetry"), "name"),
}
_NO_SUBJECTS = ("type", "unit", "name", "parent")
# Words behind the noun that do not change what the column holds.
_TAILS = frozenset(
    {
        "name",
        "names",
        "key",
        "keys",
        "label",
        "labels",
        "keyword",
        "keywords",
        "included",
        "emitted",
        "opened",
        "recorded",
        "covered",
        "controlled",
        "enabled",
        "produced",
        "documented",
        "declared",
        "used",
        "affected",
        "list",
        "reference",
        "catalog",
        "catalogue",
        "table",
        "tables",
        "hierarchy",
        "tree",
        "overview",
        "identifier",
    }
)
# Words that make a header or a heading something else, wherever they stand.
_OTHER = frozenset(
    {
        "prometheus",
        "grafana",
        "datadog",
        "jaeger",
        "wandb",
        "convention",
        "conventions",
        "naming",
        "pattern",
        "example",
        "examples",
        "vs",
        "versus",
        "and",
        "or",
        "a",
        "an",
        "new",
        "your",
        "custom",
        "no",
        "not",
        "never",
        "without",
    }
)
_FIRST_OTHER = frozenset(
    {
        "what",
        "where",
        "when",
        "why",
        "how",
        "which",
        "who",
        "need",
        "is",
        "are",
        "does",
        "do",
        "can",
        "add",
        "choose",
        "define",
        "create",
        "use",
        "write",
        "pick",
        "register",
        "remove",
        "disable",
        "enable",
        "filter",
        "extend",
        "always",
        "see",
        "adding",
        "choosing",
        "testing",
        "instrumenting",
        "overriding",
        "using",
        "getting",
        "filtering",
        "writing",
        "defining",
        "extending",
        "creating",
        "removing",
        "configuring",
        "disabling",
        "enabling",
        "selecting",
        "understanding",
        "reading",
        "running",
        "debugging",
    }
)
_CARRIERS = re.compile(r"(?:set|carried|found|appears|attached|present) (?:on|by)\b")
_HOLDS = frozenset({"controls", "contains", "includes", "members", "covers", "enables"})
_ASIDE = re.compile(r"\([^()]*\)|\[[^\]]*\]")
_TURN = re.compile(r"[→—\u2013:?!&=+]|->|\s-\s")
_PREPOSITION = re.compile(r"\s(?:with|of|for|in|on|from|by|per|under|at|across)\s.*")
_WORD = re.compile(r"[a-z0-9_.*]+")


class Column(NamedTuple):
    """What a column holds.

    Attributes:
        key: The kind of its names, or what else is known of it; empty when nothing is.
        subject: Whether its names may be what the table documents.
    """

    key: str = ""
    subject: bool = False


def read_header(header: Inline, namespace: str) -> Column:
    """Returns what the column below a header holds."""
    lone = header.codes[0].text if len(header.codes) == 1 else ""
    if lone and header.plain().strip(" *_") == "":
        if lone.rpartition(".")[2] == "bucket":
            return Column("bucket", True)
        return Column(lone) if lone.startswith(namespace) else Column()
    text = _bare(header.plain())
    if _CARRIERS.match(text):
        return Column("span")
    if text in _HOLDS:
        return Column("holds")
    columns = [_noun_column(part) for part in text.split("/")]
    return next((column for column in columns if column.key), Column())


def _noun_column(text: str) -> Column:
    words = _WORD.findall(text)
    if "logger" in words and words[-1] in ("key", "keys", "prefix"):
        return Column(words[-1].rstrip("s"))
    key = "" if len(words) > 4 or _TURN.search(text) else _noun(words)
    return Column(key, key not in ("", *_NO_SUBJECTS))


def read_heading(heading: Inline) -> EntryKind | None:
    """Returns the kind of the names a section is about, ``None`` for any other section."""
    text = _bare(heading.plain())
    if _TURN.search(text):
        return None
    words = _WORD.findall(_PREPOSITION.sub("", text))
    kind = "" if len(words) > 5 else _noun(words)
    if kind in ("", *_NO_SUBJECTS):
        return None
    return cast(EntryKind, kind)


def section_status(heading: Inline) -> Status:
    """Returns the status that a section's title gives to all that is documented in it."""
    words = set(_WORD.findall(_bare(heading.plain())))
    if words & {"retired", "removed", "renamed"}:
        return "retired"
    if "deprecated" in words:
        return "deprecated"
    return "reserved" if words & {"reserved", "planned"} else "active"


def speaks_of(heading: Inline, word: str) -> bool:
    """Whether a heading holds a word, in the singular or the plural."""
    return bool({word, word + "s"} & set(_WORD.findall(_bare(heading.plain()))))


def _bare(text: str) -> str:
    """Returns the text in lower case, without emphasis, asides and outer space."""
    text = _ASIDE.sub(" ", text.replace("*", " ").replace("~", " "))
    return " ".join(text.lower().replace("-", " ").split())


def _noun(words: list[str]) -> str:
    if not words or words[0] in _FIRST_OTHER or _OTHER & set(words):
        return ""
    while len(words) > 1 and words[-1] in _TAILS:
        words = words[:-1]
    noun = _NOUNS.get(words[-1], "")
    if noun == "attribute" and {"resource", "process"} & set(words):
        return "resource"
    if noun in ("type", "name") and len(words) > 2:
        return ""
    return noun
