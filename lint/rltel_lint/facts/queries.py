"""What a query asks for: series, labels, attributes and names of spans.

One reader serves PromQL, TraceQL and SQL, because nothing says which it is: names
of series and labels are words, names of spans are quoted beside an operator. What is not
understood yields nothing.

Sources: https://prometheus.io/docs/prometheus/latest/querying/basics/,
https://grafana.com/docs/tempo/latest/traceql/,
https://grafana.com/docs/grafana/latest/datasources/prometheus/template-variables/.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from rltel_lint.facts.entries import PADDING
from rltel_lint.findings import Place

Kind = Literal["series", "label", "span", "span pattern"]

_VARIABLE = r"\$\{[^}]*\}|\$\w+|\[\[\w+\]\]"
_TOKEN = re.compile(
    rf"""(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`)
    |(?P<word>(?:[A-Za-z_:.]|{_VARIABLE})(?:[\w:.]|{_VARIABLE})*)
    |(?P<number>\d[\w.]*)
    |(?P<operator>=~|!~|!=|==|>=|<=|&&|\|\||\S)""",
    re.VERBOSE | re.DOTALL,
)
_HOLE = re.compile(_VARIABLE)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_EQUALS = frozenset({"=", "==", "!="})
_MATCHES = frozenset({"=~", "!~"})
_GROUPING = frozenset({"by", "without", "on", "ignoring", "group_left", "group_right", "select"})
_SCOPE = re.compile(r"(?:parent\.)?(?:span|resource|event|link|instrumentation|parent)?\.(?=\w)")
_SPAN_NAMES = frozenset(
    {
        *("name", "span:name", "span_name", "spanname", "rootname", "trace:rootname"),
        *("operation", "operation_name", "operationname"),
    }
)
"""Labels, in lower case, whose value is the name of a span."""


@dataclass(frozen=True)
class Asked:
    """One thing that a query asks for.

    Attributes:
        kind: What it is; a pattern is a regular expression over names of spans.
        text: The name as written; a variable of the dashboard as ``**``.
        place: Where it stands.
        series: For a label: the series that it selects from; empty where there is none.
    """

    kind: Kind
    text: str
    place: Place
    series: str = ""


class _Token(NamedTuple):
    """A token; from ``start`` to ``end`` it stands in the file, without its quotes."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def inner(self) -> str:
        """What a string stands for; a word itself."""
        if self.kind != "string":
            return self.text
        inner = self.text[1:-1]
        return inner if self.text[0] == "`" else _ESCAPED.sub(r"\1", inner)


At = Callable[[int, int], Place]
"""Gives the place of a part of a query, from its offsets."""


def read_query(text: str, at: At, *, sql: bool = False) -> Iterator[Asked]:
    """Yields what a query asks for.

    Args:
        text: The query.
        at: Gives the place of a part of it.
        sql: Whether it is SQL, in which words are not names of series.
    """
    reader = _Reader(text, at)
    yield from reader.compared()
    if not sql:
        yield from reader.named()


class _Reader:
    def __init__(self, text: str, at: At) -> None:
        self._at = at
        self._tokens = list(_tokens(text))

    def _asked(self, kind: Kind, token: _Token, text: str, series: str = "") -> Asked:
        return Asked(kind, _HOLE.sub("**", text), self._at(token.start, token.end), series)

    def compared(self) -> Iterator[Asked]:
        """Yields what a label that names spans is compared with."""
        for left, operator, right in zip(
            self._tokens, self._tokens[1:], self._tokens[2:], strict=False
        ):
            if right.kind != "string" or left.kind not in {"word", "string"}:
                continue
            if left.inner.lower() not in _SPAN_NAMES:
                continue
            if operator.text in _EQUALS:
                yield self._asked("span", right, right.inner)
            elif operator.text in _MATCHES:
                yield self._asked("span pattern", right, right.inner)

    def named(self) -> Iterator[Asked]:
        """Yields the series and labels."""
        braces, series = 0, ""
        calls: list[str] = []
        for number, token in enumerate(self._tokens):
            before = self._text(number - 1)
            after = self._text(number + 1)
            if token.text == "{":
                braces += 1
                series = before if number and self._tokens[number - 1].kind == "word" else ""
            elif token.text == "}":
                braces, series = max(0, braces - 1), ""
            elif token.text == "(":
                calls.append(before.lower() if number else "")
            elif token.text == ")":
                calls = calls[:-1]
            elif braces and token.kind in {"word", "string"}:
                label = self._text(number - 2)
                yield from self._inside(token, label, before, after, series)
            elif token.kind == "word" and after != "(":
                if after not in _EQUALS | _MATCHES or self._kind(number + 2) != "string":
                    yield from self._outside(token, before, after, calls[-1] if calls else "")

    def _text(self, number: int) -> str:
        return self._tokens[number].text if 0 <= number < len(self._tokens) else ""

    def _kind(self, number: int) -> str:
        return self._tokens[number].kind if 0 <= number < len(self._tokens) else ""

    def _inside(
        self, token: _Token, label: str, before: str, after: str, series: str
    ) -> Iterator[Asked]:
        if token.kind == "word":
            if after in _EQUALS | _MATCHES or _SCOPE.match(token.text):
                yield self._asked("label", token, _attribute(token.text), series)
        elif before in {"{", ","} and after in {",", "}"}:
            yield self._asked("series", token, token.inner)
        elif before in {"{", ","} and after in _EQUALS | _MATCHES:
            yield self._asked("label", token, token.inner, series)
        elif before == "=" and label == "__name__":
            yield self._asked("series", token, token.inner)

    def _outside(self, token: _Token, before: str, after: str, call: str) -> Iterator[Asked]:
        if call == "metrics" or after == "=":
            return
        if _SCOPE.match(token.text):
            yield self._asked("label", token, _attribute(token.text))
        elif call in _GROUPING or (call == "label_values" and after == ")"):
            yield self._asked("label", token, token.text)
        elif before not in {"$", "."} and token.text.lower() not in _GROUPING:
            if "." not in token.text and ":" not in _HOLE.sub("", token.text):
                yield self._asked("series", token, token.text)


def _tokens(text: str) -> Iterator[_Token]:
    """Yields the tokens without the padding, at their offsets with it."""
    plain = text.replace(PADDING, "")
    offsets = [offset for offset, letter in enumerate(text) if letter != PADDING]
    for match in _TOKEN.finditer(plain):
        kind = match.lastgroup or ""
        quote = 1 if kind == "string" and len(match[0]) > 2 else 0
        start, last = match.start() + quote, match.end() - 1 - quote
        yield _Token(kind, match[0], offsets[start], offsets[last] + 1)


def _attribute(word: str) -> str:
    return _SCOPE.sub("", word, count=1)
