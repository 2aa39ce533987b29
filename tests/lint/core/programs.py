"""Small random programs that end in span names, and what they really emit."""

from __future__ import annotations

import re
import sys

from hypothesis import strategies as st

from rltel_lint.values import HOLE, Strings

HEADER = "from rl_telemetry.instrumentation import span_cm\n"
LIBRARY = """
from contextlib import suppress
from enum import Enum

PREFIX = "rl"
TABLE = {"a": "rl.a", "b": PREFIX + ".b", "c": None}
NAMES = ["a", "b"]
PAIRS = (("a", "x"), ("b", "y"))

class Kind(str, Enum):
    FAST = "fast"
    SLOW = "slow"

class Base:
    algorithm = "base"
    suffix = "s"
    def __init__(self, own):
        self.own = own
    def label(self):
        return self.algorithm
    def name(self, part):
        return f"rl.{self.label()}.{part}"
    def emit(self, part="e"):
        span_cm(self.name(part) + self.suffix)
        span_cm(self.own)

class Derived(Base):
    algorithm = "derived"
    def emit(self, part="d"):
        super().emit(part)

class Other(Base):
    def __init__(self, own):
        super().__init__(own + ".o")
    def label(self):
        return "other"
    @classmethod
    def make(cls, own):
        return cls(own)

def fail(flag):
    if flag:
        raise ValueError
    return "f"

def forward(name, prefix="rl."):
    span_cm(prefix + name)

def again(tail):
    forward(tail)

def build(part, other=None):
    if part == "a":
        return "rl.built"
    if other:
        return f"rl.{part}.{other}"
    return part

def maybe(part):
    if part:
        return part
"""

_TEXTS = st.sampled_from(['"a"', '"b"', '"c"', '"rl.x"', '""', '"x.y"'])
_VARIABLES = st.sampled_from(["x", "y", "z", "given"])
_TESTS = st.sampled_from(["flag", "not flag", "count > 1", 'given == "a"', "x == y", "len(z) > 3"])


def _leaf() -> st.SearchStrategy[str]:
    fixed = ["Kind.FAST", "Kind.SLOW.value", "Base.algorithm", "Derived.algorithm", "PREFIX"]
    return st.one_of(_TEXTS, _VARIABLES, _VARIABLES, st.sampled_from(fixed))


