"""A file read unit by unit, by ``ast``, is the file read whole, by libcst."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from rltel_lint.facts import nodes as n
from rltel_lint.facts.lower import lower
from rltel_lint.facts.source import SourceFacts, Unit
from tests.lint.core.corners import CORNERS
from tests.lint.core.programs import programs

ROOT = Path(__file__).parents[3]
FILES = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in ("rl_telemetry", "lint/rltel_lint", "tests/lint/core", "examples")
    for path in (ROOT / folder).rglob("*.py")
)


def plain(node: Any) -> Any:
    """A node as plain data, with its position."""
    if isinstance(node, n.Node):
        values = [(name, plain(value)) for name, value in vars(node).items()]
        return (type(node).__name__, *values)
    if isinstance(node, tuple):
        return tuple(plain(item) for item in node)
    return node


def whole(unit: Unit) -> list[Any]:
    """The statements of a unit, a class with its members back in it."""
    statements = list(unit.statements)
    if unit.members:
        (head,) = statements
        assert isinstance(head, n.ClassDef)
        body = tuple(statement for member in unit.members for statement in member.statements)
        last = body[-1].at
        at = (*head.at[:2], *last[2:])
        statements = [n.ClassDef(at, head.name, head.bases, head.decorators, body, head.name_at)]
    return [plain(statement) for statement in statements]


def assert_same(text: str) -> None:
    facts = SourceFacts("a.py", text)
    by_unit = [statement for unit in facts.units for statement in whole(unit)]
    at_once = [plain(statement) for statement in lower(facts.text)]
    assert facts.problems == []
    assert len(by_unit) == len(at_once)
    for one, other in zip(by_unit, at_once, strict=True):
        assert one == other


@pytest.mark.parametrize("path", FILES[::14])
def test_files_of_this_project(path: str) -> None:
    assert_same((ROOT / path).read_text(encoding="utf-8"))


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs())
def test_generated_programs(source: str) -> None:
    assert_same(source)


SHAPES = {
    "decorators": "@a\n@b(1)\nclass A:\n    @c\n    # why\n    @d\n"
    "    def f(self):\n        pass\n",
    "comments between": "# head\n\nx = 1  # one\n# between\nclass A:  # a\n    # first\n"
    "    x = 1\n\n    # last\n\ny = 2\n",
    "semicolons": "x = 1; y = 2\nclass A:\n    a = 1; b = 2\n    c = 3; d = 4\n",
    "class on one line": "class A: x = 1; y = 2\nclass B: pass\n",
    "class with a string": 'class A:\n    """Two\nlines."""\n    x = """a\nb"""\n',
    "tabs": "class A:\n\tx = 1\n\tdef f(self):\n\t\treturn 2\n",
    "wide characters": "é = 'ü'; x = f'{é}→{é}'\nclass Ä:\n    ö = '日本'; ü = ö\n",
    "import with wide characters": "é = 1; from a import b\nimport a.b as c, d; x = 2\n",
    "long statements": "x = (\n    1 +\n    2\n)\ny = [\n    a for a in b\n]; z = 3\n",
    "backslashes": "x = 1 + \\\n    2\nclass A(\n    B,\n    metaclass=C,\n):\n"
    "    y = \\\n        3\n",
    "conditional class": "if x:\n    class A:\n        y = 1\nelse:\n    A = None\n",
    "nested class": "class A:\n    class B:\n        x = 1\n    y = 2\n",
    "form feed": "x = 1\n\f\ny = 2\nclass A:\n    x = 1\n\f\n    y = 2\n",
    "end without a line end": "class A:\n    x = 1\n    y = 2",
    "windows": "class A:\r\n    x = 1\r\n    y = '''a\r\nb'''\r\nz = 3\r\n",
    "corners": CORNERS,
    "blank lines with spaces": "class A:\n    x = 1\n   \n    y = 2\n \nz = 3\n",
}


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shapes(shape: str) -> None:
    assert_same(SHAPES[shape])


def test_the_comparison_sees_a_shift() -> None:
    one, other = lower("x = 1\n"), lower(" \nx = 1\n")
    assert plain(one) != plain(other)
    assert plain(one) == plain(lower("x = 1\n"))
