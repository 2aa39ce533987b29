"""Markdown and MDX pages as blocks, read by markdown-it-py (CommonMark with GFM tables)."""

from __future__ import annotations

import re
from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from rltel_lint.facts.mdx import add_mdx
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

_FRONT_OPENER = re.compile(r"---[ \t]*\n")
_FRONT_CLOSER = re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.MULTILINE)
_COMMENT_OPENER = re.compile(r"<!--|\{/\*")
_SEPARATOR = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")
_BAR = re.compile(r"(?<!\\)\|")
_DIRECTIVE = re.compile(r"\{([\w:-]+)\}\s*([\w+#.-]*)")  # MyST: ```{code-block} python
_CODE_DIRECTIVES = frozenset({"code", "code-block", "code-cell", "sourcecode"})
# Directives of MyST whose content is Markdown again.
_PROSE_DIRECTIVES = frozenset(
    {
        "admonition",
        "attention",
        "caution",
        "danger",
        "dropdown",
        "error",
        "hint",
        "important",
        "note",
        "seealso",
        "tab-item",
        "tab-set",
        "tip",
        "warning",
        "versionadded",
        "versionchanged",
        "deprecated",
    }
)
_INLINE_RULES = ("text", "escape", "backticks", "autolink", "html_inline")


def read_markdown(text: str, *, mdx: bool = False) -> list[Block]:
    """Returns the blocks of a page.

    Args:
        text: The page, its lines ended by line feeds.
        mdx: Whether JSX tags, imports and ``{/* */}`` comments are to be expected.
    """
    opener = _FRONT_OPENER.match(text)
    closer = _FRONT_CLOSER.search(text, opener.end()) if opener else None
    if closer:
        text = "\n" * text.count("\n", 0, closer.end()) + text[closer.end() :]
    return _Reader(text, mdx).read()


@lru_cache(maxsize=2)
def _parser(mdx: bool) -> MarkdownIt:
    """Returns a parser that stops at blocks; inline text is read on demand, see ``_codes``."""
    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["block"])
    parser.inline.ruler.enableOnly(list(_INLINE_RULES))
    parser.inline.ruler2.enableOnly([])
    backticks = next(r.fn for r in parser.inline.ruler.__rules__ if r.name == "backticks")

    def located(state: StateInline, silent: bool) -> bool:
        """Reads a code span and notes where it began."""
        start, count = state.pos, len(state.tokens)
        found = bool(backticks(state, silent))
        if found and not silent and len(state.tokens) > count:
            state.tokens[-1].meta["start"] = start
        return found

    parser.inline.ruler.at("backticks", located)
    if mdx:
        add_mdx(parser)
    return parser


