"""A project on disk, the command as a process, and an analysis that is known by heart."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import pytest

from rltel_lint.findings import Finding, Place, Related

LINT = Path(__file__).parents[3] / "lint"
Write = Callable[[Mapping[str, "str | bytes"]], Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes files below a new folder, which is also the current one, and returns it."""
    root = tmp_path / "project"
    root.mkdir()
    monkeypatch.chdir(root)

    def write_files(files: Mapping[str, str | bytes]) -> Path:
        for name, content in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return root

    return write_files


@pytest.fixture
def git(tmp_path: Path) -> Callable[..., str]:
    """Runs git in the project folder, without the configuration of this machine."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ("-c", "user.name=A", "-c", "user.email=a@b.c")

    def run(*arguments: str, folder: str = "project") -> str:
        command = ["git", *identity, *arguments]
        done = subprocess.run(
            command,
            cwd=tmp_path / folder,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    return run


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets new processes import the package of this tree, installed or not."""
    monkeypatch.setenv("PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", str(LINT), prepend=os.pathsep)
    for name in ("RLTEL_LINT_DEBUG", "PYTHONUNBUFFERED"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def command(environment: None) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Runs ``python -m rltel_lint`` as a process of its own in the current folder."""

    def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "rltel_lint", *arguments],
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=60,
        )

    return run


class UndocumentedSpan:
    """A rule of the catalogue that the tests bring along."""

    code = "RLT101"
    name = "undocumented-span"
    summary = "span emitted, not documented"
    default = True

    @staticmethod
    def page() -> str:
        return "# RLT101 undocumented-span\n\nBad and good.\n"


class StaleRow(UndocumentedSpan):
    code = "RLT102"
    name = "stale-row"


class UnresolvedName(UndocumentedSpan):
    code = "RLT105"
    name = "unresolved-name"
    default = False


class UnusedGroup(UndocumentedSpan):
    code = "RLT201"
    name = "unused-group"


@pytest.fixture
def catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four rules instead of the real ones, so that a new rule changes no test of the shell."""
    module = ModuleType("rltel_lint.rules.catalogue")
    module.ALL_RULES = (UndocumentedSpan, StaleRow, UnresolvedName, UnusedGroup)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)


@dataclass(frozen=True)
class _Input:
    root: Path
    sources: Mapping[str, str]
    documents: Mapping[str, str]
    problems: tuple[Finding, ...]


@dataclass(frozen=True)
class _Summary:
    counts: Mapping[str, int]


class _Inventory:
    def to_json(self) -> dict[str, object]:
        return {"spans": [{"name": "rl.job"}]}

    def tables(self) -> list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
        return [("spans", ("name", "opened at"), [("rl.job", "pkg/a.py:1")])]


@dataclass(frozen=True)
class _Result:
    findings: tuple[Finding, ...]
    summary: _Summary
    inventory: _Inventory
    asked: Mapping[str, object] = field(default_factory=dict)


def _analyse(source: _Input, config: object, *_: object, **__: object) -> _Result:
    """Reports every line of any file that says ``DRIFT``; ``CRASH`` is a defect of the tool."""
    findings = list(source.problems)
    texts = {**source.sources, **source.documents}
    for path, text in texts.items():
        for number, line in enumerate(text.splitlines(), start=1):
            if "CRASH" in line:
                raise KeyError("planted")
            if "DRIFT" in line:
                code, name = ("RLT101", "undocumented-span")
                if not path.endswith(".py"):
                    code, name = ("RLT102", "stale-row")
                place = Place(path, number, line.index("DRIFT") + 1)
                related = (Related(Place(path, 1), "named here"),)
                findings.append(Finding(place, code, name, "they disagree", related=related))
    counts = {"file": len(source.sources), "span": 1, "dispatch": 0}
    return _Result(tuple(findings), _Summary(counts), _Inventory())


@pytest.fixture
def analysis(catalogue: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """An analysis whose findings a test can place; the real one is tested with the rules."""
    module = ModuleType("rltel_lint.engine")
    module.Input = _Input  # type: ignore[attr-defined]
    module.analyse = _analyse  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
