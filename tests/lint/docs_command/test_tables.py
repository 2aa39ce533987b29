"""Generated tables: what is filled, what is kept, and when they count as stale."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.lint.docs_command.support import CODE, check, pages, text, written

EMPTY = "# Spans\n\n<!-- rltel: begin spans -->\n<!-- rltel: end -->\n"
END = "<!-- rltel: end"
FILLED = """# Spans

<!-- rltel: begin spans -->

| Span | Group | Bucket | Description |
|---|---|---|---|
| `rl.grpo.reward` | `reward` | `productive` | |
| `rl.grpo.step` | `step` | | |

<!-- rltel: end -->
"""


def test_an_empty_part_gets_a_table_that_documents_all() -> None:
    assert written(EMPTY) == FILLED
    assert pages(FILLED).stale == []
    assert check(FILLED) == []
    assert {finding.code for finding in check(EMPTY)} == {"RLT101"}


def test_what_was_written_by_hand_is_kept_by_name() -> None:
    document = text(
        """
        <!-- rltel: begin spans -->
        Words above.

        | Owner | Span name | Group |
        |:---|---|---:|
        | ann \\| bob | `rl.grpo.step` | `job` |
        | none | `rl.grpo.gone` | `reward` |

        Words below.
        <!-- rltel: end -->
        """
    )
    found = pages(document)
    assert [stale.differences for stale in found.stale] == [
        (
            '"rl.grpo.reward" missing',
            '"rl.grpo.gone" not in the code',
            '"rl.grpo.step" has group `step`, not `job`',
        )
    ]
    assert found.texts["docs/spans.md"] == text(
        """
        <!-- rltel: begin spans -->
        Words above.

        | Owner | Span name | Group |
        |:---|---|---:|
        | | `rl.grpo.reward` | `reward` |
        | ann \\| bob | `rl.grpo.step` | `step` |

        Words below.
        <!-- rltel: end -->
        """
    )


def test_a_renamed_span_keeps_its_description() -> None:
    document = FILLED.replace(
        "`rl.grpo.reward` | `reward` | `productive` | |",
        "`rl.grpo.rewards` | `reward` | `productive` | *scores*, see `x` |",
    )
    found = pages(document)
    assert found.stale[0].differences == ('"rl.grpo.rewards" is "rl.grpo.reward" now',)
    assert "| `rl.grpo.reward` | `reward` | `productive` | *scores*, see `x` |\n" in written(
        document
    )


def test_an_aligned_table_stays_aligned() -> None:
    document = text(
        """
        <!-- rltel: begin spans -->

        | Span           | Why   |
        |----------------|:-----:|
        | `rl.grpo.step` | a why |

        <!-- rltel: end -->
        """
    )
    assert written(document) == text(
        """
        <!-- rltel: begin spans -->

        | Span             | Why   |
        |------------------|:-----:|
        | `rl.grpo.reward` |       |
        | `rl.grpo.step`   | a why |

        <!-- rltel: end -->
        """
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda page: page.replace("|---|---|---|---|", "|:--|---|:-:|---|"),
        lambda page: page.replace("| `reward` |", "|   `reward`   |"),
        lambda page: page.replace("| `reward` |", "| reward |"),
        lambda page: page.replace("| `step` | |", "| `step` | - |"),
        lambda page: page.replace("\n", "\r\n"),
        lambda page: page.replace("\n\n<!-- rltel: end", "\n<!-- rltel: end"),
    ],
)
def test_a_formatter_makes_no_table_stale(change) -> None:  # type: ignore[no-untyped-def]
    document = change(FILLED)
    assert document != FILLED
    assert pages(document).stale == []
    assert pages(document).tables == 1


def test_reserved_rows_and_templates_stay() -> None:
    document = text(
        """
        <!-- rltel: begin spans -->

        | Span | Group | Description |
        |---|---|---|
        | `rl.<algo>.step` | `step` | of any |
        | `rl.ppo.later` | | *reserved* |

        <!-- rltel: end -->
        """
    )
    changed = written(document)
    assert "| `rl.<algo>.step` | `step` | of any |\n" in changed
    assert "| `rl.ppo.later` | | *reserved* |\n" in changed
    assert "`rl.grpo.step`" not in changed
    assert check(changed) == []
    assert written(document.replace("*reserved*", "soon")).count("rl.ppo") == 0


def test_a_pattern_limits_a_table() -> None:
    document = EMPTY.replace("spans -->", "spans rl.grpo.re* -->")
    assert written(document).count("\n| `rl") == 1
    assert (
        pages(document.replace("rl.grpo.re*", "rl.ppo.*")).texts["docs/spans.md"].count("\n| `rl")
        == 0
    )


def test_groups_and_presets() -> None:
    code = CODE + (
        "\nfrom rl_telemetry.registry import SpanRegistry\n"
        'SpanRegistry.register("x", ["search"], presets={"deep": ["search", "reward"]})\n'
        'with managed_span("search", "rl.x.search"):\n    ...\n'
    )
    document = FILLED.replace(
        "| `rl.grpo.step`", "| `rl.x.search` | `search` | | |\n| `rl.grpo.step`"
    )
    document += "<!-- rltel: begin groups -->\n<!-- rltel: end -->\n"
    document += "<!-- rltel: begin presets -->\n<!-- rltel: end -->\n"
    changed = written(document, code)
    assert "| Group | Presets | Bucket | Description |\n" in changed
    assert "| `reward` | `deep` | `productive` | |\n" in changed
    assert "| `search` | `deep` | | |\n" in changed
    assert "| `deep` | `search`, `reward` | |\n" in changed
    assert pages(changed, code).tables == 3
    assert pages(changed, code).stale == []
    assert check(changed, code) == []
    drifted = code.replace('["search", "reward"]', '["search"]')
    assert [stale.word for stale in pages(changed, drifted).stale] == ["groups", "presets"]


METRICS = """
from rl_telemetry.metrics import MetricSpec, register_metric_group
from rl_telemetry.metrics import TeedMetric, register_teed_metrics

