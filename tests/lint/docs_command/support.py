"""Generated tables of projects in memory."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path

from rltel_lint.config import Config
from rltel_lint.engine import Input, link
from rltel_lint.findings import Finding
from rltel_lint.generate.pages import Pages, generate
from rltel_lint.inventory import take_inventory
from rltel_lint.rules.catalogue import ALL_RULES

CODE = """
from rl_telemetry.instrumentation import managed_span, umbrella_span
from rl_telemetry.span_groups import RLSpanGroup

def step(phase):
    with umbrella_span(RLSpanGroup.U_STEP, "rl.grpo.step"):
        with managed_span(RLSpanGroup.REWARD, "rl.grpo.reward"):
            ...
"""


def text(content: str) -> str:
    """Returns a text without the indentation and the first line end of its literal."""
    return textwrap.dedent(content).removeprefix("\n")


def pages(document: str, code: str = CODE, path: str = "docs/spans.md") -> Pages:
    """Returns the generated tables of a project with one document."""
    project = _linked({"train.py": code}, {path: document})
    return generate({path: document}, project, take_inventory(project))


def written(document: str, code: str = CODE, path: str = "docs/spans.md") -> str:
    """Returns the document as ``docs --write`` leaves it."""
    return pages(document, code, path).texts.get(path, document)


def check(document: str, code: str = CODE, path: str = "docs/spans.md") -> list[Finding]:
    """Returns what the rules find."""
    project = _linked({"train.py": code}, {path: document})
    return [finding for rule in ALL_RULES if rule.default for finding in rule().check(project)]


def _linked(sources: Mapping[str, str], documents: Mapping[str, str]):  # type: ignore[no-untyped-def]
    return link(Input(Path("/nowhere"), sources, documents), Config())
