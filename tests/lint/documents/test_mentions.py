from __future__ import annotations

from collections.abc import Callable

import pytest

from rltel_lint.facts.entries import DocumentFacts

Read = Callable[..., DocumentFacts]


@pytest.mark.parametrize(
    ("sentence", "negated"),
    [
        ("The project does **not** emit `rl.x`.", True),
        ("It doesn't emit `rl.x` at all.", True),
        ("`rl.x` is no longer emitted.", True),
        ("`rl.x` was removed in 0.2.", True),
        ("`rl.x` was renamed to `rl.y`.", True),
        ("`rl.x` is not a span.", True),
        ("The name `rl.x` is reserved.", True),
        ("There is no `rl.x` span today.", True),
        ("Nothing emits `rl.x` yet.", True),
        ("Each step opens `rl.x`.", False),
        ("Set `rl.x` to the number of steps.", False),
        ("This is not slow. It opens `rl.x`.", False),
        ("`rl.x` is emitted. `rl.y` is not emitted.", False),
    ],
)
def test_a_sentence_may_deny_what_it_mentions(read: Read, sentence: str, negated: bool) -> None:
    facts = read(sentence)
    assert facts.entries == ()
    assert facts.mentions[0].text == "rl.x"
    assert facts.mentions[0].negated is negated


def test_mentions_come_from_headings_prose_lists_and_cells(read: Read) -> None:
    facts = read(
        """
        # About `a`

        Text `b` and ``c ` d``, \\`not` this.

        > - `e`

        | `f` | G |
        |---|---|
        | h | `i` |
        """
    )
    assert [m.text for m in facts.mentions] == ["a", "b", "c ` d", "e", "f", "i"]
