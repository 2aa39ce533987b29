"""What a rule is."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rltel_lint.findings import Finding, Place, Related, Severity

if TYPE_CHECKING:
    from rltel_lint.changes import Fix
    from rltel_lint.project.linked import Project


class Rule:
    """One kind of disagreement: a code, a page and a check.

    A rule is a pure function of the linked project. Its page is its docstring followed by its
    examples. An example is a small project: a line ``--- path`` starts a file, and in the bad
    one ``<- CODE`` at the end of a line says where the rule reports.

    Attributes:
        code: ``RLT`` and three digits.
        name: The rule in words, such as ``undocumented-span``.
        summary: One line for lists.
        default: Whether it runs without being selected.
        severity: How bad a finding is.
        bad: A project with the defect.
        good: The same project without it.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    summary: ClassVar[str]
    default: ClassVar[bool] = True
    severity: ClassVar[Severity] = "error"
    bad: ClassVar[str]
    good: ClassVar[str]

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields the findings in a linked project."""
        raise NotImplementedError  # pragma: no cover

    def finding(
        self,
        place: Place,
        message: str,
        related: Iterable[tuple[Place, str]] = (),
        fix: Fix | None = None,
    ) -> Finding:
        """Makes a finding of this rule."""
        near = tuple(Related(where, what) for where, what in related)
        return Finding(place, self.code, self.name, message, self.severity, near, fix)

    @classmethod
    def page(cls) -> str:
        """Returns the rule's page in Markdown."""
        text = inspect.cleandoc(cls.__doc__ or "")
        return (
            f"# {cls.code} {cls.name}\n\n{cls.summary[0].upper()}{cls.summary[1:]}."
            f"{'' if cls.default else ' Off by default: select it to use it.'}\n\n{text}\n\n"
            f"## Bad\n\n{_fenced(cls.bad)}\n## Good\n\n{_fenced(cls.good)}"
        )


@dataclass(frozen=True)
class Reviewed:
    """What a :class:`Review` reads.

    Attributes:
        texts: Texts of source files and documents, by path.
        findings: What the other rules found, before suppression.
        ran: The codes of the rules that ran.
    """

    texts: Mapping[str, str]
    findings: tuple[Finding, ...]
    ran: frozenset[str]


class Review(Rule):
    """A rule about what the other rules found, so it runs after them.

    Whether a comment that silences findings is of use is a question about findings: the project
    alone does not tell. A review still runs before suppression, so that what it finds is kept
    between runs, selected and silenced like any other finding.
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields nothing: the project alone does not tell."""
        return iter(())

    def review(self, reviewed: Reviewed) -> Iterator[Finding]:
        """Yields the findings about the findings of a project."""
        raise NotImplementedError  # pragma: no cover


def example_files(example: str) -> dict[str, str]:
    """Cuts an example into its files, by path."""
    files: dict[str, str] = {}
    path = ""
    for line in inspect.cleandoc(example).splitlines():
        if line.startswith("--- "):
            path = line[4:].strip()
            files[path] = ""
        elif path:
            files[path] += f"{line}\n"
    return files


def _fenced(example: str) -> str:
    blocks = []
    for path, text in example_files(example).items():
        language = {"py": "python", "md": "markdown", "toml": "toml"}.get(
            path.rpartition(".")[2], ""
        )
        blocks.append(f"`{path}`\n\n```{language}\n{text.strip()}\n```\n")
    return "\n".join(blocks)
