"""The report is the same, byte for byte, whoever read the files and in whichever order."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path

import pytest

from rltel_lint.discovery import Texts
from rltel_lint.extraction.workers import Workers
from rltel_lint.facts.store import FactStore
from rltel_lint.outcome import analyse_session
from rltel_lint.session import Options, open_session
from tests.lint.extraction.projects import cache_of, drifted_example, report
from tests.lint.fixes.test_example import POLICY, planted
from tests.lint.processes import Tree


def test_the_projects_have_findings_of_many_kinds(synthetic_tree: Tree, expected: str) -> None:
    found = json.loads(expected)
    assert len(list(synthetic_tree.root.rglob("*.*"))) >= 60
    assert {"RLT000", "RLT101", "RLT102"} <= set(found["summary"]["by_code"])
    assert len(found["findings"]) > 40
    assert any('"rl.late.part"' in finding["message"] for finding in found["findings"])


@pytest.mark.parametrize("jobs", ["2", "3", "9"])
def test_any_number_of_processes(synthetic_tree: Tree, expected: str, jobs: str) -> None:
    assert report(synthetic_tree, "--no-cache", "--jobs", jobs) == expected


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_new_cache_and_a_known_one(
    synthetic_tree: Tree, expected: str, folder: Path, jobs: str
) -> None:
    options = ("--cache-dir", str(folder), "--jobs", jobs)
    assert report(synthetic_tree, *options) == expected
    assert report(synthetic_tree, *options) == expected
    (folder / "results.json").unlink()
    assert report(synthetic_tree, *options) == expected


def test_one_process_goes_on_where_two_began(
    synthetic_tree: Tree, expected: str, folder: Path
) -> None:
    report(synthetic_tree, "--cache-dir", str(folder), "--jobs", "2")
    (folder / "results.json").unlink()
    options = ("--cache-dir", str(folder), "--jobs", "1")
    assert report(synthetic_tree, *options) == expected


def test_the_cache_of_many_is_the_cache_of_one(synthetic_tree: Tree, tmp_path: Path) -> None:
    for jobs in ("1", "2", "9"):
        report(synthetic_tree, "--cache-dir", str(tmp_path / jobs), "--jobs", jobs)
    one = cache_of(tmp_path / "1")
    assert len(one) > 50
    assert cache_of(tmp_path / "2") == one
    assert cache_of(tmp_path / "9") == one


def test_the_example(example_tree: Tree, folder: Path) -> None:
    one = report(example_tree, "--no-cache", "--jobs", "1")
    assert len(json.loads(one)["findings"]) >= 2
    assert report(example_tree, "--no-cache", "--jobs", "2") == one
    assert report(example_tree, "--cache-dir", str(folder), "--jobs", "3") == one
    (folder / "results.json").unlink()
    assert report(example_tree, "--cache-dir", str(folder), "--jobs", "2") == one


def test_one_drift_more_is_seen_in_parallel(example_tree: Tree, tmp_path: Path) -> None:
    files = drifted_example()
    planted(files, POLICY, "    @accepts_trace_context\n", "")
    changed = report(Tree(tmp_path / "changed", files), "--no-cache", "--jobs", "2")
    one = report(example_tree, "--no-cache", "--jobs", "2")
    assert json.loads(changed)["summary"]["by_code"].get("RLT302", 0) > (
        json.loads(one)["summary"]["by_code"].get("RLT302", 0)
    )


def shuffled(texts: Mapping[str, str], order: random.Random) -> dict[str, str]:
    items = list(texts.items())
    order.shuffle(items)
    return dict(items)


@pytest.mark.parametrize("tree", ["synthetic_tree", "example_tree"])
def test_any_order_of_files(request: pytest.FixtureRequest, tree: str) -> None:
    session = open_session(Options(root=request.getfixturevalue(tree).root, no_cache=True))
    plain = analyse_session(session, FactStore(None))
    texts = session.texts
    for seed in (1, 2):
        order = random.Random(seed)
        sources, documents = shuffled(texts.sources, order), shuffled(texts.documents, order)
        assert list(sources) != list(texts.sources)
        mixed = Texts(sources, documents, texts.problems[::-1])
        changed = session._replace(texts=mixed, workers=Workers(seed))
        found = analyse_session(changed, FactStore(None))
        assert found.findings == plain.findings != ()
        assert dict(found.summary.counts) == dict(plain.summary.counts)
