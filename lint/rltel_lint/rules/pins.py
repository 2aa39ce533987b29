"""Versions in documents against the ranges that the project declares."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rltel_lint.facts.entries import CodeFence, DocumentFacts
from rltel_lint.findings import Finding, Place
from rltel_lint.project.linked import Project
from rltel_lint.project.requirements import parse_requirement
from rltel_lint.rules.base import Rule

_PIN = re.compile(
    r"[A-Za-z0-9][\w.-]*(?:\[[\w,.-]*\])?\s*(?:===?|~=|<=?|>=?)\s*[\w.*+!-]+"
    r"(?:\s*,\s*(?:===?|~=|!=|<=?|>=?)\s*[\w.*+!-]+)*"
)
_INSTALL = re.compile(
    r"\b(?:pip3?|python3? -m pip|uv pip)\s+install\b|\b(?:uv|poetry|pdm)\s+add\b|\buv\s+run\b"
)
_NEXT = re.compile(r"&&|\|\||[;|#\n]")
_CONTINUED = re.compile(r"\\\r?\n")
_HISTORY = re.compile(r"changelog|release|history|migrat|upgrad", re.IGNORECASE)


class PinOutsideRange(Rule):
    """Who follows the page gets a version that the project itself refuses: the install fails, or
    what is installed does not work.

    Write a version inside the range, or leave it out. The range is that of the nearest
    `pyproject.toml` up from the document. Looked at are commands that install, in fences and in
    code spans, and only packages that the project declares with a range, in `dependencies`,
    extras or dependency groups. Where several ranges are declared, one that fits is enough. Change
    logs are left alone, and so is a version in a sentence, which may be what another package asks
    for.
    """

    code = "RLT904"
    name = "pin-outside-range"
    summary = "a document installs a version that the project's own range excludes"
    bad = """
        --- pyproject.toml
        [project]
        name = "trainer"
        version = "1.0"
        dependencies = ["opentelemetry-sdk>=1.3"]
        --- docs/install.md
        Tracing needs an SDK:

        ```console
        $ pip install opentelemetry-sdk==1.1.0  <- RLT904
        ```
    """
    good = """
        --- pyproject.toml
        [project]
        name = "trainer"
        version = "1.0"
        dependencies = ["opentelemetry-sdk>=1.3"]
        --- docs/install.md
        Tracing needs an SDK:

        ```console
        $ pip install opentelemetry-sdk==1.4.0
        ```
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each version in a document that the project refuses."""
        for facts in project.documents.facts:
            if _HISTORY.search(facts.path):
                continue
            for text, place in _pins(facts):
                pin = parse_requirement(text)
                declared = project.requirements(facts.path)
                refusing = declared.refusing(pin) if pin is not None else ""
                if pin is None or not refusing:
                    continue
                yield self.finding(
                    place,
                    f'"{text}" is outside of the range "{refusing}" that the project declares; '
                    "correct the version or leave it out",
                    [(declared.place(pin.name), "it is declared here")],
                )


def _pins(facts: DocumentFacts) -> Iterator[tuple[str, Place]]:
    for mention in facts.mentions:
        text = mention.text.strip()
        if not mention.negated and _INSTALL.search(text):
            yield from ((pin[0], mention.place) for pin in _installed(text))
    for fence in facts.fences:
        for pin in _installed(fence.text):
            yield pin[0], _place(fence, pin)


def _installed(text: str) -> Iterator[re.Match[str]]:
    """Yields the pins among the arguments of commands that install."""
    joined = _CONTINUED.sub(lambda match: " " * len(match[0]), text)
    for command in _INSTALL.finditer(joined):
        ends = _NEXT.search(joined, command.end())
        yield from _PIN.finditer(joined, command.end(), ends.start() if ends else len(joined))


def _place(fence: CodeFence, pin: re.Match[str]) -> Place:
    before = fence.text[: pin.start()]
    line = fence.place.line + before.count("\n")
    column = fence.place.column + pin.start() - (before.rfind("\n") + 1)
    return Place(fence.place.path, line, column, line, column + len(pin[0]))
