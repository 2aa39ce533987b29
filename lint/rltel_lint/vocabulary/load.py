"""Reads profiles and a project's own table into a :class:`Vocabulary`."""

from __future__ import annotations

import ast
import difflib
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any, Literal, get_args

from rltel_lint.facts import nodes as n
from rltel_lint.vocabulary.model import (
    Attributes,
    Carriers,
    Categories,
    GroupClass,
    Kind,
    KnownCall,
    KnownResult,
    Lifecycle,
    Metrics,
    Recorder,
    SpanHelper,
    Use,
    Vocabulary,
)

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_NOWHERE = (0, 0, 0, 0)
_HELPER_KEYS = (
    *("signature", "module", "use", "kind", "group", "span", "receiver", "remedy"),
    *("optional", "supports"),
)
_CALLABLE_KINDS = ("function", "coroutine", "generator", "async generator")
_INSTRUMENT_KINDS = ("gauge", "counter", "histogram", "up-down counter")
_GROUP_KEYS = ("module", "values", "umbrellas", "presets", "buckets")
_CARRIER_KEYS = tuple(Carriers.__dataclass_fields__)
_METRIC_KEYS = tuple(Metrics.__dataclass_fields__)
_LIFECYCLE_KEYS = tuple(Lifecycle.__dataclass_fields__)
_CATEGORY_KEYS = tuple(Categories.__dataclass_fields__)
_ATTRIBUTE_KEYS = tuple(Attributes.__dataclass_fields__)
_PARTS = {
    "carriers": Carriers,
    "metrics": Metrics,
    "lifecycle": Lifecycle,
    "categories": Categories,
    "attributes": Attributes,
}
_TOP_KEYS = (
    *("modules", "helpers", "methods", "groups", "registrations", "attachers", "carriers"),
    *("categories", "attributes", "bucket_tables", "recorders", "recorded_by_name"),
    *("environment", "environment_prefixes", "timer_exceptions"),
    *(
        "lifecycle",
        "metrics",
        "preset_attributes",
        "umbrella_sets",
        "alias_prefix",
        "efficiency_group",
    ),
    *(
        "unbucketed_categories",
        "constants",
        "unbucketed_sets",
        "gates",
        "emitted_spans",
        "emitted_metrics",
        "metric_kinds",
    ),
)


class VocabularyError(ValueError):
    """A profile or a table that cannot be used; the message is for the user."""


def profile_names() -> tuple[str, ...]:
    """Returns the names of the shipped profiles."""
    return ("nemo_lens", "opentelemetry", "rl_telemetry")


def load_vocabulary(profiles: Iterable[str], own: Mapping[str, Any] | None = None) -> Vocabulary:
    """Loads profiles and adds a project's own table.

    Args:
        profiles: Names of shipped profiles; ``opentelemetry`` is always included.
        own: The table ``[tool.rltel-lint.vocabulary]``.

    Returns:
        The whole vocabulary.

    Raises:
        VocabularyError: A profile does not exist, or the table has an unknown key or a value
            of the wrong form.
    """
    wanted = dict.fromkeys([*profiles, "opentelemetry"])
    vocabulary = Vocabulary()
    for profile in wanted:
        if profile not in profile_names():
            raise VocabularyError(
                f"profile {profile!r} does not exist; {_near(profile, profile_names())}"
            )
        vocabulary = _merge(vocabulary, _profile(profile))
    if own:
        added = _parse(own, "vocabulary")
        named = frozenset(
            [helper.name for helper in added.helpers]
            + [known.name for known in added.group_classes if not known.values]
        )
        vocabulary = replace(_merge(added, vocabulary), own=named)
    return vocabulary


@cache
def _profile(name: str) -> Vocabulary:
    text = resources.files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8")
    return _parse(tomllib.loads(text), name)


