"""Comments that silence a finding in flake8 as in the command, and RLT001."""

from __future__ import annotations

import pytest

from tests.lint.flake8.conftest import CLEAN, Write, run_command, run_flake8

TRAIN = CLEAN["pkg/train.py"]
COMMENTS = """\
from rl_telemetry.instrumentation import managed_span, trace_fn
from rl_telemetry.span_groups import RLSpanGroup


def one():
    with managed_span(RLSpanGroup.GENERATION, "rl.a"):  # noqa: RLT101 renamed by the backend
        pass
    with managed_span(RLSpanGroup.GENERATION, "rl.b"):  # noqa: E501
        pass
    with managed_span(
        RLSpanGroup.GENERATION,
        "rl.c",
    ):  # noqa: RLT101
        pass
    with managed_span(
        RLSpanGroup.GENERATION,
        "rl.d",
    ):
        pass


@trace_fn(RLSpanGroup.GENERATION, "rl.e")
def two():  # noqa: RLT101
    pass


@trace_fn(
    RLSpanGroup.GENERATION,
    "rl.f",  # noqa: E501, RLT101
)
def three():
    pass


@trace_fn(RLSpanGroup.GENERATION, "rl.g")
def four():
    pass
"""
"""Spans that nobody documents: those at 8, 15 and 35 are not silenced."""


def test_comments_are_honoured_on_any_line_of_a_call_and_its_definition(project: Write) -> None:
    root = project({"pkg/train.py": COMMENTS, "docs/spans.md": ""})
    run = run_flake8(root, "--select", "RLT", "pkg")
    assert run.lines == [("pkg/train.py", line, "RLT101") for line in (8, 15, 35)]
    assert run.found == run_command(root)
    run = run_flake8(root, "--select", "RLT", "--disable-noqa", "pkg")
    assert [line for _, line, _ in run.lines] == [6, 8, 10, 15, 22, 27, 35]


@pytest.mark.parametrize("unsaved", [False, True])
def test_unused_comments_are_findings(project: Write, unsaved: bool) -> None:
    text = TRAIN.replace('rollout"):', 'rollout"):  # noqa: E501, RLT101')
    root = project({} if unsaved else {"pkg/train.py": text})
    arguments = ("-", "--stdin-display-name", "pkg/train.py") if unsaved else ("pkg",)
    run = run_flake8(root, "--select", "RLT", *arguments, stdin=text)
    assert run.lines == [("pkg/train.py", 6, "RLT001")]
    assert run.texts == ["RLT101 silences nothing here; take it out"]


def test_a_blanket_comment_silences_what_is_said_of_it_in_flake8_only(project: Write) -> None:
    root = project({"pkg/train.py": COMMENTS.replace("noqa: E501\n", "noqa : RLT101\n")})
    assert 8 not in [line for _, line, _ in run_flake8(root, "--select", "RLT", "pkg").lines]
    assert (8, "RLT001") in {(line, code) for _, line, _, code, _ in run_command(root)}
    found = run_flake8(root, "--select", "RLT001", "--disable-noqa", "pkg").lines
    assert ("pkg/train.py", 8, "RLT001") in found
