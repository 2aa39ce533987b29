"""What lies below a folder: by git's account inside a repository, by a walk elsewhere."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from typing import NamedTuple

from rltel_lint.globs import Globs

# What git exports to its hooks would make it list another repository than the one asked for.
_GIT_LOCAL = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR")

_Seen = tuple[str, str, os.stat_result]
"""A path relative to the root, the same with the folder's links resolved, and what is there."""


class Listing(NamedTuple):
    """Files below a folder.

    Attributes:
        files: The status of each file by its path, relative to the folder with ``/``, sorted.
        notes: What the user should know of how they were found.
    """

    files: dict[str, str]
    notes: tuple[str, ...] = ()


def list_files(root: str, wanted: Callable[[str], bool], excluded: Globs) -> Listing:
    """Lists files.

    Inside a git repository these are tracked files and untracked ones that are not ignored;
    elsewhere all files below the root. Symbolic links to folders, to files outside the root
    and to nothing are not followed.

    Args:
        root: A folder, absolute and without links.
        wanted: Which paths are listed; it refuses what is excluded.
        excluded: What is excluded: a walk does not enter such folders.
    """
    names, notes = _git_files(root)
    if names:
        seen = _look_up(root, [name for name in names if wanted(name)])
    else:
        seen = _walk(root, wanted, excluded)
    return Listing(_without_links(root, seen), notes)


def status(seen: os.stat_result) -> str:
    """Returns what changes whenever a file is written: size, times and identity, as git's index.

    The time of the last change of the file's own record (``ctime``) is part of it: a program that
    sets the other time back cannot set that one.

    Args:
        seen: What the system says of the file.

    Returns:
        Numbers in one text; an empty one for what is no regular file.
    """
    if not stat.S_ISREG(seen.st_mode):
        return ""
    return f"{seen.st_size} {seen.st_mtime_ns} {seen.st_ctime_ns} {seen.st_ino}"


def last_change(status: str) -> int:
    """Returns when a file was changed last, in nanoseconds since the epoch.

    Args:
        status: From :func:`status`, not empty.
    """
    _, modified, changed, _ = status.split(" ")
    return max(int(modified), int(changed))


def _git_files(root: str) -> tuple[list[str], tuple[str, ...]]:
    """Files by git's account; none outside a repository or in a folder that it ignores."""
    if not _in_repository(root):
        return [], ()
    import subprocess

    command = ("git", "-c", "core.fsmonitor=false", "ls-files", "-z")
    environment = {key: value for key, value in os.environ.items() if key not in _GIT_LOCAL}
    try:
        done = subprocess.run(
            [*command, "--cached", "--others", "--exclude-standard"],
            cwd=root,
            env={**environment, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except OSError:
        return [], ()
    if done.returncode == 0:
        return os.fsdecode(done.stdout).split("\0")[:-1], ()
    reason = (os.fsdecode(done.stderr).strip().splitlines() or ["no reason given"])[0]
    if "not a git repository" in reason:
        return [], ()
    return [], (f"git could not list the files, so all below {root} were taken ({reason})",)


def _in_repository(root: str) -> bool:
    """Whether git has to be asked: it looks for its folder upwards, and to start it costs."""
    folder = root
    while not os.path.lexists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return False
        folder = above
    return True


def _walk(root: str, wanted: Callable[[str], bool], excluded: Globs) -> Iterator[_Seen]:
    prune = not excluded.takes_back
    folders = [""]
    while folders:
        prefix = folders.pop()
        found = _entries(os.path.join(root, prefix))
        if prefix and any(entry.name == "pyvenv.cfg" for entry in found):
            continue
        for entry in found:
            path = f"{prefix}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in (".git", "__pycache__"):
                    if not (prune and excluded.match(f"{path}/")):
                        folders.append(f"{path}/")
            elif wanted(path):
                try:
                    yield path, entry.path, entry.stat(follow_symlinks=False)
                except OSError:  # gone meanwhile
                    continue


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:  # a folder that one may not read, or that is gone
        return []


def _look_up(root: str, paths: list[str]) -> Iterator[_Seen]:
    folders = {"": root}

    def resolved(folder: str) -> str:
        """The folder without links; each one on the way is looked at once."""
        known = folders.get(folder)
        if known is None:
            above, _, name = folder.rpartition("/")
            known = os.path.join(resolved(above), name)
            if os.path.islink(known):
                known = os.path.realpath(known)
            folders[folder] = known
        return known

    for path in paths:
        folder, _, name = path.rpartition("/")
        full = os.path.join(resolved(folder), name)
        try:
            yield path, full, os.lstat(full)
        except OSError:  # in git's index and deleted
            continue


def _without_links(root: str, seen: Iterator[_Seen]) -> dict[str, str]:
    """Files by path without what lies outside or is a second name for another one."""
    plain: dict[str, tuple[str, str]] = {}
    links: dict[str, tuple[str, str]] = {}
    for path, full, there in sorted(seen, key=lambda one: one[0]):
        if not stat.S_ISLNK(there.st_mode):
            plain[full] = (path, status(there))
            continue
        target = os.path.realpath(full)
        try:
            known = status(os.stat(target))
        except OSError:  # a link to nothing, or to itself
            continue
        if known:
            links.setdefault(target, (path, known))
    inside = os.path.join(root, "")
    found = {**links, **plain}
    return dict(sorted(one for full, one in found.items() if full.startswith(inside)))
