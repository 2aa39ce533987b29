"""Every way to declare a row is read, and the finding stands at the key."""

from __future__ import annotations

import pytest

from rltel_lint.rules.metrics import KeyNeverLogged, KeyUnderOtherPrefix
from tests.lint.support import link, lint, marked, reported

CODES = (KeyNeverLogged, KeyUnderOtherPrefix)
TRAIN = """
def train(logger, step):
    logger.log_metrics({"loss": 1.0, "reward": 2.0}, step, prefix="train")
"""

ROWS = {
    "positional": """
        from rl_telemetry.metrics import TeedMetric, register_teed_metrics
        register_teed_metrics([
            TeedMetric("loss", "rl.policy.loss"),
            TeedMetric("cost", "rl.cost"),  # <- RLT501
        ])
        """,
    "keywords": """
        from rl_telemetry.metrics import TeedMetric
        ROWS = [TeedMetric(
            name="rl.cost",
            logger_key="cost",  # <- RLT501
        ), TeedMetric(name="rl.policy.loss", logger_key="loss")]
        """,
    "alias of the class": """
        from rl_telemetry.metrics import TeedMetric as Row
        ROWS = (Row("loss", "rl.policy.loss"), Row("cost", "rl.cost"))  # <- RLT501
        """,
    "through the module": """
        from rl_telemetry import metrics
        metrics.register_teed_metrics([metrics.TeedMetric("cost", "rl.cost")])  # <- RLT501
        """,
    "subclass": """
        from dataclasses import dataclass
        from rl_telemetry.metrics import TeedMetric

        @dataclass(frozen=True)
        class StepMetric(TeedMetric):
            owner: str = ""

        ROWS = (
            StepMetric("loss", "rl.policy.loss"),
            StepMetric("cost", "rl.cost"),  # <- RLT501
        )
        """,
    "partial": """
        from functools import partial
        from rl_telemetry.metrics import TeedMetric
        counter = partial(TeedMetric, kind="counter")
        ROWS = (counter("loss", "rl.policy.loss"), counter("cost", "rl.cost"))  # <- RLT501
        """,
    "helper": """
        from rl_telemetry.metrics import TeedMetric

        def row(key, series):
            return TeedMetric(key, f"rl.{series}")

        ROWS = (
            row("loss", "policy.loss"),
            row("cost", "cost"),  # <- RLT501
        )
        """,
    "comprehension over rows": """
        from rl_telemetry.metrics import TeedMetric
        ROWS = [
            TeedMetric(key, name)
            for key, name in (
                ("loss", "rl.policy.loss"),
                ("cost", "rl.cost"),  # <- RLT501
            )
        ]
        """,
    "comprehension over a constant": """
        from rl_telemetry.metrics import TeedMetric
        _TABLE = {
            "loss": "rl.policy.loss",
            "cost": "rl.cost",  # <- RLT501
        }
        ROWS = [TeedMetric(key, name) for key, name in _TABLE.items()]
        """,
    "unpacked rows": """
        from rl_telemetry.metrics import TeedMetric
        _TABLE = (
            ("loss", "rl.policy.loss", "gauge"),
            ("cost", "rl.cost", "counter"),  # <- RLT501
        )
        ROWS = [TeedMetric(*row) for row in _TABLE]
        """,
    "loop": """
        from rl_telemetry.metrics import TeedMetric, register_teed_metrics
        for key, name in [
            ("loss", "rl.policy.loss"),
            ("cost", "rl.cost"),  # <- RLT501
        ]:
            register_teed_metrics([TeedMetric(key, name)])
        """,
    "constant": """
        from rl_telemetry.metrics import TeedMetric
        _KEY = "cost"
        ROWS = [TeedMetric(_KEY, "rl.cost")]  # <- RLT501
        """,
    "f-string": """
        from rl_telemetry.metrics import TeedMetric
        _PART = "co"
        ROWS = [TeedMetric(f"{_PART}st", "rl.cost")]  # <- RLT501
        """,
    "one by one": """
        from rl_telemetry.metrics import TeedMetric, register_teed_metrics

        def declare():
            register_teed_metrics((TeedMetric("cost", "rl.cost"),))  # <- RLT501
        """,
}


@pytest.mark.parametrize("how", ROWS)
def test_row_is_read(how: str) -> None:
    files = {"rows.py": ROWS[how], "train.py": TRAIN}
    assert reported(lint(files, *CODES)) == marked(files)


