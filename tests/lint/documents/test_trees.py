from __future__ import annotations

from collections.abc import Callable

import pytest

from rltel_lint.facts.entries import DocumentFacts

Read = Callable[..., DocumentFacts]
TREE = """
# {}

```{}
rl.a.job                    # job
  \u251c\u2500\u2500 rl.a.step             # step (one each)
  \u2502     \u2514\u2500\u2500 rl.a.inner      # of the driver
  \u251c\u2500\u2500 other.thing           # reserved
  \u2514\u2500\u2500 rl.a.step
```
"""


def test_a_drawn_tree_documents_spans_with_their_group(read: Read) -> None:
    facts = read(TREE.format("Span hierarchy", ""))
    assert [(e.text, e.column("group"), e.status) for e in facts.entries] == [
        ("rl.a.job", ("job",), "active"),
        ("rl.a.step", ("step",), "active"),
        ("rl.a.inner", (), "active"),
        ("other.thing", (), "reserved"),
    ]
    assert [(e.place.line, e.place.column) for e in facts.entries][:3] == [(4, 1), (5, 7), (6, 13)]


@pytest.mark.parametrize(("heading", "language"), [("Files", ""), ("Spans", "python")])
def test_elsewhere_a_tree_documents_nothing(read: Read, heading: str, language: str) -> None:
    facts = read(TREE.format(heading, language))
    assert facts.entries == ()
    assert [fence.language for fence in facts.fences] == [language]


def test_a_marker_makes_a_block_a_tree(read: Read) -> None:
    page = TREE.format("Files", "text").replace("```text", "<!-- rltel: spans -->\n```text")
    assert len(read(page).entries) == 4


@pytest.mark.parametrize(
    ("block", "count"),
    [
        ("rl.a.job\nrl.a.step", 2),
        ("rl.a.x = rl.a.y + rl.a.z", 0),
        ("rl.a.job\nand some prose", 0),
        ("pkg\n\u2514\u2500\u2500 rl.py", 0),
        ("pkg/\n\u251c\u2500\u2500 a.b.c\n\u2514\u2500\u2500 d.e.f", 0),
    ],
)
def test_plain_blocks(read: Read, block: str, count: int) -> None:
    assert len(read(f"# Spans\n\n```\n{block}\n```\n").entries) == count


def test_fences_tell_their_language_and_first_line(read: Read) -> None:
    facts = read(
        """
        - item

          ```Python title="a.py"
          x = 1
          ```

        ```{code-block} python
        y = 2
        ```

        ~~~
        z
        ~~~
        """
    )
    assert [(f.language, f.text, f.place.line, f.place.column) for f in facts.fences] == [
        ("python", "x = 1\n", 4, 3),
        ("python", "y = 2\n", 8, 1),
        ("", "z\n", 12, 1),
    ]
