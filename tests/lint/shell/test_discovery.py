"""Which files are checked: inside git, outside it, and with links in the way."""

from __future__ import annotations

import os

import pytest

from rltel_lint.config import Config
from rltel_lint.discovery import find_files, read_files

TREE = {
    "pkg/a.py": "",
    "pkg/sub/b.py": "",
    "pkg/data.txt": "",
    "README.md": "",
    "docs/spans.md": "",
    "docs/deep/metrics.mdx": "",
    "docs/guide.rst": "",
    "docs/picture.svg": "",
    "notes/other.md": "",
    # not the project's own instrumentation:
    "tests/helper.py": "",
    "pkg/tests/test_a.py": "",
    "pkg/test_c.py": "",
    "pkg/c_test.py": "",
    "conftest.py": "",
    ".hidden/x.py": "",
    ".github/README.md": "",
    "pkg/.secret.py": "",
    "build/lib/pkg/a.py": "",
    "third_party/lib/x.py": "",
    "3rdparty/lib/README.md": "",
    "3rdparty/lib/x.py": "",
    "node_modules/x/README.md": "",
}
SOURCES = ("pkg/a.py", "pkg/sub/b.py")
DOCUMENTS = ("README.md", "docs/deep/metrics.mdx", "docs/guide.rst", "docs/spans.md")


@pytest.mark.parametrize("tracked", [None, "untracked", "tracked"])
def test_the_default_files_are_the_same_inside_git_and_outside(write, git, tracked):
    root = write(TREE)
    if tracked:
        git("init", "-q")
    if tracked == "tracked":
        git("add", ".")
    files = find_files(root, Config())
    assert files.sources == SOURCES
    assert files.documents == DOCUMENTS
    assert files.notes == ()


def test_a_src_layout_and_an_environment_beside_it(write):
    root = write({"src/pkg/a.py": "", "myenv/pyvenv.cfg": "", "myenv/lib/x.py": "", "setup.py": ""})
    assert find_files(root, Config()).sources == ("setup.py", "src/pkg/a.py")


def test_git_leaves_out_ignored_and_deleted_files(write, git):
    root = write({".gitignore": "gen/\n", "gen/x.py": "", "a.py": "", "gone.py": "", "b c.py": ""})
    git("init", "-q")
    git("add", ".")
    (root / "gone.py").unlink()
    write({"new.py": ""})
    assert find_files(root, Config()).sources == ("a.py", "b c.py", "new.py")


def test_a_file_in_conflict_is_taken_once(write, git):
    root = write({"a.py": "x = 0\n"})
    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-qm", "base")
    git("checkout", "-qb", "other")
    write({"a.py": "x = 1\n"})
    git("commit", "-qam", "one")
    git("checkout", "-q", "main")
    write({"a.py": "x = 2\n"})
    git("commit", "-qam", "two")
    with pytest.raises(Exception, match="merge"):
        git("merge", "-q", "other")
    assert git("ls-files").split() == ["a.py"] * 3
    assert find_files(root, Config()).sources == ("a.py",)


def test_a_root_below_the_repository_has_its_own_paths(write, git):
    root = write({"top.py": "", "part/pkg/a.py": "", "part/README.md": ""})
    git("init", "-q")
    files = find_files(root / "part", Config())
    assert (files.sources, files.documents) == (("pkg/a.py",), ("README.md",))


def test_a_folder_that_an_outer_repository_ignores_is_walked(write, git):
    root = write({".gitignore": "scratch/\n", "top.py": "", "scratch/pkg/a.py": ""})
    git("init", "-q")
    assert find_files(root / "scratch", Config()).sources == ("pkg/a.py",)


def test_variables_of_a_git_hook_do_not_point_elsewhere(write, git, tmp_path, monkeypatch):
    root = write({".gitignore": "a.py", "a.py": ""})
    git("init", "-q")
    git("add", "-f", "a.py")
    other = tmp_path / "other"
    other.mkdir()
    git("init", "-q", folder="other")
    (other / "elsewhere.py").write_text("")
    git("add", ".", folder="other")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git/index"))
    assert find_files(root, Config()).sources == ("a.py",)


def test_without_git_the_folder_is_walked(write, git, monkeypatch, tmp_path):
    root = write(TREE)
    git("init", "-q")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_files(root, Config()).sources == SOURCES


def test_a_repository_that_git_refuses_is_walked_and_the_user_told(write, git):
    root = write({"a.py": ""})
    git("init", "-q")
    (root / ".git/config").write_text("[core\n")
    files = find_files(root, Config())
    assert files.sources == ("a.py",)
    assert len(files.notes) == 1
    assert "git could not list the files" in files.notes[0]


def test_an_empty_tree_has_no_files(write):
    files = find_files(write({}), Config())
    assert (files.sources, files.documents, files.notes) == ((), (), ())


@pytest.mark.parametrize("tracked", [False, True])
def test_globs_of_the_configuration(write, git, tracked):
    root = write(TREE)
    if tracked:
        git("init", "-q")
    config = Config(source=("pkg/**",), docs=("notes/**",), exclude=("pkg/sub/",))
    files = find_files(root, config)
    assert files.sources == ("pkg/a.py",)
    assert files.documents == ("notes/other.md",)


@pytest.mark.parametrize("tracked", [False, True])
def test_an_exclusion_can_be_taken_back(write, git, tracked):
    root = write(TREE)
    if tracked:
        git("init", "-q")
    config = Config(exclude=("!tests/helper.py", "!third_party/lib/**"))
    assert find_files(root, config).sources == (*SOURCES, "tests/helper.py", "third_party/lib/x.py")


@pytest.mark.parametrize("tracked", [False, True])
def test_links_are_not_a_way_out_nor_a_second_copy(write, git, tmp_path, tracked):
    root = write({"pkg/a.py": "", ".store/real.py": ""})
    (tmp_path / "outside.py").write_text("")
    (tmp_path / "away").mkdir()
    (tmp_path / "away/far.py").write_text("")
    links = {
        "pkg/again.py": "a.py",
        "pkg/stored.py": "../.store/real.py",
        "pkg/out.py": "../../outside.py",
        "pkg/nothing.py": "missing.py",
        "pkg/self.py": "self.py",
        "pkg/loop": "..",
        "away": "../away",
    }
    for link, target in links.items():
        os.symlink(target, root / link)
    if tracked:
        git("init", "-q")
        git("add", ".")
    assert find_files(root, Config()).sources == ("pkg/a.py", "pkg/stored.py")


def test_a_root_reached_through_a_link_is_the_same_project(write, tmp_path):
    write({"pkg/a.py": ""})
    os.symlink("project", tmp_path / "link")
    assert find_files(tmp_path / "link", Config()).sources == ("pkg/a.py",)


def test_a_file_that_cannot_be_read_is_a_finding_and_the_rest_is_read(write):
    root = write({"good.py": "x = 1\n", "bad.py": b"y = 1\n\0", "docs/a.md": b"caf\xe9 `rl.x`\n"})
    os.mkfifo(root / "pipe.py")
    texts = read_files(root, find_files(root, Config()))
    assert texts.sources == {"good.py": "x = 1\n"}
    assert texts.documents == {"docs/a.md": "caf\xe9 `rl.x`\n"}
    found = [(one.place.path, one.place.line, one.code) for one in texts.problems]
    assert found == [("bad.py", 2, "RLT000"), ("docs/a.md", 1, "RLT000"), ("pipe.py", 1, "RLT000")]
