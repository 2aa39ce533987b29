"""Span groups by namespace, presets, and the gate that says which groups are on.

Group names live in one flat space: two libraries that register ``checkpoint`` mean the same group,
and switching it on switches on the spans of both. A namespace only says who owns a name, so that
it can be registered again or withdrawn.

Reading takes no lock: the registry and the gate are replaced as a whole, never edited. Writers
take the gate's lock first and the registry's second, and log after both are released.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterable, Mapping
from typing import ClassVar, NamedTuple

_LOGGER = logging.getLogger(__name__)

#: The preset that is computed from whatever is registered. No library can define it.
ALL = "all"


class _Namespace(NamedTuple):
    groups: frozenset[str]
    presets: Mapping[str, frozenset[str]]


_Namespaces = Mapping[str, _Namespace]


class SpanRegistry:
    """The span groups and presets of every library in this process."""

    _lock = threading.Lock()
    _namespaces: ClassVar[_Namespaces] = {}

    @classmethod
    def register(
        cls,
        namespace: str,
        groups: Iterable[str],
        presets: Mapping[str, Iterable[str]] | None = None,
        *,
        allow_override: bool = False,
    ) -> None:
        """Register the groups and presets of a library, and bring the gate up to date.

        Names are stripped and lower-cased. A group that another namespace owns is shared, with a
        warning; a preset member that nobody owns is kept, with a warning, and counts once somebody
        registers it.

        Args:
            namespace: The owner, usually the name of the package.
            groups: The names of its groups.
            presets: Named selections of groups. Presets of one name are joined over namespaces.
            allow_override: Replace what this namespace registered before, as a whole (presets that
                are left out are dropped), and share groups without a warning.

        Raises:
            ValueError: The namespace or a group is empty, a group or preset is called ``all``, a
                string stands where a collection of names belongs, or the namespace is registered
                already and ``allow_override`` is off.
        """
        namespace = _clean_namespace(namespace)
        entry = _Namespace(
            _clean_names(groups, f"groups of {namespace!r}"), _clean_presets(presets or {})
        )
        with cls._lock:
            before = cls._namespaces
            if namespace in before and not allow_override:
                raise ValueError(
                    f"namespace {namespace!r} is already registered; "
                    "pass allow_override=True to replace it"
                )
            cls._namespaces = {**before, namespace: entry}
        late = entry.groups - _groups_of(before) if _gate.spec is not None else frozenset()
        for warning in _registration_warnings(namespace, entry, before, allow_override, late):
            _LOGGER.warning("%s", warning)
        refresh_enabled_span_groups()

    @classmethod
    def unregister(cls, namespace: str) -> None:
        """Withdraw a namespace; its groups leave every preset.

        Args:
            namespace: A registered namespace.

        Raises:
            ValueError: The namespace is not registered.
        """
        namespace = _clean_namespace(namespace)
        with cls._lock:
            if namespace not in cls._namespaces:
                known = ", ".join(sorted(cls._namespaces)) or "none"
                raise ValueError(f"namespace {namespace!r} is not registered (registered: {known})")
            cls._namespaces = {k: v for k, v in cls._namespaces.items() if k != namespace}
        refresh_enabled_span_groups()

    @classmethod
    def clear(cls) -> None:
        """Withdraw every namespace. For tests."""
        with cls._lock:
            cls._namespaces = {}
        refresh_enabled_span_groups()

    @classmethod
    def groups(cls) -> frozenset[str]:
        """Return the names of all registered groups."""
        return _groups_of(cls._namespaces)

    @classmethod
    def namespaces(cls) -> list[str]:
        """Return the registered namespaces, sorted."""
        return sorted(cls._namespaces)

    @classmethod
    def presets(cls) -> dict[str, frozenset[str]]:
        """Return every preset, ``all`` included, with the registered groups it selects."""
        return _presets_of(cls._namespaces)

    @classmethod
    def resolve(cls, spec: str) -> tuple[frozenset[str], frozenset[str]]:
        """Resolve a selection against what is registered now.

        Args:
            spec: Names of presets and groups, separated by commas; case and blanks do not matter.
                Entries only add. A preset wins over a group of the same name.

        Returns:
            The groups that are on, and the entries that nobody registered yet.
        """
        return _resolve(spec, cls._namespaces)


class _Gate:
    """What is on in this process. ``enabled`` is read by every span helper."""

    __slots__ = ("enabled", "lock", "pending", "reported", "spec")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.enabled: frozenset[str] = frozenset()
        self.pending: frozenset[str] = frozenset()
        self.spec: str | None = None
        self.reported: tuple[frozenset[str], bool] = (frozenset(), False)

    def __reduce__(self) -> str:
        """Pickle as the name: a decorated method that Ray ships finds the gate of its process."""
        return "_gate"


#: Span helpers test ``group in _gate.enabled`` in line; everybody else calls
#: :func:`is_span_group_enabled`.
_gate = _Gate()


def set_span_group_spec(spec: str) -> None:
    """Switch on the groups that ``spec`` selects, now and after later registrations.

    Entries that nobody registered are reported in one warning and stay pending: one string serves
    a whole job, while each process knows only the libraries it imported. Never raises.

    Args:
        spec: See :meth:`SpanRegistry.resolve`.
    """
    text = "" if spec is None else str(spec)
    with _gate.lock:
        _gate.spec = text
        warning = _apply(text)
    if warning:
        _LOGGER.warning("%s", warning)


def set_enabled_span_groups(groups: Iterable[str]) -> None:
    """Pin exactly these groups and forget the spec, so that no registration changes them.

    Args:
        groups: The groups to leave on; empty to switch every span off.
    """
    with _gate.lock:
        _gate.spec = None
        _gate.enabled = frozenset(groups)
        _gate.pending = frozenset()
        _gate.reported = (frozenset(), False)


def refresh_enabled_span_groups() -> None:
    """Resolve the stored spec again. Does nothing when there is none."""
    warning = None
    with _gate.lock:
        if _gate.spec is not None:
            warning = _apply(_gate.spec)
    if warning:
        _LOGGER.warning("%s", warning)


def is_span_group_enabled(group: str) -> bool:
    """Return whether spans of ``group`` are made in this process."""
    return group in _gate.enabled


def enabled_span_groups() -> frozenset[str]:
    """Return the groups that are on."""
    return _gate.enabled


def pending_span_groups() -> frozenset[str]:
    """Return the entries of the spec that nobody registered yet."""
    return _gate.pending


def _apply(spec: str) -> str | None:
    """Resolve ``spec`` into the gate, whose lock the caller holds; return what to warn of."""
    with SpanRegistry._lock:
        namespaces = SpanRegistry._namespaces
    enabled, pending = _resolve(spec, namespaces)
    _gate.enabled = enabled
    _gate.pending = pending
    nothing_registered = not namespaces and bool(_entries(spec))
    problem = (pending, nothing_registered)
    if problem == _gate.reported:
        return None
    _gate.reported = problem
    if nothing_registered:
        return (
            f"span groups {spec!r}: nothing is registered, so no span will be made; import the "
            "module that registers your groups (such as rl_telemetry.span_groups) before set-up"
        )
    if not pending:
        return None
    return (
        f"span groups {spec!r}: {_listed(pending)} not registered in this process and stay off "
        f"until they are; registered groups: {_listed(_groups_of(namespaces))}; "
        f"presets: {_listed(_presets_of(namespaces))}; namespaces: {_listed(namespaces)}"
    )


def _registration_warnings(
    namespace: str,
    entry: _Namespace,
    before: _Namespaces,
    allow_override: bool,
    late: frozenset[str],
) -> Iterable[str]:
    others = {k: v for k, v in before.items() if k != namespace}
    if not allow_override:
        for owner, other in sorted(others.items()):
            shared = entry.groups & other.groups
            if shared:
                yield (
                    f"namespace {namespace!r} shares span groups with {owner!r}: "
                    f"{_listed(shared)}; enabling one enables the spans of both "
                    "(pass allow_override=True if that is meant)"
                )
    owned = entry.groups | _groups_of(others)
    for preset, members in sorted(entry.presets.items()):
        if members - owned:
            yield (
                f"preset {preset!r} of namespace {namespace!r} names groups that nobody "
                f"registered: {_listed(members - owned)}; they count once somebody does"
            )
    if late:
        yield (
            f"namespace {namespace!r} registered span groups after telemetry was set up: "
            f"{_listed(late)}; they could not be selected at start-up"
        )


def _resolve(spec: str, namespaces: _Namespaces) -> tuple[frozenset[str], frozenset[str]]:
    groups = _groups_of(namespaces)
    presets = _presets_of(namespaces)
    enabled: set[str] = set()
    pending: set[str] = set()
    for entry in _entries(spec):
        if entry in presets:
            enabled |= presets[entry]
        elif entry in groups:
            enabled.add(entry)
        else:
            pending.add(entry)
    return frozenset(enabled), frozenset(pending)


def _entries(spec: str) -> frozenset[str]:
    return frozenset(filter(None, (entry.strip().lower() for entry in spec.split(","))))


def _groups_of(namespaces: _Namespaces) -> frozenset[str]:
    return frozenset[str]().union(*(entry.groups for entry in namespaces.values()))


def _presets_of(namespaces: _Namespaces) -> dict[str, frozenset[str]]:
    groups = _groups_of(namespaces)
    presets: dict[str, frozenset[str]] = {}
    for entry in namespaces.values():
        for name, members in entry.presets.items():
            presets[name] = presets.get(name, frozenset()) | (members & groups)
    presets[ALL] = groups
    return presets


def _clean_namespace(namespace: str) -> str:
    cleaned = namespace.strip()
    if not cleaned:
        raise ValueError("a span group namespace needs a name, such as the name of your package")
    return cleaned


def _clean_names(names: Iterable[str], what: str) -> frozenset[str]:
    if isinstance(names, str):
        raise ValueError(f"{what}: got the string {names!r}; pass a collection of names")
    cleaned = frozenset(name.strip().lower() for name in names)
    if "" in cleaned:
        raise ValueError(f"{what}: a span group name is empty")
    if ALL in cleaned:
        raise ValueError(f"{what}: {ALL!r} is reserved for everything that is registered")
    return cleaned


def _clean_presets(presets: Mapping[str, Iterable[str]]) -> dict[str, frozenset[str]]:
    cleaned: dict[str, frozenset[str]] = {}
    for name, members in presets.items():
        (key,) = _clean_names([name], "preset names")
        cleaned[key] = cleaned.get(key, frozenset()) | _clean_names(members, f"preset {key!r}")
    return cleaned


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def _renew_locks() -> None:
    """Give a forked child free locks: the parent's may have been held by another thread."""
    SpanRegistry._lock = threading.Lock()
    _gate.lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)

__all__ = [
    "ALL",
    "SpanRegistry",
    "enabled_span_groups",
    "is_span_group_enabled",
    "pending_span_groups",
    "refresh_enabled_span_groups",
    "set_enabled_span_groups",
    "set_span_group_spec",
]
