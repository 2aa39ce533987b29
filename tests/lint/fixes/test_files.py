"""Files after a fix: encoding, byte order mark, line ends, mode, links, and what is left alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from rltel_lint.fixes.files import replace_bytes, write_texts
from rltel_lint.reading import SourceText, read_source


def read(path: Path) -> str:
    found = read_source(path)
    assert isinstance(found, SourceText)
    return found.text


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("plain.py", b"a = 1\n"),
        ("bom.py", b"\xef\xbb\xbfa = 1\r\n"),
        ("latin.py", b"# -*- coding: latin-1 -*-\r\n# caf\xe9\r\na = 1\n"),
        ("page.md", b"\xef\xbb\xbfcaf\xc3\xa9 a = 1\r\rno end"),
        ("script.py", b"#!/usr/bin/env python\na = 1"),
    ],
)
def test_only_the_changed_characters_change(tmp_path: Path, name: str, data: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    path.chmod(0o754)
    text = read(path)
    done = write_texts(tmp_path, {name: text}, {name: text.replace("a = 1", "b = 22")})
    assert done.paths == (name,)
    assert path.read_bytes() == data.replace(b"a = 1", b"b = 22")
    assert stat.S_IMODE(path.stat().st_mode) == 0o754
    assert os.listdir(tmp_path) == [name]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "a.py"
    target.write_text("a = 1\n")
    link = tmp_path / "a.py"
    link.symlink_to("real/a.py")
    write_texts(tmp_path, {"a.py": "a = 1\n"}, {"a.py": "a = 2\n"})
    assert link.is_symlink()
    assert target.read_text() == "a = 2\n"


def test_a_file_that_has_changed_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("a = 3\n")
    (tmp_path / "b.py").write_text("b = 1\n")
    before = {"a.py": "a = 1\n", "b.py": "b = 1\n", "c.py": "c = 1\n"}
    done = write_texts(tmp_path, before, dict.fromkeys(before, "x = 2\n"))
    assert done.paths == ("b.py",)
    assert path.read_text() == "a = 3\n"
    assert not (tmp_path / "c.py").exists()
    assert done.notes[0] == "a.py has changed since it was read; it was left alone"
    assert done.notes[1].startswith("c.py cannot be written")


def test_what_the_encoding_cannot_hold_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"# coding: ascii\na = 1\n")
    text = read(path)
    done = write_texts(tmp_path, {"a.py": text}, {"a.py": text.replace("1", "'\u4e16'")})
    assert done.notes == ("a.py cannot hold the new text in its encoding; it was left alone",)
    assert path.read_bytes() == b"# coding: ascii\na = 1\n"


def test_a_document_that_is_not_utf8_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"caf\xe9 a\n")
    done = write_texts(tmp_path, {"a.md": "caf\xe9 a\n"}, {"a.md": "caf\xe9 b\n"})
    assert done.notes == ("a.md is not UTF-8; it was left alone",)
    assert path.read_bytes() == b"caf\xe9 a\n"


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.py"
    path.write_text("a = 1\n")

    def full(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        replace_bytes(path, b"a = 2\n")
    assert path.read_text() == "a = 1\n"
    assert os.listdir(tmp_path) == ["a.py"]
    done = write_texts(tmp_path, {"a.py": "a = 1\n"}, {"a.py": "a = 2\n"})
    assert done.notes == ("a.py cannot be written (No space left on device); it was left alone",)
