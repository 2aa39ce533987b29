"""Carrying the trace across Ray: one keyword argument, sent by the caller, taken by the callee.

Ray carries no context of its own. The caller adds a carrier (W3C ``traceparent``, ``tracestate``
and ``baggage``, see https://www.w3.org/TR/trace-context/ and https://www.w3.org/TR/baggage/) as
the keyword :data:`TRACE_CARRIER_KWARG`; the callee, decorated with :func:`accepts_trace_context`,
takes it out again and runs under the caller's span. The enclosing scopes travel as one baggage
entry. This module never imports Ray.
"""

from __future__ import annotations

import functools
import inspect
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import quote, unquote

from opentelemetry import baggage, trace
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.context import Context, get_current
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from rl_telemetry.attributes import clean_attributes
from rl_telemetry.callables import ContextRun, is_generator_function, wrap_generator_function
from rl_telemetry.context import attached_context
from rl_telemetry.scopes import Scope, scope_in, with_scope
from rl_telemetry.warnings_once import warn_once

F = TypeVar("F", bound=Callable[..., Any])

#: The keyword that carries a trace context into a remote call.
TRACE_CARRIER_KWARG = "_otel_carrier"

_SCOPE_BAGGAGE_KEY = "rl_telemetry.scope"
# Receivers drop longer pairs (https://www.w3.org/TR/baggage/#limits and OpenTelemetry's own).
_SCOPE_BAGGAGE_LIMIT = 4000
_TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
_TRACE_CONTEXT = TraceContextTextMapPropagator()
_BAGGAGE = W3CBaggagePropagator()


def current_trace_carrier() -> dict[str, str]:
    """Return the current trace context, scopes included, as a mapping of strings.

    Returns:
        Empty when there is no trace to carry on. A sampled-out trace is carried, so that the
        callee leaves its spans out as well.
    """
    context = get_current()
    if not trace.get_current_span(context).get_span_context().is_valid:
        return {}
    carrier: dict[str, str] = {}
    try:
        _TRACE_CONTEXT.inject(carrier, context)
        _BAGGAGE.inject(carrier, context)
        scope = scope_in(context)
        if scope is not None:
            entry = f"{_SCOPE_BAGGAGE_KEY}={_encoded(scope)}"
            others = carrier.get("baggage")
            carrier["baggage"] = f"{entry},{others}" if others else entry
    except Exception:
        warn_once("carrier-inject", "the trace context could not be written into a carrier")
    return carrier


def remote_trace_parent(carrier: Mapping[str, str] | None) -> Context | None:
    """Return the context that a carrier describes.

    Args:
        carrier: What :func:`current_trace_carrier` returned in the calling process.

    Returns:
        The current context with the caller's span and scopes put in; ``None`` when there is no
        carrier.
    """
    if not carrier:
        return None
    try:
        context = _with_remote_span(carrier, get_current())
        header = carrier.get("baggage")
        return context if header is None else _with_remote_scope(header, carrier, context)
    except Exception:
        warn_once("carrier-extract", f"a trace carrier could not be read: {carrier!r:.200}")
        return None


def remote_trace_context(carrier: Mapping[str, str] | None) -> attached_context:
    """Run a block under the caller's span. Enter it in each thread that needs it.

    Args:
        carrier: What :func:`current_trace_carrier` returned in the calling process; without one
            the block runs as it is.

    Returns:
        A context manager.
    """
    return attached_context(remote_trace_parent(carrier))


def trace_context_kwargs() -> dict[str, dict[str, str]]:
    """Return the carrier as keywords, to be spread into a call.

    Returns:
        ``{"_otel_carrier": carrier}``, or nothing at all when there is no trace to carry on: a
        callee that takes no carrier is then called as ever.
    """
    carrier = current_trace_carrier()
    return {TRACE_CARRIER_KWARG: carrier} if carrier else {}


