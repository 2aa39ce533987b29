"""Logger keys: every declared one must be logged, and under a prefix that is teed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rltel_lint.findings import Finding
from rltel_lint.project.linked import Project
from rltel_lint.project.metrics import Emission, MetricField, MetricRow
from rltel_lint.rules.base import Rule
from rltel_lint.rules.offers import take_out
from rltel_lint.rules.wording import listed, nearest, quoted

_SHOWN = 3
"""Related places of each kind: more say nothing new."""
_WORDS = re.compile(r"[^A-Za-z0-9]+")


@dataclass(frozen=True)
class _Declaration:
    """One declared logger key with what is known of it."""

    row: MetricRow
    prefixes: tuple[str, ...]
    emission: Emission
    field: MetricField | None = None

    @property
    def feeds(self) -> str:
        """What stays empty without the key."""
        return f'field "{self.row.name}"' if self.field else f'"{self.row.name}"'


def _declarations(project: Project) -> Iterator[list[_Declaration]]:
    """Yields the declared keys, those of one field together."""
    metrics = project.metrics
    for row in metrics.teed:
        prefixes = project.vocabulary.metrics.prefixes
        yield [_Declaration(row, prefixes, metrics.emission(row.key))]
    for field in metrics.fields:
        yield [
            _Declaration(row, field.prefixes, metrics.emission(row.key, field.prefixes), field)
            for row in field.candidates
        ]


class KeyNeverLogged(Rule):
    """A teed metric is looked up, by its logger key, in what the training loop logs. When nothing
    logs that key there is no error: the series simply stays empty, and the dashboard shows a
    flat line. It happens when the producer renames a key, or when a row lists a key that only
    looks plausible.

    A key counts as logged when it is written into a mapping that gets to the logger. A key that
    is only compared with, looked up, or named in a comment, a docstring or the configuration
    does not. Where a mapping cannot be followed, any mapping with the key counts.

    Correct the key in the row, log it, or remove the row. If the project logs through a method
    that rltel-lint does not know, name it under `vocabulary.metrics.loggers`.
    """

    code = "RLT501"
    name = "unlogged-key"
    summary = "a declared logger key is never logged"
    bad = """
        --- grpo.py
        from rl_telemetry.metrics import TeedMetric, register_teed_metrics

        register_teed_metrics(
            [
                TeedMetric("mean_reward", "rl.reward.mean"),  # <- RLT501
                TeedMetric("loss", "rl.policy.loss"),
            ]
        )

        def train(logger, batch, step):
            metrics = {"reward": batch.reward, "loss": batch.loss}
            logger.log_metrics(metrics, step, prefix="train")
    """
    good = """
        --- grpo.py
        from rl_telemetry.metrics import TeedMetric, register_teed_metrics

        register_teed_metrics(
            [
                TeedMetric("reward", "rl.reward.mean"),
                TeedMetric("loss", "rl.policy.loss"),
            ]
        )

        def train(logger, batch, step):
            metrics = {"reward": batch.reward, "loss": batch.loss}
            logger.log_metrics(metrics, step, prefix="train")
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each row, field or candidate that nothing feeds."""
        for declarations in _declarations(project):
            dead = [one for one in declarations if one.emission.status == "never"]
            field = declarations[0].field if declarations else None
            if field and field.complete and len(dead) == len(declarations):
                yield self._empty_field(field, dead, project)
            else:
                for one in dead:
                    yield self._dead_key(one, declarations, project)

    def _empty_field(
        self, field: MetricField, dead: list[_Declaration], project: Project
    ) -> Finding:
        keys = [one.row.key for one in dead]
        what = quoted(keys).replace(" and ", " or ") or "any key"
        message = _nothing_logs(what, f'field "{field.name}"', keys, field.prefixes, project)
        fix = take_out(field.place, f'field "{field.name}"', safe=False)
        return self.finding(field.place, message, fix=fix)

    def _dead_key(
        self, one: _Declaration, declarations: list[_Declaration], project: Project
    ) -> Finding:
        live = [d.row.key for d in declarations if d.emission.status in {"emitted", "possible"}]
        key = one.row.key
        if live:
            message = (
                f'nothing logs "{key}" under {_prefixes(one.prefixes)}; {one.feeds} lives on '
                f'{quoted(live)}, so remove "{key}"'
            )
            own = [d for d in declarations if d.row.place == one.row.place]
            fix = take_out(one.row.place, f'"{key}"') if len(own) == 1 else None
            return self.finding(one.row.place, message, fix=fix)
        message = _nothing_logs(f'"{key}"', one.feeds, [key], one.prefixes, project)
        return self.finding(one.row.place, message)


class KeyUnderOtherPrefix(Rule):
    """The tee looks only at what is logged under certain prefixes (`train`, the empty one and
    `timing/setup` unless configured otherwise). A key that is logged under another prefix is
    logged, but never becomes a metric: the series stays empty without an error.

    Log the key under a teed prefix too, or declare it where its own prefix is teed.
    """

    code = "RLT502"
    name = "key-under-other-prefix"
    summary = "a declared logger key is logged only under a prefix that is not teed"
    bad = """
        --- grpo.py
        from rl_telemetry.metrics import TeedMetric, register_teed_metrics

        register_teed_metrics([TeedMetric("tokens_per_sec", "rl.tokens_per_sec")])  # <- RLT502

        def train(logger, batch, step):
            speed = {"tokens_per_sec": batch.tokens / batch.seconds}
            logger.log_metrics({"loss": batch.loss}, step, prefix="train")
            logger.log_metrics(speed, step, prefix="performance")
    """
    good = """
        --- grpo.py
        from rl_telemetry.metrics import TeedMetric, register_teed_metrics

        register_teed_metrics([TeedMetric("tokens_per_sec", "rl.tokens_per_sec")])

        def train(logger, batch, step):
            speed = {"tokens_per_sec": batch.tokens / batch.seconds}
            logger.log_metrics({"loss": batch.loss, **speed}, step, prefix="train")
            logger.log_metrics(speed, step, prefix="performance")
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each key that is logged, but not where it is teed."""
        for declarations in _declarations(project):
            for one in declarations:
                if one.emission.status == "elsewhere":
                    yield self._misplaced(one)

    def _misplaced(self, one: _Declaration) -> Finding:
        under = quoted(one.emission.prefixes)
        message = (
            f'logger key "{one.row.key}" is logged under {under} only, which is not teed, so '
            f"{one.feeds} stays empty; log it under {_prefixes(one.prefixes)}"
        )
        key = f'"{one.row.key}" is written here'
        related = [(place, key) for place in one.emission.at[:_SHOWN]]
        related += [(logged.place, "logged here") for logged in one.emission.logged[:_SHOWN]]
        return self.finding(one.row.place, message, related)


def _nothing_logs(
    what: str, feeds: str, keys: Iterable[str], prefixes: tuple[str, ...], project: Project
) -> str:
    metrics = project.metrics
    if not metrics.logged and not metrics.handed_on:
        names = listed(known.name for known in project.vocabulary.metrics.loggers)
        names = names.replace(" and ", " or ")
        return (
            f"{feeds} is declared for logger key {what}, but no call of {names or 'a logger'} was "
            'found; log the metrics, or name the logger under "vocabulary.metrics.loggers"'
        )
    start = f"nothing logs {what} under {_prefixes(prefixes)}, so {feeds} stays empty"
    logged = metrics.logged_keys(prefixes)
    near = next(filter(None, (_nearest(key, logged) for key in keys)), None)
    hint = f'did you mean "{near}"?' if near else "log it, or remove the declaration"
    return f"{start}; {hint}"


def _prefixes(prefixes: Iterable[str]) -> str:
    words = [f'"{prefix}"' if prefix else "the empty prefix" for prefix in prefixes]
    return listed(words).replace(" and ", " or ") or "a teed prefix"


def _nearest(key: str, logged: set[str]) -> str | None:
    """The logged key most like another: by its letters, else by the words they share."""
    close = nearest(key, logged)
    if close:
        return close
    words = _words(key)
    shared = [(len(words & _words(other)), -len(other), other) for other in logged - {key}]
    best = max(shared, default=(0, 0, ""))
    return best[2] if best[0] else None


def _words(key: str) -> set[str]:
    return {word for word in _WORDS.split(key) if len(word) > 1 and word not in _COMMON}


_COMMON = frozenset({"mean", "avg", "max", "min", "sum", "std", "per", "total", "num", "count"})
