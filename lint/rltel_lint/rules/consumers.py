"""Configuration files that ask for a logged value by its key."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rltel_lint.facts.entries import DataValue, DocumentFacts
from rltel_lint.findings import Finding
from rltel_lint.project.linked import Project
from rltel_lint.rules.base import Rule
from rltel_lint.rules.wording import listed, nearest, quoted

_OPEN = re.compile(r"[$<>{}%*]")
"""In a value: it is put together, or stands for what the reader fills in."""


class ConsumedKeyNeverLogged(Rule):
    """A recipe that keeps the best checkpoint by a key that nobody logs keeps the latest one, or
    fails after the first validation. The key was renamed where it is logged, or the form of the
    option has changed.

    Correct the key in the file. Files are looked at once `configs` in `[tool.rltel-lint]` lists
    them; which of their keys name a logged value, and in which form, is said under
    `vocabulary.metrics.consumers`. A key counts as logged as for RLT501, whatever its prefix, or
    where some mapping in the code has it.

    A key of validation is not logged while validation is off. Which options turn it on is said
    under `vocabulary.metrics.switches`; a file that turns all of them off, while it asks for such
    a key, is a finding. Options that another file may turn on are not known and say nothing.
    """

    code = "RLT509"
    name = "consumed-key-never-logged"
    summary = "a configuration file asks for a logger key that nothing logs"
    bad = """
        --- pyproject.toml
        [tool.rltel-lint]
        configs = ["recipes/*.yaml"]

        [tool.rltel-lint.vocabulary.metrics.consumers]
        "checkpoint.best_by" = ["train:{key}", "val:{key}"]
        --- train.py
        def validate(logger, score, step):
            logger.log_metrics({"accuracy": score}, step, prefix="validation")
        --- recipes/small.yaml
        checkpoint:
          best_by: "val:acuracy"  # <- RLT509
        --- recipes/large.yaml
        checkpoint:
          best_by: val_accuracy  # <- RLT509
    """
    good = """
        --- pyproject.toml
        [tool.rltel-lint]
        configs = ["recipes/*.yaml"]

        [tool.rltel-lint.vocabulary.metrics.consumers]
        "checkpoint.best_by" = ["train:{key}", "val:{key}"]
        --- train.py
        def validate(logger, score, step):
            logger.log_metrics({"accuracy": score}, step, prefix="validation")
        --- recipes/small.yaml
        checkpoint:
          best_by: "val:accuracy"
        --- recipes/large.yaml
        checkpoint:
          best_by: val:accuracy
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each value that asks for what is not logged."""
        for facts in project.documents.facts:
            for value, option in _consumers(project, facts):
                if _OPEN.search(value.text) or not project.metrics.logged:
                    continue
                forms = project.vocabulary.metrics.consumers[option]
                found = {
                    form: match[1] for form in forms if (match := _form(form).fullmatch(value.text))
                }
                if not found:
                    yield self.finding(
                        value.place,
                        f'"{value.text}" for "{option}" has not the form {_or(forms)}, so it names '
                        "no logger key; write it so",
                    )
                elif not any(self._is_logged(project, key) for key in found.values()):
                    near = nearest(next(iter(found.values())), _logged_keys(project))
                    hint = f'did you mean "{near}"?' if near else "correct the key, or log it"
                    yield self.finding(
                        value.place,
                        f'"{option}" asks for logger key "{next(iter(found.values()))}", which '
                        f"nothing logs; {hint}",
                    )
                else:
                    yield from self._switched_off(project, facts, value, option, found)

    def _switched_off(
        self,
        project: Project,
        facts: DocumentFacts,
        value: DataValue,
        option: str,
        forms: Iterable[str],
    ) -> Iterator[Finding]:
        """A key that is logged only while an option is on, in a file that turns all of them off."""
        named = project.vocabulary.metrics.switches
        switches = [switch for form in forms for switch in named.get(form, ())]
        holder = value.key.rpartition(".")[0]
        if not switches or _values(facts, f"{holder}.enabled", "off"):
            return
        off = {switch: _values(facts, switch, "off") for switch in switches}
        if all(off.values()) and not any(_values(facts, switch, "on") for switch in switches):
            yield self.finding(
                value.place,
                f'"{option}" asks for "{value.text}", which nothing logs while {listed(switches)} '
                f"{'are' if len(switches) > 1 else 'is'} off; turn one on, or ask for another key",
                [(at.place, f"{switch} is off") for switch, places in off.items() for at in places],
            )

    @staticmethod
    def _is_logged(project: Project, key: str) -> bool:
        if project.metrics.emission(key).status != "never":
            return True
        # What the option looks into may be another mapping than the one that is logged.
        text = re.escape(key)
        stored = re.compile(rf"[\"']{text}[\"']\s*(?::|\]\s*=(?!=))|\b{text}\s*=(?!=)")
        return any(
            module.facts.has(key) and module.facts.search(stored) for module in project.modules
        )


def _consumers(project: Project, facts: DocumentFacts) -> Iterator[tuple[DataValue, str]]:
    """Yields the values of a file that name a logger key, with the option that does."""
    for option in project.vocabulary.metrics.consumers:
        for value in _values(facts, option, "text"):
            yield value, option


def _values(facts: DocumentFacts, option: str, kind: str) -> list[DataValue]:
    """What a file gives to an option, by the end of its path."""
    end = f".{option.lstrip('.')}"
    return [one for one in facts.values if one.kind == kind and f".{one.key}".endswith(end)]


def _form(form: str) -> re.Pattern[str]:
    return re.compile("(.+)".join(map(re.escape, form.split("{key}"))))


def _or(forms: tuple[str, ...]) -> str:
    return quoted(forms).replace(" and ", " or ")


def _logged_keys(project: Project) -> set[str]:
    metrics = project.metrics
    return {
        key
        for logged in metrics.logged
        for found in metrics.keys(logged).found
        for key in found.value.literals
    }
