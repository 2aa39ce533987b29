"""A tree of texts as the mutators see it: parsed modules and the tables of documents.

Targets are found by Python's own ``ast`` and a reader of pipe tables, not by the checker's
analysis: a mutator that shared it would be blind where the checker is blind.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from rltel_lint.config import Config
from rltel_lint.vocabulary import load_vocabulary

Change = tuple[int, int, str]
"""Bytes from, bytes to, and the text that replaces them."""


class Source:
    """A Python file: its tree, and edits by node."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.data = text.encode()
        self.tree = ast.parse(text)
        self._starts = [0]
        for line in self.data.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in self.nodes for child in ast.iter_child_nodes(node)}

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yields the nodes around one, the innermost first."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def statement(self, node: ast.AST) -> ast.stmt:
        """Returns the statement a node is in (the function, for a decorator)."""
        return next(n for n in (node, *self.above(node)) if isinstance(n, ast.stmt))

    def function(self, node: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """Returns the function around a node."""
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        return next((n for n in self.above(node) if isinstance(n, kinds)), None)

    @cached_property
    def imports(self) -> dict[str, str]:
        """Local name to dotted name."""
        found = {}
        for node in self.nodes:
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.update({a.asname or a.name: f"{node.module}.{a.name}" for a in node.names})
            elif isinstance(node, ast.Import):
                found.update({a.asname or a.name.split(".")[0]: a.name for a in node.names})
        return found

    def line_start(self, line: int) -> int:
        return self._starts[line - 1]

    def span(self, node: ast.AST) -> tuple[int, int]:
        start = self._starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        end = self._starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        return start, end

    def segment(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.data[start:end].decode()

    def replace(self, node: ast.AST, text: str) -> Change:
        return (*self.span(node), text)

    @cached_property
    def _top(self) -> int:
        line = 0
        for node in self.tree.body:
            is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if isinstance(node, (ast.Import, ast.ImportFrom)) or (is_text and line == 0):
                line = node.end_lineno or 0
        return self._starts[line]

    def at_top(self, text: str) -> Change:
        """Adds lines after the imports."""
        return (self._top, self._top, f"{text}\n")

    def before(self, statement: ast.stmt, text: str) -> Change:
        """Adds a line before a statement."""
        at = self._starts[statement.lineno - 1]
        return (at, at, " " * statement.col_offset + text + "\n")

    def lines(self, statement: ast.stmt) -> tuple[int, int]:
        """Returns the bytes of a statement's whole lines, decorators included."""
        first = min(
            [statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", []))]
        )
        return self._starts[first - 1], self._starts[statement.end_lineno or first]

    def wrapped(self, statement: ast.stmt, header: str) -> Change:
        """Puts a statement into a block."""
        start, end = self.lines(statement)
        indent = " " * statement.col_offset
        return (start, end, f"{indent}{header}\n{self.indented(statement)}")

    def between(self, first: int, last: int) -> str:
        """Returns whole lines, without the last one."""
        return self.data[self._starts[first - 1] : self._starts[last - 1]].decode()

    def indented(self, statement: ast.stmt) -> str:
        """Returns a statement's lines, one level further in."""
        start, end = self.lines(statement)
        return self.shifted(self.data[start:end].decode(), 4)

    @staticmethod
    def shifted(text: str, by: int) -> str:
        """Returns lines further in, or out for a negative number of columns."""
        return "".join(
            (" " * by + line if by > 0 else line[-by:]) if line.strip() else line
            for line in text.splitlines(keepends=True)
        )

    def edit(self, *changes: Change) -> str:
        """Returns the text with changes that do not overlap."""
        data = self.data
        order = sorted(enumerate(changes), key=lambda c: (c[1][0], c[1][1], c[0]), reverse=True)
        for _, (start, end, text) in order:
            data = data[:start] + text.encode() + data[end:]
        return data.decode()

    def without_argument(self, call: ast.Call, argument: ast.expr) -> Change:
        """Takes an argument (the value of a keyword, too) and its comma out of a call."""
        parts: list[ast.AST] = sorted([*call.args, *call.keywords], key=lambda n: self.span(n)[0])
        index = next(
            i for i, n in enumerate(parts) if n is argument or getattr(n, "value", None) is argument
        )
        end = self.span(parts[index])[1]
        if index:
            return (self.span(parts[index - 1])[1], end, "")
        tail = re.match(rb"\s*,?\s*", self.data[end:])
        start = self.span(parts[0])[0]
        return (start, end + (tail.end() if tail else 0), "")


def words(node: ast.AST | None) -> str:
    """Returns the dotted name of an expression, empty if it is none."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        head = words(node.value)
        return f"{head}.{node.attr}" if head else ""
    return ""


def last(node: ast.AST | None) -> str:
    """Returns the last word of what is called or named."""
    if isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def text_of(node: ast.AST | None) -> str | None:
    """Returns the value of a string literal."""
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return node.value if is_text else None  # type: ignore[union-attr,return-value]


@dataclass(frozen=True)
class Row:
    """A row of a table in a document: its line, and cells by lower-case header."""

    path: str
    line: int
    cells: tuple[tuple[str, str], ...]

    def cell(self, *headers: str) -> str:
        """Returns the first cell whose header is one of these words (an ``s`` may follow)."""
        for header, text in self.cells:
            if header in headers or header.rstrip("s") in headers:
                return text
        return ""


class Document:
    """A document: its lines, and which of them are rows of tables or in fences."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.lines = text.splitlines(keepends=True)
        self.fenced: dict[int, str] = {}
        self.headings: dict[int, str] = {}
        self.rows: list[Row] = []
        fence, header, heading = "", (), ""
        for number, line in enumerate(self.lines, 1):
            mark = re.match(r"\s*(```+|~~~+)\s*(\w*)", line)
            if mark:
                fence = "" if fence else mark[2] or "text"
                continue
            self.headings[number] = heading
            if fence:
                self.fenced[number] = fence
                continue
            if line.startswith("#") or "rltel:" in line:
                heading = line.lower()
            cells = _cells(line)
            if not cells:
                header = ()
            elif not header:
                header = tuple(cell.lower() for cell in cells)
            elif not all(set(cell) <= set(":- ") for cell in cells):
                pairs = tuple(zip(header, cells, strict=False))
                self.rows.append(Row(path, number, pairs))

    def with_line(self, number: int, text: str) -> str:
        return "".join([*self.lines[: number - 1], text, *self.lines[number:]])


def _cells(line: str) -> list[str]:
    line = line.strip()
    if not line.startswith("|"):
        return []
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))]


