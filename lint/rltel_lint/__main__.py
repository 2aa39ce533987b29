"""Runs the command as ``python -m rltel_lint``."""

import sys

from rltel_lint.cli import main

if __name__ == "__main__":  # processes that it starts import it as well
    sys.exit(main())
