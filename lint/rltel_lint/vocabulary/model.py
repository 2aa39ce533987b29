"""The vocabulary as the linker uses it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from rltel_lint.facts import nodes as n

Use = Literal["context", "decorator", "stream", "start"]
"""How a helper opens its span: around a block, around a function, around the steps of a stream,
or by hand, so that the caller must end it."""

Kind = Literal["umbrella", "leaf", "either", "efficiency", "fixed"]
"""Which groups a helper is for: umbrellas, leaves, either (a library without the distinction),
an efficiency category, or one group of its own."""


@dataclass(frozen=True)
class SpanHelper:
    """A function, method or decorator that opens a span.

    Attributes:
        name: The name it is called by.
        modules: Dotted prefixes under which it is that helper; ``()`` for methods.
        params: Its parameters.
        use: How the span lives.
        kind: Which groups it is for.
        group: Template of the group over the parameters; ``None`` without a group.
        span: Template of the span's name.
        receiver: For methods: a word in the receiver's name, such as ``tracer``.
        remedy: The helper to use instead when the kind is wrong; empty without one.
        optional: Whether the span is ``None`` while its group is off.
        supports: For decorators: the kinds of callables that work, of ``function``,
            ``coroutine``, ``generator`` and ``async generator``; empty: all.
    """

    name: str
    modules: tuple[str, ...]
    params: n.Parameters
    use: Use
    kind: Kind
    group: str | None
    span: str
    receiver: str = ""
    remedy: str = ""
    optional: bool = False
    supports: tuple[str, ...] = ()


@dataclass(frozen=True)
class GroupClass:
    """A class of group constants: an outside one with its values, or a base to recognise.

    Attributes:
        name: The class's name.
        modules: Dotted prefixes under which it is that class.
        values: Constant name to group.
        umbrellas: The groups that only enclose others.
        presets: Preset name to groups.
        buckets: Group to the goodput bucket that its spans carry.
    """

    name: str
    modules: tuple[str, ...]
    values: Mapping[str, str] = field(default_factory=dict)
    umbrellas: frozenset[str] = frozenset()
    presets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    buckets: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class KnownCall:
    """A function or method that means something else than a span.

    Attributes:
        name: The name it is called by.
        modules: Dotted prefixes under which it is meant; empty: any receiver, by name alone.
        params: Its parameters; ``None`` where the arguments do not matter.
        imported: Whether only a file that names the module can mean it.
    """

    name: str
    modules: tuple[str, ...]
    params: n.Parameters | None = None
    imported: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """The words that a file must contain to use it: ``Class.method`` has two."""
        module = (self.modules[0].partition(".")[0],) if self.imported else ()
        return (*module, *self.name.split("."))


@dataclass(frozen=True)
class Carriers:
    """How a trace context crosses processes.

    Attributes:
        keyword: The keyword under which a method takes its carrier.
        keyword_helpers: Functions that return the keyword dict to unpack.
        makers: Functions that return a carrier.
        openers: Functions that reopen a carrier on the other side.
        extractors: Functions whose result is the caller's context, of no use until it is used.
        dispatchers: Functions that call ``method.remote`` with the carrier.
        accepting: Decorators that make a method accept the keyword.
        by_name: Methods that dispatch a remote method named by an argument.
        init_names: Words that make a constructor parameter a carrier.
        root_groups: Groups whose spans are roots on purpose: what opens one needs no carrier.
    """

    keyword: str = "_otel_carrier"
    keyword_helpers: tuple[KnownCall, ...] = ()
    makers: tuple[KnownCall, ...] = ()
    openers: tuple[KnownCall, ...] = ()
    extractors: tuple[KnownCall, ...] = ()
    dispatchers: tuple[KnownCall, ...] = ()
    accepting: tuple[KnownCall, ...] = ()
    by_name: tuple[KnownCall, ...] = ()
    init_names: tuple[str, ...] = ()
    root_groups: tuple[str, ...] = ()


@dataclass(frozen=True)
class KnownResult:
    """A function of a library that returns a mapping for the logger.

    Attributes:
        name: The name it is called by.
        modules: Dotted prefixes under which it is meant.
        keys: The keys that its mapping may have; ``*`` stands for anything.
    """

    name: str
    modules: tuple[str, ...]
    keys: tuple[str, ...]


@dataclass(frozen=True)
class Metrics:
    """How logger keys become metrics.

    Attributes:
        teed: Constructors of rows whose key must be logged under a teed prefix.
        recorded: Constructors of rows that are recorded by hand.
        maps: Names of mappings whose values list logger keys (prefix they are teed under).
        loggers: Methods that log a mapping of metrics.
        prefixes: The prefixes that are teed.
        results: Functions of a library that return mappings for the logger.
        consumers: Keys of configuration files whose value names a logger key, as ``{key}``.
        switches: For a form of such a value: the options of which one has to be on.
        library: The rows that a library declares: logger key, with ``*``, to series.
    """

    teed: tuple[KnownCall, ...] = ()
    recorded: tuple[KnownCall, ...] = ()
    maps: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    loggers: tuple[KnownCall, ...] = ()
    prefixes: tuple[str, ...] = ()
    results: tuple[KnownResult, ...] = ()
    consumers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    switches: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    library: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Categories:
    """Efficiency categories: where they are declared and how they are measured.

    Attributes:
        families: Prefixes that make a timer's key an efficiency category.
        lists: Module-level names whose lists together declare the categories.
        maps: Module-level names of mappings that have every category as a key.
        subsets: Module-level names of sets that pick some of the categories.
        timers: Methods that measure the key that is their first argument.
        library: Categories that a library outside the project declares.
        buckets: The bucket of each of those.
    """

    families: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    maps: tuple[str, ...] = ()
    subsets: tuple[str, ...] = ()
    timers: tuple[str, ...] = ()
    library: tuple[str, ...] = ()
    buckets: Mapping[str, str] = field(default_factory=dict)

    @property
    def tables(self) -> tuple[str, ...]:
        """Every name that declares categories or picks some of them."""
        return (*self.lists, *self.maps, *self.subsets)


@dataclass(frozen=True)
class Attributes:
    """How attributes get onto spans.

    Attributes:
        setters: Functions that set a mapping of attributes on a span.
        set_one: Methods of a span that set one attribute, the key first.
        set_many: Methods of a span that set a mapping of attributes.
        stamped: Attributes that the library sets by itself.
    """

    setters: tuple[KnownCall, ...] = ()
    set_one: tuple[str, ...] = ()
    set_many: tuple[str, ...] = ()
    stamped: tuple[str, ...] = ()


@dataclass(frozen=True)
class Lifecycle:
    """How telemetry is started and ended in a process.

    Attributes:
        drivers: Functions that start telemetry in the process that runs the training loop.
        workers: Functions that start telemetry in an actor.
        providers: Functions that set what all of a process records with.
        worker_decorators: Decorators of a constructor that start telemetry in its actor.
        shutdowns: Functions that deliver what was recorded in this process.
        actor_flushers: Functions that deliver what an actor, their argument, recorded.
        binders: Functions and classes that carry the context into a thread.
        run_groups: Groups whose spans are a whole run or a step of it.
        overhead_scopes: Context managers that take the bucket of the spans inside.
        overhead: The bucket that evaluation belongs to.
        evaluate_groups: Groups of evaluation spans.
        evaluate_helpers: Helpers that open an evaluation span with its scope.
        instrumentors: Functions that make the sessions traced that are created from then on.
        sessions: Classes of those sessions.
    """

    drivers: tuple[KnownCall, ...] = ()
    workers: tuple[KnownCall, ...] = ()
    providers: tuple[KnownCall, ...] = ()
    worker_decorators: tuple[KnownCall, ...] = ()
    shutdowns: tuple[KnownCall, ...] = ()
    actor_flushers: tuple[KnownCall, ...] = ()
    binders: tuple[KnownCall, ...] = ()
    overhead_scopes: tuple[KnownCall, ...] = ()
    evaluate_helpers: tuple[KnownCall, ...] = ()
    instrumentors: tuple[KnownCall, ...] = ()
    sessions: tuple[KnownCall, ...] = ()
    run_groups: tuple[str, ...] = ()
    evaluate_groups: tuple[str, ...] = ()
    overhead: str = ""


@dataclass(frozen=True)
class Recorder:
    """A function that records metrics from its arguments and skips those that are ``None``.

    Attributes:
        name: The name it is called by.
        modules: Dotted prefixes under which it is meant.
        params: Its parameters.
        series: Each metric with the parameters that record it.
        fields: Module-level names of mappings whose keys are passed to it as keywords.
    """

    name: str
    modules: tuple[str, ...]
    params: n.Parameters
    series: Mapping[str, tuple[str, ...]]
    fields: tuple[str, ...] = ()


@dataclass(frozen=True)
class Vocabulary:
    """All that names mean in one project.

    Attributes:
        helpers: The span helpers.
        group_classes: Known classes of groups.
        registrations: Functions that register groups and presets.
        preset_attributes: Class attributes that hold presets.
        umbrella_sets: Module-level names that hold the umbrella groups.
        alias_prefix: What a group constant's name starts with when it is the umbrella spelling.
        efficiency_group: The group of efficiency spans; empty without one.
        unbucketed_categories: Efficiency categories whose span has no bucket.
        unbucketed_sets: Module-level names that hold more such categories.
        attachers: Functions and context managers that attach a context to the running code.
        carriers: How a trace context crosses processes.
        metrics: How logger keys become metrics.
        lifecycle: How telemetry is started and ended in a process.
        constants: String constants of outside libraries, by dotted name, or as ``module:NAME``
            for one that several modules below offer.
        gates: Functions that ask whether a group is enabled: using one emits the group.
        emitted_spans: Names (or templates) that the library opens by itself.
        emitted_metrics: Metrics that the library records by itself.
        metric_kinds: Metrics of the library and the kind of instrument that each is.
        categories: Efficiency categories.
        attributes: How attributes get onto spans.
        recorders: Functions that record a library's metrics.
        recorded_by_name: Functions that take a mapping from a metric's name to its value first.
        timer_exceptions: Last words of spans that need not be named like the timer beside them.
        environment: Environment variables that the library reads.
        environment_prefixes: What names of variables that configure telemetry start with.
        bucket_tables: Module-level names of mappings from group to bucket.
        own: Which helpers and classes the project's own table added, for RLT002.
    """

    helpers: tuple[SpanHelper, ...] = ()
    group_classes: tuple[GroupClass, ...] = ()
    registrations: tuple[KnownCall, ...] = ()
    preset_attributes: tuple[str, ...] = ()
    umbrella_sets: tuple[str, ...] = ()
    alias_prefix: str = ""
    efficiency_group: str = ""
    unbucketed_categories: frozenset[str] = frozenset()
    unbucketed_sets: tuple[str, ...] = ()
    attachers: tuple[KnownCall, ...] = ()
    carriers: Carriers = field(default_factory=Carriers)
    metrics: Metrics = field(default_factory=Metrics)
    lifecycle: Lifecycle = field(default_factory=Lifecycle)
    constants: Mapping[str, str] = field(default_factory=dict)
    gates: tuple[KnownCall, ...] = ()
    emitted_spans: tuple[str, ...] = ()
    emitted_metrics: tuple[str, ...] = ()
    metric_kinds: Mapping[str, str] = field(default_factory=dict)
    categories: Categories = field(default_factory=Categories)
    attributes: Attributes = field(default_factory=Attributes)
    recorders: tuple[Recorder, ...] = ()
    recorded_by_name: tuple[KnownCall, ...] = ()
    timer_exceptions: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    environment_prefixes: tuple[str, ...] = ()
    bucket_tables: tuple[str, ...] = ()
    own: frozenset[str] = frozenset()

    def bucket_of(self, group: str) -> str:
        """Returns the bucket of a library's group; empty for umbrellas and unknown groups."""
        return next((k.buckets[group] for k in self.group_classes if group in k.buckets), "")

    def constant(self, dotted: str) -> str | None:
        """Returns the value of an outside library's constant, ``None`` if it is not known."""
        owner, _, name = dotted.rpartition(".")
        for known in self.group_classes:
            if name in known.values and means(owner, known.name, known.modules):
                return known.values[name]
        for written, value in self.constants.items():
            module, _, last = written.rpartition(":")
            if dotted == written or (module and means(dotted, last, (module,))):
                return value
        return None


def means(dotted: str, name: str, modules: tuple[str, ...]) -> bool:
    """Whether a full dotted name is this name somewhere under one of these modules."""
    if dotted != name and not dotted.endswith(f".{name}"):
        return False
    return any(dotted.startswith(f"{module}.") for module in modules)
