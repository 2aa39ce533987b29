"""Names that come in through parameters: the callers decide, and unseen callers are thought of."""

from __future__ import annotations

import pytest

from tests.lint.core.support import named

HEAD = "from rl_telemetry.instrumentation import span_cm\n"

KNOWN = {
    "positional": ("def f(n):\n    span_cm(n)\nf('rl.a')\nf('rl.b')", {"rl.a", "rl.b"}),
    "keyword": ("def f(x, *, n):\n    span_cm(n)\nf(1, n='rl.a')", {"rl.a"}),
    "default": ("def f(n='rl.a'):\n    span_cm(n)\nf()", {"rl.a"}),
    "default and more": ("def f(n='rl.a'):\n    span_cm(n)\nf()\nf('rl.b')", {"rl.a", "rl.b"}),
    "unpacked": ("def f(n):\n    span_cm(n)\nf(**{'n': 'rl.a'})", {"rl.a"}),
    "through two": (
        "def g(n):\n    span_cm('rl.' + n)\ndef f(n):\n    g(n + '.x')\nf('a')\nf('b')",
        {"rl.a.x", "rl.b.x"},
    ),
    "two spans of one helper": (
        "def f(n):\n    span_cm(n + '.a')\n    span_cm(n + '.b')\nf('rl')",
        {"rl.a", "rl.b"},
    ),
    "two ways from one caller": (
        "def g(n):\n    span_cm('rl.' + n)\ndef f(n):\n    g(n + '.x')\n    g(n + '.y')\nf('a')",
        {"rl.a.x", "rl.a.y"},
    ),
    "a helper that calls itself": (
        "def f(n):\n    span_cm('rl.' + n)\n    if n:\n        f(n.strip())\nf('a')",
        {"rl.a", "rl.**"},
    ),
    "method": (
        "class A:\n    def f(self, n):\n        span_cm(n)\n"
        "    def g(self):\n        self.f('rl.a')",
        {"rl.a"},
    ),
    "method of a base": (
        "class A:\n    def f(self, n):\n        span_cm(n)\n"
        "class B(A):\n    def g(self):\n        self.f('rl.a')",
        {"rl.a"},
    ),
    "method called in the base": (
        "class A:\n    def g(self):\n        self.f('rl.a')\n"
        "class B(A):\n    def f(self, n):\n        span_cm(n)\n"
        "    def h(self):\n        self.f('rl.b')",
        {"rl.a", "rl.b"},
    ),
    "static method": (
        "class A:\n    @staticmethod\n    def f(n):\n        span_cm(n)\nA.f('rl.a')",
        {"rl.a"},
    ),
    "class method": (
        "class A:\n    @classmethod\n    def f(cls, n):\n        span_cm(n)\nA.f('rl.a')",
        {"rl.a"},
    ),
    "through the class": (
        "class A:\n    def f(self, n):\n        span_cm(n)\nA.f(A(), 'rl.a')",
        {"rl.a"},
    ),
    "constructor": (
        "class A:\n    def __init__(self, n):\n        self.n = n\n"
        "    def f(self):\n        span_cm(self.n)\nA('rl.a')\nA(n='rl.b').f()",
        {"rl.a", "rl.b"},
    ),
    "inherited constructor": (
        "class A:\n    def __init__(self, n):\n        self.n = n\n"
        "    def f(self):\n        span_cm(self.n)\nclass B(A):\n    pass\nA('rl.a')\nB('rl.b')",
        {"rl.a", "rl.b"},
    ),
    "constructor through super": (
        "class A:\n    def __init__(self, n):\n        self.n = n\n"
        "    def f(self):\n        span_cm(self.n)\n"
        "class B(A):\n    def __init__(self):\n        super().__init__('rl.b')\nA('rl.a')",
        {"rl.a", "rl.b"},
    ),
    "constructed by cls": (
        "class A:\n    def __init__(self, n):\n        self.n = n\n"
        "    @classmethod\n    def make(cls):\n        return cls('rl.b')\n"
        "    def f(self):\n        span_cm(self.n)\nA('rl.a')",
        {"rl.a", "rl.b"},
    ),
    "constructed by its own type": (
        "class A:\n    def __init__(self, n):\n        self.n = n\n"
        "    def twin(self):\n        return type(self)('rl.b')\n"
        "    def f(self):\n        span_cm(self.n)\nA('rl.a')",
        {"rl.a", "rl.b"},
    ),
    "attribute set in two methods": (
        "class A:\n    def __init__(self):\n        self.n = 'rl.a'\n"
        "    def g(self):\n        self.n, self.m = 'rl.b', 1\n"
        "    def f(self):\n        span_cm(self.n)",
        {"rl.a", "rl.b"},
    ),
    "class attribute": (
        "class A:\n    algo = 'grpo'\n    def f(self):\n        span_cm(f'rl.{self.algo}.a')",
        {"rl.grpo.a"},
    ),
    "class attribute of subclasses": (
        "class A:\n    algo = 'grpo'\n    def f(self):\n        span_cm(f'rl.{self.algo}.a')\n"
        "class B(A):\n    algo = 'ppo'\nclass C(B):\n    algo = 'sft'",
        {"rl.grpo.a", "rl.ppo.a", "rl.sft.a"},
    ),
    "declared class attribute": (
        "class A:\n    algo: str\n    def f(self):\n        span_cm(f'rl.{self.algo}.a')\n"
        "class B(A):\n    algo = 'ppo'",
        {"rl.ppo.a"},
    ),
    "attribute of cls": (
        "class A:\n    algo = 'grpo'\n    @classmethod\n    def f(cls):\n"
        "        span_cm(f'rl.{cls.algo}.a')\nclass B(A):\n    algo = 'ppo'",
        {"rl.grpo.a", "rl.ppo.a"},
    ),
    "overridden method": (
        "class A:\n    def algo(self):\n        return 'grpo'\n"
        "    def f(self):\n        span_cm(f'rl.{self.algo()}.a')\n"
        "class B(A):\n    def algo(self):\n        return 'ppo'",
        {"rl.grpo.a", "rl.ppo.a"},
    ),
    "overridden property": (
        "class A:\n    @property\n    def algo(self):\n        return 'grpo'\n"
        "    def f(self):\n        span_cm(f'rl.{self.algo}.a')\n"
        "class B(A):\n    @property\n    def algo(self):\n        return 'ppo'",
        {"rl.grpo.a", "rl.ppo.a"},
    ),
    "method of super": (
        "class A:\n    def algo(self):\n        return 'rl.a'\n"
        "class B(A):\n    def algo(self):\n        return 'rl.b'\n"
        "    def f(self):\n        span_cm(super().algo())",
        {"rl.a"},
    ),
    "helper that returns": (
        "def make(part, algo='grpo'):\n    return f'rl.{algo}.{part}'\nspan_cm(make('a'))\n"
        "span_cm(make('b', algo='ppo'))",
        {"rl.grpo.a", "rl.ppo.b"},
    ),
    "helper of helpers": (
        "def one(x):\n    return 'rl.' + x\ndef two(x):\n    return one(x) + '.y'\n"
        "def three(x):\n    return two(x).replace('/', '.')\nspan_cm(three('a/b'))",
        {"rl.a.b.y"},
    ),
    "helper with branches": (
        "def make(x):\n    if x:\n        return 'rl.a'\n    return 'rl.b'\nspan_cm(make(1))",
        {"rl.a", "rl.b"},
    ),
    "cached helper": (
        "from functools import lru_cache\n@lru_cache(maxsize=None)\ndef make(x):\n"
        "    return f'rl.{x}'\nspan_cm(make('a'))",
        {"rl.a"},
    ),
    "recursion": (
        "def make(x):\n    return make(x[1:]) + 'a' if x else 'rl.'\nspan_cm(make('aa'))",
        {"**a", "rl."},
    ),
    "through Ray": (
        "import ray\n@ray.remote\nclass A:\n    def f(self, n):\n        span_cm(n)\n"
        "a = A.remote()\na.f.remote('rl.a')\na.f.options(x=1).remote('rl.b')",
        {"rl.a", "rl.b"},
    ),
}


