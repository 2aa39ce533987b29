"""Which versions of a package the project asks for, by its ``pyproject.toml``.

Source: https://packaging.python.org/en/latest/specifications/dependency-specifiers/.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rltel_lint.findings import Place

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from packaging.requirements import Requirement
    from packaging.specifiers import SpecifierSet

    from rltel_lint.project.tree import Tree

FILE = "pyproject.toml"
_FAR = "99999"


class Requirements:
    """The packages that a project declares.

    Args:
        path: Its ``pyproject.toml``, relative to the project root.
        text: The text of that file; empty without one.
    """

    def __init__(self, path: str, text: str) -> None:
        self._path = path
        self._text = text

    @classmethod
    def around(cls, document: str, tree: Tree) -> Requirements:
        """Returns those that hold for a document: of the nearest file upwards.

        Args:
            document: Its path.
            tree: The project's folder, in which members of a workspace have files of their own.
        """
        for path in _candidates(document):
            text = tree.read(path)
            if "[project]" in text:
                return cls(path, text)
        return cls(FILE, "")

    @cached_property
    def _declared(self) -> dict[str, list[Requirement]]:
        """Every requirement, by the package's normalised name."""
        from packaging.utils import canonicalize_name

        found: dict[str, list[Requirement]] = {}
        for text in _texts(self._table):
            requirement = parse_requirement(text)
            if requirement is not None:
                found.setdefault(canonicalize_name(requirement.name), []).append(requirement)
        return found

    @cached_property
    def _table(self) -> dict[str, Any]:
        try:
            return tomllib.loads(self._text)
        except tomllib.TOMLDecodeError:
            return {}

    def refusing(self, pin: Requirement) -> str:
        """Returns the declared range that no version of a pin is in; empty if there is none.

        A package that the project declares more than once, in extras for example, is refused
        only if every range refuses it.

        Args:
            pin: A package with a range of versions.
        """
        from packaging.utils import canonicalize_name

        declared = self._declared.get(canonicalize_name(pin.name), [])
        if any(one.url or not one.specifier for one in declared):
            return ""
        if any(meet(one.specifier, pin.specifier) for one in declared):
            return ""
        return " or ".join(dict.fromkeys(str(one.specifier) for one in declared))

    def place(self, name: str) -> Place:
        """Returns where a package is declared first."""
        spelled = r"[-_.]+".join(map(re.escape, re.split(r"[-_.]+", name)))
        word = re.compile(rf"[\"']{spelled}(?![\w.-])", re.IGNORECASE)
        for number, line in enumerate(self._text.splitlines(), 1):
            match = word.search(line)
            if match is not None and not line.lstrip().startswith("#"):
                return Place(self._path, number, match.start() + 2, number, match.end() + 1)
        return Place(self._path)


def _candidates(document: str) -> Iterator[str]:
    """Yields where the file may be that declares what a document's readers install.

    Args:
        document: Its path, relative to the project root.
    """
    folder = document.rpartition("/")[0]
    while folder:
        yield f"{folder}/{FILE}"
        folder = folder.rpartition("/")[0]
    yield FILE


def parse_requirement(text: str) -> Requirement | None:
    """Returns a requirement; ``None`` if the text is none."""
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        return Requirement(text)
    except InvalidRequirement:
        return None


def meet(one: SpecifierSet, two: SpecifierSet) -> bool:
    """Whether some version is in both ranges.

    Ranges begin and end at the versions that they name, so it is enough to try these, one just
    above each, and one that is above all.
    """
    named = [part.version.removesuffix(".*") for part in (*one, *two)]
    tried = [text for name in named for text in (name, *_above(name))] + ["0", _FAR]
    return any(
        one.contains(text, prereleases=True) and two.contains(text, prereleases=True)
        for text in tried
    )


def _above(version: str) -> Iterator[str]:
    """Yields a version just above another one, and the next of each of its parts."""
    plain = re.match(r"\d+(?:\.\d+)*", version)
    if plain is None:
        return
    parts = plain[0].split(".")
    yield f"{plain[0]}.0.1"
    for end in range(1, len(parts) + 1):
        yield ".".join([*parts[: end - 1], str(int(parts[end - 1]) + 1)])


def _texts(table: dict[str, Any]) -> Iterator[str]:
    project = table.get("project", {})
    uv = table.get("tool", {}).get("uv", {})
    lists = [project.get("dependencies")]
    for groups in (project.get("optional-dependencies"), table.get("dependency-groups")):
        lists += groups.values() if isinstance(groups, dict) else []
    lists += [uv.get(f"{kind}-dependencies") for kind in ("override", "constraint", "dev")]
    for listed in lists:
        if isinstance(listed, list):
            yield from (text for text in listed if isinstance(text, str))