def _merge(first: Vocabulary, second: Vocabulary) -> Vocabulary:
    """Joins two vocabularies; where only one thing can be meant, the first decides."""
    joined: dict[str, Any] = {}
    for key in Vocabulary.__dataclass_fields__:
        one, two = getattr(first, key), getattr(second, key)
        if key in _PARTS:
            joined[key] = _merge_parts(one, two, _PARTS[key])
        elif isinstance(one, str):
            joined[key] = one or two
        elif isinstance(one, Mapping):
            joined[key] = {**two, **one}
        elif isinstance(one, frozenset):
            joined[key] = one | two
        else:
            joined[key] = _joined(one, two)
    return Vocabulary(**joined)


def _merge_parts(one: Any, two: Any, kind: Any) -> Any:
    joined: dict[str, Any] = {}
    for key in kind.__dataclass_fields__:
        left, right = getattr(one, key), getattr(two, key)
        if isinstance(left, str):
            joined[key] = left or right
        elif isinstance(left, Mapping):
            joined[key] = {**right, **left}
        else:
            joined[key] = _joined(left, right)
    return kind(**joined)


def _joined(one: tuple[Any, ...], two: tuple[Any, ...]) -> tuple[Any, ...]:
    return (*one, *(item for item in two if item not in one))


def _parse(table: Mapping[str, Any], where: str) -> Vocabulary:
    _check_keys(table, _TOP_KEYS, where)
    modules = _texts(table.get("modules", []), f"{where}.modules")

    def section(key: str) -> Mapping[str, Any]:
        return _table(table.get(key, {}), f"{where}.{key}")

    helpers = [
        _helper(name, value, modules, f"{where}.helpers.{name}", method=False)
        for name, value in section("helpers").items()
    ] + [
        _helper(name, value, (), f"{where}.methods.{name}", method=True)
        for name, value in section("methods").items()
    ]
    groups = tuple(
        _group_class(name, value, modules, f"{where}.groups.{name}")
        for name, value in section("groups").items()
    )
    return Vocabulary(
        helpers=tuple(helpers),
        group_classes=groups,
        registrations=_callables(section("registrations"), modules, f"{where}.registrations"),
        preset_attributes=_texts(table.get("preset_attributes", []), f"{where}.preset_attributes"),
        umbrella_sets=_texts(table.get("umbrella_sets", []), f"{where}.umbrella_sets"),
        alias_prefix=_text(table.get("alias_prefix", ""), f"{where}.alias_prefix"),
        efficiency_group=_text(table.get("efficiency_group", ""), f"{where}.efficiency_group"),
        unbucketed_categories=frozenset(
            _texts(table.get("unbucketed_categories", []), f"{where}.unbucketed_categories")
        ),
        unbucketed_sets=_texts(table.get("unbucketed_sets", []), f"{where}.unbucketed_sets"),
        attachers=_callables(section("attachers"), modules, f"{where}.attachers"),
        gates=_callables(section("gates"), modules, f"{where}.gates"),
        emitted_spans=_texts(table.get("emitted_spans", []), f"{where}.emitted_spans"),
        emitted_metrics=_texts(table.get("emitted_metrics", []), f"{where}.emitted_metrics"),
        metric_kinds={
            name: _one_of(kind, _INSTRUMENT_KINDS, f"{where}.metric_kinds")
            for kind, names in section("metric_kinds").items()
            for name in _texts(names, f"{where}.metric_kinds.{kind}")
        },
        carriers=_carriers(section("carriers"), modules, f"{where}.carriers"),
        metrics=_metrics(section("metrics"), modules, f"{where}.metrics"),
        lifecycle=_lifecycle(section("lifecycle"), modules, f"{where}.lifecycle"),
        categories=_categories(section("categories"), f"{where}.categories"),
        attributes=_attributes(section("attributes"), modules, f"{where}.attributes"),
        recorders=tuple(
            _recorder(name, value, modules, f"{where}.recorders.{name}")
            for name, value in section("recorders").items()
        ),
        recorded_by_name=_callables(
            table.get("recorded_by_name", []), modules, f"{where}.recorded_by_name"
        ),
        timer_exceptions=_texts(table.get("timer_exceptions", []), f"{where}.timer_exceptions"),
        environment=_texts(table.get("environment", []), f"{where}.environment"),
        environment_prefixes=_texts(
            table.get("environment_prefixes", []), f"{where}.environment_prefixes"
        ),
        bucket_tables=_texts(table.get("bucket_tables", []), f"{where}.bucket_tables"),
        constants=_constants(table.get("constants", {}), modules, f"{where}.constants"),
    )


