"""RLT902 and RLT903: what texts cite is there, and variables are read."""

from __future__ import annotations

import pytest

from rltel_lint.rules.citations import CitedThingMissing, EnvironmentNameNeverRead
from tests.lint.support import lint, project

TREE = """
--- pkg/__init__.py
VERSION = "1"
--- pkg/sampling.py
from dataclasses import dataclass
from typing import NamedTuple
from outside import Base

LIMIT: int = 3

def draw():
    ...

class Sampler:
    rate = 1.0

    def __init__(self):
        self.seed = 1

    def draw(self):
        ...

class Child(Sampler):
    ...

class Foreign(Base):
    ...

@dataclass
class Row:
    size: int
--- pkg/lazy.py
def __getattr__(name):
    return 1
--- pkg/listed.py
__all__ = ["made"]

def __getattr__(name):
    return 1
--- pkg/stars.py
from outside import *
--- pkg/again.py
from pkg.sampling import Sampler as Drawer
--- tests/test_draw.py
def test_draws_one():
    ...

class TestMany:
    def test_draws_many(self):
        ...
--- docs/other.md
Other.
--- .gitmodules
[submodule "recipe"]
    path = pkg/recipe
"""

#: A citation that is right, and one next to it that is not.
CITED = {
    "a module": ("pkg.sampling", "pkg.sampler"),
    "a function": ("pkg.sampling.draw()", "pkg.sampling.drew()"),
    "a constant": ("pkg.sampling.LIMIT", "pkg.sampling.LIMITS"),
    "a class": ("pkg.sampling.Sampler", "pkg.sampling.RankSampler"),
    "a method": ("pkg.sampling.Sampler.draw", "pkg.sampling.Sampler.drew"),
    "an inherited method": ("pkg.sampling.Child.draw", "pkg.sampling.Child.drew"),
    "an attribute": ("pkg.sampling.Sampler.seed", "pkg.sampling.Sampler.sede"),
    "a field": ("pkg.sampling.Row.size", "pkg.sampling.Sampler.size"),
    "a re-export": ("pkg.again.Drawer.rate", "pkg.again.Sampler.rate"),
    "of a package": ("pkg.VERSION", "pkg.VERSIONS"),
    "made on demand": ("pkg.listed.made", "pkg.listed.mode"),
    "a helper": ("managed_span", "manage_span"),
    "a helper with more words": ("umbrella_span", "umbrella_span_later"),
    "with a tilde": ("~pkg.sampling.draw", "~pkg.sampling.drew"),
    "a path": ("pkg/sampling.py", "pkg/sampler.py"),
    "a path with a line": ("pkg/sampling.py:3", "pkg/sampler.py:3"),
    "a document": ("docs/other.md", "docs/others.md"),
    "a test file": ("tests/test_draw.py", "tests/test_drew.py"),
    "a test in a file": (
        "tests/test_draw.py::test_draws_one",
        "tests/test_draws.py::test_draws_one",
    ),
    "a test": ("test_draws_one", "test_draws_ones"),
    "a test with a long name": ("test_draws_one", "test_every_draw_is_one_draw"),
    "a method of a test class": ("test_draws_many()", "test_draws_manyy()"),
}


@pytest.mark.parametrize("what", CITED)
def test_citations(what: str) -> None:
    for text, expected in zip(CITED[what], (0, 1), strict=True):
        files = {**project(TREE), "docs/d.md": f"See `{text}` for more.\n"}
        assert len(lint(files, CitedThingMissing)) == expected, text


#: Citations that a checker may not complain of, however little it finds.
LEFT_ALONE = [
    *("numpy.random.sampler", "rl.grpo.step", "config.sampling.rate", "pkg", "self.seed"),
    *("pkg.lazy.anything", "pkg.stars.anything", "pkg.sampling.Foreign.anything"),
    *("pkg.sampling.my_sampler", "pkg.your_module", "pkg.*", "pkg.<algorithm>.x", "pkg/*.py"),
    *("other_repo/sampling.py", "sampling.py", "../elsewhere/x.md", "results/run/log.json"),
    *("pkg.sampling.Sampler.__init__", "pkg.sampling.py", "test", "pytest", "other.md"),
    *("pkg/sampling/", "https://host/pkg/x.py", "test_draws"),
    *(
        "docs/your-guide/your-guide.md",
        "test_other",
        "test_data_path",
        "pkg/recipe/run.sh",
        "pkg/docs/other.md",
    ),
]


