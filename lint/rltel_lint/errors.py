"""Errors a user can mend: one line each, which says what is wrong and what to do."""

from __future__ import annotations


class UserError(Exception):
    """Wrong usage, wrong configuration or a broken environment; the command exits with 2."""


class ConfigError(UserError):
    """A mistake in the configuration file or in an option that overrides it."""
