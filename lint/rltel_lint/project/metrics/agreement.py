"""Logger keys: what is declared, what is logged under which prefix, and how the two agree."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from rltel_lint.findings import Place
from rltel_lint.project.callers import CallerFinder
from rltel_lint.project.calls import CallFinder
from rltel_lint.project.evaluate import Evaluator
from rltel_lint.project.metrics.declared import DeclarationFinder, Declared, MetricField, MetricRow
from rltel_lint.project.metrics.keyflow import KeyFlow, Landing
from rltel_lint.project.metrics.keys import Key, Keys, gap
from rltel_lint.project.metrics.loggers import LoggedMapping, LoggerFinder
from rltel_lint.project.metrics.mappings import Mappings
from rltel_lint.project.metrics.mentions import Mentions
from rltel_lint.project.metrics.sinks import Sinks
from rltel_lint.project.modules import ModuleTable
from rltel_lint.project.resolve import Resolver
from rltel_lint.project.uses import Use, Uses
from rltel_lint.values import display
from rltel_lint.vocabulary.model import Vocabulary


@dataclass(frozen=True)
class Emission:
    """What is known of the emission of one logger key.

    Attributes:
        status: ``emitted`` under a teed prefix; ``possible``; ``elsewhere``: only under
            prefixes that are not teed; ``never``.
        at: Where the key is written, sorted.
        logged: For ``elsewhere``, the logger calls that it gets to.
    """

    status: Literal["emitted", "possible", "elsewhere", "never"]
    at: tuple[Place, ...] = ()
    logged: tuple[LoggedMapping, ...] = ()

    @property
    def prefixes(self) -> tuple[str, ...]:
        """The prefixes that the key is logged under instead, sorted."""
        templates = {t for logged in self.logged for t in logged.prefix.templates}
        return tuple(sorted(display(template) for template in templates))


class Metrics:
    """The declared metrics and logged keys of a project, each part found when asked for.

    Args:
        vocabulary: What the names mean.
        modules: The project's modules.
        resolver: Resolves names.
        finder: Finds calls.
        evaluator: Evaluates strings.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        modules: ModuleTable,
        resolver: Resolver,
        finder: CallFinder,
        evaluator: Evaluator,
    ) -> None:
        self._vocabulary = vocabulary
        uses = Uses(modules, resolver, finder)
        callers = CallerFinder(modules, resolver, finder, uses)
        self._loggers = LoggerFinder(vocabulary, resolver, finder, callers, evaluator, uses)
        is_logger = self._loggers.is_logger
        results = vocabulary.metrics.results
        self._mappings = Mappings(resolver, finder, callers, evaluator, uses, is_logger, results)
        self._declarations = DeclarationFinder(
            vocabulary.metrics, modules, resolver, finder, evaluator, uses
        )
        self._mentions = Mentions(modules, evaluator, uses)
        self._keyflow = KeyFlow(
            modules,
            resolver,
            finder,
            callers,
            evaluator,
            uses,
            lambda site: self._declarations.row_of(site) is not None,
        )
        self._sinks = Sinks(resolver, finder, callers, evaluator, uses, self._keyflow, is_logger)
        self._keys: dict[LoggedMapping, Keys] = {}
        self._emissions: dict[tuple[str, tuple[str, ...]], Emission] = {}

    # -- facts --------------------------------------------------------------------------

    @cached_property
    def declared(self) -> Declared:
        """Everything that is declared."""
        return self._declarations.find()

    @property
    def teed(self) -> list[MetricRow]:
        """The rows that the project itself declares for the logger.

        A library's own rows, found in the checked tree, are an offer to whoever logs them.
        """
        if not any(row.library for row in self.declared.teed):
            return self.declared.teed
        homes = {logged.logger.scope.module.name.partition(".")[0] for logged in self.logged}
        return [
            row
            for row in self.declared.teed
            if not row.library or row.module.name.partition(".")[0] in homes
        ]

    @property
    def recorded(self) -> list[MetricRow]:
        """The rows that are recorded by hand."""
        return self.declared.recorded

    @property
    def fields(self) -> list[MetricField]:
        """The fields of mappings that the vocabulary names."""
        return self.declared.fields

    @cached_property
    def logged(self) -> list[LoggedMapping]:
        """The mappings that are logged, with the prefix of each."""
        return self._loggers.find()

    @property
    def handed_on(self) -> list[Place]:
        """Where a logger's method is passed around instead of called."""
        _ = self.logged
        return self._loggers.handed_on

    def keys(self, logged: LoggedMapping) -> Keys:
        """Returns the keys that a logged mapping may have."""
        known = self._keys.get(logged)
        if known is None:
            if logged.mapping is None:
                known = gap("it is passed by unpacking")
            else:
                known = self._mappings.of(
                    logged.mapping, logged.scope, logged.statement, logged.frame
                )
            self._keys[logged] = known
        return known

    def logged_keys(self, prefixes: Iterable[str]) -> set[str]:
        """Returns the keys that are known to be logged under one of these prefixes."""
        wanted = tuple(prefixes)
        return {
            key
            for logged in self.logged
            if logged.may_be_under(wanted)
            for found in self.keys(logged).found
            for key in found.value.literals
        }

    # -- agreement ----------------------------------------------------------------------

    def emission(self, key: str, prefixes: Iterable[str] | None = None) -> Emission:
        """Returns what is known of the emission of a key.

        Args:
            key: A logger key.
            prefixes: The prefixes that are teed; those of the vocabulary by default.
        """
        teed = tuple(self._vocabulary.metrics.prefixes if prefixes is None else prefixes)
        known = self._emissions.get((key, teed))
        if known is None:
            known = self._emissions[(key, teed)] = self._emission(key, teed)
        return known

    def _emission(self, key: str, prefixes: tuple[str, ...]) -> Emission:
        teed = [logged for logged in self.logged if logged.may_be_under(prefixes)]
        spelled = self._by_spelling(key, prefixes)
        is_open = bool(self.handed_on)
        for logged in teed:
            if spelled.status == "possible" and (is_open or self._is_open(logged)):
                return spelled
            keys = self.keys(logged)
            if held := keys.holding(key):
                return Emission("emitted", _places(held))
            if keys.outside:
                return Emission("possible")
            is_open = is_open or bool(keys.gaps)
        if is_open:
            return spelled
        elsewhere = [
            logged
            for logged in self.logged
            if logged not in teed and self.keys(logged).holding(key)
        ]
        at = _places(found for logged in elsewhere for found in self.keys(logged).holding(key))
        return Emission("elsewhere" if elsewhere else "never", at, tuple(elsewhere))

    def _is_open(self, logged: LoggedMapping) -> bool:
        """Whether a logged mapping may hold keys that are not known; cheaper than its keys."""
        if logged in self._keys or logged.mapping is None:
            return bool(self.keys(logged).gaps)
        return self._mappings.has_gap(logged.mapping, logged.scope, logged.statement, logged.frame)

    def _by_spelling(self, key: str, prefixes: tuple[str, ...]) -> Emission:
        """The emission of a key where some logged mapping is not wholly known.

        Then the key may be logged if it becomes a key of any mapping of which it is not known
        that it stays away from the teed prefixes.
        """
        if self._keyflow.dumps and any(self._mentions.fields(key)):
            return Emission("possible")
        nodes = self.declared.nodes
        logged: list[LoggedMapping] = []
        places: list[Place] = []
        for stage in (self._mentions.exact, self._mentions.built):
            for use in stage(key):
                if use.node in nodes:
                    continue
                for landing in self._keyflow.landings([use]):
                    reached = self._reached(landing)
                    if reached is None or any(one.may_be_under(prefixes) for one in reached):
                        return Emission("possible", (use.scope.place(use.node),))
                    if reached:
                        logged += reached
                        places.append(use.scope.place(use.node))
        status: Literal["elsewhere", "never"] = "elsewhere" if logged else "never"
        return Emission(status, tuple(sorted(set(places))), tuple(dict.fromkeys(logged)))

    def _reached(self, landing: Landing) -> list[LoggedMapping] | None:
        """What is logged of a mapping; ``None`` when that is not known."""
        if not isinstance(landing, Use):
            return None
        calls = self._sinks.of(landing)
        if calls is None:
            return None
        found = [logged for logged in self.logged if logged.logger.call in calls]
        if len({logged.logger.call for logged in found}) < len(calls):
            return None
        return found


def _places(keys: Iterable[Key]) -> tuple[Place, ...]:
    return tuple(sorted({key.place for key in keys}))
