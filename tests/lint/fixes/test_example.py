"""Drifts planted into the example project, all at once, and mended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rltel_lint.config import Config
from rltel_lint.engine import Input, analyse
from rltel_lint.facts.store import FactStore
from rltel_lint.findings import Finding
from rltel_lint.fixes.rounds import mend
from tests.lint.fixes.support import codes

ROOT = Path(__file__).parents[3]
ALGORITHMS = "examples/grpo_ray/algorithms.py"
POLICY = "examples/grpo_ray/policy_workers.py"
PAGE = "docs/observability/span-groups.md"


def example() -> dict[str, str]:
    paths = [*ROOT.glob("examples/**/*.py"), *ROOT.glob("docs/observability/*.md")]
    return {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in sorted(paths)}


def planted(files: dict[str, str], path: str, old: str, new: str) -> None:
    assert old in files[path]
    files[path] = files[path].replace(old, new, 1)


def test_planted_drifts_are_mended(tmp_path: Path) -> None:
    store = FactStore(tmp_path)

    def check(texts: Mapping[str, str]) -> Sequence[Finding]:
        sources = {path: text for path, text in texts.items() if path.endswith(".py")}
        documents = {path: text for path, text in texts.items() if path not in sources}
        return analyse(Input(tmp_path, sources, documents), Config(), store).findings

    good = example()
    assert check(good) == ()
    files = dict(good)
    planted(files, ALGORITHMS, ", **trace_context_kwargs()", "")
    planted(files, POLICY, "    @accepts_trace_context\n", "")
    planted(files, POLICY, "RLSpanGroup.U_", "RLSpanGroup.")
    planted(files, PAGE, "| `rl.idle.refit_event_wait` |", "| `rl.idle.refit_event_waits` |")
    drifted = codes(check(files))
    assert {code for _, code in drifted} >= {"RLT301", "RLT302", "RLT403", "RLT101", "RLT102"}

    done = mend(files, check, lambda finding: True)
    changed = {**files, **done.texts}
    assert changed[POLICY] == good[POLICY]
    assert changed[PAGE] == good[PAGE]
    # A worker group passes keywords on as it likes, so only a person is sure of this one.
    assert {finding.code for finding in done.left} == {"RLT301"}
    assert done.refused == []
    done = mend(changed, check, lambda finding: True, unsafe=True)
    assert {**changed, **done.texts} == good
