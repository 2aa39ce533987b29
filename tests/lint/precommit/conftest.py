"""A git repository that uses this checkout's hooks, with everything they install at hand.

The hooks are installed by the real pre-commit, once, and without a network: what they depend on
is packed again from this environment into wheels, and pip is told to look nowhere else.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[3]
PARTS = ("pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml")
CONFIG = """\
repos:
- repo: {hooks}
  rev: {revision}
  hooks:
  - id: rltel-lint
"""
FILES = {
    "pyproject.toml": '[project]\nname = "trainer"\nversion = "1"\n',
    "train.py": (
        "from rl_telemetry.instrumentation import managed_span\n"
        "from rl_telemetry.span_groups import RLSpanGroup\n\n\n"
        "def rollout():\n"
        '    with managed_span(RLSpanGroup.GENERATION, "rl.rollout"):\n'
        "        return 1\n"
    ),
    "docs/spans.md": "| Span | What it covers |\n|---|---|\n| `rl.rollout` | a rollout |\n",
    "notes.txt": "nothing\n",
}


@dataclass(frozen=True)
class Repository:
    """A git repository with the hook installed.

    Attributes:
        root: Where it is.
        home: Where pre-commit keeps the hook's environment.
        environment: Variables for git and pre-commit.
    """

    root: Path
    home: Path
    environment: dict[str, str]

    def git(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs git."""
        identity = ("-c", "user.name=A", "-c", "user.email=a@b.c")
        return _run(["git", *identity, *arguments], self.root, self.environment)

    def write(self, changes: dict[str, str]) -> None:
        """Brings the files to their first state with some changed, and stages them."""
        for name, text in {**FILES, **changes}.items():
            path = self.root / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        self.git("add", "--all")


def _run(
    command: list[str], folder: Path, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """The repository, with one commit and ``pre-commit install`` done."""
    base = tmp_path_factory.mktemp("pre-commit")
    environment = {
        **{key: value for key, value in os.environ.items() if not _is_foreign(key)},
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PRE_COMMIT_HOME": str(base / "home"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(base / "wheels"),
        "PIP_NO_CACHE_DIR": "1",
    }
    _pack(base / "wheels")
    hooks = Repository(base / "hooks", base / "home", environment)
    hooks.root.mkdir()
    for part in PARTS:
        shutil.copy(ROOT / part, hooks.root / part)
    for folder in ("rl_telemetry", "lint"):
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, hooks.root / folder, ignore=ignore)
    revision = _commit(hooks)

    project = Repository(base / "project", base / "home", environment)
    project.root.mkdir()
    config = CONFIG.format(hooks=hooks.root, revision=revision)
    (project.root / ".pre-commit-config.yaml").write_text(config)
    project.write({})
    _commit(project)
    done = _run(["pre-commit", "install", "--install-hooks"], project.root, environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return project


def _is_foreign(variable: str) -> bool:
    return variable.startswith(("GIT_", "PIP_", "PRE_COMMIT")) or variable == "PYTHONPATH"


def _commit(repository: Repository) -> str:
    for arguments in (("init", "-q"), ("add", "--all"), ("commit", "-q", "-m", "first")):
        done = repository.git(*arguments)
        assert done.returncode == 0, done.stderr
    return repository.git("rev-parse", "HEAD").stdout.strip()


def _pack(folder: Path) -> None:
    """Packs what the hooks need, and what builds them, into wheels."""
    folder.mkdir()
    for name in sorted(
        requirements("rl-telemetry", "lint") | {"hatchling"} | requirements("hatchling")
    ):
        _pack_one(distribution(name), folder)


def requirements(name: str, *extras: str) -> set[str]:
    """Returns the distributions that a distribution needs here, directly or not."""
    found: set[str] = set()
    todo = [(name, extras)]
    while todo:
        name, wanted = todo.pop()
        for text in distribution(name).requires or ():
            need = Requirement(text)
            marker = need.marker
            if marker is None or any(marker.evaluate({"extra": one}) for one in ("", *wanted)):
                key = need.name.lower().replace("_", "-")
                if key not in found:
                    found.add(key)
                    todo.append((need.name, tuple(need.extras)))
    return found


def _pack_one(installed: Distribution, folder: Path) -> None:
    wheel = installed.read_text("WHEEL") or ""
    tag = next(line.split()[1] for line in wheel.splitlines() if line.startswith("Tag: "))
    name = installed.metadata["Name"].replace("-", "_").replace(".", "_")
    with zipfile.ZipFile(folder / f"{name}-{installed.version}-{tag}.whl", "w") as archive:
        for path in _files(installed):
            archive.write(str(installed.locate_file(path)), path)


def _files(installed: Distribution) -> Iterator[str]:
    for path in installed.files or ():
        shown = path.as_posix()
        ours = not shown.startswith("../") and path.suffix != ".pyc"
        if ours and path.name not in ("INSTALLER", "REQUESTED", "direct_url.json"):
            yield shown