def dispatch_with_trace_context(remote_method: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call ``remote_method.remote(...)`` with the current trace context.

    A target that does not take the carrier is called without it, with one warning per method name
    and process. Every other error is the caller's.

    Args:
        remote_method: A Ray actor method, remote function or actor class, ``.options(...)``
            included.
        *args: Arguments of the call.
        **kwargs: Keywords of the call.

    Returns:
        What ``.remote`` returned: a reference, references, or a stream of them.
    """
    carrier = current_trace_carrier()
    if not carrier:
        return remote_method.remote(*args, **kwargs)
    try:
        return remote_method.remote(*args, **{**kwargs, TRACE_CARRIER_KWARG: carrier})
    except TypeError as error:
        if TRACE_CARRIER_KWARG not in str(error):
            raise
        name = _method_name(remote_method)
        message = (
            f"{name} does not take a trace context, so its spans start a new trace; "
            "decorate it with @accepts_trace_context"
        )
    # Outside the handler: the refusal is dealt with, and must not be the cause of later errors.
    warn_once(("carrier-refused", name), message, exc_info=False)
    return remote_method.remote(*args, **kwargs)


def accepts_trace_context(method: F) -> F:
    """Let a method, a constructor or a function that runs remotely take a trace context.

    The keyword :data:`TRACE_CARRIER_KWARG` becomes part of the signature, where Ray looks for it,
    and never reaches the method itself. The method runs under the caller's span and scopes; this
    opens no span of its own. Generators and async generators run so at each step, and are
    themselves between the steps.

    Args:
        method: Any callable: function, coroutine function, generator function or async generator
            function; also a static or class method.

    Returns:
        A callable of the same kind.
    """
    if isinstance(method, (staticmethod, classmethod)):
        return type(method)(accepts_trace_context(method.__func__))
    wrapper: Any
    if is_generator_function(method):
        wrapper = wrap_generator_function(method, _open_remote_run)
    elif inspect.iscoroutinefunction(method):

        @functools.wraps(method)
        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            carrier = kwargs.pop(TRACE_CARRIER_KWARG, None)
            if not carrier:
                return await method(*args, **kwargs)
            with remote_trace_context(carrier):
                return await method(*args, **kwargs)
    else:

        @functools.wraps(method)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            carrier = kwargs.pop(TRACE_CARRIER_KWARG, None)
            if not carrier:
                return method(*args, **kwargs)
            with remote_trace_context(carrier):
                return method(*args, **kwargs)

    _advertise_carrier(wrapper, method)
    # With itself, because ``functools.wraps`` of other decorators copies the attribute.
    wrapper._rl_telemetry_accepts = (wrapper, method)
    return wrapper  # type: ignore[no-any-return]


def accepting_method(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """Return what :func:`accepts_trace_context` was put on, if ``function`` is its result."""
    wrapper, method = getattr(function, "_rl_telemetry_accepts", (None, None))
    return method if wrapper is function else None


def _open_remote_run(kwargs: dict[str, Any]) -> ContextRun | None:
    context = remote_trace_parent(kwargs.pop(TRACE_CARRIER_KWARG, None))
    return None if context is None else ContextRun(context)


def _advertise_carrier(wrapper: Any, method: Callable[..., Any]) -> None:
    """Put the carrier into the signature that Ray checks calls against.

    Ray checks ``inspect.unwrap(method)`` and reads the options of ``@ray.method`` from there too.
    Without ``__wrapped__`` that is the wrapper: the keyword is seen, and options given above the
    decorator are not lost.
    """
    del wrapper.__wrapped__
    try:
        signature = inspect.signature(method)
    except (TypeError, ValueError):
        return  # a builtin; the wrapper's own signature takes every keyword
    parameters = list(signature.parameters.values())
    open_ended = bool(parameters) and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD
    if not open_ended and TRACE_CARRIER_KWARG not in signature.parameters:
        parameters.append(
            inspect.Parameter(TRACE_CARRIER_KWARG, inspect.Parameter.KEYWORD_ONLY, default=None)
        )
    wrapper.__signature__ = signature.replace(parameters=parameters)


def _method_name(remote_method: Any) -> str:
    method = getattr(remote_method, "_actor_method", remote_method)  # set by .options()
    name = getattr(method, "_method_name", None)
    return name if isinstance(name, str) else type(method).__name__


def _with_remote_span(carrier: Mapping[str, str], context: Context) -> Context:
    """Put the caller's span into ``context``.

    The carriers that :func:`current_trace_carrier` writes are read here, in half the time of
    the general propagator, which reads all others.
    """
    match = _TRACEPARENT.fullmatch(carrier["traceparent"]) if "traceparent" in carrier else None
    if match is None or "tracestate" in carrier:
        return _TRACE_CONTEXT.extract(carrier, context=context)
    trace_id, span_id, flags = (int(part, 16) for part in match.groups())
    span = trace.SpanContext(trace_id, span_id, True, trace.TraceFlags(flags))
    if not span.is_valid:
        return context
    return trace.set_span_in_context(trace.NonRecordingSpan(span), context)


def _with_remote_scope(header: str, carrier: Mapping[str, str], context: Context) -> Context:
    """Put the caller's scopes, and its baggage if there is other, into ``context``."""
    encoded: object = header.removeprefix(f"{_SCOPE_BAGGAGE_KEY}=")
    if encoded == header or "," in header:
        context = _BAGGAGE.extract(carrier, context=context)
        encoded = baggage.get_baggage(_SCOPE_BAGGAGE_KEY, context)
        if encoded is None:
            return context
        # Out of the baggage again: it must not go on into the headers of HTTP requests.
        context = baggage.remove_baggage(_SCOPE_BAGGAGE_KEY, context)
        encoded = quote(str(encoded), safe="")
    return with_scope(context, _decoded(str(encoded)))


def _encoded(scope: Scope) -> str:
    if scope.encoded is None:
        scope.encoded = _encode(scope)
        if len(scope.encoded) > _SCOPE_BAGGAGE_LIMIT:
            warn_once(
                "scope-too-long",
                "the attributes of span_attributes() are too long to travel with a remote call; "
                "spans there do not get them",
                exc_info=False,
            )
            scope.encoded = _encode(Scope({}, scope.bucket, scope.per_prompt))
    return scope.encoded


def _encode(scope: Scope) -> str:
    content = {
        key: value
        for key, value in (
            ("attributes", dict(scope.attributes)),
            ("bucket", scope.bucket),
            ("per_prompt", scope.per_prompt),
        )
        if value
    }
    return quote(json.dumps(content, separators=(",", ":")), safe="")


@functools.lru_cache(maxsize=32)  # the calls of one step share a scope
def _decoded(encoded: str) -> Scope:
    content = json.loads(unquote(encoded))
    bucket = content.get("bucket")
    scope = Scope(
        clean_attributes(content.get("attributes", {})),
        bucket if isinstance(bucket, str) else None,
        content.get("per_prompt") is True,
    )
    scope.encoded = encoded  # it may go on from here
    return scope


__all__ = [
    "TRACE_CARRIER_KWARG",
    "accepts_trace_context",
    "attached_context",
    "current_trace_carrier",
    "dispatch_with_trace_context",
    "remote_trace_context",
    "remote_trace_parent",
    "trace_context_kwargs",
]
