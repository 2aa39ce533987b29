"""Metrics against documents: declared, documented, claimed once, and really recorded."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from rltel_lint.facts import nodes as n
from rltel_lint.facts.entries import DocumentEntry
from rltel_lint.facts.templates import overlap
from rltel_lint.findings import Finding, Place
from rltel_lint.project.linked import Project
from rltel_lint.project.metrics.declared import MetricRow
from rltel_lint.project.model import Module
from rltel_lint.project.series import Recording
from rltel_lint.project.spans import call_means
from rltel_lint.rules.base import Rule
from rltel_lint.rules.documented_keys import all_rows_are_read, disagreements
from rltel_lint.rules.offers import add_row
from rltel_lint.rules.wording import listed, nearest
from rltel_lint.values import HOLE, display


def made_series(project: Project) -> dict[str, tuple[Place, str]]:
    """Returns every series that the project makes, with where and how: declared or recorded."""
    made: dict[str, tuple[Place, str]] = {}
    for row in _own_rows(project):
        if row.name:
            made.setdefault(row.name, (row.place, "declared"))
    for instrument in project.series.instruments:
        name = instrument.name.exact
        if name and not project.span_finder.implements(f"{instrument.site.scope.module.name}."):
            made.setdefault(name, (instrument.site.place, "declared"))
    for recording in project.series.recordings:
        if recording.function is None:
            for name, params in recording.recorder.series.items():
                if any(p in recording.given and recording.given[p].expr for p in params):
                    if project.series.passes(recording, params):
                        made.setdefault(name, (recording.site.place, "recorded"))
    return made


class MetricUndocumented(Rule):
    """A metric that no table lists is found by nobody who builds a dashboard from the documents.

    Add a row with its name, its kind and its unit.
    """

    code = "RLT503"
    name = "metric-undocumented"
    summary = "a metric is declared, but not documented"
    bad = """
        --- metrics.py
        def instruments(meter):
            return [
                meter.create_gauge("rl.queue.length"),
                meter.create_gauge("rl.queue.age"),  # <- RLT503
            ]
        --- docs/metrics.md
        | Metric | Kind |
        |---|---|
        | `rl.queue.length` | gauge |
    """
    good = """
        --- metrics.py
        def instruments(meter):
            return [
                meter.create_gauge("rl.queue.length"),
                meter.create_gauge("rl.queue.age"),
            ]
        --- docs/metrics.md
        | Metric | Kind |
        |---|---|
        | `rl.queue.length` | gauge |
        | `rl.queue.age` | gauge |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each declared metric without a row."""
        rows = project.documents.of_kind("metric")
        if not any(project.in_namespace(name) for row in rows for name in row.names):
            return
        made = made_series(project)
        stale = {name for row in rows for name in row.names if name not in made}
        for name, (place, how) in sorted(made.items(), key=lambda item: item[1][0]):
            own = project.in_namespace(name) or how == "recorded"
            if not own or any(True for _ in project.documents.naming("metric", name)):
                continue
            if project.documents.is_reserved(name):
                continue
            near = nearest(name, stale)
            hint = f'its row may be the one of "{near}"' if near else "add a row"
            yield self.finding(
                place,
                f'metric "{name}" is {how}, but not in any metric table; {hint}',
                [(rows[0].place, "other metrics are documented here")],
                add_row(project, "metric", name) if near is None else None,
            )


class MetricNeverRecorded(Rule):
    """Somebody builds a panel from the table and sees "no data". Either nothing declares the
    metric any more, or it is declared and the value never gets there: the argument that records
    it is passed by no call.

    A column *Logger key* is read too: it has to name the key that the metric's declaration has,
    and of the metrics that the runtime declares, that key must be logged.

    Record it, or take the row out; a row marked *reserved* may wait.
    """

    code = "RLT504"
    name = "metric-never-recorded"
    summary = "a metric is documented, but not declared or never recorded"
    bad = """
        --- serve.py
        from rl_telemetry.metrics import record_inference_metrics

        def served(meter, tokens):
            record_inference_metrics(meter, output_tokens=tokens)
        --- docs/metrics.md
        Engine metrics beside the `rl.*` ones:

        | Metric | Kind |
        |---|---|
        | `gen_ai.client.token.usage` | histogram |
        | `gen_ai.server.request.duration` | histogram | <- RLT504
    """
    good = """
        --- serve.py
        from rl_telemetry.metrics import record_inference_metrics

        def served(meter, tokens, seconds):
            record_inference_metrics(meter, request_duration_s=seconds, output_tokens=tokens)
        --- docs/metrics.md
        Engine metrics beside the `rl.*` ones:

        | Metric | Kind |
        |---|---|
        | `gen_ai.client.token.usage` | histogram |
        | `gen_ai.server.request.duration` | histogram |
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each documented metric that nothing records."""
        series = project.series
        rows = _rows(project)
        if not (rows or series.instruments or series.recordings):
            return
        known = {row.name for row in rows} | set(project.vocabulary.emitted_metrics)
        templates = [t for i in series.instruments for t in i.name.templates]
        known |= {template for template in templates if HOLE not in template}
        open_names = [display(template) for template in templates if HOLE in template]
        for recorder in project.vocabulary.recorders:
            known |= set(recorder.series)
        seen: set[str] = set()
        for entry in project.documents.of_kind("metric"):
            for name in entry.names:
                if entry.status != "active" or name in seen or "**" in open_names:
                    continue
                if project.documents.is_reserved(name):
                    continue
                seen.add(name)
                yield from self._row(project, entry, name, known, open_names)

    def _row(
        self,
        project: Project,
        entry: DocumentEntry,
        name: str,
        known: set[str],
        open_names: list[str],
    ) -> Iterator[Finding]:
        if "*" in name:
            if project.in_namespace(name) and not any(
                overlap(name, other) for other in (*known, *open_names)
            ):
                yield self.finding(
                    entry.place,
                    f'documented metrics "{name}" match no metric that the code declares; '
                    "correct the row or remove it",
                )
            return
        if name in known:
            for message, related in disagreements(project, entry, name):
                yield self.finding(entry.place, message, related)
            yield from self._unrecorded(project, entry, name)
            return
        series = {metric for one in project.vocabulary.recorders for metric in one.series}
        misspelt = nearest(name, series, 0.9)  # of a standard, as ``gen_ai.`` names are
        if not project.in_namespace(name) and not misspelt:
            return
        if any(overlap(name, other) for other in open_names):
            return
        if project.series.written_elsewhere(name, set()):
            return
        near = nearest(name, known)
        hint = f'did you mean "{near}"?' if near else "record it, or take the row out"
        yield self.finding(entry.place, f'documented metric "{name}" is declared nowhere; {hint}')

    def _unrecorded(self, project: Project, entry: DocumentEntry, name: str) -> Iterator[Finding]:
        series = project.series
        if name in project.vocabulary.emitted_metrics:
            return
        calls = series.recordings_of(name)
        if calls and not any(
            series.passes(recording, params) or _in_tree(project, recording)
            for recording, params in calls
        ):
            recording, params = calls[0]
            yield self.finding(
                entry.place,
                f'documented metric "{name}" is never recorded: no call of '
                f"{recording.recorder.name} passes {listed(params)}; pass it, or take the row out",
                [(one.site.place, f"{params[0]} is left out here") for one, params in calls],
            )
            return
        by_hand = [row for row in project.metrics.recorded if row.name == name and not row.library]
        if by_hand and not calls and not _recorded_by_hand(project, by_hand):
            yield self.finding(
                entry.place,
                f'documented metric "{name}" is declared, but nothing records it; record it, or '
                "take the row and the declaration out",
                [(by_hand[0].place, "it is declared here")],
            )


class MetricClaimedTwice(Rule):
    """Two rows for one logger key, or two keys for one series: registering the second raises, and
    with it goes every metric of that process.

    Keep one row.
    """

    code = "RLT505"
    name = "metric-claimed-twice"
    summary = "a logger key or a series is claimed twice"
    bad = """
        --- metrics.py
        from rl_telemetry.metrics import TeedMetric, register_teed_metrics

        register_teed_metrics([
            TeedMetric("loss", "rl.policy.loss"),
            TeedMetric("critic/loss", "rl.policy.loss"),  # <- RLT505
        ])

        def log(logger, loss, step):
            logger.log_metrics({"loss": loss, "critic/loss": loss}, step, prefix="train")
    """
    good = """
        --- metrics.py
        from rl_telemetry.metrics import TeedMetric, register_teed_metrics

        register_teed_metrics([
            TeedMetric("loss", "rl.policy.loss"),
            TeedMetric("critic/loss", "rl.value.loss"),
        ])

        def log(logger, loss, step):
            logger.log_metrics({"loss": loss, "critic/loss": loss}, step, prefix="train")
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each row whose key or series another row has."""
        teed = [row for row in project.metrics.declared.teed if not row.library]
        for what, of in (("logger key", "key"), ("series", "name")):
            claims: dict[str, list[MetricRow]] = defaultdict(list)
            for row in teed:
                claims[getattr(row, of)].append(row)
            for value, rows in claims.items():
                for row in rows[1:]:
                    other = next((o for o in rows if _both_loaded(project, o, row)), None)
                    if other is None or (of == "name" and other.key == row.key):
                        continue  # the same key twice is said once
                    yield self.finding(
                        row.place,
                        f'{what} "{value}" is claimed twice, so that registering fails; '
                        "keep one row",
                        [(other.place, "the other row")],
                    )
        yield from self._recorded(project)

    def _recorded(self, project: Project) -> Iterator[Finding]:
        """Rows that are recorded by hand may be repeated, if they say the same."""
        by_name: dict[str, list[MetricRow]] = defaultdict(list)
        for row in project.metrics.recorded:
            if row.name and not row.library:
                by_name[row.name].append(row)
        for name, rows in by_name.items():
            for row in rows[1:]:
                other = next((o for o in rows if _both_loaded(project, o, row)), None)
                if other is None or (other.kind, other.unit) == (row.kind, row.unit):
                    continue
                yield self.finding(
                    row.place,
                    f'series "{name}" is declared twice, as {_described(other)} and as '
                    f"{_described(row)}, so that registering fails; keep one row",
                    [(other.place, "the other row")],
                )


class NothingRecorded(Rule):
    """A recorder skips what it is not given and drops what it does not know, without an error: the
    series stays empty.

    Pass an argument that is recorded, under the name that the recorder has.
    """

    code = "RLT506"
    name = "nothing-recorded"
    summary = "a recorder is given a field it does not take, or nothing to record"
    bad = """
        --- serve.py
        from rl_telemetry.metrics import record_inference_metrics

        def served(meter, model):
            record_inference_metrics(meter, model=model)  # <- RLT506
    """
    good = """
        --- serve.py
        from rl_telemetry.metrics import record_inference_metrics

        def served(meter, model, tokens):
            record_inference_metrics(meter, model=model, output_tokens=tokens)
    """

    def check(self, project: Project) -> Iterator[Finding]:
        """Yields a finding for each call or field that records nothing."""
        for recording in project.series.recordings:
            yield from self._call(project, recording)
        used = {recording.recorder.name for recording in project.series.recordings}
        for recorder in project.vocabulary.recorders:
            if recorder.name not in used:
                continue
            takes = {param.name for param in recorder.params.items}
            for field, place in project.series.fields(recorder):
                if field not in takes:
                    near = nearest(field, takes)
                    hint = f'did you mean "{near}"?' if near else "take it out"
                    yield self.finding(
                        place,
                        f'field "{field}" is dropped: {recorder.name} takes no such argument; '
                        f"{hint}",
                    )
        yield from self._by_name(project)

    def _call(self, project: Project, recording: Recording) -> Iterator[Finding]:
        recorder = recording.recorder
        value_params = tuple({p for params in recorder.series.values() for p in params})
        if recorder.series and not project.series.passes(recording, value_params):
            if any(not self._is_known(arg) for arg in recording.site.call.args):
                return
            yield self.finding(
                recording.site.place,
                f"this call of {recorder.name} records nothing: it passes none of "
                f"{listed(sorted(value_params))}; pass one or remove the call",
            )

    @staticmethod
    def _is_known(arg: n.Arg) -> bool:
        return not arg.star or (arg.star == "**" and isinstance(arg.value, n.Dict))

    def _by_name(self, project: Project) -> Iterator[Finding]:
        known_calls = project.vocabulary.recorded_by_name
        if not known_calls:
            return
        known: set[str] | None = None
        for site in project.finder.named([call.words for call in known_calls]):
            if call_means(site, known_calls, project.resolver) is None or not site.call.args:
                continue
            if project.span_finder.implements(f"{site.scope.module.name}."):
                continue
            if known is None:
                if not all_rows_are_read(project):
                    return
                names = {row.name for row in _rows(project)}
                known = {_registry_key(x) for x in names | set(project.vocabulary.emitted_metrics)}
            display_ = site.call.args[0].value
            for key, _ in display_.items if isinstance(display_, n.Dict) else ():
                exact = project.evaluator.of(key, site.scope, site.statement).exact if key else None
                if key is None or exact is None or _registry_key(exact) in known:
                    continue
                near = nearest(exact, {f"rl.{name}" for name in known} | known)
                hint = f'did you mean "{near}"?' if near else "declare a row for it"
                yield self.finding(
                    site.scope.place(key),
                    f'"{exact}" is recorded, but no row declares it, so it is dropped; {hint}',
                )


def _described(row: MetricRow) -> str:
    unit = f" in {row.unit}" if row.unit else " without a unit"
    return f"{row.kind or 'a metric'}{unit}"


def _rows(project: Project) -> list[MetricRow]:
    return [*project.metrics.declared.teed, *project.metrics.recorded]


def _own_rows(project: Project) -> list[MetricRow]:
    return [row for row in _rows(project) if not row.library]


def _in_tree(project: Project, recording: Recording) -> bool:
    """Whether a library's recorder is itself part of the checked tree: then it is an offer."""
    if recording.function is not None:
        return False
    return any(
        project.span_finder.implements(f"{module.name}.")
        and recording.recorder.name in module.facts.bindings
        for module in project.modules
    )


