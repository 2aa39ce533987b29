"""The configuration: ``[tool.rltel-lint]`` of the project's ``pyproject.toml``, checked."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rltel_lint.codes import READ_PROBLEM, check_codes
from rltel_lint.errors import ConfigError

if TYPE_CHECKING:
    from rltel_lint.kept_settings import KeptSettings

__all__ = ["Config", "ConfigError", "find_root", "load_config"]

_TABLE = "[tool.rltel-lint]"


@dataclass(frozen=True)
class Config:
    """What the user asked for; every field has a default that suits ``rl_telemetry`` users.

    Attributes:
        source: Globs of the Python files to check; empty means every one but tests.
        docs: Globs of the documents to read; empty means ``README*`` and ``docs/**``.
        dashboards: Globs of the dashboards to read; empty means JSON below ``dashboards/``.
        configs: Globs of the configuration files to read; empty means none.
        exclude: Globs of files to leave out, after the built-in ones; ``!`` takes back.
        profile: Names of the built-in vocabularies.
        namespace: Prefixes of the project's span and metric names.
        select: Codes and prefixes to report instead of the default ones; ``None`` if not set.
        ignore: Codes and prefixes not to report.
        extend_select: Codes and prefixes to report besides.
        per_file_ignores: Codes and prefixes not to report, by glob.
        reserved: Documented names that may have no emitter.
        baseline: File with accepted findings, relative to the project root.
        vocabulary: The user's own helpers as written; checked where it is used.
        file: The file all this came from; ``None`` without one.
    """

    source: tuple[str, ...] = ()
    docs: tuple[str, ...] = ()
    dashboards: tuple[str, ...] = ()
    configs: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    profile: tuple[str, ...] = ("rl_telemetry",)
    namespace: tuple[str, ...] = ("rl.",)
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    reserved: tuple[str, ...] = ()
    baseline: str | None = None
    vocabulary: Mapping[str, Any] = field(default_factory=dict)
    file: Path | None = None

    def selects(self, code: str, *, default: bool = True) -> bool:
        """Says whether a rule is to be reported.

        The longest matching prefix decides, and ``ignore`` wins a tie. A rule that is off by
        default needs its whole code: a prefix stands for the rules that are on by default.
        A file that cannot be read is reported unless its code is ignored, whatever is selected.

        Args:
            code: The rule's code.
            default: Whether the rule is on by default.
        """
        chosen = _longest(code, (self.select or ()) + self.extend_select)
        if not default and chosen < len(code):
            return False
        if chosen < 0 and (self.select is None or code == READ_PROBLEM):
            chosen = 0
        return chosen >= 0 and chosen > _longest(code, self.ignore)

    def override(
        self,
        *,
        select: tuple[str, ...] = (),
        ignore: tuple[str, ...] = (),
        extend_select: tuple[str, ...] = (),
        profile: tuple[str, ...] = (),
    ) -> Config:
        """Returns the configuration with command line options on top.

        Args:
            select: Replaces ``select``, ``ignore`` and ``extend-select`` of the file.
            ignore: Adds to what is ignored.
            extend_select: Adds to what is selected, even if the file ignores it.
            profile: Replaces the profiles.
        """
        base = replace(self, select=select, ignore=(), extend_select=()) if select else self
        kept = tuple(code for code in base.ignore if code not in extend_select)
        return replace(
            base,
            ignore=kept + ignore,
            extend_select=base.extend_select + extend_select,
            profile=profile or base.profile,
        )


def _longest(code: str, prefixes: tuple[str, ...]) -> int:
    return max((len(prefix) for prefix in prefixes if code.startswith(prefix)), default=-1)


def find_root(start: Path) -> Path:
    """Returns the nearest folder upwards with ``pyproject.toml`` or ``.git``, else ``start``.

    Args:
        start: An existing folder.
    """
    start = start.resolve()
    return next(filter(is_root, (start, *start.parents)), start)


def is_root(folder: Path) -> bool:
    """Says whether a folder has what makes it a project root."""
    return (folder / "pyproject.toml").is_file() or (folder / ".git").exists()


def load_config(root: Path, file: Path | None = None, kept: KeptSettings | None = None) -> Config:
    """Reads the configuration of a project.

    Args:
        root: The project root; its ``pyproject.toml`` is read if there is one.
        file: Another TOML file to read instead; it must have the table.
        kept: Configurations that were read before.

    Raises:
        ConfigError: The file cannot be read, or something in it is wrong.
    """
    path = file or root / "pyproject.toml"
    if file is None and not path.is_file():
        return Config()
    shown = _shown(path, root)
    text = _read(path, shown)
    known, values = kept.find(text) if kept is not None else (False, None)
    if not known or (values is None and file is not None):
        values = _values(text, shown, file)
        if kept is not None:
            kept.keep(text, values)
    return Config() if values is None else Config(**values, file=path)


def _values(text: str, shown: str, file: Path | None) -> dict[str, Any] | None:
    """What the table says, checked; ``None`` where there is no table and none was asked for."""
    tool = _parsed(text, shown).get("tool", {})
    table = tool.get("rltel-lint") if isinstance(tool, dict) else None
    if table is None:
        if file is not None:
            raise ConfigError(f"{shown}: has no {_TABLE} table; add one or leave out --config")
        return None
    if not isinstance(table, dict):
        raise ConfigError(f"{shown}: tool.rltel-lint must be a table; write it as {_TABLE}")
    return _from_table(table, f"{shown}: {_TABLE}")


def _shown(path: Path, root: Path) -> str:
    """The path as the user knows it: relative to the project if it lies inside."""
    try:
        return path.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        return str(path)


def _read(path: Path, shown: str) -> str:
    try:
        return path.read_bytes().decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{shown}: is not UTF-8; save it as UTF-8") from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ConfigError(f"{shown}: cannot be read: {reason}; check the path") from error


def _parsed(text: str, shown: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        reason = str(error).splitlines()[0]
        raise ConfigError(f"{shown}: is not valid TOML: {reason}; mend that line") from error


def _from_table(table: Mapping[str, Any], where: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in table.items():
        reader = _READERS.get(key)
        if reader is None:
            raise ConfigError(f'{where} unknown key "{key}"; {_nearest_key(key)}')
        values[key.replace("-", "_")] = reader(value, f"{where} {key}")
    return values


def _nearest_key(key: str) -> str:
    import difflib

    near = difflib.get_close_matches(key.replace("_", "-").lower(), _READERS, n=1, cutoff=0.5)
    if near:
        return f'did you mean "{near[0]}"?'
    return f"the keys are {', '.join(_READERS)}"


def _string(value: object, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(f"{where} must be a string that is not empty, not {_kind(value)}")
    return value


def _strings(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise ConfigError(f'{where} must be a list of strings, as in ["..."], not {_kind(value)}')
    return tuple(value)


def _string_or_strings(value: object, where: str) -> tuple[str, ...]:
    return (_string(value, where),) if isinstance(value, str) else _strings(value, where)


def _globs(value: object, where: str) -> tuple[str, ...]:
    from rltel_lint.globs import Globs

    try:
        return Globs(_strings(value, where)).patterns
    except ConfigError as error:
        message = str(error)
        raise ConfigError(message if where in message else f"{where}: {message}") from error


def _code_list(value: object, where: str) -> tuple[str, ...]:
    return check_codes(_strings(value, where), where)


def _codes_by_glob(value: object, where: str) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict):
        raise ConfigError(f'{where} must be a table, as in {{"legacy/**" = ["RLT101"]}}')
    return {
        _globs([glob], where)[0]: _code_list(codes, f'{where} "{glob}"')
        for glob, codes in value.items()
    }


def _namespaces(value: object, where: str) -> tuple[str, ...]:
    """Prefixes; ``rl`` is taken for ``rl.``, or ``rlhf.step`` would count as one of its names."""
    return tuple(
        name + "." if name[-1].isalnum() else name for name in _string_or_strings(value, where)
    )


def _table(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(f"{where} must be a table, not {_kind(value)}")
    return value


def _kind(value: object) -> str:
    if isinstance(value, list):
        odd = [item for item in value if not isinstance(item, str)]
        return f"a list with {_kind(odd[0])}" if odd else "a list with an empty string"
    names = {
        bool: "a boolean",
        str: "a string",
        dict: "a table",
        int: "a number",
        float: "a number",
    }
    if value == "":
        return "an empty one"
    return names.get(type(value), f"a {type(value).__name__}")


_READERS: dict[str, Callable[[object, str], Any]] = {
    "source": _globs,
    "docs": _globs,
    "dashboards": _globs,
    "configs": _globs,
    "exclude": _globs,
    "profile": _string_or_strings,
    "namespace": _namespaces,
    "select": _code_list,
    "ignore": _code_list,
    "extend-select": _code_list,
    "per-file-ignores": _codes_by_glob,
    "reserved": _strings,
    "baseline": _string,
    "vocabulary": _table,
}