@pytest.mark.parametrize("case", KNOWN, ids=str)
def test_names_of_all_callers(case: str) -> None:
    source, expected = KNOWN[case]
    assert named({"train.py": HEAD + source + "\n"}) == expected


HELPER = "def f(n):\n    span_cm('rl.' + n)\nf('a')\n"
METHOD = (
    "class A:\n    def f(self, n):\n        span_cm('rl.' + n)\n"
    "    def g(self):\n        self.f('a')\n"
)

UNSEEN = {
    "thread": HELPER + "Thread(target=f, args=('b',))",
    "submitted": HELPER + "pool.submit(f, 'b')",
    "mapped": HELPER + "list(map(f, ['b']))",
    "in a table": HELPER + "TABLE = {'x': f}",
    "returned": HELPER + "def get():\n    return f",
    "partial passed on": HELPER + "from functools import partial\nrun(partial(f, 'b'))",
    "imported and passed on": {"a.py": HELPER, "b.py": "from a import f as g\nrun(g)\n"},
    "method passed on": METHOD + "    def h(self):\n        run(self.f)",
    "method of an unknown object": METHOD + "def use(it):\n    it.f('b')",
    "method by getattr": METHOD + "def use(it):\n    getattr(it, 'f')('b')",
    "method by dispatch": METHOD + "def use(group):\n    group.run_all_workers('f', n='b')",
}


@pytest.mark.parametrize("case", UNSEEN, ids=str)
def test_calls_that_are_not_seen_are_thought_of(case: str) -> None:
    source = UNSEEN[case]
    files = {"train.py": HEAD + source + "\n"} if isinstance(source, str) else dict(source)
    if "a.py" in files:
        files["a.py"] = HEAD + files["a.py"]
    assert named(files) == {"rl.a", "rl.**"}


SEEN = {
    "called only": HELPER,
    "exported": HELPER + "__all__ = ['f']",
    "alias": HELPER + "g = f\ng('a')",
    "a variable of the same name": HELPER + "def h(f):\n    run(f)",
    "a method of the same name on a known object": METHOD
    + "class B:\n    def f(self, n):\n        pass\nb = B()\nb.f('b')",
    "partial": HELPER + "from functools import partial\ng = partial(f, 'a')\ng()",
    "decorator": "def f(fn):\n    span_cm('rl.a')\n    return fn\n@f\ndef g():\n    pass",
}


@pytest.mark.parametrize("case", SEEN, ids=str)
def test_calls_that_are_all_seen_leave_nothing_open(case: str) -> None:
    assert named({"train.py": HEAD + SEEN[case] + "\n"}) == {"rl.a"}
