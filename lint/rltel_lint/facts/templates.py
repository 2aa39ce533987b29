"""Names with gaps: brace sets, placeholders and wildcards as people write them in documents.

``rl.{grpo,ppo}.job`` is two names. ``rl.<algo>.step`` and ``rl.{algo}.step`` stand for one
name per algorithm, and become ``rl.*.step``. ``rl.data_plane.*`` stands for all that begins
so, and becomes ``rl.data_plane.**``.

In the patterns this module returns and takes, ``*`` is one or more characters without a
dot (a segment or a part of one), and ``**`` is anything, nothing included.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

MAX_NAMES = 256
"""One template stands for at most so many names; the rest is cut off."""

_MAX_DEPTH = 16
_GAP = "\ue000"  # a placeholder while braces are being expanded: not yet a wildcard
_SPECIAL = re.compile(r"[{}<>]")
_ALTERNATIVE_BAR = re.compile(r"[,|]")


class TemplateError(ValueError):
    """The text is no template: its braces do not balance, or they nest too deeply."""


class Expansion(NamedTuple):
    """What a template stands for.

    Attributes:
        names: The names, in the order written, without repetition.
        total: How many there would be without the limit of ``MAX_NAMES``.
    """

    names: tuple[str, ...]
    total: int


def expand(text: str) -> Expansion:
    """Returns the names that a template stands for.

    Args:
        text: A name as written, such as ``rl.{grpo,ppo}.job``.

    Raises:
        TemplateError: If braces or angle brackets do not balance, with a sentence on how
            to mend it.
    """
    names, total, end = _sequence(text, 0, "", 0)
    if end < len(text):
        raise TemplateError(f'"{text}" has a "{text[end]}" that nothing opens; remove it')
    return Expansion(tuple(dict.fromkeys(_wildcards(name) for name in names)), total)


def _sequence(text: str, start: int, closers: str, depth: int) -> tuple[list[str], int, int]:
    """Reads up to one of ``closers``; returns the names, their full count and the end."""
    if depth > _MAX_DEPTH:
        raise TemplateError(f'"{text[:40]}" nests braces too deeply; write the names out')
    names, total, at = [""], 1, start
    while at < len(text) and text[at] not in closers:
        char = text[at]
        if char == "{":
            parts, count, at = _braces(text, at, depth)
        elif char == "<":
            parts, count, at = _angles(text, at)
        elif char in "}>":
            break
        else:
            stop = _SPECIAL.search(text, at)
            end = stop.start() if stop else len(text)
            for closer in closers:
                found = text.find(closer, at, end)
                end = found if found >= 0 else end
            parts, count, at = [text[at:end]], 1, end
        names = [a + b for a in names for b in parts][:MAX_NAMES]
        total *= count
    return names, total, at


def _braces(text: str, start: int, depth: int) -> tuple[list[str], int, int]:
    """Reads ``{...}``: a set when it has a comma or a bar, otherwise a placeholder."""
    alternatives: list[str] = []
    total, at, members = 0, start, 0
    while True:
        names, count, at = _sequence(text, at + 1, ",|}", depth + 1)
        if at >= len(text) or text[at] not in ",|}":
            raise TemplateError(f'"{text}" opens a "{{" that nothing closes; add the "}}"')
        alternatives += [name.strip() for name in names[: MAX_NAMES - len(alternatives)]]
        total += count
        members += 1
        if text[at] == "}":
            break
    if members == 1 and total == 1:
        return [_GAP], 1, at + 1
    return alternatives, total, at + 1


def _angles(text: str, start: int) -> tuple[list[str], int, int]:
    """Reads ``<...>``: a set when it has a bar, otherwise a placeholder."""
    end = text.find(">", start)
    inner = text[start + 1 : end]
    if end < 0 or set("<{}") & set(inner):
        raise TemplateError(f'"{text}" opens a "<" that nothing closes; add the ">"')
    if "|" not in inner:
        return [_GAP], 1, end + 1
    parts = [part.strip() for part in inner.split("|")]
    return parts[:MAX_NAMES], len(parts), end + 1


def _wildcards(name: str) -> str:
    """Turns gaps into ``*`` and a written star at the very end into ``**``."""
    name = re.sub(r"\*{2,}", "**", name)
    if name.endswith("*") and not name.endswith("**"):
        name += "*"
    # Two gaps side by side are one gap: written as stars they would mean anything.
    name = re.sub(rf"{_GAP}(?:\*(?!\*)|{_GAP})*", _GAP, name)
    name = re.sub(rf"(?<!\*)\*{_GAP}", _GAP, name)
    name = re.sub(rf"{_GAP}?\*\*{_GAP}?", "**", name)
    return name.replace(_GAP, "*")


class _Step(NamedTuple):
    """One step of a pattern: which characters it takes, and whether it may repeat or lack."""

    char: str  # the one character, or "" for a class
    dots: bool  # whether the class holds the dot
    loop: bool  # zero or more times; otherwise exactly once


@lru_cache(maxsize=4096)
def _steps(pattern: str) -> tuple[_Step, ...]:
    steps: list[_Step] = []
    for part in re.findall(r"\*+|[^*]", pattern):
        if part == "*":
            steps += [_Step("", False, False), _Step("", False, True)]
        elif part[0] == "*":
            steps.append(_Step("", True, True))
        else:
            steps.append(_Step(part, part == ".", False))
    return tuple(steps)


@lru_cache(maxsize=4096)
def _regex(pattern: str) -> re.Pattern[str]:
    parts = re.findall(r"\*+|[^*]+", pattern)
    source = "".join(
        "[^.]+" if part == "*" else ".*" if part[0] == "*" else re.escape(part) for part in parts
    )
    return re.compile(source, re.DOTALL)


def matches(template: str, name: str) -> bool:
    """Whether a pattern with ``*`` and ``**`` covers a plain name."""
    if "*" not in template:
        return template == name
    if template.count("*") > 8:  # a regular expression with many gaps can take very long
        return overlap(template, name)
    return _regex(template).fullmatch(name) is not None


def overlap(template_a: str, template_b: str) -> bool:
    """Whether some name is covered by both patterns; either may hold ``*`` and ``**``."""
    if "*" not in template_a and "*" not in template_b:
        return template_a == template_b
    for a, b in ((template_a, template_b), (template_a[::-1], template_b[::-1])):
        for x, y in zip(a, b):  # noqa: B905 - the shorter one decides
            if "*" in (x, y):
                break
            if x != y:
                return False
    return _meet(_steps(template_a), _steps(template_b))


def _meet(a: tuple[_Step, ...], b: tuple[_Step, ...]) -> bool:
    """Walks both patterns at once; true when both can be at their end together."""
    seen = {(0, 0)}
    todo = [(0, 0)]
    while todo:
        i, j = todo.pop()
        if i == len(a) and j == len(b):
            return True
        reached: list[tuple[int, int]] = []
        if i < len(a) and a[i].loop:
            reached.append((i + 1, j))
        if j < len(b) and b[j].loop:
            reached.append((i, j + 1))
        if i < len(a) and j < len(b) and _share(a[i], b[j]):
            reached.append((i if a[i].loop else i + 1, j if b[j].loop else j + 1))
        for state in reached:
            if state not in seen:
                seen.add(state)
                todo.append(state)
    return False


def _share(a: _Step, b: _Step) -> bool:
    """Whether one character fits both steps."""
    if a.char and b.char:
        return a.char == b.char
    if a.char or b.char:
        return a.dots <= b.dots if a.char else b.dots <= a.dots
    return True
