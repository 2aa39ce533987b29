"""The commands and their options; everything heavy is imported when a command runs."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rltel_lint import __version__
from rltel_lint.errors import UserError
from rltel_lint.output import (
    Colour,
    note,
    terminal_width,
    use_colour,
    write_report,
    write_whole,
)
from rltel_lint.report.styles import STYLES, Style

if TYPE_CHECKING:
    from rltel_lint.engine import Result
    from rltel_lint.facts.store import FactStore
    from rltel_lint.findings import Finding
    from rltel_lint.fixes.session import Fixed
    from rltel_lint.session import PathFilter, Session

_FINDINGS = 1
_Command = TypeVar("_Command", bound=Callable[..., Any])


class _CheckByDefault(click.Group):
    """Takes anything that names no command for arguments of ``check``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (
            args[0] not in self.commands and args[0] not in ("-h", "--help", "--version")
        ):
            args = ["check", *args]
        return super().parse_args(ctx, args)


def _jobs(context: click.Context, option: click.Parameter, value: str) -> int:
    """Returns the number of processes, 0 for ``auto``."""
    if value == "auto":
        return 0
    if not value.isdecimal() or int(value) < 1:
        raise click.BadParameter(f'{value!r} is neither a number from 1 nor "auto".')
    return int(value)


