"""What documents cite: symbols, files, tests, and names of environment variables."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rltel_lint.facts.entries import Mention
from rltel_lint.findings import Finding
from rltel_lint.project.linked import Project
from rltel_lint.rules.base import Rule
from rltel_lint.rules.wording import nearest

_DOTTED = re.compile(r"~?([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)(?:\(\))?")
_PATH = re.compile(
    r"(?:\./)?([\w.-]+(?:/[\w.-]+)+\.(?:py|md|mdx|rst|sh|toml|ya?ml))(?:::?[\w:.-]+|#[\w-]+)?"
)
_BARE = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+(?:\(\))?")
_TEST = re.compile(r"(?:[\w./-]+::)?(?:Test\w+::)?(test_\w+)(?:\(\))?")
_INVENTED = re.compile(
    r"(?:^|[./_-])(?:my|your|foo|bar|baz|some|new|xxx|example)(?:[./_-]|$)|^(?:my|your)",
    re.IGNORECASE,
)
_WORDS = 4
"""A name of so many words after ``test`` is surely one of a test."""
_HISTORY = re.compile(r"changelog|release|history|migrat|upgrad", re.IGNORECASE)
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_PREFIX = re.compile(r"[\"']([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_?)[\"'{]")
_OF_OTHERS = frozenset({"OTEL", "RAY", "CUDA", "NCCL", "HF", "SLURM", "PYTHON", "TORCH", "VLLM"})


class CitedThingMissing(Rule):
    """Readers follow the name of a function, a file or a test to learn how something works. A name
    that is gone sends them searching, and shows that the text around it is old.

    Correct the citation. Looked at are code spans that are dotted names under the project's own
    packages, paths relative to the root (or to the document), and names of tests. What a sentence
    says is gone or planned, placeholders, and change logs are left alone.
    """

    code = "RLT902"
    name = "cited-thing-missing"
    summary = "a text cites a symbol, a file or a test that does not exist"
    bad = """
        --- pkg/__init__.py
        --- pkg/sampling.py
        class Sampler:
            rate = 1.0
        --- docs/sampling.md
        The rate is `pkg.sampling.Sampler.rate`.

        See `pkg.sampling.RankSampler`. <- RLT902
    """
    good = """
        --- pkg/__init__.py
        --- pkg/sampling.py
        class Sampler:
            rate = 1.0
        --- docs/sampling.md
        The rate is `pkg.sampling.Sampler.rate`.

        See `pkg.sampling.Sampler`.
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each citation that leads nowhere."""
        for facts in project.documents.facts:
            if _HISTORY.search(facts.path):
                continue
            for mention in facts.mentions:
                if mention.negated or _INVENTED.search(mention.text):
                    continue
                yield from self._mention(project, mention)

    def _mention(self, project: Project, mention: Mention) -> Iterator[Finding]:
        text = mention.text.strip()
        test = _TEST.fullmatch(text)
        path = _PATH.fullmatch(text)
        dotted = _DOTTED.fullmatch(text)
        if path or (test and "/" in text):
            where = path[1] if path else text.partition("::")[0].removeprefix("./")
            if self._is_gone(project, mention, where):
                yield self.finding(
                    mention.place,
                    f'"{where}" does not exist; correct the path or take the mention out',
                )
                return
        if test:
            yield from self._test(project, mention, test[1])
        elif dotted and not path:
            yield from self._symbol(project, mention, dotted[1])
        elif _BARE.fullmatch(text):
            yield from self._helper(project, mention, text.removesuffix("()"))

    def _helper(self, project: Project, mention: Mention, name: str) -> Iterator[Finding]:
        """A name that nothing has, but that is spelled almost like a helper of the vocabulary."""
        known = self._helpers(project)
        if name in known or self._names_a_file(project, name):
            return
        near = nearest(name, known, 0.8) or next(
            (one for one in sorted(known) if "_" in one and name.startswith(f"{one}_")), None
        )
        if near is None or name in project.tests:
            return
        yield self.finding(mention.place, f'there is no "{name}"; did you mean "{near}"?')

    @staticmethod
    def _helpers(project: Project) -> frozenset[str]:
        vocabulary = project.vocabulary
        carriers = vocabulary.carriers
        calls = [*vocabulary.attributes.setters, *vocabulary.gates, *vocabulary.attachers]
        calls += [*carriers.makers, *carriers.openers, *carriers.accepting]
        calls += [*carriers.dispatchers, *carriers.keyword_helpers]
        names = {helper.name for helper in vocabulary.helpers} | {call.name for call in calls}
        names |= {recorder.name for recorder in vocabulary.recorders}
        return frozenset(name for name in names if "_" in name)

    @staticmethod
    def _is_gone(project: Project, mention: Mention, path: str) -> bool:
        """Whether a path is the project's own, by its first folder, and is not there."""
        tree = project.tree
        folder = mention.place.path.rpartition("/")[0]
        first, _, rest = path.partition("/")
        if path.startswith("../") or not tree.exists(first) or tree.is_elsewhere(path):
            return False
        # The first folder may be the name of the repository itself.
        if tree.exists(path) or tree.exists(rest) or tree.exists(f"{folder}/{path}"):
            return False
        return not any(known.endswith(f"/{path}") for known in tree.texts)

    def _test(self, project: Project, mention: Mention, name: str) -> Iterator[Finding]:
        tests = project.tests
        if not tests or name in tests or any(one.startswith(f"{name}_") for one in tests):
            return
        if project.tree.exists(f"tests/{name}.py") or self._names_a_file(project, name):
            return
        near = nearest(name, tests, 0.75)
        if name.count("_") < _WORDS and not nearest(name, tests, 0.9) and "::" not in mention.text:
            return  # a split of a data set, an option
        hint = f'did you mean "{near}"?' if near else "correct the name or take the mention out"
        yield self.finding(mention.place, f'no test is called "{name}"; {hint}')

    @staticmethod
    def _names_a_file(project: Project, name: str) -> bool:
        """Whether the code has something else of that name: a module, a function, an argument."""
        return bool(project.modules.mentioning(name))

    def _symbol(self, project: Project, mention: Mention, dotted: str) -> Iterator[Finding]:
        first, second = dotted.split(".")[:2]
        packages = project.citations.packages
        if first not in packages:
            return
        if project.in_namespace(f"{first}.") or dotted.startswith(project.namespaces):
            # The package and the names of spans start alike: only what is surely a module counts.
            if f"{first}.{second}" not in packages or not packages[f"{first}.{second}"]:
                return
        if dotted.rpartition(".")[2] in {"py", "md", "toml", "yaml", "yml", "sh", "json"}:
            return
        missing = project.citations.missing(dotted)
        if missing is None or project.series.written_elsewhere(dotted, set()):
            return  # ``"nemo.run.id"`` is an attribute, whatever package starts like it
        if missing.found == first and not nearest(missing.part, missing.candidates):
            return
        near = nearest(missing.part, missing.candidates, 0.75)
        hint = f'did you mean "{near}"?' if near else "correct the name or take the mention out"
        yield self.finding(mention.place, f'{missing.found} has no "{missing.part}"; {hint}')


