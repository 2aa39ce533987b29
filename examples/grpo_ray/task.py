"""The task: decipher a word letter by letter, then stop. An answer can be verified by rule."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

LETTERS = "abcdefghijkl"
#: What the policy reads after the last letter, and what it must write there.
STOP = len(LETTERS)
NUM_TOKENS = len(LETTERS) + 1
MIN_LETTERS, MAX_LETTERS = 2, 5
#: Longest answer; one that has not stopped by then is cut off.
MAX_ANSWER = MAX_LETTERS + 2


class Tokenizer:
    """Letters to token ids and back."""

    def encode(self, text: str) -> IntArray:
        """Return the token ids of ``text``.

        Raises:
            ValueError: If a letter is not in the alphabet.
        """
        return np.array([LETTERS.index(letter) for letter in text], dtype=np.int64)

    def decode(self, tokens: IntArray) -> str:
        """Return the text of token ids, up to the first ``STOP``."""
        letters = []
        for token in tokens.tolist():
            if token == STOP:
                break
            letters.append(LETTERS[token])
        return "".join(letters)


@dataclass(frozen=True)
class CipherTask:
    """Prompts and their verification.

    Attributes:
        key: The token that each token stands for.
        seed: Seed of the prompts.
    """

    key: IntArray
    seed: int

    @classmethod
    def make(cls, seed: int) -> CipherTask:
        """Return the task of a seed: another seed has another cipher."""
        letters = np.random.default_rng([seed, 1]).permutation(len(LETTERS))
        return cls(np.append(letters, STOP), seed)

    def prompts(self, count: int, step: int, *, held_out: bool = False) -> list[str]:
        """Return the prompts of a step.

        Args:
            count: How many.
            step: Number of the step; the same step has the same prompts.
            held_out: Prompts of the validation set instead.
        """
        rng = np.random.default_rng([self.seed, 3 if held_out else 2, step])
        lengths = rng.integers(MIN_LETTERS, MAX_LETTERS + 1, count)
        return ["".join(rng.choice(list(LETTERS), length)) for length in lengths]

    def reward(self, inputs: IntArray, answers: IntArray, mask: FloatArray) -> FloatArray:
        """Verify answers.

        Args:
            inputs: What the policy read at each position, ``(samples, positions)``.
            answers: What it wrote.
            mask: 1 where it wrote something, else 0.

        Returns:
            For each answer the share of right letters, the final stop included; positions that
            are missing or too many count as wrong.
        """
        expected_length = 1 + np.sum(inputs != STOP, axis=1)
        positions = np.arange(inputs.shape[1])
        right = (self.key[inputs] == answers) & (positions < expected_length[:, None])
        longest = np.maximum(expected_length, mask.sum(axis=1))
        share: FloatArray = np.sum(right * mask, axis=1) / longest
        return share


def prompt_inputs(prompts: list[str]) -> IntArray:
    """Return what the policy reads for each prompt, padded with ``STOP`` to ``MAX_ANSWER``."""
    tokenizer = Tokenizer()
    inputs = np.full((len(prompts), MAX_ANSWER), STOP, dtype=np.int64)
    for row, prompt in zip(inputs, prompts, strict=True):
        row[: len(prompt)] = tokenizer.encode(prompt)
    return inputs
