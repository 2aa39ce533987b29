"""Projects from a dict of files: what the tests of facts and rules are written with."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from rltel_lint.config import Config, _from_table
from rltel_lint.facts.documents import extract_document
from rltel_lint.facts.source import SourceFacts
from rltel_lint.findings import Finding
from rltel_lint.project.linked import Project, Settings
from rltel_lint.project.tree import Tree
from rltel_lint.rules.base import Review, Reviewed, Rule, example_files
from rltel_lint.suppression import Suppressions
from rltel_lint.vocabulary import load_vocabulary

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_DOCUMENTS = {".md", ".rst", ".mdx", ".json", ".yaml", ".yml", ".toml"}
_MARK = re.compile(r"<- (RLT\d{3}(?:, RLT\d{3})*)")


def link(
    files: Mapping[str, str],
    *,
    profile: str = "rl_telemetry",
    namespaces: tuple[str, ...] = ("rl.",),
) -> Project:
    """Links a project. The table of a ``pyproject.toml`` among the files beats the keywords."""
    files = {path: _dedent(text) for path, text in files.items()}
    config = _config(files.get("pyproject.toml"), Config(profile=(profile,), namespace=namespaces))
    sources = {
        path: SourceFacts(path, text) for path, text in files.items() if Path(path).suffix == ".py"
    }
    documents = [
        extract_document(path, text, namespace=config.namespace[0])
        for path, text in sorted(files.items())
        if Path(path).suffix in _DOCUMENTS and path != "pyproject.toml"
    ]
    vocabulary = load_vocabulary(config.profile, config.vocabulary)
    text = files.get("pyproject.toml", "")
    settings = Settings(config.namespace, config.reserved, config_text=text, tree=Tree(files))
    return Project(sources, documents, vocabulary, settings)


def lint(
    files: Mapping[str, str],
    *rules: type[Rule],
    profile: str = "rl_telemetry",
    namespaces: tuple[str, ...] = ("rl.",),
) -> list[Finding]:
    """Runs rules (all of the catalogue without any); returns what nothing silences, in order."""
    project = link(files, profile=profile, namespaces=namespaces)
    wanted = rules or _all_rules()
    # A review speaks of what all the others found.
    needed = _all_rules() if any(issubclass(rule, Review) for rule in wanted) else wanted
    found = [finding for rule in needed for finding in rule().check(project)]
    texts = {path: _dedent(text) for path, text in files.items()}
    reviewed = Reviewed(texts, tuple(found), frozenset(rule.code for rule in needed))
    for rule in wanted:
        if issubclass(rule, Review):
            found += rule().review(reviewed)
    codes = {rule.code for rule in wanted}
    kept = Suppressions(texts, {}).keep(one for one in found if one.code in codes)
    return sorted(kept, key=lambda finding: finding.sort_key)


def reported(findings: Iterable[Finding]) -> set[tuple[str, int, str]]:
    """Returns where what is reported: path, line and code."""
    return {(f.place.path, f.place.line, f.code) for f in findings}


def marked(files: Mapping[str, str]) -> set[tuple[str, int, str]]:
    """Returns where the files say that something is to be reported: ``<- RLT301`` on a line."""
    return {
        (path, number, code)
        for path, text in files.items()
        for number, line in enumerate(_dedent(text).splitlines(), 1)
        for match in _MARK.finditer(line)
        for code in match[1].split(", ")
    }


def _dedent(text: str) -> str:
    return textwrap.dedent(text).strip("\n") + "\n"


def project(text: str) -> dict[str, str]:
    """Cuts a text with ``--- path`` lines, as in the examples of rules, into its files."""
    return example_files(text)


def _config(text: str | None, default: Config) -> Config:
    if text is None:
        return default
    table = tomllib.loads(text).get("tool", {}).get("rltel-lint", {})
    read = Config(**_from_table(table, "pyproject.toml"))
    given = {name: getattr(read, name) for name in (key.replace("-", "_") for key in table)}
    return replace(default, **given)


def _all_rules() -> tuple[type[Rule], ...]:
    from rltel_lint.rules.catalogue import ALL_RULES

    return tuple(ALL_RULES)
