"""Values in the cache that are read back as they were kept, or not at all."""

from __future__ import annotations

import json
from typing import Any

from rltel_lint.facts.store import text_key


def seal(values: Any) -> list[str]:
    """Returns JSON values as a text and its digest; ``TypeError`` where JSON has no such values."""
    text = json.dumps(values)
    return [text_key(text), text]


def unseal(sealed: Any) -> Any:
    """Returns the values that were sealed.

    Args:
        sealed: What :func:`seal` returned, or whatever is in its place.

    Raises:
        ValueError, TypeError: It has been damaged.
    """
    digest, text = sealed
    if not isinstance(text, str) or text_key(text) != digest:
        raise ValueError("damaged")
    return json.loads(text)
