"""From texts to findings: facts of each file, one linked project, the selected rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from rltel_lint.comments import MAY_SILENCE
from rltel_lint.config import Config
from rltel_lint.contents import Contents, Texts
from rltel_lint.errors import ConfigError
from rltel_lint.extraction.ahead import extract_ahead
from rltel_lint.extraction.workers import Workers
from rltel_lint.facts.entries import DocumentFacts
from rltel_lint.facts.kept_documents import read_document
from rltel_lint.facts.source import SourceFacts
from rltel_lint.facts.store import FactStore
from rltel_lint.findings import Finding
from rltel_lint.globs import Globs
from rltel_lint.inventory import Inventory, take_inventory
from rltel_lint.project.disk import Answers
from rltel_lint.project.linked import Project, Settings
from rltel_lint.project.tree import Tree
from rltel_lint.rules.base import Review, Reviewed, Rule
from rltel_lint.rules.catalogue import ALL_RULES
from rltel_lint.running import run_rules
from rltel_lint.vocabulary import VocabularyError, load_vocabulary


@dataclass(frozen=True)
class Input:
    """The texts of a project.

    Attributes:
        root: The project root, absolute.
        sources: Python files by path relative to the root.
        documents: Documents, likewise.
        problems: Findings about files that could not be read.
    """

    root: Path
    sources: Mapping[str, str]
    documents: Mapping[str, str]
    problems: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Known:
    """Facts that were read before, for projects of which only a few files differ.

    What is not known by the same path and text is read anew, and kept if nothing was known.

    Attributes:
        sources: Text and facts by path.
        documents: Likewise.
    """

    sources: dict[str, tuple[str, SourceFacts]] = field(default_factory=dict)
    documents: dict[str, tuple[str, DocumentFacts]] = field(default_factory=dict)

    def source(self, path: str, texts: Mapping[str, str], store: FactStore) -> SourceFacts:
        """Returns the facts of a Python file."""
        if isinstance(texts, Contents):  # which is not read before it must be
            return SourceFacts(path, partial(texts.__getitem__, path), store, texts.key(path))
        text = texts[path]
        known = self.sources.get(path)
        if known is not None and known[0] == text:
            return known[1]
        facts = SourceFacts(path, text, store)
        self.sources.setdefault(path, (text, facts))
        return facts

    def document(self, path: str, text: str, namespace: str, store: FactStore) -> DocumentFacts:
        """Returns the facts of a document."""
        known = self.documents.get(path)
        if known is not None and known[0] == text:
            return known[1]
        facts = read_document(path, text, namespace, store)
        self.documents.setdefault(path, (text, facts))
        return facts


@dataclass(frozen=True)
class Summary:
    """How much was looked at.

    Attributes:
        counts: A noun in the singular and a number, files first.
    """

    counts: Mapping[str, int] = field(default_factory=dict)


class Result:
    """What came of a project.

    Attributes:
        project: The linked project.
        findings: The findings of the selected rules, sorted, before suppression.
        summary: How much was looked at.
    """

    def __init__(self, project: Project, findings: tuple[Finding, ...], summary: Summary) -> None:
        self.project = project
        self.findings = findings
        self.summary = summary

    @property
    def asked(self) -> Answers:
        """What was asked of the project's folder beside the texts, and the answers."""
        return self.project.tree.disk.answers

    @property
    def inventory(self) -> Inventory:
        """What the code base emits."""
        return take_inventory(self.project)


def link(
    source: Input,
    config: Config,
    store: FactStore | None = None,
    workers: Workers | None = None,
    known: Known | None = None,
) -> Project:
    """Reads the facts of every file and links them.

    Args:
        source: The texts.
        config: The configuration.
        store: Where facts are kept between runs; ``None`` keeps nothing.
        workers: Who reads files ahead; ``None`` is this process alone.
        known: Facts that were read before.

    Raises:
        UserError: The profile or the vocabulary table is wrong, or the workers cannot be used.
    """
    try:
        vocabulary = load_vocabulary(config.profile, config.vocabulary)
    except VocabularyError as error:
        where = f"{config.file}: " if config.file else ""
        raise ConfigError(f"{where}[tool.rltel-lint] {error}") from error
    store, known = store or FactStore(None), known or Known()
    sources = {path: known.source(path, source.sources, store) for path in source.sources}
    namespace = config.namespace[0] if config.namespace else ""
    if workers is not None:
        extract_ahead(sources, source.documents, namespace, vocabulary, store, workers)
    documents = [
        known.document(path, text, namespace, store)
        for path, text in sorted(source.documents.items())
    ]
    return Project(sources, documents, vocabulary, _settings(source, config), store.lookups)


def analyse(
    source: Input,
    config: Config,
    store: FactStore | None = None,
    workers: Workers | None = None,
    known: Known | None = None,
) -> Result:
    """Checks a project.

    Args:
        source: The texts.
        config: The configuration: it decides which rules run.
        store: Where facts are kept between runs; ``None`` keeps nothing.
        workers: Who reads files ahead; ``None`` is this process alone.
        known: Facts that were read before.

    Returns:
        The findings and what was looked at.

    Raises:
        ConfigError: The profile or the vocabulary table is wrong.
    """
    store = store or FactStore(None)
    project = link(source, config, store, workers, known)
    rules = [rule for rule in ALL_RULES if config.selects(rule.code, default=rule.default)]
    ran = run_rules(project, rules, store, workers or Workers())
    found = [*source.problems, *ran.findings]
    found += _review(_reviewed(source, project, found), tuple(found), rules)
    findings = tuple(sorted(dict.fromkeys(found), key=lambda one: one.sort_key))
    store.save({path: facts.key for path, facts in sorted(project.sources.items())})
    return Result(project, findings, Summary(ran.counts))


def _reviewed(source: Input, project: Project, found: Iterable[Finding]) -> dict[str, str]:
    """The texts that a review may have something to say of."""
    with_findings = {finding.place.path for finding in found}
    texts = dict(source.documents)
    for path, facts in project.sources.items():
        # The comments are asked for in any case, so that it is known that they matter.
        if any(map(facts.has_in_any_case, MAY_SILENCE)) or path in with_findings:
            texts[path] = source.sources[path]
    return texts


def _review(
    texts: Mapping[str, str], found: tuple[Finding, ...], rules: Iterable[type[Rule]]
) -> Iterator[Finding]:
    ran = frozenset(rule.code for rule in rules)
    for rule in rules:
        if issubclass(rule, Review):
            yield from rule().review(Reviewed(texts, found, ran))


def _settings(source: Input, config: Config) -> Settings:
    unmatched = [("source", glob) for glob in Globs(config.source).unmatched(source.sources)]
    for key in ("docs", "dashboards", "configs"):
        globs = Globs(getattr(config, key))
        unmatched += [(key, glob) for glob in globs.unmatched(source.documents)]
    path, text = "pyproject.toml", ""
    if config.file is not None:
        try:
            path = config.file.relative_to(source.root).as_posix()
            text = config.file.read_text(encoding="utf-8")
        except (OSError, ValueError):
            text = ""
    tree = Tree(Texts(source.sources, source.documents, ()).all, source.root)
    return Settings(config.namespace, config.reserved, tuple(unmatched), path, text, tree)