register_teed_metrics([TeedMetric("reward", "rl.reward.mean", "gauge", "1")])
register_metric_group("x", [MetricSpec("seconds", "rl.step.time", kind="histogram", unit="s")])
"""


def test_metrics() -> None:
    empty = "<!-- rltel: begin metrics -->\n<!-- rltel: end -->\n"
    document = written(empty, METRICS)
    assert "| Metric | Type | Unit | Logger key | Description |\n" in document
    assert "| `rl.reward.mean` | gauge | `1` | `reward` | |\n" in document
    assert "| `rl.step.time` | histogram | `s` | `seconds` | |\n" in document
    assert pages(document, METRICS).stale == []
    other = document.replace("gauge | `1`", "Gauge | 1").replace("Logger key", "Owner")
    assert pages(other, METRICS).stale == []
    turned = "<!-- rltel: begin metrics -->\n| Unit | Metric |\n|---|---|\n<!-- rltel: end -->\n"
    changed = written(turned, METRICS.replace(', unit="s"', ""))
    assert "| `1` | `rl.reward.mean` |\n| | `rl.step.time` |\n" in changed
    made = METRICS + '\ndef make(meter):\n    return meter.create_gauge("rl.queue.length")\n'
    assert "| `rl.queue.length` | | | | |\n" in written(document, made)
    drifted = METRICS.replace("histogram", "counter")
    assert pages(document, drifted).stale[0].differences == (
        '"rl.step.time" has type counter, not histogram',
    )


def test_what_a_library_emits_by_itself_stays() -> None:
    row = "| `rl.data_plane.<op>` | `data_plane` | | of the library |\n"
    document = FILLED.replace("| `rl.grpo.step`", f"{row}| `rl.grpo.step`")
    assert pages(document).stale == []
    assert pages(document.replace("rl.data_plane", "rl.dataplane")).stale != []


def test_names_go_where_the_rows_have_them() -> None:
    document = text(
        """
        <!-- rltel: begin spans -->

        | Why | What |
        |---|---|
        | a step | `rl.grpo.step` |

        <!-- rltel: end -->
        """
    )
    assert "\n| | `rl.grpo.reward` |\n| a step | `rl.grpo.step` |\n" in written(document)


def test_markers_within_code_are_no_markers() -> None:
    quoted = "Write `<!-- rltel: begin spans -->`, and then `<!-- rltel: spans -->`.\n"
    for document in (f"```markdown\n{EMPTY}```\n", quoted, f"- {quoted}"):
        assert pages(document).tables == 0
        assert pages(document).problems == []
        assert {finding.code for finding in check(document)} == {"RLT101"}
    assert pages(quoted.replace("`", "")).problems != []


@pytest.mark.parametrize(
    ("document", "line", "said"),
    [
        ("<!-- rltel: begin spans -->\n", 1, 'this "begin" has no "end"'),
        ("a\n\n<!-- rltel: end -->\n", 3, 'this "end" has no "begin"'),
        (EMPTY.replace("spans -->", "buckets -->"), 3, '"buckets" cannot be generated'),
        (EMPTY.replace("spans -->", "-->"), 3, '"" cannot be generated'),
        (
            EMPTY.replace("<!-- rltel: end", "<!-- rltel: begin groups -->\n\n<!-- rltel: end"),
            3,
            "no",
        ),
        (
            FILLED.replace("\n<!-- rltel: end", "\n| Span |\n|---|\n| `rl.a` |\n\n<!-- rltel: end"),
            3,
            "several",
        ),
    ],
)
def test_markers_that_cannot_be_followed_are_named(document: str, line: int, said: str) -> None:
    found = pages(document)
    assert [(problem.line, said in problem.message) for problem in found.problems] == [(line, True)]
    assert not any(stale.line == line for stale in found.stale)


def test_other_markups() -> None:
    mdx = FILLED.replace("<!--", "{/*").replace("-->", "*/}")
    assert pages(mdx, path="docs/spans.mdx").tables == 1
    assert pages(mdx, path="docs/spans.mdx").stale == []
    rest = ".. rltel: begin spans\n\n.. rltel: end\n"
    assert [p.message for p in pages(rest, path="docs/a.rst").problems] == [
        "generated tables are for Markdown; write this page as .md"
    ]


def test_the_opening_marker_types_the_table_for_the_rules() -> None:
    document = FILLED.replace("| Span |", "| What |")
    assert check(document) == []
    assert check(document.replace("begin spans", "begin groups")) != []
    wrong = check(FILLED.replace("begin spans", "begin spam"))
    assert any('"rltel: begin" needs one of' in finding.message for finding in wrong)


NAMES = st.lists(
    st.from_regex(r"rl\.[a-c]{1,2}\.[a-c]{1,3}", fullmatch=True),
    min_size=1,
    max_size=5,
    unique=True,
)
WORDS = st.text(st.sampled_from("ab |\\*_<>.,1\u00e9"), max_size=10)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(NAMES, NAMES, WORDS, st.booleans())
def test_writing_is_idempotent_current_and_keeps_words(
    old: list[str], new: list[str], words: str, aligned: bool
) -> None:
    def code(names: list[str]) -> str:
        lines = [f'with managed_span("reward", "{name}"):\n    ...\n' for name in names]
        return "from rl_telemetry.instrumentation import managed_span\n" + "".join(lines)

    document = written(EMPTY, code(old))
    said = " ".join(words.replace("\\", "").replace("|", "\\|").split())
    document = document.replace("| |\n", f"| {said} |\n") if said else document
    changed = written(document, code(new))
    assert pages(changed, code(new)).stale == []
    assert written(changed, code(new)) == changed
    rows = [line for line in changed.split("\n") if line.startswith("| `rl.")]
    names = [row.split("`")[1] for row in rows]
    assert names == sorted(new)
    for row in rows:
        if row.split("`")[1] in old and said:
            assert row.endswith(f"| {said} |")
