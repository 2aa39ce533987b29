"""The policy and the value baseline in numpy: their mathematics, and nothing of Ray."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from examples.grpo_ray.task import MAX_ANSWER, NUM_TOKENS, STOP, FloatArray, IntArray

CLIP_RATIO = 0.2
KL_WEIGHT = 0.002
#: Largest correction for samples that an older policy made.
MAX_IMPORTANCE = 2.0


def initial_weights() -> FloatArray:
    """Return a policy that knows nothing: logits of each next token, by the token it reads."""
    return np.zeros((NUM_TOKENS, NUM_TOKENS))


def log_softmax(logits: FloatArray) -> FloatArray:
    """Return the logarithms of the probabilities along the last axis."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    normalised: FloatArray = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return normalised


def token_logprobs(weights: FloatArray, inputs: IntArray, answers: IntArray) -> FloatArray:
    """Return the log-probability of each written token."""
    by_token = log_softmax(weights)[inputs]
    picked: FloatArray = np.take_along_axis(by_token, answers[..., None], axis=-1)[..., 0]
    return picked


class Decoder:
    """Writes answers to a batch of prompts, one position per :meth:`advance`.

    Args:
        weights: The policy.
        inputs: What it reads, ``(prompts, positions)``.
        draws: Uniform random numbers, ``(prompts, samples, positions)``.
    """

    def __init__(self, weights: FloatArray, inputs: IntArray, draws: FloatArray) -> None:
        self._logprobs = log_softmax(weights)
        self._inputs = inputs
        self._draws = draws
        self.answers = np.full(draws.shape, STOP, dtype=np.int64)
        self.logprobs = np.zeros(draws.shape)
        self.mask = np.zeros(draws.shape)
        self._is_open = np.ones(draws.shape[:2], dtype=bool)
        self._is_reported = np.zeros(draws.shape[0], dtype=bool)
        self._position = 0

    @property
    def is_done(self) -> bool:
        """Whether every answer has stopped or reached its longest."""
        return self._position == MAX_ANSWER or not self._is_open.any()

    def advance(self) -> None:
        """Write one position of every answer that has not stopped."""
        at = self._position
        logprobs = self._logprobs[self._inputs[:, at]]
        steps = np.exp(logprobs).cumsum(axis=-1)
        chosen = (self._draws[:, :, at, None] > steps[:, None, :]).sum(axis=-1)
        chosen = np.minimum(chosen, NUM_TOKENS - 1)
        picked = np.take_along_axis(logprobs[:, None, :], chosen[..., None], axis=-1)[..., 0]
        self.answers[:, :, at] = np.where(self._is_open, chosen, STOP)
        self.logprobs[:, :, at] = np.where(self._is_open, picked, 0.0)
        self.mask[:, :, at] = self._is_open
        self._is_open &= chosen != STOP
        self._position += 1

    def newly_finished(self) -> Iterator[int]:
        """Yield each prompt, once, whose answers are all complete."""
        finished = ~self._is_open.any(axis=1) | self.is_done
        for index in np.flatnonzero(finished & ~self._is_reported).tolist():
            self._is_reported[index] = True
            yield index


@dataclass(frozen=True)
class Gradients:
    """What one worker computed on its part of a batch.

    Attributes:
        weights: Gradient of the loss, divided by the tokens of the whole batch.
        loss: Its share of the loss.
        kl: Its share of the KL divergence to the reference.
        entropy: Its share of the entropy.
        clipped: Its share of clipped tokens.
    """

    weights: FloatArray
    loss: float
    kl: float
    entropy: float
    clipped: float


def policy_gradients(
    weights: FloatArray, batch: dict[str, FloatArray], total_tokens: float
) -> Gradients:
    """Compute the clipped surrogate loss with a KL penalty, and its gradient.

    The loss is that of PPO (https://arxiv.org/abs/1707.06347) with the KL estimator "k3" that
    GRPO uses (https://arxiv.org/abs/2402.03300).

    Args:
        weights: The policy.
        batch: Columns ``inputs``, ``answers``, ``mask``, ``logprobs`` (of the policy before the
            update), ``generation_logprobs``, ``reference_logprobs`` and ``advantages``.
        total_tokens: Written tokens of the batch, over all workers.
    """
    inputs, answers = batch["inputs"].astype(np.int64), batch["answers"].astype(np.int64)
    share = batch["mask"] / total_tokens
    advantages = batch["advantages"][:, None]
    all_logprobs = log_softmax(weights)
    logprobs = token_logprobs(weights, inputs, answers)

    importance = np.exp(batch["logprobs"] - batch["generation_logprobs"])
    share_used = share * np.minimum(importance, MAX_IMPORTANCE)
    ratio = np.exp(logprobs - batch["logprobs"])
    bounded = np.clip(ratio, 1 - CLIP_RATIO, 1 + CLIP_RATIO)
    is_clipped = ratio * advantages > bounded * advantages
    surrogate = np.where(is_clipped, bounded, ratio) * advantages
    log_ratio = batch["reference_logprobs"] - logprobs
    kl = np.exp(log_ratio) - log_ratio - 1

    slope = -np.where(is_clipped, 0.0, ratio) * advantages * share_used
    slope += KL_WEIGHT * (1 - np.exp(log_ratio)) * share
    gradient = np.zeros_like(weights)
    np.add.at(gradient, (inputs, answers), slope)
    read = np.zeros(NUM_TOKENS)
    np.add.at(read, inputs, slope)
    gradient -= read[:, None] * np.exp(all_logprobs)
    entropies = -(np.exp(all_logprobs) * all_logprobs).sum(axis=-1)
    return Gradients(
        weights=gradient,
        loss=float(np.sum(-surrogate * share_used + KL_WEIGHT * kl * share)),
        kl=float(np.sum(kl * share)),
        entropy=float(np.sum(entropies[inputs] * share)),
        clipped=float(np.sum(is_clipped * share)),
    )


class Adam:
    """Adam (https://arxiv.org/abs/1412.6980) for one array."""

    def __init__(self, shape: tuple[int, ...], learning_rate: float) -> None:
        self.learning_rate = learning_rate
        self._mean = np.zeros(shape)
        self._square = np.zeros(shape)
        self._count = 0

    def step(self, weights: FloatArray, gradient: FloatArray) -> None:
        """Update ``weights`` in place."""
        self._count += 1
        self._mean += 0.1 * (gradient - self._mean)
        self._square += 0.01 * (gradient**2 - self._square)
        mean = self._mean / (1 - 0.9**self._count)
        square = self._square / (1 - 0.99**self._count)
        weights -= self.learning_rate * mean / (np.sqrt(square) + 1e-8)


def values(baseline: FloatArray, inputs: IntArray) -> FloatArray:
    """Return the expected reward of prompts: the mean over the tokens that are read."""
    is_read = np.arange(inputs.shape[1]) <= np.sum(inputs != STOP, axis=1)[:, None]
    expected: FloatArray = (baseline[inputs] * is_read).sum(axis=1) / is_read.sum(axis=1)
    return expected


def value_gradient(
    baseline: FloatArray, inputs: IntArray, rewards: FloatArray
) -> tuple[FloatArray, float]:
    """Return the gradient and the loss of the squared error of :func:`values`."""
    error = values(baseline, inputs) - rewards
    is_read = np.arange(inputs.shape[1]) <= np.sum(inputs != STOP, axis=1)[:, None]
    gradient = np.zeros_like(baseline)
    slope = error[:, None] * is_read / is_read.sum(axis=1, keepdims=True) / len(error)
    np.add.at(gradient, inputs, 2 * slope)
    return gradient, float(np.mean(error**2))
