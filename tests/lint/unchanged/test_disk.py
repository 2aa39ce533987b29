"""What rules ask of the folder beside the texts, and whether it would answer the same again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rltel_lint import manifest
from rltel_lint.project.disk import Disk, ask_again, join
from rltel_lint.project.tree import Tree


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/a.txt").write_text("text\n")
    (tmp_path / "empty").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_a.py").write_text("def test_one(): ...\nclass TestTwo: ...\n")
    return tmp_path


def test_answers(root: Path) -> None:
    disk = Disk(root)
    asked = (
        "full",
        "full/a.txt",
        "full/b.txt",
        "",
        str(root / "full"),
        "/",
        "a\0b",
        "full/../empty",
    )
    assert [disk.exists(path) for path in asked] == [
        True,
        True,
        False,
        True,
        True,
        True,
        False,
        True,
    ]
    assert [disk.read(path) for path in ("full/a.txt", "full", "none", "a\0b")] == [
        "text\n",
        "",
        "",
        "",
    ]
    folders = ("full", "empty", "full/a.txt", "none", "a\0b")
    assert [disk.is_empty(path) for path in folders] == [False, True, None, None, None]
    assert disk.tests() == {"test_one", "TestTwo"}


def test_without_a_folder_nothing_is_there() -> None:
    disk = Disk(None)
    assert (disk.exists("/"), disk.read("/etc/hostname"), disk.is_empty("/")) == (False, "", None)
    assert disk.tests() == frozenset()


def test_the_same_answers_are_given_again(root: Path) -> None:
    disk = Disk(root)
    disk.exists("full/a.txt"), disk.read("full/a.txt"), disk.is_empty("full"), disk.tests()
    kept = json.loads(json.dumps(disk.answers))
    assert ask_again(root, kept) is not None
    (root / "unasked").write_text("")
    assert ask_again(root, kept) is not None


@pytest.mark.parametrize("path", ["full/a.txt", "tests/test_a.py"])
def test_another_answer_is_noticed(root: Path, path: str) -> None:
    disk = Disk(root)
    disk.exists(path)
    disk.tests()
    (root / path).unlink()
    assert ask_again(root, disk.answers) is None


def test_tests_are_read_again_only_if_their_files_or_folders_changed(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest, "_SETTLED", -(1 << 62))
    disk = Disk(root)
    disk.tests()
    assert ask_again(root, disk.answers) == disk.answers
    monkeypatch.setattr(Disk, "tests", lambda _: pytest.fail("read"))
    assert ask_again(root, disk.answers) == disk.answers
    (root / "tests/test_a.py").write_text("def test_other(): ...\n")
    with pytest.raises(pytest.fail.Exception):
        ask_again(root, disk.answers)


def test_answers_of_several_processes_are_joined(root: Path) -> None:
    one, other = Disk(root), Disk(root)
    one.exists("full")
    other.exists("none")
    other.read("none")
    join(one.answers, other.answers)
    assert one.answers["exists"] == {"full": True, "none": False}
    assert list(one.answers["text"]) == ["none"]


def test_a_folder_of_known_texts_is_there_without_a_look() -> None:
    tree = Tree({"pkg/sub/a.py": ""})
    assert [tree.exists(path) for path in ("pkg/sub/a.py", "pkg", "pkg/sub", "pkg/s", "sub")] == [
        True,
        True,
        True,
        False,
        False,
    ]
