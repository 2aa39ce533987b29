"""Files that have not changed are not read again, and one that has is, whatever its times say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rltel_lint import listing, manifest, reading
from rltel_lint.results import result_key
from rltel_lint.session import Options, Session, open_session
from tests.lint.processes import CLEAN, LINT, Tree

COARSE = 1 << 62
"""Nanoseconds in which a file system's clock does not move."""


class Project(Tree):
    """A project whose reads are counted."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(root, {**CLEAN, "pkg/other.py": "a = 1\n"})
        self.read: list[str] = []
        original = reading.read_source

        def read_source(path: Path) -> reading.SourceText | reading.ReadProblem:
            self.read.append(os.path.relpath(path, self.root))
            return original(path)

        monkeypatch.setattr(reading, "read_source", read_source)

    def open(self, *, no_cache: bool = False) -> Session:
        """Opens the project; ``read`` is then what was read for it."""
        self.read.clear()
        return open_session(Options(root=self.root, no_cache=no_cache))

    def settle(self) -> None:
        """Opens it until every file is known: clocks of file systems take their time."""
        deadline = time.monotonic() + 10
        while self.open() and self.read:
            assert time.monotonic() < deadline

    def agrees(self) -> bool:
        """Whether the project is the same with a cache and without one."""
        kept, fresh = self.open(), self.open(no_cache=True)
        keys = result_key(kept), result_key(fresh)  # before texts are asked for, and after
        return (
            keys[0] == keys[1] == result_key(kept)
            and dict(kept.texts.all) == dict(fresh.texts.all)
            and kept.texts.problems == fresh.texts.problems
        )


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project all of whose files are known."""
    monkeypatch.setattr(manifest, "_SETTLED", 0)
    made = Project(tmp_path / "project", monkeypatch)
    made.settle()
    return made


def test_nothing_is_read_if_nothing_changed(project: Project) -> None:
    project.open()
    assert project.read == []
    project.open(no_cache=True)
    assert sorted(project.read) == ["docs/spans.md", "pkg/other.py", "pkg/train.py"]


def test_a_text_is_read_when_it_is_asked_for_and_once(project: Project) -> None:
    texts = project.open().texts
    assert list(texts.sources) == ["pkg/other.py", "pkg/train.py"]
    assert [texts.all["pkg/other.py"], texts.sources["pkg/other.py"]] == ["a = 1\n"] * 2
    assert project.read == ["pkg/other.py"]
    assert "pkg/none.py" not in texts.all
    with pytest.raises(KeyError):
        texts.sources["pkg/none.py"]


def same_size(root: Path) -> None:
    (root / "pkg/other.py").write_text("b = 2\n")


