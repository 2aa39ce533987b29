"""Generation actors: they stream each group of answers as soon as it is complete."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
import ray
from opentelemetry.trace import Span

from examples.grpo_ray.policy import Decoder, initial_weights
from examples.grpo_ray.task import MAX_ANSWER, FloatArray, IntArray, prompt_inputs
from rl_telemetry.instrumentation import (
    NO_SPAN,
    accepts_trace_context,
    dispatch_with_trace_context,
    in_per_prompt_scope,
    managed_span,
    streaming_umbrella_span,
    traced_worker_init,
    umbrella_span,
    umbrella_trace_fn,
)
from rl_telemetry.metrics import (
    RecordedMetric,
    record_inference_metrics,
    record_rl_metrics,
    register_recorded_metrics,
)
from rl_telemetry.setup import get_telemetry_handle
from rl_telemetry.span_groups import RLSpanGroup

MODEL = "cipher-softmax"

register_recorded_metrics(
    [RecordedMetric("rl.generation.batch.duration", "histogram", "s", "Duration of a batch.")]
)


@dataclass(frozen=True)
class GroupOfAnswers:
    """The answers to one prompt.

    Attributes:
        index: Number of the prompt within its step.
        inputs: What the policy read, ``(answers, positions)``.
        answers: What it wrote.
        mask: 1 where it wrote.
        logprobs: Log-probability of each token when it was written.
        weight_version: Updates that the policy had seen.
    """

    index: int
    inputs: IntArray
    answers: IntArray
    mask: FloatArray
    logprobs: FloatArray
    weight_version: int

    @property
    def stopped(self) -> float:
        """Share of the answers that came to an end."""
        return float(np.mean(self.mask.sum(axis=1) < MAX_ANSWER))

    def columns(self) -> dict[str, Any]:
        """Return the group as columns of the data plane."""
        return {
            "inputs": self.inputs,
            "answers": self.answers,
            "mask": self.mask,
            "generation_logprobs": self.logprobs,
        }

    def sample_ids(self) -> list[str]:
        """Return the ids of the samples; they sort by prompt."""
        return [f"{self.index:05d}.{answer:03d}" for answer in range(len(self.answers))]


@ray.remote
class GenerationWorker:
    """Writes answers with the weights it was given last."""

    @traced_worker_init("rl.generation.load_model", **{"rl.backend": "numpy"})
    def __init__(self, generations: int, seed: int) -> None:
        """Load the model.

        Args:
            generations: Answers to each prompt.
            seed: Seed of the sampling; the same for every worker.
        """
        self._generations = generations
        self._seed = seed
        self._weights = initial_weights()
        self._version = 0

    @accepts_trace_context
    @umbrella_trace_fn(RLSpanGroup.U_STEP, "rl.generation.load_weights")
    async def load_weights(self, weights: FloatArray, version: int) -> None:
        """Use other weights from the next batch on."""
        self._weights, self._version = weights, version

    @accepts_trace_context
    async def run_rollouts(
        self, prompts: Sequence[tuple[int, str]], salt: int
    ) -> AsyncIterator[GroupOfAnswers]:
        """Answer prompts.

        Args:
            prompts: Number and text of each.
            salt: Goes into the random numbers beside seed and prompt number.

        Yields:
            Each prompt's answers when the last of them is complete.
        """
        group = RLSpanGroup.U_PER_PROMPT if in_per_prompt_scope() else RLSpanGroup.U_ROLLOUT
        started = time.perf_counter()
        version = self._version
        inputs = prompt_inputs([text for _, text in prompts])
        decoder = Decoder(self._weights, inputs, self._draws([n for n, _ in prompts], salt))
        with streaming_umbrella_span(
            group, "rl.generation.run_rollouts", **{"rl.num_prompt_groups": len(prompts)}
        ) as activate:
            while not decoder.is_done:
                with activate():
                    finished = list(self._advance(decoder))
                    groups = [
                        self._finished_group(prompts[i][0], i, decoder, inputs, version)
                        for i in finished
                    ]
                for answers in groups:
                    yield answers
                await asyncio.sleep(0)  # lets another stream or a refit have its turn
        _record_usage(inputs, decoder, time.perf_counter() - started)

    def _draws(self, numbers: Sequence[int], salt: int) -> FloatArray:
        shape = (self._generations, MAX_ANSWER)
        rngs = [np.random.default_rng([self._seed, 4, salt, number]) for number in numbers]
        return np.stack([rng.random(shape) for rng in rngs])

    def _advance(self, decoder: Decoder) -> Iterator[int]:
        with _decode_span():
            decoder.advance()
        return decoder.newly_finished()

    def _finished_group(
        self, number: int, row: int, decoder: Decoder, inputs: IntArray, version: int
    ) -> GroupOfAnswers:
        with umbrella_span(RLSpanGroup.U_PER_PROMPT, "rl.generation.finish_prompt"):
            return GroupOfAnswers(
                index=number,
                inputs=np.repeat(inputs[row : row + 1], self._generations, axis=0),
                answers=decoder.answers[row].copy(),
                mask=decoder.mask[row].copy(),
                logprobs=decoder.logprobs[row].copy(),
                weight_version=version,
            )


def stream_from_all(
    generators: Sequence[Any], prompts: Sequence[tuple[int, str]], salt: int
) -> list[Any]:
    """Share prompts among the generation actors.

    Args:
        generators: The actors.
        prompts: Number and text of each prompt.
        salt: See :meth:`GenerationWorker.run_rollouts`.

    Returns:
        One stream of references for each actor that got prompts.
    """
    shares = [prompts[rank :: len(generators)] for rank in range(len(generators))]
    return [
        dispatch_with_trace_context(
            generator.run_rollouts.options(num_returns="streaming"), share, salt
        )
        for generator, share in zip(generators, shares, strict=True)
        if share
    ]


def _decode_span() -> AbstractContextManager[Span | None]:
    """Open the span of one position of a batch; single prompts are too many."""
    if in_per_prompt_scope():
        return NO_SPAN
    return managed_span(RLSpanGroup.GENERATION, "rl.generation.decode")


def _record_usage(inputs: IntArray, decoder: Decoder, seconds: float) -> None:
    handle = get_telemetry_handle()
    if handle is None:
        return
    record_inference_metrics(
        handle.meter,
        model=MODEL,
        input_tokens=int(inputs.size),
        output_tokens=int(decoder.mask.sum()),
        provider_name="numpy",
    )
    record_rl_metrics({"rl.generation.batch.duration": seconds})