@click.group(cls=_CheckByDefault, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
def cli() -> None:
    """Finds places where instrumentation, documents and code disagree.

    Without a command it checks the whole project, as "rltel-lint check" does.

    Exit codes: 0 clean, 1 findings, 2 wrong usage or configuration.
    """


def _project_options(command: _Command) -> _Command:
    for option in (
        click.option("--profile", multiple=True, metavar="NAME", help="Helpers the code uses."),
        click.option("--config", type=Path, metavar="FILE", help="TOML file with the settings."),
        click.option(
            "--no-cache", is_flag=True, help="Keep nothing between runs, and read nothing."
        ),
        click.option(
            "--cache-dir", type=Path, metavar="DIR", help="Where facts are kept between runs."
        ),
        click.option(
            "--ray-address", metavar="ADDRESS", help="The cluster; RAY_ADDRESS by default."
        ),
        click.option(
            "--executor",
            type=click.Choice(["local", "ray"]),
            default="local",
            show_default=True,
            help="Where new files are read: on this machine, or on a running Ray cluster.",
        ),
        click.option(
            "--jobs",
            callback=_jobs,
            default="auto",
            metavar="N",
            show_default=True,
            help="How many processes read new files and run rules; auto takes all CPUs if it pays.",
        ),
        click.option("--root", type=Path, metavar="DIR", help="The project's folder."),
    ):
        command = option(command)
    return command


_format_option = click.option(
    "--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True
)


@cli.command()
@click.argument("paths", nargs=-1, metavar="[PATHS]...")
@click.option("--select", multiple=True, metavar="CODES", help="Report these codes only.")
@click.option("--ignore", multiple=True, metavar="CODES", help="Do not report these codes.")
@click.option("--extend-select", multiple=True, metavar="CODES", help="Report these as well.")
@click.option("--format", "style", type=click.Choice(STYLES), default="text", show_default=True)
@click.option("--output-file", type=Path, metavar="FILE", help="Where the report is written.")
@click.option("--baseline", type=Path, metavar="FILE", help="Findings that are accepted.")
@click.option("--no-baseline", is_flag=True, help="Report accepted findings too.")
@click.option("--write-baseline", is_flag=True, help="Accept all findings that there are now.")
@click.option("--statistics", is_flag=True, help="Count the findings of each code.")
@click.option(
    "--color",
    "colour",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Colours in text; auto means on a terminal.",
)
@click.option("--fix", is_flag=True, help="Make the safe fixes in the files, report the rest.")
@click.option("--diff", is_flag=True, help="Show what --fix would change, and change nothing.")
@click.option("--unsafe-fixes", is_flag=True, help="With --fix or --diff: make guesses too.")
@_project_options
def check(
    paths: tuple[str, ...],
    style: Style,
    output_file: Path | None,
    write_baseline: bool,
    statistics: bool,
    colour: Colour,
    fix: bool,
    diff: bool,
    unsafe_fixes: bool,
    **options: Any,
) -> int:
    """Checks the project and reports what disagrees.

    The whole project is always read; PATHS restrict which findings are shown. CODES are
    codes or their beginnings, separated by commas: RLT101,RLT2.
    """
    from rltel_lint.checking import Check, Presentation
    from rltel_lint.session import PathFilter

    started = time.perf_counter()
    session = _open(options)
    only = PathFilter(session, paths)
    for path in only.unchecked:
        note(f"note: {path} holds no file of this check; it may be excluded")
    if options["no_baseline"] and (write_baseline or options["baseline"]):
        raise UserError("--no-baseline does not go with --baseline or --write-baseline")
    if write_baseline and (fix or diff):
        raise UserError("--write-baseline does not go with --fix or --diff; fix first")
    if fix or diff:
        fixed = _fix(session, only, unsafe=unsafe_fixes, write=not diff)
        if diff:
            write_report(fixed.diff)
            return _FINDINGS if fixed.diff else 0
        session = fixed.session
    elif unsafe_fixes:
        raise UserError("--unsafe-fixes goes with --fix or --diff")
    done = Check(session, only, *_outcome(session))
    if write_baseline:
        write_report(f"{done.write_baseline()}\n")
        return 0
    judged = done.judged()
    coloured = use_colour(colour) and (output_file is None or colour == "always")
    how = Presentation(style, coloured, statistics, output_file)
    _write(done.report(judged, how, started), output_file)
    return _FINDINGS if judged.findings else 0


@cli.command()
@click.argument("code")
def explain(code: str) -> None:
    """Prints what a rule reports and why, with a bad and a good example."""
    from rltel_lint.rules.catalogue import ALL_RULES

    wanted = code.strip()
    for rule in ALL_RULES:
        if wanted.upper() == rule.code or wanted.lower() == rule.name:
            write_report(rule.page().rstrip("\n") + "\n")
            return
    known = [name for rule in ALL_RULES for name in (rule.code, rule.name)]
    import difflib

    near = difflib.get_close_matches(wanted.upper(), known, n=1) or difflib.get_close_matches(
        wanted.lower(), known, n=1
    )
    hint = f"did you mean {near[0]}? " if near else ""
    raise UserError(f'no rule {code!r}; {hint}"rltel-lint rules" lists all of them')


@cli.command()
@_format_option
def rules(style: str) -> None:
    """Lists the rules."""
    from rltel_lint.rules.catalogue import ALL_RULES

    ordered = sorted(ALL_RULES, key=lambda rule: rule.code)
    if style == "json":
        from rltel_lint.report import json

        listed = [
            {
                "code": rule.code,
                "name": rule.name,
                "summary": rule.summary,
                "default": rule.default,
            }
            for rule in ordered
        ]
        write_report(json.dump({"rules": listed}))
        return
    from rltel_lint.report.tables import render_tables

    rows = [
        (rule.code, rule.name, "on" if rule.default else "opt-in", rule.summary) for rule in ordered
    ]
    header = ("code", "name", "default", "reports")
    write_report(render_tables([("rules", header, rows)], terminal_width()))


@cli.command()
@_format_option
@_project_options
def inventory(style: str, **options: Any) -> None:
    """Lists the spans, groups, metrics and carriers that the project has."""
    session = _open(options)
    for problem in session.texts.problems:
        note(f"note: {problem.place}: {problem.message}")
    found = _analyse(session, _store(session)).inventory
    if style == "json":
        from rltel_lint.report import json

        write_report(json.dump({"inventory": found.to_json()}))
        return
    from rltel_lint.report.tables import render_tables

    write_report(render_tables(found.tables(), terminal_width()))


@cli.command()
@click.option(
    "--format",
    "style",
    type=click.Choice(["mermaid", "svg", "json"]),
    default="mermaid",
    show_default=True,
)
@click.option("--output-file", type=Path, metavar="FILE", help="Where the drawing is written.")
@_project_options
def graph(style: str, output_file: Path | None, **options: Any) -> None:
    """Draws which span opens inside which, and what is adrift.

    Spans are coloured by their goodput bucket. Red are spans that no document lists, documented
    spans that no code opens, and spans that start a trace of their own in another process.
    """
    session = _open(options)
    for problem in session.texts.problems:
        note(f"note: {problem.place}: {problem.message}")
    from rltel_lint.graph.build import build_graph
    from rltel_lint.graph.mermaid import too_large
    from rltel_lint.graph.render import render_graph

    found = build_graph(_analyse(session))
    drawn = render_graph(found, style)
    if style == "mermaid" and too_large(found, drawn):
        note("note: this is more than Mermaid draws by default; take --format svg")
    _write(drawn, output_file)


@cli.command()
@click.option("--check", is_flag=True, help="Say which tables are stale; exit code 1 if any is.")
@click.option("--write", is_flag=True, help="Fill the tables, keeping what was written by hand.")
@_project_options
def docs(check: bool, write: bool, **options: Any) -> int:
    """Fills the tables between markers in the documents from what the code emits.

    A generated table stands between <!-- rltel: begin spans --> and <!-- rltel: end -->;
    groups and presets can be generated as well.
    """
    if check == write:
        raise UserError("docs needs one of --check and --write")
    from rltel_lint.generate.command import check_pages, write_pages

    session = _open(options)
    for problem in session.texts.problems:
        note(f"note: {problem.place}: {problem.message}")
    said = (write_pages if write else check_pages)(session, _analyse(session))
    write_report("".join(f"{line}\n" for line in said.report))
    return 0 if said.clean else _FINDINGS


@cli.command()
@_project_options
def init(**options: Any) -> None:
    """Writes a first set of documents, and a configuration if the project needs one.

    Nothing that exists is overwritten.
    """
    from rltel_lint.generate.command import begin

    gc.enable()  # each vocabulary that is tried leaves a project behind
    session = _open(options)
    said = begin(session, _store(session))
    write_report("".join(f"{line}\n" for line in said.report))


def _write(text: str, file: Path | None) -> None:
    if file is None:
        write_report(text)
    else:
        write_whole(file, text.encode(errors="backslashreplace"))


def _open(options: dict[str, Any]) -> Session:
    from rltel_lint.session import Options, open_session

    session = open_session(Options(**options))
    for line in session.notes:
        note(f"note: {line}")
    return session


def _outcome(session: Session) -> tuple[Iterable[Finding], Mapping[str, int]]:
    """The findings and counts of a check, from an earlier run if nothing has changed."""
    from rltel_lint.outcome import outcome

    return outcome(session, _store(session), _analyse)


def _fix(session: Session, only: PathFilter, *, unsafe: bool, write: bool) -> Fixed:
    from rltel_lint.fixes.session import fix_session
    from rltel_lint.outcome import reported

    gc.enable()  # each pass leaves a project behind
    fixed = fix_session(
        session,
        lambda changed: reported(changed, _outcome(changed)[0]),
        lambda finding: bool(only.keep([finding])),
        unsafe=unsafe,
        write=write,
    )
    for line in fixed.notes:
        note(line)
    return fixed


def _store(session: Session) -> FactStore:
    from rltel_lint.facts.store import FactStore

    def say(line: str) -> None:
        if line not in session.notes:  # said already when the files were read
            note(f"note: {line}")

    return FactStore(session.cache, say)


def _analyse(session: Session, store: FactStore | None = None) -> Result:
    from rltel_lint.outcome import analyse_session
    from rltel_lint.progress import progress

    number = len(session.texts.sources) + len(session.texts.documents)
    with progress(f"rltel-lint: reading {number} files ..."):
        return analyse_session(session, store or _store(session))
