"""Encodings, and files that are none."""

from __future__ import annotations

import codecs
import os

import pytest

from rltel_lint.reading import MAX_BYTES, ReadProblem, SourceText, read_source


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("s = 'é'\n".encode(), "s = 'é'\n"),
        (codecs.BOM_UTF8 + b"x = 1\n", "x = 1\n"),
        (b"# -*- coding: latin-1 -*-\ns = '\xe9'\n", "# -*- coding: latin-1 -*-\ns = 'é'\n"),
        (b"#!/bin/python\n# vim: fileencoding=cp1252\ns = '\x80'\n", None),
        (b"a = 1\r\nb = 2\r\n", "a = 1\r\nb = 2\r\n"),
        (b"", ""),
    ],
)
def test_python_is_decoded_as_python_does_it(write, data, text):
    root = write({"a.py": data})
    expected = data.decode("cp1252") if text is None else text
    assert read_source(root / "a.py") == SourceText(expected)


@pytest.mark.parametrize(
    ("data", "line", "said"),
    [
        (b"x = 1\ns = '\xe9'\n", 2, "is not valid utf-8"),
        (b"# 1\n# 2\n# 3\ns = '\xe9'\n", 4, "is not valid utf-8; save it as UTF-8"),
        (b"# coding: klingon\n", 1, "unknown encoding: klingon; mend its coding line"),
        (codecs.BOM_UTF8 + b"# coding: latin-1\n", 1, "cannot be decoded"),
        (b"# coding: rot13\nk = 1\n", 1, "rot13 is no encoding of text; use UTF-8"),
        (b"x = 1\n\ny = '\0'\n", 3, "contains a NUL character"),
        ("x = 1\n".encode("utf-16"), 1, "cannot be decoded"),
    ],
)
def test_what_python_could_not_read_either_is_a_problem_with_a_remedy(write, data, line, said):
    root = write({"a.py": data})
    problem = read_source(root / "a.py")
    assert isinstance(problem, ReadProblem)
    assert said in problem.message
    assert "\n" not in problem.message
    assert problem.line == line


def test_a_document_that_is_not_utf8_still_documents(write):
    root = write({"docs/a.md": b"| Span |\n|---|\n| `rl.job` caf\xe9 |\n"})
    read = read_source(root / "docs/a.md")
    assert isinstance(read, SourceText)
    assert "`rl.job` caf\xe9" in read.text
    assert read.problem == ReadProblem("is not UTF-8 and was read as Latin-1; save it as UTF-8", 3)


@pytest.mark.parametrize("data", [b"# caf\xc3\xa9\n", codecs.BOM_UTF8 + b"# caf\xc3\xa9\n"])
def test_a_document_in_utf8_has_no_problem(write, data):
    assert read_source(write({"a.md": data}) / "a.md") == SourceText("# café\n")


def test_a_document_with_nul_characters_is_a_problem(write):
    root = write({"a.md": "# x\n".encode("utf-16-le")})
    problem = read_source(root / "a.md")
    assert isinstance(problem, ReadProblem)
    assert "NUL" in problem.message


def test_a_huge_file_is_not_read(write):
    root = write({"a.py": "x = 1\n", "b.py": "x = 1\n"})
    os.truncate(root / "a.py", 20_000_000)
    os.truncate(root / "b.py", MAX_BYTES + 1)
    problem = read_source(root / "a.py")
    assert problem == ReadProblem("is 20.0 MB, above the limit of 4 MB; split or exclude it")
    assert isinstance(read_source(root / "b.py"), ReadProblem)


def test_the_largest_file_allowed_is_read(write):
    root = write({"a.py": b"#" * MAX_BYTES})
    assert isinstance(read_source(root / "a.py"), SourceText)


def test_what_is_no_file_is_a_problem(write):
    root = write({"folder.py/inside.txt": ""})
    os.mkfifo(root / "pipe.py")
    for name in ("folder.py", "pipe.py"):
        assert read_source(root / name) == ReadProblem(
            "is not a regular file; remove or exclude it"
        )
    missing = read_source(root / "missing.py")
    assert missing == ReadProblem(
        "cannot be read: No such file or directory; mend that or exclude it"
    )
