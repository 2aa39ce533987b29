"""The flake8 plugin: shows the findings of a whole project in the file that flake8 is at.

flake8 imports this wherever it is installed beside this distribution, so nothing but the standard
library is imported before a file is linted with a code of this tool selected.
"""

from __future__ import annotations

import ast
import os
import re
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rltel_lint import __version__
from rltel_lint.errors import UserError, missing_extra

if TYPE_CHECKING:
    from rltel_lint.per_file import FileChecks

_NAMELESS = "stdin"
_FULL_CODE = re.compile(r"RLT\d{3}")
_CODES = tuple(f"RLT{number:03}" for number in range(1000))


@dataclass
class _Run:
    """One run of flake8 in this process.

    Attributes:
        enabled: Whether flake8 can report any code of this tool.
        buffer: The name of the file that comes from standard input; ``None`` without one.
        noqa: Whether flake8 honours comments.
        opt_in: Codes that the user named in full.
        checks: The projects met so far.
        failures: What has been said already of what went wrong.
    """

    enabled: bool = True
    buffer: str | None = None
    noqa: bool = True
    opt_in: tuple[str, ...] = ()
    checks: FileChecks | None = None
    failures: set[str] = field(default_factory=set)


class Plugin:
    """Reports the findings that lie in one Python file.

    The interface is flake8's:
    https://flake8.pycqa.org/en/stable/plugin-development/plugin-parameters.html

    Args:
        tree: The parsed file; asking for it is how flake8 knows a plugin for whole files.
        filename: The file as typed or walked.
        lines: Its lines; of an unsaved file those in the editor.
    """

    name: ClassVar[str] = "rltel-lint"
    version: ClassVar[str] = __version__
    _run: ClassVar[_Run] = _Run()

    def __init__(self, tree: ast.AST, filename: str, lines: Sequence[str]) -> None:
        self._filename = filename
        self._lines = lines

    @classmethod
    def parse_options(cls, manager: object, options: Any, args: Sequence[str]) -> None:
        """Takes over the options of a run; flake8 calls it once in each process.

        Args:
            manager: Not used.
            options: flake8's options.
            args: Not used.
        """
        try:
            cls._run = _new_run(options)
        except Exception:
            cls._run = _Run()

    def run(self) -> Iterator[tuple[int, int, str, type[Plugin]]]:
        """Yields line, column from 0, text and type for each finding; never raises."""
        if not self._run.enabled:
            return
        try:
            found = [
                (one.place.line, one.place.column - 1, f"{one.code} {one.message}")
                for one in self._findings()
            ]
        except Exception as error:
            found = [(1, 0, f"RLT000 {text}") for text in self._failure(error)]
        for line, column, text in found:
            yield line, column, text, type(self)

    def _findings(self) -> list[Any]:
        from rltel_lint.per_file import FileChecks

        run = self._run
        if run.checks is None:
            run.checks = FileChecks("other lines" if run.noqa else "none", run.opt_in)
        if self._filename != run.buffer:
            return run.checks.findings(Path(self._filename))
        text = "".join(self._lines)
        if self._filename == _NAMELESS:
            return run.checks.alone(Path(f"{_NAMELESS}.py"), text)
        return run.checks.findings(Path(self._filename), text)

    def _failure(self, error: Exception) -> Iterator[str]:
        """Yields what to say of an error: each thing once, or every file would say it."""
        extra = missing_extra(error)
        if extra is not None:
            if not _wants_check(Path(self._filename)):
                return
            text = f"not checked: {extra}"
        elif isinstance(error, UserError):
            text = f"not checked: {error}"
        else:
            if os.environ.get("RLTEL_LINT_DEBUG") == "1":
                traceback.print_exception(type(error), error, error.__traceback__)
            first = (str(error).splitlines() or [""])[0]
            text = (
                f"not checked: internal error: {type(error).__name__}: {first}; "
                "please report it with what RLTEL_LINT_DEBUG=1 prints"
            )
        if text not in self._run.failures:
            self._run.failures.add(text)
            yield text


def _new_run(options: Any) -> _Run:
    named = [*(options.select or ()), *(options.extend_select or ())]
    return _Run(
        enabled=_any_selected(options),
        buffer=(options.stdin_display_name or _NAMELESS) if "-" in options.filenames else None,
        noqa=not options.disable_noqa,
        opt_in=tuple(code for code in named if _FULL_CODE.fullmatch(code)),
    )


def _any_selected(options: Any) -> bool:
    """Whether flake8 would report any code of this tool; asked of flake8 itself."""
    try:
        guide = import_module("flake8.style_guide")
        engine = guide.DecisionEngine(options)
        if not any(code.startswith("RLT"[: len(code)]) for code in engine.selected):
            return False
        return any(engine.make_decision(code) is guide.Decision.Selected for code in _CODES)
    except Exception:  # not a promise of flake8's, so without it all are taken for selected
        return True


def _wants_check(file: Path) -> bool:
    """Whether the project around a file has a table for this tool."""
    for folder in file.absolute().parents:
        config = folder / "pyproject.toml"
        if config.is_file():
            return b"[tool.rltel-lint" in config.read_bytes()
        if (folder / ".git").exists():
            return False
    return False
