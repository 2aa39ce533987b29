"""Names put together from pieces: what the checker says they are, and where it stops."""

from __future__ import annotations

import pytest

from tests.lint.core.support import named, undocumented
from tests.lint.support import project

# what stands before the call, the name's expression, the names it may have
FOLLOWED = {
    "keywords": ("", "managed_span(name='rl.a', group=RLSpanGroup.REWARD)", {"rl.a"}),
    "keywords unpacked": (
        "",
        "managed_span(**{'name': 'rl.a', 'group': RLSpanGroup.REWARD})",
        {"rl.a"},
    ),
    "group by keyword last": ("", "managed_span(name='rl.a', group='reward', x=1)", {"rl.a"}),
    "f-string": ("algo = 'grpo'", "f'rl.{algo}.a'", {"rl.grpo.a"}),
    "f-string of f-strings": ("a = 'x'\nb = f'{a}.y'", "f'rl.{b}'", {"rl.x.y"}),
    "raw and implicit concatenation": ("", "'rl.' r'a' f'.b'", {"rl.a.b"}),
    "concatenation": ("p = 'rl.'", "p + 'a' + '.b'", {"rl.a.b"}),
    "format": ("", "'rl.{}.{x}.{}'.format('a', 'b', x='c')", {"rl.a.c.b"}),
    "format by number": ("", "'rl.{1}.{0}'.format('a', 'b')", {"rl.b.a"}),
    "percent": ("", "'rl.%s.%s' % ('a', 'b')", {"rl.a.b"}),
    "percent of one": ("p = 'a'", "'rl.%s' % p", {"rl.a"}),
    "replace": ("", "'rl/a/b'.replace('/', '.')", {"rl.a.b"}),
    "join": ("p = ['rl', 'a']", "'.'.join(p)", {"rl.a"}),
    "join of a tuple": ("", "'.'.join(('rl', 'a', 'b'))", {"rl.a.b"}),
    "lower": ("", "'RL.A'.lower()", {"rl.a"}),
    "strip": ("", "' rl.a '.strip()", {"rl.a"}),
    "removeprefix": ("", "'x.rl.a'.removeprefix('x.')", {"rl.a"}),
    "str of it": ("", "str('rl.a')", {"rl.a"}),
    "numbers in text": ("", "f'rl.{1}.%s' % 2", {"rl.1.2"}),
    "walrus": ("", "(n := 'rl.a')", {"rl.a"}),
    "conditional expression": ("", "'rl.a' if flag else 'rl.b'", {"rl.a", "rl.b"}),
    "or": ("given = ''", "given or 'rl.a'", {"rl.a"}),
    "branches": (
        "if flag:\n    n = 'rl.a'\nelif other:\n    n = 'rl.b'\nelse:\n    n = 'rl.c'",
        "n",
        {"rl.a", "rl.b", "rl.c"},
    ),
    "a branch that leaves": (
        "n = 'rl.a'\nif flag:\n    n = 'rl.gone'\n    return",
        "n",
        {"rl.a"},
    ),
    "match": (
        "match kind:\n    case 'a':\n        n = 'rl.a'\n    case _:\n        n = 'rl.b'",
        "n",
        {"rl.a", "rl.b"},
    ),
    "reassigned": ("n = 'rl.old'\nn = 'rl.new'", "n", {"rl.new"}),
    "added to": ("n = 'rl'\nn += '.a'", "n", {"rl.a"}),
    "annotated": ("n: str = 'rl.a'", "n", {"rl.a"}),
    "declared first": ("n: str\nn = 'rl.a'", "n", {"rl.a"}),
    "several targets": ("a, n = 'rl.x', 'rl.a'", "n", {"rl.a"}),
    "in try": (
        "try:\n    n = 'rl.a'\nexcept ValueError:\n    n = 'rl.b'",
        "n",
        {"rl.a", "rl.b"},
    ),
    "loop over names": ("for n in ('rl.a', 'rl.b'):\n    pass", "n", {"rl.a", "rl.b"}),
    "loop over rows": (
        "for _, (n, _) in [(1, ('rl.a', 2)), (2, ('rl.b', 3))]:\n    pass",
        "n",
        {"rl.a", "rl.b"},
    ),
    "loop over keys": ("for n in {'rl.a': 1, 'rl.b': 2}:\n    pass", "n", {"rl.a", "rl.b"}),
    "loop over items": (
        "for k, n in {'x': 'rl.a', 'y': 'rl.b'}.items():\n    pass",
        "f'{n}.{k}'",
        {f"rl.{a}.{k}" for a in "ab" for k in "xy"},
    ),
    "loop over values": ("for n in {'x': 'rl.a'}.values():\n    pass", "n", {"rl.a"}),
    "loop with enumerate": ("for i, n in enumerate(['rl.a']):\n    pass", "n", {"rl.a"}),
    "loop with zip": ("for i, n in zip([1], ['rl.a']):\n    pass", "n", {"rl.a"}),
    "dict by key": ("t = {'x': 'rl.a', 'y': 'rl.b'}", "t['x']", {"rl.a"}),
    "dict by unknown key": ("t = {'x': 'rl.a', 'y': 'rl.b'}", "t[key]", {"rl.a", "rl.b"}),
    "dict get": ("t = {'x': 'rl.a'}", "t.get(key, 'rl.b')", {"rl.a", "rl.b"}),
    "dict get of a known key": ("t = {'x': 'rl.a'}", "t.get('x', 'rl.b')", {"rl.a"}),
    "list by index": ("t = ['rl.a', 'rl.b']", "t[0]", {"rl.a"}),
    "conditional container": (
        "for n in (['rl.a'] if flag else ['rl.b']):\n    pass",
        "n",
        {"rl.a", "rl.b"},
    ),
}


