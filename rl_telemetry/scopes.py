"""Scopes: marks that every span inside a region gets.

A scope is part of the OpenTelemetry context, under one key. So it reaches whatever the context
reaches (nested calls, coroutines and tasks created inside), it is taken off with it, and whoever
carries the context across a thread or a Ray call carries the scope too.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import Token
from types import TracebackType
from typing import TYPE_CHECKING, Any

from opentelemetry import context as otel_context
from opentelemetry.context import Context

from rl_telemetry.attributes import clean_attributes
from rl_telemetry.context import detach

if TYPE_CHECKING:
    from opentelemetry.util.types import AttributeValue

    from rl_telemetry.buckets import Bucket
    from rl_telemetry.scope_processor import ScopeSpanProcessor

RL_ITERATION_ATTR = "rl.iteration"

_SCOPE_KEY = otel_context.create_key("rl_telemetry.scope")


class Scope:
    """What the enclosing scopes add up to. Never changed once made."""

    __slots__ = ("attributes", "bucket", "encoded", "per_prompt")

    def __init__(
        self,
        attributes: Mapping[str, AttributeValue],
        bucket: str | None = None,
        per_prompt: bool = False,
    ) -> None:
        """Hold the attributes to stamp, the bucket that replaces a group's, and the mark."""
        self.attributes = attributes
        self.bucket = bucket
        self.per_prompt = per_prompt
        #: Kept by the propagator: one step dispatches many calls under one scope.
        self.encoded: str | None = None


_NO_SCOPE = Scope({})


def scope_in(context: Context) -> Scope | None:
    """Return the scope that ``context`` carries, if any."""
    scope = context.get(_SCOPE_KEY)
    return scope if type(scope) is Scope else None


def with_scope(context: Context, scope: Scope) -> Context:
    """Return ``context`` carrying ``scope``."""
    return otel_context.set_value(_SCOPE_KEY, scope, context)


def with_bucket(context: Context, bucket: str) -> Context:
    """Return ``context`` with the bucket override ``bucket``."""
    outer = scope_in(context) or _NO_SCOPE
    return with_scope(context, Scope(outer.attributes, bucket, outer.per_prompt))


class _ScopeContext:
    """Base of the scopes: attaches what :meth:`_inner` makes of the outer scope."""

    __slots__ = ("_entered",)

    def __init__(self) -> None:
        self._entered: list[tuple[Token[Context], Context]] = []

    def _inner(self, outer: Scope) -> Scope:
        raise NotImplementedError

    def __enter__(self) -> None:
        current = otel_context.get_current()
        context = with_scope(current, self._inner(scope_in(current) or _NO_SCOPE))
        self._entered.append((otel_context.attach(context), context))

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        detach(*self._entered.pop())


class bucket_scope(_ScopeContext):  # noqa: N801 - reads as a function
    """Replace the bucket that spans inside derive from their group.

    Umbrella groups, spans with an explicit ``rl.bucket`` and efficiency spans keep their own. The
    use: generation inside an evaluation is overhead, and not productive.
    """

    __slots__ = ("_bucket",)

    def __init__(self, bucket: Bucket | str) -> None:
        """Prepare the scope.

        Args:
            bucket: The bucket of spans inside.
        """
        super().__init__()
        self._bucket: str = getattr(bucket, "value", bucket)

    def _inner(self, outer: Scope) -> Scope:
        return Scope(outer.attributes, self._bucket, outer.per_prompt)


class span_attributes(_ScopeContext):  # noqa: N801 - reads as a function
    """Stamp attributes on every span started inside.

    An inner scope overrides an outer one, and what is set on the span itself overrides both. Needs
    the :class:`ScopeSpanProcessor`, which :mod:`rl_telemetry.setup` installs.
    """

    __slots__ = ("_attributes",)

    def __init__(self, attributes: Mapping[str, Any]) -> None:
        """Prepare the scope.

        Args:
            attributes: Span attributes; values that are no scalar or sequence of scalars are left
                out.
        """
        super().__init__()
        self._attributes = clean_attributes(attributes)

    def _inner(self, outer: Scope) -> Scope:
        return Scope({**outer.attributes, **self._attributes}, outer.bucket, outer.per_prompt)


class iteration_scope(span_attributes):  # noqa: N801 - reads as a function
    """Stamp ``rl.iteration`` on every span started inside."""

    __slots__ = ()

    def __init__(self, iteration: int | None) -> None:
        """Prepare the scope.

        Args:
            iteration: The number of the iteration; ``None`` stamps nothing.
        """
        super().__init__({RL_ITERATION_ATTR: iteration})


class per_prompt_scope(_ScopeContext):  # noqa: N801 - reads as a function
    """Mark a region that runs once per prompt, so that sites inside move to that group."""

    __slots__ = ()

    def _inner(self, outer: Scope) -> Scope:
        return Scope(outer.attributes, outer.bucket, True)


def in_per_prompt_scope() -> bool:
    """Return whether the caller runs inside a :class:`per_prompt_scope`."""
    scope = scope_in(otel_context.get_current())
    return scope is not None and scope.per_prompt


def __getattr__(name: str) -> Any:
    # The processor subclasses the SDK's, which call sites must not have to import.
    if name == "ScopeSpanProcessor":
        from rl_telemetry.scope_processor import ScopeSpanProcessor

        return ScopeSpanProcessor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "RL_ITERATION_ATTR",
    "Scope",
    "ScopeSpanProcessor",
    "bucket_scope",
    "in_per_prompt_scope",
    "iteration_scope",
    "per_prompt_scope",
    "scope_in",
    "span_attributes",
    "with_bucket",
    "with_scope",
]
