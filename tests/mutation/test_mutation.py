"""Planted drift is caught, by kind, and changes of spelling are not taken for drift."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from rltel_lint.session import Options, open_session
from tests.mutation.controls import KIND
from tests.mutation.mutants import KINDS
from tests.mutation.run import Report, measure, table
from tests.mutation.synthetic import CONFIG, synthetic

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
SHARES = tomllib.loads((HERE / "shares.toml").read_text(encoding="utf-8"))
ALL = (*KINDS, KIND)


def judged(report: Report, floors: dict[str, float]) -> None:
    said = table(report)
    below = [kind for kind, share in report.shares.items() if share.percent < floors[kind]]
    assert not below, said
    assert not report.alarms, said
    assert report.controls, said
    assert set(report.shares) == set(floors), said


@pytest.mark.timeout(600)
def test_the_example_project() -> None:
    root = HERE.parent.parent
    session = open_session(Options(root=root, config=HERE / "example.toml", no_cache=True))
    texts = {**session.texts.sources, **session.texts.documents}
    judged(measure(root, texts, session.config, ALL, limit=40), SHARES["example"])


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_synthetic_project(seed: int, tmp_path: Path) -> None:
    judged(measure(tmp_path, synthetic(seed), CONFIG, ALL, limit=24), SHARES["synthetic"])


def test_a_blind_checker_fails(tmp_path: Path) -> None:
    config = replace(CONFIG, ignore=("RLT101", "RLT102"))
    report = measure(tmp_path, synthetic(1), config, ["SET"], limit=12, workers=1)
    with pytest.raises(AssertionError, match="missed SET"):
        judged(report, SHARES["synthetic"])
