"""What others run from outside: the pre-commit hook, the scripts, the changelog."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from rltel_lint import __version__
from rltel_lint.codes import READ_PROBLEM, READ_PROBLEM_NAME
from rltel_lint.commands import cli

ROOT = Path(__file__).parents[3]
HOOK = (ROOT / ".pre-commit-hooks.yaml").read_text()


def _hook(key):
    return re.search(rf"^\s+{key}: (.*)$", HOOK, flags=re.MULTILINE)[1]


@pytest.mark.parametrize(
    ("path", "runs"),
    [
        ("pkg/a.py", True),
        ("README.md", True),
        ("docs/spans.mdx", True),
        ("docs/spans.rst", True),
        ("pyproject.toml", True),
        ("sub/pyproject.toml", True),
        ("dashboards/training.json", True),
        ("recipes/small.yaml", True),
        ("recipes/small.toml", True),
        ("setup.cfg", False),
        ("picture.svg", False),
        ("a.pyc", False),
    ],
)
def test_the_hook_runs_on_code_documents_and_configuration(path, runs):
    assert bool(re.search(_hook("files"), path)) is runs


def test_the_hook_checks_the_whole_project_with_a_command_that_exists():
    program, command = shlex.split(_hook("entry"))
    assert program == "rltel-lint"
    assert command in cli.commands
    assert _hook("pass_filenames") == "false"


@pytest.mark.parametrize("script", [".ci/run", "scripts/test"])
def test_scripts_are_executable_and_valid(script):
    path = ROOT / script
    assert path.stat().st_mode & 0o111
    assert path.read_text().startswith("#!/usr/bin/env bash\n")
    subprocess.run(["bash", "-n", str(path)], check=True)


def test_the_finding_of_an_unreadable_file_belongs_to_a_rule():
    from rltel_lint.rules.catalogue import rule_by_code

    assert rule_by_code(READ_PROBLEM).name == READ_PROBLEM_NAME


def test_the_changelog_speaks_of_this_version():
    newest = re.search(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert newest[1] == __version__
