"""What the inventory is told: actors, both halves, and what ties them."""

from __future__ import annotations

from tests.lint.carriers.helpers import IMPORTS, loop
from tests.lint.support import link

BODY = """
def run():
    worker = Worker.remote()
    worker.step.remote(1, **trace_context_kwargs())
    worker.step.remote(2)
    worker.step.remote(3, **unknown_to_all())
"""


def test_both_halves_are_linked() -> None:
    facts = link(loop(BODY)).carriers
    (method,) = facts.accepting
    assert (method.label, method.accepts, method.place.path) == ("Worker.step", "yes", "workers.py")
    assert [d.sent for d in facts.dispatches] == ["yes", "no", "unknown"]
    assert all(d.methods == (method,) and d.targets.certain for d in facts.dispatches)
    assert facts.dispatches_of(method) == list(facts.dispatches)


def test_actors_and_their_dispatched_methods() -> None:
    (actor,) = link(loop(BODY)).carriers.actors
    assert (actor.cls.name, actor.place.path, actor.methods) == ("Worker", "workers.py", ("step",))
    assert link({"plain.py": IMPORTS + "class Worker:\n    pass\n"}).carriers.actors == ()


def test_whether_carriers_are_in_use() -> None:
    assert link(loop(BODY)).carriers.in_use
    assert not link({"plain.py": IMPORTS + "class Worker:\n    pass\n"}).carriers.in_use


def test_tracing_without_carriers_in_the_vocabulary() -> None:
    facts = link(loop(BODY), profile="opentelemetry").carriers
    assert (facts.accepting, facts.dispatches, facts.constructions) == ((), (), ())


def test_the_library_itself_is_not_judged() -> None:
    inside = loop(BODY)
    files = {f"rl_telemetry/{path}": text for path, text in inside.items()}
    assert link({"rl_telemetry/__init__.py": "", **files}).carriers.accepting == ()
