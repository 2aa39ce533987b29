"""The parts of the trainer that do the arithmetic, without Ray."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from examples.grpo_ray import policy
from examples.grpo_ray.algorithms import GroupBaseline, advantages
from examples.grpo_ray.data_plane import BatchMeta
from examples.grpo_ray.replay_buffer import ReplayBuffer
from examples.grpo_ray.task import MAX_ANSWER, NUM_TOKENS, STOP, CipherTask, prompt_inputs
from examples.grpo_ray.timer import Timer
from rl_telemetry.instrumentation import Bucket


def sampled(weights: np.ndarray, generations: int = 4) -> tuple[CipherTask, policy.Decoder]:
    task = CipherTask.make(seed=3)
    inputs = prompt_inputs(task.prompts(5, step=0))
    draws = np.random.default_rng(0).random((5, generations, MAX_ANSWER))
    decoder = policy.Decoder(weights, inputs, draws)
    while not decoder.is_done:
        decoder.advance()
    return task, decoder


def perfect(task: CipherTask) -> np.ndarray:
    weights = policy.initial_weights()
    weights[np.arange(NUM_TOKENS), task.key] = 50.0
    return weights


def test_a_policy_that_knows_the_cipher_gets_the_full_reward() -> None:
    task, decoder = sampled(perfect(CipherTask.make(seed=3)))
    inputs = prompt_inputs(task.prompts(5, step=0))
    assert task.reward(inputs, decoder.answers[:, 0], decoder.mask[:, 0]).tolist() == [1.0] * 5
    assert (decoder.mask.sum(axis=2) == 1 + (inputs != STOP).sum(axis=1)[:, None]).all()


def test_letters_too_many_and_a_missing_stop_cost_reward() -> None:
    task = CipherTask.make(seed=3)
    inputs = prompt_inputs(["ab"])
    right = np.append(task.key[inputs[0, :2]], [STOP, 0, 0, 0, 0])[None]
    lengths = {3: 1.0, 2: 2 / 3, 4: 3 / 4, 0: 0.0}
    for length, reward in lengths.items():
        mask = (np.arange(MAX_ANSWER) < length)[None].astype(float)
        assert task.reward(inputs, right, mask)[0] == pytest.approx(reward)


def test_each_prompt_is_finished_once() -> None:
    task = CipherTask.make(seed=3)
    inputs = prompt_inputs(["abcde", "a"])
    decoder = policy.Decoder(perfect(task), inputs, np.full((2, 3, MAX_ANSWER), 0.5))
    order = []
    while not decoder.is_done:
        decoder.advance()
        order += list(decoder.newly_finished())
    assert order == [1, 0]


def test_the_policy_gradient_is_the_slope_of_the_loss() -> None:
    rng = np.random.default_rng(1)
    weights = rng.normal(size=(NUM_TOKENS, NUM_TOKENS))
    task, decoder = sampled(weights)
    inputs = np.repeat(prompt_inputs(task.prompts(5, step=0)), 4, axis=0)
    answers, mask = (part.reshape(20, -1) for part in (decoder.answers, decoder.mask))
    before = policy.token_logprobs(weights, inputs, answers) * mask
    batch = {
        "inputs": inputs,
        "answers": answers,
        "mask": mask,
        "logprobs": before,
        "generation_logprobs": before + 0.1 * rng.normal(size=before.shape) * mask,
        "reference_logprobs": before + 0.3 * rng.normal(size=before.shape) * mask,
        "advantages": rng.normal(size=20),
    }
    moved = weights + 0.2 * rng.normal(size=weights.shape)  # some tokens are clipped here
    computed = policy.policy_gradients(moved, batch, mask.sum())
    assert 0 < computed.clipped < 1
    for row, column in rng.integers(0, NUM_TOKENS, (20, 2)):
        step = np.zeros_like(moved)
        step[row, column] = 1e-6
        up = policy.policy_gradients(moved + step, batch, mask.sum()).loss
        down = policy.policy_gradients(moved - step, batch, mask.sum()).loss
        assert computed.weights[row, column] == pytest.approx((up - down) / 2e-6, abs=1e-6)


def test_the_value_gradient_is_the_slope_of_the_error() -> None:
    rng = np.random.default_rng(2)
    baseline, inputs = rng.normal(size=NUM_TOKENS), prompt_inputs(["abc", "ba", "cccc"])
    rewards = rng.random(3)
    gradient, _ = policy.value_gradient(baseline, inputs, rewards)
    for token in range(NUM_TOKENS):
        step = np.zeros(NUM_TOKENS)
        step[token] = 1e-6
        up = policy.value_gradient(baseline + step, inputs, rewards)[1]
        down = policy.value_gradient(baseline - step, inputs, rewards)[1]
        assert gradient[token] == pytest.approx((up - down) / 2e-6, abs=1e-6)


def test_an_answer_is_compared_with_its_own_group() -> None:
    rewards = np.array([1.0, 0.0, 0.5, 0.5])
    expected = GroupBaseline(2).expected(BatchMeta("step_0", ()), rewards)
    assert expected.tolist() == [0.5] * 4
    better = advantages(rewards, expected)
    assert better[0] > 0 > better[1]
    assert better[2] == better[3] == 0


def test_the_buffer_holds_groups_back_when_it_is_full() -> None:
    async def scenario() -> None:
        buffer = ReplayBuffer(capacity=2, groups_per_step=2)
        await buffer.add(0, lag=0)
        assert buffer.take(0) is None
        await buffer.add(0, lag=1)
        waiting = asyncio.create_task(buffer.add(1, lag=0))
        await asyncio.sleep(0)
        assert not waiting.done()
        assert buffer.take(0) == 0.5
        await asyncio.wait_for(waiting, 5)
        assert len(buffer) == 1
        assert buffer.seconds_full > 0

    asyncio.run(scenario())


def test_waits_count_in_the_bucket_of_their_category() -> None:
    timer = Timer()
    with timer.wait("idle/refit_bubble"), timer.time("unbucketed"):
        pass
    timer.add("generation", 2.0, "productive")
    assert set(timer.buckets) == {Bucket.IDLE, Bucket.PRODUCTIVE}
    assert timer.buckets[Bucket.PRODUCTIVE] == 2.0
    assert set(timer.take_step()) == {"idle/refit_bubble", "unbucketed", "generation"}
    assert timer.take_step() == {}
