"""Projects in memory, mended as ``check --fix`` does, without files."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from rltel_lint.config import Config
from rltel_lint.engine import Input, analyse
from rltel_lint.findings import Finding
from rltel_lint.fixes.rounds import Mended, mend

IMPORT = "from rl_telemetry.instrumentation import managed_span, umbrella_span\n"
GROUPS = "from rl_telemetry.span_groups import RLSpanGroup\n"


def text(content: str) -> str:
    """Returns a text without the indentation and the first line end of its literal."""
    return textwrap.dedent(content).removeprefix("\n")


def check(files: Mapping[str, str], config: Config | None = None) -> tuple[Finding, ...]:
    """Returns what every rule that is on by default finds in a project."""
    sources = {path: content for path, content in files.items() if path.endswith(".py")}
    documents = {path: content for path, content in files.items() if path not in sources}
    given = Input(Path("/nowhere"), sources, documents)
    return analyse(given, config or Config()).findings


def codes(findings: Sequence[Finding]) -> Counter[tuple[str, str]]:
    """Returns how often each code is found in each file."""
    return Counter((finding.place.path, finding.code) for finding in findings)


def mended(
    files: Mapping[str, str], *only: str, unsafe: bool = False, config: Config | None = None
) -> tuple[dict[str, str], Mended]:
    """Returns the project after all fixes, of some codes or of all, and what was done."""
    done = mend(
        files,
        lambda texts: check(texts, config),
        lambda finding: not only or finding.code in only,
        unsafe=unsafe,
    )
    return {**files, **done.texts}, done
