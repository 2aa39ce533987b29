"""Patterns that are found faster match just what the plain ones match."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from rltel_lint.facts.occurrences import beginning, occurrences, words_in

NAMES = st.text("ab_/.é1", min_size=1, max_size=4)
TEXTS = st.text("ab_/.é1 :(", max_size=20)


@given(NAMES, TEXTS)
def test_a_name_that_no_word_character_stands_before(name: str, text: str) -> None:
    plain = [match.span() for match in re.finditer(rf"\b{re.escape(name)}", text)]
    assert [match.span() for match in re.finditer(beginning(name), text)] == plain


@given(TEXTS)
def test_the_words_of_a_text_are_those_that_stand_somewhere(text: str) -> None:
    names = [word for word in words_in(text) if word.isidentifier()]
    assert all(next(occurrences(name, text), None) for name in names)
    assert set(re.findall(r"(?<!\w)[^\W\d]\w*", text)) == set(names)
