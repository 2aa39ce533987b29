"""The workers that hold the policy and, for PPO, the value baseline."""

from __future__ import annotations

from typing import Any

import numpy as np
import ray

from examples.grpo_ray import policy
from examples.grpo_ray.data_plane import BatchMeta, Columns, connect
from examples.grpo_ray.policy import Adam, Gradients
from examples.grpo_ray.task import NUM_TOKENS, FloatArray
from rl_telemetry.instrumentation import (
    accepts_trace_context,
    traced_worker_init,
    umbrella_trace_fn,
)
from rl_telemetry.span_groups import RLSpanGroup

SAMPLED = ("inputs", "answers", "mask", "generation_logprobs")
FOR_TRAINING = (*SAMPLED, "logprobs", "reference_logprobs", "advantages")
VALUE_EPOCHS = 4
VALUE_LEARNING_RATE = 0.1


@ray.remote
class PolicyWorker:
    """One data-parallel replica of the policy, with the reference policy beside it."""

    @traced_worker_init("rl.policy.load_model", **{"rl.backend": "numpy"})
    def __init__(self, store: Any, learning_rate: float) -> None:
        """Load the model.

        Args:
            store: The data plane's actor.
            learning_rate: Of Adam.
        """
        self._weights = policy.initial_weights()
        self._reference = policy.initial_weights()
        self._optimizer = Adam(self._weights.shape, learning_rate)
        self._data_plane = connect(store)
        self._batch: tuple[str, Columns] = ("", {})

    @accepts_trace_context
    @umbrella_trace_fn(RLSpanGroup.U_STEP, "rl.policy.logprobs")
    def infer_logprobs(self, meta: BatchMeta) -> None:
        """Put log-probabilities of the policy and of the reference into the data plane."""
        columns = self._data_plane.get_data(meta, ("inputs", "answers", "mask"))
        inputs, answers, mask = columns["inputs"], columns["answers"], columns["mask"]
        fields = {
            "logprobs": policy.token_logprobs(self._weights, inputs, answers) * mask,
            "reference_logprobs": policy.token_logprobs(self._reference, inputs, answers) * mask,
        }
        self._data_plane.put(meta.partition_id, meta.sample_ids, fields)

    @accepts_trace_context
    @umbrella_trace_fn(RLSpanGroup.U_STEP, "rl.policy.forward_backward")
    def forward_backward(self, meta: BatchMeta, *, total_tokens: float) -> Gradients:
        """Return the gradients on a part of the batch.

        Args:
            meta: The part.
            total_tokens: Written tokens of the whole batch.
        """
        if self._batch[0] != meta.partition_id:
            columns = self._data_plane.get_data(meta, FOR_TRAINING, consume=True)
            self._batch = (meta.partition_id, columns)
        return policy.policy_gradients(self._weights, self._batch[1], total_tokens)

    @accepts_trace_context
    @umbrella_trace_fn(RLSpanGroup.U_STEP, "rl.policy.optimizer_step")
    def optimizer_step(self, gradient: FloatArray) -> None:
        """Apply the gradient that all replicas agreed on."""
        self._optimizer.step(self._weights, gradient)

    def get_weights(self) -> FloatArray:
        """Return a copy of the weights."""
        weights: FloatArray = self._weights.copy()
        return weights


@ray.remote
class ValueWorker:
    """The value baseline."""

    @traced_worker_init("rl.value.load_model", **{"rl.backend": "numpy"})
    def __init__(self, store: Any) -> None:
        """Load the model.

        Args:
            store: The data plane's actor.
        """
        self._baseline = np.zeros(NUM_TOKENS)
        self._optimizer = Adam(self._baseline.shape, VALUE_LEARNING_RATE)
        self._data_plane = connect(store)

    @accepts_trace_context
    @umbrella_trace_fn(RLSpanGroup.U_STEP, "rl.value.inference")
    def infer_values(self, meta: BatchMeta) -> FloatArray:
        """Return the expected reward of each sample's prompt."""
        inputs = self._data_plane.get_data(meta, ("inputs",))["inputs"]
        return policy.values(self._baseline, inputs)

    @accepts_trace_context
    @umbrella_trace_fn(RLSpanGroup.U_STEP, "rl.value.train")
    def train_values(self, meta: BatchMeta) -> float:
        """Fit the baseline to the rewards of a batch, and return the first loss."""
        columns = self._data_plane.get_data(meta, ("inputs", "rewards"))
        losses = []
        for _ in range(VALUE_EPOCHS):
            gradient, loss = policy.value_gradient(
                self._baseline, columns["inputs"], columns["rewards"]
            )
            self._optimizer.step(self._baseline, gradient)
            losses.append(loss)
        return losses[0]