@pytest.mark.parametrize("text", LEFT_ALONE)
def test_left_alone(text: str) -> None:
    files = {**project(TREE), "docs/d.md": f"See `{text}` and `pkg.sampling.gone`.\n"}
    (finding,) = lint(files, CitedThingMissing)
    assert '"gone"' in finding.message


def test_what_is_said_to_be_gone_may_be_cited() -> None:
    said = "`pkg.sampling.Old` was removed; `pkg.sampling.New` is planned.\n"
    files = {**project(TREE), "docs/d.md": said}
    assert lint(files, CitedThingMissing) == []
    assert len(lint({**files, "docs/d.md": "Use `pkg.sampling.Old`.\n"}, CitedThingMissing)) == 1
    assert lint({**files, "docs/changelog.md": "- `pkg.sampling.Old`\n"}, CitedThingMissing) == []


def test_a_package_with_the_name_of_the_namespace() -> None:
    code = {"lib/__init__.py": "", "lib/core/__init__.py": "", "lib/core/spans.py": "X = 1\n"}
    docs = "Spans such as `lib.train_step`, in `lib.core.spans`.\n"
    assert lint({**code, "docs/d.md": docs}, CitedThingMissing, namespaces=("lib.",)) == []
    faulty = {**code, "docs/d.md": docs + "And `lib.core.spams`.\n"}
    assert len(lint(faulty, CitedThingMissing, namespaces=("lib.",))) == 1


TABLE = "# Settings of `rl.*`\n\n| Environment variable | Means |\n|---|---|\n"

VARIABLES = {
    "read": ('os.environ["TRAINER_GROUP"]', "TRAINER_GROUP", 0),
    "got": ('os.getenv("TRAINER_GROUP", "")', "TRAINER_GROUP", 0),
    "held in a constant": ('GROUP = "TRAINER_GROUP"', "TRAINER_GROUP", 0),
    "a prefix of the project": ('os.environ[f"TRAINER_{name}"]', "TRAINER_GROUP", 0),
    "a prefix that a library gets": ('from_env(prefix="TRAINER")', "TRAINER_GROUP", 0),
    "of another program": ("pass", "NCCL_DEBUG", 0),
    "of a standard": ("pass", "OTEL_SERVICE_NAME", 0),
    "of the library": ("pass", "RL_TELEMETRY_ENABLED", 0),
    "a flag": ("pass", "--group", 0),
    "not of the library": ("pass", "RL_TELEMETRY_ENABLE", 1),
    "never read": ("pass", "TRAINER_GROUP", 1),
    "renamed in the code": ('os.environ["TRAINER_WORKER_GROUP"]', "TRAINER_GROUP", 1),
}


@pytest.mark.parametrize("case", VARIABLES)
def test_variables(case: str) -> None:
    code, name, expected = VARIABLES[case]
    body = f'import os\n\ndef f(name, from_env):\n    os.environ["TRAINER_WORKERS"]\n    {code}\n'
    table = f"{TABLE}| `TRAINER_WORKERS` | a |\n| `{name}` | b |\n"
    files = {"s.py": body, "docs/s.md": table}
    assert len(lint(files, EnvironmentNameNeverRead)) == expected
    reserved = table.replace("| b |", "| *reserved* |")
    assert lint({**files, "docs/s.md": reserved}, EnvironmentNameNeverRead) == []


def test_an_attribute_that_starts_like_a_package_is_no_module() -> None:
    code = {**project(TREE), "pkg/keys.py": 'RUN = "pkg.sampling.run_id"\n'}
    docs = "Filter by `pkg.run.id` and `pkg.sampling.run_id`.\n"
    assert lint({**code, "docs/d.md": docs}, CitedThingMissing) == []
    assert len(lint({**project(TREE), "docs/d.md": docs}, CitedThingMissing)) == 1
