from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltel_lint.facts.templates import MAX_NAMES, TemplateError, expand, matches, overlap

WRITTEN = {
    "rl.grpo.job": ("rl.grpo.job",),
    "rl.<algo>.step": ("rl.*.step",),
    "rl.{algo}.step": ("rl.*.step",),
    "rl.{grpo,ppo}.job": ("rl.grpo.job", "rl.ppo.job"),
    "rl.{grpo, ppo}.job": ("rl.grpo.job", "rl.ppo.job"),
    "rl.<grpo|ppo>.job": ("rl.grpo.job", "rl.ppo.job"),
    "rl.{a,{b,c}x}": ("rl.a", "rl.bx", "rl.cx"),
    "rl.{a,a}": ("rl.a",),
    "rl.x{,_async}": ("rl.x", "rl.x_async"),
    "p2p.{recv,send}_{forward,backward}": (
        "p2p.recv_forward",
        "p2p.recv_backward",
        "p2p.send_forward",
        "p2p.send_backward",
    ),
    "rl.data_plane.*": ("rl.data_plane.**",),
    "rl.data_plane.**": ("rl.data_plane.**",),
    "rl.data_plane.<op>": ("rl.data_plane.*",),
    "rl.{a,b.*}": ("rl.a", "rl.b.**"),
    "rl.*.step": ("rl.*.step",),
    "vllm_<transport>_init": ("vllm_*_init",),
    "rl.<a><b>": ("rl.*",),
}


@pytest.mark.parametrize(("text", "names"), WRITTEN.items())
def test_a_template_stands_for_its_names(text: str, names: tuple[str, ...]) -> None:
    assert expand(text).names == names


@pytest.mark.parametrize("text", ["rl.{a,b", "rl.a}", "rl.<op", "rl.op>", "rl.{a,<b}", "{" * 50])
def test_what_does_not_balance_is_an_error_in_one_line(text: str) -> None:
    with pytest.raises(TemplateError) as caught:
        expand(text)
    assert "\n" not in str(caught.value)


def test_the_names_of_a_template_are_limited_but_counted() -> None:
    expansion = expand("rl" + ".{a,b,c,d}" * 30)
    assert len(expansion.names) == MAX_NAMES
    assert expansion.total == 4**30


@pytest.mark.parametrize(
    ("template", "name", "covered"),
    [
        ("rl.*.step", "rl.grpo.step", True),
        ("rl.*.step", "rl.grpo.inner.step", False),
        ("rl.*.step", "rl..step", False),
        ("rl.data_plane.**", "rl.data_plane.get", True),
        ("rl.data_plane.**", "rl.data_plane.get.one", True),
        ("rl.data_plane.**", "rl.data_planes", False),
        ("vllm_*_init", "vllm_nccl_init", True),
        ("vllm_*_init", "vllm_init", False),
        ("rl.x", "rl.x", True),
        ("rl.x", "rlax", False),
    ],
)
def test_matches(template: str, name: str, covered: bool) -> None:
    assert matches(template, name) is covered


@pytest.mark.parametrize(
    ("a", "b", "meet"),
    [
        ("rl.*.step", "rl.grpo.*", True),
        ("rl.*.step", "rl.grpo.job", False),
        ("rl.**", "rl.*.step", True),
        ("rl.a*", "rl.*b", True),
        ("rl.*", "rl.a.b", False),
        ("rl.*", "rl.**.b", False),
        ("rl.*", "rl.*.b", False),
        ("a*", "*b*", True),
    ],
)
def test_overlap(a: str, b: str, meet: bool) -> None:
    assert overlap(a, b) is meet
    assert overlap(b, a) is meet


PATTERNS = st.text("ab.*", max_size=8)
NAMES = st.text("ab.", max_size=8)


def oracle(pattern: str, name: str) -> bool:
    source = "".join(
        "[^.]+" if part == "*" else ".*" if part[0] == "*" else re.escape(part)
        for part in re.findall(r"\*+|[^*]", pattern)
    )
    return re.fullmatch(source, name) is not None


@given(PATTERNS, NAMES)
def test_matches_agrees_with_its_definition(pattern: str, name: str) -> None:
    assert matches(pattern, name) is oracle(pattern, name)
    assert overlap(pattern, name) is oracle(pattern, name)


@given(PATTERNS, PATTERNS, NAMES)
def test_patterns_that_share_a_name_overlap(a: str, b: str, name: str) -> None:
    if oracle(a, name) and oracle(b, name):
        assert overlap(a, b)
    assert overlap(a, b) is overlap(b, a)


@given(st.text("ab*", max_size=3), st.text("ab*", max_size=3))
def test_patterns_that_share_no_name_do_not_overlap(a: str, b: str) -> None:
    # Over two letters every shared name of such short patterns has a witness of five.
    witnesses = [""]
    for _ in range(5):
        witnesses += [w + c for w in witnesses for c in "ab." if len(w) < 6]
    shared = any(oracle(a, w) and oracle(b, w) for w in dict.fromkeys(witnesses))
    assert overlap(a, b) is shared


@given(st.text("ab.{}<>|,* ", max_size=14))
def test_any_text_expands_or_says_why_not(text: str) -> None:
    try:
        expansion = expand(text)
    except TemplateError:
        return
    assert 1 <= len(expansion.names) <= MAX_NAMES
    assert len(set(expansion.names)) == len(expansion.names)
    assert not any(set(name) & set("{}<>") for name in expansion.names)
