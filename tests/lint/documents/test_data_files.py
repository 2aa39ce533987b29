"""Dashboards and configuration files: their texts, each where it stands."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltel_lint.facts.documents import extract_document
from rltel_lint.facts.documents_codec import decode_document, encode_document
from rltel_lint.facts.entries import PADDING
from rltel_lint.facts.queries import read_query
from rltel_lint.findings import Place

YAML = """\
top: one
nested:
  inner: "two"   # said
  other: 'three'
  list:
  - four
  - key: five
number: 3
nothing: null
flag: true
text: |
  six
  seven
anchor: &again
  deep: eight
alias: *again
tagged: !join [nine]
---
second: ten
"""

TOML = """\
top = "one"
dotted.key = 'two'
number = 3
[nested."quoted key"]
inner = "three" # said
list = ["four", "five"]
table = { deep = "six" }
[[rows]]
name = "seven"
"""


def test_yaml() -> None:
    found = _values("recipe.yaml", YAML)
    assert found == [
        ("top", "one", "one"),
        ("nested.inner", "two", "two"),
        ("nested.other", "three", "three"),
        ("nested.list", "four", "four"),
        ("nested.list.key", "five", "five"),
        ("nothing", "null", "null"),
        ("text", "six\nseven\n", "|"),
        ("anchor.deep", "eight", "eight"),
        ("tagged", "nine", "nine"),
        ("second", "ten", "ten"),
    ]


def test_toml() -> None:
    found = _values("recipe.toml", TOML)
    assert [(key, text) for key, text, _ in found] == [
        ("top", "one"),
        ("dotted.key", "two"),
        ("nested.quoted key.inner", "three"),
        ("nested.quoted key.list", "four"),
        ("nested.quoted key.list", "five"),
        ("nested.quoted key.table.deep", "six"),
        ("rows.name", "seven"),
    ]
    assert [at for _, text, at in found if text in {"one", "two", "three", "seven"}] == [
        *("one", "two", "three", "seven")
    ]
    lines = [value.place.line for value in extract_document("a.toml", TOML).values]
    assert lines == [1, 2, 5, 6, 6, 7, 9]


SWITCHES = {
    "off": ("0", "-1", "false", "-0.5", "0.0", "+0"),
    "on": ("1", "true", "10", "0.5", "1_000"),
}


@pytest.mark.parametrize(("path", "line"), [("a.yaml", "{}: {}\n"), ("a.toml", "{} = {}\n")])
def test_what_is_on_and_what_is_off(path: str, line: str) -> None:
    for kind, values in SWITCHES.items():
        for value in values:
            text = line.format("x", value) + ("" if kind == "off" else "[a]\n" * (".t" in path))
            other = "a:\n  x: 0\n" if path == "a.yaml" else "x = 0\n"
            found = extract_document(path, text + (other if kind == "on" else "")).values
            assert found[0].kind == kind, value


def test_what_is_on_is_kept_beside_what_is_off_only() -> None:
    found = extract_document("a.yaml", "a: {x: 1, y: 2}\nb: {x: 0, z: ~}\nc: 'no'\nd: no\n").values
    assert [(one.key, one.kind) for one in found] == [
        *(("a.x", "on"), ("b.x", "off"), ("b.z", "off"), ("c", "text"), ("d", "off")),
    ]


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters=PADDING), max_size=30))
def test_a_query_keeps_its_offsets_whatever_is_escaped(before: str) -> None:
    query = f"f({json.dumps(before)}) + rl_queue_length"
    for ascii_only in (True, False):
        text = json.dumps({"title": "x", "expr": query}, indent=1, ensure_ascii=ascii_only)
        (value,) = extract_document("dashboards/d.json", text).values
        (asked,) = read_query(value.text, value.at)
        line = text.split("\n")[asked.place.line - 1]
        assert line[asked.place.column - 1 : asked.place.end_column - 1] == "rl_queue_length"


@given(st.text(alphabet="{}()[]\"'`\\\\$=~!|,.: \\nab1_" + PADDING, max_size=40), st.booleans())
def test_any_text_may_be_read_as_a_query(text: str, sql: bool) -> None:
    def at(start: int, end: int) -> Place:
        assert 0 <= start <= end <= len(text)
        return Place("d.json", 1, start + 1, 1, end + 1)

    for asked in read_query(text, at, sql=sql):
        assert asked.kind in {"series", "label", "span", "span pattern"}


def test_only_queries_are_kept_of_a_dashboard() -> None:
    text = '{"expr": "a", "title": "b", "targets": [{"query": "c", "x": "expr"}, "query"]}'
    assert [value.text for value in extract_document("d.json", text).values] == ["a", "c"]


@pytest.mark.parametrize(
    ("path", "text", "line", "said"),
    [
        ("d.json", '{\n "a": 1\n "b": 2}', 3, "cannot be parsed as JSON: expecting ',' delimiter"),
        ("d.json", '{"a": }', 1, "cannot be parsed as JSON: expecting value"),
        ("d.json", "", 1, "cannot be parsed as JSON: expecting value"),
        ("d.yaml", "a: 1\nb: [\n", 3, "cannot be parsed as YAML: "),
        ("d.yaml", "a: {{ b }}: c: d\n", 1, "cannot be parsed as YAML: "),
        ("d.yml", "a: \x07\n", 1, "cannot be parsed as YAML: "),
        ("d.toml", "a = 1\nb = \n", 2, "cannot be parsed as TOML: invalid value"),
        ("d.toml", 'a = "', 1, "cannot be parsed as TOML: "),
        ("d.json", "[" * 100_000, 1, "cannot be parsed: it nests too deeply"),
        ("d.yaml", "[" * 100_000, 1, "cannot be parsed as YAML: "),
        ("d.toml", "a = " + "[" * 100_000, 1, "cannot be parsed: it nests too deeply"),
    ],
)
def test_a_file_that_cannot_be_parsed_is_a_problem_with_a_line(
    path: str, text: str, line: int, said: str
) -> None:
    facts = extract_document(path, text)
    ((at, reason),) = facts.problems
    assert at == line
    assert reason.startswith(said)
    assert reason.endswith(("exclude it", "exclude the file"))
    assert facts.values == ()
    assert "\n" not in reason


@pytest.mark.parametrize(("path", "text"), [("a.yaml", YAML), ("a.toml", TOML)])
def test_facts_survive_being_kept(path: str, text: str) -> None:
    facts = extract_document(path, text)
    assert facts.values
    assert decode_document(path, json.loads(json.dumps(encode_document(facts)))) == facts


def _values(path: str, text: str) -> list[tuple[str, str, str]]:
    """Keys and texts, with what the file has at the place of each."""
    lines = text.splitlines()
    return [
        (
            value.key,
            value.text,
            lines[value.place.line - 1][value.place.column - 1 :][: len(value.text)].split(" ")[0]
            if value.place.end_line > value.place.line
            else lines[value.place.line - 1][value.place.column - 1 : value.place.end_column - 1],
        )
        for value in extract_document(path, text).values
    ]
