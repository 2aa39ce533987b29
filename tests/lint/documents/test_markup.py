from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rltel_lint.facts.entries import DocumentFacts

Read = Callable[..., DocumentFacts]
Names = Callable[..., list[tuple[str, str]]]


def test_mdx_comments_may_be_markers(names: Names) -> None:
    page = "{/* rltel: spans */}\n| Thing |\n|---|\n| `rl.a.x` |\n"
    assert names(page, path="a.mdx") == [("span", "rl.a.x")]
    assert names(page.replace("spans", "ignore"), path="a.mdx") == []


def test_mdx_between_tags_is_markdown(names: Names) -> None:
    page = (
        "export const x = 1\n\n<Tabs>\n<Tab\n  title='x'\n>\n| Span |\n|---|\n| `rl.a.x` |\n"
        "</Tab>\n</Tabs>\n"
    )
    assert names(page, path="a.mdx") == [("span", "rl.a.x")]


def test_myst_admonitions_are_markdown(names: Names) -> None:
    page = "Text.\n\n```{note}\n| Span |\n|---|\n| `rl.a.x` |\n```\n"
    assert names(page) == [("span", "rl.a.x")]
    assert names(page.replace("{note}", "markdown")) == []


def test_rest_markers_lists_sections_and_trees(read: Read) -> None:
    facts = read(
        """
        Spans
        =====

        .. rltel: spans

        * ``rl.a.list``

        rl.a.term
            Explained.

        Span tree::

            rl.a.job
            \u2514\u2500\u2500 rl.a.step   # step

        .. code-block:: python
           :linenos:

           x = 1

        >>> y
        2
        """,
        path="a.rst",
    )
    assert [(e.text, e.place.line) for e in facts.entries] == [
        ("rl.a.list", 6),
        ("rl.a.job", 13),
        ("rl.a.step", 14),
    ]
    assert [(f.language, f.place.line, f.place.column) for f in facts.fences] == [
        ("", 13, 5),
        ("python", 19, 4),
        ("pycon", 21, 1),
    ]


def test_rest_without_a_header_needs_a_marker(names: Names) -> None:
    rows = "=======  ====\n``rl.x``  a\n=======  ====\n"
    rows = "========  ====\n``rl.x``  a\n========  ====\n"
    assert names(f"Text\n\n{rows}", path="a.rst") == []
    assert names(f".. rltel: spans\n\n{rows}", path="a.rst") == [("span", "rl.x")]


def test_rest_opens_no_other_file(read: Read, tmp_path: Path) -> None:
    other = tmp_path / "other.rst"
    other.write_text("``rl.secret``\n")
    page = (
        f".. include:: {other}\n\n.. csv-table::\n   :file: {other}\n\n"
        f".. raw:: html\n   :file: {other}\n\n.. literalinclude:: {other}\n\n``rl.own``\n"
    )
    facts = read(page, path="a.rst")
    assert [m.text for m in facts.mentions] == ["rl.own"]
    assert facts.fences == ()


def test_a_page_of_plain_prose_is_passed_over(read: Read) -> None:
    assert read("Spans and groups of rl.a.b.\n") == DocumentFacts("docs/page.md")