def _recorded_by_hand(project: Project, rows: list[MetricRow]) -> bool:
    """Whether the code speaks of the metric's key or name beside its rows."""
    declared = {(row.place.path, line) for row in rows for line in _lines(project, row)}
    texts = {text for row in rows for text in (row.name, row.key, _registry_key(row.name)) if text}
    if not any(
        f'"{row.name}"' in line or f"'{row.name}'" in line
        for row in rows
        for line in _text_around(project, row)
    ):
        return True  # the name is a constant, which may be used anywhere
    if any(project.series.written_elsewhere(text, declared) for text in texts):
        return True
    return _put_together(project, texts)


def _put_together(project: Project, texts: set[str]) -> bool:
    """Whether a call that records by name may be given one of these, in pieces for example."""
    known_calls = project.vocabulary.recorded_by_name
    for site in project.finder.named([call.words for call in known_calls]):
        if not site.call.args or call_means(site, known_calls, project.resolver) is None:
            continue
        if project.span_finder.implements(f"{site.scope.module.name}."):
            continue
        shown_ = site.call.args[0].value
        for key, _ in shown_.items if isinstance(shown_, n.Dict) else ():
            if key is not None and not isinstance(key, n.Const):
                value = project.evaluator.of(key, site.scope, site.statement)
                if not value.known or not texts.isdisjoint(value.literals):
                    return True
    return False


