"""Settings that were read and found right before: neither TOML nor rules are imported for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rltel_lint.facts.store import FactStore, text_key
from rltel_lint.sealing import seal, unseal

_FILE = "settings.json"
_MOST = 8
"""How many configurations are kept: of a few projects and branches."""


class KeptSettings:
    """Configurations by their text, and the codes of the rules.

    Args:
        store: Where they are kept; ``None`` keeps nothing.
    """

    def __init__(self, store: FactStore | None) -> None:
        self._store = store
        kept = {} if store is None else store.read(_FILE)
        tables, codes = kept.get("tables"), kept.get("codes")
        self._tables: dict[str, Any] = tables if isinstance(tables, dict) else {}
        self._codes = tuple(codes) if isinstance(codes, list) else ()

    def find(self, text: str) -> tuple[bool, dict[str, Any] | None]:
        """Looks a configuration up.

        Args:
            text: The text of the file.

        Returns:
            Whether it is known, and its values; ``None`` where the file has no table.
        """
        try:
            values = unseal(self._tables[text_key(text)])
        except (KeyError, ValueError, TypeError):
            return False, None
        if values is None:
            return True, None
        return True, {
            key: value if key == "vocabulary" else _frozen(value) for key, value in values.items()
        }

    def keep(self, text: str, values: Mapping[str, Any] | None) -> None:
        """Keeps the values of a configuration, if JSON can.

        Args:
            text: The text of the file.
            values: What its table says, checked; ``None`` without a table.
        """
        try:
            sealed = seal(values)
        except TypeError:  # a date, say
            return
        self._tables[text_key(text)] = sealed
        self._save()

    def codes(self) -> tuple[str, ...]:
        """Returns every code that exists, sorted."""
        if not self._codes:
            from rltel_lint.codes import known_codes

            self._codes = known_codes()
            self._save()
        return self._codes

    def _save(self) -> None:
        if self._store is not None:
            tables = dict(list(self._tables.items())[-_MOST:])
            self._store.write({_FILE: {"tables": tables, "codes": list(self._codes)}})


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _frozen(item) for key, item in value.items()}
    return tuple(value) if isinstance(value, list) else value
