"""What a run of ``rltel-lint`` costs, beside other tools on the same tree, in one run.

``python benchmarks/lint.py TREE [--config FILE]`` copies the tree and takes turns: start-up alone,
``ast.parse`` of everything, a script that looks for one call by ``ast.walk``, the linter cold, with
nothing changed and after edits of the largest file, and the peers that are installed.
``--synthetic FILES`` makes a tree instead of taking one. ``--copies 1 10 50`` measures folders with
so many copies of the tree, one after the other.

Ratios are to ``python -c "import click"`` and to ``ast.parse``; times depend on the machine.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from turns import Case, take_turns

PYTHON = sys.executable
LINT = [PYTHON, "-m", "rltel_lint", "check"]
PARSE = (
    "import ast, pathlib, sys, warnings; warnings.simplefilter('ignore')\n"
    "for path in pathlib.Path(sys.argv[1]).rglob('*.py'):\n"
    "    try: ast.parse(path.read_bytes())\n"
    "    except SyntaxError: pass"
)
GUARD = (
    "import ast, pathlib, sys, warnings; warnings.simplefilter('ignore')\n"
    "for path in pathlib.Path(sys.argv[1]).rglob('*.py'):\n"
    "    try: tree = ast.parse(path.read_bytes())\n"
    "    except SyntaxError: continue\n"
    "    for node in ast.walk(tree):\n"
    "        if isinstance(node, ast.Call) and getattr(node.func, 'attr', '') == 'start_span':\n"
    "            print(path, node.lineno)"
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


def adopt(tree: Path, config: Path | None) -> None:
    """Puts a configuration into the tree's own file, where the flake8 plugin looks for it."""
    if config is not None:
        with (tree / "pyproject.toml").open("a", encoding="utf-8") as file:
            file.write(f"\n{config.read_text(encoding='utf-8')}")


