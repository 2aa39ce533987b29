"""RLT802 to RLT804: near misses and their faulty twins."""

from __future__ import annotations

import textwrap

import pytest

from rltel_lint.rules.lifecycle import ActorNeverInitialises, EntryWithoutDriver, KilledWithoutFlush
from tests.lint.support import lint, marked, project, reported

_ACTOR = """
--- workers.py
import ray
from rl_telemetry.setup import init_telemetry_worker, shutdown_telemetry

@ray.remote
class Collector:
    def __init__(self):
        init_telemetry_worker()

    def stop(self):
        self._deliver()

    def _deliver(self):
        shutdown_telemetry()

    def pause(self):
        return None

@ray.remote
class Buffer:
    def put(self, item):
        return item

--- run.py
import asyncio
import ray
from rl_telemetry.contrib.ray import flush_actor, flush_and_kill
from workers import Buffer, Collector
"""

_KILLS = {
    "a plain kill": """
        def run():
            collector = Collector.remote()
            ray.kill(collector)  # <- RLT803
        """,
    "an actor without telemetry": """
        def run():
            buffer = Buffer.remote()
            ray.kill(buffer)
        """,
    "flushed by its own method": """
        def run():
            collector = Collector.remote()
            ray.get(collector.stop.remote())
            ray.kill(collector)
        """,
    "another method is no flush": """
        def run():
            collector = Collector.remote()
            ray.get(collector.pause.remote())
            ray.kill(collector)  # <- RLT803
        """,
    "flushed with options": """
        def run():
            collector = Collector.remote()
            ray.get(collector.stop.options(name="stop").remote())
            ray.kill(collector)
        """,
    "flushed from outside": """
        def run():
            collector = Collector.remote()
            flush_actor(collector)
            ray.kill(collector)
        """,
    "flushed too late": """
        def run():
            collector = Collector.remote()
            ray.kill(collector)  # <- RLT803
            flush_actor(collector)
        """,
    "flushed on another way out": """
        def run(bad):
            collector = Collector.remote()
            if bad:
                flush_actor(collector)
                return
            ray.kill(collector)  # <- RLT803
        """,
    "flushed in the other branch": """
        def run(bad):
            collector = Collector.remote()
            if bad:
                flush_actor(collector)
            else:
                ray.kill(collector)  # <- RLT803
        """,
    "flushed in one branch, killed after it": """
        def run(on):
            collector = Collector.remote()
            if on:
                flush_actor(collector)
            ray.kill(collector)
        """,
    "flushed before a return that goes through the finally": """
        def run(bad):
            collector = Collector.remote()
            try:
                if bad:
                    flush_actor(collector)
                    return
                flush_actor(collector)
            finally:
                ray.kill(collector)
        """,
    "flushed in a helper": """
        def deliver(actor):
            ray.get(actor.stop.remote())

        def run():
            collector = Collector.remote()
            deliver(collector)
            ray.kill(collector)
        """,
    "flushed in a closure": """
        def run():
            collector = Collector.remote()

            def deliver():
                ray.get(collector.stop.remote())

            deliver()
            ray.kill(collector)
        """,
    "a closure that is not called": """
        def run():
            collector = Collector.remote()

            def deliver():
                ray.get(collector.stop.remote())

            ray.kill(collector)  # <- RLT803
        """,
    "killed in a helper, flushed by the caller": """
        def reap(actor):
            ray.kill(actor)

        def run():
            collector = Collector.remote()
            ray.get(collector.stop.remote())
            reap(collector)
        """,
    "killed in a helper": """
        def reap(actor):
            ray.kill(actor)  # <- RLT803

        def run():
            reap(Collector.remote())
        """,
    "killed in a loop over rows": """
        def run():
            for actor, name in ((Collector.remote(), "collector"), (Buffer.remote(), "buffer")):
                ray.kill(actor)  # <- RLT803
        """,
    "flushed in the loop": """
        def run():
            for actor in [Collector.remote() for _ in range(2)]:
                ray.get(actor.stop.remote())
                ray.kill(actor)
        """,
    "a list in a comprehension": """
        def run():
            actors = [Collector.remote() for _ in range(2)]
            [ray.kill(actor) for actor in actors]  # <- RLT803
        """,
    "another one is flushed": """
        def run():
            collector = Collector.remote()
            other = Collector.remote()
            ray.get(other.stop.remote())
            flush_actor(other)
            ray.kill(other)
            ray.kill(collector)  # <- RLT803
        """,
    "each one is flushed": """
        def run():
            collector = Collector.remote()
            other = Collector.remote()
            ray.get(other.stop.remote())
            flush_actor(collector)
            ray.kill(other)
            ray.kill(collector)
        """,
    "flushed under another name": """
        def run():
            collector = Collector.remote()
            same = collector
            flush_actor(same)
            ray.kill(collector)
        """,
    "a field in a comprehension": """
        from dataclasses import dataclass

        @dataclass
        class Parts:
            actors: list

        def stop(parts: Parts):
            [ray.kill(actor) for actor in parts.actors]  # <- RLT803

        def run():
            stop(Parts(actors=[Collector.remote()]))
        """,
    "under another name": """
        def reap(actors):
            for actor in actors:
                doomed = actor
                ray.kill(doomed)  # <- RLT803

        def run():
            reap([Collector.remote()])
        """,
    "under another name, flushed": """
        def reap(actors):
            for actor in actors:
                doomed = actor
                ray.get(doomed.stop.remote())
                ray.kill(doomed)

        def run():
            reap([Collector.remote()])
        """,
    "under a name of several": """
        def reap(actors, other):
            for actor in actors:
                doomed = actor if other is None else other
                doomed = other
                ray.kill(doomed)

        def run(other):
            reap([Collector.remote()], other)
        """,
    "a list that a helper kills": """
        def reap(actors):
            for actor in actors:
                ray.kill(actor)  # <- RLT803

        def run():
            reap([Collector.remote()])
        """,
    "a list of several lists": """
        def run():
            collectors = [Collector.remote() for _ in range(2)]
            actors = [*collectors, Buffer.remote()]
            for actor in actors:
                ray.kill(actor)  # <- RLT803
        """,
    "appended to a list": """
        def run():
            actors = []
            actors.append(Collector.remote())
            for actor in actors:
                ray.kill(actor)  # <- RLT803
        """,
    "built by a dispatcher": """
        from rl_telemetry.instrumentation import dispatch_with_trace_context

        def build():
            actor_class = Collector.options(num_cpus=0)
            return dispatch_with_trace_context(actor_class)

        def run():
            collector = build()
            ray.kill(collector)  # <- RLT803
        """,
    "a field of a dataclass": """
        from dataclasses import dataclass
        from typing import Any

        @dataclass
        class Parts:
            actors: list[Any]

        def build():
            return Parts(actors=[Collector.remote()])

        def stop(parts: Parts):
            for actor in parts.actors:
                ray.kill(actor)  # <- RLT803
        """,
    "a field of a dataclass, flushed": """
        from dataclasses import dataclass
        from typing import Any

        @dataclass
        class Parts:
            actors: list[Any]

        def build():
            return Parts(actors=[Collector.remote()])

        def stop(parts: Parts):
            for actor in parts.actors:
                flush_actor(actor)
                ray.kill(actor)
        """,
    "an attribute": """
        class Trainer:
            def __init__(self):
                self.collector = Collector.remote()

            def close(self):
                ray.kill(self.collector)  # <- RLT803
        """,
    "an attribute that the caller flushed": """
        class Trainer:
            def __init__(self):
                self.collector = Collector.remote()

            def _kill(self):
                ray.kill(self.collector)

            def close(self):
                ray.get(self.collector.stop.remote())
                self._kill()
        """,
    "the kill is the fallback of the flush": """
        def run():
            collector = Collector.remote()
            try:
                ray.get(collector.stop.remote(), timeout=10)
            except Exception:
                ray.kill(collector)
        """,
    "flush and kill": """
        def run():
            flush_and_kill(Collector.remote())
        """,
    "a handle of unknown class": """
        def run(name):
            ray.kill(ray.get_actor(name))
        """,
    "killed under another name": """
        from ray import kill as reap

        def run():
            reap(Collector.remote())  # <- RLT803
        """,
    "dispatched by name": """
        def run(group):
            collector = Collector.remote()
            group.run_all_workers_single_data("stop")
            ray.kill(collector)
        """,
}