def _helper(
    name: str, value: Any, modules: tuple[str, ...], where: str, *, method: bool
) -> SpanHelper:
    table = _table(value, where)
    _check_keys(table, _HELPER_KEYS, where)
    if "signature" not in table or "span" not in table:
        raise VocabularyError(f"{where} needs a signature and a span name")
    group = table.get("group")
    helper = SpanHelper(
        name=name,
        modules=() if method else _own_modules(table, modules, where),
        params=_signature(table["signature"], where),
        use=_one_of(table.get("use", "context"), get_args(Use), f"{where}.use"),
        kind=_one_of(table.get("kind", "fixed"), get_args(Kind), f"{where}.kind"),
        group=None if group is None else _text(group, f"{where}.group"),
        span=_text(table["span"], f"{where}.span"),
        receiver=_text(table.get("receiver", ""), f"{where}.receiver"),
        remedy=_text(table.get("remedy", ""), f"{where}.remedy"),
        optional=_flag(table.get("optional", False), f"{where}.optional"),
        supports=tuple(
            _one_of(kind, _CALLABLE_KINDS, f"{where}.supports")
            for kind in _texts(table.get("supports", []), f"{where}.supports")
        ),
    )
    for template in filter(None, (helper.group, helper.span)):
        for field in fields_of(template):
            if helper.params.named(field) is None:
                raise VocabularyError(f"{where}: the signature has no parameter {field!r}")
    return helper


def fields_of(template: str) -> list[str]:
    """Returns the parameters that a template takes in."""
    parts = template.split("{")[1:]
    return [part.partition("}")[0].partition("|")[0] for part in parts]


def _group_class(name: str, value: Any, modules: tuple[str, ...], where: str) -> GroupClass:
    table = _table(value, where)
    _check_keys(table, _GROUP_KEYS, where)
    presets = _table(table.get("presets", {}), f"{where}.presets")
    return GroupClass(
        name=name,
        modules=_own_modules(table, modules, where),
        values=dict(_mapping(table.get("values", {}), f"{where}.values")),
        umbrellas=frozenset(_texts(table.get("umbrellas", []), f"{where}.umbrellas")),
        presets={key: _texts(groups, f"{where}.presets.{key}") for key, groups in presets.items()},
        buckets=_mapping(table.get("buckets", {}), f"{where}.buckets"),
    )


def _carriers(table: Mapping[str, Any], modules: tuple[str, ...], where: str) -> Carriers:
    _check_keys(table, _CARRIER_KEYS, where)
    found: dict[str, Any] = {"keyword": _text(table.get("keyword", ""), f"{where}.keyword")}
    for key in _CARRIER_KEYS:
        if key in table and key != "keyword":
            if key in {"init_names", "root_groups"}:
                found[key] = _texts(table[key], f"{where}.{key}")
            else:
                found[key] = _callables(table[key], modules, f"{where}.{key}", key == "by_name")
    return Carriers(**found)


