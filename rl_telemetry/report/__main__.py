"""``python -m rl_telemetry.report``, for where scripts are not on the path."""

import sys

from rl_telemetry.report.cli import main

sys.exit(main())
