"""What counts as a carrier among the arguments of a dispatch."""

from __future__ import annotations

import pytest

from tests.lint.carriers.helpers import codes, loop

CLEAN = {
    "prebuilt": "kwargs = trace_context_kwargs()\nworker.step.remote(1, **kwargs)",
    "merged": "kwargs = {'batch': 1, **trace_context_kwargs()}\nworker.step.remote(**kwargs)",
    "dict call": "kwargs = dict(batch=1, **trace_context_kwargs())\nworker.step.remote(**kwargs)",
    "dict of dict": "kwargs = dict(trace_context_kwargs(), a=1)\nworker.step.remote(**kwargs)",
    "union": "kwargs = {'a': 1} | trace_context_kwargs()\nworker.step.remote(**kwargs)",
    "updated": "kwargs = {}\nkwargs.update(trace_context_kwargs())\nworker.step.remote(**kwargs)",
    "augmented": "kwargs = {}\nkwargs |= trace_context_kwargs()\nworker.step.remote(**kwargs)",
    "item": "kwargs = {}\nkwargs['_otel_carrier'] = current_trace_carrier()\n"
    "worker.step.remote(**kwargs)",
    "conditional": "worker.step.remote(1, **(trace_context_kwargs() if batch else {}))",
    "explicit": "worker.step.remote(1, _otel_carrier=current_trace_carrier())",
    "helper": "worker.step.remote(1, **extra())",
    "unknown keywords": "worker.step.remote(1, **unknown_to_all())",
    "two spreads": "worker.step.remote(1, **{}, **trace_context_kwargs())",
}
FAULTY = {
    "empty dict": "kwargs = {}\nworker.step.remote(1, **kwargs)",
    "other keys": "kwargs = {'batch': 1}\nworker.step.remote(**kwargs)",
    "dict call": "kwargs = dict(batch=1)\nworker.step.remote(**kwargs)",
    "union": "kwargs = {'a': 1} | {'b': 2}\nworker.step.remote(**kwargs)",
    "updated": "kwargs = {}\nkwargs.update({'a': 1})\nworker.step.remote(**kwargs)",
    "item": "kwargs = {}\nkwargs['carrier'] = current_trace_carrier()\n"
    "worker.step.remote(**kwargs)",
    "conditional": "worker.step.remote(1, **({'a': 1} if batch else {}))",
    "explicit none": "worker.step.remote(1, _otel_carrier=None)",
    "helper": "worker.step.remote(1, **nothing())",
    "made too late": "kwargs = {}\nworker.step.remote(1, **kwargs)\n"
    "kwargs = trace_context_kwargs()",
}


def files(lines: str) -> dict[str, str]:
    body = "\n".join("    " + line for line in lines.splitlines())
    return loop(
        f"def extra():\n    return {{'a': 1, **trace_context_kwargs()}}\n\n"
        f"def nothing():\n    return {{'a': 1}}\n\n"
        f"def run(batch):\n    worker = Worker.remote()\n{body}\n"
    )


@pytest.mark.parametrize("case", CLEAN)
def test_carrier_is_seen(case: str) -> None:
    assert codes(files(CLEAN[case])) == []


@pytest.mark.parametrize("case", FAULTY)
def test_missing_carrier_is_found(case: str) -> None:
    assert codes(files(FAULTY[case])) == ["RLT301"]


def test_carrier_in_keywords_common_to_all_workers() -> None:
    clean = """
        def run(group, data):
            group.run_all_workers_multiple_data(
                "step", batch=data, common_kwargs={"a": 1, **trace_context_kwargs()}
            )
    """
    assert codes(loop(clean)) == []
    assert codes(loop(clean.replace(", **trace_context_kwargs()", ""))) == ["RLT301"]
