"""Checkpoints: staged while the run waits, finalised on a thread beside the next step."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import ray

from examples.grpo_ray.phases import Phases
from examples.grpo_ray.worker_group import WorkerGroup
from rl_telemetry.contrib.data_plane import MetricsDataPlaneClient
from rl_telemetry.instrumentation import TracedThread, checkpoint_finalize_span
from rl_telemetry.span_groups import RLSpanGroup


class CheckpointManager:
    """Writes ``step_<n>`` folders.

    Args:
        folder: Where they go.
        phases: The driver's phases.
        policy: The policy workers.
        data_plane: The driver's client.
    """

    def __init__(
        self,
        folder: Path,
        phases: Phases,
        policy: WorkerGroup,
        data_plane: MetricsDataPlaneClient,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._phases = phases
        self._policy = policy
        self._data_plane = data_plane
        self._finalising: TracedThread | None = None

    def save(self, step: int, state: dict[str, Any]) -> None:
        """Stage a checkpoint; its end runs on a thread.

        Args:
            step: Number of the step.
            state: What to keep beside the weights; JSON.
        """
        self.wait()
        staging = self._folder / f"tmp_step_{step}"
        staging.mkdir(exist_ok=True)
        # Not inside the phase: both are overhead, and the time would count twice.
        self._data_plane.save_checkpoint(str(staging / "data_plane.json"))
        with self._phases.phase(RLSpanGroup.CHECKPOINT, "checkpointing"):
            weights = ray.get(self._policy.run_rank_0_workers_single_data("get_weights"))
            np.save(staging / "weights.npy", weights)
            (staging / "state.json").write_text(json.dumps(state))
            # Started here, so that its span is a child of this one.
            self._finalising = TracedThread(target=self._finalise, args=(staging, step))
            self._finalising.start()

    def wait(self) -> None:
        """Wait until the last checkpoint is complete."""
        if self._finalising is not None:
            self._finalising.join()

    def _finalise(self, staging: Path, step: int) -> None:
        with checkpoint_finalize_span(step):
            for path in staging.iterdir():
                with path.open("rb") as file:
                    os.fsync(file.fileno())
            staging.rename(self._folder / f"step_{step}")