@pytest.mark.parametrize("case", _KILLS)
def test_kill(case: str) -> None:
    files = project(_ACTOR)
    files["run.py"] += _dedent(_KILLS[case])
    assert reported(lint(files, KilledWithoutFlush)) == marked(files)


@pytest.mark.parametrize(
    ("start", "clean"),
    [
        ("def stop(self):\n        shutdown_telemetry()", True),
        ("async def stop(self):\n        await asyncio.to_thread(shutdown_telemetry)", True),
        ("def stop(self):\n        atexit.register(shutdown_telemetry)", True),
        ("def stop(self):\n        print(self)", False),
    ],
)
def test_flush_passed_uncalled(start: str, clean: bool) -> None:
    text = f"""
--- run.py
import asyncio
import atexit
import ray
from rl_telemetry.setup import init_telemetry_worker, shutdown_telemetry

@ray.remote
class Collector:
    def __init__(self):
        init_telemetry_worker()

    {start}

def run():
    collector = Collector.remote()
    collector.stop.remote()
    ray.kill(collector)
"""
    assert (lint(project(text), KilledWithoutFlush) == []) is clean


_SPAN = """
            with managed_span(RLSpanGroup.REWARD, "rl.grpo.reward"):
                return batch
"""

_ACTORS = {
    "never": """
        @ray.remote
        class Scorer:  # <- RLT802
            def score(self, batch):{span}
        """,
    "in the constructor": """
        @ray.remote
        class Scorer:
            def __init__(self):
                init_telemetry_worker(rank=0)

            def score(self, batch):{span}
        """,
    "in a base class": """
        class Base:
            def __init__(self):
                init_telemetry_worker()

        @ray.remote
        class Scorer(Base):
            def score(self, batch):{span}
        """,
    "a base class that does not": """
        class Base:
            def __init__(self):
                print("started")

        @ray.remote
        class Scorer(Base):  # <- RLT802
            def score(self, batch):{span}
        """,
    "several with one constructor": """
        class Base:
            def __init__(self):
                print("started")

            def score(self, batch):{span}

        @ray.remote
        class Scorer(Base):  # <- RLT802
            pass

        @ray.remote
        class FastScorer(Base):
            pass
        """,
    "in a mixin": """
        class Telemetry:
            def start_telemetry(self):
                init_telemetry_worker()

        class Base:
            pass

        @ray.remote
        class Scorer(Telemetry, Base):
            def __init__(self):
                self.start_telemetry()

            def score(self, batch):{span}
        """,
    "by a decorator": """
        @ray.remote
        class Scorer:
            @traced_worker_init("rl.scorer.load_model")
            def __init__(self):
                self.model = None

            def score(self, batch):{span}
        """,
    "by the project's own decorator": """
        def started(init):
            def wrapper(self, *args):
                init_telemetry_worker()
                init(self, *args)
            return wrapper

        @ray.remote
        class Scorer:
            @started
            def __init__(self):
                self.model = None

            def score(self, batch):{span}
        """,
    "by another decorator": """
        def logged(init):
            def wrapper(self, *args):
                print("starting")
                init(self, *args)
            return wrapper

        @ray.remote
        class Scorer:  # <- RLT802
            @logged
            def __init__(self):
                self.model = None

            def score(self, batch):{span}
        """,
    "in a helper": """
        def boot():
            init_telemetry_worker()

        @ray.remote
        class Scorer:
            def __init__(self):
                boot()

            def score(self, batch):{span}
        """,
    "a base from outside": """
        from serving import Worker

        @ray.remote
        class Scorer(Worker):
            def score(self, batch):{span}
        """,
    "no actor": """
        class Scorer:
            def score(self, batch):{span}
        """,
    "made an actor when built": """
        class Scorer:  # <- RLT802
            def score(self, batch):{span}

        def build():
            return ray.remote(Scorer).remote()
        """,
    "the span is in what it calls": """
        def score(batch):{function_span}

        @ray.remote
        class Scorer:  # <- RLT802
            def score(self, batch):
                return score(batch)
        """,
    "no span": """
        @ray.remote
        class Scorer:
            def score(self, batch):
                return batch
        """,
}


