from __future__ import annotations

from collections.abc import Callable

import pytest

from rltel_lint.facts.documents import extract_document
from rltel_lint.facts.entries import DocumentFacts
from rltel_lint.findings import Place

Read = Callable[..., DocumentFacts]

PAGES = {
    "page.md": """---
title: "`rl.front.matter`"
---
Text `rl.m.a`,
  then `rl.m.b` and
``rl.m.c``.

| Spans | Group |
|---|---|
| `rl.t.a`, `rl.t.b` and ``rl.t.c`` | `step` |
|`rl.t.d`|`step`|
 `rl.t.e` | `a\\|b` `rl.m.d`

> quoted `rl.m.e`
> | Span | Note |
> |:--|--:|
> | `rl.t.f` | `x` \\| `rl.m.f` |

1. item `rl.m.g`

   | Span |
   |------|
   | `rl.t.g` |
""",
    "page.mdx": """import A from "x"

{/* a comment with `rl.no.no` */}
<Note title="x">
  Indented `rl.m.a`.

| Span |
|---|
| `rl.t.a` |
</Note>
""",
    "page.rst": """
Text ``rl.m.a`` and :py:func:`rl.m.b`
continued ``rl.m.c``.

+------------------------+----------+
| Span                   | Group    |
+========================+==========+
| ``rl.t.a``,            | ``step`` |
| ``rl.t.b``             |          |
+------------------------+          |
| ``rl.t.b`` ``rl.t.c``  |          |
+------------------------+----------+

============  ==========
Group         Spans
============  ==========
``step``      ``rl.t.d``
``step``      ``rl.t.e``
============  ==========

.. list-table:: Title ``rl.m.d``
   :header-rows: 1
   :widths: 20 30

   * - Group
     - Spans
   * - ``step``
     - ``rl.t.f``,
       ``rl.t.g``

.. csv-table::
   :header: "Span", "Note"
   :nonsense: yes

   "``rl.t.h``", "see ``rl.m.e``"
   "``rl.t.h``", "again"

.. note:: Inside ``rl.m.f``

.. unknown-thing:: argument
   :option: value

   Text ``rl.m.g``

   * item ``rl.m.h``

Term
	indented ``rl.m.i``	and ``rl.m.j``
""",
}


def slice_of(text: str, place: Place) -> str:
    line = text.split("\n")[place.line - 1]
    return line[place.column - 1 : place.end_column - 1]


@pytest.mark.parametrize("path", PAGES)
def test_every_name_is_where_its_place_says(path: str) -> None:
    text = PAGES[path]
    facts = extract_document(path, text)
    expected = {word for word in text.replace("`", " ").split() if word.startswith("rl.")}
    expected = {word.rstrip(".,") for word in expected} - {"rl.no.no", "rl.front.matter"}
    found = [*facts.entries, *facts.mentions]
    assert {item.text for item in found if item.text.startswith("rl.")} == expected
    assert {e.text for e in facts.entries if e.kind == "span"} == {
        word for word in expected if word.startswith("rl.t.")
    }
    for item in found:
        assert slice_of(text, item.place).replace("\\|", "|") == item.text
    places = [(item.place.line, item.place.column) for item in found]
    assert len(set(places)) == len(places)


def test_the_lines_of_a_page_with_a_mark_and_dos_line_ends(read: Read) -> None:
    text = "\ufeff# Spans\r\n\r\n| Span |\r\n|---|\r\n| `rl.a` |\r\n"
    facts = extract_document("a.md", text)
    assert [(e.text, e.place.line, e.place.column) for e in facts.entries] == [("rl.a", 5, 4)]


def test_a_name_with_a_bar_ends_where_it_ends(read: Read) -> None:
    (entry,) = read("| Span | Group |\n|---|---|\n| `rl.<a\\|b>.x` | `y` |\n").entries
    assert entry.names == ("rl.a.x", "rl.b.x")
    assert (entry.place.column, entry.place.end_column) == (4, 15)
