"""RLT000 and RLT002: what could not be read, and what was named and matches nothing."""

from __future__ import annotations

import sys

import pytest

from rltel_lint.findings import Finding
from rltel_lint.rules.reading import MatchesNothing, Unreadable
from tests.lint.core.support import check, named, rows


def only(files: dict[str, str], *rules: type) -> Finding:
    (finding,) = check(files, *rules)
    return finding


GOOD = 'from rl_telemetry.instrumentation import span_cm\nspan_cm("rl.a")\n'


def test_a_file_that_is_no_python() -> None:
    found = only({"a.py": "def f():\n    pass\ndef g(:\n", "b.py": GOOD}, Unreadable)
    assert (found.place.path, found.place.line) == ("a.py", 3)
    assert found.message.startswith("cannot be parsed: ")
    assert found.message.endswith("; correct the file or exclude it")
    assert "\n" not in found.message


def test_the_rest_of_the_project_is_still_read() -> None:
    assert named({"a.py": "def g(:\n", "b.py": GOOD}) == {"rl.a"}


READABLE = {
    "empty": "",
    "byte order mark": "\ufeffx = 1\n",
    "no line end": "x = 1",
    "windows line ends": "x = 1\r\ny = 2\r\n",
    "form feed": "x = 1\n\f\ny = 2\n",
    "statements on one line": "x = 1; y = 2; z = 3\n",
    "class on one line": "class A: x = 1; y = 2\n",
    "decorated class": "@d\nclass A:\n    @p\n    def f(self): ...\n",
    "tabs": "class A:\n\tdef f(self):\n\t\treturn 1\n",
    "backslash": "x = 1 + \\\n    2\n",
    "except group": "try:\n    x\nexcept* ValueError:\n    y\n",
    "type parameters": "def f[T](x: T) -> T:\n    return x\ntype A = int\n",
    "nested quotes in an f-string": 'x = f"{a["b"]}"\n',
    "walrus in a comprehension": "x = [y := 1, y**2]\nz = [(a := b) for b in x]\n",
    "async everything": "async def f():\n    async with a as b, c:\n        async for x in y:\n"
    "            yield [z async for z in x]\n",
    "match": "match x:\n    case {'a': [1, *rest], **more} if rest:\n        pass\n"
    "    case A(b=1) | None as d:\n        pass\n",
    "positional only": "def f(a, /, b, *, c, **d): ...\nlambda *a, **k: (a, k)\n",
    "long string": "x = '''" + "a\n" * 200 + "'''\n",
    "unicode": "naïve = 'é'\nspan = '日本'\n",
}


@pytest.mark.parametrize("case", READABLE, ids=str)
def test_valid_python_is_read(case: str) -> None:
    text = READABLE[case]
    files = {"a.py": "x = 1\n"}
    assert check(files, Unreadable) == []
    project_files = {"a.py": text + ("\n" if not text.endswith("\n") else "") + GOOD}
    assert [f.message for f in check(project_files, Unreadable)] == []
    assert named(project_files) == {"rl.a"}


DEEP = {
    "brackets": "x = " + "(" * 3000 + ")" * 3000,
    "lists": "x = " + "[" * 5000 + "]" * 5000,
    "brackets that do not close": "x = " + "(" * 3000,
    "signs": "x = " + "-" * 10_000 + "1",
    "a long sum": "x = " + "+".join(["1"] * 10_000),
    "attributes": "x = a" + ".b" * 10_000,
}


@pytest.mark.parametrize("shape", DEEP, ids=str)
def test_deep_nesting_is_said_and_does_not_crash(shape: str) -> None:
    files = {"a.py": DEEP[shape] + "\n", "b.py": GOOD}
    said = ["cannot be parsed: it is nested too deeply to be read; correct the file or exclude it"]
    if shape in {"a long sum", "attributes"} and sys.version_info < (3, 11):
        said = []  # Python 3.10 parses these
    assert [f.message for f in check(files, Unreadable)] == said
    assert named(files) == {"rl.a"}


def test_a_reserved_name_that_is_nowhere() -> None:
    files = {
        "pyproject.toml": '[tool.rltel-lint]\nreserved = ["rl.later", "rl.*.soon"]\n',
        "a.py": GOOD,
        "docs/a.md": rows("rl.a", "rl.x.soon"),
    }
    found = only(files, MatchesNothing)
    assert (found.place.path, found.place.line, found.place.column) == ("pyproject.toml", 2, 14)
    assert found.message == (
        '"rl.later" under "reserved" is neither documented nor emitted; correct it or take it out'
    )


def test_a_taught_helper_without_a_call() -> None:
    files = {
        "pyproject.toml": "[tool.rltel-lint.vocabulary.helpers.op_span]\n"
        'module = "corp"\nsignature = "(op)"\nspan = "rl.{op}"\n',
        "a.py": "from corp import op_span\nop_span('a')\n",
    }
    assert check(files, MatchesNothing) == []
    found = only({**files, "a.py": "from corp import other\nother('a')\n"}, MatchesNothing)
    assert (found.place.path, found.place.line) == ("pyproject.toml", 1)
    assert found.message == (
        '"op_span" under "vocabulary" matches no call in the code; check its module and '
        "signature, or take it out"
    )


IMPORT = "from rl_telemetry.instrumentation import managed_span\n"


def test_an_imported_helper_without_a_recognised_use() -> None:
    found = only({"a.py": IMPORT + "register(managed_span)\n"}, MatchesNothing)
    assert (found.place.path, found.place.line, found.place.column) == ("a.py", 1, 1)
    assert found.message == (
        "managed_span is imported, but none of its uses was recognised in a.py; teach the checker "
        'the helper that takes it under "vocabulary"'
    )


QUIET = {
    "used": IMPORT + "managed_span('reward', 'rl.a')\n",
    "used elsewhere": {
        "a.py": IMPORT + "register(managed_span)\n",
        "b.py": IMPORT + "managed_span('reward', 'x')\n",
    },
    "exported": IMPORT + "__all__ = ['managed_span']\n",
    "re-exported": {"pkg/__init__.py": IMPORT},
    "not used at all": IMPORT,
    "no telemetry": "x = 1\n",
}


@pytest.mark.parametrize("case", QUIET, ids=str)
def test_a_project_that_is_quiet_on_purpose(case: str) -> None:
    files = QUIET[case]
    assert check({"a.py": files} if isinstance(files, str) else files, MatchesNothing) == []
