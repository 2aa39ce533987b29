"""OpenTelemetry for reinforcement-learning loops on Ray.

Call sites import :mod:`rl_telemetry.instrumentation`; entry points import
:mod:`rl_telemetry.setup`. This module imports neither, so that ``import rl_telemetry``
costs nothing.
"""

__version__ = "0.1.0"
