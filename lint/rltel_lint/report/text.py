"""Findings as text: ``path:line:col: CODE message``, related places below, one summary line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import click

from rltel_lint.findings import Finding

# Everything that a terminal would obey or that would break the line; names come from sources.
_CONTROLS = {
    code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if code != 0x09
} | {0x09: " ", 0x0A: "\\n", 0x0D: "\\r", 0x2028: "\\u2028", 0x2029: "\\u2029"}


def render_findings(
    findings: Sequence[Finding],
    counts: Mapping[str, int],
    seconds: float,
    *,
    held: int | None = None,
    blind: str = "",
    colour: bool = False,
    statistics: bool = False,
) -> str:
    """Returns the report of a check.

    Args:
        findings: What was found, in the order to report.
        counts: How much was looked at: a noun in the singular and a number, files first.
        seconds: How long it took.
        held: How many findings the baseline held back; ``None`` without a baseline.
        blind: What to say when nothing was recognised; empty otherwise.
        colour: Whether to use terminal colours.
        statistics: Whether to add the number of findings of each code.
    """
    lines = [line for finding in findings for line in _finding(finding, colour)]
    if lines:
        lines.append("")
    if statistics and findings:
        lines += [*_statistics(findings), ""]
    if blind:
        lines.append(blind)
    lines.append(summary(findings, counts, seconds, held))
    return "".join(line + "\n" for line in lines)


def counted(number: int, noun: str) -> str:
    """Returns a number and its noun: ``1 span``, ``2 dispatches``, ``no metric keys``."""
    if number == 1:
        return f"1 {noun}"
    if noun.endswith(("s", "sh", "ch", "x")):
        plural = noun + "es"
    elif noun.endswith("y") and noun[-2:-1] not in "aeiou":
        plural = noun[:-1] + "ies"
    else:
        plural = noun + "s"
    return f"{number or 'no'} {plural}"


def one_line(text: str) -> str:
    """Returns the text with control characters made visible, so that it stays one line."""
    return text.translate(_CONTROLS)


def _finding(finding: Finding, colour: bool) -> Iterator[str]:
    place = finding.place
    path, message = one_line(place.path), one_line(finding.message)
    where, code = f"{path}:{place.line}:{place.column}:", finding.code
    if colour:
        where, code = click.style(where, bold=True), click.style(code, fg="red", bold=True)
    yield f"{where} {code} {message}"
    for related in finding.related:
        line = one_line(f"{related.message}: {related.place}")
        yield "    " + (click.style(line, fg="cyan") if colour else line)


def _statistics(findings: Iterable[Finding]) -> list[str]:
    counts = Counter((finding.code, finding.name) for finding in findings)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    width = len(str(ordered[0][1]))
    return [f"{number:>{width}}  {code}  {name}" for (code, name), number in ordered]


def summary(
    findings: Sequence[Finding], counts: Mapping[str, int], seconds: float, held: int | None
) -> str:
    """Returns one line: how much was found, in how much, and how long it took.

    Args:
        findings: What is reported.
        counts: How much was looked at.
        seconds: How long it took.
        held: How many findings the baseline held back; ``None`` without a baseline.
    """
    inspected = _inspected(counts)
    parts = [counted(len(findings), "finding") + _fixable(findings)]
    if inspected:
        parts[0] += f" in {inspected}"
    if held is not None:
        parts.append(f"{held or 'none'} held back by the baseline")
    return "; ".join([*parts, f"{seconds:.1f} s"])


def _inspected(counts: Mapping[str, int]) -> str:
    """What was looked at, and in one go what was not there to be looked at."""
    seen = [counted(many, noun) for noun, many in counts.items() if many]
    missing = [counted(0, noun).removeprefix("no ") for noun, many in counts.items() if not many]
    if missing:
        start, last = missing[:-1], missing[-1]
        seen.append(f"no {', '.join(start)} or {last}" if start else f"no {last}")
    return ", ".join(seen)


def _fixable(findings: Iterable[Finding]) -> str:
    """How many of the findings the machine can mend."""
    offered = [finding.fix.safe for finding in findings if finding.fix is not None]
    safe, unsafe = offered.count(True), offered.count(False)
    if safe and unsafe:
        return f" ({safe} fixable with --fix, {unsafe} more with --unsafe-fixes)"
    if safe:
        return f" ({safe} fixable with --fix)"
    return f" ({unsafe} fixable with --fix --unsafe-fixes)" if unsafe else ""