@pytest.mark.parametrize("case", FOLLOWED, ids=str)
def test_name_is_followed(case: str) -> None:
    before, name, expected = FOLLOWED[case]
    assert named(_function(before, name)) == expected


# what stands before the call, the name's expression, what must not be claimed
NOT_CLAIMED = {
    "changed list": ("t = ['rl.a']\nt.append(read())\nfor n in t:\n    pass", "n", {"rl.a"}),
    "changed dict": ("t = {'x': 'rl.a'}\nt['x'] = read()", "t['x']", {"rl.a"}),
    "changed under a nested key": (
        "t = {'x': 'rl.a'}\nt[keys[0]] = read()",
        "t['x']",
        {"rl.a"},
    ),
    "order of a set": ("p = {'rl', 'a'}", "'.'.join(p)", {"rl.a"}),
    "order after sorting": ("p = ['rl', 'a']", "'.'.join(sorted(p))", {"rl.a"}),
    "list as one argument": ("", "'rl.%s' % ['a']", {"rl.a"}),
    "format specification": ("", "'rl.{:>3}'.format('a')", {"rl.a"}),
    "conversion": ("", "f'rl.{\"a\"!r}'", {"rl.a"}),
    "rebound in a nested function": (
        "n = 'rl.a'\ndef change():\n    nonlocal n\n    n = read()\nchange()",
        "n",
        {"rl.a"},
    ),
    "sum of numbers": ("", "f'rl.{1 + 2}'", {"rl.12"}),
    "none in text": ("n = None", "f'rl.{n}'", {"rl."}),
    "decorated helper": ("@upper\ndef make():\n    return 'rl.a'", "make()", {"rl.a"}),
}


@pytest.mark.parametrize("case", NOT_CLAIMED, ids=str)
def test_name_is_not_claimed(case: str) -> None:
    before, name, wrong = NOT_CLAIMED[case]
    found = named(_function(before, name))
    assert found
    assert not found & wrong


BOTH = {
    "suppressed": (
        "n = 'rl.a'\nwith suppress(KeyError):\n    n = 'rl.b'",
        "n",
        {"rl.a", "rl.b"},
    ),
    "lock": ("n = 'rl.a'\nwith lock:\n    n = 'rl.b'", "n", {"rl.b"}),
    "changed at the end of a loop": (
        "n = 'rl.a'\nwhile more(n):\n    span_cm(n)\n    n = 'rl.b'",
        "n",
        {"rl.a", "rl.b"},
    ),
    "tested walrus": (
        "n = 'rl.a'\nif flag and (n := 'rl.b'):\n    pass",
        "n",
        {"rl.a", "rl.b"},
    ),
    "comprehension": ("n = 'rl.a'\n[span_cm(n) for n in ('rl.b',)]", "n", {"rl.a", "rl.b"}),
    "lambda": ("n = 'rl.a'\nf = lambda n: span_cm(n)", "n", {"rl.a", "**"}),
}


@pytest.mark.parametrize("case", BOTH, ids=str)
def test_scopes_and_paths_are_python_s(case: str) -> None:
    before, name, expected = BOTH[case]
    assert named(_function(before, name)) == expected


def _function(before: str, name: str) -> str:
    call = name if "managed_span(" in name else f"managed_span(RLSpanGroup.REWARD, {name})"
    body = "\n".join(f"    {line}" for line in [*before.splitlines(), call])
    return f"from rl_telemetry.instrumentation import span_cm\ndef train():\n{body}\n"


ENUMS = project(
    """
    --- names.py
    from enum import Enum, StrEnum
    class Plain(Enum):
        A = "rl.plain"
    class Text(str, Enum):
        A = "rl.text"
    class Str(StrEnum):
        A = "rl.str"
    --- train.py
    from names import Plain, Text, Str
    from rl_telemetry.instrumentation import span_cm
    span_cm(Plain.A.value)
    span_cm(Text.A)
    span_cm(Text.A + ".end")
    span_cm(Str.A)
    """
)


def test_enum_members_are_followed() -> None:
    assert named(ENUMS) == {"rl.plain", "rl.text", "rl.text.end", "rl.str"}


def test_enum_members_in_text_are_not_claimed() -> None:
    """``format`` of a ``str`` enum differs between Python versions."""
    files = {**ENUMS, "train.py": ENUMS["train.py"].replace("Text.A)", "f'{Text.A}.x')")}
    found = named(files)
    assert "rl.text.x" not in found
    assert "**.x" in found


@pytest.mark.parametrize("case", FOLLOWED, ids=str)
def test_every_followed_name_must_be_documented(case: str) -> None:
    before, name, expected = FOLLOWED[case]
    source = (
        "from rl_telemetry.instrumentation import managed_span\n"
        "from rl_telemetry.span_groups import RLSpanGroup\n" + _function(before, name)
    )
    gone, *kept = sorted(expected)
    assert undocumented({"train.py": source}, *kept) == {gone}
    assert undocumented({"train.py": source}, *expected) == set()
