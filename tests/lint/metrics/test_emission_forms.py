"""Every way to emit a key is seen: the same program with another key is reported."""

from __future__ import annotations

import pytest

from rltel_lint.rules.metrics import KeyNeverLogged, KeyUnderOtherPrefix
from tests.lint.support import lint

ROWS = """
from rl_telemetry.metrics import TeedMetric, register_teed_metrics

register_teed_metrics([TeedMetric("loss", "rl.policy.loss")])
"""

FORMS = {
    "dict display": """
        def train(logger, step):
            logger.log_metrics({"KEY": 1.0}, step, prefix="train")
        """,
    "display in a variable": """
        def train(logger, step):
            metrics = {"KEY": 1.0}
            logger.log_metrics(metrics, step, prefix="train")
        """,
    "annotated variable": """
        def train(logger, step):
            metrics: dict[str, float] = {"KEY": 1.0}
            logger.log_metrics(metrics, step, prefix="train")
        """,
    "dict call": """
        def train(logger, step):
            logger.log_metrics(dict(KEY=1.0), step, prefix="train")
        """,
    "dict of pairs": """
        def train(logger, step):
            logger.log_metrics(dict([("KEY", 1.0)]), step, prefix="train")
        """,
    "dict of zip": """
        def train(logger, step, values):
            logger.log_metrics(dict(zip(["KEY"], values)), step, prefix="train")
        """,
    "fromkeys": """
        def train(logger, step):
            logger.log_metrics(dict.fromkeys(("KEY",), 0.0), step, prefix="train")
        """,
    "subscript store": """
        def train(logger, step):
            metrics = {}
            metrics["KEY"] = 1.0
            logger.log_metrics(metrics, step, prefix="train")
        """,
    "augmented subscript": """
        from collections import defaultdict

        def train(logger, step):
            metrics = defaultdict(float)
            metrics["KEY"] += 1.0
            logger.log_metrics(metrics, step, prefix="train")
        """,
    "annotated subscript": """
        def train(logger, step):
            metrics = {}
            metrics["KEY"]: float = 1.0
            logger.log_metrics(metrics, step, prefix="train")
        """,
    "tuple of subscripts": """
        def train(logger, step):
            metrics = {}
            metrics["KEY"], metrics["other"] = 1.0, 2.0
            logger.log_metrics(metrics, step, prefix="train")
        """,
    "update with keyword": """
        def train(logger, step):
            metrics = {}
            metrics.update(KEY=1.0)
            logger.log_metrics(metrics, step, prefix="train")
        """,
    "update with dict": """
        def train(logger, step):
            metrics = {}
            metrics.update({"KEY": 1.0})
            logger.log_metrics(metrics, step, prefix="train")
        """,
    "setdefault": """
        def train(logger, step):
            metrics = {}
            metrics.setdefault("KEY", 1.0)
            logger.log_metrics(metrics, step, prefix="train")
        """,
    "or-assignment": """
        def train(logger, step):
            metrics = {}
            metrics |= {"KEY": 1.0}
            logger.log_metrics(metrics, step, prefix="train")
        """,
    "union": """
        def train(logger, step):
            logger.log_metrics({"other": 0.0} | {"KEY": 1.0}, step, prefix="train")
        """,
    "unpacking in a display": """
        def train(logger, step):
            part = {"KEY": 1.0}
            logger.log_metrics({"other": 0.0, **part}, step, prefix="train")
        """,
    "comprehension over a literal": """
        def train(logger, step, value):
            logger.log_metrics({name: value(name) for name in ("KEY", "x")}, step, prefix="train")
        """,
    "comprehension over rows": """
        def train(logger, step):
            rows = {name: value for name, value in (("KEY", 1.0), ("x", 2.0))}
            logger.log_metrics(rows, step, prefix="train")
        """,
    "comprehension over a mapping": """
        def train(logger, step):
            raw = {"KEY": [1.0]}
            logger.log_metrics({k: sum(v) for k, v in raw.items()}, step, prefix="train")
        """,
    "loop over a literal": """
        def train(logger, step, value):
            metrics = {}
            for name in ["KEY", "x"]:
                metrics[name] = value(name)
            logger.log_metrics(metrics, step, prefix="train")
        """,
    "loop over rows of a constant": """
        NAMES = (("KEY", 1.0), ("x", 2.0))

        def train(logger, step):
            metrics = {}
            for name, value in NAMES:
                metrics[name] = value
            logger.log_metrics(metrics, step, prefix="train")
        """,
    "loop over a mapping": """
        def train(logger, step):
            raw = {"KEY": 1.0}
            metrics = {}
            for name, value in sorted(raw.items()):
                metrics[name] = value
            logger.log_metrics(metrics, step, prefix="train")
        """,
    "constant": """
        NAME = "KEY"

        def train(logger, step):
            logger.log_metrics({NAME: 1.0}, step, prefix="train")
        """,
    "class constant": """
        class Names:
            FIRST = "KEY"

        def train(logger, step):
            metrics = {}
            metrics[Names.FIRST] = 1.0
            logger.log_metrics(metrics, step, prefix="train")
        """,
    "enum member": """
        from enum import Enum

        class Names(Enum):
            FIRST = "KEY"

        def train(logger, step):
            logger.log_metrics({Names.FIRST.value: 1.0}, step, prefix="train")
        """,
    "concatenation": """
        def train(logger, step):
            logger.log_metrics({"" + "KEY": 1.0}, step, prefix="train")
        """,
    "returned and logged": """
        def evaluate():
            return {"KEY": 1.0}

        def train(logger, step):
            logger.log_metrics(evaluate(), step, prefix="train")
        """,
    "returned and merged in": """
        def evaluate():
            out = {}
            out["KEY"] = 1.0
            return out

        def train(logger, step):
            metrics = {"x": 1.0}
            metrics.update(evaluate())
            logger.log_metrics(metrics, step, prefix="train")
        """,
    "returned in a tuple": """
        def evaluate():
            return {"KEY": 1.0}, {"seconds": 2.0}

        def train(logger, step):
            metrics, timings = evaluate()
            logger.log_metrics(metrics, step, prefix="train")
        """,
    "returned by a coroutine": """
        async def evaluate():
            return {"KEY": 1.0}

        async def train(logger, step):
            logger.log_metrics(await evaluate(), step, prefix="train")
        """,
    "returned by a method": """
        class Policy:
            def train(self):
                return {"KEY": 1.0}

        def run(logger, step):
            policy = Policy()
            logger.log_metrics(policy.train(), step, prefix="train")
        """,
    "returned by an actor": """
        import ray

        @ray.remote
        class Policy:
            def train(self):
                return {"KEY": 1.0}

        def run(logger, step):
            policy = Policy.remote()
            logger.log_metrics(ray.get(policy.train.remote()), step, prefix="train")
        """,
    "property": """
        class Policy:
            @property
            def stats(self):
                return {"KEY": 1.0}

        def run(logger, step):
            policy = Policy()
            logger.log_metrics(policy.stats, step, prefix="train")
        """,
    "attribute mapping": """
        class Trainer:
            def __init__(self, logger):
                self.metrics = {}
                self.logger = logger

            def learn(self):
                self.metrics["KEY"] = 1.0

            def report(self, step):
                self.logger.log_metrics(self.metrics, step, prefix="train")
        """,
    "attribute of another object": """
        class Trainer:
            def __init__(self):
                self.metrics = {}

        def run(logger, step):
            trainer = Trainer()
            trainer.metrics["KEY"] = 1.0
            logger.log_metrics(trainer.metrics, step, prefix="train")
        """,
    "dataclass fields": """
        from dataclasses import asdict, dataclass

        @dataclass
        class Result:
            KEY: float

        def train(logger, step):
            result = Result(1.0)
            logger.log_metrics(asdict(result), step, prefix="train")
        """,
    "named tuple fields": """
        from typing import NamedTuple

        class Result(NamedTuple):
            KEY: float

        def train(logger, step):
            logger.log_metrics(Result(1.0)._asdict(), step, prefix="train")
        """,
    "typed dict": """
        from typing import TypedDict

        class Result(TypedDict, total=False):
            KEY: float

        def train(logger, step):
            result: Result = Result(KEY=1.0)
            logger.log_metrics(result, step, prefix="train")
        """,
    "keyword splat": """
        def log(logger, step, **values):
            logger.log_metrics(values, step, prefix="train")

        def train(logger, step):
            log(logger, step, KEY=1.0)
        """,
    "splatted mapping": """
        def log(logger, step, **values):
            logger.log_metrics(values, step, prefix="train")

        def train(logger, step):
            log(logger, step, **{"KEY": 1.0})
        """,
    "helper that writes": """
        def add(metrics, name, value):
            metrics[name] = value

        def train(logger, step):
            metrics = {}
            add(metrics, "x", 1.0)
            add(metrics, "KEY", 1.0)
            logger.log_metrics(metrics, step, prefix="train")
        """,
    "helper that writes and returns": """
        def add(metrics):
            metrics["KEY"] = 1.0
            return metrics

        def train(logger, step):
            logger.log_metrics(add({"x": 1.0}), step, prefix="train")
        """,
    "nested function": """
        def train(logger, step):
            metrics = {}

            def note(value):
                metrics["KEY"] = value

            note(1.0)
            logger.log_metrics(metrics, step, prefix="train")
        """,
    "alias": """
        def train(logger, step):
            metrics = {}
            same = metrics
            same["KEY"] = 1.0
            logger.log_metrics(metrics, step, prefix="train")
        """,
    "copy": """
        import copy

        def train(logger, step):
            metrics = {"KEY": 1.0}
            logger.log_metrics(copy.deepcopy(metrics.copy()), step, prefix="train")
        """,
    "conditional": """
        def train(logger, step, full):
            metrics = {"KEY": 1.0} if full else {}
            logger.log_metrics(metrics, step, prefix="train")
        """,
    "module mapping": """
        STATS = {}

        def learn():
            STATS["KEY"] = 1.0

        def train(logger, step):
            logger.log_metrics(STATS, step, prefix="train")
        """,
    "script": """
        from mylib import make_logger

        logger = make_logger()
        metrics = {"KEY": 1.0}
        logger.log_metrics(metrics, 1, prefix="train")
        """,
    "wrapper around the logger": """
        class Reporter:
            def __init__(self, logger):
                self.logger = logger

            def report(self, values, step):
                self.logger.log_metrics(values, step, prefix="train")

        def train(reporter: Reporter, step):
            reporter.report({"KEY": 1.0}, step)
        """,
    "wrapper on an object of unknown class": """
        class Reporter:
            def __init__(self, logger):
                self.logger = logger

            def report(self, values, step):
                self.logger.log_metrics(values, step, prefix="train")

        def train(reporter, step):
            reporter.report({"KEY": 1.0}, step)
        """,
    "one value at a time": """
        def scalar(logger, name, value, step):
            logger.log_metrics({name: value}, step, prefix="train")

        def train(logger, step):
            scalar(logger, "KEY", 1.0, step)
        """,
    "unknown function in between": """
        from mylib import average

        def train(logger, step, workers):
            results = [{"KEY": 1.0} for _ in workers]
            logger.log_metrics(reduce_all(results), step, prefix="train")

        reduce_all = globals()["reduce_all"]
        """,
    "reduced over workers": """
        import ray

        def work():
            return {"KEY": [1.0]}

        def train(logger, step, group):
            metrics = {}
            for result in ray.get(group.run_all("work")):
                metrics.update(result)
            logger.log_metrics(metrics, step, prefix="train")
        """,
    "appended to a mapping of lists": """
        def train(logger, step, batches):
            sums = {}
            for batch in batches:
                for name, value in batch.items():
                    sums.setdefault(name, []).append(value)
            logger.log_metrics(sums, step, prefix="train")

        def batch():
            return {"KEY": 1.0}
        """,
    "added by a decorator": """
        def timed(function):
            def inner():
                out = function()
                out["KEY"] = 1.0
                return out
            return inner

        @timed
        def step():
            return {"x": 1.0}

        def train(logger, n):
            logger.log_metrics(step(), n, prefix="train")
        """,
    "added by a derived class": """
        class Base:
            def stats(self):
                return {"x": 1.0}

            def report(self, logger, step):
                logger.log_metrics(self.stats(), step, prefix="train")

        class Derived(Base):
            def stats(self):
                return {**super().stats(), "KEY": 1.0}
        """,
    "abstract method": """
        from abc import ABC, abstractmethod

        class Base(ABC):
            @abstractmethod
            def stats(self):
                '''Returns the metrics.'''

            def report(self, logger, step):
                logger.log_metrics(self.stats(), step, prefix="train")

        class Derived(Base):
            def stats(self):
                return {"KEY": 1.0}
        """,
    "rebound through global": """
        STATS = {}

        def learn():
            global STATS
            STATS = {"KEY": 1.0}

        def train(logger, step):
            learn()
            logger.log_metrics(STATS, step, prefix="train")
        """,
    "field given to a constructor": """
        from dataclasses import dataclass, field

        @dataclass
        class Result:
            metrics: dict = field(default_factory=dict)

        def train(logger, step):
            result = Result(metrics={"KEY": 1.0})
            logger.log_metrics(result.metrics, step, prefix="train")
        """,
    "field of a named tuple": """
        from typing import NamedTuple

        class Result(NamedTuple):
            metrics: dict

        def make():
            return Result({"KEY": 1.0})

        def train(logger, step):
            logger.log_metrics(make().metrics, step, prefix="train")
        """,
    "parameter of a constructor": """
        class Trainer:
            def __init__(self, metrics):
                self.metrics = metrics

            def report(self, logger, step):
                logger.log_metrics(self.metrics, step, prefix="train")

        trainer = Trainer({"KEY": 1.0})
        """,
    "generator": """
        def steps():
            yield {"KEY": 1.0}

        def train(logger):
            for step, metrics in enumerate(steps()):
                logger.log_metrics(metrics, step, prefix="train")
        """,
    "imported from another module": """
        from pkg.stats import evaluate, extra

        def train(logger, step):
            metrics = evaluate()
            extra(metrics, "KEY")
            logger.log_metrics(metrics, step, prefix="train")
        """,
    "partial of a helper": """
        from functools import partial

        def add(metrics, name):
            metrics[name] = 1.0

        def train(logger, step):
            metrics = {}
            note = partial(add, metrics)
            note("KEY")
            logger.log_metrics(metrics, step, prefix="train")
        """,
    "in a try block": """
        def train(logger, step, model):
            try:
                metrics = model.step()
            except ValueError:
                metrics = {}
            finally:
                metrics["KEY"] = 1.0
            logger.log_metrics(metrics, step, prefix="train")
        """,
    "reduced over what was collected": """
        def train(logger, step, batches):
            collected = []
            for batch in batches:
                collected.append({"KEY": batch.mean()})
            metrics = {k: sum(one[k] for one in collected) for k in collected[0]}
            logger.log_metrics(metrics, step, prefix="train")
        """,
    "match statement": """
        def train(logger, step, kind):
            metrics = {}
            match kind:
                case "full":
                    metrics["KEY"] = 1.0
                case _:
                    metrics["x"] = 1.0
            logger.log_metrics(metrics, step, prefix="train")
        """,
    "walrus": """
        def train(logger, step):
            if (metrics := {"KEY": 1.0}):
                logger.log_metrics(metrics, step, prefix="train")
        """,
    "logger as an actor": """
        def train(logger, step):
            logger.log_metrics.remote({"KEY": 1.0}, step, prefix="train")
        """,
    "bound logger method": """
        def train(logger, step):
            log = logger.log_metrics
            log({"KEY": 1.0}, step, prefix="train")
        """,
    "partial of the logger": """
        from functools import partial

        def train(logger, step):
            log = partial(logger.log_metrics, prefix="train")
            log({"KEY": 1.0}, step)
        """,
    "logger handed on": """
        from mylib import loop

        def metrics():
            return {"KEY": 1.0}

        def train(logger):
            loop(metrics, logger.log_metrics)
        """,
    "tee called by the project's own logger": """
        from rl_telemetry.metrics import tee_rl_metrics_to_otel

        class Logger:
            def log(self, metrics, step, prefix):
                tee_rl_metrics_to_otel(metrics, prefix)

        def train(logger, step):
            logger.log({"KEY": 1.0}, step, prefix="train")
        """,
    "added by the logger itself": """
        class Logger:
            def __init__(self, backends):
                self.backends = backends

            def log_metrics(self, metrics, step, prefix=""):
                metrics = {**metrics, "KEY": 1.0}
                for backend in self.backends:
                    backend.log_metrics(metrics, step, prefix)

        def train(logger: Logger, step):
            logger.log_metrics({"x": 1.0}, step, prefix="train")
        """,
}
CODES = (KeyNeverLogged, KeyUnderOtherPrefix)


