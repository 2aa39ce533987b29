"""What the runtime costs, as ratios to the cheapest way of doing the same by hand.

    python benchmarks/runtime.py            # spans, decorators, data plane
    python benchmarks/runtime.py --ray      # and a carrier on a Ray call

A ratio is the median over pairs of runs that take turns, so that whatever else the machine does
falls on both sides. When the NeMo Lens package can be imported it is measured beside ours.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import pickle
import random
import statistics
import sys
import time
import timeit
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from opentelemetry import trace
from opentelemetry.context import get_current
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from rl_telemetry.contrib.data_plane import MetricsDataPlaneClient
from rl_telemetry.instrumentation import (
    accepts_trace_context,
    attached_context,
    bucket_scope,
    current_trace_carrier,
    dispatch_with_trace_context,
    iteration_scope,
    managed_span,
    span_cm,
    trace_fn,
    umbrella_span,
)
from rl_telemetry.registry import set_enabled_span_groups
from rl_telemetry.scopes import ScopeSpanProcessor
from rl_telemetry.span_groups import RLSpanGroup
from rl_telemetry.tracing import set_tracer

GENERATION = RLSpanGroup.GENERATION
STEP = RLSpanGroup.U_STEP


class Pair(NamedTuple):
    """A measured function, what it is compared with, and the ratio aimed at."""

    label: str
    measured: Callable[[], Any]
    baseline: Callable[[], Any]
    number: int
    aim: float | None = None


class NullExporter(SpanExporter):
    """Takes every batch and keeps nothing."""

    def export(self, spans: Any) -> SpanExportResult:
        """Forget the batch."""
        return SpanExportResult.SUCCESS


def make_tracer(*, scopes: bool) -> trace.Tracer:
    provider = TracerProvider()
    if scopes:
        provider.add_span_processor(ScopeSpanProcessor())
    provider.add_span_processor(BatchSpanProcessor(NullExporter(), max_queue_size=65536))
    return provider.get_tracer("benchmark")


def null_context() -> None:
    with contextlib.nullcontext():
        pass


def managed() -> None:
    with managed_span(GENERATION, "rl.grpo.generation"):
        pass


def managed_with_two() -> None:
    with managed_span(GENERATION, "rl.grpo.generation", iteration=1, model="m"):
        pass


def umbrella() -> None:
    with umbrella_span(STEP, "rl.grpo.step"):
        pass


def umbrella_with_two() -> None:
    with umbrella_span(STEP, "rl.grpo.step", iteration=1, model="m"):
        pass


@trace_fn(GENERATION, "rl.grpo.generation")
def decorated() -> None:
    pass


def disabled_pairs() -> Iterator[Pair]:
    yield Pair("off: with managed_span(group, name)", managed, null_context, 20000, 1.0)
    yield Pair("off: the same with two attributes", managed_with_two, null_context, 20000, 1.3)
    yield Pair("off: umbrella_span", umbrella, null_context, 20000, 1.0)
    yield Pair("off: decorated function", decorated, null_context, 60000, 0.55)
    yield from lens_disabled_pairs()


def enabled_pairs(tracer: trace.Tracer) -> Iterator[Pair]:
    def raw() -> None:
        with tracer.start_as_current_span("rl.grpo.step"):
            pass

    def raw_with_two() -> None:
        attributes = {"iteration": 1, "model": "m"}
        with tracer.start_as_current_span("rl.grpo.step", attributes=attributes):
            pass

    def ungrouped() -> None:
        with span_cm("rl.grpo.step"):
            pass

    def raw_with_bucket() -> None:
        attributes = {"rl.bucket": "productive"}
        with tracer.start_as_current_span("rl.grpo.step", attributes=attributes):
            pass

    def scoped() -> None:
        with iteration_scope(1), bucket_scope("overhead"):
            pass

    yield Pair("on: umbrella_span", umbrella, raw, 500, 0.95)
    yield Pair("on: the same with two attributes", umbrella_with_two, raw_with_two, 500, 1.1)
    yield Pair(
        "on: managed_span with two (and its bucket)", managed_with_two, raw_with_two, 500, 1.1
    )
    yield Pair("on: managed_span / raw with a bucket", managed, raw_with_bucket, 500)
    yield Pair("on: span_cm", ungrouped, raw, 500)
    yield Pair("two scopes / a raw span", scoped, raw, 500)
    yield from lens_enabled_pairs(tracer, raw, raw_with_two)


class DictClient:
    """A data plane that pickles into a dictionary: about the least that a real one does."""

    def __init__(self) -> None:
        self.store: dict[str, bytes] = {}

    def put(self, sample_ids: list[str], partition_id: str, fields: Any) -> None:
        """Store a batch."""
        self.store[partition_id] = pickle.dumps((sample_ids, fields))

    def check_consumption_status(self) -> None:
        """Do nothing."""


def data_plane_pairs() -> Iterator[Pair]:
    client = DictClient()
    wrapped = MetricsDataPlaneClient(client)
    keys = [str(i) for i in range(64)]
    fields = {name: list(range(256)) for name in ("tokens", "mask", "logprobs")}
    yield Pair(
        "off: data-plane put of 64 samples",
        lambda: wrapped.put(keys, "train", fields),
        lambda: client.put(keys, "train", fields),
        500,
        1.15,
    )
    yield Pair(
        "off: data-plane operation that does nothing",
        wrapped.check_consumption_status,
        client.check_consumption_status,
        20000,
    )


def lens() -> Any:
    try:
        return importlib.import_module("nemo.lens.helpers"), importlib.import_module(
            "nemo.lens.state"
        )
    except ImportError:
        return None


def lens_span(tracer: trace.Tracer | None, **attributes: Any) -> Callable[[], None]:
    helpers, _ = lens()
    span = helpers.managed_span

    def run() -> None:
        with span("generation", "rl.grpo.generation", tracer, **attributes):
            pass

    return run


def lens_disabled_pairs() -> Iterator[Pair]:
    if not lens():
        return
    helpers, state = lens()
    state.set_enabled_span_groups(frozenset())
    decorated_by_lens = helpers.trace_fn("generation", "rl.grpo.generation")(lambda: None)
    yield Pair("  NeMo Lens, off: managed_span", lens_span(None), null_context, 20000)
    two = lens_span(None, iteration=1, model="m")
    yield Pair("  NeMo Lens, off: with two attributes", two, null_context, 20000)
    yield Pair("  NeMo Lens, off: decorated function", decorated_by_lens, null_context, 20000)


def lens_enabled_pairs(
    tracer: trace.Tracer, raw: Callable[[], None], raw_with_two: Callable[[], None]
) -> Iterator[Pair]:
    if not lens():
        return
    lens()[1].set_enabled_span_groups(frozenset({"generation"}))
    yield Pair("  NeMo Lens, on: managed_span", lens_span(tracer), raw, 500)
    two = lens_span(tracer, iteration=1, model="m")
    yield Pair("  NeMo Lens, on: with two attributes", two, raw_with_two, 500)


def report_ray(rounds: int) -> None:
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)

    @ray.remote(num_cpus=0)
    class Worker:
        @accepts_trace_context
        def accepting(self, value: int) -> int:
            return value

        def plain(self, value: int) -> int:
            return value

        def keyword(self, value: int, _otel_carrier: Any = None) -> int:
            return value

    worker = Worker.remote()
    parent = {"traceparent": f"00-{'1' * 32}-{'2' * 16}-01"}
    # The scopes of a step are around its calls, so they are written and read once per step.
    with iteration_scope(3), bucket_scope("overhead"):
        scopes = get_current()

    def without() -> None:
        with span_cm("rl.benchmark.caller"):
            ray.get(worker.plain.remote(1))

    def keyword_by_hand() -> None:
        with span_cm("rl.benchmark.caller"):
            ray.get(worker.keyword.remote(1, _otel_carrier=parent))

    def with_carrier() -> None:
        with span_cm("rl.benchmark.caller"):
            ray.get(dispatch_with_trace_context(worker.accepting, 1))

    def with_carrier_in_scopes() -> None:
        with attached_context(scopes), span_cm("rl.benchmark.caller"):
            ray.get(dispatch_with_trace_context(worker.accepting, 1))

    calls = [without, keyword_by_hand, with_carrier, with_carrier_in_scopes]
    seconds = round_trips(calls, rounds)
    ray.shutdown()
    print(f"Ray round trip without a carrier: {seconds[0] * 1e6:.0f} us")
    print_ratio("  with such a keyword that nobody reads", seconds[1] / seconds[0], None)
    print_ratio("  with a carrier", seconds[2] / seconds[0], 1.05)
    print_ratio("  with a carrier, inside scopes", seconds[3] / seconds[0], None)


def round_trips(calls: list[Callable[[], None]], rounds: int) -> list[float]:
    """Return the median time of each call, made one by one in an order that keeps changing.

    A round trip takes a millisecond and varies as much, so pairs of long runs tell little.
    """
    times: dict[Callable[[], None], list[float]] = {call: [] for call in calls}
    order = list(calls)
    shuffle = random.Random(0).shuffle
    for turn in range(rounds + 100):
        shuffle(order)
        for call in order:
            started = time.perf_counter()
            call()
            if turn >= 100:  # the first ones warm up
                times[call].append(time.perf_counter() - started)
    return [statistics.median(times[call]) for call in calls]


def measure(pair: Pair, repeats: int) -> float:
    ratios = []
    for _ in range(repeats):
        measured = timeit.timeit(pair.measured, number=pair.number)
        ratios.append(measured / timeit.timeit(pair.baseline, number=pair.number))
    return statistics.median(ratios)


def report(pairs: Iterator[Pair], repeats: int) -> None:
    for pair in pairs:
        print_ratio(pair.label, measure(pair, repeats), pair.aim)


def print_ratio(label: str, ratio: float, aim: float | None) -> None:
    aimed = "" if aim is None else f"aim {aim:.2f}"
    missed = "  MISSED" if aim is not None and ratio > aim else ""
    print(f"{label:<48} {ratio:6.2f}   {aimed}{missed}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--ray", action="store_true", help="also measure calls to a local Ray")
    parser.add_argument("--repeats", type=int, default=31, help="pairs per ratio")
    options = parser.parse_args()
    print(f"Python {sys.version.split()[0]}, medians of {options.repeats} pairs")
    set_enabled_span_groups(())
    report(disabled_pairs(), options.repeats)
    report(data_plane_pairs(), options.repeats)
    tracer = make_tracer(scopes=True)
    set_tracer(tracer)
    set_enabled_span_groups({GENERATION, STEP})
    report(enabled_pairs(tracer), options.repeats)
    if options.ray:
        report_ray(rounds=1500)
    with span_cm("rl.benchmark.carrier"), iteration_scope(3):
        seconds = min(timeit.repeat(current_trace_carrier, number=2000, repeat=5)) / 2000
    print(f"a carrier takes {seconds * 1e6:.1f} us to write")


if __name__ == "__main__":
    main()
