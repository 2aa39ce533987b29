"""Findings that were accepted when the checker was adopted, kept in a file of the project."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rltel_lint.errors import ConfigError
from rltel_lint.findings import Finding, Place
from rltel_lint.identity import Identity, count, identify

VERSION = 1
"""The version of the file's format."""

_REWRITE = "write it anew with --write-baseline"


@dataclass(frozen=True)
class Entry:
    """Findings of one kind that are accepted in one file.

    Attributes:
        identity: What they say, and of which file.
        count: How many of them.
        line: Where the baseline says so, counted from 1.
    """

    identity: Identity
    count: int
    line: int = 1


@dataclass(frozen=True)
class Unmatched:
    """An entry of the baseline that stands for more findings than there are.

    Attributes:
        entry: The entry.
        found: How many there are.
    """

    entry: Entry
    found: int

    @property
    def message(self) -> str:
        """What to say of it, in one sentence with the remedy."""
        one, accepted = self.entry.identity, self.entry.count
        what = f"{one.code} of {one.path} ({one.claim})"
        if not self.found:
            return f"{what} is in the baseline and no longer found; run --write-baseline"
        return (
            f"{what} is {accepted} times in the baseline and found {self.found} times; "
            "run --write-baseline"
        )


@dataclass(frozen=True)
class Baseline:
    """The accepted findings of a project.

    Attributes:
        name: The file as it is shown to the user.
        entries: What it accepts, in the order of the file.
    """

    name: str
    entries: tuple[Entry, ...] = ()

    def split(self, findings: Iterable[Finding]) -> tuple[list[Finding], list[Finding]]:
        """Returns the new findings and the accepted ones, each in the order given.

        When a file has more findings of a kind than are accepted, nothing tells which of them
        is new; the last ones are reported.
        """
        left: Counter[Identity] = Counter()
        for entry in self.entries:
            left[entry.identity] += entry.count
        new, held = [], []
        for finding in findings:
            identity = identify(finding)
            if left[identity] > 0:
                left[identity] -= 1
                held.append(finding)
            else:
                new.append(finding)
        return new, held

    def unmatched(
        self, findings: Iterable[Finding], judged: Callable[[Finding], bool]
    ) -> list[Unmatched]:
        """Returns the entries that stand for more than there is.

        Args:
            findings: All findings of the run, accepted ones too.
            judged: Whether the run would have reported a finding at that place.
        """
        there = count(findings)
        return [
            Unmatched(entry, there[entry.identity])
            for entry in self.entries
            if entry.count > there[entry.identity] and judged(_stand_in(entry.identity))
        ]

    def rewritten(self, findings: Iterable[Finding], judged: Callable[[Finding], bool]) -> Baseline:
        """Returns the baseline that accepts these findings, and what the run did not judge.

        Args:
            findings: All findings of the run.
            judged: Whether the run would have reported a finding at that place.
        """
        there = count(findings)
        for entry in self.entries:
            if not judged(_stand_in(entry.identity)):
                there[entry.identity] = max(there[entry.identity], entry.count)
        return Baseline(self.name, tuple(Entry(one, there[one]) for one in sorted(there)))


def read_baseline(path: Path, name: str) -> Baseline:
    """Reads a baseline.

    Args:
        path: The file.
        name: What it is called in messages and findings: relative to the project root.

    Raises:
        ConfigError: There is no such file, or it is not a baseline of this version.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise ConfigError(
            f"the baseline {name} does not exist; write it with --write-baseline"
        ) from None
    except UnicodeDecodeError:
        raise ConfigError(f"the baseline {name} is not UTF-8; {_REWRITE}") from None
    except OSError as error:
        raise ConfigError(f"the baseline {name} cannot be read: {error.strerror}") from error
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = str(error).splitlines()[0]
        raise ConfigError(f"the baseline {name} is not valid JSON: {reason}; {_REWRITE}") from None
    version = content.get("version") if isinstance(content, dict) else None
    if isinstance(version, int) and not isinstance(version, bool) and version != VERSION:
        raise ConfigError(
            f"the baseline {name} has version {version} and this rltel-lint reads {VERSION}; "
            f"update rltel-lint, or {_REWRITE}"
        )
    try:
        if version is True or version != VERSION:
            raise ValueError
        return Baseline(name, tuple(_entries(content["findings"], text.splitlines())))
    except (ValueError, TypeError, KeyError):
        raise ConfigError(f"the baseline {name} has not the form of one; {_REWRITE}") from None


def render_baseline(baseline: Baseline) -> str:
    """Returns the text of a baseline: sorted, one finding a line, so that it merges well."""
    rows = [f"    {json.dumps(_row(entry), ensure_ascii=False)}" for entry in baseline.entries]
    listed = ",\n".join(rows)
    inside = f"[\n{listed}\n  ]" if rows else "[]"
    text = f'{{\n  "version": {VERSION},\n  "findings": {inside}\n}}\n'
    # A path that is no text cannot be written as UTF-8; as an escape it can.
    return "".join(c if not "\ud800" <= c <= "\udfff" else f"\\u{ord(c):04x}" for c in text)


def may_replace(path: Path) -> bool:
    """Whether a file is a baseline, perhaps a broken one, or not there at all."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return not text.strip() or (b'"findings"' in text and b'"version"' in text)


def _entries(rows: Any, lines: Sequence[str]) -> Iterable[Entry]:
    if not isinstance(rows, list):
        raise TypeError
    for row in rows:
        texts = [row["path"], row["code"], row["message"]]
        number = row.get("count", 1)
        if not all(isinstance(text, str) for text in texts):
            raise TypeError
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            raise ValueError
        yield Entry(Identity(*texts), number, _line(row, lines))


def _line(row: Mapping[str, Any], lines: Sequence[str]) -> int:
    """Where an entry stands in a file written by :func:`render_baseline`."""
    message, path = (json.dumps(row[key], ensure_ascii=False) for key in ("message", "path"))
    for number, line in enumerate(lines, 1):
        if message in line and path in line and row["code"] in line:
            return number
    return 1


def _row(entry: Entry) -> dict[str, object]:
    one = entry.identity
    return {"path": one.path, "code": one.code, "message": one.claim, "count": entry.count}


def _stand_in(identity: Identity) -> Finding:
    """A finding as the entry describes it, to ask filters about."""
    return Finding(Place(identity.path), identity.code, "", identity.claim)
