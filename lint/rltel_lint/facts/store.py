"""Facts kept on disk between runs: for each file its index and the units that were lowered.

The folder is a cache: it may be deleted at any time, is written atomically, is safe for several
processes at once (the last writer wins, and all write the same facts for the same text), and is
never trusted: facts are keyed by a hash of the text they come from, a damaged or foreign file is
ignored, said once, and rebuilt. It holds JSON, nothing that could be executed.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rltel_lint import __version__

try:  # where hashlib has it from: to import that loads OpenSSL, which a short run would notice
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

if TYPE_CHECKING:
    from rltel_lint.facts.lookups import Lookups


@cache
def tool_version() -> str:
    """Returns what facts of another tool or Python version do not have.

    The tool's own files are part of it, so that a changed tool never reads stale facts, also
    where it is installed in place and keeps its version number. An installed copy is known by the
    hashes in its record, which are the same on every machine.
    """
    package = Path(__file__).parent.parent
    record = _record(package)
    if record:
        return f"{__version__} {sys.version_info[:2]} {text_key(record)}"
    files = repr(sorted(_files(str(package))))
    return f"{__version__} {sys.version_info[:2]} {text_key(files)}"


def _files(folder: str) -> Iterator[tuple[str, int, int]]:
    for entry in os.scandir(folder):
        if entry.name.endswith((".py", ".toml")):
            stat = entry.stat()
            yield entry.path, stat.st_mtime_ns, stat.st_size
        elif entry.name != "__pycache__" and entry.is_dir():
            yield from _files(entry.path)


def _record(package: Path) -> str:
    """The installed files with their hashes; empty where the package is not installed by copy.

    The record's format is that of the PyPA specification "Recording installed projects".
    """
    folder = package.parent / f"rl_telemetry-{__version__}.dist-info"
    try:
        lines = (folder / "RECORD").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    own = (line for line in lines if line.startswith(f"{package.name}/") and "," in line)
    # Compiled files have no hash, and are not the same everywhere.
    return "\n".join(sorted(line for line in own if line.split(",")[1]))


MAX_BYTES = 128 * 1024 * 1024
"""The folder is cut back to three quarters of this when it grows beyond."""

_LOOKUPS = "lookups.json"
_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# This folder is a cache of rltel-lint.\n"


def text_key(text: str) -> str:
    """Returns the key of a text: a hash of its content."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


class Kept:
    """What is kept of one file.

    Args:
        load: Reads the kept values, an empty dict where there are none.
    """

    def __init__(self, load: Callable[[], dict[str, Any]]) -> None:
        self._load = load
        self._values: dict[str, Any] | None = None
        self._used: dict[str, Any] = {}
        self._ahead: dict[str, Any] = {}
        self.changed = False

    @property
    def _kept(self) -> dict[str, Any]:
        if self._values is None:
            self._values = self._load()
        return self._values

    def index(self, key: str) -> list[Any] | None:
        """Returns the index of the text with this key, ``None`` if another one is kept."""
        index = _index(self._kept, key)
        if index is not None:
            return index
        # What was extracted ahead is kept once it is asked for: nobody sees the difference.
        ahead = _index(self._ahead, key)
        if ahead is not None:
            self.keep_index(key, ahead)
        return ahead

    def knows(self, key: str) -> bool:
        """Whether the index of the text with this key is there, asked for or not."""
        return _index(self._kept, key) is not None or _index(self._ahead, key) is not None

    def keep_index(self, key: str, index: list[Any]) -> None:
        """Keeps the index of a text."""
        self._kept["text"], self._kept["index"] = key, index
        self.changed = True

    def before(self, key: str) -> tuple[list[Any], dict[str, Any]] | None:
        """Returns the index of the text with this key, and all statements that are kept of it.

        They are not used by that: an outcome is asked for, and not the facts.
        """
        index, units = _index(self._kept, key), self._kept.get("units")
        return (index, units) if index is not None and isinstance(units, dict) else None

    def lowered(self, key: str) -> list[Any] | None:
        """Returns the encoded statements of the unit with this key."""
        value = self._kept.get("units", {}).get(key)
        if isinstance(value, list):
            self._used[key] = value
            return value
        ahead: list[Any] | None = self._ahead.get("units", {}).get(key)
        if ahead is not None:
            self.keep_lowered(key, ahead)
        return ahead

    def keep_lowered(self, key: str, value: list[Any]) -> None:
        """Keeps the encoded statements of a unit."""
        self._kept.setdefault("units", {})[key] = value
        self._used[key] = value
        self.changed = True

    def values(self) -> dict[str, Any]:
        """Returns all that is worth keeping: of the units, those that this run used."""
        return {**self._kept, "units": self._used}

    def take_in(self, values: dict[str, Any]) -> None:
        """Takes what :meth:`values` returned elsewhere, for the time when it is asked for."""
        self._ahead = values

    @property
    def used(self) -> list[str]:
        """The keys of the units that this run used."""
        return list(self._used)

    def join(self, used: Iterable[str], values: dict[str, Any] | None) -> None:
        """Joins what a copy of this process, made during the run, did with the same file.

        Args:
            used: The keys of the units that the copy used.
            values: What its :meth:`values` returned if anything changed there.
        """
        if values is not None and "index" in values:
            self._kept["text"], self._kept["index"] = values["text"], values["index"]
        self.changed = self.changed or values is not None
        known = {**self._kept.get("units", {}), **(values or {}).get("units", {})}
        for key in used:
            if key in known:
                self._used[key] = known[key]


