"""Errors a user can mend: one line each, which says what is wrong and what to do."""

from __future__ import annotations


class UserError(Exception):
    """Wrong usage, wrong configuration or a broken environment; the command exits with 2."""


class ConfigError(UserError):
    """A mistake in the configuration file or in an option that overrides it."""


_EXTRA = frozenset(
    {"click", "docutils", "libcst", "markdown_it", "packaging", "pathspec", "tomli", "yaml"}
)


def missing_extra(error: BaseException) -> str | None:
    """Returns what to say when the ``lint`` extra is not installed, ``None`` for other errors."""
    if isinstance(error, ModuleNotFoundError) and (error.name or "").split(".")[0] in _EXTRA:
        return f"{error.name} is missing; pip install 'rl-telemetry[lint]'"
    return None
