"""However a method is dispatched, a missing carrier is found and a present one is seen."""

from __future__ import annotations

import pytest

from tests.lint.carriers.helpers import CARRIER, check, codes, loop

# Each body dispatches Worker.step once; SEND is the carrier, or nothing.
FORMS = {
    "handle in a variable": """
        def run():
            worker = Worker.remote()
            return worker.step.remote(1, SEND)
    """,
    "built with options": """
        def run():
            worker = Worker.options(num_gpus=1).remote()
            return worker.step.remote(1, SEND)
    """,
    "method with options": """
        def run():
            worker = Worker.remote()
            return worker.step.options(num_returns=2).remote(1, SEND)
    """,
    "remote in a variable": """
        def run():
            worker = Worker.remote()
            send = worker.step.remote
            return send(1, SEND)
    """,
    "handle in an attribute": """
        class Driver:
            def __init__(self):
                self.worker = Worker.remote()

            def run(self):
                return self.worker.step.remote(1, SEND)
    """,
    "handle in a list": """
        def run():
            workers = [Worker.remote() for _ in range(2)]
            return workers[0].step.remote(1, SEND)
    """,
    "loop over handles": """
        def run():
            workers = [Worker.remote(), Worker.remote()]
            for worker in workers:
                worker.step.remote(1, SEND)
    """,
    "appended handles": """
        def run():
            workers = []
            for _ in range(2):
                workers.append(Worker.remote())
            for index, worker in enumerate(workers):
                worker.step.remote(index, SEND)
    """,
    "handles in a dict": """
        class Driver:
            def __init__(self):
                self.workers = {}

            def add(self, name):
                self.workers[name] = Worker.remote()

            def run(self):
                for name, worker in self.workers.items():
                    worker.step.remote(name, SEND)
    """,
    "list comprehension": """
        def run():
            workers = [Worker.remote() for _ in range(2)]
            return ray.get([w.step.remote(i, SEND) for i, w in enumerate(workers)])
    """,
    "handle as a parameter": """
        def run(worker):
            return worker.step.remote(1, SEND)

        def main():
            run(Worker.remote())
    """,
    "handle of unknown class": """
        def run():
            return ray.get_actor("worker").step.remote(1, SEND)
    """,
    "annotated handle": """
        def run(worker: Worker):
            return worker.step.remote(1, SEND)
    """,
    "stored method": """
        def run():
            worker = Worker.remote()
            method = worker.step
            return method.remote(1, SEND)
    """,
    "getattr": """
        def run():
            worker = Worker.remote()
            return getattr(worker, "step").remote(1, SEND)
    """,
    "getattr of a constant": """
        METHOD = "step"

        def run():
            worker = Worker.remote()
            return getattr(worker, METHOD).remote(1, SEND)
    """,
    "loop over methods": """
        def run():
            worker = Worker.remote()
            for method in (worker.step,):
                method.remote(1, SEND)
    """,
    "by name": """
        def run(group):
            return group.run_all_workers_single_data("step", SEND)
    """,
    "by name, method in a variable": """
        def run(group):
            call_all = group.run_all_workers_single_data
            return call_all("step", SEND)
    """,
    "by keyword": """
        def run(group):
            return group.run_all_workers_single_data(method_name="step", SEND)
    """,
    "by name in a variable": """
        def run(group, fast):
            name = "step"
            return group.run_all_workers_single_data(name, SEND)
    """,
    "helper that takes the name": """
        def call(worker, name, *args, **kwargs):
            return getattr(worker, name).remote(*args, **kwargs)

        def run():
            return call(Worker.remote(), "step", 1, SEND)
    """,
    "helper of helpers": """
        class Group:
            def __init__(self):
                self.workers = [Worker.remote()]

            def _each(self, method, **kwargs):
                return [getattr(worker, method).remote(**kwargs) for worker in self.workers]

            def call(self, name, **kwargs):
                return self._each(name, **kwargs)

        def run(group: Group):
            return group.call(name="step", SEND)
    """,
    "helper that takes the method": """
        def call(method, *args, **kwargs):
            return method.remote(*args, **kwargs)

        def run():
            worker = Worker.remote()
            return call(worker.step, 1, SEND)
    """,
    "helper that forwards the keywords": """
        def step_all(workers, **kwargs):
            return [worker.step.remote(1, **kwargs) for worker in workers]

        def run():
            return step_all([Worker.remote()], SEND)
    """,
    "closure": """
        def make(worker):
            def call():
                return worker.step.remote(1, SEND)
            return call

        def run():
            return make(Worker.remote())()
    """,
}


