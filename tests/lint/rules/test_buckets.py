"""RLT205 and RLT206: buckets and presets against the groups that exist."""

from __future__ import annotations

import pytest

from rltel_lint.rules.buckets import BucketDrift, GroupInNoPreset
from tests.lint.support import lint

USED = """
from rl_telemetry.instrumentation import managed_span, umbrella_span
from rl_telemetry.registry import SpanRegistry

SpanRegistry.register("search", ["search", "expand", "tree"]{presets})
UMBRELLA_GROUPS = frozenset({{"tree"}})
DEFAULT_GROUP_BUCKET = {table}

def run():
    with umbrella_span("tree", "rl.search.tree"), managed_span("search", "rl.search.run"):
        with managed_span("{leaf}", "rl.search.expand"):
            ...
"""
DOCS = """
# Groups of `rl.search`

| Group | Bucket |
|---|---|
| `search` | {one} |
| `expand` | {two} |
"""


def _files(
    table: str = '{"search": "productive", "expand": "overhead"}',
    presets: str = "",
    leaf: str = "expand",
    docs: str = "",
) -> dict[str, str]:
    files = {"pkg/groups.py": USED.format(table=table, presets=presets, leaf=leaf)}
    return {**files, "docs/groups.md": docs} if docs else files


TABLES = {
    "all leaves": ('{"search": "productive", "expand": "overhead"}', ""),
    "an enum": ('{"search": B.PRODUCTIVE, "expand": B.OVERHEAD}', ""),
    "open-ended": ('{"search": "productive", **more()}', ""),
    "computed": ("make_table()", ""),
    "a leaf is missing": ('{"search": "productive"}', "no bucket for it"),
    "an umbrella": (
        '{"search": "productive", "expand": "overhead", "tree": "idle"}',
        "is an umbrella group",
    ),
    "unregistered": (
        '{"search": "productive", "expand": "overhead", "prune": "idle"}',
        "registered nowhere",
    ),
    "misspelt": ('{"search": "productive", "expandd": "overhead"}', 'did you mean "expand"'),
}


@pytest.mark.parametrize("case", TABLES)
def test_bucket_table(case: str) -> None:
    table, expected = TABLES[case]
    messages = [finding.message for finding in lint(_files(table), BucketDrift)]
    assert len(messages) == bool(expected)
    assert all(expected in message for message in messages)


def test_an_entry_for_a_group_without_spans_is_dead_unless_reserved() -> None:
    files = _files(leaf="search")
    (finding,) = lint(files, BucketDrift)
    assert '"expand", which no span uses' in finding.message
    docs = "# Groups of `rl.x`\n\n| Group | Covers |\n|---|---|\n| `expand` | *reserved* |\n"
    assert lint({**files, "docs/g.md": docs}, BucketDrift) == []


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        ("`productive`", "`overhead`", 0),
        ("productive", "overhead", 0),
        ("`productive`", "its category's", 0),
        ("`productive`", "*(none)*", 0),
        ("`productive`", "`productive`", 1),
        ("`idle`", "`productive`", 2),
    ],
)
def test_documented_buckets(one: str, two: str, expected: int) -> None:
    files = _files(docs=DOCS.format(one=one, two=two))
    assert len(lint(files, BucketDrift)) == expected


@pytest.mark.parametrize(
    ("group", "bucket", "expected"),
    [
        ("reward", "productive", 0),
        ("reward", "overhead", 1),
        ("logprob", "overhead", 0),
        ("step", "overhead", 1),
        ("efficiency", "idle", 0),
    ],
)
def test_documented_buckets_of_the_library(group: str, bucket: str, expected: int) -> None:
    docs = f"# Groups of `rl.x`\n\n| Group | Bucket |\n|---|---|\n| `{group}` | `{bucket}` |\n"
    assert len(lint({"docs/g.md": docs}, BucketDrift)) == expected


def test_a_row_of_a_bucket_lists_its_groups() -> None:
    docs = "# `rl.x`\n\n| Bucket | Groups |\n|---|---|\n| `productive` | `search`{more} |\n"
    assert lint(_files(docs=docs.format(more="")), BucketDrift) == []
    (finding,) = lint(_files(docs=docs.format(more=", `expand`")), BucketDrift)
    assert 'group "expand", which counts as "overhead"' in finding.message


PRESETS = {
    "no presets at all": ("", 0),
    "each in one": (', presets={"a": ["search", "tree"], "b": ["expand"]}', 0),
    "one has everything": (', presets={"deep": ["search", "tree", "expand"]}', 0),
    "built elsewhere": (', presets={"a": ["search", "tree"], "b": more()}', 0),
    "one in none": (', presets={"a": ["search", "tree"]}', 1),
    "one in all": (', presets={"a": ["search", "tree"], "all": ["expand"]}', 1),
    "two in none": (', presets={"a": ["search"]}', 2),
}


@pytest.mark.parametrize("case", PRESETS)
def test_presets(case: str) -> None:
    presets, expected = PRESETS[case]
    assert len(lint(_files(presets=presets), GroupInNoPreset)) == expected


