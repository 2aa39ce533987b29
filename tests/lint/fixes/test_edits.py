"""Edits of texts as properties: line ends, sequences, and what is kept between runs."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize

from hypothesis import given, settings
from hypothesis import strategies as st

from rltel_lint.changes import (
    AddArgument,
    AddRow,
    Edit,
    Fix,
    RemoveElement,
    RenameCall,
    ReplaceText,
    encode_fix,
)
from rltel_lint.findings import Place
from rltel_lint.fixes.edits import NotApplicable, apply_edits, clash
from rltel_lint.fixes.python import python_edits
from rltel_lint.fixes.source import Source
from rltel_lint.remedies import decode_fix

ENDS = st.sampled_from(["\n", "\r\n", "\r"])
LINE = st.text("ab \u00e9\u4e16", max_size=6)


@given(st.lists(st.tuples(LINE, ENDS), min_size=1, max_size=8), st.data())
def test_lines_that_stay_keep_their_ends(lines: list[tuple[str, str]], data: st.DataObject) -> None:
    text = "".join(line + end for line, end in lines)
    text = text.replace("\r\r\n", "\r\n")
    parts = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)", text)
    number = data.draw(st.integers(1, len(parts)))
    length = len(parts[number - 1].rstrip("\r\n"))
    start = data.draw(st.integers(1, length + 1))
    end = data.draw(st.integers(start, length + 1))
    new = data.draw(st.text("xy\n", max_size=4))
    changed = apply_edits(text, [Edit(Place("d.md", number, start, number, end), new)])
    head, tail = "".join(parts[: number - 1]), "".join(parts[number:])
    assert changed.startswith(head)
    assert changed.endswith(tail)
    middle = changed[len(head) : len(changed) - len(tail)] if tail else changed[len(head) :]
    line = parts[number - 1]
    flat = re.sub(r"\r\n|\r", "\n", middle)
    assert flat == re.sub(r"\r\n|\r", "\n", line[: start - 1] + new + line[end - 1 :])


def test_new_lines_end_as_most_do() -> None:
    edit = Edit(Place("d.md", 2, 1, 2, 1), "x\n")
    assert apply_edits("a\r\nb\r\nc\n", [edit]) == "a\r\nx\r\nb\r\nc\n"
    assert apply_edits("a\nb\nc\r\n", [edit]) == "a\nx\nb\nc\r\n"


def test_two_line_ends_never_become_one() -> None:
    edit = Edit(Place("d.md", 2, 1, 2, 1), "\nx")
    assert apply_edits("a\rb\n", [edit]) == "a\r\r\nxb\n"


def test_lines_added_at_one_point_are_in_order() -> None:
    place = Place("d.md", 1, 2, 1, 2)
    edits = [Edit(place, "\nc"), Edit(place, "\nb")]
    assert apply_edits("a\nd\n", edits) == apply_edits("a\nd\n", edits[::-1]) == "a\nb\nc\nd\n"


def test_edits_clash_when_they_share_text_or_a_point() -> None:
    def at(start: int, end: int, text: str = "", path: str = "d.md") -> Edit:
        return Edit(Place(path, 1, start, 1, end), text)

    assert clash(at(1, 5), at(3, 7))
    assert clash(at(3, 3, "a"), at(3, 3, "b"))
    assert clash(at(1, 5), at(1, 1, "a"))
    assert clash(at(3, 3, "\na", "a.py"), at(3, 3, "\nb", "a.py"))
    assert not clash(at(3, 3, "\na"), at(3, 3, "\nb"))
    assert not clash(at(1, 3), at(3, 5))
    assert not clash(at(1, 5), at(1, 5))
    assert not clash(at(1, 5), at(1, 5, path="e.md", text="x"))


BLANKS = st.sampled_from(["", " ", "\n    ", "  # note\n    ", "\n\n  "])
ELEMENT = st.sampled_from(['"a"', "('b')", "[1, 2]", "(3)", "f(4)", '"#,"', "{5: 6}", "7"])


@st.composite
def sequences(draw: st.DrawFn, *, least: int = 0) -> tuple[str, list[str]]:
    """A bracketed sequence in any formatting, without its brackets, and its elements."""
    elements = draw(st.lists(ELEMENT, min_size=least, max_size=4))
    parts = [draw(BLANKS)]
    for place, element in enumerate(elements):
        parts += [element, draw(BLANKS)]
        last = place == len(elements) - 1
        if not last or draw(st.booleans()):
            parts += [",", draw(BLANKS)]
    return "".join(parts), elements


def comments(text: str) -> int:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return sum(1 for token in tokens if token.type == tokenize.COMMENT)


@settings(deadline=None, max_examples=300)
@given(sequences())
def test_an_argument_is_added_last_and_comments_stay(given_: tuple[str, list[str]]) -> None:
    inner, elements = given_
    text = f"from m import n\nx = f({inner})\n"
    call = ast.parse(text).body[1].value  # type: ignore[attr-defined]
    place = at(call)
    source = Source("t.py", text)
    edits = python_edits(source, AddArgument(place, "**{}()", "m", "n"))
    changed = apply_edits(text, edits)
    new = ast.parse(changed).body[1].value  # type: ignore[attr-defined]
    assert [ast.dump(arg) for arg in new.args] == [ast.dump(arg) for arg in call.args]
    assert len(new.args) == len(elements)
    assert [ast.unparse(keyword) for keyword in new.keywords] == ["**n()"]
    assert comments(changed) == comments(text)


def at(node: ast.expr) -> Place:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return Place("t.py", node.lineno, node.col_offset + 1, node.end_lineno, node.end_col_offset + 1)


def removal(source: Source, place: Place) -> list[Edit] | None:
    try:
        return python_edits(source, RemoveElement(place))
    except NotApplicable:
        return None


@settings(deadline=None, max_examples=300)
@given(sequences(least=1), st.sampled_from(["[]", "()", "{}"]), st.data())
def test_an_element_is_removed_and_no_other(
    given_: tuple[str, list[str]], brackets: str, data: st.DataObject
) -> None:
    inner, elements = given_
    if brackets != "[]" and len(elements) == 1:
        inner = inner if brackets == "()" and "," in inner else '"a", 1'
        elements = ['"a"', "1"]
    text = f"x = {brackets[0]}{inner}{brackets[1]}\n"
    display = ast.parse(text).body[0].value  # type: ignore[attr-defined]
    if not isinstance(display, (ast.List, ast.Tuple, ast.Set)):
        return
    index = data.draw(st.integers(0, len(display.elts) - 1))
    node = display.elts[index]
    place = at(node)
    source = Source("t.py", text)
    edits = removal(source, place)
    if edits is None:
        alone = isinstance(display, ast.Set) and len(display.elts) == 1
        assert alone or "#" in inner
        return
    changed = apply_edits(text, edits)
    new = ast.parse(changed).body[0].value  # type: ignore[attr-defined]
    assert type(new) is type(display)
    left = [ast.dump(one) for place, one in enumerate(display.elts) if place != index]
    assert [ast.dump(one) for one in new.elts] == left


def test_a_fix_survives_being_kept() -> None:
    place = Place("a.py", 1, 2, 3, 4)
    fix = Fix(
        "do it",
        (
            ReplaceText(place, "a", "b"),
            RenameCall(place, "a", "b"),
            AddArgument(place, "**{}()", "m", "n"),
            AddRow(place, "rl.a", (("group", ("x", "y")), ("bucket", ()))),
        ),
        safe=False,
    )
    assert decode_fix(json.loads(json.dumps(encode_fix(fix)))) == fix
    other = Fix(fix.message, fix.changes[1:], safe=False)
    assert decode_fix(encode_fix(fix)) != other