class _Reader:
    """Walks the parser's tokens once and makes blocks of them."""

    def __init__(self, text: str, mdx: bool, first_line: int = 0) -> None:
        self.text = text
        self.mdx = mdx
        self.lines = text.split("\n")
        self.first_line = first_line
        self.parser = _parser(mdx)
        self.blocks: list[Block] = []
        self.lists: list[int] = []
        self.list_count = 0

    def read(self) -> list[Block]:
        tokens = self.parser.parse(self.text)
        in_item = False  # whether the next paragraph is the first of its item
        index = 0
        while index < len(tokens):
            token = tokens[index]
            if token.type in ("bullet_list_open", "ordered_list_open"):
                if not self.lists:
                    self.list_count += 1
                self.lists.append(self.list_count)
            elif token.type in ("bullet_list_close", "ordered_list_close"):
                self.lists.pop()
            elif token.type == "list_item_open":
                in_item = True
            elif token.type == "inline":
                self._running_text(token, tokens[index - 1], in_item)
                in_item = False
            elif token.type == "table_open":
                index = self._table(tokens, index)
            elif token.type in ("fence", "code_block"):
                self._fence(token)
                in_item = False
            elif token.type in ("html_block", "html_inline"):
                self._comments(token)
            index += 1
        return self.blocks

    def _line(self, token: Token) -> int:
        return (token.map[0] if token.map else 0) + 1 + self.first_line

    def _running_text(self, token: Token, opener: Token, in_item: bool) -> None:
        line = self._line(token)
        inline = self._inline(token)
        if opener.type == "heading_open":
            self.blocks.append(Heading(int(opener.tag[1:]), inline, line))
            return
        self._broken_table(token, line)
        if "<!--" in inline.text or "{/*" in inline.text:
            self._comments(token, _without_codes(inline))
        if in_item and self.lists:
            item = Item(inline, line, self.lists[-1], len(self.lists))
            self.blocks.append(item)
        else:
            self.blocks.append(Paragraph(inline, line))

    def _inline(self, token: Token) -> Inline:
        spots, offset = [], 0
        first = token.map[0] if token.map else 0
        for number, part in enumerate(token.content.split("\n")):
            source = self.lines[first + number] if first + number < len(self.lines) else ""
            at = source.find(part) if number == 0 else source.rfind(part.rstrip() or part)
            spots.append(Spot(offset, first + number + 1 + self.first_line, max(at, 0) + 1))
            offset += len(part) + 1
        return Inline(token.content, _codes(self.parser, token.content), tuple(spots))

    def _broken_table(self, token: Token, line: int) -> None:
        """Says so when a paragraph looks like a table whose separator row went missing."""
        lines = token.content.split("\n")
        barred = [part for part in lines if part.lstrip().startswith("|")]
        if len(barred) < 2 or len(barred) < len(lines):
            return
        if _SEPARATOR.match(lines[1]):
            cells = [len(_BAR.findall(part.strip().strip("|"))) + 1 for part in lines[:2]]
            reason = (
                f"this table is none: its header has {cells[0]} cells and the row of dashes"
                f" below it {cells[1]}; give both the same number"
            )
        else:
            reason = "this table is none: the row of dashes below its header is missing; add |---|"
        self.blocks.append(Broken(token.content, line, reason))

    def _table(self, tokens: list[Token], index: int) -> int:
        line = self._line(tokens[index])
        rows: list[tuple[Inline, ...]] = []
        problem: tuple[int, str] | None = None
        cells: list[Token] = []
        while tokens[index].type != "table_close":
            token = tokens[index]
            if token.type == "tr_open":
                cells = []
            elif token.type == "inline":
                cells.append(token)
            elif token.type == "tr_close" and cells:
                row, extra = self._row(cells)
                rows.append(row)
                if extra and problem is None:
                    problem = (
                        self._line(cells[0]),
                        f"this row has {len(row) + extra} cells and its header {len(row)};"
                        " write a bar inside a cell as \\|",
                    )
            index += 1
        self.blocks.append(Table(rows[0], tuple(rows[1:]), line, problem))
        return index

    def _row(self, cells: list[Token]) -> tuple[tuple[Inline, ...], int]:
        """Finds the cells of a row in its line; returns them and how many are too many."""
        number = cells[0].map[0] if cells[0].map else 0
        source = self.lines[number]
        row, cursor = [], 0
        for cell in cells:
            # In a cell every bar was written as \|: a bare one would have ended the cell.
            written = cell.content.replace("|", "\\|")
            start = source.find(written, cursor) if written else cursor
            start = cursor if start < 0 else start
            spots, offset, column = [], 0, start + 1
            for part in cell.content.split("|"):
                spots.append(Spot(offset, number + 1 + self.first_line, column))
                offset += len(part)
                column += len(part) + 1  # past the backslash: the bar belongs to the next run
            row.append(Inline(cell.content, _codes(self.parser, cell.content), tuple(spots)))
            bar = _BAR.search(source, start + len(written))
            cursor = bar.end() if bar else len(source)
        rest = source[cursor:].strip()
        return tuple(row), len(_BAR.split(rest.removesuffix("|"))) if rest else 0

    def _fence(self, token: Token) -> None:
        # A fence has its marks on the first line; an indented block does not.
        first = (token.map[0] if token.map else 0) + (token.type == "fence")
        language = token.info.strip().split(" ")[0].lower() if token.info.strip() else ""
        directive = _DIRECTIVE.match(token.info.strip())
        if directive:
            name = directive[1].lower()
            if name in _PROSE_DIRECTIVES:
                self._nested(token.content, first)
                return
            if name in _CODE_DIRECTIVES:
                language = directive[2].lower()
        column = 1
        for number, part in enumerate(token.content.split("\n")):
            if part.strip() and first + number < len(self.lines):
                column = max(self.lines[first + number].rfind(part), 0) + 1
                break
        line = first + 1 + self.first_line
        self.blocks.append(Fence(language, token.content, line, column))

    def _nested(self, content: str, first: int) -> None:
        reader = _Reader(content, self.mdx, self.first_line + first)
        reader.list_count = self.list_count + 1
        for block in reader.read():
            self.blocks.append(block)
        self.list_count = reader.list_count + 1

    def _comments(self, token: Token, content: str | None = None) -> None:
        content = token.content if content is None else content
        line, at = self._line(token), 0
        while opener := _COMMENT_OPENER.search(content, at):
            closer = "-->" if opener.group() == "<!--" else "*/}"
            end = content.find(closer, opener.end())
            if end < 0:
                return
            text = content[opener.end() : end].strip()
            self.blocks.append(Comment(text, line + content.count("\n", 0, opener.start())))
            at = end + len(closer)


def _without_codes(inline: Inline) -> str:
    """The text with its code spans blanked: a comment quoted in one is none."""
    text = inline.text
    for code in inline.codes:
        blank = re.sub(r"[^\n]", " ", code.text)
        text = text[: code.start] + blank + text[code.end :]
    return text


def _codes(parser: MarkdownIt, content: str) -> tuple[Code, ...]:
    if "`" not in content:
        return ()
    tokens: list[Token] = []
    parser.inline.parse(content, parser, {}, tokens)
    codes = []
    for token in tokens:
        if token.type == "code_inline":
            start = token.meta["start"] + len(token.markup)
            # CommonMark takes one space off either side of a code span.
            if content[start : start + len(token.content)].replace("\n", " ") != token.content:
                start += 1
            codes.append(Code(token.content, start))
    return tuple(codes)
