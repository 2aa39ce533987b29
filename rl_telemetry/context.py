"""Attaching an OpenTelemetry context, and taking it off again without a complaint.

``opentelemetry.context.detach`` logs an error when the token was made in another
``contextvars.Context``. That happens whenever a generator is finished from another task or thread
than the one it was started in, and nothing is wrong then: there is nothing to restore in this one.
"""

from __future__ import annotations

import contextlib
from contextvars import Token
from types import TracebackType

from opentelemetry import context as otel_context
from opentelemetry.context import Context, attach, get_current


def detach(token: Token[Context], attached: Context) -> None:
    """Restore what was current before ``attached`` was attached.

    Args:
        token: What ``attach`` returned.
        attached: The context that was attached with it.
    """
    if not isinstance(token, Token):  # a runtime context of the user's own
        otel_context.detach(token)
        return
    try:
        token.var.reset(token)
    except (ValueError, RuntimeError):
        # Another contextvars.Context, or detached already. If the context has come along (a task
        # copies it, a generator takes it from step to step), take it off here as well.
        if get_current() is attached and token.old_value is not Token.MISSING:
            attach(token.old_value)
        elif get_current() is attached:
            attach(Context())


class attached_context(contextlib.ContextDecorator):  # noqa: N801 - reads as a function
    """Make an OpenTelemetry context current inside the ``with`` block.

    Enter it in every thread that needs it: a thread does not inherit the context of its starter.
    """

    __slots__ = ("_context", "_token")

    def __init__(self, context: Context | None) -> None:
        """Prepare to attach.

        Args:
            context: The context to make current; ``None`` changes nothing.
        """
        self._context = context
        self._token: Token[Context] | None = None

    def __enter__(self) -> None:
        if self._context is not None:
            self._token = attach(self._context)

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._token is not None and self._context is not None:
            detach(self._token, self._context)
            self._token = None


__all__ = ["attached_context", "detach"]