def test_a_group_that_no_span_uses_is_not_asked_for_a_preset() -> None:
    presets = ', presets={"a": ["search", "tree"]}'
    assert lint(_files(presets=presets, leaf="search"), GroupInNoPreset) == []
    assert len(lint(_files(presets=presets), GroupInNoPreset)) == 1


def test_leaving_a_group_out_on_purpose_is_said_in_code_or_documents() -> None:
    files = _files(presets=', presets={"a": ["search", "tree"]}')
    assert len(lint(files, GroupInNoPreset)) == 1
    docs = "# `rl.x`\n\n| Preset | Groups |\n|---|---|\n| `all` | everything, `expand` too |\n"
    assert lint({**files, "docs/p.md": docs}, GroupInNoPreset) == []
    other = docs.replace("`expand` too", "really")
    assert len(lint({**files, "docs/p.md": other}, GroupInNoPreset)) == 1
    commented = files["pkg/groups.py"].replace(
        "SpanRegistry.register(",
        "# expand is costly: in no preset on purpose.\nSpanRegistry.register(",
    )
    assert lint({"pkg/groups.py": commented}, GroupInNoPreset) == []


def test_a_class_with_presets_of_its_own_replaces_those_of_the_library() -> None:
    code = """
    from nemo.lens import managed_span
    from nemo.lens.groups import SpanGroup

    class Groups(SpanGroup):
        SEARCH = "search"
        ALL = SpanGroup.ALL_GROUPS | frozenset([SEARCH])
        _PRESETS = {{"default": frozenset([SpanGroup.JOB, SEARCH{more}]), "all": ALL}}

    def f():
        with managed_span(Groups.SEARCH, "rl.s"), managed_span(Groups.MODEL_INIT, "rl.m"):
            ...
    """
    clean = {"g.py": code.format(more=", SpanGroup.MODEL_INIT")}
    assert lint(clean, GroupInNoPreset, profile="nemo_lens") == []
    (finding,) = lint({"g.py": code.format(more="")}, GroupInNoPreset, profile="nemo_lens")
    assert '"model_init" is in no preset' in finding.message


@pytest.mark.parametrize(
    ("group", "bucket", "wrong"),
    [
        ("search", "productive", False),
        ("search", "idle", True),
        ("expand", "productive", True),
        ("expand", "overhead", False),
        ("search", "overhead", False),  # as in an evaluation
        ("tree", "–", False),  # noqa: RUF001
        ("search`, `expand", "productive", False),
        ("search`, `expand", "idle", True),
        ("search`, `tree", "productive", False),
        ("search`, `tree", "idle", True),
        ("search`, `unheard", "idle", False),
    ],
)
def test_the_row_of_a_span_names_its_group_s_bucket(group: str, bucket: str, wrong: bool) -> None:
    docs = f"| Span | Group | Bucket |\n|---|---|---|\n| `rl.search.x` | `{group}` | {bucket} |\n"
    found = lint(_files(docs=docs), BucketDrift)
    assert [(one.code, one.place.line) for one in found] == ([("RLT205", 3)] if wrong else [])


MAPPED = """
from enum import Enum

class Bucket(str, Enum):
    IDLE = "idle"
    OVERHEAD = "overhead"

EFFICIENCY_CATEGORY_BUCKET = {{"idle/refit_bubble": {value}, "idle/queue": Bucket.OVERHEAD}}
"""
CATEGORY_ROWS = [
    ("idle/refit_bubble", "idle", '"idle"', 0),
    ("idle/refit_bubble", "overhead", '"idle"', 1),
    ("idle/refit_bubble", "idle", "Bucket.IDLE", 0),
    ("idle/refit_bubble", "overhead", "Bucket.IDLE", 1),
    ("idle/refit_bubble", "overhead", "chosen()", 1),  # the runtime's own
    ("idle/queue", "overhead", "Bucket.IDLE", 0),
    ("idle/queue", "idle", "Bucket.IDLE", 1),
    ("idle/unheard", "overhead", "Bucket.IDLE", 0),
    ("idle/queue", "see there", "Bucket.IDLE", 0),
    ("wasted/failed_trajectory", "wasted", "Bucket.IDLE", 0),
    ("wasted/failed_trajectory", "idle", "Bucket.IDLE", 1),
]


@pytest.mark.parametrize(("category", "bucket", "value", "expected"), CATEGORY_ROWS)
def test_the_bucket_of_a_documented_category(
    category: str, bucket: str, value: str, expected: int
) -> None:
    code = {"waits.py": MAPPED.format(value=value)}
    row = f"# Waits (`rl.idle`)\n\n| Category | Bucket |\n|---|---|\n| `{category}` | {bucket} |\n"
    assert len(lint({**code, "docs/waits.md": row}, BucketDrift)) == expected
    spans = "| Span | Category | Bucket |\n|---|---|---|\n| `rl.idle.x` | `{}` | {} |\n"
    page = spans.format(category, bucket)
    assert len(lint({**code, "docs/waits.md": page}, BucketDrift)) == expected
