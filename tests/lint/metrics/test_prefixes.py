"""A key must be logged under a teed prefix; where the prefix is not known nothing is said."""

from __future__ import annotations

import pytest

from rltel_lint.rules.metrics import KeyNeverLogged, KeyUnderOtherPrefix
from tests.lint.support import lint

CODES = (KeyNeverLogged, KeyUnderOtherPrefix)
ROWS = """
from rl_telemetry.metrics import TeedMetric

ROWS = [TeedMetric("speed", "rl.speed")]
"""

CALLS = {
    "keyword": 'def train(logger, step):\n    logger.log_metrics({"speed": 1}, step, prefix="P")\n',
    "position": 'def train(logger, step):\n    logger.log_metrics({"speed": 1}, step, "P")\n',
    "constant": (
        'PREFIX = "P"\n\ndef train(logger, step):\n'
        '    logger.log_metrics({"speed": 1}, step, prefix=PREFIX)\n'
    ),
    "variable": (
        'def train(logger, step):\n    where = "P"\n'
        '    logger.log_metrics({"speed": 1}, step, prefix=where)\n'
    ),
    "wrapper with a prefix of its own": (
        'def report(logger, values, step):\n    logger.log_metrics(values, step, prefix="P")\n\n'
        'def train(logger, step):\n    report(logger, {"speed": 1}, step)\n'
    ),
    "wrapper that is given the prefix": (
        "def report(logger, values, step, kind):\n"
        "    logger.log_metrics(values, step, prefix=kind)\n\n"
        'def train(logger, step):\n    report(logger, {"speed": 1}, step, "P")\n'
        '    report(logger, {"loss": 1}, step, "train")\n'
    ),
    "wrapper of a wrapper": (
        "def inner(logger, values, step, kind):\n"
        "    logger.log_metrics(values, step, prefix=kind)\n\n"
        "def outer(logger, values, kind):\n    inner(logger, values, 0, kind)\n\n"
        'def train(logger, step):\n    outer(logger, {"speed": 1}, "P")\n'
        '    outer(logger, {"loss": 1}, "train")\n'
    ),
    "default of the project's logger": (
        'class Logger:\n    def log_metrics(self, metrics, step, prefix="P"): ...\n\n'
        'def train(logger: Logger, step):\n    logger.log_metrics({"speed": 1}, step)\n'
    ),
    "unpacked arguments": (
        'def train(logger, step):\n    logger.log_metrics({"speed": 1}, step, **{"prefix": "P"})\n'
    ),
}


@pytest.mark.parametrize("how", CALLS)
def test_key_under_another_prefix(how: str) -> None:
    files = {"rows.py": ROWS, "train.py": CALLS[how].replace('"P"', '"performance"')}
    (finding,) = lint(files, *CODES)
    assert (finding.code, finding.place.path, finding.place.line) == ("RLT502", "rows.py", 3)
    assert 'logged under "performance" only' in finding.message
    related = {(near.place.path, near.message) for near in finding.related}
    assert related == {("train.py", '"speed" is written here'), ("train.py", "logged here")}


@pytest.mark.parametrize("prefix", ["train", ""])
@pytest.mark.parametrize("how", CALLS)
def test_key_under_a_teed_prefix(how: str, prefix: str) -> None:
    files = {"rows.py": ROWS, "train.py": CALLS[how].replace('"P"', f'"{prefix}"')}
    assert lint(files, *CODES) == []


UNKNOWN = {
    "prefix from a parameter without callers": (
        'def train(logger, step, kind):\n    logger.log_metrics({"speed": 1}, step, prefix=kind)\n'
    ),
    "prefix that is None": (
        'def train(logger, step):\n    logger.log_metrics({"speed": 1}, step, prefix=None)\n'
    ),
    "prefix that may be the teed one": (
        "def train(logger, step, val):\n"
        '    kind = "performance" if val else "train"\n'
        '    logger.log_metrics({"speed": 1}, step, prefix=kind)\n'
    ),
    "also logged through a callback": (
        "from mylib import loop\n\ndef train(logger, step):\n"
        '    m = {"speed": 1}\n    logger.log_metrics(m, step, prefix="performance")\n'
        "    loop(m, logger.log_metrics)\n"
    ),
    "mapping that others may get too": (
        "def train(logger, step, sink):\n"
        '    m = {"speed": 1}\n    logger.log_metrics(m, step, prefix="performance")\n'
        "    sink.put(m)\n    logger.log_metrics(sink.merged(), step, prefix='train')\n"
    ),
}


@pytest.mark.parametrize("how", UNKNOWN)
def test_nothing_is_said_where_prefix_or_flow_is_unknown(how: str) -> None:
    assert lint({"rows.py": ROWS, "train.py": UNKNOWN[how]}, *CODES) == []
    sure = (
        'def f(logger, step):\n    logger.log_metrics({"speed": 1}, step, prefix="performance")\n'
    )
    assert [f.code for f in lint({"rows.py": ROWS, "train.py": sure}, *CODES)] == ["RLT502"]


def test_key_that_stays_with_the_other_prefix_although_what_is_teed_is_not_known() -> None:
    train = """
def measure():
    out = {"speed": 1.0}
    for name, value in out.items():
        print(name, value)
    return out

def train(logger, step, results):
    logger.log_metrics(results.merged(), step, prefix="train")
    logger.log_metrics(measure(), step, prefix="performance")
"""
    assert [f.code for f in lint({"rows.py": ROWS, "train.py": train}, *CODES)] == ["RLT502"]
    leaking = train.replace("    return out", "    results.update(out)\n    return out").replace(
        "def measure():", "def measure(results=None):"
    )
    assert lint({"rows.py": ROWS, "train.py": leaking}, *CODES) == []


def test_prefix_of_other_mappings_is_not_mixed_up() -> None:
    train = """
def train(logger, step):
    metrics = {"loss": 1}
    logger.log_metrics(metrics, step, prefix="train")
    metrics = {"speed": 1}
    logger.log_metrics(metrics, step, prefix="performance")
"""
    assert [f.code for f in lint({"rows.py": ROWS, "train.py": train}, *CODES)] == ["RLT502"]
    both = train.replace('metrics = {"speed": 1}', 'metrics["speed"] = 1')
    assert lint({"rows.py": ROWS, "train.py": both}, *CODES) == []


def test_library_function_of_the_same_name_tees_nothing() -> None:
    train = """
import mlflow

def train(logger, step):
    mlflow.log_metrics({"speed": 1}, step)
    logger.log_metrics({"loss": 1}, step, prefix="train")
"""
    assert [f.code for f in lint({"rows.py": ROWS, "train.py": train}, *CODES)] == ["RLT501"]
    own = train.replace("mlflow.log", "logger.log")
    assert lint({"rows.py": ROWS, "train.py": own}, *CODES) == []
