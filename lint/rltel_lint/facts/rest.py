"""reStructuredText pages as blocks: docutils reads the structure, this module the text in it.

No other file is ever opened, nothing is run, and the directives and roles of Sphinx, which
docutils does not know, are tolerated: what stands in them is read, or passed over where it
is not prose.
"""

from __future__ import annotations

import copy
import itertools
import re
from functools import lru_cache
from typing import Any

from docutils import frontend, nodes, utils
from docutils.parsers.rst import Parser, states

from rltel_lint.facts.pages import (
    Block,
    Broken,
    Code,
    Comment,
    Fence,
    Heading,
    Inline,
    Item,
    Paragraph,
    Spot,
    Table,
)
from rltel_lint.facts.rest_source import plain_lines, prepare

# A literal, or interpreted text with or without a role; a hyperlink (`x`_) is none.
_CODE = re.compile(
    r"(?<![\w`\\])(?::[\w:.+-]{1,40}:)?(?P<mark>``|`)(?P<text>(?![\s`]).{0,400}?(?<![\s\\]))"
    r"(?P=mark)(?![`\w])",
    re.DOTALL,
)
_TARGET = re.compile(r"\s*<[^<>]+>$")  # :ref:`title <target>`
_TABLE_TROUBLE = re.compile(
    r"(Malformed table\.|Error parsing content block for|Error with CSV data)"
)
_TAB = 8
_NEAR = (0, 1, -1, 2, -2, 3, -3)
_FAR = 400  # lines to look ahead and back when docutils' line is off


def read_rest(text: str) -> list[Block]:
    """Returns the blocks of a page.

    Args:
        text: The page, its lines ended by line feeds.
    """
    lines = plain_lines(text)
    document = utils.new_document("page", copy.copy(_settings()))
    Parser(inliner=_inliner()).parse("\n".join(prepare(lines)), document)
    return _Reader(lines).read(document)


@lru_cache(maxsize=1)
def _settings() -> Any:
    settings = frontend.get_default_settings(Parser)
    settings.report_level = settings.halt_level = 5  # say nothing, stop for nothing
    settings.file_insertion_enabled = False
    settings.raw_enabled = False
    settings.line_length_limit = 1 << 40
    settings.syntax_highlight = "none"
    return settings


class _Run(nodes.Text):
    """Running text as it was written, and the line at which docutils believes it begins."""

    line_hint: int = 0


