"""Logger keys: which are declared, and which get to the logger under which prefix.

``declared`` finds the rows, ``loggers`` the calls that log. ``mappings`` goes backwards from a
logged mapping to its keys (``writers`` to whoever writes into it); where that leaves a gap,
``mentions``, ``keyflow`` and ``sinks`` go forwards from where the source spells a key.
``agreement`` puts both together.
"""

from rltel_lint.project.metrics.agreement import Emission, Metrics
from rltel_lint.project.metrics.declared import MetricField, MetricRow
from rltel_lint.project.metrics.keys import Keys
from rltel_lint.project.metrics.loggers import LoggedMapping

__all__ = ["Emission", "Keys", "LoggedMapping", "MetricField", "MetricRow", "Metrics"]
