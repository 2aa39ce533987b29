"""Configuration files that ask for a logged value by its key."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rltel_lint.facts.entries import DataValue
from rltel_lint.findings import Finding
from rltel_lint.project.linked import Project
from rltel_lint.rules.base import Rule
from rltel_lint.rules.wording import nearest, quoted

_OPEN = re.compile(r"[$<>{}%*]")
"""In a value: it is put together, or stands for what the reader fills in."""


class ConsumedKeyNeverLogged(Rule):
    """A recipe that keeps the best checkpoint by a key that nobody logs keeps the latest one, or
    fails after the first validation. The key was renamed where it is logged, or the form of the
    option has changed.

    Correct the key in the file. Files are looked at once `configs` in `[tool.rltel-lint]` lists
    them; which of their keys name a logged value, and in which form, is said under
    `vocabulary.metrics.consumers`. A key counts as logged as for RLT501, whatever its prefix, or
    where some mapping in the code has it. Whether the option that makes the code log the key is
    on is not looked at.
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
        for value, option in _consumers(project):
            if _OPEN.search(value.text) or not project.metrics.logged:
                continue
            forms = project.vocabulary.metrics.consumers[option]
            found = [match[1] for form in forms if (match := _form(form).fullmatch(value.text))]
            if not found:
                yield self.finding(
                    value.place,
                    f'"{value.text}" for "{option}" has not the form {_or(forms)}, so it names no '
                    "logger key; write it so",
                )
            elif not any(self._is_logged(project, key) for key in found):
                near = nearest(found[0], _logged_keys(project))
                hint = f'did you mean "{near}"?' if near else "correct the key, or log it"
                yield self.finding(
                    value.place,
                    f'"{option}" asks for logger key "{found[0]}", which nothing logs; {hint}',
                )

    @staticmethod
    def _is_logged(project: Project, key: str) -> bool:
        if project.metrics.emission(key).status != "never":
            return True
        # What the option looks into may be another mapping than the one that is logged.
        text = re.escape(key)
        stored = re.compile(rf"[\"']{text}[\"']\s*(?::|\]\s*=(?!=))|\b{text}\s*=(?!=)")
        return any(
            key in module.facts.text and stored.search(module.facts.text)
            for module in project.modules
        )


def _consumers(project: Project) -> Iterator[tuple[DataValue, str]]:
    """Yields the values that name a logger key, with the option that does."""
    options = project.vocabulary.metrics.consumers
    if not options:
        return
    for facts in project.documents.facts:
        for value in facts.values:
            key = f".{value.key}"
            option = next((one for one in options if key.endswith(f".{one}")), None)
            if option is not None:
                yield value, option


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
