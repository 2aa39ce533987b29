"""The linked project: what rules read. Each part is worked out when a rule first asks for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from rltel_lint.facts import nodes as n
from rltel_lint.facts.entries import DocumentFacts
from rltel_lint.facts.lookups import Lookups
from rltel_lint.facts.source import SourceFacts
from rltel_lint.findings import Place
from rltel_lint.project.attributes import Attributes
from rltel_lint.project.buckets import BucketTable, bucket_tables
from rltel_lint.project.calls import CallFinder
from rltel_lint.project.carriers import CarrierFacts
from rltel_lint.project.categories import Categories
from rltel_lint.project.citations import Citations
from rltel_lint.project.containment import Containment
from rltel_lint.project.dashboards import Dashboards
from rltel_lint.project.disk import TEST, is_test
from rltel_lint.project.documents import Documents
from rltel_lint.project.evaluate import Evaluator
from rltel_lint.project.fences import Fences
from rltel_lint.project.groups import GroupFinder, Groups
from rltel_lint.project.helper_imports import HelperImports
from rltel_lint.project.lifecycle import Lifecycle
from rltel_lint.project.metrics import Metrics
from rltel_lint.project.modules import ModuleTable
from rltel_lint.project.requirements import Requirements
from rltel_lint.project.resolve import Resolver
from rltel_lint.project.series import Series
from rltel_lint.project.spans import SpanFinder, Spans, call_means
from rltel_lint.project.tree import Tree
from rltel_lint.project.uses import Uses
from rltel_lint.values import HOLE
from rltel_lint.vocabulary import Vocabulary


@dataclass(frozen=True)
class Settings:
    """What the configuration says, where rules need it.

    Attributes:
        namespaces: Prefixes of the project's own names, such as ``rl.``.
        reserved: Names that may have no emitter.
        unmatched_globs: Configured globs without a file: key and glob.
        config_path: The configuration file, relative to the project root.
        config_text: Its text, to point into.
        tree: What lies in the project's folder.
    """

    namespaces: tuple[str, ...] = ("rl.",)
    reserved: tuple[str, ...] = ()
    unmatched_globs: tuple[tuple[str, str], ...] = ()
    config_path: str = "pyproject.toml"
    config_text: str = ""
    tree: Tree | None = None


class Project:
    """Everything that is known of one project.

    Args:
        sources: Indexed Python files by path.
        documents: The documents' facts, in order of their paths.
        vocabulary: What the names mean.
        settings: What the configuration says, where rules need it.
        lookups: What earlier runs looked up in the texts.
    """

    def __init__(
        self,
        sources: Mapping[str, SourceFacts],
        documents: Iterable[DocumentFacts],
        vocabulary: Vocabulary,
        settings: Settings | None = None,
        lookups: Lookups | None = None,
    ) -> None:
        settings = settings or Settings()
        self.sources = sources
        self.vocabulary = vocabulary
        self.namespaces = settings.namespaces
        self.unmatched_globs = settings.unmatched_globs
        self.tree = settings.tree or Tree({})
        self._config_path = settings.config_path
        self._config_lines = settings.config_text.splitlines()
        self.documents = Documents(documents, settings.reserved)
        self.modules = ModuleTable(sources, lookups)
        self.resolver = Resolver(
            self.modules, (call.name for call in vocabulary.carriers.dispatchers)
        )
        self.finder = CallFinder(self.modules, self.resolver)
        self._requirements: dict[str, Requirements] = {}
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

    @cached_property
    def metrics(self) -> Metrics:
        """The declared metrics and the logged keys."""
        return Metrics(self.vocabulary, self.modules, self.resolver, self.finder, self.evaluator)

    @cached_property
    def uses(self) -> Uses:
        """Where names and attributes are used, and what stands around an expression."""
        return Uses(self.modules, self.resolver, self.finder)

    @cached_property
    def bucket_tables(self) -> list[BucketTable]:
        """The tables that give groups their bucket."""
        return bucket_tables(self.vocabulary, self.modules, self.evaluator, self.span_finder)

    @cached_property
    def series(self) -> Series:
        """The instruments, and the functions that record their arguments."""
        return Series(
            self.vocabulary, self.modules, self.resolver, self.finder, self.evaluator, self.uses
        )

    @cached_property
    def attributes(self) -> Attributes:
        """The attributes that are set on spans."""
        return Attributes(
            self.vocabulary,
            self.modules,
            self.resolver,
            self.finder,
            self.evaluator,
            self.spans,
            self.uses,
            self.namespaces,
        )

    @cached_property
    def fences(self) -> Fences:
        """The Python in the documents."""
        return Fences(self.documents, self.tree, self.finder)

    @cached_property
    def dashboards(self) -> Dashboards:
        """What the dashboards ask for."""
        return Dashboards(self.documents.facts, self.namespaces)

    def requirements(self, document: str) -> Requirements:
        """Returns the packages that are declared where a document stands."""
        folder = document.rpartition("/")[0]
        if folder not in self._requirements:
            self._requirements[folder] = Requirements.around(document, self.tree)
        return self._requirements[folder]

    @cached_property
    def tests(self) -> frozenset[str]:
        """The names of all test functions and classes in files named like tests."""
        defined = re.compile(TEST, re.MULTILINE)
        known = {
            name
            for path, facts in self.sources.items()
            if is_test(path.rpartition("/")[2])
            for names in facts.findall(defined)
            for name in names
        }
        return self.tree.disk.tests() | (known - {""})

    @cached_property
    def citations(self) -> Citations:
        """Looks up dotted names that a text cites."""
        return Citations(self.modules, self.resolver)

    @cached_property
    def helper_imports(self) -> HelperImports:
        """Where files import helpers from."""
        return HelperImports(self.vocabulary, self.finder, self.resolver)

    @cached_property
    def categories(self) -> Categories:
        """The efficiency categories."""
        return Categories(
            self.vocabulary,
            self.modules,
            self.finder,
            self.evaluator,
            self.span_finder,
            self.spans,
            self.uses,
        )

    @cached_property
    def group_uses(self) -> dict[str, list[Place]]:
        """For every group that some span or gate uses, where."""
        found: dict[str, list[Place]] = {}
        for site in self.spans.sites:
            for group in site.group.literals if site.group is not None else ():
                found.setdefault(group, []).append(site.place)
        for group, place in self._gates():
            found.setdefault(group, []).append(place)
        return found

    def _gates(self) -> Iterator[tuple[str, Place]]:
        gates = self.vocabulary.gates
        for site in self.finder.named([gate.words for gate in gates]):
            gate = call_means(site, gates, self.resolver)
            if gate is not None and site.call.args:
                asked = site.call.args[0].value
                for group in self.evaluator.of(asked, site.scope, site.statement).literals:
                    yield group, site.place

    @property
    def open_groups(self) -> bool:
        """Whether some span's group is not known, so that any group may be in use."""
        sites = (*self.spans.sites, *self.spans.unseen)
        return any(site.group is not None and HOLE in site.group.templates for site in sites)

    @cached_property
    def containment(self) -> Containment:
        """What runs inside a span."""
        return Containment(self.spans, self.finder, self.resolver)

    @cached_property
    def unbucketed_categories(self) -> frozenset[str]:
        """Efficiency categories whose spans carry no bucket: the library's and the project's."""
        found = set(self.vocabulary.unbucketed_categories)
        for name in self.vocabulary.unbucketed_sets:
            for module in self.modules.binding(name):
                at = n.Name((1, 0, 1, 0), name)
                for value in self.evaluator.elements(at, module) or ():
                    found |= set(value.literals)
        return frozenset(found)

    @cached_property
    def carriers(self) -> CarrierFacts:
        """How the trace is carried across processes."""
        return CarrierFacts(
            self.vocabulary,
            self.modules,
            self.resolver,
            self.finder,
            self.evaluator,
            self.span_finder,
            self.spans,
        )

    @cached_property
    def lifecycle(self) -> Lifecycle:
        """Where telemetry is started and ended."""
        return Lifecycle(
            self.vocabulary,
            self.modules,
            self.resolver,
            self.finder,
            self.spans,
            self.carriers,
            "\n".join(self._config_lines),
        )

    def configured_at(self, value: str) -> Place:
        """Returns where the configuration names something; its first line if that is not clear."""
        for number, line in enumerate(self._config_lines, 1):
            column = line.find(value)
            if column >= 0 and not line.lstrip().startswith("#"):
                end = column + len(value) + 1
                return Place(self._config_path, number, column + 1, number, end)
        return Place(self._config_path)

    def in_namespace(self, name: str) -> bool:
        """Whether a name is one of the project's own by its prefix."""
        return name.startswith(self.namespaces)
