"""What a program logs when it runs is among the keys that were found, or said to be unknown."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rltel_lint.project.metrics import LoggedMapping, Metrics
from tests.lint.support import link

HEAD = """
class Box:
    def __init__(self):
        self.metrics = {}

    @property
    def stats(self):
        return {"boxed": 1, **self.metrics}

    def note(self, name):
        self.metrics[name] = 1

    def with_extra(self, values, name):
        self.note("extra")
        return {**values, **self.metrics, name: 1}


STATS = {}
NAMES = ("a", "b")


def make(name):
    out = {"made": 1}
    out[name] = 2
    return out


def pair(name):
    return {name: 1}, {"second": 2}


def add(target):
    target["added"] = 1


def put(target, name):
    target[name] = 1
    return target


def under(prefix, values):
    return {f"{prefix}/{name}": value for name, value in values.items()}


def report(log, values, prefix):
    log.log_metrics(values, 0, prefix=prefix)


def splat(log, **values):
    log.log_metrics(values, 0, prefix="train")


def train(log, box: Box):
    m0, m1, m2 = {}, {}, {}
"""
NAMES = st.sampled_from(["a", "b", "c", "loss", "lr"])
MAPPINGS = st.sampled_from(["m0", "m1", "m2"])
PREFIXES = st.sampled_from(["train", "performance"])
SIMPLE = [
    '{x} = {{"{k}": 1}}',
    "{x} = dict({k}=1)",
    '{x} = dict([("{k}", 1)], **{y})',
    "{x} = {y}",
    '{x} = {{**{y}, "{k}": 1}}',
    '{x} = {y} | {{"{k}": 1}}',
    '{x} |= {{"{k}": 1}}',
    "{x} |= {y}",
    '{x}["{k}"] = 1',
    '{x}["{k}"] = {x}.get("{l}")',
    "{x}.update({k}=1)",
    '{x}.update({{"{k}": 1}}, {l}=2)',
    "{x}.update({y})",
    '{x}.setdefault("{k}", 1)',
    '{x} = {{name: 1 for name in ("{k}", "{l}")}}',
    '{x} = {{f"p/{{name}}": value for name, value in {y}.items()}}',
    '{x} = under("{k}", {y})',
    "{x} = make('{k}')",
    "{x}, {y} = pair('{k}')",
    "add({x})",
    "{x} = put({y}, '{k}')",
    "box.metrics = {x}",
    "{x} = box.metrics",
    'box.metrics["{k}"] = 1',
    "box.metrics.update({x})",
    "{x} = STATS",
    'STATS["{k}"] = 1',
    "{x} = {y}.copy()",
    "{x} = {y} if len({y}) > 1 else {{'{k}': 1}}",
    "{x}.pop('{k}', None)",
    "kept = [{x}]; kept[0]['{k}'] = 1",
    '{x} = dict(zip(("{k}", "{l}"), (1, 2)))',
    "{x} = dict.fromkeys(NAMES, 1)",
    "{x} = {{key: 1 for key in {y}}}",
    "{x}, kept = {y}, {x}",
    '({x} if len({y}) % 2 else {y})["{k}"] = 1',
    "box = Box()",
    "other = box; other.metrics['{k}'] = 1",
    "(lambda m: m.update({k}=1))({x})",
    "(lambda m: {x}.update({l}=1))({y})",
    "for {x} in ({y}, {{'{k}': 1}}): pass",
    "if (alias := {x}) is not None: alias['{k}'] = 1",
    '[log.log_metrics(each, 0, prefix="{p}") for each in ({x}, {y})]',
    "write = {x}.update; write({k}=1)",
    "setter = {x}.__setitem__; setter('{k}', 1)",
    "{x} = type({y})({y}, {k}=1)",
    "held = {{'inner': {x}}}; held['inner']['{k}'] = 1",
    "{x} = ({y} or {{'{k}': 1}})",
    "{x} = max([{y}, {x}], key=len)",
    "{x} = box.with_extra({y}, '{k}')",
    "box.note('{k}')",
    "log.log_metrics(box.stats, 0, prefix='{p}')",
    "entry = log.log_metrics; entry({x}, 0, '{p}')",
    'log.log_metrics({x}, 0, prefix="{p}")',
    'log.log_metrics({x}, 0, "{p}")',
    "log.log_metrics({x}, 0)",
    'log.log_metrics({{**{x}, "{k}": 1}}, 0, prefix="{p}")',
    'report(log, {x}, "{p}")',
    "splat(log, {k}=1, **{{'{l}x': 2}})",
    "log.log_metrics(box.metrics, 0, prefix='{p}')",
    "log.log_metrics(STATS, 0, prefix='{p}')",
]
BLOCKS = [
    "if len({x}) % 2:\n{body}\nelse:\n{other}",
    "for _ in range(2):\n{body}",
    "for name in ('{k}', '{l}'):\n    {x}[name] = 1\n{body}",
    "for name in NAMES:\n    {x}[name + '/{k}'] = 1",
    "for name, value in list({y}.items()):\n    {x}[f'q/{{name}}'] = value\n{body}",
    "for name in sorted({y}):\n    {x}[name] = 1",
    "for i, name in enumerate(['{k}', '{l}']):\n    {x}[name] = i",
    "try:\n{body}\nfinally:\n{other}",
    "def note():\n    {x}['{k}'] = 1\nnote()",
    "for each in ({x}, {y}):\n    each['{k}'] = 1",
    "with open('/dev/null') as {x}f:\n{body}",
]


@st.composite
def statements(draw: Callable[..., Any], depth: int = 2) -> str:
    lines = []
    for _ in range(draw(st.integers(1, 4))):
        names = {"x": draw(MAPPINGS), "y": draw(MAPPINGS), "k": draw(NAMES), "l": draw(NAMES)}
        names["p"] = draw(PREFIXES)
        if depth and draw(st.integers(0, 3)) == 0:
            body = textwrap.indent(draw(statements(depth=depth - 1)), "    ")
            other = textwrap.indent(draw(statements(depth=depth - 1)), "    ")
            lines.append(draw(st.sampled_from(BLOCKS)).format(body=body, other=other, **names))
        else:
            lines.append(draw(st.sampled_from(SIMPLE)).format(**names))
    return "\n".join(lines)


@st.composite
def programs(draw: Callable[..., Any]) -> str:
    last = f'log.log_metrics({draw(MAPPINGS)}, 0, prefix="{draw(PREFIXES)}")'
    body = f"{draw(statements())}\n{draw(statements())}\n{last}"
    return HEAD + textwrap.indent(body, "    ") + "\n\n\ntrain(LOG, Box())\n"


class Log:
    """A logger that remembers which keys came under which prefix."""

    def __init__(self) -> None:
        self.seen: set[tuple[str, str]] = set()

    def log_metrics(self, metrics: dict[str, object], step: int, prefix: str = "") -> None:
        self.seen |= {(prefix, key) for key in metrics}


def run(source: str) -> set[tuple[str, str]]:
    log = Log()
    exec(compile(source, "program", "exec"), {"LOG": log})
    return log.seen


def covers(metrics: Metrics, logged: LoggedMapping, key: str) -> bool:
    keys = metrics.keys(logged)
    return bool(keys.holding(key)) or not keys.closed


@settings(max_examples=200, deadline=None)
@given(programs())
def test_every_key_that_is_logged_is_found(source: str) -> None:
    metrics = link({"train.py": source}).metrics
    for prefix, key in run(source):
        under = [logged for logged in metrics.logged if logged.may_be_under([prefix])]
        assert any(covers(metrics, logged, key) for logged in under), (prefix, key)
        assert metrics.emission(key, [prefix]).status in {"emitted", "possible"}, (prefix, key)


def test_straight_programs_leave_no_gap() -> None:
    body = """
    m0["a"] = 1
    m0.update(under("x", make("b")))
    put(m0, "c")
    m1 = {**m0}
    log.log_metrics(m1, 0, prefix="train")
"""
    source = HEAD + body + "\n\ntrain(LOG, Box())\n"
    metrics = link({"train.py": source}).metrics
    seen = {key for prefix, key in run(source) if prefix == "train"}
    (logged,) = [one for one in metrics.logged if str(one.place) == f"train.py:{_line(source)}"]
    keys = metrics.keys(logged)
    assert keys.closed
    assert {t for key in keys.found for t in key.value.templates} == seen
    assert metrics.emission("absent", ["train"]).status == "never"


def _line(source: str) -> int:
    lines = source.strip("\n").splitlines()
    return next(n for n, line in enumerate(lines, 1) if "log_metrics(m1" in line)


ALIASED = """
def train(log, step):
    kept, logged = {}, {}
    for each in (kept, logged):
        each["a"] = 1
    logged = {key: 1 for key in kept}
    log.log_metrics(logged, step)
"""


def test_a_mapping_written_into_under_another_name_and_looped_over_is_open() -> None:
    metrics = link({"train.py": ALIASED}).metrics
    assert all(covers(metrics, logged, "a") for logged in metrics.logged)
    plain = link({"train.py": ALIASED.replace("(kept, logged)", "(logged,)")}).metrics
    assert not any(covers(plain, logged, "a") for logged in plain.logged)
