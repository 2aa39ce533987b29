from __future__ import annotations

from collections.abc import Callable

import pytest

from rltel_lint.facts.entries import DocumentFacts

Names = Callable[..., list[tuple[str, str]]]
Read = Callable[..., DocumentFacts]


def table(header: str, *rows: str) -> str:
    columns = header.count("|") + 1
    lines = [f"| {header} |", "|" + "---|" * columns, *(f"| {row} |" for row in rows)]
    return "# Telemetry\n\n" + "\n".join(lines) + "\n"


SUBJECTS = {
    ("Span | Meaning", "`rl.a.step` | one step"): [("span", "rl.a.step")],
    ("Span name | Meaning", "`rl.a.step` | one"): [("span", "rl.a.step")],
    ("Algorithm | Spans", "**A** | `rl.a.job`, `rl.a.step`"): [
        ("span", "rl.a.job"),
        ("span", "rl.a.step"),
    ],
    ("Algorithm | Entry | Representative spans", "A | `run_a.py` | `rl.a.x`"): [("span", "rl.a.x")],
    ("Tag | Meaning", "`rl.epoch` / `rl.round` | number"): [
        ("attribute", "rl.epoch"),
        ("attribute", "rl.round"),
    ],
    ("Attribute | Type | Set on", "`dl.rank` | int | `rl.a.step`"): [("attribute", "dl.rank")],
    ("Resource attribute | Source", "`rl.model` | config"): [("resource", "rl.model")],
    ("Metric | Type | Unit | Description", "`gen_ai.client.token.usage` | Gauge | s | x"): [
        ("metric", "gen_ai.client.token.usage")
    ],
    ("OTel instrument name | Prometheus metric (example)", "`rl.loss` | `rl_loss`"): [
        ("metric", "rl.loss")
    ],
    ("Instrument | OTel name | Type", "Request time | `rl.request` | Gauge"): [
        ("metric", "rl.request")
    ],
    ("Logger prefix | Logger metric key | Emitted metric", "`train` | `loss` | `rl.loss`"): [
        ("metric", "rl.loss")
    ],
    ("Preset | Groups included", "`default` | `job`, `step`"): [("preset", "default")],
    ("Group | `rl.bucket`", "`job`, `step` | *(none)*"): [("group", "job"), ("group", "step")],
    ("Category | Meaning", "`idle/wait` | waits"): [("category", "idle/wait")],
    ("`rl.window` | Categories", "`step` | `idle/a`, `idle/b`"): [
        ("category", "idle/a"),
        ("category", "idle/b"),
    ],
    ("Bucket | Meaning", "`idle` | waits"): [("bucket", "idle")],
    ("Variable | Default", "`RL_TELEMETRY_SPANS` | off"): [("environment", "RL_TELEMETRY_SPANS")],
    ("Env var | Default", "`RL_SPANS` | off"): [("environment", "RL_SPANS")],
    ("Span", "rl.a.step"): [("span", "rl.a.step")],
    ("Group | What", "step | one step"): [("group", "step")],
    ("Span", "[`rl.a.step`](#step), [`rl.a.job`](#job)"): [
        ("span", "rl.a.step"),
        ("span", "rl.a.job"),
    ],
    ("Span", "`rl.a.step, rl.a.job`"): [("span", "rl.a.step"), ("span", "rl.a.job")],
    ("Span", "`startup`"): [("span", "startup")],
    ("Span", "**rl.a.data\\_processing**"): [("span", "rl.a.data_processing")],
}


@pytest.mark.parametrize(("case", "expected"), SUBJECTS.items())
def test_a_table_is_typed_by_its_header(
    names: Names, case: tuple[str, str], expected: list[tuple[str, str]]
) -> None:
    assert names(table(*case)) == expected


NOTHING = [
    ("Kind | Convention | Example", "Span name | `rl.<algo>.<op>` | `rl.a.step`"),
    ("Kind | Use | Example", "Span tag | context | `rl.iteration`"),
    ("Name | Default | Description", "`rl.a.step` | 1 | x"),
    ("Area | State", "`rl.a.step` | no spans"),
    (" | Layer 1 \u2014 spans | Layer 2", "What | `rl.a.generate` spans | engine"),
    ("Project | Span group extension", "A | `ASpanGroup`: rollout, reward"),
    ("Frequency | Need group gating? | Use", "hot | yes | `managed_span`"),
    ("Group | Members", "Alice and Bob | two"),
    ("Metric | Score", "accuracy | 0.9"),
    ("Attribute | Meaning", "`config.yaml` | a file"),
    ("Tag | Meaning", "`v1.2.0` | a release"),
    ("Span", "`run(x)`, `A=1`, `two words`"),
    ("Span", "`Engine.generate`"),
    ("Span", "*(none)*"),
    ("Span", "\u2013"),
]


@pytest.mark.parametrize("case", NOTHING)
def test_other_tables_document_nothing(names: Names, case: tuple[str, str]) -> None:
    assert names(table(*case)) == []


def test_prose_in_a_cell_of_names_documents_nothing(names: Names) -> None:
    cell = "`rl.x.generate` \u2014 `generation` group; nested under the active `rollout` span"
    assert names(table("Part | Spans", f"engine | {cell}")) == [("span", "rl.x.generate")]


