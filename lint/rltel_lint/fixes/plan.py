"""What a fix does to the texts at hand, and which fixes can be made together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rltel_lint.changes import Edit, Fix
from rltel_lint.findings import Finding
from rltel_lint.fixes.edits import Lines, NotApplicable, apply_edits, clash

if TYPE_CHECKING:
    from rltel_lint.fixes.source import Source


class Planner:
    """Turns fixes into edits; every file is parsed once.

    Args:
        texts: The texts of source files and documents, by path.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._sources: dict[str, Source] = {}
        self._documents: dict[str, Lines] = {}

    def edits(self, fix: Fix) -> tuple[Edit, ...]:
        """Returns the edits of a fix.

        Raises:
            NotApplicable: It cannot be made in these texts; the message says why.
        """
        found: list[Edit] = []
        for change in fix.changes:
            path = change.place.path
            if path not in self._texts:
                raise NotApplicable("the file is not part of this check")
            if path.endswith(".py"):
                from rltel_lint.fixes.python import python_edits

                found += python_edits(self._source(path), change)
            else:
                from rltel_lint.fixes.markdown import document_edits

                found += document_edits(path, self._lines(path), change)
        edits = tuple(dict.fromkeys(found))
        if any(clash(one, two) for place, one in enumerate(edits) for two in edits[:place]):
            raise NotApplicable("its parts overlap")
        return edits

    def _source(self, path: str) -> Source:
        from rltel_lint.fixes.source import Source

        if path not in self._sources:
            self._sources[path] = Source(path, self._texts[path])
        return self._sources[path]

    def _lines(self, path: str) -> Lines:
        if path not in self._documents:
            self._documents[path] = Lines(self._texts[path])
        return self._documents[path]


@dataclass
class Plan:
    """Edits that can be made together.

    Attributes:
        edits: The edits, by path.
        fixes: The fixes that they make up.
    """

    edits: dict[str, list[Edit]] = field(default_factory=dict)
    fixes: list[Fix] = field(default_factory=list)

    def admit(self, fix: Fix, edits: Iterable[Edit]) -> bool:
        """Takes a fix in unless it clashes with those that are in already."""
        edits = tuple(edits)
        for one in edits:
            if any(clash(one, other) for other in self.edits.get(one.place.path, ())):
                return False
        for one in edits:
            known = self.edits.setdefault(one.place.path, [])
            if one not in known:
                known.append(one)
        self.fixes.append(fix)
        return True

    def applied(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Returns the changed texts, by path.

        Args:
            texts: The texts that the edits were made for.
        """
        return {path: apply_edits(texts[path], edits) for path, edits in self.edits.items()}


def with_edits(findings: Iterable[Finding], texts: Mapping[str, str]) -> list[Finding]:
    """Returns findings whose fixes carry their edits, for reports that machines read.

    A fix that cannot be made is left out.

    Args:
        findings: The findings.
        texts: The texts of source files and documents, by path.
    """
    planner = Planner(texts)
    result = []
    for finding in findings:
        if finding.fix is not None:
            try:
                fix: Fix | None = finding.fix._replace(edits=planner.edits(finding.fix))
            except NotApplicable:
                fix = None
            finding = replace(finding, fix=fix)  # noqa: PLW2901
        result.append(finding)
    return result
