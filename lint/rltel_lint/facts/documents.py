"""What one document says: the entries, code blocks, mentions and problems of a page.

Tables are typed by their header, by the section they stand in, or by a marker before them
(``<!-- rltel: spans -->``, in reStructuredText ``.. rltel: spans``); lists only by a marker;
text blocks that draw a tree of spans by a heading about spans, or a marker. A marker holds
for the next table, list or text block of its section. Prose documents nothing: code spans
in it become mentions.

Two things about the columns of an entry go beyond the plain code spans of a cell: a
preset's "every group" is ``*``, and a type such as "Gauge (`s`)" gives a type and a unit. A
typed column is missing from an entry where its cell is prose; it is there and empty where
the cell says that there is none.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import cast

from rltel_lint.facts.context import IGNORE, Context, speaks_of_telemetry
from rltel_lint.facts.entries import (
    DATA_SUFFIXES,
    CodeFence,
    DocumentEntry,
    DocumentFacts,
    EntryKind,
    Mention,
)
from rltel_lint.facts.headers import read_header
from rltel_lint.facts.names import Name, subject_names
from rltel_lint.facts.pages import (
    Block,
    Broken,
    Comment,
    Fence,
    Heading,
    Inline,
    Item,
    Paragraph,
    Spot,
    Table,
)
from rltel_lint.facts.tables import read_table
from rltel_lint.facts.trees import is_text, tree_names
from rltel_lint.facts.wording import Negations, status_of
from rltel_lint.findings import Place

# A page without any of these holds no table, no block of code and no code span.
_MARKDOWN_SIGNS = re.compile(r"[`|]|~~~|rltel:|^(?: {4}|\t)", re.MULTILINE)
_REST_SIGNS = re.compile(r"[`|]|::|rltel:|>>>|\+-|=[ ]+=")


def extract_document(path: str, text: str, *, namespace: str = "rl.") -> DocumentFacts:
    """Reads a document.

    Args:
        path: Its path relative to the project root, with ``/``. The suffix decides how it is
            read: ``.rst`` as reStructuredText, ``.mdx`` as MDX, ``.json``, ``.yaml``, ``.yml``
            and ``.toml`` as data, all else as Markdown.
        text: Its content.
        namespace: The prefix of the project's own names.

    Returns:
        What it says. A page that cannot be read gives a problem rather than an error.
    """
    suffix = PurePosixPath(path).suffix.lower()
    if suffix in DATA_SUFFIXES:
        from rltel_lint.facts.data_files import extract_data

        return extract_data(path, text)
    signs = _REST_SIGNS if suffix == ".rst" else _MARKDOWN_SIGNS
    if not signs.search(text):
        return DocumentFacts(path)
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    text = text.replace("\0", "\ufffd")
    try:
        blocks = _blocks(suffix, text)
    except Exception as error:  # the markup libraries raise what they like on hostile input
        reason = f"the page cannot be read ({type(error).__name__}); exclude it or mend its markup"
        return DocumentFacts(path, problems=((1, reason),))
    context = Context(path, namespace, speaks_of_telemetry(text, namespace))
    return _Page(context).read(blocks)


def _blocks(suffix: str, text: str) -> list[Block]:
    # The libraries are imported for the markup at hand only: start-up counts in a hook.
    if suffix == ".rst":
        from rltel_lint.facts.rest import read_rest

        return read_rest(text)
    from rltel_lint.facts.markdown import read_markdown

    return read_markdown(text, mdx=suffix == ".mdx")


class _Page:
    """Reads the blocks of a page in order."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.entries: list[DocumentEntry] = []
        self.fences: list[CodeFence] = []
        self.mentions: list[Mention] = []
        self.tables = 0
        self.list_group = -1
        self.list_marker = ""

    def read(self, blocks: list[Block]) -> DocumentFacts:
        for block in blocks:
            self._block(block)
        self.context.drop_marker()
        problems = tuple(sorted(dict.fromkeys(self.context.problems)))
        return DocumentFacts(
            self.context.path,
            tuple(self.entries),
            tuple(self.fences),
            tuple(self.mentions),
            problems,
        )

    def _block(self, block: Block) -> None:
        if isinstance(block, Heading):
            self.context.enter(block)
            self._mention(block.inline)
        elif isinstance(block, Comment):
            self.context.comment(block.text, block.line)
        elif isinstance(block, Table):
            self._table(block)
        elif isinstance(block, Item):
            self._item(block)
        elif isinstance(block, Fence):
            self._fence(block)
        elif isinstance(block, Broken):
            self._broken(block)
        elif isinstance(block, Paragraph):
            self._mention(block.inline)

    def _mention(self, inline: Inline, used: frozenset[int] = frozenset()) -> None:
        if len(inline.codes) == len(used):
            return
        negations = Negations(inline)
        for index, code in enumerate(inline.codes):
            if index not in used:
                place = inline.place(self.context.path, code.start, code.end)
                self.mentions.append(Mention(code.text, place, negations.at(code.start)))

    def _table(self, table: Table) -> None:
        marker = self.context.take_marker()
        number, self.tables = self.tables, self.tables + 1
        reading = read_table(table, number, marker, self.context)
        self.entries += reading.entries
        if marker == IGNORE:
            return
        for cell in table.header:
            self._mention(cell)
        told: set[int] = set()
        for row in table.rows:
            for cell in row:
                if id(cell) not in told:
                    told.add(id(cell))
                    self._mention(cell, frozenset(reading.used.get(id(cell), ())))

    def _item(self, item: Item) -> None:
        if item.group != self.list_group:
            self.list_group = item.group
            self.list_marker = self.context.take_marker()
        if self.list_marker == IGNORE:
            return
        name = self._item_name(item) if self.list_marker else None
        if name is None:
            self._mention(item.inline)
            return
        status = status_of(item.inline, name.end)
        if status == "active":
            status = status_of(item.inline, 0, name.start)
        if status == "active":
            status = self.context.status()
        kind = cast(EntryKind, self.list_marker)
        entry = self.context.entry(kind, name, item.inline, status)
        if entry:
            self.entries.append(entry)
        self._mention(item.inline, frozenset({name.code} if name.code >= 0 else ()))

    def _item_name(self, item: Item) -> Name | None:
        """Returns the one name of an item: its first code span, or its plain name."""
        inline = item.inline
        if inline.codes:
            # An item below another rather says something about it, unless it opens with a name.
            if item.depth > 1 and inline.text[: inline.codes[0].start].strip("`*_ "):
                return None
            first = inline.codes[0]
            inline = Inline(first.text, (first._replace(start=0),), ())
            names = subject_names(inline, self.list_marker, self.context.namespace, strict=False)
            if not names:
                return None
            shift = first.start
            return names[0]._replace(start=names[0].start + shift, end=names[0].end + shift)
        names = subject_names(inline, self.list_marker, self.context.namespace, strict=False)
        return names[0] if names else None

    def _fence(self, fence: Fence) -> None:
        place = Place(self.context.path, fence.line, fence.column)
        self.fences.append(CodeFence(fence.language, fence.text, place))
        if not is_text(fence):
            return
        marker = self.context.take_marker()
        if marker in ("", "span") and (marker or self.context.about_spans()):
            self._tree(fence, marker)

    def _tree(self, fence: Fence, marker: str) -> None:
        for found in tree_names(fence, self.context.namespace, marked=bool(marker)):
            spot = Spot(0, fence.line + found.line, fence.column + found.offset)
            inline = Inline(found.text, (), (spot,))
            name = Name(found.text, 0, len(found.text))
            columns = (("group", (found.group,)),) if found.group else ()
            status = status_of(Inline(found.remark))
            if status == "active":
                status = self.context.status()
            entry = self.context.entry("span", name, inline, status, columns)
            if entry:
                self.entries.append(entry)

    def _broken(self, block: Broken) -> None:
        """Reports a broken table where it would have counted."""
        context = self.context
        cells = block.text.split("\n")[0].strip("| ").split("|")
        typed = any(read_header(Inline(cell), context.namespace).subject for cell in cells)
        if context.namespace in block.text or context.marker or (typed and context.telemetry):
            context.problems.append((block.line, block.reason))
            context.take_marker()
