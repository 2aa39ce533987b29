"""Helpers, groups and names are recognised under every name that they are imported by."""

from __future__ import annotations

import pytest

from tests.lint.core.support import groups, named
from tests.lint.support import project

CALL = 'with span(RLSpanGroup.REWARD, "rl.grpo.reward"):\n    ...\n'
GROUP = "from rl_telemetry.span_groups import RLSpanGroup\n"

IMPORTS = {
    "alias": "from rl_telemetry.instrumentation import managed_span as span",
    "module alias": "import rl_telemetry.instrumentation as tel\nspan = tel.managed_span",
    "plain import": "import rl_telemetry.instrumentation\n"
    "span = rl_telemetry.instrumentation.managed_span",
    "from package": "from rl_telemetry import instrumentation\nspan = instrumentation.managed_span",
    "variable": "from rl_telemetry.instrumentation import managed_span\nspan = managed_span",
    "alias of an alias": "from rl_telemetry.instrumentation import managed_span as first\n"
    "second = first\nspan = second",
    "try and except": """
try:
    from rl_telemetry.instrumentation import managed_span as span
except ImportError:
    from contextlib import nullcontext
    def span(*args, **kwargs):
        return nullcontext()
""",
    "otel prefix": """
try:
    from rl_telemetry.instrumentation import managed_span as _otel_span
except ImportError:
    _otel_span = None
span = _otel_span
""",
    "type checking": """
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from rl_telemetry.instrumentation import managed_span as span
else:
    from rl_telemetry.instrumentation import managed_span as span
""",
}


@pytest.mark.parametrize("way", IMPORTS, ids=str)
def test_import_alias_is_followed(way: str) -> None:
    assert named({"train.py": f"{IMPORTS[way]}\n{GROUP}{CALL}"}) == {"rl.grpo.reward"}


@pytest.mark.parametrize("way", IMPORTS, ids=str)
def test_the_same_name_from_another_library_is_none(way: str) -> None:
    other = IMPORTS[way].replace("rl_telemetry", "other_library")
    assert named({"train.py": f"{other}\n{GROUP}{CALL}"}) == set()


ACROSS = """
--- pkg/__init__.py
{init}
--- pkg/tracing.py
from rl_telemetry.instrumentation import managed_span as _span
{made}
--- pkg/train.py
{used}
from rl_telemetry.span_groups import RLSpanGroup

def train():
    with {call}(RLSpanGroup.REWARD, "rl.grpo.reward"):
        ...
"""

WAYS = {
    "alias through another module": ("", "mark = _span", "from pkg.tracing import mark", "mark"),
    "alias of it again": ("", "mark = _span", "from pkg.tracing import mark as m", "m"),
    "relative": ("", "mark = _span", "from .tracing import mark", "mark"),
    "module of the package": ("", "mark = _span", "from . import tracing", "tracing.mark"),
    "through __init__": ("from .tracing import mark", "mark = _span", "from . import mark", "mark"),
    "through __init__ under a new name": (
        "from .tracing import mark as phase",
        "mark = _span",
        "from pkg import phase",
        "phase",
    ),
    "star import": ("from .tracing import *", "mark = _span", "from pkg import *", "mark"),
    "class attribute": (
        "",
        "class Tel:\n    mark = staticmethod(_span)",
        "from pkg.tracing import Tel",
        "Tel.mark",
    ),
    "class attribute of an instance": (
        "",
        "class Tel:\n    mark = staticmethod(_span)",
        "from pkg.tracing import Tel\ntel = Tel()",
        "tel.mark",
    ),
    "imported inside the function": ("", "mark = _span", "import pkg.tracing", "pkg.tracing.mark"),
}


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_alias_crosses_modules(way: str) -> None:
    init, made, used, call = WAYS[way]
    files = {
        "pkg/__init__.py": init + "\n",
        "pkg/tracing.py": "from rl_telemetry.instrumentation import managed_span as _span\n" + made,
        "pkg/train.py": f"{used}\n{GROUP}def train():\n"
        f'    with {call}(RLSpanGroup.REWARD, "rl.grpo.reward"):\n        ...\n',
    }
    assert named(files) == {"rl.grpo.reward"}
    files["pkg/tracing.py"] = files["pkg/tracing.py"].replace("rl_telemetry", "another")
    assert named(files) == set()


def test_circular_imports_end() -> None:
    files = project(
        """
        --- pkg/__init__.py
        --- pkg/a.py
        from pkg.b import NAME, OTHER
        from rl_telemetry.instrumentation import span_cm
        MADE = "rl.made"
        LIST = OTHER
        with span_cm(NAME):
            ...
        for name in LIST:
            span_cm(name)
        --- pkg/b.py
        from pkg.a import MADE as NAME
        from pkg.a import LIST as OTHER
        """
    )
    assert named(files) == {"rl.made", "**"}


def test_constants_are_followed_through_packages() -> None:
    files = project(
        """
        --- pkg/__init__.py
        from .names import *
        from .names import _STEP as STEP
        --- pkg/names.py
        PREFIX = "rl.grpo"
        _STEP = PREFIX + ".step"
        class Names:
            REWARD = f"{PREFIX}.reward"
        class More(Names):
            ADVANTAGE: str = f"{PREFIX}.advantage"
        --- train.py
        from rl_telemetry.instrumentation import span_cm
        import pkg
        from pkg import STEP, Names, PREFIX
        from pkg.names import More
        span_cm(STEP)
        span_cm(pkg.STEP + ".end")
        span_cm(Names.REWARD)
        span_cm(More.ADVANTAGE)
        span_cm(More.REWARD + "s")
        span_cm(f"{PREFIX}.update")
        span_cm(pkg.names.PREFIX)
        """
    )
    tails = {"step", "step.end", "reward", "advantage", "rewards", "update"}
    assert named(files) == {f"rl.grpo.{tail}" for tail in tails} | {"rl.grpo"}


def test_a_constant_that_is_rebound_is_not_known() -> None:
    files = project(
        """
        --- train.py
        from rl_telemetry.instrumentation import span_cm
        NAME = "rl.first"
        def later():
            global NAME
            NAME = read()
        span_cm(NAME)
        """
    )
    assert named(files) == {"**"}


def test_groups_are_followed_through_imports_and_derived_classes() -> None:
    files = project(
        """
        --- pkg/__init__.py
        --- pkg/groups.py
        from rl_telemetry.span_groups import RLSpanGroup as Base
        class MyGroup(Base):
            SEARCH = "search"
            U_TREE = "tree"
        CURRENT = MyGroup.SEARCH
        --- pkg/train.py
        from rl_telemetry.instrumentation import managed_span
        from .groups import MyGroup as G, CURRENT
        managed_span(G.SEARCH, "rl.a")
        managed_span(G.GENERATION, "rl.b")
        managed_span(CURRENT, "rl.c")
        managed_span("reward", "rl.d")
        held = G.U_TREE
        managed_span(held, "rl.e")
        """
    )
    assert groups(files) == {"search", "generation", "reward", "tree"}
