"""The real flake8 in processes of its own, and projects for it to lint."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LINT = ROOT / "lint"
Found = set[tuple[str, int, int, str, str]]
Write = Callable[[Mapping[str, str]], Path]

PYPROJECT = '[project]\nname = "trainer"\nversion = "1"\n'
HEAD = (
    "from rl_telemetry.instrumentation import managed_span\n"
    "from rl_telemetry.span_groups import RLSpanGroup\n\n\n"
)
CLEAN = {
    "pyproject.toml": PYPROJECT,
    "pkg/__init__.py": "",
    "pkg/train.py": HEAD
    + "def rollout():\n"
    + '    with managed_span(RLSpanGroup.GENERATION, "rl.rollout"):\n'
    + "        return 1\n",
    "pkg/plain.py": "STEPS = 3\n",
    "docs/spans.md": "| Span | What it covers |\n|---|---|\n| `rl.rollout` | a rollout |\n",
}
"""A project without a finding. The span is opened in line 6 of ``pkg/train.py``."""


def drifted(text: str = CLEAN["pkg/train.py"], name: str = "rl.rollouts") -> str:
    """The source with its span renamed, so that the documents no longer have it."""
    return text.replace('"rl.rollout"', f'"{name}"')


_LINE = re.compile(r"(?P<path>.+?):(?P<line>\d+):(?P<column>\d+): (?P<code>\S+) (?P<text>.*)")
_RUNNER = """
import sys
{prelude}
from flake8.main.cli import main
code = main(sys.argv[1:])
{finale}
sys.exit(code)
"""


@dataclass(frozen=True)
class Run:
    """One run of flake8: its exit code, and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[tuple[str, int, str]]:
        """Path, line and code of each report, in order."""
        return [(path, line, code) for path, line, _, code, _ in self._all()]

    @property
    def texts(self) -> list[str]:
        """The text of each report, in order."""
        return [text for *_, text in self._all()]

    @property
    def found(self) -> Found:
        """All reports."""
        return set(self._all())

    def _all(self) -> list[tuple[str, int, int, str, str]]:
        matches = [_LINE.fullmatch(line) for line in self.out.splitlines()]
        assert all(matches), self.out + self.err
        return [
            (
                os.path.normpath(match["path"]).replace(os.sep, "/"),
                int(match["line"]),
                int(match["column"]),
                match["code"],
                match["text"],
            )
            for match in matches
            if match is not None
        ]


def run_flake8(
    folder: Path,
    *arguments: str,
    stdin: str | bytes | None = None,
    prelude: str = "",
    finale: str = "",
    variables: Mapping[str, str] | None = None,
) -> Run:
    """Runs flake8 in a folder, with Python code around it where a test wants to look inside.

    One process is enough for a small project; tests of several say ``-j``.
    """
    if not any(argument.startswith("-j") for argument in arguments):
        arguments = ("-j1", *arguments)
    path = os.pathsep.join([str(LINT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    environment = {**os.environ, "PYTHONPATH": path, **(variables or {})}
    data = stdin.encode() if isinstance(stdin, str) else stdin or b""
    done = subprocess.run(
        [sys.executable, "-c", _RUNNER.format(prelude=prelude, finale=finale), *arguments],
        cwd=folder,
        env=environment,
        input=data,
        capture_output=True,
        check=False,
        timeout=100,
    )
    run = Run(done.returncode, done.stdout.decode(), done.stderr.decode())
    assert "Traceback" not in run.err, run.err
    return run


def run_command(folder: Path, *arguments: str) -> Found:
    """What ``rltel-lint check`` finds in Python files, worked out anew."""
    environment = {**os.environ, "PYTHONPATH": str(LINT)}
    command = [sys.executable, "-m", "rltel_lint", "check", "--no-cache", "--format", "json"]
    done = subprocess.run(
        [*command, *arguments], cwd=folder, env=environment, capture_output=True, check=False
    )
    assert done.returncode in (0, 1), done.stderr.decode()
    return {
        (one["path"], one["line"], one["column"], one["code"], one["message"])
        for one in json.loads(done.stdout)["findings"]
        if one["path"].endswith(".py")
    }


def write_files(root: Path, files: Mapping[str, str]) -> Path:
    """Writes files below a folder, line ends as they are, and returns the folder."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return root


@pytest.fixture
def project(tmp_path: Path) -> Write:
    """Writes a project: the clean one with some files changed or added."""

    def write(changes: Mapping[str, str]) -> Path:
        return write_files(tmp_path / "project", {**CLEAN, **changes})

    return write


@dataclass(frozen=True)
class Tree:
    """A generated project.

    Attributes:
        root: Where it is.
        planted: Path, line and code of each drift in it.
    """

    root: Path
    planted: frozenset[tuple[str, int, str]]


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """300 files; one in three opens spans, and drifts of several kinds are planted."""
    files, planted, rows = _generated(300)
    files["docs/spans.md"] = "| Span | What it covers |\n|---|---|\n" + "".join(
        f"| `{name}` | a part |\n" for name in rows
    )
    root = write_files(tmp_path_factory.mktemp("tree"), files)
    return Tree(root, frozenset(planted))


def _generated(number: int) -> tuple[dict[str, str], set[tuple[str, int, str]], list[str]]:
    files = {
        "pyproject.toml": PYPROJECT,
        "pkg/__init__.py": "",
        "pkg/phases.py": HEAD
        + "def phase(name):\n"
        + '    return managed_span(RLSpanGroup.GENERATION, f"rl.part.{name}")\n',
    }
    planted: set[tuple[str, int, str]] = set()
    rows: list[str] = []
    for index in range(number - len(files) + 1):
        path = f"pkg/part{index % 7}/m{index}.py"
        name = f"rl.part.p{index}"
        if index % 3:
            files[path] = f"def count(x):\n    return x + {index}\n"
            continue
        if index % 2:  # a span through a helper in another file
            files[path] = (
                "from pkg.phases import phase\n\n\n"
                f'def work():\n    with phase("p{index}"):\n        return 1\n'
            )
            line = 5
        else:
            files[path] = HEAD + (
                "def work():\n"
                f'    with managed_span(RLSpanGroup.GENERATION, "{name}"):\n        return 1\n'
            )
            line = 6
        if index % 10 == 0:
            planted.add((path, line, "RLT101"))
        else:
            rows.append(name)
        if index % 12 == 0:  # an umbrella helper around a leaf
            files[path] = files[path].replace("managed_span", "umbrella_span")
            planted.add((path, line, "RLT401"))
        if index % 21 == 0:
            files[path] += "\n\ndef quiet():  # noqa: RLT101\n    return 2\n"
            planted.add(
                (path, files[path][: files[path].index("# noqa")].count("\n") + 1, "RLT001")
            )
    return files, planted, rows


def modules_of(run: Run) -> list[str]:
    """The modules that a run with :data:`SHOW_MODULES` as its finale had imported."""
    return run.err.split()


SHOW_MODULES = "print(*sorted(sys.modules), file=sys.stderr)"
NO_FORKS = "import rltel_lint.forks as forks; forks.can_fork = lambda: False"
"""A prelude for a run that does everything in its own process, as where none can be forked."""


def only(found: Iterable[tuple[str, int, str]], code: str) -> set[tuple[str, int]]:
    """Path and line of the reports with one code."""
    return {(path, line) for path, line, one in found if one == code}
