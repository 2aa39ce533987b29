"""Simple patterns are matched without pathspec, and match what pathspec matches."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from rltel_lint.discovery import (
    DEFAULT_DASHBOARDS,
    DEFAULT_DOCS,
    DEFAULT_EXCLUDE,
    DEFAULT_SOURCE,
)
from rltel_lint.globs import Globs

NAMES = ("a", "b", "ab", "a.py", ".a", "test_a.py", "docs", "README.md", "x.json")
part = st.sampled_from((*NAMES, "*", "**", "?", "*.py", "a*", "*b", "test_*.py", "a?", "README*"))
pattern = st.builds(
    lambda start, parts, end: start + "/".join(parts) + end,
    st.sampled_from(("", "/")),
    st.lists(part, min_size=1, max_size=4),
    st.sampled_from(("", "/")),
)
path = st.builds(
    lambda parts, end: "/".join(parts) + end,
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=4),
    st.sampled_from(("", "/")),
)


@settings(max_examples=400, deadline=None)
@given(patterns=st.lists(pattern, max_size=4), paths=st.lists(path, min_size=1, max_size=8))
def test_both_matchers_agree(patterns, paths):
    spec = GitIgnoreSpec.from_lines(patterns)
    mine = Globs(patterns)
    assert [mine.match(one) for one in paths] == [spec.match_file(one) for one in paths]


@settings(max_examples=200, deadline=None)
@given(name=path)
def test_both_matchers_agree_on_the_default_patterns(name):
    for patterns in (DEFAULT_DASHBOARDS, DEFAULT_DOCS, DEFAULT_EXCLUDE, DEFAULT_SOURCE):
        assert Globs(patterns).match(name) == GitIgnoreSpec.from_lines(patterns).match_file(name)


@pytest.mark.parametrize(
    ("patterns", "matched"),
    [
        (["a[bc]"], ["ab", "x/ac"]),
        (["*.py", "!b.py"], ["a.py"]),
        ([r"\!a"], ["!a"]),
        (["a b"], ["a b"]),
        (["# no"], []),
        (["é"], ["é"]),
    ],
)
def test_other_patterns_go_to_pathspec(patterns, matched):
    paths = ["ab", "x/ac", "ad", "a.py", "b.py", "!a", "a b", "# no", "é"]
    assert [one for one in paths if Globs(patterns).match(one)] == matched


def test_no_pattern_matches_nothing():
    assert not any(Globs([]).match(one) for one in ("", "a", "a/", "a/b.py"))


def test_default_patterns_need_no_pathspec():
    code = (
        "import sys; from rltel_lint.globs import Globs; from rltel_lint import discovery as d;"
        "Globs(d.DEFAULT_EXCLUDE).match('a'); print('pathspec' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"
