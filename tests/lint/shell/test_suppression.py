"""Comments that silence a finding: as flake8 reads them, and their counterpart in documents."""

from __future__ import annotations

import pytest

from rltel_lint.findings import Finding, Place
from rltel_lint.suppression import Suppressions


def _kept(text: str, path: str = "a.py", code: str = "RLT101", line: int = 1, end: int = 0) -> bool:
    finding = Finding(Place(path, line, 1, end, 1), code, "name", "message")
    kept = Suppressions({path: text}, {}).keep([finding])
    assert kept in ((), (finding,))
    return bool(kept)


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa: RLT101",
        "# noqa:RLT101",
        "# NOQA: RLT101",
        "# NoQA: RLT101",
        "# noqa: E501 RLT101",
        "# noqa: E501,RLT101",
        "# noqa: E501, RLT101",
        "# noqa: RLT101 because the backend renames it",
        "# type: ignore # noqa: RLT101",
        "# noqa: RLT1",
        "# noqa: RLT10",
        "# noqa",
        "# noqa because x",
        "# noqa : RLT202",
        "# noqa RLT202",
        "# noqa: RLT",
        "# noqa: RLT-202",
        "# noqa: span-undocumented",
    ],
)
def test_a_comment_that_silences(comment):
    assert not _kept(f"x = 1  {comment}\n")
    assert _kept(f"x = 1\ny = 2  {comment}\n"), "it speaks for its own line"


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa: RLT102",
        "# noqa: RLT102 because x",
        "# noqa: rlt101",
        "#noqa: RLT101",
        "# noqa: E501",
        "# noqa: RLT1011",
        "# noqa: E501RLT101",
        "#  noqa",
        "# quiet",
    ],
)
def test_a_comment_that_does_not_silence(comment):
    assert _kept(f"x = 1  {comment}\n")


@pytest.mark.parametrize(
    ("comment", "silent"),
    [
        ("# flake8: noqa", True),
        ("# flake8: NOQA", True),
        ("    # flake8: noqa", True),
        ("# flake8: noqa: RLT202", True),
        ("# flake8=noqa", True),
        ("x = 1  # flake8: noqa", False),
        ("# flake8 noqa", False),
    ],
)
def test_a_comment_for_the_whole_file(comment, silent):
    assert _kept(f"import x\ny = 2\n{comment}\n", line=2) is not silent


def test_a_comment_on_any_line_of_the_range():
    call = "span(\n    'rl.x',\n)  # noqa: RLT101\nother()\n"
    assert not _kept(call, line=1, end=3)
    assert _kept(call, line=1)
    assert _kept(call, line=4)


def test_a_comment_after_a_multi_line_string_or_a_continued_line_speaks_for_all_of_it():
    assert not _kept("x = '''\nrl.x\n'''  # noqa: RLT101\n", line=2)
    assert not _kept("x = 1 + \\\n    2  # noqa: RLT101\n", line=1)
    assert _kept("x = (1 +\n    2)  # noqa: RLT101\n", line=1)


@pytest.mark.parametrize(
    "text",
    [
        "if 1:\n        x  # noqa: RLT101\n    y\n",
        "def (:\nx = 1  # noqa: RLT101\n",
        "x = '''\nx  # noqa: RLT101\n",
    ],
)
def test_a_file_that_does_not_parse_has_comments_all_the_same(text):
    assert not _kept(text, line=2)
    assert _kept(text, line=1)


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_other_line_ends(end):
    text = f"x = '\x0c\u2028'{end}y = 2  # noqa: RLT101{end}z = 3{end}"
    assert [_kept(text, line=line) for line in (1, 2, 3)] == [True, False, True]


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        ("a.md", "| `rl.x` | <!-- rltel: ignore RLT102 emitted by the backend --> |", 1),
        ("a.md", "| `rl.x` | <!--rltel:ignore RLT101, RLT102--> |", 1),
        ("a.md", "| `rl.x` | <!-- rltel: ignore RLT1 --> |", 1),
        ("a.md", "<!-- rltel: ignore RLT102 -->\n- `rl.x`", 2),
        ("a.md", "<!-- rltel: ignore RLT102 -->\n\n- `rl.x`", 3),
        ("a.md", "<!-- rltel: ignore RLT102 -->\n<!-- rltel: ignore RLT104 -->\n- `rl.x`", 3),
        ("a.mdx", "{/* rltel: ignore RLT102 */}\n- `rl.x`", 2),
        ("a.rst", ".. rltel: ignore RLT102 not ours\n\n``rl.x``\n", 3),
    ],
)
def test_a_comment_in_a_document(path, text, line):
    assert not _kept(text, path, "RLT102", line)
    assert _kept(text, path, "RLT204", line), "other codes stay"
    assert _kept(text.replace("rltel", "other"), path, "RLT102", line)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("<!-- rltel: ignore RLT102 -->\ntext\n- `rl.x`", 3),
        ("| `rl.y` | <!-- rltel: ignore RLT102 --> |\n| `rl.x` | |", 2),
        ("- `rl.x`\n<!-- rltel: ignore RLT102 -->", 1),
        ("- `rl.x` <!-- rltel: ignore -->", 1),
        ("- `rl.x` <!-- rltel: ignore because -->", 1),
        ("- `rl.x` # noqa: RLT102", 1),
        ("<!-- rltel: spans -->", 9),
    ],
)
def test_a_comment_in_a_document_that_does_not_reach(text, line):
    assert _kept(text, "a.md", "RLT102", line)


def test_ignores_per_file():
    ignores = {"legacy/**": ("RLT1",), "*_old.py": ("RLT201",)}
    suppressions = Suppressions({}, ignores)
    findings = [
        Finding(Place(path), code, "name", "message")
        for path in ("legacy/a.py", "b_old.py", "new.py")
        for code in ("RLT101", "RLT201")
    ]
    kept = [(one.place.path, one.code) for one in suppressions.keep(findings)]
    assert kept == [
        ("legacy/a.py", "RLT201"),
        ("b_old.py", "RLT101"),
        ("new.py", "RLT101"),
        ("new.py", "RLT201"),
    ]