def _metrics(table: Mapping[str, Any], modules: tuple[str, ...], where: str) -> Metrics:
    _check_keys(table, _METRIC_KEYS, where)
    found: dict[str, Any] = {}
    for key in ("teed", "recorded"):
        found[key] = _callables(table.get(key, {}), modules, f"{where}.{key}")
    found["loggers"] = _callables(table.get("loggers", {}), modules, f"{where}.loggers", True)
    found["prefixes"] = _texts(table.get("prefixes", []), f"{where}.prefixes")
    maps = _table(table.get("maps", {}), f"{where}.maps")
    found["maps"] = {name: _texts(value, f"{where}.maps.{name}") for name, value in maps.items()}
    results = _table(table.get("results", {}), f"{where}.results")
    found["results"] = tuple(
        _result(name, keys, modules, f"{where}.results") for name, keys in results.items()
    )
    found["library"] = _mapping(table.get("library", {}), f"{where}.library")
    consumers = _table(table.get("consumers", {}), f"{where}.consumers")
    found["consumers"] = {
        option: _forms(forms, f"{where}.consumers.{option}") for option, forms in consumers.items()
    }
    switches = _table(table.get("switches", {}), f"{where}.switches")
    found["switches"] = {
        form: _texts(options, f"{where}.switches.{form}") for form, options in switches.items()
    }
    return Metrics(**found)


def _forms(value: Any, where: str) -> tuple[str, ...]:
    forms = _texts(value, where)
    for form in forms:
        if form.count("{key}") != 1:
            raise VocabularyError(
                f'{where}: {form!r} must have "{{key}}" once, as in "val:{{key}}"'
            )
    return forms


def _result(name: str, keys: Any, modules: tuple[str, ...], where: str) -> KnownResult:
    known = _callable(name, None, modules, where)
    return KnownResult(known.name, known.modules, _texts(keys, f"{where}.{name}"))


def _categories(table: Mapping[str, Any], where: str) -> Categories:
    _check_keys(table, _CATEGORY_KEYS, where)
    found: dict[str, Any] = {"buckets": _mapping(table.get("buckets", {}), f"{where}.buckets")}
    for key, value in table.items():
        if key != "buckets":
            found[key] = _texts(value, f"{where}.{key}")
    return Categories(**found)


def _attributes(table: Mapping[str, Any], modules: tuple[str, ...], where: str) -> Attributes:
    _check_keys(table, _ATTRIBUTE_KEYS, where)
    return Attributes(
        setters=_callables(table.get("setters", {}), modules, f"{where}.setters"),
        **{
            key: _texts(table.get(key, []), f"{where}.{key}")
            for key in ("set_one", "set_many", "stamped")
        },
    )


def _lifecycle(table: Mapping[str, Any], modules: tuple[str, ...], where: str) -> Lifecycle:
    _check_keys(table, _LIFECYCLE_KEYS, where)
    found: dict[str, Any] = {"overhead": _text(table.get("overhead", ""), f"{where}.overhead")}
    for key in _LIFECYCLE_KEYS:
        if key in table and key != "overhead":
            if key in {"run_groups", "evaluate_groups"}:
                found[key] = _texts(table[key], f"{where}.{key}")
            else:
                found[key] = _callables(table[key], modules, f"{where}.{key}")
    return Lifecycle(**found)


def _recorder(name: str, value: Any, modules: tuple[str, ...], where: str) -> Recorder:
    table = _table(value, where)
    _check_keys(table, ("signature", "module", "series", "fields"), where)
    if "signature" not in table:
        raise VocabularyError(f"{where} needs a signature")
    params = _signature(table["signature"], where)
    series = _table(table.get("series", {}), f"{where}.series")
    found = {key: _texts(names, f"{where}.series.{key}") for key, names in series.items()}
    for names in found.values():
        for param in names:
            if params.named(param) is None:
                raise VocabularyError(f"{where}: the signature has no parameter {param!r}")
    own = _own_modules(table, modules, where)
    return Recorder(name, own, params, found, _texts(table.get("fields", []), f"{where}.fields"))


def _constants(value: Any, modules: tuple[str, ...], where: str) -> Mapping[str, str]:
    """Reads constants; a bare name is one of the table's own modules."""
    found: dict[str, str] = {}
    for name, text in _mapping(value, where).items():
        bare = name.isidentifier()
        found.update({f"{module}:{name}": text for module in modules} if bare else {name: text})
    return found


