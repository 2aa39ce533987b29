"""The outcome of a whole run, kept so that a run with nothing new neither links nor checks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rltel_lint.config import Config
from rltel_lint.contents import keys_of
from rltel_lint.facts.store import FactStore, text_key
from rltel_lint.findings import Finding, Place, Related
from rltel_lint.sealing import seal, unseal
from rltel_lint.session import Session

if TYPE_CHECKING:
    from rltel_lint.project.disk import Answers

_FILE = "results.json"
_KEPT = 8
"""How many outcomes are kept: enough for switching between a few branches."""


def result_key(session: Session, sources: Mapping[str, str] | None = None) -> str:
    """Returns a hash of all that decides the outcome of a check: configuration and texts.

    Args:
        session: The project.
        sources: The keys of other source texts to take instead of the project's, by path.
    """
    texts = session.texts
    parts = [_config_key(session.config), repr(texts.problems)]
    keys = keys_of(texts.sources) if sources is None else sorted(sources.items())
    for group in (keys, keys_of(texts.documents)):
        parts += [f"{path} {key}" for path, key in group]
        parts.append("")
    return text_key("\n".join(parts))


class Result(NamedTuple):
    """What is kept of a run.

    Attributes:
        findings: What was found, before suppression.
        counts: How much was looked at.
        asked: What the run asked of the project's folder beside the texts.
    """

    findings: list[Finding]
    counts: dict[str, int]
    asked: Answers


def load_result(store: FactStore, key: str, root: Path) -> Result | None:
    """Returns what is kept of an earlier run over the same input.

    Args:
        store: Where outcomes are kept.
        key: From :func:`result_key`.
        root: The project root: what the run asked of it is asked again.
    """
    kept = store.read(_FILE).get("results")
    values = kept.get(key) if isinstance(kept, dict) else None
    if values is None:
        return None
    try:
        kept_findings, counts, asked = unseal(values)
        findings = [decode_finding(one) for one in kept_findings]
        if asked:
            from rltel_lint.project.disk import ask_again

            again = ask_again(root, asked)
            if again is None:
                return None
            if again != asked:
                _keep(store, key, [kept_findings, counts, again])
                asked = again
        return Result(findings, {str(n): int(number) for n, number in counts.items()}, asked)
    except (ValueError, TypeError, AttributeError, KeyError):
        store.damaged()
        return None


def save_result(
    store: FactStore,
    key: str,
    findings: tuple[Finding, ...],
    counts: Mapping[str, int],
    asked: Answers,
    base: str = "",
) -> None:
    """Keeps the outcome of a run, and drops the oldest beyond a few.

    Args:
        store: Where outcomes are kept.
        key: From :func:`result_key`.
        findings: What was found, before suppression.
        counts: How much was looked at.
        asked: What the run asked of the project's folder beside the texts.
        base: The key of the outcome that it was taken from: it is of use for longer.
    """
    values = [[encode_finding(finding) for finding in findings], dict(counts), asked]
    _keep(store, key, values, base)


def _keep(store: FactStore, key: str, values: list[Any], base: str = "") -> None:
    kept = store.read(_FILE).get("results")
    results: dict[str, Any] = dict(kept) if isinstance(kept, dict) else {}
    results.pop(key, None)
    if base in results:
        results[base] = results.pop(base)
    results[key] = seal(values)
    store.write({_FILE: {"results": dict(list(results.items())[-_KEPT:])}})


def _config_key(config: Config) -> str:
    text = _read(config.file) if config.file is not None else ""
    return f"{config!r}\n{text}"


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def encode_finding(finding: Finding) -> list[Any]:
    """Returns a finding as JSON values."""
    related = [[tuple(one.place), one.message] for one in finding.related]
    place = tuple(finding.place)
    fix = None
    if finding.fix is not None:
        from rltel_lint.changes import encode_fix

        fix = encode_fix(finding.fix)
    head = [place, finding.code, finding.name, finding.message, finding.severity]
    return [*head, related, fix, finding.silent]


def decode_finding(values: list[Any]) -> Finding:
    """Returns the finding that :func:`encode_finding` was given."""
    place, code, name, message, severity, related, fix, silent = values
    near = tuple(Related(Place(*at), text) for at, text in related)
    remedy = None
    if fix is not None:
        from rltel_lint.remedies import decode_fix

        remedy = decode_fix(fix)
    return Finding(Place(*place), code, name, message, severity, near, remedy, silent)
