"""Runs the command as ``python -m rltel_lint``."""

import sys

from rltel_lint.cli import main

sys.exit(main())