def _lines(project: Project, row: MetricRow) -> range:
    return range(row.place.line, max(row.place.end_line, row.place.line) + 3)


def _text_around(project: Project, row: MetricRow) -> list[str]:
    lines = row.module.facts.lines
    return [lines[number - 1] for number in _lines(project, row) if number <= len(lines)]


def _both_loaded(project: Project, one: MetricRow, two: MetricRow) -> bool:
    """Whether two different rows are certainly declared in one process."""
    if one is two or one.place == two.place:
        return False
    if one.module is two.module:
        return True
    if _imports(project, one.module, two.module) or _imports(project, two.module, one.module):
        return True
    return any(
        _imports(project, module, one.module) and _imports(project, module, two.module)
        for module in project.modules
    )


def _imports(project: Project, module: Module, wanted: Module) -> bool:
    """Whether a module imports another one at its top level."""
    last = wanted.name.rpartition(".")[2]
    if not module.facts.has(last):
        return False
    for unit in module.facts.units:
        if not unit.has(last) or not unit.has("import"):
            continue
        # Of ``import a.b`` only what it binds is kept, so the text has to tell.
        plain = unit.findall(re.compile(r"^import\s+([\w., ]+)", re.MULTILINE))
        dotted = [name.split()[0] for names in plain for name in names.split(",") if name.strip()]
        if any(project.resolver.dotted_module(name, module) is wanted for name in dotted):
            return True
        for statement in unit.statements:
            if not isinstance(statement, n.Import) or statement.module is None:
                continue
            source = project.resolver.imported_module(statement, module)
            if source is wanted:
                return True
            if source is not None and any(
                project.modules.named(f"{source.name}.{original}") is wanted
                for original, _ in statement.names
            ):
                return True
    return False


def _registry_key(name: str) -> str:
    return name.removeprefix("rl.").replace(".", "_")