def _callables(
    value: Any, modules: tuple[str, ...], where: str, anywhere: bool = False
) -> tuple[KnownCall, ...]:
    own = () if anywhere else modules
    if isinstance(value, (list, tuple)):
        return tuple(_callable(name, None, own, where) for name in _texts(value, where))
    table = _table(value, where)
    return tuple(
        _callable(name, _signature(signature, f"{where}.{name}"), own, where)
        for name, signature in table.items()
    )


def _callable(
    name: str, params: n.Parameters | None, modules: tuple[str, ...], where: str
) -> KnownCall:
    """Makes a known call; ``pkg.tracing:send`` names a module of its own."""
    module, _, last = name.rpartition(":")
    if not all(part.isidentifier() for part in last.split(".")):
        raise VocabularyError(f'{where}: {name!r} is not a name; write "name" or "module:name"')
    return KnownCall(last, (module,) if module else modules, params, imported=bool(module))


def _own_modules(table: Mapping[str, Any], modules: tuple[str, ...], where: str) -> tuple[str, ...]:
    if "module" in table:
        return (_text(table["module"], f"{where}.module"),)
    if not modules:
        raise VocabularyError(f'{where} needs a module, such as module = "pkg.tracing"')
    return modules


def _signature(text: Any, where: str) -> n.Parameters:
    source = _text(text, where).strip()
    try:
        tree = ast.parse(f"def _{source}: ...").body[0]
    except SyntaxError:
        raise VocabularyError(
            f'{where}: {source!r} is not a signature; write it as in "(group, name, tracer=None)"'
        ) from None
    if not isinstance(tree, ast.FunctionDef):
        raise VocabularyError(f"{where}: {source!r} is not a signature")
    return n.Parameters(_NOWHERE, tuple(_parameters(tree.args)))


def _parameters(args: ast.arguments) -> Iterable[n.Parameter]:
    plain: list[tuple[ast.arg, Literal["positional", "either"]]] = [
        *((arg, "positional") for arg in args.posonlyargs),
        *((arg, "either") for arg in args.args),
    ]
    missing = len(plain) - len(args.defaults)
    for place, (arg, kind) in enumerate(plain):
        default = args.defaults[place - missing] if place >= missing else None
        yield n.Parameter(_NOWHERE, arg.arg, kind, _default(default))
    if args.vararg:
        yield n.Parameter(_NOWHERE, args.vararg.arg, "*")
    for arg, inner in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        yield n.Parameter(_NOWHERE, arg.arg, "keyword", _default(inner))
    if args.kwarg:
        yield n.Parameter(_NOWHERE, args.kwarg.arg, "**")


def _default(node: ast.expr | None) -> n.Expr | None:
    if node is None:
        return None
    if isinstance(node, ast.Constant) and isinstance(node.value, (str, int, float, type(None))):
        return n.Const(_NOWHERE, node.value)
    return n.Other(_NOWHERE)


def _check_keys(table: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    known = tuple(known)
    for key in table:
        if key not in known:
            raise VocabularyError(f"{where} has no key {key!r}; {_near(key, known)}")


def _near(word: str, known: Iterable[str]) -> str:
    known = sorted(known)
    close = difflib.get_close_matches(word, known, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}"


def _table(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise VocabularyError(f"{where} must be a table")
    return value


def _mapping(value: Any, where: str) -> Mapping[str, str]:
    return {key: _text(item, f"{where}.{key}") for key, item in _table(value, where).items()}


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise VocabularyError(f"{where} must be a string")
    return value


def _flag(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise VocabularyError(f"{where} must be true or false")
    return value


def _texts(value: Any, where: str) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise VocabularyError(f"{where} must be a list of strings")
    return tuple(value)


def _one_of(value: Any, known: tuple[str, ...], where: str) -> Any:
    if value not in known:
        raise VocabularyError(f"{where} must be one of {', '.join(known)}")
    return value
