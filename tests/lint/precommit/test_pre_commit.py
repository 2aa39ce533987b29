"""The hook of this checkout in a repository of somebody else, by the real pre-commit."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.lint.precommit.conftest import FILES, Repository, requirements

DRIFT = {"train.py": FILES["train.py"].replace('"rl.rollout"', '"rl.rollouts"')}


def _commit(repository: Repository, changes: dict[str, str]) -> subprocess.CompletedProcess[str]:
    repository.write(changes)
    return repository.git("commit", "-m", "change")


def test_a_drift_stops_the_commit(repository: Repository) -> None:
    done = _commit(repository, DRIFT)
    assert done.returncode == 1
    assert "train.py:6:10: RLT101" in done.stderr


def test_a_document_alone_stops_the_commit(repository: Repository) -> None:
    gone = {"docs/spans.md": FILES["docs/spans.md"].replace("rl.rollout", "rl.generation")}
    done = _commit(repository, gone)
    assert done.returncode == 1
    assert "docs/spans.md:3:" in done.stderr
    assert "train.py:6:10: RLT101" in done.stderr


def test_a_commit_without_drift_goes_through(repository: Repository) -> None:
    done = _commit(repository, {"docs/spans.md": FILES["docs/spans.md"] + "\nMore.\n"})
    assert done.returncode == 0, done.stderr
    assert "rltel-lint" in done.stderr
    assert "Passed" in done.stderr


def test_other_files_do_not_run_it(repository: Repository) -> None:
    repository.git("checkout", "-q", "--", ".")
    done = _commit(
        repository, {"notes.txt": "something\n", "docs/spans.md": _committed(repository)}
    )
    assert done.returncode == 0, done.stderr
    assert "Skipped" in done.stderr


def _committed(repository: Repository) -> str:
    return repository.git("show", "HEAD:docs/spans.md").stdout


def test_no_more_is_installed_than_the_distribution_and_its_lint_extra(
    repository: Repository,
) -> None:
    (python,) = repository.home.glob("repo*/py_env-*/bin/python")
    listed = subprocess.run(
        [str(python), "-m", "pip", "list", "--format", "json"],
        env=repository.environment,
        capture_output=True,
        check=True,
    )
    names = {one["name"].lower().replace("_", "-") for one in json.loads(listed.stdout)}
    assert names - {"pip", "setuptools", "wheel"} == {"rl-telemetry"} | requirements(
        "rl-telemetry", "lint"
    )
    assert not any(Path(python.parent.parent).glob("lib/python*/site-packages/ray"))