class Tree:
    """All texts, with what their vocabulary calls things."""

    def __init__(self, texts: Mapping[str, str], config: Config) -> None:
        self.texts = dict(texts)
        self.config = config
        self.vocabulary = load_vocabulary(config.profile, config.vocabulary)

    @cached_property
    def sources(self) -> list[Source]:
        found = []
        for path, text in sorted(self.texts.items()):
            if path.endswith(".py") and "tests/" not in f"/{path}":
                try:
                    found.append(Source(path, text))
                except SyntaxError:
                    continue
        return found

    @cached_property
    def users(self) -> list[Source]:
        """The sources but those of the library that the vocabulary describes."""
        modules = {m for helper in self.vocabulary.helpers for m in helper.modules}
        folders = {module.replace(".", "/") for module in modules}
        return [
            source
            for source in self.sources
            if not any(source.path.startswith((f"{f}/", f"{f}.py")) for f in folders)
        ]

    @cached_property
    def documents(self) -> list[Document]:
        return [
            Document(path, text)
            for path, text in sorted(self.texts.items())
            if path.endswith((".md", ".mdx"))
        ]

    @cached_property
    def rows(self) -> list[Row]:
        return [row for document in self.documents for row in document.rows]

    @cached_property
    def imported(self) -> dict[str, str]:
        """Name to the dotted name under which files of the tree import it."""
        return {
            dotted.rpartition(".")[2]: dotted
            for source in self.sources
            for dotted in source.imports.values()
            if "." in dotted
        }

    def importing(self, source: Source, name: str) -> list[Change] | None:
        """Returns what makes a name known in a file; ``None`` if nobody imports it."""
        if source.imports.get(name, "").endswith(f".{name}"):
            return []
        dotted = self.imported.get(name)
        if dotted is None:
            return None
        return [source.at_top(f"from {dotted.rpartition('.')[0]} import {name}")]
