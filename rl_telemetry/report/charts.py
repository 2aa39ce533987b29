"""The drawings of the page, in SVG."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from typing import Final

from rl_telemetry.report.goodput import BUCKETS, Driver, Row, Run, rows
from rl_telemetry.report.markup import add, svg
from rl_telemetry.report.terminal import shown_buckets
from rl_telemetry.report.text import counted, seconds, share
from rl_telemetry.report.waterfall import Bar, Lane, Waterfall

WIDTH: Final = 1080
MAX_BARS: Final = 160
MAX_WAITS: Final = 15
NO_BUCKET: Final = "none"

_LEFT: Final = 56
_PLOT_HEIGHT: Final = 240
_TOP: Final = 12
_LANE_LEFT: Final = 150
_ROW: Final = 18
_CHARACTER: Final = 6.4  # width of a character in a bar, about
_LARGE: Final = 1.35  # of one beside the bars, in those


def ticks(longest: float, count: int = 5) -> list[float]:
    """Return round numbers from 0 to at most ``longest``, about ``count`` of them."""
    if longest <= 0:
        return [0.0]
    rough = longest / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    return [number * step for number in range(int(longest / step + 1e-9) + 1)]


def stacked_bars(parent: ET.Element, driver: Driver) -> None:
    """Draw a bar for each step, stacked by bucket up to the wall time of the step."""
    found = rows(driver.steps, MAX_BARS)
    shown = shown_buckets(driver)
    # Of several steps in a bar, the mean: a last bar of fewer steps must not look shorter.
    counts = [sum(row.first <= n <= row.last for n in driver.steps) for row in found]
    tallest = max(
        max(row.step.wall, sum(row.step.buckets)) / n for row, n in zip(found, counts, strict=True)
    )
    scale = _PLOT_HEIGHT / (tallest or 1)
    drawing = svg(parent, WIDTH, _PLOT_HEIGHT + 56, "Seconds of each step by bucket")
    for tick in ticks(tallest / 1e9):
        y = _TOP + _PLOT_HEIGHT - tick * 1e9 * scale
        add(drawing, "line", class_="grid", x1=_LEFT, x2=WIDTH, y1=y, y2=y)
        add(drawing, "text", f"{tick:g} s", class_="axis end", x=_LEFT - 8, y=y + 4)
    slot = (WIDTH - _LEFT - 8) / len(found)
    width = min(slot * 0.8, 72)
    every = max(1, math.ceil(len(found) * 44 / (WIDTH - _LEFT)))
    for number, (row, count) in enumerate(zip(found, counts, strict=True)):
        x = _LEFT + 4 + slot * number + (slot - width) / 2
        _bar(add(drawing, "g"), row, shown, x, width, scale / count)
        if number % every == 0:
            y = _TOP + _PLOT_HEIGHT + 18
            label = row.label if every == 1 else str(row.first)
            add(drawing, "text", label, class_="axis middle", x=x + width / 2, y=y)
    middle = _LEFT + (WIDTH - _LEFT) / 2
    unit = "step (rl.iteration)"
    if len(found) < len(driver.steps):
        unit += f"; each bar is the mean of {max(counts)} steps"
    add(drawing, "text", unit, class_="axis middle", x=middle, y=_TOP + _PLOT_HEIGHT + 40)


def _bar(
    group: ET.Element, row: Row, shown: list[int], x: float, width: float, scale: float
) -> None:
    step = row.step
    parts = [(BUCKETS[position], step.buckets[position]) for position in shown]
    parts.append((NO_BUCKET, max(0, step.unbucketed)))
    lines = [f"step {row.label}: {seconds(step.wall)} s"]
    lines += [
        f"{'in no bucket' if name == NO_BUCKET else name}: {seconds(value)} s, "
        f"{share(value, step.wall)}"
        for name, value in parts
    ]
    add(group, "title", "\n".join(lines))
    y = float(_TOP + _PLOT_HEIGHT)
    for name, value in parts:
        height = value * scale
        y -= height
        if height > 0:
            add(group, "rect", class_=f"b-{name}", x=x, y=y, width=width, height=height)


def lanes(parent: ET.Element, waterfall: Waterfall) -> None:
    """Draw the spans of a step, a lane for each process."""
    height = sum(lane.rows * _ROW + 10 for lane in waterfall.lanes)
    drawing = svg(parent, WIDTH, _TOP + height + 32, f"Spans of step {waterfall.step}")
    span = max(1, waterfall.end - waterfall.start)
    scale = (WIDTH - _LANE_LEFT - 24) / span
    for tick in ticks(span / 1e9, 8):
        x = _LANE_LEFT + tick * 1e9 * scale
        add(drawing, "line", class_="grid", x1=x, x2=x, y1=_TOP - 6, y2=_TOP + height)
        add(drawing, "text", f"{tick:g} s", class_="axis middle", x=x, y=_TOP + height + 18)
    y = float(_TOP)
    for number, lane in enumerate(waterfall.lanes):
        lane_height = lane.rows * _ROW + 10
        if number % 2 == 0:
            add(drawing, "rect", class_="band", x=0, y=y - 5, width=WIDTH, height=lane_height)
        name = "driver" if number == 0 and lane.process.group is None else lane.process.label
        label = add(
            drawing, "text", _fitted(name, (_LANE_LEFT - 14) / _LARGE), class_="lane", x=8, y=y + 13
        )
        add(label, "title", name)
        for bar in lane.bars:
            _span(drawing, bar, lane, waterfall, scale, y)
        y += lane_height


def _span(
    drawing: ET.Element, bar: Bar, lane: Lane, waterfall: Waterfall, scale: float, top: float
) -> None:
    span = bar.span
    begin, end = max(span.start, waterfall.start), min(span.end, waterfall.end)
    x = _LANE_LEFT + (begin - waterfall.start) * scale
    width = max((end - begin) * scale, 1.0)
    y = top + bar.row * _ROW
    known = span.bucket if span.bucket in BUCKETS else "other"
    kind = f"b-{known if span.bucket else NO_BUCKET}"
    if span.iteration != waterfall.step:
        kind += " elsewhere"
    if span.is_failed:
        kind += " failed"
    group = add(drawing, "g", class_=f"span {kind}")
    add(group, "title", _tip(bar, lane, waterfall))
    add(group, "rect", x=x, y=y, width=width, height=_ROW - 3, rx=2)
    text = _fitted(span.name.removeprefix("rl."), width - 8)
    if len(text) > 3:
        add(group, "text", text, x=x + 4, y=y + 11.5)


def _tip(bar: Bar, lane: Lane, waterfall: Waterfall) -> str:
    span = bar.span
    after = (span.start - waterfall.start) / 1e6
    lines = [
        span.name,
        f"{lane.process.label}",
        f"{(span.end - span.start) / 1e6:,.1f} ms, from {after:+,.1f} ms",
        f"bucket: {span.bucket or 'none'}",
    ]
    if span.category:
        lines.append(f"category: {span.category}")
    if span.iteration != waterfall.step:
        lines.append("no step" if span.iteration is None else f"for step {span.iteration}")
    if span.is_failed:
        lines.append("failed")
    return "\n".join(lines)


def _fitted(text: str, width: float) -> str:
    room = int(width / _CHARACTER)
    return text if len(text) <= room else text[: max(0, room - 1)] + "…"


def ranked_waits(parent: ET.Element, run: Run, driver: Driver) -> None:
    """Draw the causes of idle time, longest first."""
    ranked = run.ranked_waits(driver)[:MAX_WAITS]
    longest = max(wait.nanoseconds for _, wait in ranked) or 1
    wall = driver.total().wall
    drawing = svg(parent, WIDTH, len(ranked) * 30 + 8, "Idle time by cause")
    for number, (cause, wait) in enumerate(ranked):
        y = number * 30 + 4
        is_drivers = cause.process.key == driver.process.key
        who = "driver" if is_drivers else cause.process.label
        label = add(drawing, "text", _fitted(f"{cause.name}  ({who})", 300 / _LARGE), x=0, y=y + 16)
        add(label, "title", f"{cause.name}\n{cause.process.label}")
        width = max(1.0, 440 * wait.nanoseconds / longest)
        kind = "b-idle" if is_drivers else "b-idle elsewhere"
        add(drawing, "rect", class_=kind, x=310, y=y, width=width, height=22, rx=2)
        text = f"{seconds(wait.nanoseconds)} s in {counted(wait.spans, 'span')}"
        if is_drivers:
            text += f", {share(wait.nanoseconds, wall)} of the driver's wall"
        add(drawing, "text", text, class_="quiet", x=318 + width, y=y + 16)