@pytest.mark.parametrize("case", _ACTORS)
def test_actor(case: str) -> None:
    text = _dedent(_ACTORS[case].replace("{span}", _SPAN.rstrip().replace("\n", "\n        ")))
    text = text.replace("{function_span}", _SPAN.rstrip().replace("\n        ", "\n"))
    head = """
--- workers.py
import ray
from rl_telemetry.instrumentation import managed_span, traced_worker_init
from rl_telemetry.setup import init_telemetry_worker
from rl_telemetry.span_groups import RLSpanGroup
"""
    files = project(head)
    files["workers.py"] += text
    assert reported(lint(files, ActorNeverInitialises)) == marked(files)


_ENTRIES = {
    "started in what main calls": """
        --- run.py
        from loop import train
        from setup_run import boot

        def main():
            boot()
            train(3)

        if __name__ == "__main__":
            main()
        --- setup_run.py
        from rl_telemetry.setup import init_telemetry_driver

        def boot():
            init_telemetry_driver({}, "grpo")
        """,
    "not started": """
        --- run.py
        from loop import train

        def main():  # <- RLT804
            train(3)

        if __name__ == "__main__":
            main()
        """,
    "imported, not called": """
        --- run.py
        from loop import train
        from rl_telemetry.setup import init_telemetry_driver

        def main():  # <- RLT804
            train(3)

        if __name__ == "__main__":
            main()
        """,
    "started under the guard": """
        --- run.py
        from loop import train
        from rl_telemetry.setup import init_telemetry_driver

        if __name__ == "__main__":
            init_telemetry_driver({}, "grpo")
            train(3)
        """,
    "main of another script": """
        --- run.py
        from loop import train
        from rl_telemetry.setup import init_telemetry_driver

        def main():
            init_telemetry_driver({}, "grpo")
            train(3)

        if __name__ == "__main__":
            main()
        --- run_vlm.py
        from run import main as grpo_main

        if __name__ == "__main__":
            grpo_main()
        """,
    "a tool without a loop": """
        --- tool.py
        from loop import setup

        def main():
            setup()

        if __name__ == "__main__":
            main()
        """,
    "a span outside loops": """
        --- tool.py
        from loop import generate

        def main():
            generate()

        if __name__ == "__main__":
            main()
        """,
    "no entry point": """
        --- lib.py
        from loop import train

        def main():
            train(3)
        """,
    "run in an event loop": """
        --- run.py
        import asyncio
        from loop import train

        async def work():  # <- RLT804
            train(3)

        if __name__ == "__main__":
            asyncio.run(work())
        """,
    "the loop is in a class": """
        --- run.py
        from loop import train

        class Trainer:
            def __init__(self, steps):
                train(steps)

        def main():  # <- RLT804
            Trainer(3)

        if __name__ == "__main__":
            main()
        """,
    "started in a constructor": """
        --- run.py
        from loop import train
        from rl_telemetry.setup import init_telemetry_driver

        class Trainer:
            def __init__(self, steps):
                self.boot()
                train(steps)

            def boot(self):
                init_telemetry_driver({}, "grpo")

        def main():
            Trainer(3)

        if __name__ == "__main__":
            main()
        """,
    "a package that is run": """
        --- app/__init__.py
        --- app/__main__.py
        try:
            from app.cli import main
        except ImportError:
            raise SystemExit("needs more") from None

        raise SystemExit(main())
        --- app/cli.py
        from loop import train

        def main():  # <- RLT804
            train(3)
            return 0
        """,
    "a package that is run and starts": """
        --- app/__init__.py
        --- app/__main__.py
        from app.cli import main

        raise SystemExit(main())
        --- app/cli.py
        from loop import train
        from rl_telemetry.setup import init_telemetry_driver

        def main():
            init_telemetry_driver({}, "grpo")
            train(3)
            return 0
        """,
    "the loop itself": """
        --- run.py
        from loop import train

        if __name__ == "__main__":
            train(3)  # <- RLT804
        """,
    "names under the guard": """
        --- run.py
        from loop import train

        def main():  # <- RLT804
            train(3)
            return 0

        if __name__ == "__main__":
            code = main()
            raise SystemExit(code)
        """,
    "a console script": """
        --- app/__init__.py
        --- app/cli.py
        from loop import train

        def main():  # <- RLT804
            train(3)
        --- pyproject.toml
        [project.scripts]
        train = "app.cli:main"
        """,
    "a console script that starts": """
        --- app/__init__.py
        --- app/cli.py
        from loop import train
        from rl_telemetry.setup import init_telemetry_driver

        def main():
            init_telemetry_driver({}, "grpo")
            train(3)
        --- pyproject.toml
        [project.scripts]
        train = "app.cli:main"
        """,
    "started on import": """
        --- run.py
        import boot
        from loop import train

        def main():
            train(3)

        if __name__ == "__main__":
            main()
        --- boot.py
        from rl_telemetry.setup import init_telemetry_driver

        init_telemetry_driver({}, "grpo")
        """,
    "the loop is in an actor": """
        --- run.py
        import ray
        from loop import train

        @ray.remote
        class Controller:
            def run(self):
                train(3)

        def main():
            controller = Controller.remote()
            ray.get(controller.run.remote())

        if __name__ == "__main__":
            main()
        """,
}


@pytest.mark.parametrize("case", _ENTRIES)
def test_entry(case: str) -> None:
    files = project(_ENTRIES[case])
    files["loop.py"] = _dedent("""
        from rl_telemetry.instrumentation import managed_span, umbrella_span
        from rl_telemetry.span_groups import RLSpanGroup

        def setup():
            return None

        def generate():
            with managed_span(RLSpanGroup.GENERATION, "rl.grpo.generation"):
                return None

        def train(steps):
            for step in range(steps):
                with umbrella_span(RLSpanGroup.U_STEP, "rl.grpo.step"):
                    print(step)
        """)
    assert reported(lint(files, EntryWithoutDriver)) == marked(files)


def _dedent(text: str) -> str:
    return textwrap.dedent(text)
