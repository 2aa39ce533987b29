"""``python -m tests.mutation --tree DIR --config FILE``: how much of planted drift is seen."""

from __future__ import annotations

import argparse
from pathlib import Path

from rltel_lint.session import Options, open_session
from tests.mutation.controls import KIND
from tests.mutation.mutants import KINDS
from tests.mutation.run import measure, table


def main() -> int:
    """Runs the suite on a tree and prints what it found."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    here = Path(__file__).parent
    parser.add_argument(
        "--tree", type=Path, default=here.parent.parent, help="the project's folder"
    )
    parser.add_argument("--config", type=Path, help="a TOML file with [tool.rltel-lint]")
    parser.add_argument("--kinds", nargs="+", choices=(*KINDS, KIND), default=(*KINDS, KIND))
    parser.add_argument("--limit", type=int, default=10_000, help="mutants of each kind")
    parser.add_argument("--name", default="", help="mutants with this text in their name only")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    given = parser.parse_args()
    config = given.config
    if config is None and given.tree.resolve() == here.parent.parent:
        config = here / "example.toml"
    session = open_session(Options(root=given.tree, config=config, no_cache=True))
    texts = {**session.texts.sources, **session.texts.documents}
    kinds, limit, workers = given.kinds, given.limit, given.workers
    print(table(measure(session.root, texts, session.config, kinds, limit, workers, given.name)))
    return 0


raise SystemExit(main())
