"""No text makes the checker fail: it reports what it cannot read and goes on."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.lint.core.programs import HEADER, LIBRARY, programs
from tests.lint.core.support import rows
from tests.lint.core.test_formatting import HAND_WRITTEN
from tests.lint.support import lint

ROOT = Path(__file__).parents[3]
REAL = [
    HAND_WRITTEN,
    HEADER + LIBRARY,
    *(
        (ROOT / path).read_text(encoding="utf-8")
        for path in ("rl_telemetry/spans.py", "rl_telemetry/registry.py")
    ),
]
PAGE = {"docs/a.md": rows("rl.a", "rl.<x>.t")}
BOUNDED = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
SCRAPS = st.sampled_from(
    [
        *("(", ")", "[", "]", "{", "}", ":", ",", "=", "*", "**", "\n", "    ", "\t", "\\\n", "\f"),
        *("'", '"', "'''", 'f"{', "}", "#", "@", ":=", "\0", "\ufeff", "\u2028", "é", "\r", ";"),
        *(
            "def ",
            "class ",
            "with ",
            "async ",
            "yield ",
            "lambda: ",
            "import ",
            "from . import *\n",
        ),
        *("managed_span(", "RLSpanGroup.", "span_cm(x)\n", "super().", "self.", "return "),
    ]
)


@BOUNDED
@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    lint({"a.py": text, "b.py": HEADER + "span_cm('rl.a')\n", **PAGE})


@BOUNDED
@given(st.lists(SCRAPS, max_size=40).map("".join))
def test_scraps_of_code(text: str) -> None:
    lint({"a.py": HEADER + text, **PAGE})


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """Real code with a few pieces cut out, doubled, moved or put in."""
    text = draw(st.sampled_from(REAL))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 60)))
        kind = draw(st.sampled_from(["cut", "double", "insert", "line"]))
        if kind == "cut":
            text = text[:start] + text[end:]
        elif kind == "double":
            text = text[:end] + text[start:]
        elif kind == "insert":
            text = text[:start] + draw(SCRAPS) + text[start:]
        else:
            lines = text.split("\n")
            del lines[draw(st.integers(0, len(lines) - 1))]
            text = "\n".join(lines)
    return text


@BOUNDED
@given(mutated())
def test_mutated_code(text: str) -> None:
    found = lint({"a.py": text, "b.py": HEADER + "span_cm('rl.planted')\n", **PAGE})
    assert "RLT101" in {f.code for f in found if f.place.path == "b.py"}


@settings(BOUNDED, max_examples=10)
@given(st.lists(programs(), min_size=2, max_size=2))
def test_programs_that_import_each_other(sources: list[str]) -> None:
    one, other = sources
    lint({"one.py": one + "\nfrom other import *\n", "other.py": "from one import *\n" + other})


CIRCLES = [
    "x = x",
    "x = y\ny = x",
    "x: str = f'{x}'\nspan_cm(x)",
    "names = list(names)\nfor n in names:\n    span_cm(n)",
    "names = [*names]\nfor n in names:\n    span_cm(n)",
    "names = names | {'a'}\nfor n in names:\n    span_cm(n)",
    "t = {'a': t}\nspan_cm(t['a']['a'])",
    "def f(x):\n    return f(x) + f(x)\nspan_cm(f('a'))",
    "def f(x=None):\n    x = x or g(x)\n    return x\ndef g(x):\n    return f(x)\nspan_cm(f())",
    "def f(n):\n    span_cm(n)\n    f(n + 'a')\n    g(n)\ndef g(n):\n    f(n)\ng('b')",
    "class A(A):\n    x = 'a'\nspan_cm(A.x)\nspan_cm(A().x)",
    "class A(B):\n    pass\nclass B(A):\n    def f(self, n):\n        span_cm(n)\nA().f('a')",
    "class A:\n    def __init__(self, n):\n        self.n = self.n + n\n"
    "        span_cm(self.n)\nA('a')",
    "from a import x, f\nspan_cm(x)\nf(x)",
    "from a import *\nspan_cm(x)",
    "import a\na.a.a.span_cm('x')\nspan_cm(a.x)",
    "f = lambda n: f(n)\nspan_cm(f('a'))",
    "from functools import partial\np = partial(p, 'a')\np('b')",
    "span_cm = span_cm\nspan_cm('x')",
    "while True:\n    x = x + x\n    span_cm(x)",
    "x0 = 'a'\n" + "".join(f"x{i + 1} = x{i} + x{i}\n" for i in range(60)) + "span_cm(x60)",
    "x = 'a'\n" + "x = x + x\n" * 60 + "span_cm(x)",
    "def f0(x):\n    return x\n"
    + "".join(f"def f{i + 1}(x):\n    return f{i}(x) + f{i}(x)\n" for i in range(30))
    + "span_cm(f30('a'))",
    "x = 'a'\nfor _ in y:\n    x += x\n    x += 'b'\nspan_cm(x)",
    "def main():\n    x = 'a'\n    for _ in y:\n        x += x\n        if x: x += 'c'\n"
    "    span_cm(x)\nmain()",
]


def test_code_that_goes_in_circles_ends() -> None:
    for source in CIRCLES:
        lint({"a.py": HEADER + source + "\n", **PAGE})
        lint({"a.py": HEADER + "def main():\n    " + source.replace("\n", "\n    ") + "\n"})


def test_answers_do_not_depend_on_what_was_asked_before() -> None:
    first = lint({"a.py": HAND_WRITTEN, "b.py": HEADER + LIBRARY, **PAGE})
    assert first == lint({"b.py": HEADER + LIBRARY, "a.py": HAND_WRITTEN, **PAGE})