@pytest.mark.parametrize("how", ROWS)
def test_row_whose_key_is_logged_is_fine(how: str) -> None:
    files = {"rows.py": ROWS[how], "train.py": TRAIN.replace('"reward"', '"cost"')}
    assert lint(files, *CODES) == []


def test_finding_names_key_series_and_nearest_logged_key() -> None:
    rows = """
        from rl_telemetry.metrics import TeedMetric
        ROWS = [TeedMetric("mean_reward", "rl.reward.mean")]
        """
    (finding,) = lint({"rows.py": rows, "train.py": TRAIN}, *CODES)
    assert finding.message == (
        'nothing logs "mean_reward" under "train" or the empty prefix, so "rl.reward.mean" stays '
        'empty; did you mean "reward"?'
    )
    assert (finding.place.line, finding.place.column, finding.place.end_column) == (2, 20, 33)


def test_without_any_logger_call_the_finding_says_so() -> None:
    rows = """
        from rl_telemetry.metrics import TeedMetric
        ROWS = [TeedMetric("reward", "rl.reward.mean"), TeedMetric("loss", "rl.loss")]
        """
    found = lint({"rows.py": rows}, *CODES)
    assert len(found) == 2
    assert "no call of log_metrics or tee_rl_metrics_to_otel was found" in found[0].message
    assert "vocabulary.metrics.loggers" in found[0].message
    assert lint({"rows.py": rows, "train.py": TRAIN}, *CODES) == []


def test_own_row_class_and_own_logger_named_in_the_vocabulary() -> None:
    config = """
        [tool.rltel-lint.vocabulary.metrics.teed]
        Teed = "(series, logger_key)"
        [tool.rltel-lint.vocabulary.metrics.loggers]
        record = "(values, prefix='train')"
        """
    rows = """
        class Teed:
            def __init__(self, series, logger_key): ...

        ROWS = [Teed("rl.reward.mean", "score"), Teed("rl.loss", "loss")]
        """
    train = 'def train(book):\n    book.record({"loss": 1})\n'
    files = {"pyproject.toml": config, "rows.py": rows, "train.py": train}
    assert [(f.code, f.place.column) for f in lint(files, *CODES)] == [("RLT501", 32)]
    files["train.py"] = train.replace('"loss": 1', '"loss": 1, "score": 2')
    assert lint(files, *CODES) == []


def test_recorded_rows_are_for_the_inventory_only() -> None:
    rows = """
        from rl_telemetry.metrics import MetricSpec, RecordedMetric
        SPECS = [MetricSpec("depth", "rl.queue.depth", "gauge", "{item}")]
        OTHERS = [RecordedMetric("rl.batch.duration", "histogram", unit="s")]
        """
    files = {"rows.py": rows, "train.py": TRAIN}
    assert lint(files, *CODES) == []
    recorded = link(files).metrics.recorded
    assert [(row.key, row.name, row.kind, row.unit) for row in recorded] == [
        ("depth", "rl.queue.depth", "gauge", "{item}"),
        ("", "rl.batch.duration", "histogram", "s"),
    ]


def test_rows_of_a_vendored_library_are_an_offer() -> None:
    rows = """
        from rl_telemetry.metrics.declarations import TeedMetric
        ROWS = [TeedMetric("cost", "rl.cost")]
        """
    files = {
        "rl_telemetry/__init__.py": "",
        "rl_telemetry/metrics/__init__.py": "",
        "rl_telemetry/metrics/declarations.py": "class TeedMetric: ...",
        "rl_telemetry/metrics/standard.py": rows,
        "train.py": TRAIN,
    }
    assert lint(files, *CODES) == []
    files["pkg/rows.py"] = rows
    assert reported(lint(files, *CODES)) == {("pkg/rows.py", 2, "RLT501")}


def test_inventory_of_rows_and_logger_calls() -> None:
    rows = """
        from rl_telemetry.metrics import TeedMetric
        ROWS = [TeedMetric("loss", "rl.policy.loss", "gauge", "1")]
        """
    metrics = link({"rows.py": rows, "train.py": TRAIN}).metrics
    (row,) = metrics.teed
    assert (row.key, row.name, row.kind, row.unit) == ("loss", "rl.policy.loss", "gauge", "1")
    assert str(row.place) == "rows.py:2"
    (logged,) = metrics.logged
    assert (logged.prefix.exact, str(logged.place)) == ("train", "train.py:2")
    keys = metrics.keys(logged)
    assert sorted(key.value.exact or "" for key in keys.found) == ["loss", "reward"]
    assert keys.closed
