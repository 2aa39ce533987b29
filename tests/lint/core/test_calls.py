"""What calls run, and in which order it is found."""

from __future__ import annotations

from tests.lint.support import link

BASE = """
class Worker:
    def step(self):
        return self.work()

    def work(self):
        ...
"""
BELOW = """
from base import Worker


class {name}(Worker):
    def work(self):
        ...
"""


def test_what_a_call_may_run_comes_in_the_order_of_the_files() -> None:
    names = [f"Worker{number}" for number in range(12)]
    below = {f"part_{name.lower()}.py": BELOW.format(name=name) for name in reversed(names)}
    files = {"base.py": BASE, **below}
    linked = link(files)
    (site,) = linked.finder.named(["work"])
    found = list(linked.finder.called(site))
    places = [(one.module.path, one.node.at) for one in found]
    assert len(places) == len(names) + 1
    assert places == sorted(places)
