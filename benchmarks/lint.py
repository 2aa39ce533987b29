"""What a run of ``rltel-lint`` costs, beside other tools on the same tree, in one run.

``python benchmarks/lint.py TREE [--config FILE]`` copies the tree and takes turns: start-up alone,
``ast.parse`` of everything, the linter cold, with nothing changed and after one edit, and the
peers that are installed. ``--synthetic FILES`` makes a tree instead of taking one.

Ratios are to ``python -c "import click"`` and to ``ast.parse``; times depend on the machine.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

PARSE = (
    "import ast, pathlib, sys, warnings; warnings.simplefilter('ignore')\n"
    "for path in pathlib.Path(sys.argv[1]).rglob('*.py'):\n"
    "    try: ast.parse(path.read_bytes())\n"
    "    except SyntaxError: pass"
)
SITE = """
def work_{n}(items):
    with managed_span(RLSpanGroup.REWARD, "rl.synthetic.work_{n}"):
        return [item for item in items if item]
"""
PLAIN = """
def plain_{n}(items, limit={n}):
    total = 0
    for item in items:
        if item < limit:
            total += item
    return total
"""


@dataclass
class Case:
    """One thing that is measured.

    Attributes:
        name: What the table calls it.
        command: The command; it may end with any exit code.
        before: Done before each turn, not measured.
        seconds: Wall times of the turns.
        megabytes: Peak memory of the turns.
    """

    name: str
    command: list[str]
    before: Callable[[], None] = lambda: None
    seconds: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)

    def run(self, folder: Path) -> None:
        """Takes one turn in a folder."""
        self.before()
        started = time.perf_counter()
        process = subprocess.Popen(
            self.command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _, _, usage = os.wait4(process.pid, 0)
        self.seconds.append(time.perf_counter() - started)
        self.megabytes.append(usage.ru_maxrss / 1024)


def synthetic(folder: Path, files: int, density: float) -> None:
    """Writes a tree of 400-line files, a share of which open spans."""
    head = (
        "from rl_telemetry.instrumentation import managed_span\n"
        "from rl_telemetry.span_groups import RLSpanGroup\n"
    )
    (folder / "pyproject.toml").write_text("", encoding="utf-8")
    rows = ["| Span | Means |", "|---|---|", "| `rl.synthetic.*` | work |"]
    (folder / "docs").mkdir()
    (folder / "docs" / "spans.md").write_text("\n".join(rows) + "\n", encoding="utf-8")
    for number in range(files):
        path = folder / f"package_{number // 50}" / f"module_{number}.py"
        path.parent.mkdir(exist_ok=True)
        instrumented = number < files * density
        parts = [PLAIN.format(n=n) for n in range(50)]
        if instrumented:
            parts = [head, *parts, *(SITE.format(n=f"{number}_{n}") for n in range(3))]
        path.write_text("".join(parts), encoding="utf-8")


def cases(tree: Path, config: Path | None) -> Iterator[Case]:
    """Yields what is measured in a tree."""
    python = sys.executable
    lint = [python, "-m", "rltel_lint", "check"]
    if config is not None:
        lint += ["--config", str(config)]
    largest = max(tree.rglob("*.py"), key=lambda path: path.stat().st_size)

    def edit() -> None:
        with largest.open("a", encoding="utf-8") as file:
            file.write(f"\n\ndef edited_{time.monotonic_ns()}() -> int:\n    return 1\n")

    yield Case('python -c "import click"', [python, "-c", "import click"])
    yield Case("ast.parse of every file", [python, "-c", PARSE, str(tree)])
    yield Case("rltel-lint, cold, no cache", [*lint, "--no-cache"])
    yield Case("rltel-lint, nothing changed", lint)
    yield Case("rltel-lint, largest file edited", lint, edit)
    yield Case("rltel-lint, again", lint)
    for name, command in (
        ("ruff check --no-cache", ["ruff", "check", "--no-cache", "."]),
        ("flake8 --select F -j 2", [python, "-m", "flake8", "--select", "F", "-j", "2", "."]),
        ("fixit lint", ["fixit", "lint", "."]),
    ):
        if shutil.which(command[0]) and (command[0] != python or _has_flake8()):
            yield Case(name, command)


def _has_flake8() -> bool:
    return (
        subprocess.run(
            [sys.executable, "-m", "flake8", "--version"], check=False, capture_output=True
        ).returncode
        == 0
    )


def main() -> None:
    """Runs the benchmark and prints its table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("tree", nargs="?", type=Path)
    parser.add_argument("--config", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--synthetic", type=int, metavar="FILES")
    parser.add_argument("--density", type=float, default=0.05, help="share that opens spans")
    options = parser.parse_args()
    if (options.tree is None) == (options.synthetic is None):
        parser.error("give a TREE or --synthetic FILES")
    with tempfile.TemporaryDirectory() as work:
        tree = Path(work) / "tree"
        if options.synthetic:
            tree.mkdir()
            synthetic(tree, options.synthetic, options.density)
        else:
            ignore = shutil.ignore_patterns(".git", ".rltel-cache", "__pycache__")
            shutil.copytree(options.tree, tree, ignore=ignore, symlinks=True)
        config = options.config.resolve() if options.config else None
        measured = list(cases(tree, config))
        for case in measured[:4]:
            case.run(tree)  # a first turn fills the caches, of the system's files too
            case.seconds.clear()
            case.megabytes.clear()
        for _ in range(options.repeats):
            for case in measured:
                case.run(tree)
    report(measured)


def report(measured: list[Case]) -> None:
    """Prints medians, ratios and peak memory."""
    start, parse = (statistics.median(case.seconds) for case in measured[:2])
    print(f"{'':34} {'seconds':>8} {'/ click':>8} {'/ parse':>8} {'MB':>6}")
    for case in measured:
        median = statistics.median(case.seconds)
        memory = max(case.megabytes)
        print(
            f"{case.name:34} {median:8.2f} {median / start:8.1f} {median / parse:8.2f} "
            f"{memory:6.0f}"
        )


if __name__ == "__main__":
    main()