def test_attributes_in_the_description_of_a_span_are_no_spans(read: Read) -> None:
    facts = read(table("Span | Meaning", "`rl.a.step` | carries `rl.iteration`"))
    assert [entry.text for entry in facts.entries] == ["rl.a.step"]
    assert [mention.text for mention in facts.mentions] == ["rl.iteration"]


def test_controls_describes_a_group_and_spans_emitted_documents_them(read: Read) -> None:
    controls = read(table("Group | Controls", "`step` | `rl.<algo>.step` (one each)"))
    emitted = read(table("Group | Spans emitted", "`step` | `rl.<algo>.step`"))
    assert [(e.kind, e.column("span")) for e in controls.entries] == [
        ("group", ("rl.<algo>.step",))
    ]
    assert [(e.kind, e.text) for e in emitted.entries] == [
        ("group", "step"),
        ("span", "rl.<algo>.step"),
    ]
    assert emitted.entries[1].column("group") == ("step",)


def test_other_typed_columns_come_along(read: Read) -> None:
    (entry,) = read(
        table(
            "Span | Category | Bucket | Group | Waits for",
            "`rl.idle.x` | `idle/x` | *(none \u2014 a wait)* | some prose here | `y`",
        )
    ).entries
    assert entry.columns == (("category", ("idle/x",)), ("bucket", ()))


@pytest.mark.parametrize(
    ("cell", "groups"),
    [
        ("`job`, `step`", ("job", "step")),
        ("`default` + `step`", ("default", "step")),
        ("job, step", ("job", "step")),
        ("every group (`job` included)", ("*",)),
        ("everything including `layer`", ("*",)),
        ("n/a", ()),
    ],
)
def test_the_groups_of_a_preset(read: Read, cell: str, groups: tuple[str, ...]) -> None:
    (entry,) = read(table("Preset | Groups included", f"`per_step` | {cell}")).entries
    assert dict(entry.columns) == {"group": groups}


@pytest.mark.parametrize(
    ("cell", "columns"),
    [
        ("Gauge", {"type": ("Gauge",)}),
        ("Histogram (ms)", {"type": ("Histogram",), "unit": ("ms",)}),
        ("Gauge (`{token}/s`)", {"type": ("Gauge",), "unit": ("{token}/s",)}),
        ("\u2014", {}),
    ],
)
def test_a_type_may_hold_its_unit(read: Read, cell: str, columns: dict[str, object]) -> None:
    (entry,) = read(table("Metric | Type", f"`rl.x.y` | {cell}")).entries
    assert dict(entry.columns) == columns


def test_a_table_of_span_groups_that_names_all_is_about_presets(names: Names) -> None:
    text = table("Span groups | Cost", "Off (`RL_ON=0`) | none", "`default` | low", "`all` | high")
    assert names(text) == [("preset", "default"), ("preset", "all")]
    assert names(table("Span groups | Cost", "`step` | low")) == [("group", "step")]


@pytest.mark.parametrize(
    ("heading", "kind"),
    [
        ("Span names", "span"),
        ("Spans by algorithm", "span"),
        ("Span attributes (tags)", "attribute"),
        ("Metrics", "metric"),
        ("Resource attributes", "resource"),
        ("Environment variables", "environment"),
        ("Naming conventions", None),
        ("Adding a span", None),
        ("Metric vs span tag", None),
        ("Span group \u2192 `rl.bucket`", None),
        ("Coverage gaps", None),
    ],
)
def test_a_section_types_a_table_of_names(names: Names, heading: str, kind: str | None) -> None:
    name = "RL_SPANS" if kind == "environment" else "rl.a.b"
    text = f"Telemetry.\n\n## {heading}\n\n| Name | Meaning |\n|---|---|\n| `{name}` | x |\n"
    assert names(text) == ([(kind, name)] if kind else [])


def test_attributes_in_a_resource_section_are_resource_attributes(names: Names) -> None:
    rows = "| Attribute | Source |\n|---|---|\n| `rl.model` | config |\n"
    assert names(f"# Resource attributes\n\n## Local\n\n{rows}") == [("resource", "rl.model")]
    assert names(f"# Resource attributes\n\n## Span tags\n\n{rows}") == [("attribute", "rl.model")]


def test_tables_of_a_page_about_something_else_count_only_for_our_names(names: Names) -> None:
    page = "# Users\n\n| Group | Metric |\n|---|---|\n| `admins` | `a.b` |\n"
    assert names(page) == []
    assert names(page.replace("# Users", "# Span groups")) == [("group", "admins")]
    assert names("| Metric |\n|---|\n| rl.loss |\n") == [("metric", "rl.loss")]


def test_templates_are_expanded(read: Read) -> None:
    (entry,) = read(table("Span", "`rl.{grpo,ppo}.<op>`")).entries
    assert entry.text == "rl.{grpo,ppo}.<op>"
    assert entry.names == ("rl.grpo.*", "rl.ppo.*")


def test_tables_are_numbered(read: Read) -> None:
    one = table("Span", "`rl.a.x`")
    facts = read(one + "\nText.\n\n| A |\n|---|\n| b |\n\n" + one.split("\n\n", 1)[1])
    assert [entry.table for entry in facts.entries] == [0, 2]
