"""Carriers (RLT301, RLT302, RLT305), streams (RLT405), lists and maps (RLT203, RLT205, RLT501)."""

from __future__ import annotations

import pytest

from rltel_lint.config import Config
from tests.lint.fixes.support import check, codes, mended, text

CASES = {
    "the carrier on a call": (
        """
        import ray
        from rl_telemetry.instrumentation import accepts_trace_context

        @ray.remote
        class Policy:
            @accepts_trace_context
            def train(self, *batch): ...

        def run(batch):
            policy = Policy.remote()
            policy.train.remote()
            policy.train.remote(batch)  # one
            policy.train.options(num_returns=1).remote(
                batch,  # the batch
                1,  # how often
            )
            return policy.train.remote(
                batch,
                2
            )
        """,
        """
        import ray
        from rl_telemetry.instrumentation import accepts_trace_context, trace_context_kwargs

        @ray.remote
        class Policy:
            @accepts_trace_context
            def train(self, *batch): ...

        def run(batch):
            policy = Policy.remote()
            policy.train.remote(**trace_context_kwargs())
            policy.train.remote(batch, **trace_context_kwargs())  # one
            policy.train.options(num_returns=1).remote(
                batch,  # the batch
                1,  # how often
                **trace_context_kwargs(),
            )
            return policy.train.remote(
                batch,
                2,
                **trace_context_kwargs()
            )
        """,
        "RLT301",
        True,
    ),
    "the decorator, below what must stay outside": (
        """
        import ray
        from rl_telemetry.instrumentation import trace_context_kwargs

        @ray.remote
        class Policy:
            @classmethod
            @other
            def train(cls, batch): ...

            # Said above.
            def plan(self, batch):
                ...

        @ray.remote
        def score(batch): ...

        def run(batch):
            policy = Policy.remote()
            policy.plan.remote(batch, **trace_context_kwargs())
            return score.remote(batch, **trace_context_kwargs())
        """,
        """
        import ray
        from rl_telemetry.instrumentation import accepts_trace_context, trace_context_kwargs

        @ray.remote
        class Policy:
            @classmethod
            @other
            def train(cls, batch): ...

            # Said above.
            @accepts_trace_context
            def plan(self, batch):
                ...

        @ray.remote
        @accepts_trace_context
        def score(batch): ...

        def run(batch):
            policy = Policy.remote()
            policy.plan.remote(batch, **trace_context_kwargs())
            return score.remote(batch, **trace_context_kwargs())
        """,
        "RLT302",
        True,
    ),
    "the carrier of an actor": (
        """
        import ray
        from rl_telemetry.instrumentation import remote_trace_context

        @ray.remote
        class Collector:
            def __init__(self, buffer, trace_carrier=None):
                self._carrier = trace_carrier

            def collect(self):
                with remote_trace_context(self._carrier):
                    ...

        def run(buffer):
            return Collector.remote(buffer).collect.remote()
        """,
        """
        import ray
        from rl_telemetry.instrumentation import current_trace_carrier, remote_trace_context

        @ray.remote
        class Collector:
            def __init__(self, buffer, trace_carrier=None):
                self._carrier = trace_carrier

            def collect(self):
                with remote_trace_context(self._carrier):
                    ...

        def run(buffer):
            return Collector.remote(buffer, trace_carrier=current_trace_carrier()).collect.remote()
        """,
        "RLT305",
        False,
    ),
    "a stream of one loop": (
        """
        from rl_telemetry.instrumentation import umbrella_span

        def rollout(prompts):
            with umbrella_span("rollout", "rl.a.b"):
                first = True
                for prompt in prompts:
                    # Said here.
                    result = prompt.run()
                    if result is None:
                        continue

                    yield result
                    first = False  # done
                print(first)
        """,
        """
        from rl_telemetry.instrumentation import streaming_umbrella_span

        def rollout(prompts):
            with streaming_umbrella_span("rollout", "rl.a.b") as activate:
                with activate():
                    first = True
                for prompt in prompts:
                    # Said here.
                    with activate():
                        result = prompt.run()
                        if result is None:
                            continue

                    yield result
                    with activate():
                        first = False  # done
                with activate():
                    print(first)
        """,
        "RLT405",
        True,
    ),
    "a stream over what is called": (
        """
        from rl_telemetry.instrumentation import umbrella_span

        def rollout(engine):
            with umbrella_span("rollout", "rl.a.b"):
                for result in engine.generate():
                    yield result.sum()
                    print(result)
        """,
        """
        from rl_telemetry.instrumentation import streaming_umbrella_span

        def rollout(engine):
            with streaming_umbrella_span("rollout", "rl.a.b") as activate:
                for result in engine.generate():
                    yield result.sum()
                    with activate():
                        print(result)
        """,
        "RLT405",
        False,
    ),
    "a dead member that was spelled wrong": (
        """
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.registry import SpanRegistry

        SpanRegistry.register(
            "search",
            ["search", "rank"],
            presets={
                "deep": [
                    "search",  # the search
                    "serach",  # spelled wrong
                    "rank"
                ],
                "flat": ("search", "serach"),
            },
        )
        with managed_span("search", "rl.search.run"):
            with managed_span("rank", "rl.search.run"):
                ...
        """,
        """
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.registry import SpanRegistry

        SpanRegistry.register(
            "search",
            ["search", "rank"],
            presets={
                "deep": [
                    "search",  # the search
                    "rank"
                ],
                "flat": ("search",),
            },
        )
        with managed_span("search", "rl.search.run"):
            with managed_span("rank", "rl.search.run"):
                ...
        """,
        "RLT203",
        True,
    ),
    "dead entries of the bucket table": (
        """
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.registry import SpanRegistry

        SpanRegistry.register("search", ["search", "idle"])
        DEFAULT_GROUP_BUCKET = {
            "search": "productive",
            "serach": "productive",  # spelled wrong
            "idle": "overhead"
        }
        with managed_span("search", "rl.search.run"):
            ...
        """,
        """
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.registry import SpanRegistry

        SpanRegistry.register("search", ["search", "idle"])
        DEFAULT_GROUP_BUCKET = {
            "search": "productive"
        }
        with managed_span("search", "rl.search.run"):
            ...
        """,
        "RLT205",
        True,
    ),
    "a category that nothing measures": (
        """
        WALL_CLOCK_EFFICIENCY_CATEGORIES = [
            "idle/refit_bubble", "idle/validation"  # two
        ]

        def refit(timer):
            with timer.time("idle/refit_bubble"):
                ...
        """,
        """
        WALL_CLOCK_EFFICIENCY_CATEGORIES = [
            "idle/refit_bubble"  # two
        ]

        def refit(timer):
            with timer.time("idle/refit_bubble"):
                ...
        """,
        "RLT602",
        False,
    ),
    "a span that may be None": (
        """
        from rl_telemetry.instrumentation import managed_span

        def reward(batch):
            with managed_span("reward", "rl.a.b") as span:
                print(batch)
                span.add_event("scored")  # first
                # said of the second
                span.set_attribute(
                    "rl.n",
                    len(batch),
                )
                return batch
        """,
        """
        from rl_telemetry.instrumentation import managed_span

        def reward(batch):
            with managed_span("reward", "rl.a.b") as span:
                print(batch)
                if span is not None:
                    span.add_event("scored")  # first
                    # said of the second
                    span.set_attribute(
                        "rl.n",
                        len(batch),
                    )
                return batch
        """,
        "RLT801",
        True,
    ),
    "an evaluation without its scope": (
        """
        from rl_telemetry.instrumentation import managed_span, umbrella_span
        from rl_telemetry.span_groups import RLSpanGroup

        def validate(prompts):
            with umbrella_span(RLSpanGroup.U_EVALUATE, "rl.grpo.evaluate", n=1):
                with managed_span(RLSpanGroup.GENERATION, "rl.a.b"):
                    return prompts
        """,
        """
        from rl_telemetry.instrumentation import evaluate_span, managed_span
        from rl_telemetry.span_groups import RLSpanGroup

        def validate(prompts):
            with evaluate_span("grpo", n=1):
                with managed_span(RLSpanGroup.GENERATION, "rl.a.b"):
                    return prompts
        """,
        "RLT408",
        True,
    ),
    "a dead member that may be another group": (
        """
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.registry import SpanRegistry

        SpanRegistry.register("search", ["search"], presets={"deep": ["serach"]})
        with managed_span("search", "rl.search.run"):
            ...
        """,
        """
        from rl_telemetry.instrumentation import managed_span
        from rl_telemetry.registry import SpanRegistry

        SpanRegistry.register("search", ["search"], presets={"deep": []})
        with managed_span("search", "rl.search.run"):
            ...
        """,
        "RLT203",
        False,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_code_is_mended_and_nothing_else_changes(name: str) -> None:
    before, after, code, safe = CASES[name]
    files = {"train.py": text(before)}
    found = codes(check(files))
    assert found["train.py", code]
    if not safe:
        assert mended(files, code)[0] == files
    changed, done = mended(files, code, unsafe=not safe)
    assert changed["train.py"] == text(after)
    assert not done.refused
    compile(changed["train.py"], "train.py", "exec")
    left = codes(check(changed))
    assert not left["train.py", code]
    assert not left - found
    again, more = mended(changed, code, unsafe=not safe)
    assert again == changed
    assert not more.fixed


STREAMS = {
    "the span is used in the block": (" as span", "span.end()\n        yield 1"),
    "within try or another with": ("", "try:\n            yield 1\n        finally: ..."),
    "all that could run under the span": ("", "for i in range(3):\n            yield i"),
    "activate already means something": ("", "activate = 1\n        yield activate"),
}


@pytest.mark.parametrize("reason", STREAMS)
def test_a_stream_that_only_a_person_can_take_apart_is_left(reason: str) -> None:
    bound, body = STREAMS[reason]
    files = {
        "train.py": "from rl_telemetry.instrumentation import umbrella_span\n\n\n"
        f'def rollout():\n    with umbrella_span("rollout", "rl.a.b"){bound}:\n        {body}\n'
    }
    assert codes(check(files))["train.py", "RLT405"]
    changed, done = mended(files, "RLT405", unsafe=True)
    assert changed == files
    assert [(finding.code, reason in why) for finding, why in done.refused] == [("RLT405", True)]


GUARDS = {
    "is used for more": "n = span.get_span_context()",
    "a string of several lines": 'span.add_event("""a\n    b""")',
}


@pytest.mark.parametrize("reason", GUARDS)
def test_a_use_that_cannot_stand_under_a_test_is_left(reason: str) -> None:
    files = {
        "train.py": "from rl_telemetry.instrumentation import managed_span\n\n\n"
        'def reward():\n    with managed_span("reward", "rl.a.b") as span:\n'
        f"        {GUARDS[reason]}\n"
    }
    assert codes(check(files))["train.py", "RLT801"]
    changed, done = mended(files, "RLT801", unsafe=True)
    assert changed == files
    assert all(reason in why for _, why in done.refused)


def test_dead_keys_of_a_map() -> None:
    config = Config(vocabulary={"metrics": {"maps": {"LOGGER_KEYS": ["train"]}}})
    before = text(
        """
        LOGGER_KEYS = {
            "reward": ("mean_reward", "reward"),  # the first that is there
            "gone": ["x", "y"],
            "loss": ["loss"],
        }

        def train(logger, batch, step):
            logger.log_metrics({"reward": 1, "loss": 2}, step, prefix="train")
        """
    )
    changed, done = mended({"train.py": before}, config=config)
    assert {finding.code for finding in done.fixed} == {"RLT501"}
    safe = before.replace('("mean_reward", "reward")', '("reward",)')
    assert changed["train.py"] == safe
    assert codes(check(changed, config)) == {("train.py", "RLT501"): 1}
    changed, _ = mended(changed, config=config, unsafe=True)
    assert changed["train.py"] == safe.replace('    "gone": ["x", "y"],\n', "")
    assert not check(changed, config)


def test_both_halves_of_a_wire_are_mended_together() -> None:
    files = {
        "train.py": text(
            """
            import ray
            from rl_telemetry.instrumentation import trace_context_kwargs

            @ray.remote
            class Policy:
                def train(self, batch): ...

            def run(batch):
                policy = Policy.remote()
                policy.train.remote(batch)
                return policy.train.remote(batch, **trace_context_kwargs())
            """
        )
    }
    assert codes(check(files)) == {("train.py", "RLT302"): 1}
    changed, done = mended(files)
    assert [finding.code for finding in done.fixed] == ["RLT302"]
    assert not check(changed)
    assert changed["train.py"].count("**trace_context_kwargs()") == 2


def test_a_carrier_comes_from_the_module_that_the_project_uses() -> None:
    files = {
        "zoo/telemetry.py": "from rl_telemetry.instrumentation import (\n"
        "    accepts_trace_context, trace_context_kwargs\n)\n",
        "zoo/policy.py": text(
            """
            import ray
            from .telemetry import accepts_trace_context

            @ray.remote
            class Policy:
                @accepts_trace_context
                def train(self): ...
            """
        ),
        "zoo/loop.py": text(
            """
            \"\"\"The loop.\"\"\"

            from zoo.policy import Policy

            def run():
                policy = Policy.remote()
                return policy.train.remote()
            """
        ),
    }
    changed, done = mended(files)
    assert [finding.code for finding in done.fixed] == ["RLT301"]
    line = "from zoo.policy import Policy\nfrom zoo.telemetry import trace_context_kwargs\n"
    assert line in changed["zoo/loop.py"]
    assert not check(changed)
