"""A group of actors that is called by method name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class WorkerGroup:
    """Calls a method of every worker.

    The caller spreads ``trace_context_kwargs()`` into the call when the method takes it.

    Args:
        workers: Actor handles, in the order of their ranks.
    """

    def __init__(self, workers: Sequence[Any]) -> None:
        self.workers = list(workers)

    def run_all_workers_single_data(self, method_name: str, *args: Any, **kwargs: Any) -> list[Any]:
        """Call every worker with the same arguments.

        Returns:
            A reference for each rank.
        """
        return [getattr(worker, method_name).remote(*args, **kwargs) for worker in self.workers]

    def run_all_workers_multiple_data(
        self, method_name: str, data: Sequence[Any], **kwargs: Any
    ) -> list[Any]:
        """Call each worker with its own part of the data.

        Args:
            method_name: The method.
            data: Its first argument, for each rank.
            **kwargs: What all get.

        Returns:
            A reference for each rank.
        """
        return [
            getattr(worker, method_name).remote(part, **kwargs)
            for worker, part in zip(self.workers, data, strict=True)
        ]

    def run_rank_0_workers_single_data(self, method_name: str, *args: Any, **kwargs: Any) -> Any:
        """Call the first worker.

        Returns:
            Its reference.
        """
        return getattr(self.workers[0], method_name).remote(*args, **kwargs)
