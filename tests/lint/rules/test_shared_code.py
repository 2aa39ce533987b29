"""RLT107: near misses and their faulty twins."""

from __future__ import annotations

import textwrap

import pytest

from rltel_lint.rules.shared import SpanOfAnotherAlgorithm
from tests.lint.support import lint, marked, project, reported

_HEAD = """
from rl_telemetry.instrumentation import managed_span, umbrella_span
from rl_telemetry.span_groups import RLSpanGroup
"""

_LOOPS = """
--- grpo.py
from rl_telemetry.instrumentation import umbrella_span
from rl_telemetry.span_groups import RLSpanGroup
from shared import collect

def train():
    with umbrella_span(RLSpanGroup.U_STEP, "rl.grpo.step"):
        collect()
--- ppo.py
from rl_telemetry.instrumentation import umbrella_span
from rl_telemetry.span_groups import RLSpanGroup
from shared import collect

def train():
    with umbrella_span(RLSpanGroup.U_STEP, "rl.ppo.step"):
        collect("ppo")
"""

_CASES = {
    "a function of both": """
        def collect(algorithm="grpo"):
            with umbrella_span(RLSpanGroup.U_ROLLOUT, "rl.grpo.collect"):  # <- RLT107
                return []
        """,
    "the algorithm is a parameter": """
        def collect(algorithm="grpo"):
            with umbrella_span(RLSpanGroup.U_ROLLOUT, f"rl.{algorithm}.collect"):
                return []
        """,
    "a conditional name": """
        def collect(algorithm="grpo"):
            name = "rl.ppo.collect" if algorithm == "ppo" else "rl.grpo.collect"
            with umbrella_span(RLSpanGroup.U_ROLLOUT, name):
                return []
        """,
    "a branch for each": """
        def collect(algorithm="grpo"):
            if algorithm == "ppo":
                with umbrella_span(RLSpanGroup.U_ROLLOUT, "rl.ppo.collect"):
                    return []
            with umbrella_span(RLSpanGroup.U_ROLLOUT, "rl.shared.collect"):
                return []
        """,
    "another condition": """
        def collect(algorithm="grpo"):
            if len(algorithm) > 3:
                with umbrella_span(RLSpanGroup.U_ROLLOUT, "rl.ppo.collect"):  # <- RLT107
                    return []
        """,
    "a subsystem is no algorithm": """
        def collect(algorithm="grpo"):
            with umbrella_span(RLSpanGroup.U_ROLLOUT, "rl.vllm.collect"):
                return []
        """,
    "through a helper": """
        def collect(algorithm="grpo"):
            return Collector().run()

        class Collector:
            def run(self):
                with umbrella_span(RLSpanGroup.U_ROLLOUT, "rl.grpo.collect"):  # <- RLT107
                    return []
        """,
    "an actor": """
        import ray

        @ray.remote
        class Collector:
            def run(self):
                def work():
                    with umbrella_span(RLSpanGroup.U_ROLLOUT, "rl.grpo.collect"):  # <- RLT107
                        return []
                return work()

        def collect(algorithm="grpo"):
            return Collector.options(name="c").remote()
        """,
    "never run by another": """
        def collect(algorithm="grpo"):
            return []

        def collect_grpo():
            with umbrella_span(RLSpanGroup.U_ROLLOUT, "rl.grpo.collect"):
                return []
        """,
    "a class of one algorithm": """
        def collect(algorithm="grpo"):
            return []

        class Collector:
            name = "rl.base.collect"

            def run(self):
                with umbrella_span(RLSpanGroup.U_ROLLOUT, self.name):
                    return []

        class PPOCollector(Collector):
            name = "rl.ppo.collect"
        """,
    "a constant": """
        SPAN = "rl.grpo.collect"

        def collect(algorithm="grpo"):
            with umbrella_span(RLSpanGroup.U_ROLLOUT, SPAN):  # <- RLT107
                return []
        """,
}


@pytest.mark.parametrize("case", _CASES)
def test_shared_code(case: str) -> None:
    files = project(_LOOPS)
    files["shared.py"] = _HEAD + textwrap.dedent(_CASES[case])
    assert reported(lint(files, SpanOfAnotherAlgorithm)) == marked(files)


