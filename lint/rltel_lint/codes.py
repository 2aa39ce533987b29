"""Rule codes as users write them: whole codes and prefixes, checked against the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rltel_lint.errors import ConfigError

READ_PROBLEM = "RLT000"
"""Code of a file that cannot be read or parsed."""

READ_PROBLEM_NAME = "unreadable"
"""Name of its rule; stated here too, so that reading files imports no rules."""

SUPPRESSION = "RLT001"
"""Code of a comment that silences nothing, or more than it names."""


def known_codes() -> tuple[str, ...]:
    """Returns every code that exists, sorted; imports the rule catalogue."""
    from rltel_lint.rules.catalogue import ALL_RULES

    return tuple(sorted({READ_PROBLEM, *(rule.code for rule in ALL_RULES)}))


def check_codes(
    codes: Iterable[str], where: str, known_codes: Callable[[], tuple[str, ...]] = known_codes
) -> tuple[str, ...]:
    """Returns codes and prefixes in upper case, without blanks and repeats.

    Args:
        codes: What the user wrote, such as ``RLT101`` or ``RLT2``.
        where: Start of the error message: the file and key, or the option.
        known_codes: Returns every code that exists.

    Raises:
        ConfigError: A code is neither a rule's code nor the start of one.
    """
    wanted = tuple(dict.fromkeys(code.strip().upper() for code in codes if code.strip()))
    if not wanted:
        return ()
    known = known_codes()
    for code in wanted:
        if not code.startswith("RLT") or not any(one.startswith(code) for one in known):
            raise ConfigError(f"{where}: unknown code {code!r}; {_remedy(code, known)}")
    return wanted


def _remedy(code: str, known: tuple[str, ...]) -> str:
    if code == "ALL":
        return 'write "RLT" for all of them'
    import difflib

    near = difflib.get_close_matches(code, known, n=1, cutoff=0.6)
    hint = f"did you mean {near[0]}? " if near else ""
    return f'{hint}"rltel-lint rules" lists all codes'
