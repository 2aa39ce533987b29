"""The texts of dashboards and configuration files, each with its key and its place.

Of JSON only queries are kept: a dashboard is large, and nothing else of it names what is
emitted. Keys that hold one are those of Grafana's data sources and of Prometheus' rules
(https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model/,
https://prometheus.io/docs/prometheus/latest/configuration/recording_rules/).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, Literal

from rltel_lint.facts.entries import PADDING, DataValue, DocumentFacts
from rltel_lint.findings import Place

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Kind = Literal["text", "on", "off"]

QUERY_KEYS = frozenset({"expr", "query", "definition", "rawSql"})
"""Keys whose value is a query."""

_MOST = 400
"""A longer text is no name; a longer query is rare in JSON and read all the same."""
_JSON_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_AFTER_KEY = re.compile(r"\s*:\s*")
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|.)")
_TOML_HEAD = re.compile(r"\s*\[+\s*([^\]#]+?)\s*\]+")
_TOML_PAIR = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*[\w"'-]+)*)\s*=\s*""")


def extract_data(path: str, text: str) -> DocumentFacts:
    """Reads a dashboard or a configuration file.

    Args:
        path: Its path relative to the project root; the suffix decides how it is read.
        text: Its content.

    Returns:
        Its texts. A file that cannot be parsed gives a problem rather than an error.
    """
    read = {".json": _json, ".toml": _toml}.get(PurePosixPath(path).suffix.lower(), _yaml)
    try:
        return DocumentFacts(path, values=_kept(list(read(path, text))))
    except _UnparsableError as error:
        reason = f"cannot be parsed {error.reason}; correct the file or exclude it"
        return DocumentFacts(path, problems=((error.line, reason),))
    except RecursionError:
        reason = "cannot be parsed: it nests too deeply; exclude the file"
        return DocumentFacts(path, problems=((1, reason),))


def _kept(values: list[DataValue]) -> tuple[DataValue, ...]:
    """Leaves out what is on, unless a key of the same name is off elsewhere in the file."""
    off = {_last(value.key) for value in values if value.kind == "off"}
    return tuple(value for value in values if value.kind != "on" or _last(value.key) in off)


def _last(key: str) -> str:
    return key.rpartition(".")[2]


class _UnparsableError(Exception):
    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line
        self.reason = reason


def _json(path: str, text: str) -> Iterator[DataValue]:
    """Yields the queries: the parser tells whether it is JSON, a scan where its strings are."""
    try:
        json.loads(text)
    except ValueError as error:
        line = getattr(error, "lineno", 1)
        reason = getattr(error, "msg", "a number is too long").lower()
        raise _UnparsableError(line, f"as JSON: {reason}") from error
    position, line, start = 0, 1, 0
    key, value_at = "", -1
    for match in _JSON_STRING.finditer(text):
        after = _AFTER_KEY.match(text, match.end())
        if after is not None:
            key = json.loads(match[0])
            value_at = after.end()
        elif key in QUERY_KEYS and match.start() == value_at:
            line += text.count("\n", position, match.start())
            start = text.rfind("\n", 0, match.start())
            position = match.start()
            column = position - start + 1
            inner = _ESCAPE.sub(_padded, match[0][1:-1])
            yield DataValue(key, inner, Place(path, line, column, line, column + len(inner)))


def _padded(escape: re.Match[str]) -> str:
    try:
        meant: str = json.loads(f'"{escape[0]}"')
    except ValueError:
        return escape[0]
    return meant.rjust(len(escape[0]), PADDING)


def _yaml(path: str, text: str) -> Iterator[DataValue]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        roots = list(yaml.compose_all(text, Loader=loader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else 1
        what = getattr(error, "problem", None) or "a character that is not allowed"
        raise _UnparsableError(line, f"as YAML: {what}") from error
    seen: set[int] = set()
    for root in roots:
        yield from _yaml_node(path, root, "", seen)


def _yaml_node(path: str, node: Any, key: str, seen: set[int]) -> Iterator[DataValue]:
    """Yields the texts below a node; one that an alias repeats is told once."""
    import yaml

    if node is None or id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            if isinstance(name, yaml.ScalarNode):
                yield from _yaml_node(
                    path, value, f"{key}.{name.value}" if key else name.value, seen
                )
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            yield from _yaml_node(path, value, key, seen)
    elif len(node.value) <= _MOST:
        start, end, quotes = node.start_mark, node.end_mark, len(node.style or "")
        if start.line == end.line:
            column = start.column + 1 + quotes
            place = Place(path, start.line + 1, column, start.line + 1, column + len(node.value))
        else:
            place = Place(path, start.line + 1, start.column + 1, start.line + 2, 1)
        yield DataValue(key, node.value, place, _kind(node.tag.rpartition(":")[2], node.value))


def _kind(tag: str, text: str) -> Kind:
    """What a scalar is, by its YAML tag (https://yaml.org/type/)."""
    if tag == "null":
        return "off"
    if tag == "bool":
        return "on" if text.lower() in {"true", "yes", "on"} else "off"
    if tag in {"int", "float"}:
        return "off" if text.startswith("-") or not text.strip("0._+") else "on"
    return "text"


def _toml(path: str, text: str) -> Iterator[DataValue]:
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        reason = str(error).partition(" (at ")[0].lower()
        raise _UnparsableError(line, f"as TOML: {reason}") from error
    lines = _toml_lines(text)
    for key, value in _leaves(table, ""):
        line, column = _found(lines, key)
        shown = str(value)
        kind: Kind = "text" if isinstance(value, str) else "on" if value > 0 else "off"
        yield DataValue(key, shown, Place(path, line, column, line, column + len(shown)), kind)


def _leaves(value: object, key: str) -> Iterator[tuple[str, str | float]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves(inner, f"{key}.{name}" if key else str(name))
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, key)
    elif isinstance(value, (int, float)) or (isinstance(value, str) and len(value) <= _MOST):
        yield key, value


def _found(lines: dict[str, tuple[int, int]], key: str) -> tuple[int, int]:
    """Where a key's value starts; that of an inline table for what is inside."""
    while key and key not in lines:
        key = key.rpartition(".")[0]
    return lines.get(key, (1, 1))


def _toml_lines(text: str) -> dict[str, tuple[int, int]]:
    """Where the value of each key starts: its first line, as the parser keeps no places."""
    found: dict[str, tuple[int, int]] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        head = _TOML_HEAD.match(line)
        pair = _TOML_PAIR.match(line)
        if pair is not None:
            key = _bare(pair[1])
            quote = line[pair.end() : pair.end() + 1] in {'"', "'"}
            found.setdefault(f"{table}.{key}" if table else key, (number, pair.end() + 1 + quote))
        elif head is not None:
            table = _bare(head[1])
    return found


def _bare(key: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in key.split("."))
