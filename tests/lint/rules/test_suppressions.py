"""RLT001: comments that silence nothing, or more than they name."""

from __future__ import annotations

import pytest

from rltel_lint.rules.suppressions import UnusedSuppression
from tests.lint.support import lint

HEAD = """\
from rl_telemetry.instrumentation import managed_span, trace_fn
from rl_telemetry.span_groups import RLSpanGroup

"""
CALL = 'with managed_span(RLSpanGroup.GENERATION, "rl.rollout"):'
DOCUMENTED = "| Span | What |\n|---|---|\n| `rl.rollout` | x |\n"


def _said(comment: str, *, hides: bool, extra: dict[str, str] | None = None) -> list[str]:
    """What is said of a comment beside a span that is documented, or (``hides``) is not."""
    files = {
        "train.py": f"{HEAD}{CALL}  {comment}\n    pass\n",
        "docs/spans.md": DOCUMENTED.replace("rl.rollout", "rl.other") if hides else DOCUMENTED,
    }
    found = lint({**files, **(extra or {})}, UnusedSuppression)
    assert all(one.place.path == "train.py" and one.place.line == 4 for one in found)
    text = files["train.py"].splitlines()[3]
    for one in found:
        marked = text[one.place.column - 1 : one.place.end_column - 1]
        assert marked
        assert marked in comment
    return [one.message for one in found]


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa: RLT101",
        "# noqa:RLT101 a reason",
        "# NOQA: RLT101",
        "# noqa: E501, RLT101",
        "# noqa: E501 RLT1",
        "# type: ignore # noqa: RLT101",
    ],
)
def test_a_code_is_unused_where_there_is_nothing_to_silence(comment: str) -> None:
    assert _said(comment, hides=True) == []
    (message,) = _said(comment, hides=False)
    assert message.endswith("silences nothing here; take it out")


def test_each_unused_code_is_named() -> None:
    assert _said("# noqa: RLT101, RLT401, RLT106", hides=True) == [
        "RLT401 silences nothing here; take it out",
        "RLT106 silences nothing here; take it out",
    ]


@pytest.mark.parametrize(
    ("comment", "wanted"),
    [
        ("# noqa: RLT", "RLT101"),
        ("# noqa: RLT-101", "# noqa: RLT101"),
        ("# noqa : RLT101", "# noqa: RLT101"),
        ("# noqa RLT101", "# noqa: RLT101"),
        ("# noqa:  RLT101", "# noqa: RLT101"),
        ("# noqa: undocumented-span", "RLT101"),
    ],
)
@pytest.mark.parametrize("hides", [True, False])
def test_what_flake8_silently_takes_for_a_blanket_comment(
    comment: str, wanted: str, hides: bool
) -> None:
    (message,) = _said(comment, hides=hides)
    assert message.startswith(f'"{comment}" silences everything on its line')
    assert wanted in message


@pytest.mark.parametrize(
    "comment",
    ["#noqa: RLT101", "#  noqa: RLT101", "#noqa:E501,RLT101", "# noqa: E501 # noqa: RLT101"],
)
def test_what_flake8_does_not_read(comment: str) -> None:
    (message,) = _said(comment, hides=True)
    assert "is not read by flake8" in message
    assert 'write "# noqa: RLT101"' in message


def test_lower_case_and_unknown_codes() -> None:
    assert _said("# noqa: rlt101", hides=True) == [
        'rlt101 is not read by flake8; write "# noqa: RLT101"'
    ]
    (message,) = _said("# noqa: RLT999", hides=False)
    assert message.startswith("RLT999 is the code of no rule")


@pytest.mark.parametrize("comment", ["# noqa", "# NOQA", "# noqa because it is long", "# noqa: x"])
def test_a_blanket_comment_is_reported_where_it_hides_a_finding_only(comment: str) -> None:
    assert _said(comment, hides=False) == []
    (message,) = _said(comment, hides=True)
    assert "hides RLT101 among all else" in message
    assert message.endswith('write "# noqa: RLT101"')


@pytest.mark.parametrize(
    "comment", ["# noqa: E501", "# noqa: F401 and more", "# quiet", "# RLT101"]
)
def test_comments_for_others_are_their_business(comment: str) -> None:
    assert _said(comment, hides=False) == []
    assert _said(comment, hides=True) == []


def test_a_text_is_no_comment() -> None:
    text = f'{HEAD}{CALL}\n    text = """\n    x  # noqa: RLT101\n    """\n'
    assert lint({"train.py": text, "docs/spans.md": DOCUMENTED}, UnusedSuppression) == []


@pytest.mark.parametrize(
    ("comment", "hides", "reported"),
    [
        ("# flake8: noqa: RLT101", False, True),
        ("# flake8: noqa: RLT101", True, True),
        ("# flake8: noqa", True, True),
        ("# flake8: noqa", False, False),
        ("# flake8: noqa: E501", False, False),
    ],
)
def test_a_comment_for_the_whole_file(comment: str, hides: bool, reported: bool) -> None:
    documents = DOCUMENTED.replace("rl.rollout", "rl.other") if hides else DOCUMENTED
    files = {"train.py": f"{comment}\n{HEAD}{CALL}\n    pass\n", "docs/spans.md": documents}
    found = lint(files, UnusedSuppression)
    assert [one.place.line for one in found] == ([1] if reported else [])
    assert all("per-file-ignores" in one.message for one in found)


def test_nothing_is_unused_while_a_file_cannot_be_read() -> None:
    broken = {"other.py": "def (:\n"}
    assert _said("# noqa: RLT101", hides=False, extra=broken) == []
    assert len(_said("# noqa : RLT101", hides=False, extra=broken)) == 1


def test_a_comment_on_another_line_of_the_call_or_on_its_definition_is_used() -> None:
    text = (
        f'{HEAD}with managed_span(\n    RLSpanGroup.GENERATION, "rl.a"\n):  # noqa: RLT101\n'
        '    pass\n\n\n@trace_fn(RLSpanGroup.GENERATION, "rl.b")\ndef run():  # noqa: RLT101\n'
        "    pass\n"
    )
    assert lint({"train.py": text}, UnusedSuppression) == []
    documented = DOCUMENTED + "| `rl.a` | x |\n| `rl.b` | x |\n"
    found = lint({"train.py": text, "docs/spans.md": documented}, UnusedSuppression)
    assert [one.place.line for one in found] == [6, 11]


def test_comments_in_documents() -> None:
    rows = (
        "| Span | What |\n|---|---|\n"
        "| `rl.rollout` | x <!-- rltel: ignore RLT102 --> |\n"
        "| `rl.gone` | x <!-- rltel: ignore RLT102 until May --> |\n"
        "| `rl.rollout` | x <!-- rltel: ignore --> |\n"
        "| `rl.rollout` | write `<!-- rltel: ignore RLT102 -->` |\n"
        "\n```markdown\n<!-- rltel: ignore RLT102 -->\n```\n"
    )
    files = {"train.py": f"{HEAD}{CALL}\n    pass\n", "docs/spans.md": rows}
    found = lint(files, UnusedSuppression)
    assert [(one.place.line, one.message) for one in found] == [
        (3, "RLT102 silences nothing here; take it out"),
        (5, '"<!-- rltel: ignore -->" names no code; write "rltel: ignore RLT102 reason"'),
    ]