def _index(values: Mapping[str, Any], key: str) -> list[Any] | None:
    index = values.get("index")
    return index if values.get("text") == key and isinstance(index, list) else None


class FactStore:
    """The folder.

    Args:
        folder: Where facts are kept; ``None`` keeps nothing.
        note: Told, in one line, what the user should know of the folder.
        remembers: Whether facts are kept for :meth:`extracted` where there is no folder.
        passing: A file whose text will not last, as in an editor: what is known of it, and of the
            project with it, is not kept.

    Attributes:
        keeps: Whether it is of use to keep facts at all.
        about: The key of the outcome that is being found, if it will be kept.
        is_torn: Whether a file has changed while its facts were read: what is known of the project
            as a whole is not worth keeping then.
    """

    def __init__(
        self,
        folder: Path | None,
        note: Callable[[str], None] = lambda _: None,
        *,
        remembers: bool = False,
        passing: str = "",
    ) -> None:
        self._folder = folder
        self.keeps = folder is not None or remembers
        self.note = note
        self._noted = False
        self._open: dict[str, Kept] = {}
        self._syntax: set[str] | None = None
        self._fine: set[str] = set()
        self._lookups: Lookups | None = None
        self._passing = passing
        self.is_torn = False
        self.about = ""
        self._fine_ahead: set[str] = set()

    def file(self, path: str) -> Kept:
        """Returns what is kept of the file at this path."""
        kept = self._open.get(path)
        if kept is None:
            name = f"{text_key(path)}.json"
            kept = self._open[path] = Kept(lambda: self._read(name))
        return kept

    def parses(self, key: str) -> bool:
        """Whether the text with this key is known to be free of syntax errors."""
        if self.has_seen(key) or key in self._fine_ahead:
            self._fine.add(key)
            return True
        return False

    def has_seen(self, key: str) -> bool:
        """Whether an earlier run has checked the syntax of the text with this key."""
        if self._syntax is None:
            known = self._read("syntax.json").get("fine", [])
            self._syntax = set(known) if isinstance(known, list) else set()
        return key in self._syntax

    def keep_parses(self, key: str) -> None:
        """Keeps that the text with this key is free of syntax errors."""
        self._fine.add(key)

    @property
    def lookups(self) -> Lookups | None:
        """What was looked up in the texts; ``None`` where there is no folder."""
        if self._folder is not None and self._lookups is None:
            self._lookups = self._read_lookups()
        return self._lookups

    def _read_lookups(self) -> Lookups:
        from rltel_lint.facts.lookups import Lookups

        try:
            return Lookups(self._read(_LOOKUPS))
        except (ValueError, TypeError, AttributeError, KeyError):
            self.damaged()
            return Lookups()

    def extracted(self) -> dict[str, Any]:
        """Returns all that was kept so far, as JSON values, for :meth:`take_in` elsewhere."""
        files = {path: kept.values() for path, kept in self._open.items()}
        return {"files": files, "fine": sorted(self._fine)}

    def take_in(self, facts: Mapping[str, Any]) -> None:
        """Takes facts that were extracted elsewhere, by this very version of the tool.

        Whoever asks for them gets them as if they had been extracted at that moment. What nobody
        asks for is not written to the folder either.

        Args:
            facts: What :meth:`extracted` returned.
        """
        for path, values in facts["files"].items():
            self.file(path).take_in(values)
        self._fine_ahead.update(facts["fine"])

    def learned(self) -> dict[str, Any]:
        """Returns what a copy of the process has to tell for :meth:`join`, as JSON values."""
        if self._folder is None:
            return {"used": {}, "changed": {}, "fine": [], "lookups": None, "torn": False}
        kept = self._open.items()
        return {
            "used": {path: one.used for path, one in kept if one.used},
            "changed": {path: one.values() for path, one in kept if one.changed},
            "fine": sorted(self._fine),
            "lookups": self._lookups.learned() if self._lookups is not None else None,
            "torn": self.is_torn,
        }

    def join(self, learned: Mapping[str, Any]) -> None:
        """Joins what a copy of this process, made during the run, has kept and used.

        Args:
            learned: What :meth:`learned` returned there.
        """
        self._fine.update(learned["fine"])
        self.is_torn = self.is_torn or learned["torn"]
        if learned["lookups"] is not None and self.lookups is not None:
            self.lookups.join(learned["lookups"])
        changed = {path for path, one in self._open.items() if one.changed}
        for path in sorted(changed | learned["changed"].keys()):
            used = learned["used"].get(path, [])
            self.file(path).join(used, learned["changed"].get(path))

    def save(self, keys: Mapping[str, str] | None = None) -> None:
        """Writes what changed; a folder that cannot be written to is said and left.

        Args:
            keys: The key of every source text of the project, by path.
        """
        if self._folder is None:
            return
        files: dict[str, Mapping[str, Any]] = {
            f"{text_key(path)}.json": kept.values()
            for path, kept in self._open.items()
            if kept.changed and path != self._passing
        }
        if self._fine != (self._syntax or set()):
            files["syntax.json"] = {"fine": sorted(self._fine)}
        lasting = not (self.is_torn or self._passing)
        if keys is not None and self._lookups is not None and lasting:
            files[_LOOKUPS] = self._lookups.values(keys, self.about)
        self.write(files)

    def write(self, files: Mapping[str, Mapping[str, Any]]) -> None:
        """Writes JSON files into the folder, each at once."""
        if self._folder is None or not files:
            return
        try:
            self._prepare()
            for name, values in files.items():
                _write(self._folder / name, {"format": tool_version(), **values})
            _cut_back(self._folder)
        except OSError as error:
            self._say(f"the cache {self._folder} cannot be written ({error.strerror or error})")

    def clock(self) -> int:
        """Returns the time by the clock of the folder's file system, in ns since the epoch."""
        if self._folder is None:
            return time.time_ns()
        import tempfile

        try:
            self._prepare()
            with tempfile.TemporaryFile(dir=self._folder) as file:
                return os.fstat(file.fileno()).st_mtime_ns
        except OSError:
            return time.time_ns()

    def read(self, name: str) -> dict[str, Any]:
        """Reads a JSON file of the folder; an empty dict if it is absent or useless."""
        return self._read(name)

    def _read(self, name: str) -> dict[str, Any]:
        if self._folder is None:
            return {}
        path = self._folder / name
        try:
            values = json.loads(path.read_bytes())
            if not isinstance(values, dict):
                raise ValueError("not an object")
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError):
            self._say(f"the cache file {path} is damaged; it is rebuilt")
            return {}
        if values.get("format") != tool_version():
            self._say(f"the cache {self._folder} is from another version; it is rebuilt")
            return {}
        with contextlib.suppress(OSError):
            os.utime(path)
        return values

    def damaged(self) -> None:
        """Says that something in the folder was not what it should be."""
        self._say(f"the cache {self._folder} is damaged; it is rebuilt")

    def _say(self, text: str) -> None:
        if not self._noted:
            self._noted = True
            self.note(text)

    def _prepare(self) -> None:
        assert self._folder is not None
        self._folder.mkdir(parents=True, exist_ok=True)
        for name, text in ((".gitignore", "*\n"), ("CACHEDIR.TAG", _TAG)):
            if not (self._folder / name).exists():
                (self._folder / name).write_text(text, encoding="utf-8")


def _write(path: Path, values: Mapping[str, Any]) -> None:
    """Writes a file so that a reader sees the old or the new one, never a part."""
    import tempfile  # takes long, and a run with nothing new writes nothing

    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.stem}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(json.dumps(values, separators=(",", ":")))  # in C, unlike json.dump
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _cut_back(folder: Path) -> None:
    """Deletes what was used longest ago once the folder is too large."""
    entries = sorted(_entries(folder))
    size = sum(size for *_, size, _ in entries)
    if size <= MAX_BYTES:
        return
    for *_, taken, path in entries:
        with contextlib.suppress(OSError):
            path.unlink()
        size -= taken
        if size <= MAX_BYTES * 3 // 4:
            return


def _entries(folder: Path) -> Iterable[tuple[bool, float, int, Path]]:
    """What may be deleted, in the order in which it is sorted.

    Facts of files come first: the few files that every run starts with are small.
    """
    for entry in os.scandir(folder):
        with contextlib.suppress(OSError):
            name = entry.name
            if name.endswith((".json", ".tmp")) and entry.is_file():
                stat, small = entry.stat(), name.startswith(("results.", "settings.", "files-"))
                yield small, stat.st_mtime, stat.st_size, Path(entry.path)