class EnvironmentNameNeverRead(Rule):
    """Somebody sets the variable, nothing happens, and no error says that the name is not read.

    Read it, correct the row, or remove it. Looked at are names that start like variables which
    the code reads; those of other programs are theirs. A name counts as read when the code has
    it, or puts it together from a prefix and a field.
    """

    code = "RLT903"
    name = "environment-name-never-read"
    summary = "an environment name is documented, but never read"
    bad = """
        --- settings.py
        import os

        WORKERS = os.environ.get("TRAINER_WORKERS", "1")
        --- docs/settings.md
        Settings of a trainer that opens `rl.*` spans:

        | Environment variable | Means |
        |---|---|
        | `TRAINER_WORKERS` | how many workers |
        | `TRAINER_WORKER_GROUP` | their group | <- RLT903
    """
    good = """
        --- settings.py
        import os

        WORKERS = os.environ.get("TRAINER_WORKERS", "1")
        GROUP = os.environ.get("TRAINER_WORKER_GROUP", "")
        --- docs/settings.md
        Settings of a trainer that opens `rl.*` spans:

        | Environment variable | Means |
        |---|---|
        | `TRAINER_WORKERS` | how many workers |
        | `TRAINER_WORKER_GROUP` | their group |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each documented variable of the project that nothing reads."""
        rows = project.documents.of_kind("environment")
        names = {name for row in rows for name in row.names if _VARIABLE.fullmatch(name)}
        read = {name for name in names if self._is_written(project, name)}
        heads = {name.partition("_")[0] for name in read} - _OF_OTHERS
        open_prefixes = self._open_prefixes(project, names) if names - read else ()
        library = set(project.vocabulary.environment)
        theirs = tuple({"_".join(known.split("_")[:2]) + "_" for known in library})
        seen: set[str] = set()
        for row in rows:
            for name in row.names:
                if name not in names - read or name in seen or row.status != "active":
                    continue
                if project.documents.is_reserved(name) or name in library:
                    continue
                if not name.startswith(theirs):
                    if name.startswith(open_prefixes) or name.partition("_")[0] not in heads:
                        continue
                seen.add(name)
                near = nearest(name, (self._similar(project, name) | library) - names, 0.75)
                hint = f'did you mean "{near}"?' if near else "read it, or remove the row"
                yield self.finding(
                    row.place,
                    f'environment variable "{name}" is documented, but never read; {hint}',
                )

    @staticmethod
    def _is_written(project: Project, name: str) -> bool:
        return bool(project.modules.mentioning(name))

    @staticmethod
    def _open_prefixes(project: Project, names: set[str]) -> tuple[str, ...]:
        """Texts that the code, or a library that it passes them to, puts before other names."""
        found = {
            prefix.rstrip("_")
            for module in project.modules
            for prefix in module.facts.findall(_PREFIX)
        }
        return tuple(f"{prefix}_" for prefix in found - names)

    @staticmethod
    def _similar(project: Project, name: str) -> set[str]:
        head = name.partition("_")[0] + "_"
        pattern = re.compile(rf"\b{re.escape(head)}[A-Z0-9_]+\b")
        return {
            found
            for module in project.modules
            if module.facts.has(head)
            for found in module.facts.findall(pattern)
        }