def _verbatim(
    text: str, lineno: int, memo: Any, parent: Any
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """Leaves running text as it is: docutils gives inline nodes no column."""
    run = _Run(text)
    run.line_hint = lineno
    return [run], []


def _inliner() -> states.Inliner:
    # A subclass would not do: docutils builds its patterns from vars() of the object's class.
    inliner = states.Inliner()
    inliner.parse = _verbatim  # type: ignore[method-assign]
    return inliner


class _Reader:
    """Walks docutils' tree once and makes blocks of it."""

    def __init__(self, lines: list[str]) -> None:
        self.raw = lines
        self.lines = [line.expandtabs(_TAB) for line in lines]  # as docutils sees them
        self.cursors: dict[int, int] = {}  # by line: where the text found last ended
        self.line = 0
        self.blocks: list[Block] = []
        self.list_count = 0

    def read(self, document: nodes.document) -> list[Block]:
        self._children(document, 0)
        return self.blocks

    def _children(self, node: nodes.Element, level: int) -> None:
        for child in node.children:
            self._visit(child, level)

    def _visit(self, node: nodes.Node, level: int) -> None:
        if isinstance(node, nodes.section):
            self._children(node, level + 1)
        elif isinstance(node, nodes.title):
            # Directives have titles too (a table's caption): they are no sections.
            if isinstance(node.parent, nodes.section):
                inline = self._inline(node)
                self.blocks.append(Heading(max(level, 1), inline, self.line + 1))
            else:
                self._paragraph(node)
        elif isinstance(node, nodes.table):
            self._table(node)
        elif isinstance(node, (nodes.bullet_list, nodes.enumerated_list, nodes.definition_list)):
            self.list_count += 1
            self._list(node, level, 1)
        elif isinstance(node, (nodes.literal_block, nodes.doctest_block)):
            self._fence(node)
        elif isinstance(node, nodes.comment):
            line = self._find(node.astext().split("\n")[0], self.line)[0]
            self.blocks.append(Comment(node.astext().strip(), line + 1))
        elif isinstance(node, nodes.system_message):
            self._trouble(node)
        elif isinstance(node, nodes.Element):
            if any(isinstance(child, _Run) for child in node.children):
                self._paragraph(node)
            else:
                self._children(node, level)

    def _paragraph(self, node: nodes.Element) -> None:
        inline = self._inline(node)
        self.blocks.append(Paragraph(inline, self.line + 1))

    def _list(self, node: nodes.Element, level: int, depth: int) -> None:
        """Emits the first paragraph of each item as an item, all else as it comes."""
        group = self.list_count
        for entry in node.children:
            if not isinstance(entry, nodes.Element):
                continue
            head = True
            for child in entry.children:
                if head and isinstance(child, (nodes.paragraph, nodes.term)):
                    inline = self._inline(child)
                    self.blocks.append(Item(inline, self.line + 1, group, depth))
                elif isinstance(child, (nodes.bullet_list, nodes.enumerated_list)):
                    self._list(child, level, depth + 1)
                else:
                    self._visit(child, level)
                head = False

    def _table(self, node: nodes.table) -> None:
        for title in node.findall(nodes.title):
            self._paragraph(title)
        group = next(iter(node.findall(nodes.tgroup)), None)
        if group is None:
            return
        header: list[tuple[Inline, ...]] = []
        rows: list[tuple[Inline, ...]] = []
        line = 0
        for part in group.children:
            if isinstance(part, (nodes.thead, nodes.tbody)):
                read = self._rows(part)
                line = line or self.line + 1
                (header if isinstance(part, nodes.thead) else rows).extend(read)
        self.blocks.append(Table(header[-1] if header else (), tuple(rows), line))

    def _rows(self, part: nodes.Element) -> list[tuple[Inline, ...]]:
        rows: list[tuple[Inline, ...]] = []
        held: dict[int, tuple[int, Inline]] = {}  # column: rows still covered, and by what
        for row in part.findall(nodes.row):
            cells: list[Inline] = []

            def covered(cells: list[Inline] = cells) -> None:
                while len(cells) in held:
                    left, inline = held.pop(len(cells))
                    if left > 1:
                        held[len(cells)] = (left - 1, inline)
                    cells.append(inline)

            for entry in row.findall(nodes.entry):
                covered()
                inline = self._inline(entry)
                if entry.get("morerows"):
                    held[len(cells)] = (int(entry["morerows"]), inline)
                cells.append(inline)
                cells.extend(Inline() for _ in range(int(entry.get("morecols", 0))))
            covered()
            rows.append(tuple(cells))
        return rows

    def _inline(self, node: nodes.Element) -> Inline:
        """Joins all running text below a node."""
        texts: list[str] = []
        spots: list[Spot] = []
        codes: list[Code] = []
        offset = 0
        for run in node.findall(_Run):
            start = offset
            for number, part in enumerate(str(run).split("\n")):
                line, column = self._find(part, run.line_hint - 1 + number)
                # Behind a tab every character may stand elsewhere than docutils believes.
                tabbed = len(part) if "\t" in self.raw[line] else 1
                for at in range(max(tabbed, 1)):
                    raw = self._raw_column(line, column + at)
                    spots.append(Spot(offset + at, line + 1, raw + 1))
                offset += len(part) + 1
            texts.append(str(run))
            codes += _codes(str(run), start)
        return Inline("\n".join(texts), tuple(codes), tuple(spots))

    def _find(self, part: str, hint: int) -> tuple[int, int]:
        """Finds a line of text in the source, at its hint or near; both count from 0."""
        lead = len(part) - len(part.lstrip())
        part = part.strip()
        near = (hint + delta for delta in _NEAR)
        ahead = range(self.line, self.line + _FAR)
        behind = range(self.line - _FAR, self.line)
        for line in itertools.chain(near, ahead, behind):
            if 0 <= line < len(self.lines):
                column = self.lines[line].find(part, self.cursors.get(line, 0))
                if column >= 0:
                    self.cursors[line] = column + len(part)
                    self.line = line
                    return line, column - lead
        return min(max(hint, 0), len(self.lines) - 1), 0

    def _raw_column(self, line: int, column: int) -> int:
        raw = self.raw[line]
        if "\t" not in raw:
            return column
        reach = range(len(raw) + 1)
        return next((at for at in reach if len(raw[:at].expandtabs(_TAB)) >= column), column)

    def _fence(self, node: nodes.Element) -> None:
        classes: list[str] = node.get("classes", [])
        language = str(classes[1]).lower() if classes[:1] == ["code"] and classes[1:] else ""
        if isinstance(node, nodes.doctest_block):
            language = "pycon"
        text = node.astext()
        parts = text.split("\n")
        head = next((number for number, part in enumerate(parts) if part.strip()), 0)
        hint = (node.line or self.line + 1) - 1
        line, column = self._find(parts[head], max(hint, self.line))
        self.line = min(line + len(parts), len(self.lines) - 1)
        column = self._raw_column(line, max(column, 0))
        self.blocks.append(Fence(language, text + "\n", line - head + 1, column + 1))

    def _trouble(self, node: nodes.system_message) -> None:
        """Keeps what docutils says of tables; its other remarks are not for here."""
        paragraph = node.children[0].astext() if node.children else ""
        if not _TABLE_TROUBLE.match(paragraph):
            return
        said = " ".join(paragraph.removeprefix("Malformed table.").split()) or "its lines differ"
        text = node.children[1].astext() if len(node.children) > 1 else ""
        reason = f"this table cannot be read: {said.rstrip('.')}; line up its borders and rows"
        self.blocks.append(Broken(text, int(node.get("line", self.line + 1)), reason))


def _codes(text: str, offset: int) -> list[Code]:
    codes = []
    for match in _CODE.finditer(text):
        content, start = match["text"], match.start("text")
        if match["mark"] == "`":
            if text[match.end() : match.end() + 1] == "_":
                continue
            content = _TARGET.sub("", content)
            if content[:1] in "~!":  # Sphinx: shorten, or do not link
                content, start = content[1:], start + 1
        if content:
            codes.append(Code(content.replace("\n", " "), start + offset))
    return codes
