"""RLT701 to RLT703: span attributes against their tables and constants."""

from __future__ import annotations

import pytest

from rltel_lint.rules.attributes import AttributeNeverSet, AttributeRetyped, AttributeUndocumented
from tests.lint.support import lint, marked, reported

HEAD = """\
from keys import SIZE_KEY
from rl_telemetry.instrumentation import managed_span, safe_set_span_attributes
from rl_telemetry.span_groups import RLSpanGroup as G

SIZE = "rl.size"
MORE = {"rl.size": 1}

def helper(span, attributes):
    safe_set_span_attributes(span, attributes)

def opened(**attributes):
    return managed_span(G.REWARD, "rl.x", None, **attributes)

def made(n):
    return {"rl.size": n}

def f(span, n, batch):
"""
KEYS = 'SIZE_KEY = "rl.size"\n'
DOCS = "# Spans\n\n| Span attribute | Means |\n|---|---|\n| `rl.other` | b |\n"
ROW = "| `rl.size` | a |\n"

#: Ways to set ``rl.size``.
SET = {
    "unpacked": "managed_span(G.REWARD, 'rl.x', **{'rl.size': n})",
    "constant": "managed_span(G.REWARD, 'rl.x', **{SIZE: n})",
    "imported constant": "managed_span(G.REWARD, 'rl.x', **{SIZE_KEY: n})",
    "shared mapping": "managed_span(G.REWARD, 'rl.x', **MORE)",
    "nested": "managed_span(G.REWARD, 'rl.x', **{**{'rl.size': n}})",
    "joined": "managed_span(G.REWARD, 'rl.x', **({} | {'rl.size': n}))",
    "conditional": "managed_span(G.REWARD, 'rl.x', **({'rl.size': n} if n else {}))",
    "variable": "a = {'rl.size': n}\n    managed_span(G.REWARD, 'rl.x', **a)",
    "stored": "a = {}\n    a['rl.size'] = n\n    managed_span(G.REWARD, 'rl.x', **a)",
    "updated": "a = dict()\n    a.update({'rl.size': n})\n    managed_span(G.REWARD, 'rl.x', **a)",
    "returned": "managed_span(G.REWARD, 'rl.x', **made(n))",
    "own helper": "opened(**{'rl.size': n})",
    "one": "span.set_attribute('rl.size', n)",
    "one by keyword": "span.set_attribute(key=SIZE, value=n)",
    "many": "span.set_attributes({'rl.size': n})",
    "safely": "safe_set_span_attributes(span, {'rl.size': n})",
    "safely, by keyword": "safe_set_span_attributes(span, attributes={'rl.size': n})",
    "through a helper": "helper(span, {'rl.size': n})",
    "raw": "tracer.start_span('rl.x', attributes={'rl.size': n})",
    "concatenated": "span.set_attribute('rl.' + 'size', n)",
}


def _files(code: str, docs: str = DOCS) -> dict[str, str]:
    other = "span.set_attribute('rl.other', n)"
    span = "managed_span(G.REWARD, 'rl.y')"
    body = f"{HEAD}    {other}\n    {span}\n    {code}\n"
    return {"keys.py": KEYS, "t.py": body, "docs/s.md": docs}


@pytest.mark.parametrize("how", SET)
def test_set_and_documented(how: str) -> None:
    (finding,) = lint(_files(SET[how]), AttributeUndocumented)
    assert 'attribute "rl.size" is set on a span' in finding.message
    assert lint(_files(SET[how], DOCS + ROW), AttributeUndocumented) == []


@pytest.mark.parametrize("how", SET)
def test_documented_and_set(how: str) -> None:
    assert lint(_files(SET[how], DOCS + ROW), AttributeNeverSet) == []


def test_documented_and_set_nowhere() -> None:
    body = "from rl_telemetry.instrumentation import managed_span\n"
    body += (
        "def f(span):\n    managed_span('reward', 'rl.y')\n    span.set_attribute('rl.other', 1)\n"
    )
    (finding,) = lint({"t.py": body, "docs/s.md": DOCS + ROW}, AttributeNeverSet)
    assert '"rl.size" is set nowhere' in finding.message
    assert lint({"t.py": body, "docs/s.md": DOCS}, AttributeNeverSet) == []


