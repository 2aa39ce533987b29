"""What makes two findings the same although lines have moved: for baselines and fingerprints."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rltel_lint.findings import Finding

_QUOTED = re.compile(r'("[^"]*")')
_PLACE = re.compile(r"\s*\(?[\w./-]*\w\.\w+:\d+(?::\d+)?\)?")
_LINE = re.compile(r"\blines? \d+(?:\s*(?:-|to|and)\s*\d+)?")


@dataclass(frozen=True, order=True)
class Identity:
    """A finding without its place in the file.

    Attributes:
        path: The file, relative to the project root.
        code: The rule's code.
        claim: What the message claims, without the remedy, places and line numbers.
    """

    path: str
    code: str
    claim: str


def identify(finding: Finding) -> Identity:
    """Returns what stays of a finding when the lines around it move.

    The remedy is left out because it depends on what else the project has: a name that is near
    today may be gone tomorrow.
    """
    return Identity(finding.place.path, finding.code, _claim(finding.message))


def fingerprints(findings: Sequence[Finding]) -> list[str]:
    """Returns one fingerprint for each finding: stable when lines move, and unique.

    Args:
        findings: In report order; those that say the same of one file are numbered in it.
    """
    seen: Counter[Identity] = Counter()
    result = []
    for identity in map(identify, findings):
        seen[identity] += 1
        parts = (identity.code, identity.path, identity.claim, str(seen[identity]))
        text = "\0".join(parts).encode("utf-8", "surrogatepass")
        result.append(hashlib.sha256(text).hexdigest())
    return result


def count(findings: Iterable[Finding]) -> Counter[Identity]:
    """Returns how often each identity occurs."""
    return Counter(map(identify, findings))


def _claim(message: str) -> str:
    """The message up to the first semicolon, without places; names in quotes stay as they are."""
    kept = []
    for index, part in enumerate(_QUOTED.split(message)):
        if index % 2:
            kept.append(part)
            continue
        text, semicolon, _ = part.partition("; ")
        kept.append(_LINE.sub("line", _PLACE.sub("", text)))
        if semicolon:
            break
    return "".join(kept).strip()
