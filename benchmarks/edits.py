"""How many edits change no finding for sure, so that nothing is linked; and whether that is true.

``python benchmarks/edits.py TREE [--config FILE]`` makes random edits of the tree's Python files,
one at a time and in memory only, the more of a file the larger it is. For each kind of edit it
prints how often the last outcome was taken as it was. Some of these outcomes (``--compare 3``:
every third) are compared with those of a whole run; the exit code is 1 if one of them differs.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from rltel_lint.contents import Texts, replaced
from rltel_lint.editing import after_edit
from rltel_lint.facts.store import FactStore
from rltel_lint.findings import Finding
from rltel_lint.outcome import analyse_session, outcome
from rltel_lint.results import encode_finding
from rltel_lint.session import Options, Session, open_session

Edit = Callable[[list[str], int, random.Random], None]
"""Changes lines at an index; what it cannot change it leaves."""


def _comment(lines: list[str], at: int, _: random.Random) -> None:
    lines[at] += "  # edited"


def _inserted(statement: str) -> Edit:
    def edit(lines: list[str], at: int, chance: random.Random) -> None:
        indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
        lines.insert(at, f"{indent}{statement.format(chance.randrange(100))}")

    return edit


def _substituted(pattern: str, new: str) -> Edit:
    def edit(lines: list[str], at: int, _: random.Random) -> None:
        lines[at] = re.sub(pattern, new, lines[at], count=1)

    return edit


def _name(lines: list[str], at: int, chance: random.Random) -> None:
    names = re.findall(r"\b[a-z_]\w{3,}\b", lines[at])
    if names:
        name = chance.choice(names)
        lines[at] = re.sub(rf"\b{name}\b", f"{name}_x", lines[at])


def _deleted(lines: list[str], at: int, _: random.Random) -> None:
    del lines[at]


def _function(lines: list[str], _: int, chance: random.Random) -> None:
    heads = [at for at, line in enumerate(lines) if re.match(r"(async )?def |class ", line)]
    free = [at for at in heads if at and not lines[at - 1].strip()] or [len(lines)]
    name = f"edited_{chance.randrange(100)}"
    at = chance.choice(free)
    lines[at:at] = [f"def {name}(count):", "    return count + 1", "", ""]


EDITS: dict[str, Edit] = {
    "a comment": _comment,
    "a function more": _function,
    "a call more": _inserted('print("edited")'),
    "a statement more": _inserted("edited_{} = 1"),
    "a line less": _deleted,
    "another number": _substituted(r"\b[1-9]\d*\b", "41"),
    "another string": _substituted(r'"(\w[^"\\{}]*)"', r'"\1 x"'),
    "another name": _name,
}


def edited(text: str, edit: Edit, chance: random.Random) -> str:
    """Returns a text with one edit that leaves it valid Python; the same text if none was found."""
    for _ in range(50):
        lines = text.split("\n")
        at = chance.randrange(len(lines))
        if lines[at].strip()[:1] in {"", "#", ")", "]", "}", '"', "'"}:
            continue
        edit(lines, at, chance)
        new = "\n".join(lines)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ast.parse(new)
        except (SyntaxError, ValueError):
            continue
        if new != text:
            return new
    return text


def encoded(findings: list[Finding]) -> list[str]:
    """Returns findings in a form that all their parts count in, what silences them left out."""
    return sorted(repr(encode_finding(one)[:-1]) for one in findings)


def attempt(session: Session, path: str, text: str, whole: bool) -> tuple[bool, bool]:
    """Checks a tree with one file changed.

    Returns:
        Whether the last outcome was taken, and whether it was found to be wrong.
    """
    texts = session.texts
    texts = Texts(replaced(texts.sources, path, text), texts.documents, texts.problems)
    now = session._replace(texts=texts)
    found = after_edit(now, FactStore(session.cache, passing=path))
    if found is None or not whole:
        return found is not None, False
    fresh = list(analyse_session(now, FactStore(session.cache, passing=path)).findings)
    return True, encoded(fresh) != encoded(found.result.findings)


def main() -> int:
    """Runs the benchmark and prints its table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("tree", type=Path)
    parser.add_argument("--config", type=Path)
    parser.add_argument("--edits", type=int, default=200)
    parser.add_argument("--compare", type=int, default=3, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        session = open_session(
            Options(root=options.tree, config=options.config, cache_dir=Path(folder))
        )
        outcome(session, FactStore(session.cache), analyse_session)
        sources = session.texts.sources
        sizes = [len(sources[path]) for path in sources]
        made, taken, compared, wrong = Counter[str](), Counter[str](), 0, 0
        for _ in range(options.edits):
            (path,), kind = chance.choices(list(sources), sizes), chance.choice(list(EDITS))
            text = edited(sources[path], EDITS[kind], chance)
            if text == sources[path]:
                continue
            whole = chance.randrange(options.compare) == 0
            kept, differs = attempt(session, path, text, whole)
            made[kind] += 1
            taken[kind] += kept
            compared += kept and whole
            wrong += differs
            if differs:
                print(f"another outcome: {kind} in {path}", flush=True)
    for kind in EDITS:
        print(f"{kind:18} {taken[kind]:4} of {made[kind]:4}")
    print(f"{'all':18} {taken.total():4} of {made.total():4}; {compared} compared, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
