"""Our positions are libcst's own, on real code and on corners of the syntax."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider

from rltel_lint.facts.positions import positions_of

HERE = Path(__file__).parents[3]
FILES = sorted((HERE / "lint" / "rltel_lint").rglob("*.py"))[::6]
CORNERS = '''
@decorated(
    1,
)
async def f(a, /, b: int = (1), *c, d="""x
y""", **e) -> "z": return (yield (
        a
    ))
class C(B, metaclass=M):
\tx = [i for i in (1, 2) if i]; y = {**z, "k": f"a{b!r:>{c}}" "d"}
\twith (a as b, c): pass
match p:
    case {"k": [1, *r], **s} if t: del u, v
if a:  # comment
    lambda *, q=1: q
else: z = \\
    1
'''


def _libcst(module: cst.Module) -> dict[cst.CSTNode, tuple[int, int, int, int]]:
    wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
    return {
        node: (at.start.line, at.start.column, at.end.line, at.end.column)
        for node, at in wrapper.resolve(PositionProvider).items()
        if not isinstance(node, cst.Module)
    }


def _check(text: str) -> None:
    module = cst.parse_module(text)
    expected = _libcst(module)
    found = positions_of(module)
    assert [at for node, at in expected.items() if found[node] != at] == []
    assert expected


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_positions_of_real_code(path: Path) -> None:
    _check(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_positions_of_corners(newline: str) -> None:
    _check(CORNERS.replace("\n", newline))
