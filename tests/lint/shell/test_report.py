"""The two report formats, and tables."""

from __future__ import annotations

import json

import pytest

from rltel_lint.findings import Finding, Place, Related
from rltel_lint.report.json import render_findings as as_json
from rltel_lint.report.tables import render_tables
from rltel_lint.report.text import counted
from rltel_lint.report.text import render_findings as as_text

FINDINGS = (
    Finding(
        Place("docs/spans.md", 41, 3),
        "RLT102",
        "stale-row",
        'documented span "rl.a" is emitted nowhere',
    ),
    Finding(
        Place("pkg/workers.py", 88, 5, 90, 6),
        "RLT301",
        "carrier-missing",
        "finish_step is dispatched without a carrier",
        severity="warning",
        related=(
            Related(Place("pkg/policy.py", 402, 9), "dispatched here"),
            Related(Place("pkg/other.py", 7), "and here"),
        ),
    ),
)
COUNTS = {"file": 212, "span": 51, "accepting method": 1, "dispatch": 2, "metric key": 0}


def test_text():
    assert as_text(FINDINGS, COUNTS, 0.44) == (
        'docs/spans.md:41:3: RLT102 documented span "rl.a" is emitted nowhere\n'
        "pkg/workers.py:88:5: RLT301 finish_step is dispatched without a carrier\n"
        "    dispatched here: pkg/policy.py:402\n"
        "    and here: pkg/other.py:7\n"
        "\n"
        "2 findings in 212 files, 51 spans, 1 accepting method, 2 dispatches, no metric keys; "
        "0.4 s\n"
    )


def test_text_of_a_clean_project_is_one_line():
    assert as_text((), {"file": 1}, 1.26) == "no findings in 1 file; 1.3 s\n"


def test_statistics_stand_before_the_summary_most_frequent_first():
    many = (FINDINGS[0], FINDINGS[1], FINDINGS[1])
    lines = as_text(many, COUNTS, 0, statistics=True).split("\n\n")
    assert lines[1] == "2  RLT301  carrier-missing\n1  RLT102  stale-row"
    assert lines[2].startswith("3 findings in ")
    assert as_text((), {"file": 1}, 0, statistics=True).count("\n") == 1


def test_colour_changes_nothing_but_the_escapes():
    import click

    coloured = as_text(FINDINGS, COUNTS, 0, colour=True)
    assert "\x1b[" in coloured
    assert click.unstyle(coloured) == as_text(FINDINGS, COUNTS, 0)


def test_nothing_in_a_name_can_break_the_line_or_steer_the_terminal():
    hostile = "a\nb\r\x1b[2J\u2028\x9b\x00é"
    finding = Finding(Place(hostile + ".py"), "RLT101", "name", hostile)
    text = as_text([finding], {"file": 1}, 0)
    line, blank, *_ = text.split("\n")
    shown = "a\\nb\\r\\x1b[2J\\u2028\\x9b\\x00é"
    assert (line, blank) == (f"{shown}.py:1:1: RLT101 {shown}", "")


@pytest.mark.parametrize(
    ("number", "noun", "said"),
    [
        (0, "span", "no spans"),
        (1, "file", "1 file"),
        (2, "metric key", "2 metric keys"),
        (3, "category", "3 categories"),
        (4, "dispatch", "4 dispatches"),
    ],
)
def test_nouns(number, noun, said):
    assert counted(number, noun) == said


def test_json_fields_are_the_promised_ones():
    report = json.loads(as_json(FINDINGS, COUNTS))
    assert report == {
        "version": 1,
        "findings": [
            {
                "code": "RLT102",
                "name": "stale-row",
                "path": "docs/spans.md",
                "line": 41,
                "column": 3,
                "end_line": 41,
                "end_column": 3,
                "message": 'documented span "rl.a" is emitted nowhere',
                "severity": "error",
                "related": [],
                "fix": None,
            },
            {
                "code": "RLT301",
                "name": "carrier-missing",
                "path": "pkg/workers.py",
                "line": 88,
                "column": 5,
                "end_line": 90,
                "end_column": 6,
                "message": "finish_step is dispatched without a carrier",
                "severity": "warning",
                "related": [
                    {"path": "pkg/policy.py", "line": 402, "message": "dispatched here"},
                    {"path": "pkg/other.py", "line": 7, "message": "and here"},
                ],
                "fix": None,
            },
        ],
        "summary": {
            "findings": 2,
            "by_code": {"RLT102": 1, "RLT301": 1},
            "inspected": COUNTS,
        },
    }


def test_json_is_ascii():
    finding = Finding(Place("caf\xe9\udce9.py"), "RLT101", "name", "\u2028")
    text = as_json([finding], {})
    assert text.isascii()
    assert json.loads(text)["findings"][0]["path"] == "caf\xe9\udce9.py"


TABLES = [
    ("spans", ("name", "opened at"), [("rl.job", "pkg/a.py:1"), ("rl.step.long", "pkg/b.py:20")]),
    ("groups", ("name",), []),
]


def test_tables_are_aligned():
    assert render_tables(TABLES, None) == (
        "spans (2)\n"
        "  name          opened at\n"
        "  rl.job        pkg/a.py:1\n"
        "  rl.step.long  pkg/b.py:20\n"
        "\n"
        "groups (0)\n"
    )


def test_wide_cells_are_wrapped_to_the_terminal():
    places = ", ".join(f"pkg/module.py:{line}" for line in range(10, 20))
    rows = [("rl.job", places), ("rl.step", "pkg/b.py:20")]
    text = render_tables([("spans", ("name", "opened at"), rows)], 60)
    assert max(map(len, text.splitlines())) <= 60
    words = text.split()
    assert [word for word in words if word.startswith("pkg/module")] == places.split()
    assert render_tables([("spans", ("name", "opened at"), rows)], None).count("\n") == 4


def test_a_terminal_too_narrow_for_all_columns_still_gets_them():
    rows = [("a" * 30, "b" * 30, "c" * 30)]
    text = render_tables([("t", ("x", "y", "z"), rows)], 10)
    assert text.count("a") == text.count("b") == text.count("c") == 30


def test_what_was_not_there_is_said_in_one_go():
    counts = {"file": 3, "span": 0, "group": 2, "dispatch": 0, "metric key": 0}
    assert as_text((), counts, 0) == (
        "no findings in 3 files, 2 groups, no spans, dispatches or metric keys; 0.0 s\n"
    )