def cases(tree: Path, buffer: Path) -> Iterator[Case]:
    """Yields what is measured in a tree.

    Args:
        tree: The tree.
        buffer: Where the text of an editor is kept: the largest file and a few more lines.
    """
    largest = max(tree.rglob("*.py"), key=lambda path: path.stat().st_size)
    text = largest.read_text(encoding="utf-8")
    more = "".join(PLAIN.format(n=n) for n in range(max(0, 625 - text.count("\n") // 8)))
    buffer.write_text(f"{text}{more}", encoding="utf-8")
    local = largest.relative_to(tree).as_posix()

    yield Case('python -c "import click"', [PYTHON, "-c", "import click"])
    yield Case("ast.parse of every file", [PYTHON, "-c", PARSE, str(tree)])
    yield Case("an ast.walk guard script", [PYTHON, "-c", GUARD, str(tree)])
    yield Case("rltel-lint, cold, no cache", [*LINT, "--no-cache"])
    yield Case("  in one process", [*LINT, "--no-cache", "--jobs", "1"])
    yield Case("rltel-lint, nothing changed", LINT)
    yield from peers(local, buffer)
    for name, edit in EDITS.items():
        yield Case(f"rltel-lint, {name}", LINT, partial(edit, largest))


def add_comment(file: Path) -> None:
    """Adds a comment at the end of a file."""
    with file.open("a", encoding="utf-8") as text:
        text.write(f"# {time.monotonic_ns()}\n")


def add_function(file: Path) -> None:
    """Adds a function at the end of a file."""
    with file.open("a", encoding="utf-8") as text:
        text.write(f"\n\ndef edited_{time.monotonic_ns()}() -> int:\n    return 1\n")


def add_statement(file: Path) -> None:
    """Adds a statement to the longest function of a file, which is likely to matter most."""
    text = file.read_text(encoding="utf-8")
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]
    longest = max(functions, key=lambda one: (one.end_lineno or 0) - one.lineno)
    last = longest.body[-1]
    first = min([last, *getattr(last, "decorator_list", [])], key=lambda one: one.lineno)
    lines = text.split("\n")
    lines.insert(first.lineno - 1, f"{' ' * last.col_offset}edited_{time.monotonic_ns()} = 1")
    file.write_text("\n".join(lines), encoding="utf-8")


def typed(buffer: Path, text: str, edit: Callable[[Path], None]) -> None:
    """Puts a text with one edit into a buffer."""
    buffer.write_text(text, encoding="utf-8")
    edit(buffer)


EDITS = {
    "a comment added": add_comment,
    "a function added": add_function,
    "longest function edited": add_statement,
}
"""Edits of a file: on disk one upon the other, in a buffer each by itself."""


def peers(path: str, buffer: Path) -> Iterator[Case]:
    """Yields the other tools that are installed.

    Args:
        path: The file that is open in the editor.
        buffer: Its text there.
    """
    if shutil.which("ruff"):
        yield Case("ruff check --no-cache", ["ruff", "check", "--no-cache", "."])
    if shutil.which("fixit"):
        yield Case("fixit lint", ["fixit", "lint", "."])
    if importlib.util.find_spec("flake8") is None:
        return
    flake8 = [PYTHON, "-m", "flake8"]
    alone = Case("flake8 --select F -j 2", [*flake8, "--select", "F", "-j", "2", "."])
    yield alone
    both = [*flake8, "--select", "F,RLT", "-j", "2", "."]
    yield Case("  with the plugin, warm", both, beside=alone)
    stdin = ["--stdin-display-name", path, "-"]

    only = [*flake8, "--select", "F", *stdin]
    text = buffer.read_text(encoding="utf-8")
    alone = Case(
        "flake8, one unsaved buffer", only, partial(typed, buffer, text, add_comment), buffer
    )
    yield alone
    both = [*flake8, "--select", "F,RLT", *stdin]
    for name, edit in EDITS.items():
        yield Case(f"  plugin, {name}", both, partial(typed, buffer, text, edit), buffer, alone)


def measure(tree: Path, work: Path, repeats: int) -> list[Case]:
    """Lets everything take turns in a tree."""
    measured = list(cases(tree, work / "buffer.py"))
    turns, edits = measured[: -len(EDITS)], measured[-len(EDITS) :]
    time.sleep(2)  # files that were changed just before they are read would be read again
    for case in turns:
        if "cold" not in case.name:
            case.run(tree)  # a first turn fills the caches, of the system's files too
            case.forget()
    take_turns(turns, tree, repeats)
    take_turns(edits, tree, repeats)
    return measured


def measure_copies(tree: Path, work: Path, number: int, repeats: int, patience: float) -> None:
    """Measures a folder with copies of a tree, and prints a row for each run."""
    whole = work / f"copies_{number}"
    whole.mkdir()
    (whole / "pyproject.toml").write_text(
        (tree / "pyproject.toml").read_text(encoding="utf-8"), encoding="utf-8"
    )
    for index in range(number):
        shutil.copytree(tree, whole / f"copy_{index:02}", symlinks=True)
    files = sum(1 for _ in whole.rglob("*.py"))
    start = Case("", [PYTHON, "-c", "import click"])
    cold, warm = Case("cold", LINT), Case("nothing changed", LINT)
    ended = cold.run(whole, patience)
    if not ended:
        print(f"{number:6} {files:7} cold: not done after {patience:.0f} s", flush=True)
    else:
        warm.run(whole)
        warm.forget()
        take_turns([start, warm], whole, repeats)
    for case in (cold, warm) if ended else ():
        ratio = f"{warm.median / start.median:8.1f}" if case is warm else " " * 8
        print(
            f"{number:6} {files:7} {case.name:18} {case.median:8.2f} {ratio} "
            f"{max(case.megabytes):6.0f}",
            flush=True,
        )
    shutil.rmtree(whole)


def main() -> None:
    """Runs the benchmark and prints its tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("tree", nargs="?", type=Path)
    parser.add_argument("--config", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--synthetic", type=int, metavar="FILES")
    parser.add_argument("--density", type=float, default=0.05, help="share that opens spans")
    parser.add_argument(
        "--copies", type=int, nargs="+", metavar="N", help="measure folders with N copies instead"
    )
    parser.add_argument(
        "--patience", type=float, default=900, help="seconds that a cold run of copies may take"
    )
    options = parser.parse_args()
    if (options.tree is None) == (options.synthetic is None):
        parser.error("give a TREE or --synthetic FILES")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        tree = work / "tree"
        if options.synthetic:
            tree.mkdir()
            synthetic(tree, options.synthetic, options.density)
        else:
            ignore = shutil.ignore_patterns(".git", ".rltel-cache", "__pycache__")
            shutil.copytree(options.tree, tree, ignore=ignore, symlinks=True)
        adopt(tree, options.config)
        if not options.copies:
            report(measure(tree, work, options.repeats))
            return
        print(f"{'copies':>6} {'files':>7} {'':18} {'seconds':>8} {'/ click':>8} {'MB':>6}")
        for number in options.copies:
            measure_copies(tree, work, number, options.repeats, options.patience)


def report(measured: list[Case]) -> None:
    """Prints medians, ratios and peak memory."""
    start, parse = (case.median for case in measured[:2])
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    print(f"{'':34} {'seconds':>8} {'/ click':>8} {'/ parse':>8} {'MB':>6}   load {load}")
    for case in measured:
        compared = ""
        if case.beside is not None:
            more = case.median - case.beside.median
            compared = f"   {case.median / case.beside.median:.2f} of it, {more:+.2f} s"
        print(
            f"{case.name:34} {case.median:8.3f} {case.median / start:8.1f} "
            f"{case.median / parse:8.2f} {max(case.megabytes):6.0f}{compared}"
        )


if __name__ == "__main__":
    main()
