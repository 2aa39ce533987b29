"""The formats of a report, by name."""

from __future__ import annotations

from typing import Literal, get_args

Style = Literal["text", "json", "sarif", "github", "gitlab"]
STYLES: tuple[Style, ...] = get_args(Style)
