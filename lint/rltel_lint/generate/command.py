"""``docs`` and ``init`` as the command line runs them: what they write and what they say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rltel_lint.engine import Input, Result, link
from rltel_lint.errors import UserError
from rltel_lint.facts.store import FactStore
from rltel_lint.fixes.files import replace_bytes, write_texts
from rltel_lint.generate.pages import Pages, generate
from rltel_lint.generate.sections import Section, find_sections
from rltel_lint.generate.starter import PAGE, start
from rltel_lint.globs import Globs
from rltel_lint.session import Session

_HINT = 'run "rltel-lint docs --write"'


@dataclass(frozen=True)
class Said:
    """What a command reports.

    Attributes:
        report: Its lines.
        clean: Whether nothing is wrong.
    """

    report: tuple[str, ...]
    clean: bool = True


def check_pages(session: Session, result: Result) -> Said:
    """Says which generated tables are stale."""
    pages = _pages(session, result)
    lines = list(_problems(pages))
    for stale in pages.stale:
        differences = "; ".join(stale.differences)
        lines.append(
            f"{stale.path}:{stale.line}: the table of {stale.word} is stale: {differences}"
        )
    if lines:
        if pages.stale:
            lines.append(f"{_tables(len(pages.stale))} of {pages.tables} stale; {_HINT}")
        return Said(tuple(lines), clean=False)
    return Said((_current(pages),))


def write_pages(session: Session, result: Result) -> Said:
    """Fills the generated tables, and says which were stale."""
    pages = _pages(session, result)
    lines = list(_problems(pages))
    written = write_texts(session.root, session.texts.documents, pages.texts)
    for stale in pages.stale:
        if stale.path in written.paths:
            differences = "; ".join(stale.differences)
            lines.append(
                f"{stale.path}:{stale.line}: wrote the table of {stale.word}: {differences}"
            )
    lines += written.notes
    if not lines:
        return Said((_current(pages),))
    return Said(tuple(lines), clean=not pages.problems and not written.notes)


def _pages(session: Session, result: Result) -> Pages:
    return generate(session.texts.documents, result.project, result.inventory)


def _problems(pages: Pages) -> Iterator[str]:
    for problem in pages.problems:
        yield f"{problem.path}:{problem.line}: {problem.message}"


def _current(pages: Pages) -> str:
    if not pages.tables:
        return (
            "no generated table in the documents; put <!-- rltel: begin spans --> and "
            '<!-- rltel: end --> around one, or run "rltel-lint init"'
        )
    return f"{_tables(pages.tables)} up to date"


def _tables(number: int) -> str:
    return "1 table" if number == 1 else f"{number} tables"


def begin(session: Session, store: FactStore) -> Said:
    """Writes the first documents, and the configuration where the defaults do not fit.

    Raises:
        UserError: A file or a folder cannot be written.
    """
    texts = session.texts
    source = Input(session.root, texts.sources, texts.documents, texts.problems)
    found = start(session.config, lambda config: link(source, config, store, session.workers))
    store.save()
    lines = [_write_settings(session, found.settings)]
    lines.append(_write_page(session, found.page))
    return Said(tuple(line for line in lines if line))


def _write_settings(session: Session, settings: str) -> str:
    if session.config.file is not None:
        return f"{session.config.file.name} has its [tool.rltel-lint] table; left as it is"
    if not settings:
        return "the defaults fit this project; no configuration is needed"
    path = session.root / "pyproject.toml"
    try:
        if not path.exists():
            _create(path, settings)
            return "wrote pyproject.toml with [tool.rltel-lint]"
        old = path.read_bytes()
        end = b"\r\n" if b"\r\n" in old else b"\n"
        gap = b"" if not old or old.endswith(b"\n") else end
        added = gap + end + settings.encode().replace(b"\n", end)
        replace_bytes(path.resolve(), old + added)
    except OSError as error:
        raise UserError(f"pyproject.toml cannot be written: {error.strerror}") from error
    return "added [tool.rltel-lint] to pyproject.toml"


def _write_page(session: Session, page: str) -> str:
    if not page:
        return "no span was found, so there is nothing to document yet"
    for path, text in sorted(session.texts.documents.items()):
        for section in find_sections(path, text):
            if isinstance(section, Section):
                return f"{path} has generated tables already; left as they are"
    if (session.root / PAGE).exists():
        return f"{PAGE} is there already; left as it is"
    try:
        _create(session.root / PAGE, page)
    except OSError as error:
        raise UserError(f"{PAGE} cannot be written: {error.strerror}") from error
    docs = session.config.docs
    if docs and not Globs(docs).match(PAGE):
        return f'wrote {PAGE}; add it to "docs" in [tool.rltel-lint], or it is not read'
    return f"wrote {PAGE}"


def _create(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("x", encoding="utf-8", newline="\n") as stream:
        stream.write(text)
