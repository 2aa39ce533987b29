"""scripts/demo, the first thing that a visitor runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples.trainer_runs import REPO, clean_environment


@pytest.fixture
def environment_of_its_own(tmp_path: Path) -> Path:
    """What looks like an environment in which the project is installed; it is the tests'."""
    commands = tmp_path / "venv" / "bin"
    commands.mkdir(parents=True)
    for name, arguments in (("python", ""), ("rltel-lint", "-m rltel_lint")):
        script = commands / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
        script.chmod(0o755)
    (tmp_path / "venv" / ".rl-telemetry-demo-installed").touch()
    return tmp_path / "venv"


def demo(venv: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(REPO / "scripts" / "demo"), *arguments],
        env={
            **clean_environment(),
            "PYTHONPATH": str(REPO / "lint"),
            "RLTEL_VENV": str(venv),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_it_trains_checks_and_finds_the_planted_drift(
    environment_of_its_own: Path, cluster: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "tmp").mkdir()
    result = demo(environment_of_its_own, "2", **cluster, TMPDIR=str(tmp_path / "tmp"))
    assert result.returncode == 0, result.stdout + result.stderr
    trained, checked, planted = re.split(r"^== [123]\. .*$", result.stdout, flags=re.M)[1:]
    assert "step   2/2  reward" in trained
    assert re.search(r"It wrote [5-9] files", trained)
    assert "no findings in" in checked
    assert re.search(r"RLT101 span .rl\.generation\.decoding. is not in the documents", planted)
    assert re.search(r"RLT102 documented span .rl\.generation\.decode. is emitted nowhere", planted)
    assert list((tmp_path / "tmp").iterdir()) == []


def test_steps_that_are_no_number_get_one_line(environment_of_its_own: Path) -> None:
    result = demo(environment_of_its_own, "many")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "error: STEPS is a whole number of at least 1, not 'many'\n"


def test_an_old_python_gets_one_line(tmp_path: Path) -> None:
    old = tmp_path / "python2"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    result = demo(tmp_path / "none", PYTHON=str(old))
    assert result.returncode == 2
    assert result.stderr == f"error: {old} is not Python 3.10 or newer; set PYTHON to one that is\n"
