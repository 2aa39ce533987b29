"""Spelling a key is not logging it; where nothing is known of a mapping, nothing is reported."""

from __future__ import annotations

import pytest

from rltel_lint.rules.metrics import KeyNeverLogged, KeyUnderOtherPrefix
from tests.lint.support import lint

CODES = (KeyNeverLogged, KeyUnderOtherPrefix)
ROWS = """
from rl_telemetry.metrics import TeedMetric, register_teed_metrics

register_teed_metrics([TeedMetric("entropy", "rl.entropy")])
"""

# What is logged comes out of something that cannot be followed: any mapping may be in it.
OPEN = """
def train(logger, step, results):
    metrics = results.merged()
    logger.log_metrics(metrics, step, prefix="train")
"""

SPELLED = {
    "comparison": 'def pick(cfg):\n    return 1 if cfg.mode == "entropy" else 2\n',
    "comparison with a display": 'def pick(k):\n    return k in {"entropy", "lr"}\n',
    "comparison with a constant": (
        'MODES = ("entropy", "kl")\n\ndef pick(k):\n    return k in MODES\n'
    ),
    "read": 'def show(metrics):\n    print(metrics["entropy"])\n',
    "get": 'def show(metrics):\n    print(metrics.get("entropy"))\n',
    "membership": 'def show(metrics):\n    print("entropy" in metrics)\n',
    "docstring": 'def pick():\n    """Sets metrics["entropy"] = 1."""\n    "entropy"\n',
    "comment": '# metrics["entropy"] = 1\nX = 1\n',
    "configured value": 'CONFIG = {"mode": "entropy"}\n',
    "configured default": (
        'def run(mode="entropy"):\n    if mode == "entropy":\n        print(mode)\n'
    ),
    "annotation": 'from typing import Literal\n\ndef run(mode: Literal["entropy"]): ...\n',
    "log message": 'def run(log):\n    log.info("entropy")\n    print(f"{1} entropy")\n',
    "keyword of a library": "import torch\n\nSUM = torch.sum(torch.ones(1), entropy=1)\n",
    "local variable": "def run(batch):\n    entropy = batch.mean()\n    return float(entropy)\n",
    "parameter": "def run(entropy=None):\n    return entropy\n\nrun(entropy=1)\n",
    "attribute": "def run(cfg):\n    cfg.entropy = 1\n",
    "removed again": 'def run(metrics):\n    metrics.pop("entropy")\n    del metrics["entropy"]\n',
    "read through a variable": 'def run(m):\n    name = "entropy"\n    return m[name]\n',
    "argument that is compared": ('def pick(mode):\n    return mode == "x"\n\npick("entropy")\n'),
    "mapping that is only printed": 'def show():\n    print({"entropy": 1})\n',
    "mapping that is only read": (
        'def show(mode):\n    names = {"entropy": 1, "kl": 2}\n    return names[mode]\n'
    ),
}

POSSIBLE = {
    "mapping handed out": 'def make():\n    return {"entropy": 1}\n',
    "write into a parameter": 'def put(out):\n    out["entropy"] = 1\n',
    "mapping in a list": 'def put(out):\n    out.append({"entropy": 1})\n',
    "argument that becomes a key": (
        'def put(out, name):\n    out[name] = 1\n\nput({}, "entropy")\n'
    ),
    "argument of an unknown method": 'def put(acc):\n    acc.note("entropy", 1)\n',
    "constant used as a key": 'NAME = "entropy"\n\ndef put(out):\n    out[NAME] = 1\n',
    "list that is looped over": (
        'NAMES = ["entropy"]\n\ndef put(out):\n    for name in NAMES:\n        out[name] = 1\n'
    ),
    "keyword of an unknown method": "def put(acc):\n    acc.note(entropy=1)\n",
    "field of a class that is dumped": (
        "from dataclasses import asdict, dataclass\n\n@dataclass\nclass R:\n    entropy: float\n\n"
        "def put(r):\n    return asdict(r)\n"
    ),
    "default that becomes a key": 'def put(out, name="entropy"):\n    out[name] = 1\n',
    "returned name": 'def name():\n    return "entropy"\n\ndef put(out):\n    out[name()] = 1\n',
}


@pytest.mark.parametrize("how", SPELLED)
def test_spelling_a_key_is_no_emission(how: str) -> None:
    found = lint({"rows.py": ROWS, "train.py": OPEN, "other.py": SPELLED[how]}, *CODES)
    assert [(f.code, f.place.path, f.place.line) for f in found] == [("RLT501", "rows.py", 3)]


@pytest.mark.parametrize("how", POSSIBLE)
def test_key_may_get_into_the_unknown_mapping(how: str) -> None:
    files = {"rows.py": ROWS, "train.py": OPEN, "other.py": POSSIBLE[how]}
    assert lint(files, *CODES) == []
    files["other.py"] = files["other.py"].replace("entropy", "energy")
    assert [finding.code for finding in lint(files, *CODES)] == ["RLT501"]


def test_same_key_in_a_configuration_does_not_help_when_all_that_is_logged_is_known() -> None:
    config = 'def make():\n    return {"entropy": 1}\n'
    known = OPEN.replace("results.merged()", '{"loss": results.loss}')
    found = lint({"rows.py": ROWS, "train.py": known, "config.py": config}, *CODES)
    assert [finding.code for finding in found] == ["RLT501"]
    assert lint({"rows.py": ROWS, "train.py": OPEN, "config.py": config}, *CODES) == []


def test_mapping_of_a_library_may_hold_any_key() -> None:
    train = "from somelib import step\n\ndef train(logger, n):\n    m = step()\n"
    logged = "    logger.log_metrics(m, n, prefix='train')\n"
    assert lint({"rows.py": ROWS, "train.py": train + logged}, *CODES) == []
    known = train.replace("m = step()", "m = {'x': step()}")
    assert len(lint({"rows.py": ROWS, "train.py": known + logged}, *CODES)) == 1


def test_project_without_declarations_gets_nothing() -> None:
    assert lint({"train.py": OPEN}, *CODES) == []


def test_mapping_of_a_module_that_is_not_logged() -> None:
    table = 'TABLE = {"entropy": 1}\nprint(TABLE)\n'
    found = lint({"rows.py": ROWS, "train.py": OPEN, "table.py": table}, *CODES)
    assert [finding.code for finding in found] == ["RLT501"]
    user = "from table import TABLE\n\ndef put(out):\n    out.append(TABLE)\n"
    files = {"rows.py": ROWS, "train.py": OPEN, "table.py": table, "user.py": user}
    assert lint(files, *CODES) == []