def _wider(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    one = [
        'f"rl.{{{}}}"',
        'f"{{{}}}.t{{count}}"',
        '("%s.t" % {})',
        '"rl.{{}}".format({})',
        '"{{p}}{{}}{{}}".format("1", {}, p="0")',
        "({}).upper()",
        '({}).replace("a", "b")',
        '({}).replace("rl", "r")',
        '({}).removeprefix("rl.")',
        "str({})",
        "build({})",
        "maybe({})",
        'f"{{maybe({})}}"',
        "TABLE[{}]",
        "TABLE.get({})",
        "(w := {})",
        'f"{{None if flag else {}}}"',
        '".".join(sorted([{}, "m"]))',
        "Other.make({}).own",
        "Derived({}).name('p')",
        "(lambda x: x)({})",
        '[x for x in ("q", {})][count]',
    ]
    two = [
        "({} + {})",
        "({} if flag else {})",
        "({} or {})",
        "({} and {})",
        '("%s.%s" % ({}, {}))',
        '".".join([{}, {}])',
        "build({}, other={})",
        "TABLE.get({}, {})",
        "({}, {})[0]",
        "[{}, {}][-1]",
        '{{"a": {}, "b": {}}}[given]',
    ]
    return st.one_of(
        st.builds(_filled, st.sampled_from(one), inner),
        st.builds(str.format, st.sampled_from(two), inner, inner),
    )


def _filled(template: str, inner: str) -> str:
    """Python before 3.12 has no quotes of the same kind inside an f-string."""
    if template.startswith("f") and any(mark in inner for mark in "\"'\\"):
        return f'("%s.%s" % ("f", {inner}))'
    return template.format(inner)


EXPRESSIONS = st.recursive(_leaf(), _wider, max_leaves=4)


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _simple() -> st.SearchStrategy[list[str]]:
    target = st.sampled_from(["x", "y", "z"])
    return st.one_of(
        st.builds(lambda t, e: [f"{t} = {e}"], target, EXPRESSIONS),
        st.builds(lambda t, e: [f"{t}: str = {e}"], target, EXPRESSIONS),
        st.builds(lambda t, e: [f"{t} += {e}"], target, EXPRESSIONS),
        st.builds(lambda e: [f"span_cm({e})"], EXPRESSIONS),
        st.builds(lambda e: [f"span_cm({e})"], EXPRESSIONS),
        st.builds(lambda e: [f"forward({e})"], EXPRESSIONS),
        st.builds(lambda e: [f"again(tail={e})"], EXPRESSIONS),
        st.builds(lambda e: [f"[span_cm(x) for x in (y, {e})]"], EXPRESSIONS),
        st.builds(lambda c, e: [f"{c}({e}).emit()"], st.sampled_from(_CLASSES), EXPRESSIONS),
        st.builds(lambda a, b: [f"{a}, {b} = {b}, {a}"], target, target),
        st.builds(
            lambda e: ["def inner():", "    nonlocal y", f"    y = {e}", "inner()"], EXPRESSIONS
        ),
        st.builds(lambda e: [f"list(map(forward, [{e}]))"], EXPRESSIONS),
        st.sampled_from(
            [
                ["break"],
                ["continue"],
                ["fail(flag)"],
                ["return"],
                ["del x"],
                ["NAMES.append(given)"],
                ['TABLE[given] = "rl.put"'],
            ]
        ),
    )


_CLASSES = ["Base", "Derived", "Other"]


def _compound(inner: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
    body = st.lists(inner, min_size=1, max_size=3).map(lambda parts: [x for p in parts for x in p])
    loops = st.sampled_from(
        [
            'for x in ("l", "m"):',
            "for y in list(NAMES):",
            "for x in sorted(TABLE):",
            "for x, y in list(TABLE.items()):",
            "for x, y in PAIRS:",
            "for _, x in enumerate(tuple(NAMES)):",
            'for x, y in zip(NAMES, ["u", "v"]):',
            "for x in [y, z]:",
            "while (count := count + 1) < 4:",
            "while step(x):",
            "with suppress(ValueError):",
        ]
    )
    return st.one_of(
        st.builds(lambda t, a: [f"if {t}:", *_indented(a)], _TESTS, body),
        st.builds(
            lambda t, a, b: [f"if {t}:", *_indented(a), "else:", *_indented(b)], _TESTS, body, body
        ),
        st.builds(lambda head, a: [head, *_indented(a)], loops, body),
        st.builds(
            lambda a, b, c: [
                "try:",
                *_indented(a),
                "except ValueError:",
                *_indented(b),
                "finally:",
                *_indented(c),
            ],
            body,
            body,
            body,
        ),
        st.builds(
            lambda a, b, c: [
                "try:",
                *_indented(a),
                "except ValueError as error:",
                *_indented(b),
                "else:",
                *_indented(c),
            ],
            body,
            body,
            body,
        ),
        st.builds(
            lambda a, b: [
                "match given:",
                '    case "a":',
                *_indented(_indented(a)),
                "    case z:",
                *_indented(_indented(b)),
            ],
            body,
            body,
        ),
    )


STATEMENTS = st.recursive(_simple(), _compound, max_leaves=6)


@st.composite
def _programs(draw: st.DrawFn) -> str:
    body = [line for part in draw(st.lists(STATEMENTS, min_size=1, max_size=5)) for line in part]
    start = draw(st.sampled_from([['x = "i"', "y = z = x"], ['x, y = "i", "j"', "z = y + x"]]))
    lines = ["", "", "def main(flag, given):", "    count = step.calls = 0"]
    lines += _indented([*start, *_outside_loops(body), "span_cm(x)", "span_cm(y)", "span_cm(z)"])
    return HEADER + LIBRARY + _STEP + "\n".join(lines) + "\n\n\n" + _RUN


def programs() -> st.SearchStrategy[str]:
    """Programs whose function ``main`` opens spans and is called several times."""
    return _programs().filter(compiles)


_STEP = """
def step(name):
    span_cm("rl.step." + name)
    step.calls += 1
    return step.calls < 3
"""
_RUN = """
for turn in (True, False):
    for letter in ("a", "b"):
        try:
            main(turn, letter)
            main(given=letter + ".g", flag=turn)
        except (ValueError, KeyError, TypeError, AttributeError, NameError, IndexError):
            continue
"""


def _outside_loops(lines: list[str]) -> list[str]:
    """Takes out ``break`` and ``continue`` that stand in no loop."""
    kept: list[str] = []
    loops: list[int] = []
    for line in lines:
        indent = len(line) - len(line.lstrip())
        while loops and indent <= loops[-1]:
            loops.pop()
        stray = line.strip() in {"break", "continue"} and not loops
        kept.append(" " * indent + "pass" if stray else line)
        if line.lstrip().startswith(("for ", "while ")):
            loops.append(indent)
    return kept


def compiles(source: str) -> bool:
    """Whether Python takes the program."""
    try:
        compile(source, "<program>", "exec")
    except SyntaxError:
        return False
    return True


class Emitted(list[tuple[str, frozenset[int]]]):
    """The names that a program emitted, each with the lines of the calls that led there."""


def run(source: str) -> Emitted:
    """Runs a program and returns what it emitted."""
    seen = Emitted()

    def span_cm(name: object) -> None:
        lines = set()
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename == "<program>":
            lines.add(frame.f_lineno)
            frame = frame.f_back  # type: ignore[assignment]
        if type(name) is str:
            seen.append((name, frozenset(lines)))

    code = compile(source.replace(HEADER, "\n", 1), "<program>", "exec")
    exec(code, {"span_cm": span_cm, "__name__": "program"})
    return seen


def covers(strings: Strings, value: str) -> bool:
    """Whether a value is one of the literals or fits one of the patterns."""
    return any(
        re.fullmatch(".*".join(map(re.escape, template.split(HOLE))), value, re.DOTALL)
        for template in strings.templates
    )
