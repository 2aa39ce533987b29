"""Python in the fences of documents, as one module for each document.

The fences of a page are read together, each at the lines where it stands, so that a name which
an earlier fence imports is known in a later one, and places come out right.
"""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from rltel_lint.facts.entries import CodeFence, DocumentFacts
from rltel_lint.facts.source import SourceFacts
from rltel_lint.findings import Place
from rltel_lint.project.calls import CallFinder, CallSite
from rltel_lint.project.documents import Documents
from rltel_lint.project.model import Module
from rltel_lint.project.tree import Tree

_PYTHON = frozenset({"python", "py", "python3", "pycon3"})
# Said of what must not be copied: in a comment of the block, or in the text right before it.
_COUNTEREXAMPLE = re.compile(
    r"\b(?:wrong|bad|broken|instead of|incorrect|anti-?pattern|previously|used to|old)\b"
    r"|(?:^|[.;:!*])\W*(?:don'?t|do not|never)\b|^\W*before\b",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"#\s*(.*)$", re.MULTILINE)


@dataclass(eq=False)
class Page:
    """The Python of one document.

    Attributes:
        module: All of its fences that parse, each at its lines.
        shifts: For each line, how many columns the fence is indented by.
        text: The whole document; empty where it is not known.
    """

    module: Module
    shifts: dict[int, int]
    text: str

    def place(self, place: Place) -> Place:
        """Returns where a place of the module is in the document."""
        shift = self.shifts.get(place.line, 0)
        end = self.shifts.get(place.end_line, 0)
        return Place(
            place.path, place.line, place.column + shift, place.end_line, place.end_column + end
        )


class Fences:
    """The Python in a project's documents.

    Args:
        documents: The documents.
        tree: Has the texts around the fences.
        finder: Finds the calls in them.
    """

    def __init__(self, documents: Documents, tree: Tree, finder: CallFinder) -> None:
        self._documents = documents
        self._tree = tree
        self._finder = finder

    @cached_property
    def pages(self) -> list[Page]:
        """The documents that hold Python, in order."""
        found = (self._page(facts) for facts in self._documents.facts)
        return [page for page in found if page is not None]

    def calls(self, page: Page) -> Iterator[CallSite]:
        """Yields the calls in the fences of a page."""
        for unit in page.module.facts.all_units():
            yield from self._finder.sites(page.module, unit)

    def _page(self, facts: DocumentFacts) -> Page | None:
        text = self._tree.texts.get(facts.path, "")
        around = text.splitlines()
        lines: dict[int, str] = {}
        shifts: dict[int, int] = {}
        for fence in facts.fences:
            if fence.language not in _PYTHON or _is_counterexample(fence, around):
                continue
            code = textwrap.dedent(fence.text)
            if not _parses(code):
                continue
            for number, line in enumerate(code.splitlines(), fence.place.line):
                lines[number] = line
                shifts[number] = fence.place.column - 1
        if not lines:
            return None
        whole = "\n".join(lines.get(number, "") for number in range(1, max(lines) + 1)) + "\n"
        source = SourceFacts(facts.path, whole)
        module = Module(source, f"<{facts.path}>", is_package=False)
        return None if source.refused is not None else Page(module, shifts, text)


def _parses(code: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(code)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


def _is_counterexample(fence: CodeFence, around: list[str]) -> bool:
    if any(_COUNTEREXAMPLE.search(comment) for comment in _COMMENT.findall(fence.text)):
        return True
    before = [line for line in around[: max(0, fence.place.line - 2)] if line.strip()]
    return bool(before) and _COUNTEREXAMPLE.search(before[-1]) is not None