NOT_SPANS = {
    "a metric's": "counter.add(1, attributes={'rl.size': n})",
    "a resource's": "Resource.create({'rl.size': n})",
    "a log line": "print({'rl.size': n})",
    "another namespace": "span.set_attribute('http.size', n)",
    "unknown": "span.set_attribute(batch.key, n)",
    "a configuration": "batch.config['rl.size'] = n",
}


@pytest.mark.parametrize("case", NOT_SPANS)
def test_what_is_no_span_attribute(case: str) -> None:
    assert lint(_files(NOT_SPANS[case]), AttributeUndocumented) == []
    faulty = NOT_SPANS[case] + "\n    span.set_attribute('rl.size', n)"
    assert len(lint(_files(faulty), AttributeUndocumented)) == 1


def test_a_project_without_attribute_tables_is_not_asked_for_rows() -> None:
    assert lint(_files(SET["one"], "# `rl.x`\n"), AttributeUndocumented) == []
    assert len(lint(_files(SET["one"]), AttributeUndocumented)) == 1


def test_a_column_of_the_span_table_documents_attributes_too() -> None:
    table = "\n| Span | Attributes |\n|---|---|\n| `rl.y` | {what} |\n"
    assert (
        lint(_files(SET["one"], DOCS + table.format(what="`rl.size`")), AttributeUndocumented) == []
    )
    assert (
        len(lint(_files(SET["one"], DOCS + table.format(what="`rl.no`")), AttributeUndocumented))
        == 1
    )


NOT_STALE = {
    "stamped by the library": "| `rl.bucket` | a |",
    "reserved": "| `rl.later` | *reserved* |",
    "another namespace": "| `host.name` | a |",
    "built": "| `rl.queue.length` | a |",
    "all of a family": "| `rl.{other,size}` | a |",
}


@pytest.mark.parametrize("case", NOT_STALE)
def test_rows_that_are_not_stale(case: str) -> None:
    code = "span.set_attribute(f'rl.queue.{batch}', n)\n    span.set_attribute('rl.size', n)"
    row = f"{NOT_STALE[case]}\n"
    assert lint(_files(code, DOCS + row), AttributeNeverSet) == []
    assert len(lint(_files(code, DOCS + row + "| `rl.gone` | a |\n"), AttributeNeverSet)) == 1


def test_a_constant_that_nobody_uses_sets_nothing() -> None:
    unused = _files("pass", DOCS + ROW)
    unused["t.py"] = unused["t.py"].replace("MORE = {'rl.size': 1}", "")
    body = "\n".join(
        line for line in unused["t.py"].splitlines() if "rl.size" not in line or "SIZE =" in line
    ).replace("def made(n):", "def made(n):\n    return n")
    assert len(lint({**unused, "t.py": body}, AttributeNeverSet)) == 1
    used = body + "    span.set_attribute(SIZE, n)\n"
    assert lint({**unused, "t.py": used}, AttributeNeverSet) == []


def test_a_literal_is_retyped_beside_its_constant() -> None:
    code = """
    RL_SIZE = "rl.size"

    def f(span, other):
        span.set_attribute(RL_SIZE, 1)
        span.set_attribute("rl.size", 1)  # <- RLT703
        span.set_attribute("rl.alone", 1)
        other["rl.size"] = 1
    """
    files = {"t.py": code}
    assert reported(lint(files, AttributeRetyped)) == marked(files)
    assert not AttributeRetyped.default


def test_constants_of_the_runtime_are_known() -> None:
    files = {
        "m.py": """
        from rl_telemetry.instrumentation import RL_ALGORITHM, managed_span
        from rl_telemetry.span_groups import RLSpanGroup as G

        def f(name):
            with managed_span(G.REWARD, "rl.x", **{"rl.algorithm": name}):  # <- RLT703
                pass
            with managed_span(G.REWARD, "rl.x", **{RL_ALGORITHM: name}):
                pass
            with managed_span(G.REWARD, "rl.x", **{"rl.algorithms": name}):
                pass
        """
    }
    (found,) = lint(files, AttributeRetyped)
    assert reported([found]) == marked(files)
    assert found.message == '"rl.algorithm" is typed again; use RL_ALGORITHM'
