"""Trace and span ids that differ between processes, whatever the training code seeds."""

from __future__ import annotations

import os
import random
import weakref

from opentelemetry.sdk.trace.id_generator import IdGenerator


class PrivateIdGenerator(IdGenerator):
    """Ids from a private generator, reseeded from the operating system after a fork.

    The SDK draws ids from the global ``random`` module. Training code seeds that equally on
    every rank, and a fork copies its state, so two processes would use the same ids.
    """

    def __init__(self) -> None:
        self._random = random.Random()
        if hasattr(os, "register_at_fork"):
            reseed = weakref.WeakMethod(self._reseed)

            def after_in_child() -> None:
                if method := reseed():
                    method()

            os.register_at_fork(after_in_child=after_in_child)

    def _reseed(self) -> None:
        self._random = random.Random()

    def generate_span_id(self) -> int:
        """Return a random span id of 64 bits, never zero."""
        return self._random.getrandbits(64) or self.generate_span_id()

    def generate_trace_id(self) -> int:
        """Return a random trace id of 128 bits, never zero."""
        return self._random.getrandbits(128) or self.generate_trace_id()

    def is_trace_id_random(self) -> bool:
        """Say that the ids are random, which sets the flag of W3C Trace Context level 2."""
        return True
