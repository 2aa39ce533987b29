"""Entry point of the ``rltel-lint`` command: exit codes and the errors behind them.

Exit codes: 0 clean, 1 findings, 2 wrong usage, wrong configuration or an internal error,
130 interrupted.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

from rltel_lint.errors import UserError, missing_extra

_CLEAN, _WRONG, _INTERRUPTED = 0, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command.

    Args:
        arguments: Command line without the program's name; that of the process by default.

    Returns:
        The exit code.
    """
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except UserError as error:
        return _fail(f"error: {error}")
    except Exception as error:
        if os.environ.get("RLTEL_LINT_DEBUG") == "1":
            raise
        missing = missing_extra(error)
        if missing is not None:
            return _fail(f"error: {missing}")
        first = (str(error).splitlines() or [""])[0]
        return _fail(
            f"internal error: {type(error).__name__}: {first}; "
            "please report it with what RLTEL_LINT_DEBUG=1 prints"
        )


def run() -> None:
    """Runs the command as a process of its own, and ends the process.

    It ends at once: taking a project of hundreds of thousands of objects apart, one by one,
    would take a tenth of the time of the run. Nor is anything looked for that could be freed: of
    what is imported nothing can, and of one project little.
    """
    gc.disable()
    code = main()
    if os.environ.get("RLTEL_LINT_DEBUG") == "1":
        sys.exit(code)
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except OSError:
        code = code or _WRONG  # whoever reads the report has gone
    os._exit(code)


def _run(arguments: Sequence[str] | None) -> int:
    import click

    from rltel_lint.commands import cli

    try:
        code = cli.main(
            args=None if arguments is None else list(arguments),
            prog_name="rltel-lint",
            standalone_mode=False,
        )
    except click.Abort:
        return _INTERRUPTED
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "rltel-lint"
        return _fail(f"error: {error.format_message()} See '{command} --help'.")
    return code if isinstance(code, int) else _CLEAN


def _fail(message: str) -> int:
    from rltel_lint.output import note

    note(message)
    return _WRONG


if __name__ == "__main__":
    sys.exit(main())