@pytest.mark.parametrize("form", FORMS)
def test_a_sent_carrier_is_seen(form: str) -> None:
    assert codes(loop(FORMS[form].replace("SEND", CARRIER))) == []


@pytest.mark.parametrize("form", FORMS)
def test_a_missing_carrier_is_found(form: str) -> None:
    body = FORMS[form].replace(", SEND)", ")").replace("SEND)", ")")
    assert codes(loop(body)) == ["RLT301"]


def test_the_finding_stands_at_the_call_that_can_add_the_carrier() -> None:
    body = FORMS["helper of helpers"].replace(", SEND)", ")")
    files = loop(body)
    (finding,) = check(files)
    assert 'group.call(name="step")' in files["loop.py"].splitlines()[finding.place.line - 1]
    assert finding.message.startswith("Worker.step accepts a trace context")
    assert [near.place.path for near in finding.related] == ["workers.py"]


def test_range_is_the_call() -> None:
    files = loop(
        """
        def run():
            worker = Worker.remote()
            return worker.step.remote(
                1,
            )
        """
    )
    (finding,) = check(files)
    first = next(
        i for i, line in enumerate(files["loop.py"].splitlines(), 1) if "worker.step" in line
    )
    place = finding.place
    assert (place.line, place.column, place.end_line, place.end_column) == (
        first,
        12,
        first + 2,
        6,
    )


def test_dispatcher_adds_the_carrier() -> None:
    clean = """
        def run():
            worker = Worker.remote()
            return dispatch_with_trace_context(worker.step, 1)
    """
    assert codes(loop(clean)) == []
    assert codes(
        loop(clean.replace("dispatch_with_trace_context(worker.step, 1)", "worker.step.remote(1)"))
    ) == ["RLT301"]


def test_own_dispatcher_adds_the_carrier() -> None:
    clean = """
        def send(method, *args):
            return dispatch_with_trace_context(method, *args)

        def run():
            return send(Worker.remote().step, 1)
    """
    assert codes(loop(clean)) == []
    faulty = clean.replace("dispatch_with_trace_context(method, *args)", "method.remote(*args)")
    assert codes(loop(faulty)) == ["RLT301"]


def test_helper_that_adds_the_carrier_itself() -> None:
    clean = """
        def call(worker, name, *args):
            return getattr(worker, name).remote(*args, **trace_context_kwargs())

        def run():
            return call(Worker.remote(), "step", 1)
    """
    assert codes(loop(clean)) == []
    assert codes(loop(clean.replace(", **trace_context_kwargs()", ""))) == ["RLT301"]


def test_worker_group_that_adds_the_carrier_itself() -> None:
    clean = """
        class Group:
            def __init__(self):
                self.workers = [Worker.remote()]

            def run_all_workers_single_data(self, method_name, *args, **kwargs):
                kwargs.update(trace_context_kwargs())
                return [getattr(w, method_name).remote(*args, **kwargs) for w in self.workers]

        def run(group):
            return group.run_all_workers_single_data("step", 1)
    """
    assert codes(loop(clean)) == []
    faulty = clean.replace("kwargs.update(trace_context_kwargs())", "pass")
    assert codes(loop(faulty)) == ["RLT301"]


def test_alias_of_the_vocabulary() -> None:
    clean = """
        from rl_telemetry import instrumentation as tracing
        from rl_telemetry.instrumentation import trace_context_kwargs as carrier

        def run():
            worker = Worker.remote()
            worker.step.remote(1, **tracing.trace_context_kwargs())
            return worker.step.remote(1, **carrier())
    """
    assert codes(loop(clean)) == []
    assert codes(loop(clean.replace(", **carrier()", ""))) == ["RLT301"]