def test_one_algorithm_calls_a_helper_of_another() -> None:
    files = project("""
--- grpo.py
from rl_telemetry.instrumentation import umbrella_span
from rl_telemetry.span_groups import RLSpanGroup

def train():
    with umbrella_span(RLSpanGroup.U_STEP, "rl.grpo.step"):
        validate()

def validate():
    with umbrella_span(RLSpanGroup.U_ROLLOUT, "rl.grpo.validate"):  # <- RLT107
        return []
--- ppo.py
from grpo import validate
from rl_telemetry.instrumentation import umbrella_span
from rl_telemetry.span_groups import RLSpanGroup

def train():
    with umbrella_span(RLSpanGroup.U_STEP, "rl.ppo.step"):
        validate()
""")
    assert reported(lint(files, SpanOfAnotherAlgorithm)) == marked(files)
    files["ppo.py"] = files["ppo.py"].replace("        validate()", "        pass")
    assert lint(files, SpanOfAnotherAlgorithm) == []


def test_a_run_of_one_algorithm_by_a_launcher_is_fine() -> None:
    files = project(_LOOPS)
    files["shared.py"] = "def collect(algorithm=''):\n    return []\n"
    files["run.py"] = "import grpo\nimport ppo\n\ndef main():\n    grpo.train()\n    ppo.train()\n"
    assert lint(files, SpanOfAnotherAlgorithm) == []


_ONE_LOOP = """
--- run.py
import argparse
from collector import Collector
from rl_telemetry.instrumentation import umbrella_span
from rl_telemetry.span_groups import RLSpanGroup

def train(config):
    with umbrella_span(RLSpanGroup.U_JOB, f"rl.{config.algorithm}.job"):
        if config.algorithm == "ppo":
            values()
        Collector(config.algorithm).collect()

def values():
    return []

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--algorithm", choices=("grpo", "ppo"))
    train(parser.parse_args())
--- collector.py
from rl_telemetry.instrumentation import umbrella_span
from rl_telemetry.span_groups import RLSpanGroup

class Collector:
    def __init__(self, algorithm):
        self.algorithm = algorithm

    def collect(self):
        with umbrella_span(RLSpanGroup.U_ROLLOUT, f"rl.{self.algorithm}.collect"):
            return self.one()

    def one(self):
        with umbrella_span(RLSpanGroup.U_PER_PROMPT, f"rl.{self.algorithm}.one"):
            return 1
"""


def test_one_loop_for_all_algorithms() -> None:
    files = project(_ONE_LOOP)
    assert lint(files, SpanOfAnotherAlgorithm) == []
    files["collector.py"] = files["collector.py"].replace(
        'f"rl.{self.algorithm}.one"):', '"rl.grpo.one"):  # <- RLT107'
    )
    assert reported(lint(files, SpanOfAnotherAlgorithm)) == marked(files)
    files["collector.py"] = files["collector.py"].replace(
        'f"rl.{self.algorithm}.collect"):', '"rl.grpo.collect"):  # <- RLT107'
    )
    assert reported(lint(files, SpanOfAnotherAlgorithm)) == marked(files)
    files["collector.py"] = files["collector.py"].replace("rl.grpo.", "rl.policy.")
    assert lint(files, SpanOfAnotherAlgorithm) == []


def test_code_of_one_algorithm_that_the_loop_chooses_is_fine() -> None:
    files = project(_ONE_LOOP)
    body = files["run.py"].replace(
        "def values():\n    return []",
        "def values():\n"
        '    with umbrella_span(RLSpanGroup.U_ROLLOUT, "rl.ppo.values"):\n        return []',
    )
    files["run.py"] = body
    assert lint(files, SpanOfAnotherAlgorithm) == []
    files["run.py"] = body.replace('        if config.algorithm == "ppo":\n    ', "").replace(
        '"rl.ppo.values"):', '"rl.ppo.values"):  # <- RLT107'
    )
    assert reported(lint(files, SpanOfAnotherAlgorithm)) == marked(files)