STATS = """
def evaluate():
    return {"x": 1.0}

def extra(metrics, name):
    metrics.setdefault(name, 1.0)
"""


@pytest.mark.parametrize("form", FORMS)
def test_form_is_seen(form: str) -> None:
    files = {"train.py": FORMS[form].replace("KEY", "loss"), "pkg/stats.py": STATS}
    found = lint({**files, "rows.py": ROWS}, *CODES)
    assert [finding.message for finding in found] == []


@pytest.mark.parametrize("form", FORMS)
def test_form_with_another_key_is_reported(form: str) -> None:
    files = {"train.py": FORMS[form].replace("KEY", "cost"), "pkg/stats.py": STATS}
    found = lint({**files, "rows.py": ROWS}, *CODES)
    assert [(f.code, f.place.path, f.place.line) for f in found] == [("RLT501", "rows.py", 3)]


SLASHED = {
    "f-string": """
        def train(logger, step, name):
            logger.log_metrics({f"{name}/KEY": 1.0}, step, prefix="train")
        """,
    "f-string of the keys of a mapping": """
        def evaluate():
            return {"KEY": 1.0}

        def train(logger, step):
            metrics = {}
            for name, value in evaluate().items():
                metrics[f"critic/{name}"] = value
            logger.log_metrics(metrics, step, prefix="train")
        """,
    "comprehension that renames": """
        def train(logger, step):
            raw = {"KEY": 1.0}
            logger.log_metrics({f"critic/{k}": v for k, v in raw.items()}, step, prefix="train")
        """,
    "helper that renames": """
        def under(prefix, values):
            return {f"{prefix}/{name}": value for name, value in values.items()}

        def train(logger, step):
            logger.log_metrics(under("critic", {"KEY": 1.0}), step, prefix="train")
        """,
    "concatenation": """
        def train(logger, step):
            head = "critic/"
            logger.log_metrics({head + "KEY": 1.0}, step, prefix="train")
        """,
    "format": """
        def train(logger, step):
            logger.log_metrics({"{}/{}".format("critic", "KEY"): 1.0}, step, prefix="train")
        """,
    "percent": """
        def train(logger, step):
            logger.log_metrics({"critic/%s" % "KEY": 1.0}, step, prefix="train")
        """,
    "join": """
        def train(logger, step):
            logger.log_metrics({"/".join(("critic", "KEY")): 1.0}, step, prefix="train")
        """,
    "built where the flow is lost": """
        def train(logger, step, results):
            metrics = results.merged()
            logger.log_metrics(metrics, step, prefix="train")

        def one(value):
            return {"critic/" + "KEY": value}
        """,
}


@pytest.mark.parametrize("form", SLASHED)
@pytest.mark.parametrize(("key", "codes"), [("loss", []), ("cost", ["RLT501"])])
def test_key_is_built_from_pieces(form: str, key: str, codes: list[str]) -> None:
    rows = ROWS.replace('"loss"', '"critic/loss"')
    found = lint({"train.py": SLASHED[form].replace("KEY", key), "rows.py": rows}, *CODES)
    assert [finding.code for finding in found] == codes