def same_size_and_time(root: Path) -> None:
    path = root / "pkg/other.py"
    before = path.stat()
    path.write_text("b = 2\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replaced_with_its_time(root: Path) -> None:
    path = root / "pkg/other.py"
    before = path.stat()
    new = root / "pkg/new.tmp"
    new.write_text("b = 2\n")
    os.utime(new, ns=(before.st_atime_ns, before.st_mtime_ns))
    os.replace(new, path)


def swapped(root: Path) -> None:
    one, other = root / "pkg/other.py", root / "pkg/train.py"
    one.rename(root / "pkg/third")
    other.rename(one)
    (root / "pkg/third").rename(other)


def deleted(root: Path) -> None:
    (root / "pkg/other.py").unlink()


def added(root: Path) -> None:
    (root / "pkg/more.py").write_text("c = 3\n")


def renamed(root: Path) -> None:
    (root / "pkg/other.py").rename(root / "pkg/more.py")


def linked(root: Path) -> None:
    (root / "store").mkdir()
    (root / "pkg/other.py").rename(root / "store/other.txt")
    (root / "pkg/other.py").symlink_to("../store/other.txt")
    (root / "store/other.txt").write_text("b = 2\n")


def unreadable(root: Path) -> None:
    (root / "pkg/other.py").write_bytes(b"a\0= 1\n")


def latin(root: Path) -> None:
    (root / "docs/spans.md").write_bytes(b"caf\xe9\n")


def a_folder_in_its_place(root: Path) -> None:
    (root / "pkg/other.py").unlink()
    (root / "pkg/other.py").mkdir()


def configured(root: Path) -> None:
    (root / "pyproject.toml").write_text('[tool.rltel-lint]\nexclude = ["pkg/other.py"]\n')


CHANGES = [
    same_size,
    same_size_and_time,
    replaced_with_its_time,
    swapped,
    deleted,
    added,
    renamed,
    linked,
    unreadable,
    latin,
    a_folder_in_its_place,
    configured,
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen(project: Project, change: Callable[[Path], None]) -> None:
    before = project.open()
    key, texts = result_key(before), dict(before.texts.all)
    change(project.root)
    after = project.open()
    assert result_key(after) != key
    assert project.agrees()
    assert project.agrees()  # and what was noted of it holds
    if change is not configured:
        assert (dict(after.texts.all), after.texts.problems) != (texts, ())


def test_a_problem_is_said_each_time(project: Project) -> None:
    unreadable(project.root)
    latin(project.root)
    for _ in range(3):
        found = [one.place.path for one in project.open().texts.problems]
        assert found == ["docs/spans.md", "pkg/other.py"]


def test_a_touched_file_is_read_once(project: Project) -> None:
    key = result_key(project.open())
    (project.root / "pkg/other.py").touch()
    assert result_key(project.open()) == key
    assert project.read == ["pkg/other.py"]
    project.settle()
    assert result_key(project.open()) == key


@pytest.mark.parametrize(("settled", "seen"), [(None, True), (-COARSE, False)])
def test_a_second_edit_within_one_tick_is_seen_because_fresh_files_are_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settled: int | None, seen: bool
) -> None:
    """The second case shows what would happen if they were not."""

    def status(found: os.stat_result) -> str:
        return f"{found.st_size} {int(time.time() // 1000) * 10**12} 0 7"

    monkeypatch.setattr(listing, "status", status)
    if settled is not None:
        monkeypatch.setattr(manifest, "_SETTLED", settled)
    else:
        monkeypatch.setattr(manifest, "_SETTLED", 1000 * 10**9)  # the step of this clock
    project = Project(tmp_path / "project", monkeypatch)
    project.open()
    same_size(project.root)
    assert project.agrees() is seen


def test_files_that_were_just_written_are_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(tmp_path / "project", monkeypatch)
    project.open()
    project.open()
    assert len(project.read) == 3


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"format": 1',
        '{"format": "0.0.0"}',
        "\udcff",
        None,
    ],
)
def test_a_damaged_manifest_is_made_anew(project: Project, content: str | None) -> None:
    (path,) = (project.root / ".rltel-cache").glob("files-*.json")
    if content is None:  # the right frame around wrong entries
        values = json.loads(path.read_text())
        values["files"] = dict.fromkeys(values["files"], 3)
        content = json.dumps(values)
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    session = project.open()
    assert len(project.read) == 3
    assert len(session.notes) <= 1
    assert project.agrees()
    project.settle()


def test_a_file_that_changes_after_it_was_looked_at_is_what_it_is_when_read(
    project: Project,
) -> None:
    session = project.open()
    key = result_key(session)
    same_size(project.root)
    assert session.texts.sources["pkg/other.py"] == "b = 2\n"
    assert result_key(session) != key
    assert result_key(session) == result_key(project.open(no_cache=True))


def test_a_file_that_goes_after_it_was_looked_at_is_empty(project: Project) -> None:
    session = project.open()
    deleted(project.root)
    assert session.texts.sources["pkg/other.py"] == ""


def test_projects_that_share_a_cache_keep_apart(project: Project, tmp_path: Path) -> None:
    other = Tree(tmp_path / "other", {"pkg/other.py": "z = 9\n"})
    cache = project.root / ".rltel-cache"
    for _ in range(2):
        session = open_session(Options(root=other.root, cache_dir=cache))
        assert dict(session.texts.all) == {"pkg/other.py": "z = 9\n"}
    project.open()
    assert project.read == []


def test_two_processes_at_once(project: Project) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from rltel_lint.results import result_key\n"
        "from rltel_lint.session import Options, open_session\n"
        "for number in range(30):\n"
        "    (Path(sys.argv[1]) / sys.argv[2]).write_text(f'x = {number}\\n')\n"
        "    open_session(Options(root=Path(sys.argv[1])))\n"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(project.root), name],
            env={**os.environ, "PYTHONPATH": str(LINT)},
        )
        for name in ("pkg/one.py", "pkg/two.py")
    ]
    assert [process.wait(60) for process in started] == [0, 0]
    assert project.agrees()
    project.settle()
    assert project.agrees()
