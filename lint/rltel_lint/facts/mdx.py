"""What MDX adds to Markdown, as far as it hides Markdown: tags, comments, imports.

MDX has no indented code and no HTML blocks: what stands between two tags is Markdown. The
rules here take the lines that are none (https://mdxjs.com/docs/what-is-mdx/).
"""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock

_TAG_LINE = re.compile(r"(?:</?[A-Za-z][^<>]*>|<>|</>)(?:\s*(?:</?[A-Za-z][^<>]*>|<>|</>))*\s*$")
_TAG_START = re.compile(r"<[A-Z][\w.]*(?:\s[^<>]*)?$|<[a-z]+\s*$")
_MODULE_LINE = re.compile(r"(?:import|export)\s")
_COMMENTS = (("{/*", "*/}"), ("<!--", "-->"))


def add_mdx(parser: MarkdownIt) -> None:
    """Teaches a Markdown parser to tolerate MDX."""
    parser.disable(["code", "html_block"], ignoreInvalid=True)
    alternatives = RuleOptionsType(alt=["paragraph", "reference", "blockquote", "list"])
    parser.block.ruler.before("table", "mdx_comment", _comment, alternatives)
    parser.block.ruler.before("table", "mdx_tag", _tag, alternatives)
    parser.block.ruler.before("table", "mdx_module", _module)


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def _finish(state: StateBlock, start: int, end: int, content: str = "") -> None:
    state.line = end
    if content:
        token = state.push("html_block", "", 0)
        token.map = [start, end]
        token.content = content


def _comment(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A comment that begins a line: ``{/* ... */}``, or the HTML one that is tolerated."""
    first = _line(state, start)
    closer = next((stop for opener, stop in _COMMENTS if first.startswith(opener)), None)
    if closer is None or state.env.get(closer) == "missing":
        return False
    if state.src.find(closer, state.bMarks[start]) < 0:
        state.env[closer] = "missing"  # so it is for every later line: do not look again
        return False
    if silent:
        return True
    lines = []
    for line in range(start, end):
        lines.append(_line(state, line))
        if closer in lines[-1]:
            _finish(state, start, line + 1, "\n".join(lines))
            return True
    return False


def _tag(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A line, or a few, that hold only tags."""
    first = _line(state, start)
    if not first.startswith("<"):
        return False
    if _TAG_LINE.match(first):
        if not silent:
            _finish(state, start, start + 1)
        return True
    if not _TAG_START.match(first):
        return False
    for line in range(start + 1, min(end, start + 40)):
        text = _line(state, line).rstrip()
        if not text:
            return False
        if text.endswith(">"):
            if not silent:
                _finish(state, start, line + 1)
            return True
    return False


def _module(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """An import or export: from the margin to the next empty line."""
    if state.sCount[start] or state.level or not _MODULE_LINE.match(_line(state, start)):
        return False
    if silent:
        return True
    line = start + 1
    while line < end and _line(state, line).strip():
        line += 1
    _finish(state, start, line)
    return True
