"""The linked project: what rules read. Each part is worked out when a rule first asks for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from rltel_lint.facts.entries import DocumentFacts
from rltel_lint.facts.source import SourceFacts
from rltel_lint.project.calls import CallFinder
from rltel_lint.project.documents import Documents
from rltel_lint.project.evaluate import Evaluator
from rltel_lint.project.groups import GroupFinder, Groups
from rltel_lint.project.modules import ModuleTable
from rltel_lint.project.resolve import Resolver
from rltel_lint.project.spans import SpanFinder, Spans
from rltel_lint.vocabulary import Vocabulary


class Project:
    """Everything that is known of one project.

    Args:
        sources: Indexed Python files by path.
        documents: The documents' facts, in order of their paths.
        vocabulary: What the names mean.
        namespaces: Prefixes of the project's own names, such as ``rl.``.
        reserved: Names that the configuration allows to have no emitter.
    """

    def __init__(
        self,
        sources: Mapping[str, SourceFacts],
        documents: Iterable[DocumentFacts],
        vocabulary: Vocabulary,
        namespaces: tuple[str, ...] = ("rl.",),
        reserved: Iterable[str] = (),
    ) -> None:
        self.vocabulary = vocabulary
        self.namespaces = namespaces
        self.documents = Documents(documents, reserved)
        self.modules = ModuleTable(sources)
        self.resolver = Resolver(self.modules)
        self.finder = CallFinder(self.modules, self.resolver)
        self.evaluator = Evaluator(self.resolver, self.finder, vocabulary.constant)

    @cached_property
    def span_finder(self) -> SpanFinder:
        """Recognises span helpers."""
        return SpanFinder(self.vocabulary, self.resolver, self.finder, self.evaluator)

    @cached_property
    def spans(self) -> Spans:
        """The places that open spans."""
        return self.span_finder.find()

    @cached_property
    def groups(self) -> Groups:
        """The groups and presets."""
        return GroupFinder(
            self.vocabulary, self.modules, self.resolver, self.finder, self.evaluator
        ).find()

    def in_namespace(self, name: str) -> bool:
        """Whether a name is one of the project's own by its prefix."""
        return name.startswith(self.namespaces)
